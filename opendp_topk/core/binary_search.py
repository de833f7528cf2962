"""Search for the most accurate parameter that meets a privacy target; bounds are optional.

Non-negative float64 numbers have the same order as their bit patterns, so floats and integers are both searched as
natural numbers. The result is exact: the next parameter in the direction of accuracy does not pass.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import ParameterError, ParameterTypeError, SearchError, checks
from .measurement import Measurement
from .transformation import Transformation

Built = TypeVar("Built", bound=Transformation | Measurement)

# The boundary can be anywhere, so the probes are powers of two: each exponent up to 16, then exponents that double.
# proof-region: probes
_STEPS = range(17)
_STRIDES = tuple(2**power for power in range(5, 10))
_FLOAT_EXPONENTS = (
    *(-1074, -1022),
    *(-exponent for exponent in reversed((*_STEPS[1:], *_STRIDES))),
    *(*_STEPS, *_STRIDES, 1023),
)
_FLOATS = (0.0, *(2.0**exponent for exponent in _FLOAT_EXPONENTS), float.fromhex("0x1.fffffffffffffp+1023"))
_INTS = (0, *(2**exponent for exponent in (*_STEPS, *_STRIDES, 1024, 2048, 4096)))  # [ascending]
# end-proof-region: probes


# proof-region: binary_search_param
def binary_search_param(
    make: Callable[[Any], Built], d_in: Any, d_out: Any, T: type = float, *, bounds: tuple[Any, Any] | None = None
) -> Any:
    """Return the most accurate parameter p for which ``make(p).check(d_in, d_out)`` is true.

    The map must be monotone in p. If the loss falls (as with a noise scale), the result is the smallest passing p; if
    it rises (as with a number k of winners, or an epsilon), the largest. The direction is found by probing.

    Args:
        make: p -> Measurement or Transformation. If it raises ParameterError or an arithmetic error such as a
            division by zero, p does not pass. The accepted parameters must have no gap between them.
        d_in: The distance of neighbouring inputs, in the units of the input metric.
        d_out: The target, in the units of the output measure (or output metric).
        T: ``float`` searches all finite float64 numbers >= 0, ``int`` all integers >= 0 (up to 2^4096).
        bounds: A pair (low, high): no parameter outside is tried. If all of [low, high] passes and the loss is not
            constant, the result is its accurate end, if that is above 0. By default all of the type is searched.

    Returns:
        A parameter of type ``T``. The next float64 or integer in the direction of accuracy does not pass, or is outside
        of ``bounds``. Even if the map is not monotone, the returned parameter has passed the check.

    Raises:
        SearchError: No parameter passes, every parameter passes, or the loss is constant; or ``make`` accepts none of
            the probes, and the message contains the error that it raised most often.
        ParameterError: ``bounds`` is not a pair of ascending numbers >= 0 of type ``T``. ``d_in`` or ``d_out`` is not a
            distance of what ``make`` builds.
        ParameterTypeError: ``make`` is not callable or builds something else, or ``T`` is another type.

    Runtime: Some 50 probes and at most three bisections of 64 checks for a float; for an integer, about twice as many
        checks as it has bits.

    Proof: proofs/core/binary_search.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> def noisy(scale):
        ...     return space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=10, scale=scale)
        >>> tk.binary_search_param(noisy, d_in=1, d_out=0.5)
        20.0
    """
    return _most_accurate(make, d_in, d_out, T, bounds).parameter


# end-proof-region: binary_search_param


# proof-region: binary_search_chain
def binary_search_chain(
    make: Callable[[Any], Built], d_in: Any, d_out: Any, T: type = float, *, bounds: tuple[Any, Any] | None = None
) -> Built:
    """Return the measurement or transformation with the most accurate parameter; see :func:`binary_search_param`.

    Args:
        make, d_in, d_out, T, bounds: As for :func:`binary_search_param`.

    Returns:
        The object that ``make`` built and for which ``check(d_in, d_out)`` was true.

    Raises:
        SearchError, ParameterError, ParameterTypeError: As :func:`binary_search_param`.

    Proof: proofs/core/binary_search.tex

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
        >>> def winners(k):
        ...     return space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=k, scale=20.0)
        >>> tk.binary_search_chain(winners, d_in=1, d_out=0.5, T=int).parameters["k"]
        10
    """
    built: Built = _most_accurate(make, d_in, d_out, T, bounds).built
    return built


# end-proof-region: binary_search_chain


# proof-region: binary_search
@dataclass(frozen=True)
class _Attempt:
    """A parameter that was tried, what ``make`` built from it (None if it raised ``error``), and if that passes."""

    index: int
    parameter: Any
    built: Any
    passes: bool
    error: Exception | None = None

    @property
    def is_accepted(self) -> bool:
        return self.built is not None


Try = Callable[[int], _Attempt]


def _most_accurate(make: Callable[[Any], Any], d_in: Any, d_out: Any, T: type, bounds: Any) -> _Attempt:
    checks.require_callable("make", make)
    if T is not float and T is not int:
        raise ParameterTypeError("T must be the type float or the type int")
    probes = list(map(_float_to_bits, _FLOATS)) if T is float else list(_INTS)
    if bounds is not None:
        low, high = _bound_indices(bounds, T)
        probes = [low, *(probe for probe in probes if low < probe < high), *([high] if high > low else [])]  # [bounds]

    def try_parameter(index: int) -> _Attempt:
        parameter = _bits_to_float(index) if T is float else index
        built = None
        try:
            built = make(parameter)
            passes = isinstance(built, Measurement | Transformation) and built.check(d_in, d_out)  # [passes]
        except (ParameterError, ArithmeticError) as error:
            if built is not None and isinstance(error, ParameterError):
                raise  # [not-a-distance]
            return _Attempt(index, parameter, None, False, error)  # [refused]
        if not isinstance(built, Measurement | Transformation):
            raise ParameterTypeError(f"make must return a Measurement or a Transformation, not {type(built).__name__}")
        return _Attempt(index, parameter, built, passes)

    return _search_boundary(try_parameter, probes, d_in, bounded=bounds is not None)


def _bound_indices(bounds: Any, T: type) -> tuple[int, int]:
    fits = checks.is_integer if T is int else checks.is_real
    if not isinstance(bounds, tuple | list) or len(bounds) != 2 or not all(map(fits, bounds)):
        raise ParameterTypeError(f"bounds must be a pair (low, high) of numbers of type {T.__name__}")
    low, high = (checks.require_scale(checks.plain_number(one), "each of bounds") for one in bounds)
    if low > high:
        raise ParameterError("bounds must be a pair (low, high) with low <= high")
    if T is int:
        return int(low), int(high)
    return _float_to_bits(float(min(low, _FLOATS[-1])) + 0.0), _float_to_bits(float(min(high, _FLOATS[-1])) + 0.0)


def _search_boundary(attempt: Try, probes: Iterable[int], d_in: Any, bounded: bool) -> _Attempt:
    tried = map(attempt, probes)  # [probe]
    refused, errors = None, []
    for first in tried:
        if first.is_accepted:
            break
        refused = first
        errors.append(first.error)
    else:
        said = Counter(map(str, errors)).most_common(1)[0][0]
        raise SearchError(
            f"make accepted none of the parameters tried (pass T=int if the parameter is an integer such as k): {said}"
        ) from errors[-1]
    lowest = before = _bisect_boundary(attempt, first, refused, lambda found: found.is_accepted)  # [lowest]
    closed = bounded
    for here in itertools.chain([first], tried):
        end = not here.is_accepted
        if end:
            closed = True
            here = _bisect_boundary(attempt, before, here, lambda found: found.is_accepted)  # [highest]
        if here.passes != before.passes:  # [bracket]
            inside, outside = (here, before) if here.passes else (before, here)
            return _bisect_boundary(attempt, inside, outside, lambda found: found.passes)
        before = here
        if end:
            break
    if not lowest.passes:
        raise SearchError("no parameter meets d_out at d_in: raise d_out, or lower d_in")
    return _all_pass(lowest, before, closed, d_in)


def _bisect_boundary(
    attempt: Try, inside: _Attempt, outside: _Attempt | None, good: Callable[[_Attempt], bool]
) -> _Attempt:
    """Return the last good attempt from ``inside``, which is good, to ``outside``, which is None or not good."""
    while outside is not None and abs(outside.index - inside.index) > 1:  # [invariant]
        middle = attempt((inside.index + outside.index) // 2)
        if good(middle):
            inside = middle  # [bisect]
        else:
            outside = middle
    return inside


def _all_pass(lowest: _Attempt, highest: _Attempt, closed: bool, d_in: Any) -> _Attempt:
    """Return the accurate end of a range that passes as a whole."""
    rises = not highest.built.check(d_in, lowest.built.map(d_in))  # [rises]
    falls = not lowest.built.check(d_in, highest.built.map(d_in))  # [falls]
    if closed and (rises or lowest.index == highest.index):
        return highest  # [closed-above]
    if falls and lowest.index > 0:
        return lowest  # [closed-below]
    raise SearchError(
        "every parameter meets d_out at d_in, so none is the most accurate: "
        "lower d_out, or choose the parameter for its accuracy alone"
    )


def _float_to_bits(value: float) -> int:
    """Return the bit pattern of a float64 >= 0; the order of the patterns is the order of the numbers."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _bits_to_float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


# end-proof-region: binary_search
