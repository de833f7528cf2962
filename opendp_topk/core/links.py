"""Transformations, measurements, and the four ways to chain them with ``>>``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import mpmath

from ..distributions.events import EVENTS, Enclosure
from ..errors import DistanceError, MapError, NotDeclaredError, SpaceError, checks
from ..proof import UNPROVEN, Proof
from ..spaces.domains import Domain, VectorDomain
from ..spaces.measures import Measure
from ..spaces.metrics import Metric
from .chaining import chain_measurement, chain_transformations, post_process
from .partials import Partial, as_space
from .rendering import as_outcome, describe

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = ParamSpec("P")
Built = TypeVar("Built", bound="DataclassInstance")
Entered = TypeVar("Entered", bound="Link")


_DIGITS = 50


class Link(Protocol):
    """Whatever has an input space."""

    @property
    def input_domain(self) -> Domain: ...

    @property
    def input_metric(self) -> Metric: ...


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True, eq=False, repr=False)
class Transformation:
    """A deterministic function with a stability map.

    Inputs at distance ``d_in`` under ``input_metric`` have outputs at distance at most ``map(d_in)`` under
    ``output_metric``. Build one with a ``make_*`` constructor.
    """

    input_domain: Domain
    input_metric: Metric
    output_domain: Domain
    output_metric: Metric
    function: Callable[[Any], Any]
    stability_map: Callable[[Any], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    proof: Proof = UNPROVEN

    def __post_init__(self) -> None:
        self.input_metric.require(self.input_domain)
        self.output_metric.require(self.output_domain, "output")

    # proof-region: transformation
    def map(self, d_in: Any) -> Any:
        """The largest distance between outputs of inputs at distance ``d_in``."""
        return _mapped(self.stability_map, self.input_metric.distance(d_in, "d_in"), self.output_metric)

    def check(self, d_in: Any, d_out: Any) -> bool:
        """Whether inputs at distance ``d_in`` have outputs at distance at most ``d_out``."""
        bound = self.output_metric.distance(d_out, "d_out")
        return bool(self.map(d_in) <= bound)  # [at-most]

    def invoke(self, value: Any) -> Any:
        """The function's value, after ``value`` was checked to be a member of the input domain."""
        return self.function(self.input_domain.validate(value))  # [validate]

    # end-proof-region: transformation

    def __call__(self, value: Any) -> Any:
        return self.invoke(value)

    def __rshift__(self, other: Any) -> Any:
        if isinstance(other, Partial):
            return self >> other.build(self.output_domain, self.output_metric)
        if isinstance(other, Transformation):
            return chain_transformations(self, other)
        if isinstance(other, Measurement):
            return chain_measurement(self, other)
        if callable(other) and not hasattr(type(other), "__rrshift__"):
            raise SpaceError(
                "a transformation cannot be chained with a plain function, whose stability is unknown: "
                "wrap it with make_user_transformation and its stability map"
            )
        return NotImplemented

    def __rrshift__(self, space: Any) -> Any:
        return enter(space, self)

    def __repr__(self) -> str:
        return describe(self, {"output_domain": self.output_domain, "output_metric": self.output_metric})


@dataclass(frozen=True, eq=False, repr=False)
class Measurement:
    """A randomised function with a privacy map.

    Inputs at distance ``d_in`` under ``input_metric`` have output distributions at distance at most
    ``map(d_in)`` under ``output_measure``. Build one with a ``make_*`` constructor.

    ``exact_distribution`` gives the exact law of the outcomes on the function's own argument;
    ``accuracy_bound`` the accuracy theorem; ``success_bound(value, event)`` bounds (lower, upper) on the
    probability of an event of success; ``decode`` turns an outcome of the law into what is released.
    ``n_candidates`` is the number of candidates where it is fixed; where it is not and ``scores_input`` holds,
    each element of the input is the score of one candidate. The releases of an ``interactive`` measurement are
    queryables, and its map holds for whatever is asked of them.
    """

    input_domain: Domain
    input_metric: Metric
    output_measure: Measure
    function: Callable[[Any], Any]
    privacy_map: Callable[[Any], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    exact_distribution: Callable[[Any], Mapping[Hashable, Any]] | None = None
    accuracy_bound: Callable[[int, Any], float] | None = None
    success_bound: Callable[[Any, str], tuple[float, float]] | None = None
    decode: Callable[[Any], Any] = _identity
    n_candidates: int | None = None
    scores_input: bool = True
    interactive: bool = False
    proof: Proof = UNPROVEN

    def __post_init__(self) -> None:
        self.input_metric.require(self.input_domain)

    # proof-region: measurement
    def map(self, d_in: Any) -> Any:
        """The privacy loss for inputs at distance ``d_in``, in the measure's own distance, rounded up."""
        return _mapped(self.privacy_map, self.input_metric.distance(d_in, "d_in"), self.output_measure)

    def check(self, d_in: Any, d_out: Any) -> bool:
        """Whether the privacy loss for inputs at distance ``d_in`` is at most ``d_out``."""
        self.output_measure.distance(d_out, "d_out")
        return self.output_measure.at_most(self.map(d_in), d_out)  # [at-most]

    def invoke(self, value: Any) -> Any:
        """One release. ``value`` is checked to be a member of the input domain before anything is drawn."""
        return self.function(self.input_domain.validate(value))  # [validate]

    def __call__(self, value: Any) -> Any:
        return self.invoke(value)

    def distribution(self, value: Any) -> dict[Hashable, Any]:
        """The exact law of the release on ``value``: outcome -> probability (mpmath numbers of 30 digits).

        Outcomes are tuples where the release is an array or a list. The cost grows with the number of
        outcomes; an enumeration that is too large is refused.

        Raises:
            NotDeclaredError: The measurement declares no distribution.
            CapacityError: There are too many outcomes.
            DataError: ``value`` is not a member of the input domain.
        """
        if self.exact_distribution is None:
            raise NotDeclaredError("this measurement declares no exact distribution")
        law: dict[Hashable, Any] = {}
        with mpmath.workdps(_DIGITS):
            for outcome, probability in self.exact_distribution(self.input_domain.validate(value)).items():
                released = as_outcome(self.decode(outcome))
                law[released] = law[released] + probability if released in law else probability  # [push-forward]
        return law

    # end-proof-region: measurement

    def accuracy(self, n_candidates: int, alpha: Any = 0.05) -> float:
        """With probability at least ``1 - alpha`` no winner falls short of its true rank by more than this.

        In units of the scores, rounded up; the constructor's documentation states the theorem.

        Raises:
            NotDeclaredError: The measurement declares no accuracy theorem.
            ParameterError: ``alpha`` is not in (0, 1), or ``n_candidates`` is smaller than k.
        """
        if self.accuracy_bound is None:
            raise NotDeclaredError("this measurement declares no accuracy theorem")
        count = checks.count("n_candidates", n_candidates)
        return self.accuracy_bound(count, checks.probability(alpha, "alpha"))

    def success_probability(self, scores: Any, event: str = "exact") -> Enclosure:
        """Bounds on the probability that the selection on ``scores`` succeeds: proved formulas, no simulation.

        ``"exact"``: the winners are the k best. ``"great"``: they contain the best ceil(k / 10) and none beyond rank
        floor(1.1 k). ``"good"``: the best ceil(k / 100) and none beyond rank floor(1.5 k). Equal scores may be ranked
        in any order; the order of the winners does not count. The bounds are as private as ``scores``. They speak of
        the selection before any post-processing.

        Raises:
            NotDeclaredError: The measurement declares no probability of success.
            ParameterError: There is no such event.
            DataError: ``scores`` is not a member of the input domain, or has fewer than k elements.
            CapacityError: The computation would be too large.
        """
        if self.success_bound is None:
            raise NotDeclaredError("this measurement declares no probability of success")
        event = checks.choice("event", event, EVENTS)
        return Enclosure(*self.success_bound(self.input_domain.validate(scores), event))

    def __rshift__(self, other: Any) -> Measurement:
        if isinstance(other, Measurement | Partial):
            raise SpaceError(
                "a measurement ends a chain: what follows it must be a function of its release (post-processing)"
            )
        if not callable(other):
            return NotImplemented
        prepare = getattr(other, "before_release", _identity)
        return post_process(prepare(self), other)

    def __rrshift__(self, space: Any) -> Measurement:
        return enter(space, self)

    def __repr__(self) -> str:
        return describe(self, {"output_measure": self.output_measure})


def proven(name: str) -> Callable[[Callable[P, Built]], Callable[P, Built]]:
    """Decorate a constructor whose results are proved by the document ``proofs/<name>.tex``.

    The parts of the proof that it sets, those of the measurements that it combines, stay.
    """

    def decorate(constructor: Callable[P, Built]) -> Callable[P, Built]:
        @functools.wraps(constructor)
        def make(*args: P.args, **kwargs: P.kwargs) -> Built:
            built: Any = constructor(*args, **kwargs)
            stated = Proof(name, built.proof.parts, built.proof.assumption)
            return replace(built, proof=stated)  # type: ignore[no-any-return]

        make.proof_name = name  # type: ignore[attr-defined]
        return make

    return decorate


# proof-region: narrowed
def narrowed(measurement: Measurement, size: int) -> Measurement:
    """``measurement`` on vectors of exactly ``size`` elements only: a part of its domain, so every claim holds.

    A domain that has a size already keeps it.
    """
    domain = measurement.input_domain
    known = measurement.n_candidates is not None
    if known or not measurement.scores_input or not isinstance(domain, VectorDomain):  # [scores-input]
        return measurement
    fixed = size if domain.size is None else domain.size  # [keep-size]
    return replace(measurement, input_domain=replace(domain, size=fixed), n_candidates=fixed)  # [narrowed]


# end-proof-region: narrowed


def require_space(input_domain: Any, input_metric: Any, metric: type[Any], hint: str) -> None:
    """Raise unless ``input_metric`` is a ``metric`` that fits ``input_domain``."""
    checks.instance("input_domain", input_domain, Domain, "a domain such as VectorDomain(AtomDomain(int))")
    checks.instance("input_metric", input_metric, metric, hint)
    input_metric.require(input_domain)


# proof-region: mapped
def _mapped(function: Callable[[Any], Any], d_in: Any, side: Metric | Measure) -> Any:
    result = function(d_in)
    try:
        return side.distance(result, "the map's result")  # [rounded-up]
    except DistanceError as error:
        reason = str(error)
    raise MapError(f"{reason}: correct the map that was supplied")


# end-proof-region: mapped


def enter(space: Any, link: Entered) -> Entered:
    """``link``, if ``space`` is its input space: ``space >> link``."""
    domain, metric = as_space(space, type(link).__name__)
    if domain != link.input_domain or metric != link.input_metric:
        raise SpaceError(
            f"the space ({domain!r}, {metric!r}) does not meet the right side's "
            f"input space ({link.input_domain!r}, {link.input_metric!r})"
        )
    return link
