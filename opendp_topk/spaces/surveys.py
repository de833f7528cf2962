"""Long vectors of scores, checked in the pass in which the best of each group of them is found.

Whatever is not of the plainest form, or no member of the domain, is left to the domain itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.subnormals import require_subnormals
from ..numerics.surveyed import Surveyed, extremes, finite_best
from .domains import AtomDomain, Domain, VectorDomain

_LEAST = 2**12  # scores; in fewer there is no whole block, so that the best of groups would not be asked for


# proof-region: surveys
def surveyed(domain: Domain, value: Any, sign: int) -> Surveyed | None:
    """``value``, if it is a long contiguous array of numbers and a member of ``domain``; None where that is not clear.

    Nothing is copied: numbers of fewer than 64 bits stay as they are.
    """
    if type(value) is not np.ndarray or type(domain) is not VectorDomain or not _is_plain(domain, value):
        return None
    floats, bounds = value.dtype.kind == "f", domain.element_domain.bounds
    if floats:
        require_subnormals()
        if bounds is None:
            best_of_finite = finite_best(value, sign)  # [finite-best]
            return None if best_of_finite is None else Surveyed(value, sign, best_of_finite)
    best, worst = extremes(value, sign, both=bounds is not None)
    ends = np.concatenate([best, worst])
    if floats and not np.isfinite(ends).all():  # [finite]
        return None
    if bounds and not (bounds[0] <= ends.min().item() and ends.max().item() <= bounds[1]):  # [bounds]
        return None
    return Surveyed(value, sign, best)


def _is_plain(domain: VectorDomain, value: NDArray[Any]) -> bool:
    own = type(domain.element_domain) is AtomDomain  # [own-elements]
    kinds = "iu" if domain.element_domain.T is int else "f"
    fits = domain.size is None or domain.size == value.size
    plain = value.dtype.kind in kinds and value.dtype.itemsize <= 8 and value.dtype.isnative  # [kind]
    return own and fits and plain and value.ndim == 1 and value.size >= _LEAST and value.flags.c_contiguous  # [plain]


# end-proof-region: surveys
