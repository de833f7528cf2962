"""Measurements of OpenDP in this library, and measurements of this library in OpenDP.

Proof: proofs/bridge/opendp.tex
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.claims import attach_claim
from ...core.measurement import Declared, Measurement
from ...core.queryable import Queryable
from ...errors import ForeignError, ParameterError, ParameterTypeError, SpaceError, TopKError, checks
from ...errors.checks import Number
from ...errors.experimental import mark_experimental
from ...errors.extras import import_extra
from ...numerics.arithmetic import round_down, round_up
from ...proof import Proof
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.domains import AtomDomain, Domain, VectorDomain
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    RangeDivergence,
    ZeroConcentratedDivergence,
)
from ...spaces.metrics import L1Distance, L2Distance, LInfDistance, Metric, RangeDistance

# proof-region: descriptors
_INTEGERS = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "i64": (-(2**63), 2**63 - 1), "u64": (0, 2**64 - 1)}
_FLOAT = "f64"
_RANGE_DISTANCE = "opendp_topk.RangeDistance"
_RANGE_DIVERGENCE = "opendp_topk.RangeDivergence"
_LARGEST = sys.float_info.max
_METRICS = (LInfDistance(), LInfDistance(monotonic=True), L1Distance(), L2Distance(), RangeDistance())
_SIMPLE = (MaxDivergence(), ZeroConcentratedDivergence())
_MEASURES = (*_SIMPLE, RangeDivergence(), PrivacyProfile(), *map(Approximate, _SIMPLE))


# end-proof-region: descriptors


def load_opendp() -> Any:
    """Return the module ``opendp.prelude``."""
    found = import_extra("opendp.prelude", "to_opendp and from_opendp require opendp 0.16", "opendp_topk[opendp]")
    if not {"contrib", "honest-but-curious"} <= set(importlib.import_module("opendp.mod").GLOBAL_FEATURES):
        raise ParameterError(
            "opendp requires your consent to external functions: first call "
            'opendp.prelude.enable_features("contrib", "honest-but-curious")'
        )
    return found


# proof-region: spaces
def opendp_type_name(name: str, value: Any, default: type) -> str:
    """Return the name of a number type as OpenDP reads it; OpenDP's own default for ``int`` is i32."""
    parse = importlib.import_module("opendp.typing").RuntimeType.parse
    known = ", ".join([*_INTEGERS, _FLOAT])
    found = value
    if value is None or value is int or value is float:
        found = str(parse(default if value is None else value))
    if not isinstance(found, str) or found not in (*_INTEGERS, _FLOAT):
        raise ParameterError(f"{name} must be int, float or one of {known}")
    return str(found)


def to_opendp_domain(domain: Domain, T: Any) -> tuple[Any, str]:
    """Return OpenDP's domain of the members of ``domain`` that its element type can represent, and that type's name."""
    if type(domain) is not VectorDomain or type(domain.element_domain) is not AtomDomain:  # [check-vector]
        raise SpaceError(f"input_domain must be a VectorDomain to be converted to opendp, not {domain!r}")
    atom = domain.element_domain
    name = opendp_type_name("T", T, atom.T)
    if (atom.T is float) != (name == _FLOAT):  # [check-kind]
        raise SpaceError(f"T must contain all elements of {atom!r}, but {name} does not")
    lower, upper = atom.bounds or (-math.inf, math.inf)
    least, greatest = (-_LARGEST, _LARGEST) if name == _FLOAT else _INTEGERS[name]
    free = lower <= least and greatest <= upper
    if lower > greatest or upper < least:
        raise SpaceError(f"no member of {atom!r} is a number of type {name}: choose another T")
    ends = Fraction(max(lower, least)), Fraction(min(upper, greatest))
    inside = _round_inward(*ends, name)  # [inward]
    if inside[0] > inside[1]:
        raise SpaceError(f"no member of {atom!r} is a number of type {name}: choose another T")
    options: dict[str, Any] = {} if free else {"bounds": inside}
    if name == _FLOAT:
        options["nan"] = False  # [no-nan]
    dp = load_opendp()
    return dp.vector_domain(dp.atom_domain(T=name, **options), size=domain.size), name


def _round_inward(lower: Fraction, upper: Fraction, name: str) -> tuple[Any, Any]:
    """Return the smallest number of the type ``name`` not below ``lower``, and the largest not above ``upper``."""
    if name == _FLOAT:
        return round_up(lower), round_down(upper)
    return math.ceil(lower), math.floor(upper)


def from_opendp_domain(domain: Any) -> VectorDomain:
    """Return the members of OpenDP's ``domain`` that a domain of this library contains."""
    mod = importlib.import_module("opendp.mod")
    element = domain.element_domain if isinstance(domain, mod.VectorDomain) else None
    name = str(element.carrier_type) if isinstance(element, mod.AtomDomain) else ""
    if element is None or name not in (*_INTEGERS, _FLOAT):  # [check-elements]
        raise SpaceError(f"the input domain {domain} is not a vector of i32, u32, i64, u64 or f64 numbers")
    if name == _FLOAT:
        return VectorDomain(AtomDomain(float, bounds=element.bounds), size=domain.size)
    return VectorDomain(AtomDomain(int, bounds=element.bounds or _INTEGERS[name]), size=domain.size)  # [carried]


def to_opendp_metric(metric: Metric, Q: str) -> Any:
    """Return OpenDP's metric with distances of type ``Q``; vectors that are close in it are close under ``metric``."""
    dp = load_opendp()
    if type(metric) is LInfDistance:
        return dp.linf_distance(T=Q, monotonic=metric.monotonic)  # [linf]
    if type(metric) in (L1Distance, L2Distance):
        return dp.l1_distance(T=Q) if type(metric) is L1Distance else dp.l2_distance(T=Q)
    if type(metric) is RangeDistance:
        return dp.user_distance(_RANGE_DISTANCE, descriptor=_RANGE_DISTANCE)  # [range-distance]
    raise SpaceError(f"the metric {metric!r} has no counterpart in opendp")


def from_opendp_metric(metric: Any) -> tuple[Metric, str]:
    """Return the metric of this library with the formula of OpenDP's ``metric``, and the type of its distances."""
    Q = str(metric.distance_type)
    for ours in _METRICS:
        own = Q == "ExtrinsicObject"
        known = own if type(ours) is RangeDistance else Q in (*_INTEGERS, _FLOAT)
        if known and metric == to_opendp_metric(ours, Q):  # [same-metric]
            return ours, Q
    raise SpaceError(f"the metric {metric} has no counterpart in this library")


def to_opendp_measure(measure: Measure) -> Any:
    """Return OpenDP's measure with the same meaning."""
    dp = load_opendp()
    if type(measure) is Approximate and measure.measure in _SIMPLE:
        return dp.approximate(to_opendp_measure(measure.measure))  # [approximate]
    if type(measure) is RangeDivergence:
        return dp.user_divergence(_RANGE_DIVERGENCE, descriptor=_RANGE_DIVERGENCE)  # [range-divergence]
    if type(measure) is PrivacyProfile:
        return dp.smoothed_max_divergence()  # [smoothed]
    if type(measure) is MaxDivergence:
        return dp.max_divergence()  # [pure]
    if type(measure) is ZeroConcentratedDivergence:
        return dp.zero_concentrated_divergence()  # [zcdp]
    raise SpaceError(f"the measure {measure!r} has no counterpart in opendp")


def from_opendp_measure(measure: Any) -> Measure:
    """Return the measure of this library with the meaning of OpenDP's ``measure``."""
    for ours in _MEASURES:
        if measure == to_opendp_measure(ours):  # [same-measure]
            return ours
    raise SpaceError(f"the measure {measure} has no counterpart in this library: convert it in opendp")


def to_opendp_distance(d_in: Any, Q: str) -> Any:
    """Return the smallest distance of OpenDP's type ``Q`` that is not below ``d_in``; None if there is none."""
    if Q == "ExtrinsicObject":
        return d_in
    if Q == _FLOAT:
        found = d_in if isinstance(d_in, float) else round_up(Fraction(d_in))  # [d-in-up]
    else:
        found = math.ceil(d_in) if d_in < math.inf else math.inf  # [d-in-whole]
    limit = math.inf if Q == _FLOAT else _INTEGERS[Q][1] + 1
    return found if found < limit else None  # [d-in-beyond]


# end-proof-region: spaces


_MANY = 128  # from this distance on, it bounds each of the steps up and down: trying all splits would gain little
_BITS = 80  # binary digits of a root after the point, rounded up


@mark_experimental("OpenDP's own interface has not reached version 1.0")
def from_opendp(measurement: Any) -> Measurement:
    """Convert an ``opendp`` Measurement to a measurement of this library, for ``>>``, compositions and a ledger.

    Nothing is proved about it: the map and the sampler are opendp's, and ``.proof`` records this.

    Experimental: OpenDP's own interface has not reached version 1.0.

    Args:
        measurement: An ``opendp.mod.Measurement`` on vectors of i32, u32, i64, u64 or f64 numbers, under opendp's
            linf, l1 or l2 distance, and under max-divergence, zCDP, ``approximate`` of either, or smoothed
            max-divergence; or one with the user distance or divergence that ``to_opendp`` makes.

    Returns:
        A :class:`Measurement`. Its domain is bounded by the range of opendp's element type (floats are finite), so
        build its neighbours in a composition on its ``input_domain`` and ``input_metric``.

    Privacy:
        The map of ``measurement`` at the smallest distance of its type that is not below d_in. Losses of opendp are
        floats and stay unchanged. If an epsilon is not a float, a curve is evaluated at the next float below it.

        Under opendp's monotonic linf distance, scores that move in both directions are infinitely far apart. Here
        their distance is that of a step up by a and a step down by b together, d_in = a + b. So the loss is the largest
        sum map(a) + map(b), under zCDP (sqrt(map(a)) + sqrt(map(b)))², over all integers a and b for integers below
        128. Beyond, and for floats, a = b = d_in is assumed, which doubles the loss and makes rho four times as large.

    Raises:
        MissingExtraError: opendp is not installed.
        ParameterError: ``measurement`` is not an opendp measurement, or opendp's features ``contrib`` and
            ``honest-but-curious`` are not enabled.
        SpaceError: The domain, metric or measure has no counterpart here; or the distance is monotonic and the
            measure approximate, for which steps do not add.

        The result raises a ForeignError without opendp's text, which may repeat data, if a call fails or
        returns a queryable, and a ForeignError if the map fails.

    Proof: proofs/bridge/opendp.tex

    Example:
        >>> import opendp_topk as tk
        >>> import opendp.prelude as dp
        >>> dp.enable_features("contrib", "honest-but-curious")
        >>> space = dp.vector_domain(dp.atom_domain(T=int), size=3), dp.l1_distance(T=int)
        >>> noisy = tk.opendp.from_opendp(space >> dp.m.then_laplace(scale=4.0))
        >>> noisy.map(1), len(noisy([17, 3, 250])), noisy.proof.status
        (0.25, 3, 'unproven')
    """
    # proof-region: from_opendp
    load_opendp()
    mod = importlib.import_module("opendp.mod")
    if not isinstance(measurement, mod.Measurement):
        raise ParameterTypeError(f"measurement must be an opendp Measurement, not {type(measurement).__name__}")
    domain = from_opendp_domain(measurement.input_domain)
    metric, Q = from_opendp_metric(measurement.input_metric)
    measure = from_opendp_measure(measurement.output_measure)
    if metric == LInfDistance(monotonic=True) and type(measure) not in (
        MaxDivergence,
        RangeDivergence,
        ZeroConcentratedDivergence,
    ):  # [check-monotonic]
        raise SpaceError(
            f"input_metric must not be monotonic under {measure!r}: the loss at opendp's monotonic distance "
            "does not bound the loss if scores change in both directions. Declare linf_distance without "
            "monotonic, or convert the measure"
        )

    def loss_at_distance(d_in: Number) -> Any:
        distance = to_opendp_distance(d_in, Q)
        return (
            measure.infinite
            if distance is None
            else _from_opendp_loss(measure, _call_opendp_map(measurement, distance))
        )  # [their-map]

    def privacy_map(d_in: Number) -> Any:
        if metric != LInfDistance(monotonic=True):
            return loss_at_distance(d_in)
        steps = _split_distance(d_in, whole=domain.element_domain.T is int)
        return max(
            _compose_step_losses(measure, loss_at_distance(up), loss_at_distance(down)) for up, down in steps
        )  # [both-directions]

    made = Measurement(
        input_domain=domain,
        input_metric=metric,
        output_measure=measure,
        function=_release_function(measurement, (Queryable, mod.Queryable, mod.OdometerQueryable)),
        privacy_map=privacy_map,
        parameters={"mechanism": "opendp", "version": mod.__version__},
        declared=Declared(n_candidates=domain.size, scores_input=True),
    )
    return attach_claim(made, Proof("bridge/opendp", assumption="map and sampler are those of opendp"))  # [unproven]


def _split_distance(d_in: Number, *, whole: bool) -> list[tuple[Number, Number]]:
    """Return pairs of distances; for scores at distance ``d_in``, one of the pairs bounds their steps up and down."""
    if not whole or d_in >= _MANY:
        return [(d_in, d_in)]  # [twice]
    total = math.floor(d_in)
    return [(up, total - up) for up in range(total // 2 + 1)]  # [splits]


def _compose_step_losses(measure: Measure, first: float, second: float) -> float:
    """Return the loss of a step of loss ``first`` and one of loss ``second``, rounded up."""
    if math.inf in (first, second):
        return math.inf
    one, two = Fraction(first), Fraction(second)
    mixed = 2 * _square_root_up(one * two) if measure == ZeroConcentratedDivergence() else Fraction(0)  # [rho-steps]
    return round_up(one + two + mixed)  # [add-steps]


def _square_root_up(value: Fraction) -> Fraction:
    """Return a rational number that is not below the square root of ``value``; exact if the root is rational."""
    product = value.numerator * value.denominator << 2 * _BITS
    root = math.isqrt(product)
    return Fraction(root + (root * root < product), value.denominator << _BITS)  # [root-up]


def _call_opendp_map(measurement: Any, distance: Any) -> Any:
    kind = ""
    try:
        return measurement.map(distance)
    except Exception as error:
        kind = _error_kind(error)
    raise ForeignError(f"the opendp measurement's map raised {kind} at this d_in: call it directly to see its message")


def _from_opendp_loss(measure: Measure, loss: Any) -> Any:
    """Return a distance of OpenDP's measure as a distance of this library's measure."""
    if measure == PrivacyProfile():
        return PrivacyCurve(_RoundedProfile(loss))
    return (loss[0], min(loss[1], 1.0)) if isinstance(loss, tuple) else loss  # [their-loss]


@dataclass(frozen=True, eq=False)
class _RoundedProfile:
    """The delta of an OpenDP privacy profile at the next float64 that is not above an epsilon."""

    profile: Any

    def __call__(self, epsilon: Number) -> float:
        below = epsilon if isinstance(epsilon, float) else round_down(Fraction(epsilon))  # [epsilon-down]
        return min(float(self.profile.delta(below)), 1.0)


def _release_function(measurement: Any, closed: tuple[type, ...]) -> Callable[[Any], Any]:
    def function(value: Any) -> Any:
        kind, released = "", None
        try:
            released = measurement(value.tolist())  # [their-function]
        except Exception as error:
            kind = _error_kind(error)
        if kind:
            raise ForeignError(f"the opendp measurement raised {kind}; its message is omitted, as it may contain data")
        if _contains_instance(released, closed):  # [no-queryables]
            raise ForeignError("the opendp measurement released a queryable, which cannot be closed: compose in opendp")
        return released

    return function


def _contains_instance(released: Any, kinds: tuple[type, ...]) -> bool:
    inner: Iterable[Any] = ()
    if isinstance(released, dict):
        inner = released.values()
    elif isinstance(released, list | tuple):
        inner = released
    return isinstance(released, kinds) or any(_contains_instance(one, kinds) for one in inner)


def _error_kind(error: Exception) -> str:
    variant = getattr(error, "variant", None)
    return f"{type(error).__name__}({variant})" if isinstance(variant, str) else type(error).__name__


# end-proof-region: from_opendp


@mark_experimental("OpenDP's own interface has not reached version 1.0")
def to_opendp(measurement: Measurement, *, T: Any = None, Q: Any = None) -> Any:
    """Convert ``measurement`` to an ``opendp`` Measurement, for its combinators and its Context.

    Experimental: OpenDP's own interface has not reached version 1.0.

    Args:
        measurement: A measurement on a ``VectorDomain`` that is not interactive, under ``LInfDistance``,
            ``RangeDistance``, ``L1Distance`` or ``L2Distance``.
        T: The type of the elements in opendp: ``"i32"``, ``"u32"``, ``"i64"``, ``"u64"`` or ``"f64"``. Default: the
            type that opendp uses for ``int`` (i32, unless its default was changed) or ``float``.
        Q: The type of its distances, one of the same. Default: T, and f64 under ``L2Distance``. ``RangeDistance`` has
            none.

    Returns:
        An ``opendp.mod.Measurement`` on the part of the domain that T can represent, with the same function and the
        same map. ``MaxDivergence``, ``ZeroConcentratedDivergence``, ``Approximate`` of both, and ``PrivacyProfile`` (as
        smoothed max-divergence) become opendp's own measures. ``RangeDistance`` and ``RangeDivergence``, which opendp
        lacks, become a user distance and a user divergence: opendp calls and maps such a measurement, and composes
        the former but not the latter.

    Privacy:
        The map of ``measurement`` at finite d_in: every distance is passed on exactly. At d_in = inf the loss is
        infinite, because opendp's floats include infinities, which are not in any domain here. The claims of opendp's
        combinators about such losses are opendp's own.

    Raises:
        MissingExtraError: opendp is not installed.
        ParameterError: A type is unknown, or opendp's features ``contrib`` and ``honest-but-curious`` are not enabled.
        SpaceError: The domain, metric or measure has no counterpart, or the measurement is interactive.

        The result raises opendp's own errors. If a function fails with an error of this library, they include its
        text, which contains no data; the text of any other error is omitted.

    Proof: proofs/bridge/opendp.tex

    Example:
        >>> import opendp_topk as tk
        >>> import opendp.prelude as dp
        >>> dp.enable_features("contrib", "honest-but-curious")
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> best = tk.opendp.to_opendp(space >> tk.then_permute_and_flip(tk.MaxDivergence(), scale=2.0))
        >>> both = dp.c.make_composition([best, best])
        >>> both.map(1), both([100, 0, 900])
        (1.0, [2, 2])
    """
    # proof-region: to_opendp
    checks.require_instance("measurement", measurement, Measurement, "a measurement of this library")
    dp = load_opendp()
    if measurement.interactive:  # [no-queryable]
        raise SpaceError(
            "measurement must not be interactive: opendp cannot close its queryable. Convert its queries, "
            "and compose them with opendp.prelude.c.make_adaptive_composition"
        )
    metric = measurement.input_metric
    domain, element = to_opendp_domain(measurement.input_domain, T)
    default = "f64" if type(metric) is L2Distance else element
    return dp.m.make_user_measurement(
        domain,
        to_opendp_metric(metric, default if Q is None else opendp_type_name("Q", Q, float)),
        to_opendp_measure(measurement.output_measure),
        function=_hide_error_text(measurement.invoke),  # [same-function]
        privacy_map=_hide_error_text(
            lambda d_in: _to_opendp_loss(dp, _loss_at_distance(measurement, d_in))
        ),  # [same-map]
        TO="ExtrinsicObject",
    )


def _loss_at_distance(measurement: Measurement, d_in: Any) -> Any:
    """Return the loss at ``d_in``; infinite at an infinite distance, because OpenDP has members that fail here."""
    loss = measurement.map(d_in)
    return measurement.output_measure.infinite if d_in == math.inf else loss  # [at-infinity]


def _to_opendp_loss(dp: Any, loss: Any) -> Any:
    """Return ``loss`` as OpenDP takes it: floats unchanged, and a curve as a privacy profile."""
    if not isinstance(loss, PrivacyCurve):
        return loss
    return dp.new_privacy_profile(_hide_error_text(loss.delta)).curve  # [profile]


def _hide_error_text(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return ``function`` with errors from elsewhere replaced by one that does not repeat their text."""

    def call_without_data(value: Any) -> Any:
        kind = ""
        try:
            return function(value)
        except TopKError:
            raise  # [own-error]
        except Exception as error:
            kind = type(error).__name__
        raise ForeignError(f"a function of the caller raised {kind}; its message is omitted, as it may contain data")

    return call_without_data


# end-proof-region: to_opendp
