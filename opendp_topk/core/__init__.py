"""Transformations and measurements, and how they are chained, completed by a space, searched for and shown.

It may import errors, markup, numerics, proof, spaces and sampling.distributions.
"""
