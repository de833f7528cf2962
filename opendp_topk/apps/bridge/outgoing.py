"""Measurements of this library as measurements of OpenDP."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...core.measurement import Measurement
from ...errors import ForeignError, SpaceError, TopKError, checks
from ...errors.experimental import mark_experimental
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.metrics import L2Distance
from .descriptors import load_opendp, opendp_type_name, to_opendp_domain, to_opendp_measure, to_opendp_metric


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
