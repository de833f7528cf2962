"""A constructor costs four files and one line: a made-up one is added to a copy of the repository, and its tests hold.

The copy gets a module, a proof, a test and a row of a page from ``tests/repo/made_up``, and one import line. Then
follow the two commands of docs/adding_a_constructor.md, and the tests that hold lists, pages, exports and proofs.

The second command searches for the largest losses of the new one, and must leave the rows of all others as they are.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = Path(__file__).parent / "made_up"
STEM, NEIGHBOUR = "textbook_exponential", "exponential_mechanism"
FILES = {
    f"opendp_topk/measurements/{STEM}.py": "module.txt",
    f"proofs/measurements/{STEM}.tex": "proof.txt",
    f"tests/measurements/test_{STEM}.py": "test.txt",
}
LOSSES, SHOWN = "docs/tightness.md", "docs/howto/choose.md"
GENERATED = {
    "docs/reference/names.md",
    "opendp_topk/__init__.pyi",
    "opendp_topk/core/public_names.py",
    "proofs/README.md",
    LOSSES,
    "proofs/relied.json",
    "proofs/readings.jsonl",
}
TESTS = [
    *(
        f"tests/repo/test_{name}.py"
        for name in ("exports", "language", "layers", "pages", "proofs", "tiers", "bounds", "reach")
    ),
    f"tests/measurements/test_{STEM}.py",
    "tests/audit/test_shipped.py",
    "tests/planning/test_catalogue.py",
    "tests/cli/test_mechanisms.py",
]
# Of what is tried with every mechanism, the new one alone; no documents are built.
CHOSEN = f"not (refuted or plans_and_releases or builds) or {STEM}"
SKIPPED = shutil.ignore_patterns("__pycache__", ".*cache", ".git", ".venv*", "*.pdf", ".coverage")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("repository") / "copy"
    shutil.copytree(ROOT, copy, ignore=SKIPPED)
    return copy


def run(copy: Path, *arguments: str) -> str:
    """``python -m ...`` in the copy; its output, where it ends well."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def imports(copy: Path) -> str:
    """The imports of the constructor from which the new one was copied."""
    text = (copy / f"opendp_topk/measurements/{NEIGHBOUR}.py").read_text(encoding="utf-8")
    return text.split('"""\n\n', 1)[1].split("\n\n\n", 1)[0]


def digests(copy: Path) -> dict[str, str]:
    files = (path for path in copy.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(copy).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def insert(path: Path, after: str, line: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(after) == 1
    path.write_text(text.replace(after, after + line), encoding="utf-8")


def test_the_page_states_the_lines_that_were_written() -> None:
    page = (ROOT / "docs" / "adding_a_constructor.md").read_text(encoding="utf-8")
    lines = [len((PARTS / part).read_text("utf-8").splitlines()) for part in (*FILES.values(), "page.txt")]
    assert f"| {' + '.join(map(str, lines))} = {sum(lines)} |" in page


@pytest.mark.slow
def test_a_constructor_costs_four_files_and_one_line_and_changes_no_loss(copy: Path) -> None:
    before = digests(copy)

    def changed() -> set[str]:
        return {name for name, digest in digests(copy).items() if before.get(name) != digest}

    for target, part in FILES.items():
        text = (PARTS / part).read_text(encoding="utf-8").replace("{imports}", imports(copy))
        (copy / target).write_text(text, encoding="utf-8")
    row = (PARTS / "page.txt").read_text(encoding="utf-8")
    (beside,) = re.findall(rf"^\| `make_{NEIGHBOUR}` .*\n", (copy / SHOWN).read_text("utf-8"), re.MULTILINE)
    insert(copy / SHOWN, beside, row)
    line = f'    "measurements.{NEIGHBOUR}": "make_{NEIGHBOUR} then_{NEIGHBOUR}",\n'
    insert(copy / "opendp_topk/core/public_names.py", line, line.replace(NEIGHBOUR, STEM))
    assert changed() == {*FILES, SHOWN, "opendp_topk/core/public_names.py"}

    quotes = ["[twice]", "scale=2 * scale", "--because", "the scale is what the theorem says", "--by", "Ada"]
    run(copy, "proofs.tools.form", "--repin", f"measurements/{STEM}", *quotes)
    written = run(copy, "tests.pages", "--losses-of", f"make_{STEM}")
    unchanged = [line for line in written.splitlines() if line.endswith(": as it was")]
    # No machine has checked it, and records and help name the mechanisms that the library describes.
    names = ("docs/machine_checked.md", "docs/release.schema.json", "docs/reference/command.md")
    assert unchanged == [f"{name}: as it was" for name in names]
    assert changed() == {*FILES, SHOWN, *GENERATED}
    found = (copy / LOSSES).read_text(encoding="utf-8").splitlines(keepends=True)
    of_others = "".join(line for line in found if f"`make_{STEM}`" not in line)
    assert of_others == (ROOT / LOSSES).read_text(encoding="utf-8"), f"out of date: python -m tests.pages {LOSSES}"
    assert " passed" in run(copy, "pytest", "-q", "-x", *TESTS, "-k", CHOSEN).splitlines()[-1]

    page = copy / SHOWN  # the tests in the copy can fail: what was added is needed
    page.write_text(page.read_text(encoding="utf-8").replace(row, ""), encoding="utf-8")
    with pytest.raises(AssertionError, match=f"shows make_{STEM}"):
        run(copy, "pytest", "-q", "-x", "tests/repo/test_pages.py", "-k", "at_work")
