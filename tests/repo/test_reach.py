"""Pins reach all that a claim rests on: an edit makes stale what speaks of it, and what none reaches is listed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk import proof
from opendp_topk.proof import closures
from opendp_topk.proof.modules import Statement, dotted_module_name, external_origins, find_module
from tests.concepts.copies import spoil
from tests.mutation.faults import read_faults

from .unreached import ELSEWHERE, UNREACHED

pytestmark = pytest.mark.untraced  # it derives all pins of copies of the package: tests of small ones are traced

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "opendp_topk"
EDITS = [
    (one.file, one.old, one.new, one.name, one.what)
    for one in read_faults(Path(__file__).with_name("stale_edits.txt").read_text("utf-8"))
]
SOURCES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def stale() -> set[str]:
    return {name for name in proof.document_names() if tk.audit.Proof(name).status != "current"}


def resting_on(names: set[str]) -> set[str]:
    return {name for name in proof.document_names() if names & {name, *proof.document_foundations(name)}}


@pytest.mark.quick(file="sampling/samplers/entropy.py", new="bytes(n)")
@pytest.mark.parametrize(("file", "old", "new", "speaks", "silent"), EDITS)
def test_an_edit_makes_its_readers_stale(copy: Path, file: str, old: str, new: str, speaks: str, silent: str) -> None:
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
        (
            "spaces/measures.py",
            'class Measure(ABC, Generic[Distance]):\n    """',
            'class Measure(ABC, Generic[Distance]):\n    """One. ',
        ),
        (
            "spaces/measures.py",
            "class Measure(ABC, Generic[Distance]):",
            "class Measure(ABC, Generic[Distance]):  # a comment",
        ),
        (
            "sampling/samplers/advantages.py",
            "def _nearest_float(ratio: Fraction)",
            "def _nearest_float(\n    ratio: 'Fraction',\n)",
        ),
        ("measurements/additive_noise.py", "    Privacy:\n", "    Privacy, then:\n"),
        ("sampling/noises/gumbel.py", "_SMALL = ", "_SMALL  =  "),
        ("spaces/domains.py", "import numpy as np\n", "import math\n\nimport numpy as np\n"),
    ],
)
def test_words_and_layout_outside_of_regions_change_nothing(copy: Path, file: str, old: str, new: str) -> None:
    spoil(copy / "opendp_topk" / file, old, new)
    assert stale() == set()


LAPLACE = "measurements/additive_noise.py"
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
        ("core/public_names.py", '"measurements.additive_noise"', '"measurements.peeled_top_k"', "laplace"),
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
        home = find_module(dotted_module_name(source))
        yield from ((source, one) for one in home.statements)


def answered() -> set[Statement]:
    return set().union(*(closures.document_closure(name) for name in proof.document_names()))


def read_at_run_time() -> set[str]:
    """The names that any statement of the package reads; annotations read nothing."""
    code = [one for _, one in statements() if not is_alias(one)]
    return {str(origin) for one in code for _, origin in external_origins(one)}


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
