"""Input and output spaces: checks that domains and metrics fit and match, and the evaluation of maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from ..errors import ForeignError, ParameterError, SpaceError, checks
from ..spaces.domains import Domain, require_columns
from ..spaces.metrics import Metric, UserDistance

Space = tuple[Domain, Metric]
Entered = TypeVar("Entered", bound="HasInputSpace")


class HasInputSpace(Protocol):
    """A transformation, a measurement or an odometer."""

    @property
    def input_domain(self) -> Domain: ...

    @property
    def input_metric(self) -> Metric: ...


def require_fitting(domain: Any, metric: Any, side: str = "input") -> None:
    """Raise unless ``domain`` is a domain and ``metric`` a metric on its members."""
    checks.require_instance(f"{side}_domain", domain, Domain, "a domain such as VectorDomain(AtomDomain(int))")
    checks.require_instance(f"{side}_metric", metric, Metric, "a metric such as LInfDistance()")
    metric.require(domain, side)


# proof-region: met
def joint_domain(before: Domain, after: Domain, unlike: str) -> Domain:
    """Return the domain that combines what both domains state about the values passed from one to the other."""
    joint = before.joined(after)  # [joined]
    if joint is None:
        raise SpaceError(unlike if repr(before) != repr(after) else _OTHER_SCORES)
    return joint


# end-proof-region: met
_OTHER_SCORES = (
    "the scores on the right must be those on the left: of the same candidates in the same order, and "
    "numbers of users only if those are. Omit a second list: index_candidates() uses the counted candidates"
)


def as_space(space: Any, right: object) -> Space:
    """Return ``space`` if it is a pair of a domain and a metric; an error shows ``right``, the right side of ``>>``."""
    if isinstance(space, tuple) and len(space) == 2 and isinstance(space[0], Domain) and isinstance(space[1], Metric):
        return space
    raise SpaceError(f"the left side of >> {right} must be a pair (domain, metric)")


def match_input_space(space: Any, right: Entered) -> Entered:
    """Return ``right`` if ``space`` is its input space: ``space >> right``."""
    domain, metric = as_space(space, type(right).__name__)
    if domain.joined(right.input_domain) is None or metric != right.input_metric:
        raise SpaceError(
            f"the space ({domain!r}, {metric!r}) does not match the input space of the right side "
            f"({right.input_domain!r}, {right.input_metric!r})"
        )
    return right


def require_space(input_domain: Any, input_metric: Any, metric: type[Any], hint: str) -> None:
    """Raise unless ``input_metric`` is an instance of ``metric`` that fits ``input_domain``."""
    checks.require_instance("input_domain", input_domain, Domain, "a domain such as VectorDomain(AtomDomain(int))")
    checks.require_instance("input_metric", input_metric, metric, hint)
    input_metric.require(input_domain)


def require_table_space(input_domain: Any, input_metric: Any, *allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns of a table whose users ``input_metric`` counts; see :func:`require_columns`."""
    require_space(input_domain, input_metric, UserDistance, 'UserDistance("add_remove") or UserDistance("replace")')
    return require_columns(input_domain, *allowed)


# proof-region: mapped
def evaluate_map(function: Callable[[Any], Any], d_in: Any, distance: Callable[[Any, str], Any]) -> Any:
    """Return the result of a map at ``d_in``, parsed by ``distance`` of its output side."""
    result = function(d_in)
    try:
        return distance(result, "the map's result")  # [a-distance]
    except ParameterError as error:
        reason = str(error)
    raise ForeignError(f"{reason}: correct the supplied map")


def on_distances(asked: Any, metric: Metric, name: str) -> Callable[[Any], Any]:
    """Return the map ``asked`` restricted to distances of ``metric``; an earlier such restriction is replaced."""
    inner = checks.require_callable(name, getattr(asked, "at_any_number", asked))

    def at_distances(d_in: Any) -> Any:
        return inner(metric.distance(d_in, "d_in"))  # [on-distances]

    at_distances.at_any_number = inner  # type: ignore[attr-defined]
    return at_distances


# end-proof-region: mapped
