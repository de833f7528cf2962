"""Privacy is told apart from what else a document states, by following what each proof cites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opendp_topk import proof
from opendp_topk.proof import library
from opendp_topk.proof.carried import other_foundations, supporting_documents, supporting_statements

BASE = r"""\begin{document}\precondition\relieson{ground}
\begin{definition}\label{defined}See \relieson{defining}.\end{definition}
\begin{theorem}[Cost]\label{privacy}It costs what \Cref{step} says.\end{theorem}
\begin{theorem}[Law]\label{law}Its law is that of \relieson[law]{laws}.\end{theorem}
\begin{lemma}\label{step}A step.\end{lemma}
\begin{proof}By \eqref{sum} and \relieson[cost]{costs}.\end{proof}
\begin{lemma}\label{unused}\relieson{unused}\end{lemma}
\begin{proof}[Proof of \Cref{law}]\relieson{accuracies}\end{proof}
\begin{lemma}\label{other}\end{lemma}
\begin{proof}[Proof of \Cref{other}]\begin{equation}\label{sum}\end{equation}\relieson{sums}\end{proof}
% \relieson{commented}
\end{document}"""
COSTS = r"""\begin{theorem}\label{cost}x\end{theorem}\begin{proof}\relieson[item]{deep}\end{proof}
\begin{theorem}\label{batches}y\end{theorem}\begin{proof}\relieson{batches}\end{proof}"""
DEEP = r"""\item\label{item}
\begin{theorem}\label{t}\relieson{unused}\end{theorem}\begin{lemma}\relieson{nameless}\end{lemma}"""


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    names = ("ground", "defining", "laws", "accuracies", "unused", "sums", "batches", "nameless")
    texts = {"base": BASE, "costs": COSTS, "deep": DEEP} | dict.fromkeys(names, r"\begin{theorem}z\end{theorem}")
    for name, text in texts.items():
        (tmp_path / f"{name}.tex").write_text(text, encoding="utf-8")
    monkeypatch.setattr(library, "documents_folder", lambda: tmp_path)
    proof.clear_cache()
    yield tmp_path
    monkeypatch.undo()
    proof.clear_cache()


def test_the_proofs_of_one_statement_are_followed(staged: Path) -> None:
    assert supporting_documents("base") == ["base", "costs", "deep", "defining", "ground", "nameless", "sums"]
    assert other_foundations("base") == ["accuracies", "batches", "laws", "unused"]
    assert ("costs", "cost") in supporting_statements("base", "privacy")
    assert ("costs", "batches") not in supporting_statements("base", "privacy")


def test_a_whole_document_is_all_that_it_states(staged: Path) -> None:
    (staged / "base.tex").write_text(BASE.replace("[cost]{costs}", "{costs}"), encoding="utf-8")
    proof.clear_cache()
    assert "batches" in supporting_documents("base")


def test_a_law_that_privacy_needs_carries_it(staged: Path) -> None:
    (staged / "base.tex").write_text(BASE.replace(r"\Cref{step} says", r"\Cref{step,law} says"), encoding="utf-8")
    proof.clear_cache()
    assert {"laws", "accuracies"} <= set(supporting_documents("base"))


def test_where_no_privacy_is_stated_nothing_is_told_apart(staged: Path) -> None:
    assert supporting_documents("costs") == other_foundations("costs") == []


def test_one_shot_selection_is_private_whatever_is_known_of_laws_accuracy_success_and_batches() -> None:
    name = "measurements/report_noisy_top_k"
    assert other_foundations(name) == [
        "distributions/one_shot_success",
        "distributions/quadrature",
        "distributions/series",
        "distributions/union_bound",
        "numerics/floatexp",
        "samplers/merge",
        "samplers/rows",
    ]
    assert {"core/chaining", "measurements/selection", "samplers/race", "samplers/entropy"} <= set(
        supporting_documents(name)
    )


def test_one_proof_carries_the_privacy_of_all_that_are_one_selection() -> None:
    """Peeling adds the law of peeling, and what draws it with permute-and-flip."""
    names = ("report_noisy_top_k", "exponential_mechanism", "permute_and_flip", "peeled_top_k")
    rests = {name: set(supporting_documents(f"measurements/{name}")) - {f"measurements/{name}"} for name in names}
    common = rests["report_noisy_top_k"]
    assert "measurements/selection" in common
    assert rests.pop("peeled_top_k") == common | {"distributions/peeled", "samplers/peeled"}
    assert {name for name, found in rests.items() if found != common} == set()


def test_each_document_of_a_combinator_carries_privacy() -> None:
    """Whatever its statements are called, and with it what it relies on."""
    names = [name for name in proof.document_names() if name.startswith(("combinators/", "bridge/"))]
    assert len(names) >= 20
    assert [name for name in names if name not in supporting_documents(name)] == []
    assert {"combinators/convert", "core/chaining"} <= set(supporting_documents("combinators/from_zCDP"))
    assert {"combinators/rules", "core/chaining"} <= set(supporting_documents("combinators/composition"))


@pytest.mark.further
def test_what_carries_privacy_is_among_what_is_rested_on() -> None:
    stated = [name for name in proof.document_names() if supporting_documents(name)]
    assert len(stated) >= 40
    for name in stated:
        assert name in supporting_documents(name)
        assert set(supporting_documents(name)) <= {name, *proof.document_foundations(name)}
        assert not set(other_foundations(name)) & set(supporting_documents(name))
