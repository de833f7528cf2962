"""Conversion from and to OpenDP: measurements of either library in the other one.

It may import errors, numerics, proof, spaces, spaces.curves, core and combinators.
"""
