"""Noise distributions of selection, one record each: the five of the library, and custom ones.

It may import errors and numerics.
"""
