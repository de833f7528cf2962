"""Privacy curves: for every epsilon a delta, as bounds that are rounded up.

Imports errors and numerics.
"""
