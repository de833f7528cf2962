"""Exact output distributions, accuracy bounds and probabilities of success, by formulas instead of simulation.

It may import errors, numerics, sampling.noises and sampling.samplers.
"""
