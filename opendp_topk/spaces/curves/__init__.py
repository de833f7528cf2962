"""Privacy curves: delta as a function of epsilon, with bounds that are rounded up.

It may import errors, markup and numerics.
"""
