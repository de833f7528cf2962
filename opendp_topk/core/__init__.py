"""Transformations and measurements: chaining, partial constructors, search for parameters, and display.

It may import errors, markup, proof, spaces and sampling.distributions.
"""
