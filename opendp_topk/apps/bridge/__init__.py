"""Conversion from and to OpenDP: measurements of either library in the other one.

It may import errors, numerics, proof, spaces, spaces.curves, core and combinators.
"""

from .incoming import from_opendp
from .outgoing import to_opendp

__all__ = ["from_opendp", "to_opendp"]
