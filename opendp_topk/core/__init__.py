"""Transformations and measurements: chaining, partial constructors, search for parameters, and display.

It may import errors, markup, numerics, proof, spaces and sampling.distributions.
"""
