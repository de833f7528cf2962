"""The noise distributions of selection: the five of the library, and those of a caller.

It may import errors and numerics.
"""
