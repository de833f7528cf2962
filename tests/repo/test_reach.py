"""Pins reach all that a claim rests on: an edit makes stale what speaks of it, and what none reaches is listed."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.proof import closures, library
from opendp_topk.proof.modules import Statement, dotted_module_name, external_origins, find_module

from .unreached import ELSEWHERE, UNREACHED

pytestmark = pytest.mark.untraced  # it derives all pins of copies of the package: tests of small ones are traced

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "opendp_topk"
SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """The package's sources and the proofs in a place where they may be spoiled."""
    shutil.copytree(PACKAGE, tmp_path / "opendp_topk", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "proofs", tmp_path / "proofs", ignore=shutil.ignore_patterns("*.pdf"))
    proof.clear_cache()
    with library.use_package_folder(tmp_path / "opendp_topk"):
        yield tmp_path
    proof.clear_cache()


def spoil(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, path
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    proof.clear_cache()


def stale() -> set[str]:
    return {name for name in proof.document_names() if tk.Proof(name).status != "current"}


def resting_on(names: set[str]) -> set[str]:
    return {name for name in proof.document_names() if names & {name, *proof.document_foundations(name)}}


@pytest.mark.quick(file="sampling/samplers/entropy.py", new="bytes(n)")
@pytest.mark.parametrize(
    ("file", "old", "new", "speaks", "silent"),
    [
        (
            "spaces/measures.py",
            "else round_up(number)",
            "else float(number)",
            "core/chaining",
            "errors/checks",
        ),
        (
            "sampling/distributions/joint.py",
            "as_mpq, round_down",
            "as_mpq, round_up as round_down",
            "distributions/joint",
            "samplers/joint",
        ),
        ("sampling/samplers/settle.py", "MOST_LEVELS = ", "MOST_LEVELS = 1 + ", "samplers/settle", "samplers/entropy"),
        ("sampling/samplers/entropy.py", "_CHUNK = ", "_CHUNK = 1 + ", "samplers/noiseless", "samplers/settle"),
        (
            "measurements/gaussian.py",
            "@proved_by(",
            "@staticmethod\n@proved_by(",
            "measurements/gaussian",
            "measurements/laplace",
        ),
        (
            "measurements/gaussian.py",
            '"measurements/gaussian"',
            '"core/user"',
            "measurements/gaussian",
            "measurements/laplace",
        ),
        (
            "measurements/laplace.py",
            "granularity: Number | None = None",
            "granularity: Number | None = 1",
            "measurements/laplace",
            "measurements/gaussian",
        ),
        ("sampling/samplers/entropy.py", "urandom(n + _SPARE)", "urandom(n)", "samplers/entropy", "samplers/noiseless"),
        ("sampling/samplers/entropy.py", "SYSTEM = Entropy()", "SYSTEM = None", "samplers/race", "samplers/entropy"),
        (
            "errors/checks.py",
            "if number < 0:  # [not-negative]\n        raise ParameterError",
            "if number < -1:  # [not-negative]\n        raise ParameterError",
            "errors/checks",
            "numerics/rounding",
        ),
        (
            "errors/checks.py",
            "def is_integer(value: Any) -> bool:",
            "def is_integer(value: Any = 1) -> bool:",
            "errors/checks",
            "samplers/noiseless",
        ),
        (
            "spaces/domains.py",
            "if array.size == 0:  # [not-empty]",
            "if array.size < 0:  # [not-empty]",
            "spaces/domains",
            "errors/checks",
        ),
        (
            "tables/files.py",
            "return dialect.columns.convert_columns(scan)",
            "return dialect.columns.convert_columns(scan).with_row_index('user')",
            "spaces/frame_domains",
            "spaces/domains",
        ),
        ("tables/files.py", "str.strip_chars()", "str.head(1)", "spaces/frame_domains", "spaces/domains"),
        ("tables/frames.py", '"Int8", ', '"Float64", ', "spaces/frame_domains", "spaces/domains"),
        (
            "spaces/metrics.py",
            "class UserDistance(Metric)",
            "class UserDistance(ScoreMetric)",
            "transformations/count_by_item",
            "spaces/range_distance",
        ),
        ("spaces/measures.py", "_PROBES = (0.0,", "_PROBES = (1.0,", "spaces/curves/curve", "errors/checks"),
        ("sampling/noises/gumbel.py", "_SMALL = ", "_SMALL = 2 * ", "noises/standard", "numerics/rounding"),
        (
            "numerics/arithmetic.py",
            "_DOWN = gmpy2.RoundDown",
            "_DOWN = gmpy2.RoundUp",
            "noises/standard",
            "errors/checks",
        ),
        ("apps/ledger/locks.py", "PATIENCE = ", "PATIENCE = 1 + ", "ledger/storage", "core/chaining"),
    ],
)
def test_an_edit_makes_stale_what_speaks_of_it(
    copy: Path, file: str, old: str, new: str, speaks: str, silent: str
) -> None:
    spoil(copy / "opendp_topk" / file, old, new)
    moved = {pin.document for name in proof.document_names() for pin in proof.code_hashes(name) if not pin.is_current}
    assert speaks in moved
    assert silent not in stale()
    assert stale() == resting_on(moved)


@pytest.mark.slow
def test_a_document_that_is_relied_on(copy: Path) -> None:
    spoil(copy / "proofs/errors/checks.tex", r"\item\label{K3}", r"\item\label{K3} On Sundays:")
    assert "errors/checks" not in stale()
    assert {"core/chaining", "spaces/domains", "measurements/gaussian"} <= stale()
    assert "samplers/noiseless" not in stale()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("spaces/measures.py", 'class Measure(ABC):\n    """', 'class Measure(ABC):\n    """One. '),
        ("spaces/measures.py", "class Measure(ABC):", "class Measure(ABC):  # a comment"),
        (
            "sampling/samplers/advantages.py",
            "def _nearest_float(ratio: Fraction)",
            "def _nearest_float(\n    ratio: 'Fraction',\n)",
        ),
        ("measurements/gaussian.py", "    Privacy:\n", "    Privacy, then:\n"),
        ("sampling/noises/gumbel.py", "_SMALL = ", "_SMALL  =  "),
        ("spaces/domains.py", "import numpy as np\n", "import math\n\nimport numpy as np\n"),
    ],
)
def test_words_and_layout_outside_of_regions_change_nothing(copy: Path, file: str, old: str, new: str) -> None:
    spoil(copy / "opendp_topk" / file, old, new)
    assert stale() == set()


LAPLACE = "measurements/laplace.py"
PARTIAL = "then_laplace = partial_constructor(make_laplace)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "reached"),
    [
        (
            LAPLACE,
            PARTIAL,
            "then_laplace = partial_constructor(lambda *a, **o: make_laplace(*a, **o | {'scale': 1}))",
            "laplace",
        ),
        (LAPLACE, PARTIAL, f"{PARTIAL}\nthen_laplace = min", "laplace"),
        (
            "measurements/above_threshold.py",
            "then_above_threshold = partial_constructor(make_above_threshold)",
            "then_above_threshold = partial_constructor(lambda *a, k=1, **o: make_above_threshold(*a, k=1, **o))",
            "above_threshold",
        ),
        ("core/public_names.py", '"measurements.laplace"', '"measurements.gaussian"', "laplace"),
        ("core/public_names.py", "for name in names.split()}", "for name in names.split()[:1]}", ""),
        ("core/partials.py", "Partial(constructor, args, kwargs)", "Partial(constructor, args, {})", ""),
        ("core/partials.py", "input_metric, *self.arguments, **", "input_metric, *self.arguments[:1], **", ""),
        ("__init__.py", "getattr(_importlib.import_module(_HOMES[name]", "getattr(_importlib.import_module('x'", ""),
        ("__init__.py", "__all__ = ", "__path__ = ['elsewhere']\n__all__ = ", ""),
    ],
)
def test_a_name_that_leads_elsewhere(copy: Path, file: str, old: str, new: str, reached: str) -> None:
    """``reached`` is a document that no longer speaks of what is called, empty for all."""
    spoil(copy / "opendp_topk" / file, old, new)
    found = stale()
    assert found == set(proof.document_names()) if not reached else f"measurements/{reached}" in found
    assert not reached or "numerics/rounding" not in found


# What no pin reaches carries no claim, and is listed with the reason.


def statements() -> Iterator[tuple[str, Statement]]:
    for source in SOURCES:
        home = find_module(PACKAGE, dotted_module_name(source))
        assert home is not None
        yield from ((source, one) for one in home.statements)


def answered() -> set[Statement]:
    return set().union(*(closures._cached_document_closure(PACKAGE, name) for name in proof.document_names()))


def read_at_run_time() -> set[str]:
    """The names that any statement of the package reads; annotations read nothing."""
    code = [one for _, one in statements() if not is_alias(one)]
    return {str(origin) for one in code for _, origin in external_origins(PACKAGE, one)}


def is_alias(one: Statement) -> bool:
    """An alias of types, a type variable or a protocol."""
    if isinstance(one.node, ast.ClassDef):
        return [ast.unparse(base) for base in one.node.bases] == ["Protocol"]
    value = one.node.value if isinstance(one.node, ast.Assign) else None
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in ("TypeVar", "ParamSpec")
    return isinstance(value, ast.Subscript) or (isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr))


def is_partial_form(name: str, one: Statement) -> bool:
    """``then_x = partial_constructor(make_x)``: it hands its arguments to the constructor, whose claim is proved."""
    return ast.unparse(one.node) == f"{name} = partial_constructor({name.replace('then_', 'make_', 1)})"


def unreached() -> set[str]:
    """What no pin reaches, but for aliases that only annotations read, and for partial forms."""
    known, read, found = answered(), read_at_run_time(), set()
    for source, one in statements():
        if any(f"{source}/".startswith(f"{listed}/") for listed in ELSEWHERE) or one in known:
            continue
        for name in one.names or {"(statement)"}:
            full = f"{one.module}:{name}"
            if not is_partial_form(name, one) and not (is_alias(one) and full not in read):
                found.add(full)
    return found


@pytest.mark.further
def test_what_no_pin_reaches_is_listed_with_the_reason() -> None:
    found = unreached()
    assert found - UNREACHED.keys() == set(), "pin it by a document, or say in unreached.py why it carries no claim"
    assert UNREACHED.keys() - found == set(), "a pin reaches this, or it is gone: take it from the list"
    assert all(len(reason.split()) >= 4 for reason in (*UNREACHED.values(), *ELSEWHERE.values()))


@pytest.mark.further
@pytest.mark.parametrize(
    "kind", ["def unheard_of():\n    return 1", "class Unheard:\n    pass", "_UNHEARD = 1", "del ABC"]
)
def test_a_new_definition_is_noticed(kind: str) -> None:
    (node,) = ast.parse(kind).body
    new = Statement("spaces.metrics", node, frozenset(), {})
    assert new not in answered()
    assert not is_alias(new)
    assert not is_partial_form("unheard_of", new)


def test_a_partial_form_of_another_constructor_is_noticed() -> None:
    (node,) = ast.parse("then_laplace = partial_constructor(make_gaussian)").body
    assert not is_partial_form("then_laplace", Statement("", node, frozenset(), {}))
    (node,) = ast.parse("then_laplace = partial_constructor(make_laplace)").body
    assert is_partial_form("then_laplace", Statement("", node, frozenset(), {}))
