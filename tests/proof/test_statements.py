"""What counts as a statement of a document, and what does not."""

from __future__ import annotations

import pytest

from opendp_topk.proof.statements import find_relations, statement_digest, statement_text, strip_comments

TEXT = r"""
\precondition Let $x > 0$.
\pseudocode code
\postcondition
\begin{theorem}[Main]\label{main} $f(x) \ge 1$. \end{theorem}
\begin{corollary}\label{more} $f(x) \ge 0$. \end{corollary}
\proofs
\begin{lemma}\label{helper} $g(x) = 2$. \end{lemma}
\begin{proof} By \relieson[key]{other/place} and \relieson{third/place}. \label{inside}\end{proof}
\runtimeerrors None.
"""


def test_a_statement_has_the_hypotheses_and_the_theorem() -> None:
    assert statement_text(TEXT, "main") == r"Let $x > 0$. \begin{theorem}[Main]\label{main} $f(x) \ge 1$. \end{theorem}"
    assert statement_text(TEXT, "helper").endswith(r"$g(x) = 2$. \end{lemma}")
    assert r"\label{main}" in statement_text(TEXT, "")
    assert r"\label{more}" in statement_text(TEXT, "")
    assert "helper" not in statement_text(TEXT, "")
    assert statement_text(TEXT, "inside") == statement_text(TEXT, "")


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("$x > 0$", "$x > 1$", True),
        (r"\ge 1$", r"\ge 2$", True),
        (r"\ge 0$", r"\ge -1$", False),
        (" code", " other code", False),
        ("By ", "Clearly, by ", False),
        ("Let ", "Let  \n ", False),
        ("None.", "Some.", False),
    ],
)
def test_what_changes_a_statement(old: str, new: str, changes: bool) -> None:
    other = TEXT.replace(old, new)
    assert other != TEXT
    assert (statement_digest(other, "main") != statement_digest(TEXT, "main")) == changes


def test_comments_do_not_count() -> None:
    assert strip_comments("a % b\n50\\% c") == "a \n50\\% c"


def test_relations_with_and_without_labels() -> None:
    assert find_relations(TEXT) == [("other/place", "key"), ("third/place", "")]
