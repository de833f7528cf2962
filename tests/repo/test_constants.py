"""A number that decides what is sampled, bounded or kept has its reason beside it, or in a comment above it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import opendp_topk

PACKAGE = Path(opendp_topk.__file__).parent
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
OTHER = {ast.JoinedStr, ast.Attribute, ast.Dict}
RECORDS = ("Noise", "type")
"""What is made by these is no number: a noise's tail is a theorem about it."""
MARKER = re.compile(r"# (?:end-)?proof-region: ")
ROOMS = (
    *("apps/audit", "apps/bridge", "apps/ledger", "combinators", "core", "measurements", "numerics", "proof"),
    *("sampling", "spaces", "tables", "transformations"),
)


def numbers(source: str) -> list[tuple[str, int]]:
    """The constants of a module that are made of numbers alone, each with its line."""
    found = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            name = ast.unparse(node.targets[0]).strip("()")
            parts = [type(one) for one in ast.walk(node.value)]
            numeric = any(
                isinstance(one, ast.Constant) and type(one.value) in (int, float) for one in ast.walk(node.value)
            )
            of_numpy = "INT64" in name  # their names say why
            record = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in RECORDS
            if CONSTANT.match(name) and numeric and not of_numpy | record | bool(OTHER & set(parts)):
                found.append((name, node.lineno))
    return found


def has_reason(lines: list[str], number: int) -> bool:
    """Whether a comment ends the line, or stands above the block of constants to which it belongs."""
    if "  # " in lines[number - 1]:
        return True
    above = number - 2
    while above >= 0 and (MARKER.match(lines[above]) or CONSTANT.match(lines[above])):
        above -= 1
    return above >= 0 and lines[above].startswith("# ")


def without_reason(source: str) -> list[str]:
    return [name for name, number in numbers(source) if not has_reason(source.splitlines(), number)]


@pytest.mark.further
def test_a_number_says_why() -> None:
    for path in (path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))):
        bare = without_reason(path.read_text(encoding="utf-8"))
        assert bare == [], f"{path}: say in a comment beside {', '.join(bare)} why it is that number"


def test_a_bare_number_is_noticed() -> None:
    assert without_reason("_BLOCK = 4096\n\n_WIDE = 2.0**10  # enough\n_NAMES = ('a',)\n") == ["_BLOCK"]
    assert without_reason("# Reasons.\n# proof-region: x\n_A = 1\n_B = (2, 3)\n\n_C = 4\n") == ["_C"]
