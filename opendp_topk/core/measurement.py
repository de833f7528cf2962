"""Measurements, and the functions of a release (post-processing) that may follow one with ``>>``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import NotDeclaredError, SpaceError, checks
from ..proof import Proof
from ..sampling.distributions.events import EVENTS, Enclosure
from ..spaces.domains import Domain, VectorDomain, find_block_maxima, same_items
from ..spaces.measures import Distance, Measure, Released, bounds_range
from ..spaces.metrics import Metric
from .candidates import BestCounts, IndexCandidates
from .claims import Claimed, Recipe, attach_claim, read_only
from .partials import Partial
from .releases import release_type_and_size
from .rendering import as_outcome, describe_html, describe_text
from .repeatable import AdaptiveSteps, ComposedFunction, UncheckedArgument, block_maxima_sign
from .spaces import Space, evaluate_map, match_input_space, on_distances, require_fitting

Then = TypeVar("Then")

CHAINING = "core/chaining"
_DIGITS = 50  # twenty more than the thirty of a distribution, for rounding errors in sums and products
_ASKED = 16  # distances whose losses are cached; callers ask for few: one user, two, a group


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Declared:
    """Declarations about the releases of a measurement besides their privacy loss; by default there are none.

    ``law`` returns the exact output distribution for an argument of the function, and ``decode`` maps one of its
    outcomes to the released value. ``accuracy`` is the accuracy theorem. ``success(value, event)`` returns bounds
    (lower, upper) on the probability of an event of success. ``n_candidates`` is the number of candidates if it is
    fixed; if it is not and ``scores_input`` is true, each element of the input is the score of one candidate.
    ``candidates`` are the public candidates whose scores a transformation computed, if they are known. ``steps``
    describes how releases are drawn, if a release may show that fewer steps were taken than the map accounts for.
    ``later_data`` is true for an interactive measurement whose queries contain more data; its input metric is a metric
    on all data together.
    """

    law: Callable[[Any], Mapping[Hashable, Any]] | None = None
    decode: Callable[[Any], Any] = _identity
    accuracy: Callable[[int, Any], float] | None = None
    success: Callable[[Any, str], tuple[float, float]] | None = None
    n_candidates: int | None = None
    scores_input: bool = False
    candidates: Sequence[Hashable] | None = None
    steps: AdaptiveSteps | None = None
    later_data: bool = False


NOTHING_DECLARED = Declared()


@dataclass(frozen=True, eq=False, repr=False)
class Measurement(Claimed, Generic[Distance, Released]):
    """A randomised function with a privacy map.

    Inputs at distance ``d_in`` under ``input_metric`` have output distributions at distance at most
    ``map(d_in)`` under ``output_measure``. Build one with a ``make_*`` constructor. For type checkers,
    ``Measurement[D, R]`` has losses of the type D and releases of the type R.

    ``declared`` is what is known about the releases besides their privacy loss. The releases of an ``interactive``
    measurement are queryables, and its map is valid for all queries to them. ``proof`` applies to the function and the
    map that a constructor made: a copy with anything replaced is unproven.
    """

    input_domain: Domain
    input_metric: Metric
    output_measure: Measure[Distance]
    function: Callable[[Any], Released]
    privacy_map: Callable[[Any], Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    declared: Declared = NOTHING_DECLARED
    interactive: bool = False
    _maps: ClassVar[tuple[Callable[[Any], Any], Callable[[Any], Any]]]

    def __post_init__(self) -> None:
        require_fitting(self.input_domain, self.input_metric)
        checks.require_instance("output_measure", self.output_measure, Measure, "a measure such as MaxDivergence()")
        checks.require_callable("function", self.function)
        checks.require_instance(
            "declared", self.declared, Declared, "a Declared, with the known properties of the releases"
        )
        object.__setattr__(self, "privacy_map", on_distances(self.privacy_map, self.input_metric, "privacy_map"))
        object.__setattr__(self, "parameters", read_only(self.parameters))
        # proof-region: measurement
        object.__setattr__(self, "_maps", cached_maps(self.privacy_map, self.output_measure))  # [own-maps]

    def map(self, d_in: Any) -> Distance:
        """Return the privacy loss for inputs at distance ``d_in``, in the measure's own distance, rounded up."""
        return self._maps[1](self.input_metric.distance(d_in, "d_in"))  # type: ignore[no-any-return]  # [map]

    def exact_map(self, d_in: Any) -> Any:
        """Return the privacy loss before :meth:`map` rounds it: a ``Fraction`` or infinity, a pair of these or a curve.

        Sums of these are exact, so compositions and ledgers add them: ten losses of 1/10 are 1.
        """
        return self._maps[0](self.input_metric.distance(d_in, "d_in"))  # [exact-map]

    def check(self, d_in: Any, d_out: Any) -> bool:
        """Return True if the privacy loss for inputs at distance ``d_in`` is at most ``d_out``."""
        self.output_measure.distance(d_out, "d_out")
        return self.output_measure.at_most(self.exact_map(d_in), d_out)  # [at-most]

    def invoke(self, value: Any) -> Released:
        """Return one release. Before anything is drawn, ``value`` is checked to be a member of the input domain."""
        sign = block_maxima_sign(self.function)
        if sign:
            seen = find_block_maxima(self.input_domain, value, sign)  # [survey]
            if seen is not None:
                return self.function(seen)
        elif sign is None:
            return self.function(UncheckedArgument(value, self.input_domain))  # [unchecked]
        return self.function(self.input_domain.validate(value))  # [validate]

    def __call__(self, value: Any) -> Released:
        return self.invoke(value)

    def distribution(self, value: Any) -> dict[Hashable, Any]:
        """Return the exact output distribution on ``value``: outcome -> probability (mpmath numbers of 30 digits).

        An outcome is a tuple if the release is an array, a list or a :class:`Release`: the tuple of its fields, or its
        only field. The runtime grows with the number of outcomes; an enumeration that is too large is refused.

        Raises:
            NotDeclaredError: The measurement declares no distribution.
            CapacityError: There are too many outcomes.
            DataError: ``value`` is not a member of the input domain.
        """
        if self.declared.law is None:
            raise NotDeclaredError("this measurement declares no exact distribution")
        import mpmath  # imported here, because a release does not need it

        law: dict[Hashable, Any] = {}
        with mpmath.workdps(_DIGITS):
            for outcome, probability in self.declared.law(self.input_domain.validate(value)).items():
                released = as_outcome(self.declared.decode(outcome))
                law[released] = law[released] + probability if released in law else probability  # [push-forward]
        return law

    # end-proof-region: measurement

    @property
    def input_space(self) -> tuple[Domain, Metric]:
        """The input domain and metric, on which ``>>`` builds another measurement."""
        return self.input_domain, self.input_metric

    def accuracy(self, n_candidates: int, alpha: Any = 0.05) -> float:
        """Return a bound on the error of a release that is valid with probability at least ``1 - alpha``.

        For a selection, no winner's score is below the score at its rank by more than this. The bound is in units of
        the scores, rounded up; the constructor's documentation states the theorem.

        Raises:
            NotDeclaredError: The measurement declares no accuracy theorem.
            ParameterError: ``alpha`` is not in (0, 1), or ``n_candidates`` is smaller than k.
        """
        if self.declared.accuracy is None:
            raise NotDeclaredError("this measurement declares no accuracy theorem")
        count = checks.require_positive_int("n_candidates", n_candidates)
        return self.declared.accuracy(count, checks.require_probability(alpha, "alpha"))

    def success_probability(self, scores: Any, event: str = "exact") -> Enclosure:
        """Return bounds on the probability that the selection on ``scores`` succeeds, by proved formulas.

        ``"exact"``: the winners are the k best. ``"great"``: they contain the best ceil(k / 10) and none beyond rank
        floor(1.1 k). ``"good"``: the best ceil(k / 100) and none beyond rank floor(1.5 k). Equal scores may be ranked
        in any order, and the order of the winners does not matter. The bounds are about the selection before any
        post-processing. They are as sensitive as ``scores``. If the domain of keys is unknown, ``scores`` are the
        counts by key, and a release of fewer than k keys is not a success.

        Raises:
            NotDeclaredError: The measurement declares no probability of success.
            ParameterError: There is no such event.
            DataError: ``scores`` is not a member of the input domain, or has fewer than k elements.
            CapacityError: The computation would be too large.
        """
        if self.declared.success is None:
            raise NotDeclaredError("this measurement declares no probability of success")
        event = checks.require_choice("event", event, EVENTS)
        return Enclosure(*self.declared.success(self.input_domain.validate(scores), event))

    def __rshift__(self, other: Callable[[Released], Then]) -> Measurement[Distance, Then]:
        if isinstance(other, Measurement | Partial):
            raise SpaceError("a measurement can be followed only by a function of its release (post-processing)")
        return post_process(self, other) if callable(other) else NotImplemented

    def __rrshift__(self, space: Space) -> Measurement[Distance, Released]:
        return match_input_space(space, self)

    def __repr__(self) -> str:
        return describe_text(self, {"output_measure": self.output_measure})

    def _repr_html_(self) -> str:
        return describe_html(self, {"output_measure": self.output_measure})


# proof-region: kept_maps
def cached_maps(
    privacy_map: Callable[[Any], Any], measure: Measure
) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return ``privacy_map`` in an exact form and rounded up; each caches its results by distance and its type."""

    @functools.lru_cache(maxsize=_ASKED, typed=True)
    def exact_loss(d_in: Any) -> Any:
        return evaluate_map(privacy_map, d_in, measure.exact)  # [exact-loss]

    @functools.lru_cache(maxsize=_ASKED, typed=True)
    def rounded_loss(d_in: Any) -> Any:
        return measure.distance(exact_loss(d_in), "the loss")  # [rounded-loss]

    return exact_loss, rounded_loss


# end-proof-region: kept_maps


# proof-region: post_process
def post_process(first: Measurement, then: Callable[[Any], Any]) -> Measurement:
    """Return ``first`` followed by ``then``; if ``then`` replaces indices by items, inputs have one score per item."""
    if first.interactive and bounds_range(first.output_measure):  # [no-hidden-choice]
        raise SpaceError(
            "an interactive measurement under RangeDivergence cannot be post-processed, because a function that draws "
            "its queries at random could widen the range. Convert it to another measure first, or use the queryable"
        )
    release_type_and_size(ComposedFunction(first.function, then), first.input_domain)  # [fits]
    if isinstance(then, IndexCandidates) and then.items is None:
        then = IndexCandidates(_known_candidates(first))  # [those-counted]
    items = then.items if isinstance(then, IndexCandidates | BestCounts) else None
    allowed = (
        restrict_score_count(first, len(items)) if items is not None and isinstance(then, IndexCandidates) else first
    )
    if items is not None:
        allowed = restrict_to_candidates(allowed, items)  # [only-items]
    decode = allowed.declared.decode
    processed = replace(
        allowed,
        function=ComposedFunction(allowed.function, then),  # [post-process]
        parameters={**allowed.parameters, **getattr(then, "shown_parameters", {})},
        declared=replace(allowed.declared, decode=lambda outcome: then(decode(outcome)), steps=None),  # [decode]
    )
    return attach_claim(
        processed, chain_proofs(first.proof), Recipe.from_call(post_process, (first, then), {})
    )  # [same-map]


def chain_proofs(*proofs: Proof) -> Proof:
    """Return the proof of a chain; a chain among ``proofs`` is replaced by its parts."""
    parts = [part for one in proofs for part in (one.parts if one.name == CHAINING else (one,))]
    return Proof(CHAINING, tuple(parts))


# end-proof-region: post_process


# proof-region: naming
def candidates_of(measurement: Measurement) -> Sequence[Hashable] | None:
    """Return the public candidates whose scores led to the release, in their order; None if they are not known."""
    domain = measurement.input_domain
    if isinstance(domain, VectorDomain) and measurement.declared.scores_input:
        return domain.candidates  # [of-the-domain]
    return measurement.declared.candidates  # [of-the-chain]


def restrict_to_candidates(measurement: Measurement, items: Sequence[Any]) -> Measurement:
    """Return ``measurement`` restricted to scores of ``items``, in this order.

    It is returned unchanged if its candidates are known already, or its domain does not have one score per item.
    """
    known, domain = candidates_of(measurement), measurement.input_domain
    if known is not None and not same_items(known, items):  # [check-names]
        raise SpaceError(
            "items must be the counted candidates, in their order: omit the second list, because `>> "
            "index_candidates()` uses the first"
        )
    if known is not None or not isinstance(domain, VectorDomain) or not measurement.declared.scores_input:
        return measurement
    if domain.size != len(items):
        return measurement
    part = replace(measurement, input_domain=replace(domain, candidates=items))  # [stated]
    return attach_claim(
        part, measurement.proof, Recipe.from_call(restrict_to_candidates, (measurement, items), {})
    )  # [named-proof]


def _known_candidates(measurement: Measurement) -> Sequence[Hashable]:
    known = candidates_of(measurement)
    if known is None:
        raise SpaceError(
            "index_candidates() requires items here, because this measurement does not know its candidates: "
            "write index_candidates(items), with the candidates in the order of their scores"
        )
    return known


# end-proof-region: naming


# proof-region: narrowed
def restrict_score_count(measurement: Measurement, count: int) -> Measurement:
    """Return ``measurement`` restricted to inputs with ``count`` scores, so no released index is out of range."""
    restricted = restrict_vector_size(measurement, count)
    scored = restricted.declared.n_candidates
    if scored != count:  # [check-count]
        raise SpaceError(
            f"index_candidates has {count} items, but the measurement scores "
            f"{'an unknown number of' if scored is None else scored} candidates"
        )
    return restricted


def restrict_vector_size(measurement: Measurement, size: int) -> Measurement:
    """Return ``measurement`` restricted to vectors of ``size`` elements: a subset of its domain, so its proof applies.

    A domain that already has a size keeps it.
    """
    domain, declared = measurement.input_domain, measurement.declared
    known = declared.n_candidates is not None
    if known or not declared.scores_input or not isinstance(domain, VectorDomain):  # [scores-input]
        return measurement
    fixed = size if domain.size is None else domain.size  # [keep-size]
    part = replace(
        measurement,
        input_domain=replace(domain, size=fixed),
        declared=replace(declared, n_candidates=fixed),
    )  # [narrowed]
    return attach_claim(
        part, measurement.proof, Recipe.from_call(restrict_vector_size, (measurement, size), {})
    )  # [same-proof]


# end-proof-region: narrowed
