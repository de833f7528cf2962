"""Exact laws, accuracy and probabilities of success, by formulas and without simulation.

Imports errors, numerics, noises and the deterministic parts of samplers; nothing here knows of privacy.
"""
