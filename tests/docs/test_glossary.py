"""The glossary: every word stands where the glossary says, and no house word is left out."""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([^|]+) \|.*\| `([\w./]+)` \|$", re.MULTILINE)
TYPES = "LossDistribution", "BlockMaxima", "Contenders", "SortedScores", "UserDistance", "PrivacyProfile"
HOUSE = "joined", *TYPES, "resolve_winners", "rungs", "tilts", "price"  # names on which a researcher stumbles


@functools.cache
def text_of(room: str) -> str:
    """All code of a room, or the words of a page."""
    page = ROOT / "docs" / f"{room}.md"
    files = [page] if page.is_file() else sorted((ROOT / "opendp_topk" / room.replace(".", "/")).rglob("*.py"))
    assert files, f"there is no room or page {room}"
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def entries(glossary: str) -> dict[str, str]:
    """Each word with where it is said to be at home."""
    words = {}
    for cell, room in ROW.findall(glossary):
        words |= dict.fromkeys(re.findall(r"`([^`]+)`", cell) or [cell], room)
    return words


def missing(glossary: str) -> list[str]:
    """The words of a glossary that do not stand where it says."""
    return [word for word, room in entries(glossary).items() if not re.search(rf"\b{word}", text_of(room))]


def test_every_word_stands_where_the_glossary_says() -> None:
    rows = [
        line for line in GLOSSARY.splitlines() if line.startswith("| ") and not re.match(r"\| (word|name|term) ", line)
    ]
    assert len(rows) == len(ROW.findall(GLOSSARY)) > 20
    assert missing(GLOSSARY) == []


def test_a_word_that_is_nowhere_is_noticed() -> None:
    assert missing("| `flummox` | a term | what it is | `sampling.samplers` |\n") == ["flummox"]


@pytest.mark.parametrize("word", HOUSE)
def test_every_house_word_is_explained(word: str) -> None:
    assert word in entries(GLOSSARY)
