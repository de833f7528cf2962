"""Conversion from and to OpenDP: measurements of either library in the other one.

It may import errors, numerics, proof, spaces, spaces.curves and core.
"""

from .opendp import from_opendp, to_opendp

__all__ = ["from_opendp", "to_opendp"]
