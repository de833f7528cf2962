"""Exact sampling: digits from the operating system, drawn until the release is certain.

It may import errors, numerics and sampling.noises.
"""
