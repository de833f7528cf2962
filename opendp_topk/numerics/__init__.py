"""Arithmetic whose every inexact step has a direction: rationals, intervals, exponentials and logarithms.

It may import errors.
"""
