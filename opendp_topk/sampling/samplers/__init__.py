"""Exact sampling: digits from the operating system, drawn until what is released is certain.

It may import errors, numerics and sampling.noises.
"""
