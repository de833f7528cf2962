"""Docstrings and pages keep to plain English, and functions are named in two words or more.

A rate is a thermometer: it shows that a text needs a reader, and changing words to move it mends nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORD = re.compile(r"[A-Za-z']+")
CODE = re.compile(r"```.*?```|^[ \t]*(?:>>>|\.\.\.|\|)[^\n]*$", re.DOTALL | re.MULTILINE)
IDIOMS = {
    "a sentence that begins with a relative clause": (3.0, r"(?:^|[.:;] )(?:What|Who(?:ever|m|se)?) [^.?]*[.]"),
    "is no NOUN": (3.0, r"\b(?:is|are|was|were) no (?!longer|more\b)[a-z]+"),
    "where for if": (3.0, r"\bwhere (?:it|they|there|that|one|none|this)\b"),
    "things that say, tell, hold, stand or lie": (
        10.0,
        r"\b(?:says?|said|tells?|told|holds?|held|stands?|stood|lies?)\b",
    ),
    "nobody and somebody": (1.0, r"\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ww]hoever)\b"),
}
"""Patterns, and the most that 10,000 words may have of each."""


def texts(place: str) -> Iterator[str]:
    """The prose of a folder: docstrings of modules, and pages without their code and tables."""
    for path in sorted((ROOT / place).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield CODE.sub("", text)
    for path in sorted((ROOT / place).rglob("*.md")):
        yield CODE.sub("", path.read_text("utf-8"))


def rates(prose: Iterable[str]) -> dict[str, float]:
    """How often each idiom stands in 10,000 words."""
    text = "\n".join(prose)
    words = len(WORD.findall(text))
    return {name: 1e4 * len(re.findall(p, text, re.MULTILINE)) / words for name, (_, p) in IDIOMS.items()}


def function_names(place: str) -> list[str]:
    trees = (ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / place).rglob("*.py")))
    found = [node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [name.strip("_") for name in found if not name.startswith("__")]


@pytest.mark.parametrize("place", ["opendp_topk", "docs"])
def test_no_idiom_is_frequent(place: str) -> None:
    found = rates(texts(place))
    assert {name: found[name] for name, (most, _) in IDIOMS.items() if found[name] > most} == {}


SENTENCES = (
    "What is released is a set.",
    "A claim is no field.",
    "It is 0 where there is none.",
    "A record says it.",
    "Nobody knows.",
)


@pytest.mark.parametrize(("name", "sentence"), [*zip(IDIOMS, SENTENCES, strict=True)])
def test_an_idiom_is_counted(name: str, sentence: str) -> None:
    plain = "A map returns a number. If it is 0, no digit is drawn."
    assert rates([plain, sentence])[name] == 1e4 / len(WORD.findall(plain + sentence))
    assert rates([plain])[name] == 0


def test_few_functions_are_one_word() -> None:
    names = function_names("opendp_topk")
    assert len(names) > 1000
    assert sum("_" not in name for name in names) <= 0.2 * len(names)
    assert sum(map(len, names)) >= 12 * len(names)
