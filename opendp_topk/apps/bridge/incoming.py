"""OpenDP measurements as measurements of this library, without any proof about them."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.claims import attach_claim
from ...core.measurement import Declared, Measurement
from ...core.queryable import Queryable
from ...errors import ForeignError, ParameterTypeError, SpaceError
from ...errors.checks import Number
from ...errors.experimental import mark_experimental
from ...numerics.arithmetic import round_down, round_up
from ...proof import Proof
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import MaxDivergence, Measure, PrivacyProfile, RangeDivergence, ZeroConcentratedDivergence
from ...spaces.metrics import LInfDistance
from .descriptors import from_opendp_domain, from_opendp_measure, from_opendp_metric, load_opendp, to_opendp_distance

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
