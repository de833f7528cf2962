"""Privacy curves: for every epsilon a delta, as bounds that are rounded up.

It may import errors, markup and numerics.
"""
