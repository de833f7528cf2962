"""Relations between maps that need no theorem of the mechanism: between distances, measures and scales.

A map that is too small for groups of users, or under one measure alone, breaks one of them. The second half compares
each map at several distances with the loss between two enumerated distributions.
"""

import functools
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import opendp_topk as tk
from tests.concepts.losses import free, hockey_stick, realised
from tests.concepts.mechanisms import MECHANISMS
from tests.concepts.tried import specimens_of

MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
PROFILE = tk.PrivacyProfile()
MEASURES = (MAX, RANGE, ZCDP, PROFILE, tk.Approximate(MAX), tk.Approximate(ZCDP))
ERRORS = (tk.errors.ParameterError, tk.errors.ParameterTypeError, tk.errors.SpaceError, tk.errors.ForeignError)


def with_scales() -> list[str]:
    """The constructors that take a space, a measure and a scale."""
    needed = {"input_domain", "input_metric", "output_measure", "scale"}
    names = [name for name in tk.__all__ if name.startswith("make_")]
    return [name for name in names if needed <= inspect.signature(getattr(tk, name)).parameters.keys()]


NAMES = [name for name in with_scales() if name != "make_above_threshold"]
"""Above threshold has no specimen; its map is in ``test_above_threshold.py``."""


def options_of(name: str, link: Any) -> dict[str, Any]:
    """The arguments by name that made a link."""
    recipe = link._claim.recipe
    return dict(inspect.signature(getattr(tk, name)).bind(*recipe.arguments, **recipe.options).arguments)


def remade(name: str, options: dict[str, Any], measure: tk.Measure, factor: int = 1) -> Any:
    """The same measurement under another measure, with all scales multiplied; None if the constructor refuses it."""
    scales = {one: value * factor for one, value in options.items() if one.endswith("scale") and value is not None}
    try:
        made = getattr(tk, name)(**options | scales | {"output_measure": measure})
        made.map(1)
    except ERRORS:
        return None
    return made


def noise_of(link: Any) -> tuple[Any, Any]:
    """The noise of a measurement, whose default may follow the measure."""
    return link.parameters.get("noise"), link.parameters.get("gaussian")


@functools.cache
def cases(name: str, factor: int) -> list[dict[tk.Measure, Any]]:
    """For at most seven specimens the measurements that they are under each measure."""
    found = []
    for specimen in specimens_of(name)[:7]:
        made = {one: remade(name, options_of(name, specimen.link), one, factor) for one in MEASURES}
        own = noise_of(specimen.link)
        found.append({measure: one for measure, one in made.items() if one is not None and noise_of(one) == own})
    return found


def losses(name: str, factor: int, measure: tk.Measure) -> Iterator[list[Any]]:
    """The claims at distances 1, 2 and 3."""
    for case in cases(name, factor):
        if measure in case:
            yield [case[measure].map(d_in) for d_in in (1, 2, 3)]


@pytest.mark.parametrize("name", NAMES)
def test_groups_lose_as_the_definitions_of_the_measures_say(name: str) -> None:
    """With much noise epsilon and the range grow with the distance, and rho with its square."""
    for measure, power, share in ((MAX, 1, 1), (RANGE, 1, 0.98), (ZCDP, 2, 0.97)):
        for claims in losses(name, 64, measure):
            for d_in, claim in enumerate(claims, 1):
                assert share * d_in**power <= claim / claims[0] * (1 + 1e-12)
                assert claim <= d_in**power * claims[0] * (1 + 1e-12)
    for inner, power in ((MAX, 1), (ZCDP, 2)):
        for claims in losses(name, 64, tk.Approximate(inner)):
            for d_in, (loss, delta) in enumerate(claims, 1):
                assert 0.97 * d_in**power <= loss / claims[0][0] * (1 + 1e-12)
                assert delta >= (0.99 * (1 - (1 - claims[0][1]) ** d_in) if claims[0][1] < 0.1 else claims[0][1])


@pytest.mark.parametrize("name", NAMES)
def test_equal_data_lose_nothing_with_and_without_noise(name: str) -> None:
    for case in [*cases(name, 0), *cases(name, 1)]:
        for measure, link in case.items():
            assert measure.at_most(link.map(0), free(measure)), link


@pytest.mark.further
@pytest.mark.parametrize("name", NAMES)
def test_curves_of_groups(name: str) -> None:
    """The total variation distance grows with the size of the group until a delta is near 1."""
    for first, *others in losses(name, 64, PROFILE):
        for d_in, curve in enumerate(others, 2):
            one, many = first.delta(0.0), curve.delta(0.0)
            assert many >= (0.95 * (1 - (1 - one) ** d_in) if one < 0.1 else one)
            assert [curve.delta(e) >= first.delta(e) for e in (0.01, 0.1, 1.0)] == 3 * [True]


@pytest.mark.further
@pytest.mark.parametrize("factor", [1, 64])
@pytest.mark.parametrize("name", NAMES)
def test_one_measure_against_another(name: str, factor: int) -> None:
    slack = 1 + 1e-12
    for case in cases(name, factor):
        for d_in in (1, 2, 3):
            pure, width, rho, curve = (case[one].map(d_in) if one in case else None for one in MEASURES[:4])
            if pure is not None and width is not None:
                assert pure <= width * slack
                assert width <= 2 * pure * slack
            if rho is not None:
                assert pure is None or rho <= pure**2 / 2 * slack
                assert width is None or rho <= width**2 / 8 * slack
            if curve is not None and pure is not None:
                assert curve.delta(pure) == 0
                assert curve.delta(0.0) <= pure / 2 * slack


@pytest.mark.further
@pytest.mark.parametrize("name", NAMES)
def test_more_noise_loses_less(name: str) -> None:
    for few, many in zip(cases(name, 1), cases(name, 64), strict=True):
        for measure in few.keys() & many.keys():
            for d_in in (0, 1, 2):
                loss, less = few[measure].map(d_in), many[measure].map(d_in)
                if measure == PROFILE and "threshold" not in few[measure].parameters:
                    assert all(less.delta(e) <= loss.delta(e) for e in (0.0, 0.1, 1.0))
                elif measure != PROFILE:
                    assert (less[0] <= loss[0]) if isinstance(measure, tk.Approximate) else (less <= loss)


FAST = [f"make_{one}" for one in ("exponential_mechanism", "permute_and_flip", "peeled_top_k", "report_noisy_top_k")]
BOX = list(itertools.product((0, 2, 8), repeat=3))
MOVES = [move for move in itertools.product((0, 1), repeat=3) if 0 < sum(move) < 3]


def pairs_at(name: str, specimen: Any, d_in: int) -> Iterator[tuple[Any, Any]]:
    """Neighbours at a distance: many of three scores if probabilities are cheap, else the specimen's own."""
    if name in FAST:
        for x, move in itertools.product(BOX, MOVES):
            yield x, tuple(a + d_in * b for a, b in zip(x, move, strict=True))
    else:
        x, y = specimen.pair
        yield x, tuple(a + d_in * (b - a) for a, b in zip(x, y, strict=True))


def loss_share(measure: tk.Measure, law: Any, other: Any, claim: Any) -> float:
    """The share of the claim that two distributions reach; for a curve the largest share at a few epsilons."""
    if measure != PROFILE:
        return float(realised(measure, law, other) / claim)
    deltas = [(hockey_stick(law, other, epsilon) - 1e-12, claim.delta(epsilon)) for epsilon in (0.0, 0.25, 0.5, 1.0)]
    return max(float(found / max(bound, 1e-9)) for found, bound in deltas)


@pytest.mark.further
@pytest.mark.parametrize("name", MECHANISMS)
def test_enumerated_losses_at_several_distances(name: str) -> None:
    """The claim is an upper bound at every distance, and some pair at that distance reaches a part of it."""
    for index, specimen in enumerate(specimens_of(name)[:7]):
        law = functools.cache(specimen.law)
        for measure, link in cases(name, 1)[index].items():
            for d_in in (1, 2, 3):
                claim = link.map(d_in)
                shares = [loss_share(measure, law(x), law(y), claim) for x, y in pairs_at(name, specimen, d_in)]
                assert max(shares) <= 1 + 1e-9, "a group loses more than the map says"
                assert max(shares) >= 0.1, "the pairs lose nearly nothing"
