"""What every measurement and every transformation keeps, whatever it computes."""

import copy
import dataclasses
import math
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from opendp_topk.core.measurement import Measurement
from opendp_topk.core.releases import Release
from opendp_topk.core.transformation import Transformation
from opendp_topk.errors import DataError, NotDeclaredError, ParameterError, SpaceError
from opendp_topk.spaces.domains import AtomDomain, Domain, VectorDomain
from opendp_topk.spaces.measures import bounds_range
from opendp_topk.spaces.metrics import L1Distance, LInfDistance, Metric

from .losses import free, number, within
from .sentinels import SENTINEL_INT, leaks, raises_exactly

OF_THREE_COUNTS: dict[str, Any] = {
    "members": [[3, 1, 2], [0, 0, 5]],
    "non_members": [[0.5], [], [SENTINEL_INT, "a"], None],
    "distances": [1, 2, 5],
}
"""What :func:`check_measurement` asks of a measurement of integer scores."""

NO_DISTANCE = (-1, -0.5, math.nan, "1", None, True, [1], 1j)
STRANGE_SPACE = VectorDomain(AtomDomain(int, bounds=(3, 4)), size=97), L1Distance()


def check_measurement(
    measurement: Measurement,
    *,
    members: Iterable[Any],
    non_members: Iterable[Any],
    distances: Iterable[Any],
    neighbours: Iterable[tuple[Any, Any, Any]] = (),
    free_at_zero: bool = True,
) -> None:
    """The obligations of a measurement.

    Args:
        measurement: Under test.
        members: Some values of its input domain; each is released once.
        non_members: Values outside it; each must be refused before the function runs.
        distances: Ascending distances, all positive.
        neighbours: (x, x', d_in): the exact laws on x and x' may differ by ``map(d_in)`` at most.
        free_at_zero: Whether the map is 0 at ``d_in = 0``, as it is for all but unproven maps.
    """
    members, neighbours = list(members), list(neighbours)
    measure = measurement.output_measure
    _check_map(measurement, list(distances), lambda loss: measure.distance(loss, "loss") == loss)
    _check_link(measurement, members, list(non_members))
    _check_distribution(measurement, members)
    for x, x_prime, d_in in neighbours:
        laws = measurement.distribution(x), measurement.distribution(x_prime)
        assert within(measure, *laws, measurement.map(d_in)), (x, x_prime, d_in)
    if free_at_zero:
        assert measure.at_most(measurement.map(0), free(measure))
    for distance in distances:
        assert measurement.check(distance, measure.infinite)
    if measurement.interactive and bounds_range(measure):
        raises_exactly(SpaceError, lambda: measurement >> str, "cannot be post-processed")
    else:
        processed = measurement >> str
        assert [processed.map(d) for d in distances] == [measurement.map(d) for d in distances]
        assert processed.parameters == measurement.parameters
    for follower in (measurement, copy.copy(measurement)):
        raises_exactly(SpaceError, lambda link=follower: measurement >> link, "can be followed only by")
    raises_exactly(TypeError, lambda: measurement >> 3)


def check_transformation(
    transformation: Transformation,
    *,
    members: Iterable[Any],
    non_members: Iterable[Any],
    distances: Iterable[Any],
    neighbours: Iterable[tuple[Any, Any, Any]] = (),
    output_distance: Callable[[Any, Any], Any] | None = None,
) -> None:
    """The obligations of a transformation; ``output_distance`` is an independent distance between images."""
    members = list(members)
    metric = transformation.output_metric
    _check_map(transformation, list(distances), lambda d_out: metric.distance(d_out, "d_out") == d_out)
    _check_link(transformation, members, list(non_members))
    for value in members:
        image = transformation(copy.deepcopy(value))
        assert transformation.output_domain.member(image)
        np.testing.assert_array_equal(image, transformation(copy.deepcopy(value)))
    for x, x_prime, d_in in neighbours:
        assert output_distance is not None
        assert output_distance(transformation(x), transformation(x_prime)) <= transformation.map(d_in)
    assert transformation.map(0) == 0
    raises_exactly(SpaceError, lambda: transformation >> str, "make_user_transformation")


def check_constructor(
    make: Callable[..., Any], then: Callable[..., Any], space: tuple[Domain, Metric], *arguments: Any, **options: Any
) -> Any:
    """``make_x(*space, ...)`` and ``space >> then_x(...)`` build the same; the result of the first."""
    assert make.__name__.startswith("make_")
    assert then.__name__ == make.__name__.replace("make_", "then_", 1)
    built, partial = make(*space, *arguments, **options), then(*arguments, **options)
    chained = space >> partial
    assert repr(chained) == repr(built)
    assert chained.proof == built.proof
    assert chained.map(1) == built.map(1)
    assert partial == then(*arguments, **options)
    assert then.__name__ in repr(partial)
    raises_exactly(SpaceError, lambda: partial([1, 2]), "no input space")
    raises_exactly(SpaceError, lambda: partial >> str, "no input space")
    raises_exactly(SpaceError, lambda: space[0] >> partial, "(domain, metric)")
    return built


def _check_map(link: Any, distances: list[Any], is_distance: Callable[[Any], bool]) -> None:
    bounds = [link.map(distance) for distance in distances]
    assert all(map(is_distance, bounds))
    for distance, bound in zip(distances, bounds, strict=True):
        assert link.check(distance, bound)
        for smaller, earlier in zip(distances, bounds, strict=True):
            assert smaller > distance or link.check(smaller, bound), "the map must not decrease"
            assert smaller > distance or _at_most(link, earlier, bound)
        if isinstance(bound, float) and 0 < bound < math.inf:
            assert not link.check(distance, math.nextafter(bound, 0))
            exact = link.exact_map(distance) if isinstance(link, Measurement) else Fraction(bound)
            assert math.nextafter(bound, 0) < exact <= bound, "rounded up once"
            assert link.check(distance, exact)
            assert not link.check(distance, exact - Fraction(1, 10**400))
        assert link.map(Fraction(distance) if not isinstance(distance, int) else distance) == bound
    for wrong in NO_DISTANCE:
        raises_exactly(ParameterError, lambda wrong=wrong: link.map(wrong), "d_in")
        raises_exactly(ParameterError, lambda wrong=wrong: link.check(wrong, link.map(0)), "d_in")
        raises_exactly(ParameterError, lambda wrong=wrong: link.check(0, wrong), "d_out")


def _at_most(link: Any, loss: Any, bound: Any) -> bool:
    return link.output_measure.at_most(loss, bound) if isinstance(link, Measurement) else loss <= bound


def _check_link(link: Any, members: list[Any], non_members: list[Any]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        link.input_metric = LInfDistance()
    rows = repr(link).splitlines()
    assert rows[0] == f"{type(link).__name__}("
    assert rows[-1] == ")"
    shown = [row.split("=")[0].strip() for row in rows[1:-1]]
    assert shown[: len(link.parameters)] == list(link.parameters)
    assert shown[len(link.parameters) :][:2] == ["input_domain", "input_metric"]
    assert shown[-1] == "proof"
    assert str(link.proof) in rows[-2]
    space = link.input_domain, link.input_metric
    assert space >> link is link
    error = raises_exactly(SpaceError, lambda: STRANGE_SPACE >> link, repr(STRANGE_SPACE[0]), repr(link.input_domain))
    assert repr(link.input_metric) in str(error)
    raises_exactly(SpaceError, lambda: link.input_domain >> link, "(domain, metric)")
    for value in members:
        original = copy.deepcopy(value)
        link.invoke(value)
        link(value)
        np.testing.assert_array_equal(value, original, err_msg="a call must not change its argument")

    def never(_: Any) -> Any:
        raise AssertionError("the function ran although the argument was no member")

    guarded = dataclasses.replace(link, function=never)
    for value in non_members:
        with pytest.raises(DataError) as caught:
            guarded(value)
        assert leaks(caught.value) == []


def _check_distribution(measurement: Measurement, members: list[Any]) -> None:
    if measurement.declared.law is None:
        raises_exactly(NotDeclaredError, lambda: measurement.distribution(members[0]), "no exact distribution")
        return
    for value in members:
        law = measurement.distribution(value)
        assert all(mass >= 0 for mass in law.values())
        with mpmath.workdps(40):
            assert abs(mpmath.fsum(map(number, law.values())) - 1) < mpmath.mpf("1e-15")
        assert as_outcome(measurement(value)) in law
        merged = (measurement >> (lambda _: "same")).distribution(value)
        assert set(merged) == {"same"}


def as_outcome(release: Any) -> Hashable:
    """A release as the outcome of a law: arrays and lists become tuples."""
    if isinstance(release, Release):
        fields = [value for value in vars(release).values() if value is not None]
        return as_outcome(fields if len(fields) > 1 else fields[0])
    if isinstance(release, np.ndarray | list | tuple):
        return tuple(map(as_outcome, np.asarray(release).tolist() if isinstance(release, np.ndarray) else release))
    return release.item() if isinstance(release, np.generic) else release
