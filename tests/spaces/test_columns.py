"""Every constructor that takes a table accepts the columns that it needs, and refuses a table with more or fewer."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from inspect import signature
from typing import Any

import pytest

import opendp_topk as tk
from opendp_topk.core.spaces import require_table_space

from ..concepts.sentinels import raises_exactly

KINDS = {
    "items": tk.FrameDomain("u", "i"),
    "groups": tk.FrameDomain("u", "i", group="g"),
    "items and numbers": tk.FrameDomain("u", "i", value="v"),
    "numbers": tk.FrameDomain("u", value="v"),
}
USERS, PURE = tk.UserDistance(), tk.MaxDivergence()
COUNT = (KINDS["items"], USERS) >> tk.then_count_by_item(candidates=[1, 2])
BEST = COUNT >> tk.then_permute_and_flip(PURE, scale=2.0)
MEASURED = {"output_measure": PURE}
WITH_DELTA = {"output_measure": tk.Approximate(PURE)}

# Constructor -> the kinds of tables that it takes, and the arguments without which it takes none.
TAKEN: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "make_count_by_item": (("items",), {"candidates": [1, 2]}),
    "make_count_outside": (("items",), {"items": [1]}),
    "make_cap_scores": (("items",), {"caps": [1, 2], "share": Fraction(1, 2)}),
    "make_bound_contributions": (("items", "items and numbers"), {"most": 1}),
    "make_keep_groups": (("groups",), {"most": 1}),
    "make_drop_groups": (("groups",), {}),
    "make_sum_by_item": (("items and numbers",), {"candidates": [1, 2], "bounds": (0, 5)}),
    "make_quantile_scores": (("numbers",), {"quantile": Fraction(1, 2), "bounds": (0, 5)}),
    "make_count_by_number": (("numbers",), {"bounds": (0, 5)}),
    "make_partition_by": (("groups",), {**MEASURED, "measurements": {1: BEST, 2: BEST}}),
    "make_weighted_partition_selection": (("items",), {**WITH_DELTA, "max_items": 1, "epsilon": 1.0, "delta": 1e-6}),
    "make_top_k_coverage": (("items",), {**MEASURED, "candidates": [1, 2], "k": 1, "scale": 8.0}),
    "make_continual_top_k": (
        ("items",),
        {**MEASURED, "steps": 2, "k": 1, "scale": 8.0, "items": [1, 2], "max_items": 1},
    ),
}


def test_every_constructor_of_tables_is_listed() -> None:
    """User-supplied links and odometers take any domain."""
    makers = (name for name in tk.__all__ if name.startswith("make_"))
    assert set(TAKEN) == {
        name for name in makers if "FrameDomain" in str(signature(getattr(tk, name)).parameters.get("input_domain"))
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TAKEN)
def test_a_table_is_accepted_with_exactly_the_columns_that_are_needed(name: str, kind: str) -> None:
    kinds, options = TAKEN[name]
    build = partial(getattr(tk, name), KINDS[kind], USERS, **options)
    if kind in kinds:
        assert build().input_domain == KINDS[kind]
        with pytest.raises((tk.errors.SpaceError, tk.errors.ParameterTypeError), match="input_"):
            getattr(tk, name)(KINDS[kind], tk.LInfDistance(), **options)
        return
    needed = {
        "items": "user and item columns",
        "groups": "user, item and group columns: FrameDomain(user, item, group=...)",
        "items and numbers": "user, item and value columns",
        "numbers": "user and value columns: FrameDomain(user, value=...)",
    }
    said = "input_domain must be a FrameDomain with", *(needed[one] for one in kinds), f", not {KINDS[kind]!r}"
    raises_exactly(tk.errors.ParameterTypeError, build, *said)


@pytest.mark.parametrize("after", KINDS)
@pytest.mark.parametrize("before", KINDS)
def test_a_chain_joins_equal_tables_alone(before: str, after: str) -> None:
    """A table with groups is not taken for one without them on the right side of ``>>`` either."""
    same = lambda value: value  # noqa: E731
    one, other = (
        tk.make_user_transformation(domain, USERS, domain, USERS, function=same, stability_map=same)
        for domain in (KINDS[before], KINDS[after])
    )
    if before == after:
        assert (one >> other).map(1) == 1
    else:
        raises_exactly(tk.errors.SpaceError, lambda: one >> other, repr(KINDS[before]), repr(KINDS[after]))


def test_other_domains_have_no_columns() -> None:
    vectors = tk.VectorDomain(tk.AtomDomain(int))
    raises_exactly(tk.errors.SpaceError, lambda: require_table_space(vectors, USERS, ("item",)), "input_metric")
