"""What comes from outside does nothing where it is shown."""

import csv
import io
import json
import unicodedata

import pytest

from opendp_topk.markup import foreign
from opendp_topk.markup.elements import el

HOSTILE = "a\x1b[31mb\x9b0mc\u202ed\u2066e\u2028f\x07g\x7fh\x85i\ud800j\tk\r\nl\u200fm"
HARMLESS = "Émile, 源氏物語, עברית, 👩\u200d👩\u200d👧, 10\u202f000, a\u00a0b"


def acting(text: str, but: str = "") -> set[str]:
    """The characters of a text that act: controls, marks of direction, separators, halves."""
    marks = {chr(code) for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
    kinds = ("Cc", "Cs", "Zl", "Zp")
    return {one for one in text if unicodedata.category(one) in kinds or one in marks} - set(but)


@pytest.mark.further
def test_no_character_acts_on_a_line() -> None:
    assert acting(HOSTILE)
    assert acting(foreign.terminal_line(HOSTILE)) == set()
    assert foreign.terminal_line("a\x1b[31m\n\u202e") == r"a\x1b[31m\n\u202e"
    assert acting(foreign.terminal_line("".join(map(chr, range(0x11_0000))))) == set()


def test_what_harms_nobody_is_shown_as_it_is() -> None:
    for escape in (foreign.terminal_line, foreign.escape_html, foreign.spreadsheet_cell):
        assert escape(HARMLESS) == HARMLESS
    assert json.loads(foreign.json_text([HARMLESS])) == [HARMLESS]


def test_pages_keep_line_breaks_and_hold_no_other() -> None:
    shown = el("pre", HOSTILE + "<b>", title=HOSTILE + '"')
    assert acting(shown, but="\n\t") == set()
    assert "<b>" not in shown
    assert foreign.escape_html("a\n\tb") == "a\n\tb"
    assert shown.encode("utf-8")


@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_is_the_same_value_and_acts_on_no_terminal(ascii_only: bool) -> None:
    value = {"items": [HOSTILE, HARMLESS, 3, 0.5], HOSTILE: None}
    text = foreign.json_text(value, ascii_only=ascii_only)
    assert acting(text, but="\n") == set()
    assert json.loads(text) == value
    assert text.count("\n") == 8


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\r=", " =", "\uff1d", "\n@"])
def test_no_text_is_a_formula(start: str) -> None:
    found = foreign.spreadsheet_cell(f"{start}cmd|' /C calc'!A0")
    assert found.startswith("'")
    assert acting(found) == set()


@pytest.mark.parametrize("value", [-3, 1e-7, -0.5, 0])
def test_numbers_stay_numbers(value: float) -> None:
    text = io.StringIO()
    csv.writer(text).writerow([foreign.spreadsheet_cell(value)])
    assert float(text.getvalue()) == value


def test_json_is_written_for_people() -> None:
    assert foreign.json_text({"name": ["\u00e4"]}) == '{\n  "name": [\n    "\u00e4"\n  ]\n}'
    assert foreign.json_text({"name": ["\u00e4"]}, indent=None, ascii_only=True) == '{"name": ["\\u00e4"]}'
