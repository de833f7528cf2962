"""What no file of the repository holds: paths of a machine, loose ends, secrets, commented-out code."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = {".py", ".tex", ".sty", ".bib", ".md", ".toml", ".txt", ".csv", ".json", ".yml", ".yaml", ".cfg", ".typed", ""}
SKIPPED = {".git", ".venv", "venv", "build", "dist", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
PATTERNS = {
    "a loose end": re.compile("TO" + "DO|FIX" + "ME|XX" + "X\\b|HA" + "CK\\b"),
    "a path of one machine": re.compile(
        r"(?<![\w.])/(?:ho" + r"me|wo" + r"rk|tm" + r"p|ro" + r"ot|Us" + r"ers)/\w|[A-Z]:\\Users"
    ),
    "the host of a package registry": re.compile(r"pypi\." + r"org|pythonhosted\." + r"org|crates\." + r"io|npmjs\."),
    "a local address": re.compile("local" + r"host|127\.0\." + r"0\.1|\.inter" + r"nal\b"),
    "a secret": re.compile("-----BE" + "GIN|gh[pousr]_[A-Za-z0-9]{20}|AKIA[A-Z0-9]{16}"),
    "a conflict marker": re.compile("^(?:<<<<<<<|>>>>>>>) ", re.MULTILINE),
}
CODE = re.compile(
    r"^#\s*(?:return\b|import \w|from \w+ import|def \w+\(|class \w+[:(]|if .+:$|for .+ in .+:$|\w+ = \S+$)"
)


def files() -> list[Path]:
    """What git knows and would add; where there is no git, all files of the tree."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
    paths = [ROOT / name for name in listed]
    return sorted(p for p in paths if p.is_file() and p.suffix in TEXT and not SKIPPED & set(p.relative_to(ROOT).parts))


FILES = files()


@pytest.mark.further
@pytest.mark.parametrize("what", PATTERNS)
def test_no_file_holds(what: str) -> None:
    found = []
    for path in FILES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if PATTERNS[what].search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


@pytest.mark.slow
def test_no_code_is_commented_out() -> None:
    found = []
    for path in FILES:
        if path.suffix == ".py":
            for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
                if token.type == tokenize.COMMENT and CODE.match(token.string):
                    found.append(f"{path.relative_to(ROOT)}:{token.start[0]}: {token.string}")
    assert found == []


def test_the_search_is_not_empty() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in FILES}
    assert {"README.md", "pyproject.toml", "opendp_topk/core/measurement.py"} <= names


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a loose end", "# TO" + "DO: later"),
        ("a path of one machine", "open('/ho" + "me/ada/x.csv')"),
        ("the host of a package registry", "https://pypi." + "org/simple"),
        ("a conflict marker", "<<<<<<< HEAD"),
    ],
)
def test_the_patterns_find_what_they_name(what: str, line: str) -> None:
    assert PATTERNS[what].search(line)
