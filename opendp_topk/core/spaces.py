"""The ends of transformations and measurements: how an input space is required and met, and what a map may return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..errors import DistanceError, MapError, SpaceError, checks
from ..spaces.domains import Domain
from ..spaces.metrics import Metric

Space = tuple[Domain, Metric]
Entered = TypeVar("Entered", bound="HasInputSpace")


class HasInputSpace(Protocol):
    """A transformation, a measurement or an odometer."""

    @property
    def input_domain(self) -> Domain: ...

    @property
    def input_metric(self) -> Metric: ...


def require_fitting(domain: Any, metric: Any, side: str = "input") -> None:
    """Raise unless ``metric`` is a metric that measures members of the domain ``domain``."""
    checks.require_instance(f"{side}_domain", domain, Domain, "a domain such as VectorDomain(AtomDomain(int))")
    checks.require_instance(f"{side}_metric", metric, Metric, "a metric such as LInfDistance()")
    metric.require(domain, side)


# proof-region: met
def joint_domain(before: Domain, after: Domain, unlike: str) -> Domain:
    """What both domains state of the values that pass from one to the other.

    Raises:
        SpaceError: They are different sets, in the words of ``unlike``, or state different things of their members.
    """
    joint = before.joined(after)  # [joined]
    if joint is None:
        raise SpaceError(unlike if repr(before) != repr(after) else _OTHER_SCORES)
    return joint


# end-proof-region: met
_OTHER_SCORES = (
    "the scores on the right must be those of the left: of the same candidates in the same order, and numbers of users "
    "only if those are. Leave out a second list: index_candidates() names the candidates that were counted"
)


def as_space(space: Any, right: object) -> Space:
    """``space``, if it is a pair of a domain and a metric; ``right`` is shown as what it should lead to."""
    if isinstance(space, tuple) and len(space) == 2 and isinstance(space[0], Domain) and isinstance(space[1], Metric):
        return space
    raise SpaceError(f"the left side of >> {right} must be a pair (domain, metric)")


def match_input_space(space: Any, right: Entered) -> Entered:
    """``right``, if ``space`` is its input space: ``space >> right``."""
    domain, metric = as_space(space, type(right).__name__)
    if domain.joined(right.input_domain) is None or metric != right.input_metric:
        raise SpaceError(
            f"the space ({domain!r}, {metric!r}) does not meet the right side's "
            f"input space ({right.input_domain!r}, {right.input_metric!r})"
        )
    return right


def require_space(input_domain: Any, input_metric: Any, metric: type[Any], hint: str) -> None:
    """Raise unless ``input_metric`` is a ``metric`` that fits ``input_domain``."""
    checks.require_instance("input_domain", input_domain, Domain, "a domain such as VectorDomain(AtomDomain(int))")
    checks.require_instance("input_metric", input_metric, metric, hint)
    input_metric.require(input_domain)


# proof-region: mapped
def evaluate_map(function: Callable[[Any], Any], d_in: Any, distance: Callable[[Any, str], Any]) -> Any:
    """What a map returns at ``d_in``, as ``distance`` of its output side reads it."""
    result = function(d_in)
    try:
        return distance(result, "the map's result")  # [a-distance]
    except DistanceError as error:
        reason = str(error)
    raise MapError(f"{reason}: correct the map that was supplied")


def on_distances(asked: Any, metric: Metric, name: str) -> Callable[[Any], Any]:
    """The map ``asked`` as callers reach it: at distances of ``metric`` alone, and of no metric that it had before."""
    inner = checks.require_callable(name, getattr(asked, "at_any_number", asked))

    def at_distances(d_in: Any) -> Any:
        return inner(metric.distance(d_in, "d_in"))  # [on-distances]

    at_distances.at_any_number = inner  # type: ignore[attr-defined]
    return at_distances


# end-proof-region: mapped
