"""The noise distributions of selection, a record each: the five of the library, and those of a caller.

It may import errors and numerics.
"""
