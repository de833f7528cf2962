"""Which files of quick tests reach which function of the package, as one run of them showed: ``reached.json``.

``python -m tests.mutation reach`` runs the quick tests once, with coverage, and writes it anew. What the file says only
decides which tests are tried first, so that it may be older than the code.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .checkout import ROOT
from .functions import at, functions

FILE = Path(__file__).with_name("reached.json")
ELSEWHERE = ("repo", "proof", "foreign", "benchmarks", "mutation", "golden", "docs")
"""Tests of the repository, of documents, of recorded results and of other libraries: of everything, or of no module."""
_MOST = 8


def tests_of(module: str, text: str, changed: str) -> list[str]:
    """The files that reach the function in which ``changed`` stands, and then those that reach most of the module.

    Those that reach the least else come first.
    """
    files, by_function = _read()
    here = by_function.get(module, {})
    name = at(text, text[: text.find(changed)].count("\n") + 1) if changed and changed in text else None
    most = Counter(number for numbers in here.values() for number in numbers)
    return [
        files[number] for number in dict.fromkeys([*here.get(name or "", []), *(one for one, _ in most.most_common())])
    ]


@functools.cache
def _read() -> tuple[list[str], dict[str, dict[str, list[int]]]]:
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return found["tests"], found["reached"]


def record() -> int:
    """Run the quick tests, and write what they reach; the exit code is that of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines.json"
        options = ["-q", "-p", "tests.mutation.tracer", "--reached-lines", str(lines)]
        ended = subprocess.run([sys.executable, "-m", "pytest", *options], cwd=ROOT, check=False, timeout=3600)
        write(json.loads(lines.read_text(encoding="utf-8")))
    return ended.returncode


def write(lines: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Write what follows from the test files that ran each line of each module."""
    reached: dict[str, dict[str, set[str]]] = {}
    for module, by_line in sorted(lines.items()):
        spans = functions((ROOT / "opendp_topk" / module).read_text(encoding="utf-8"))
        for name, span in spans.items():
            ran = {file for line in span for file in by_line.get(str(line), [])}
            reached.setdefault(module, {})[name] = {one for one in ran if one.split("/")[1] not in ELSEWHERE}
    breadth = Counter(file for names in reached.values() for files in names.values() for file in files)
    files = sorted(breadth)
    rows = []
    for module, names in reached.items():
        near = {
            name: sorted(found, key=lambda one: (breadth[one], one))[:_MOST] for name, found in names.items() if found
        }
        numbers = {name: [files.index(one) for one in found] for name, found in near.items()}
        rows.append(f"{json.dumps(module)}: {json.dumps(numbers, separators=(',', ':'))}")
    FILE.write_text(
        f'{{"tests": {json.dumps(files, indent=0)},\n"reached": {{\n' + ",\n".join(rows) + "\n}}\n", encoding="utf-8"
    )
