"""Arithmetic with directed rounding: rationals, intervals, exponentials and logarithms.

It may import errors.
"""
