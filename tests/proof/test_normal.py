"""Statements without what changes nothing, and the names that they reach."""

import ast

import pytest

from opendp_topk.proof.library import find_relations, statement_digest, statement_text, strip_comments
from opendp_topk.proof.normal import find_name_reads, normal_form, statement_bindings


def one(source: str) -> ast.stmt:
    (node,) = ast.parse(source).body
    return node


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("x = 1", "x  =  1  # one", True),
        ("def f(a: int) -> int:\n    'Words.'\n    return a", "def f(a):\n    return a", True),
        ("def f(a):\n    b: int = a\n    return b", "def f(a):\n    b: str = a\n    return b", True),
        ("class A:\n    x: int = 1", "class A:\n    x: ClassVar[int] = 1", False),
        ("class A:\n    'Words.'\n    x = 1", "class A:\n    x = 1", True),
        ("def f():\n    a = 1\n    class A: b = a", "def f():\n    c = 1\n    class A: b = c", True),
        ("x = 'a' 'b'", "x = 'ab'", True),
        ("x = 'a'", "x = b'a'", False),
        ("x = 1", "x = 1.0", False),
        ("x = 1", "x = True", False),
        ("x = a + b", "x = b + a", False),
        ("def f(a=1): return a", "def f(a=2): return a", False),
        ("@g\ndef f(): return a", "def f(): return a", False),
        ("def f(*, a): return a", "def f(a): return a", False),
        ("x = f'{a:>3}'", "x = f'{a:<3}'", False),
        ("x = f'{a!r}'", "x = f'{a!s}'", False),
    ],
)
def test_what_changes_a_normal_form(first: str, second: str, same: bool) -> None:
    assert (normal_form(one(first)) == normal_form(one(second))) == same


def test_formatted_strings_are_alike_in_all_versions_of_python() -> None:
    plain, filled = one("x = f'{a:<{b}}'"), one("x = f'{a:<{b}}'")
    fields = [node for node in ast.walk(filled) if isinstance(node, ast.FormattedValue) and node.format_spec]
    spec = fields[0].format_spec
    spec.values.append(ast.Constant(""))
    assert normal_form(plain) == normal_form(filled)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b=c): return a + b + d", {"c", "d"}),
        ("def f(a: T) -> U:\n    x: V = a\n    return x", set()),
        ("@cached\nclass A(B):\n    x: T = y\n    def f(self): return self.z(w)", {"cached", "B", "y", "w"}),
        ("x = [a for a in b if c]", {"b", "c"}),
        ("x = lambda a, *b, **c: a + b + c + d", {"d"}),
        ("def f():\n    global a\n    a = 1\n    return a", {"a"}),
        ("def f():\n    for a in b:\n        with c as d:\n            a + d", {"b", "c"}),
        ("def f():\n    try:\n        a()\n    except b as c:\n        return c", {"a", "b"}),
        ("def f(a):\n    match a:\n        case b: return b", set()),
        ("def f():\n    def g(): return a\n    return g", {"a"}),
        ("def f():\n    return (a := 1) + a", set()),
        ("a.b.c(d.e).g", {"a.b.c", "d.e"}),
        ("a.b = c", {"a.b", "c"}),
        ("a[b] = c", {"a", "b", "c"}),
        ("a = b", {"b"}),
        ("a += b", {"b"}),
    ],
)
def test_names_that_are_read(source: str, expected: set[str]) -> None:
    assert {".".join(read.chain) for read in find_name_reads(one(source))} == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a, (b, *c) = d", {"a", "b", "c"}),
        ("def f(): a = 1", {"f"}),
        ("if a:\n    b = 1\nelse:\n    c = 2", {"b", "c"}),
        ("a.b = 1", set()),
        ("a[0] = 1", set()),
        ("for a in b: c = a", {"a", "c"}),
        ("x = [y for y in z]", {"x"}),
        ("del a", {"a"}),
    ],
)
def test_names_that_are_bound(source: str, expected: set[str]) -> None:
    assert statement_bindings(one(source)) == expected


# What counts as a statement of a document, and what does not.


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
