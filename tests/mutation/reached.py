"""Which quick tests reach which function of the package, as one run of them showed: ``reached.json``.

``python -m tests.mutation reach`` runs the quick tests once, with coverage, and writes it anew. What the file says only
decides which tests are tried first, so that it may be older than the code.
"""

import functools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .checkout import ROOT
from .fault import PINNING, within_storey
from .functions import at, functions

FILE = Path(__file__).with_name("reached.json")
ELSEWHERE = ("repo", "proof", "foreign", "benchmarks", "mutation", "golden", "docs")
"""Tests of the repository, of documents, of recorded results and of other libraries: of everything, or of no module."""
_MOST = 10


def tests_of(module: str, text: str, changed: str) -> list[str]:
    """The tests that reach the function in which ``changed`` stands, the shortest first."""
    tests, by_function = _read()
    name = at(text, text[: text.find(changed)].count("\n") + 1) if changed and changed in text else None
    return [tests[number] for number in by_function.get(module, {}).get(name or "", [])]


def files_of(module: str) -> list[str]:
    """The files of tests that reach most of the functions of a module."""
    tests, by_function = _read()
    here = by_function.get(module, {}).values()
    return [one for one, _ in Counter(tests[n].partition("::")[0] for numbers in here for n in numbers).most_common()]


@functools.cache
def _read() -> tuple[list[str], dict[str, dict[str, list[int]]]]:
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return [f"{file}::{one}" for file, names in found["tests"].items() for one in names], found["reached"]


def record() -> int:
    """Run the quick tests, and write what they reach; the exit code is that of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        options = ["-q", "-p", "tests.mutation.tracer", "--reached-lines", str(told)]
        ended = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, check=False, timeout=3600)
        found = json.loads(told.read_text(encoding="utf-8"))
        write(found["lines"], found["seconds"])
    return ended.returncode


def write(lines: Mapping[str, Mapping[str, list[str]]], seconds: Mapping[str, float]) -> None:
    """Write what follows from the tests that ran each line of each module, and the seconds of each."""
    ran: dict[tuple[str, str], set[str]] = {}
    modules = {module: by_line for module, by_line in lines.items() if module.endswith(".py")}  # and no templates
    for module, by_line in sorted(modules.items()):
        spans = functions((ROOT / "opendp_topk" / module).read_text(encoding="utf-8"))
        for name, span in spans.items():
            found = {test for line in span for test in by_line.get(str(line), [])}
            ran[module, name] = {test for test in found if counts(test, module)}
    breadth = Counter(test for tests in ran.values() for test in tests)
    near = {place: _near(tests, place[0], breadth, seconds) for place, tests in ran.items() if tests}
    files: dict[str, list[str]] = {}
    for test in sorted({test for tests in near.values() for test in tests}):
        files.setdefault(test.partition("::")[0], []).append(test.partition("::")[2])
    numbers = {test: n for n, test in enumerate(f"{file}::{one}" for file, names in files.items() for one in names)}
    reached: dict[str, dict[str, list[int]]] = {}
    for (module, name), tests in near.items():
        reached.setdefault(module, {})[name] = [numbers[test] for test in tests]
    rows = [",\n".join(f"{json.dumps(key)}: {_row(value)}" for key, value in part.items()) for part in (files, reached)]
    FILE.write_text(f'{{"tests": {{\n{rows[0]}\n}},\n"reached": {{\n{rows[1]}\n}}}}\n', encoding="utf-8")


def counts(test: str, module: str) -> bool:
    """Whether a test, or a file of tests, may notice what is wrong in a module.

    The tests of the repository are those of the room that they speak of, too.
    """
    folder, room = test.split("/")[1], within_storey(module).split("/")[0]
    return folder not in ELSEWHERE or folder == room or (folder, room) == ("repo", PINNING)


def _near(tests: set[str], module: str, breadth: Mapping[str, int], seconds: Mapping[str, float]) -> list[str]:
    """Of its own folder and of others those that reach the least else, the shortest of all first."""
    order = sorted(tests, key=lambda one: (breadth[one], seconds[one], one))
    own = [one for one in order if one.startswith(f"tests/{within_storey(module).rpartition('/')[0]}/")]
    others = [one for one in order if one not in own]
    return sorted([*own[:_MOST], *others[:_MOST]], key=lambda one: (seconds[one], one))


def _row(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
