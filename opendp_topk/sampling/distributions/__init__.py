"""Exact laws, accuracy and probabilities of success, by formulas and without simulation.

It may import errors, numerics, sampling.noises, sampling.noises.races and sampling.samplers.
"""
