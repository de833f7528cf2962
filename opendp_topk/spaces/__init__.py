"""Domains of inputs, metrics between neighbouring datasets, and privacy measures.

It may import errors, numerics, tables and spaces.curves.
"""
