"""A noise is named by its record: elsewhere by constructors, defaults and theorems alone, and never by an oracle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import opendp_topk
from opendp_topk.sampling.noises.standard import STANDARD

PACKAGE = Path(opendp_topk.__file__).parent
ROOT = PACKAGE.parent
ELSEWHERE = sorted(path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "sampling" / "noises"))
# The names by which the library loads what it offers.
LISTS = {"core/public_names.py"}
# Of these theorems speak, and constructors use them unless they are told otherwise.
DEFAULTS = {"Gumbel", "Exponential"}


def code(path: Path) -> str:
    """A module without comments and without the texts that explain it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@pytest.mark.parametrize("name", ["HalfLogistic", "Logistic"])
def test_no_code_elsewhere_knows_a_noise_that_is_no_default(name: str) -> None:
    """Of Laplace noise, too, other theorems and mechanisms speak: the next test is for it."""
    words = re.compile("[-_]?".join(re.findall("[A-Z][a-z]+", name)), re.IGNORECASE)
    named = [path for path in ELSEWHERE if words.search(path.read_text(encoding="utf-8")) and words.search(code(path))]
    assert {path.relative_to(PACKAGE).as_posix() for path in named} - LISTS == set()


def test_only_the_defaults_are_loaded_by_name() -> None:
    modules = [noise.race.rpartition(".")[2] for noise in STANDARD if noise.race]
    loads = re.compile(rf"noises\.(?:{'|'.join(modules)}) import (\w+)")
    found = {name for path in ELSEWHERE for name in loads.findall(path.read_text(encoding="utf-8"))}
    assert found == DEFAULTS


LOADED = """
import importlib, pathlib, sys
for path in sorted(pathlib.Path("tests/oracles").glob("*.py")):
    importlib.import_module(f"tests.oracles.{path.stem}")
print(*(name for name in sys.modules if name.split(".")[0] == "opendp_topk"))
"""


@pytest.mark.further
def test_no_oracle_reads_a_record_even_by_way_of_others() -> None:
    """Sampler and law read one record, so that a wrong fact would fool both: what judges them must not read it."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
