"""The golden cases hold; and what tells that they do not would tell."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import __main__ as command
from . import case, store
from .case import Case, valued
from .digits import scripted
from .names import source, tk
from .rooms import ROOMS, cases_of
from .shown import Rough, curve, hexadecimal, law, parameters, refusal, shown, text

EACH = 40
"""Of so many cases one is computed in a quick test."""
QUICK = ("edges", "keyed", "laws", "maps", "refusals", "surface", "users", "values")


@pytest.fixture(autouse=True)
def extras() -> None:
    """Tables and the command need what the tests of those need."""
    for package in ("polars", "pandas", "pyarrow", "duckdb", "typer", "rich"):
        pytest.importorskip(package, reason=f"golden cases need {package}")


def some(room: str) -> Iterator[Case]:
    """One of every forty cases that are recorded, and that are soon computed."""
    wanted = {name for number, name in enumerate(sorted(store.read(room))) if number % EACH == 0}
    return ((name, compute) for name, compute in cases_of(room) if name in wanted and "curve" not in name)


@pytest.mark.parametrize("room", QUICK)
def test_a_sample_is_as_recorded(room: str) -> None:
    found, recorded = valued(some(room)), store.read(room)
    assert found
    assert {name: recorded[name] for name in found} == found


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_all_is_as_recorded(room: str) -> None:
    differing = [command.said(change) for change in command.changes(store.read(room), valued(cases_of(room)))]
    assert differing == [], "if this is meant: python -m tests.golden --write --why '...'"


@pytest.mark.slow
def test_no_case_depends_on_another() -> None:
    """Backwards, every seventh replayed release is the same."""
    recorded = store.read("releases")
    chosen = [case for case in reversed(list(cases_of("releases"))) if "long" not in case[0]][::7]
    assert valued(chosen) == {name: recorded[name] for name, _ in chosen}


REQUIRED = re.compile(
    r"\b(must|needs?|requires?|cannot|can|may|is|are|does|do|has|have|declares|gives?|takes|was|were)\b"
)
ABOUT_ONE = tk.errors.ParameterError


@pytest.mark.further
def test_the_words_of_every_kind_of_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parameter is named and a requirement stated, shortly; the cases themselves hold no words of errors."""
    said: dict[str, set[str]] = {}

    def heard(error: BaseException) -> Any:
        found = refusal(error)
        if isinstance(error, tk.errors.TopKError):
            said.setdefault(found["refused"], set()).add(str(error))
            assert not isinstance(error, ABOUT_ONE) or not parameters().isdisjoint(re.findall(r"\w+", str(error))), (
                error
            )
        return found

    monkeypatch.setattr(case, "refusal", heard)
    valued(cases_of("refusals"))
    assert len(said) > 50
    for kind, texts in said.items():
        assert all(REQUIRED.search(one) and one.isprintable() and len(one) < 420 for one in texts), (kind, texts)


def test_the_files_are_sorted_compact_and_of_rooms_that_are_there() -> None:
    assert {path.stem for path in store.FOLDER.glob("*.txt")} == set(ROOMS)
    cases = sum(len(store.read(room)) for room in ROOMS)
    assert sum(store.path_of(room).stat().st_size for room in ROOMS) < 174 * cases
    for room in ROOMS:
        names = [line.split(" => ", 1)[0] for line in store.path_of(room).read_text(encoding="utf-8").splitlines()]
        assert names == sorted(set(names))
        assert not [name for name in names if "opendp_topk." in name or " at 0x" in name], "a module, or an address"


@pytest.mark.further
def test_every_public_constructor_has_cases() -> None:
    everything = {name for room in ROOMS for name in store.read(room)}
    for name in tk.all():
        if name.startswith("make_"):
            assert sum(re.search(rf"\b{name}\b", one) is not None for one in everything) >= 5, name


# The command, on a room of its own.


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The values of a room with two cases, which a test may change."""
    values: dict[str, Any] = {"a map": [0.5, 1.0], "words": "one\ntwo\nthree"}
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    monkeypatch.setattr(store, "LOG", tmp_path / "why.md")
    monkeypatch.setattr(command, "ROOMS", ("small",))
    monkeypatch.setattr(command, "cases_of", lambda _: [(name, lambda v=value: v) for name, value in values.items()])
    return values


def test_changes_are_told_and_recorded_with_a_reason(room: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--check"]) == 1
    assert "new: a map" in capsys.readouterr().out
    assert command.main(["--write"]) == 0
    assert command.main(["--check"]) == 0
    kept = store.read("small")
    room |= {"a map": [0.5, 1.5], "words": "one\n2\nthree"}
    capsys.readouterr()
    assert command.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert "small: a map: [1] 0x1p+0 (1.0) -> 0x1.8p+0 (1.5)" in said
    assert 'small: words: [1] "two" -> "2"' in said
    assert "three" not in said
    for why in ([], ["--why", " "]):
        assert command.main(["--write", *why]) == 1
        assert store.read("small") == kept
    assert command.main(["--write", "--why", "the second\nis larger"]) == 0
    assert command.main(["--check"]) == 0
    assert "(2 changed or gone, in small): the second is larger" in store.LOG.read_text(encoding="utf-8")
    del room["words"]
    assert command.main(["--write"]) == 1
    assert "gone: words" in capsys.readouterr().out


def test_two_cases_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two cases are named 'one'"):
        valued([("one", int), ("one", str)])


def test_values_are_shown_exactly_and_without_what_differs_between_runs() -> None:
    assert [shown(one) for one in (0.5, 0.0, float("inf"))] == ["0x1p-1", "0x0p+0", "inf"]
    assert shown(1 / 3) == "0x1.5555555555555p-2"
    assert float.fromhex(hexadecimal(0.1)) == 0.1
    assert shown(Rough([1 / 3, 1])) == ["0.3333333333", 1]
    assert shown(2**80) == str(2**80)
    assert text("<f at 0x7fa93d94a980> proofs/a.tex (stale)") == "<f> proofs/a.tex"
    one, other = ([value % 5 for value in range(n)] for n in (100, 101))
    assert shown(one)["sha256"] != shown(other)["sha256"]
    many = {(n,): 1 / 64 for n in range(64)}
    assert law(many) != law({**many, (63,): 1 / 65})
    assert curve(tk.PrivacyCurve(lambda epsilon: 1 / 4))["delta"][0] == "0.25"
    json.dumps(shown({"a": (1, None)}))


def test_digits_are_those_of_the_word_whatever_was_asked_before() -> None:
    drawn = source()()
    with scripted("one"):
        first = drawn.draw_auxiliary_words(3).tolist() + drawn.draw_words(np.arange(20_000)).tolist()
    with scripted("one") as tape:
        assert drawn.draw_auxiliary_words(20_003).tolist() == first
        assert tape.read == 8 * 20_003
        assert drawn.draw_prefixes(np.arange(5)).dtype == np.uint16
    with scripted("another"):
        assert drawn.draw_auxiliary_words(20_003).tolist() != first
    assert drawn.draw_auxiliary_words(2).tolist() != drawn.draw_auxiliary_words(2).tolist()
