"""Names that are marked experimental warn, say so in their docstring, and are the ones that docs/versions.md lists."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.errors.experimental import mark_experimental

VERSIONS = (Path(__file__).resolve().parents[2] / "docs" / "versions.md").read_text(encoding="utf-8")
MARKED = {name: why for name in tk.__all__ if (why := getattr(getattr(tk, name), "experimental", None))}


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
    said = " ".join((getattr(tk, name).__doc__ or "").split())
    assert f"Experimental: {MARKED[name]}" in said


@pytest.mark.parametrize("name", MARKED)
def test_a_marked_name_warns_before_it_looks_at_its_arguments(name: str) -> None:
    with pytest.warns(tk.errors.ExperimentalWarning, match=name), pytest.raises(tk.errors.TopKError):
        getattr(tk, name)(None)
