"""Exact laws, accuracy and probabilities of success, by formulas and without simulation.

It may import errors, numerics, noises, noises.races and samplers.
"""
