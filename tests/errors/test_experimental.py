"""Names that are marked experimental warn, say so in their docstring, and are the ones that docs/versions.md lists."""

import contextlib
import inspect
import re
import warnings
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.core.public_names import NAMESPACES
from opendp_topk.errors.experimental import mark_experimental

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "versions.md").read_text(encoding="utf-8")
VERSIONS = PAGE.partition("\n## Experimental\n")[2].partition("\n## ")[0]
SPACES = [tk, *(getattr(tk, space) for space in NAMESPACES)]
PUBLIC = {name: getattr(space, name) for space in SPACES for name in space.__all__}
MARKED = {name: why for name, value in PUBLIC.items() if (why := getattr(value, "experimental", None))}


@mark_experimental("it is made up")
def made_up(value: int) -> int:
    """Twice the value."""
    return 2 * value


def test_a_call_warns_where_it_stands_and_does_what_it_did() -> None:
    with pytest.warns(tk.errors.ExperimentalWarning, match="^made_up is experimental .* it is made up$") as caught:
        assert made_up(3) == 6
    assert caught[0].filename == __file__
    assert (made_up.__name__, made_up.__doc__) == ("made_up", "Twice the value.")


def test_who_accepts_it_is_not_warned() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", tk.errors.ExperimentalWarning)
        made_up(3)
    assert caught == []


def test_the_page_lists_what_is_marked_and_why() -> None:
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", VERSIONS, re.MULTILINE)) == MARKED
    assert MARKED


@pytest.mark.parametrize("name", MARKED)
def test_docstrings_have_the_mark(name: str) -> None:
    said = " ".join((PUBLIC[name].__doc__ or "").split())
    assert f"Experimental: {MARKED[name]}" in said


@pytest.mark.parametrize("name", MARKED)
def test_a_marked_name_warns_before_it_looks_at_its_arguments(name: str) -> None:
    accepted = inspect.signature(PUBLIC[name]).parameters.values()
    wanted = {one.name: None for one in accepted if one.default is inspect.Parameter.empty}
    with pytest.warns(tk.errors.ExperimentalWarning, match=name), contextlib.suppress(tk.errors.TopKError, TypeError):
        PUBLIC[name](**wanted)


def test_a_partial_warns_once_and_the_constructor_that_it_calls_does_not() -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=2), tk.PerCandidateDistance(bounds=[1, 1])
    made = {
        "then_normalised_top_k": lambda: space >> tk.then_normalised_top_k(tk.MaxDivergence(), scale=1.0),
        "make_normalised_top_k": lambda: tk.make_normalised_top_k(*space, tk.MaxDivergence(), scale=1.0),
    }
    elsewhere = compile("make()", "elsewhere", "eval")
    for name, make in made.items():
        with pytest.warns(tk.errors.ExperimentalWarning) as caught:
            eval(elsewhere, {"make": make})
        assert [(str(one.message).partition(" ")[0], one.filename) for one in caught] == [(name, __file__)]
