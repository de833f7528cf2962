"""The only source of randomness: the operating system.

Every candidate owns one uniform variable U in [0, 1], whose binary digits are drawn when they are needed and
never twice. A candidate's first 16 digits are its prefix; further digits come in words of 64.
"""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from ..errors import EntropyError
from ..numerics.subnormals import require_subnormals

Indices = NDArray[np.int64]


class Entropy:
    """Fresh uniform digits from the operating system's cryptographic generator.

    The indices say for which candidates digits are drawn. They do not matter here: all digits are independent.
    Tests replace this class by one with a stream of digits a candidate.
    """

    # proof-region: entropy
    def prefixes(self, index: Indices) -> NDArray[np.uint16]:
        """The first 16 digits of the uniforms of these candidates."""
        return np.frombuffer(_read(2 * len(index)), dtype=np.uint16)  # [prefixes]

    def words(self, index: Indices) -> NDArray[np.uint64]:
        """The next 64 digits of the uniforms of these candidates."""
        return np.frombuffer(_read(8 * len(index)), dtype=np.uint64)  # [words]

    def auxiliary(self, n: int) -> NDArray[np.uint64]:
        """``n`` words of 64 digits that belong to no candidate."""
        return np.frombuffer(_read(8 * n), dtype=np.uint64)  # [auxiliary]

    # end-proof-region: entropy


def _read(n: int) -> bytes:
    require_subnormals()
    try:
        return os.urandom(n)
    except (OSError, NotImplementedError):
        failed = True
    if failed:
        raise EntropyError("the operating system's source of randomness failed: nothing was released")
    return b""


SYSTEM = Entropy()
