"""docs/architecture.md says what is so: rooms, layers, and the way of one map and one release through them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import opendp_topk as tk

from .rooms import PAGE, ROOMS, WHOLE, room_of, rooms

PACKAGE = Path(tk.__file__).parent
STOREYS = ("apps", "sampling")
"""Folders that hold rooms alone."""
FOLDERS = {
    ".".join(path.parent.relative_to(PACKAGE).parts) or WHOLE: path for path in sorted(PACKAGE.rglob("__init__.py"))
}
PICTURE = {
    int(number): set(re.findall(r"[a-z_.]+", line)) & ROOMS.keys()
    for number, line in re.findall(r"^ *(\d+) │(.*)$", PAGE, re.MULTILINE)
}
WALK = re.compile(r"<!-- walk: (\w+) -->\n((?:\d+\. .*\n(?: .*\n)*)+)")
STEP = re.compile(r"^\d+\. `([^`]+\.py)` `([^`]+)`: ", re.MULTILINE)
MOST_ENTRIES = 21


def test_every_folder_has_a_row() -> None:
    assert {*ROOMS, *STOREYS} == set(FOLDERS)
    for storey in STOREYS:
        beside = [path for path in FOLDERS[storey].parent.glob("*.py") if path.name != "__init__.py"]
        assert not beside
        assert len(ast.parse(FOLDERS[storey].read_text(encoding="utf-8")).body) == 1


def test_the_picture_has_the_layers_of_the_table() -> None:
    layers = {room.layer for room in ROOMS.values()}
    assert {layer: {room.name for room in ROOMS.values() if room.layer == layer} for layer in layers} == PICTURE


@pytest.mark.parametrize("room", [name for name in ROOMS if name != WHOLE])
def test_a_room_says_in_two_sentences_what_it_holds_and_may_import(room: str) -> None:
    docstring = ast.get_docstring(ast.parse(FOLDERS[room].read_text(encoding="utf-8"))) or ""
    said = tuple(" ".join(part.replace("``", "`").split()) for part in docstring.split("\n\n")[:2])
    assert said == ROOMS[room].sentences


def test_the_top_of_the_package_is_surveyable() -> None:
    files = [path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    assert {"__init__.py", "__init__.pyi", "py.typed"} <= set(files)
    entries = {name.removesuffix(".pyi").removesuffix(".py") for name in files} - {
        "__main__"
    }  # only what can be imported
    assert len(entries) <= MOST_ENTRIES, sorted(entries)


def test_a_room_without_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="no place in the table"):
        room_of("attic.boxes")
    with pytest.raises(ValueError, match="two rows for errors"):
        rooms(PAGE + "\n| 1 | `errors` | Every exception | nothing |\n")


def calls(run: Callable[[], object]) -> list[tuple[str, str]]:
    """The functions of the package that ``run`` enters, in order, as (file, qualified name)."""
    entered = []

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            entered.append((Path(code.co_filename).relative_to(PACKAGE).as_posix(), code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return entered


def walks() -> dict[str, Callable[[], object]]:
    space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
    top3 = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=3, scale=6.0)
    return {"map": lambda: top3.map(1), "release": lambda: top3([93, 17, 55, 60, 2, 88, 41])}


@pytest.mark.parametrize("name", sorted(walks()))
def test_a_walk_goes_where_the_page_says(name: str) -> None:
    """Every step is a call that is made after those of the steps before it."""
    steps = STEP.findall(dict(WALK.findall(PAGE))[name])
    entered = iter(calls(walks()[name]))
    assert len(steps) >= 8
    for step in steps:
        assert step in entered, f"docs/architecture.md: the {name} does not enter {step} here"


def test_the_files_that_the_page_names_exist() -> None:
    root = PACKAGE.parent
    named = set(re.findall(r"`([\w./]+\.(?:py|tex|md))`", PAGE))
    assert len(named) >= 12
    assert [name for name in sorted(named) if not ((PACKAGE / name).is_file() or (root / name).is_file())] == []
