"""What no file of the repository holds; plain English in docstrings and pages; and a reason beside every number.

A rate of an idiom is a thermometer: it shows that a text needs a reader, and changing words to move it mends nothing.
"""

import ast
import functools
import io
import re
import subprocess
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import opendp_topk

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


WORD = re.compile(r"[A-Za-z']+")
NO_PROSE = re.compile(r"```.*?```|^[ \t]*(?:>>>|\.\.\.|\|)[^\n]*$", re.DOTALL | re.MULTILINE)
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


@functools.cache
def definitions(place: str) -> list[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """The modules, classes and functions of a folder."""
    waiting: list[ast.AST] = [ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / place).rglob("*.py"))]
    for node in waiting:
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, block, [])
    return [node for node in waiting if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]


def texts(place: str) -> Iterator[str]:
    """The prose of a folder: docstrings of modules, and pages without their code and tables."""
    for node in definitions(place):
        if text := ast.get_docstring(node):
            yield NO_PROSE.sub("", text)
    for path in sorted((ROOT / place).rglob("*.md")):
        yield NO_PROSE.sub("", path.read_text("utf-8"))


def rates(prose: Iterable[str]) -> dict[str, float]:
    """How often each idiom stands in 10,000 words."""
    text = "\n".join(prose)
    words = len(WORD.findall(text))
    return {name: 1e4 * len(re.findall(p, text, re.MULTILINE)) / words for name, (_, p) in IDIOMS.items()}


def function_names(place: str) -> list[str]:
    found = [node.name for node in definitions(place) if isinstance(node, ast.FunctionDef)]
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
