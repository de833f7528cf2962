"""Spaces and measures of OpenDP, and their counterparts in this library.

OpenDP is imported on first use. A domain of this library becomes the part of it that OpenDP's element type can
represent. A domain of OpenDP becomes the part of it that is a domain of this library. So a function never receives a
value outside its own domain.

Proof: proofs/bridge/opendp.tex
"""

from __future__ import annotations

import importlib
import math
import sys
from fractions import Fraction
from typing import Any

from ...errors import ParameterError, SpaceError
from ...errors.extras import import_extra
from ...numerics.arithmetic import round_down, round_up
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
_INTEGERS = {
    "i32": (-(2**31), 2**31 - 1),
    "u32": (0, 2**32 - 1),
    "i64": (-(2**63), 2**63 - 1),
    "u64": (0, 2**64 - 1),
}
_FLOAT = "f64"
_RANGE_DISTANCE = "opendp_topk.RangeDistance"
_RANGE_DIVERGENCE = "opendp_topk.RangeDivergence"
_LARGEST = sys.float_info.max
_METRICS = (LInfDistance(), LInfDistance(monotonic=True), L1Distance(), L2Distance(), RangeDistance())
_SIMPLE = (MaxDivergence(), ZeroConcentratedDivergence())
_MEASURES = (*_SIMPLE, RangeDivergence(), PrivacyProfile(), *map(Approximate, _SIMPLE))


# end-proof-region: descriptors


def load_opendp() -> Any:
    """Return the module ``opendp.prelude``.

    Raises:
        MissingExtraError: opendp is not installed.
        ParameterError: OpenDP's features for measurements of other origin are not enabled.
    """
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
