"""The public names: sorted, complete, documented, and each make_* with its then_*."""

import enum
import importlib
import inspect
import operator
import pkgutil
import re
from typing import Any

import pytest

import opendp_topk
from opendp_topk.core.public_names import IN_OPENDP, NAMESPACES
from tests.concepts.sentinels import raises_exactly

PUBLIC = {name: getattr(opendp_topk, name) for name in opendp_topk.__all__} | {
    name: getattr(getattr(opendp_topk, space), name)
    for space in NAMESPACES
    for name in getattr(opendp_topk, space).__all__
    if space != "audit"
}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
CONSTRUCTORS = sorted(name for name in PUBLIC if name.startswith("make_"))


def modules() -> list[Any]:
    found = []
    for info in pkgutil.walk_packages(opendp_topk.__path__, "opendp_topk."):
        if not info.name.startswith(("opendp_topk.apps.cli", "opendp_topk.__main__", "opendp_topk.apps.audit")):
            found.append(importlib.import_module(info.name))
    return found


def test_all_is_sorted_and_without_repetition() -> None:
    assert list(opendp_topk.__all__) == sorted(set(opendp_topk.__all__))


def test_all_holds_every_public_name_of_the_package() -> None:
    visible = {
        name
        for name, value in vars(opendp_topk).items()
        if not name.startswith("_") and not inspect.ismodule(value) and "opendp_topk" in str(value.__module__)
    }
    assert visible == {name for name in opendp_topk.__all__ if not name.startswith("_")}


def test_every_constructor_conversion_and_search_is_exported() -> None:
    written = {
        name
        for module in modules()
        for name, value in vars(module).items()
        if name.startswith(("make_", "then_", "binary_search_", "index_")) and value.__module__ == module.__name__
    }
    assert written <= set(PUBLIC), f"missing in __all__: {sorted(written - set(PUBLIC))}"


def leads_with_the_space(name: str) -> bool:
    return list(inspect.signature(PUBLIC[name]).parameters)[:2] == ["input_domain", "input_metric"]


@pytest.mark.parametrize("name", [name for name in CONSTRUCTORS if not leads_with_the_space(name)])
def test_a_combinator_takes_links_and_has_no_then(name: str) -> None:
    """Its space is that of the links that it takes, so there is nothing for ``space >> then_x(...)`` to add."""
    assert inspect.getfile(inspect.unwrap(PUBLIC[name])).split("/")[-2] == "combinators"
    assert name.replace("make_", "then_", 1) not in PUBLIC
    first, *others = inspect.signature(PUBLIC[name]).parameters.values()
    assert first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in others)


@pytest.mark.parametrize("name", [name for name in CONSTRUCTORS if leads_with_the_space(name)])
def test_every_make_has_its_then(name: str) -> None:
    make, then = PUBLIC[name], PUBLIC[name.replace("make_", "then_", 1)]
    assert list(inspect.signature(then).parameters) == list(inspect.signature(make).parameters)[2:]
    assert name in (then.__doc__ or "")
    parameters = list(inspect.signature(make).parameters.values())
    assert [parameter.name for parameter in parameters[:2]] == ["input_domain", "input_metric"]
    for parameter in parameters[2:]:
        leading = parameter.name.startswith("output_")
        assert parameter.kind is (parameter.POSITIONAL_OR_KEYWORD if leading else parameter.KEYWORD_ONLY)


def test_every_function_is_documented() -> None:
    assert FUNCTIONS
    for name in sorted(FUNCTIONS):
        _has_its_sections(name)


def _has_its_sections(name: str) -> None:
    function, text = PUBLIC[name], inspect.getdoc(PUBLIC[name]) or ""
    assert text.splitlines()[0].endswith((".", ":")) or name.startswith("then_")
    if name.startswith("then_"):
        return
    needed = ["Returns:", "Raises:", "Example:"] + ["Args:"] * bool(inspect.signature(function).parameters)
    for section in needed:
        assert f"\n{section}" in text, f"{name} lacks the section {section}"
    assert ">>> " in text
    described = text.split("\nArgs:")[1].split("\nReturns:")[0] if "Args:" in needed else ""
    for parameter in inspect.signature(function).parameters:
        known = parameter in ("input_domain", "input_metric", "output_measure") or parameter in described
        assert known, f"{name} does not describe {parameter}"


def test_every_class_and_its_public_methods_are_documented() -> None:
    assert CLASSES
    for name in sorted(CLASSES):
        _has_docstrings(name)


def _has_docstrings(name: str) -> None:
    kind = PUBLIC[name]
    assert (kind.__doc__ or "").strip(), f"{name} has no docstring"
    assert not (kind.__doc__ or "").startswith(f"{name}("), f"{name} has only the docstring that dataclass makes"
    if issubclass(kind, BaseException | enum.Enum):
        return
    for method, value in vars(kind).items():
        if method == getattr(value, "__name__", "") and not method.startswith("_") and inspect.isfunction(value):
            assert inspect.getdoc(getattr(kind, method)), f"{name}.{method} has no docstring"


def test_every_constructor_says_where_it_is_proved_and_what_it_costs() -> None:
    for name in CONSTRUCTORS:
        text = inspect.getdoc(PUBLIC[name]) or ""
        if "_user_" in name:
            assert "Nothing is proved" in text, name
        else:
            assert "Proof: proofs/" in text, name
            builds = inspect.signature(PUBLIC[name]).return_annotation
            assert "\nPrivacy:" in text or builds == "Transformation", name
            assert hasattr(PUBLIC[name], "proof_name"), name


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Ledger", ": use ledger.Ledger"),
        ("read_table", ": use tables.read_table"),
        ("make_report_noisy_topk", ": use make_report_noisy_top_k"),
        ("MaxDivergance", ": use MaxDivergence"),
        ("xyz", ""),
        ("make_top_k", ""),
        ("_xyz", ""),
        ("apps.xyz", ""),
    ],
)
def test_a_name_in_another_place_or_misspelt_is_answered_with_the_right_one(name: str, hint: str) -> None:
    caught = raises_exactly(AttributeError, lambda: getattr(opendp_topk, name))
    assert str(caught) == f"module 'opendp_topk' has no attribute '{name}'{hint}"


@pytest.mark.quick
@pytest.mark.parametrize("name", [*IN_OPENDP, "then_noisy_max", "then_noisy_top_k"])
def test_a_name_of_opendp_is_answered_with_the_name_here(name: str) -> None:
    dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed (extra opendp)")
    here = IN_OPENDP[name.replace("then_", "make_")]
    raises_exactly(AttributeError, lambda: getattr(opendp_topk, name), f"has no attribute '{name}': use {here}")
    assert any(hasattr(part, name) for part in (dp, dp.m, dp.c, dp.t))
    for public in re.findall(r"\b(?:make_\w+|\w*[A-Z]\w*|\w+\.\w+)", here):
        assert operator.attrgetter(public)(opendp_topk) is not None
