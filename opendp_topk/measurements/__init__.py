"""Randomised functions with a privacy map: one ``make_*`` constructor a file, and what they share in files with an
underscore.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.samplers,
sampling.distributions and core.
"""
