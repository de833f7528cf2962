"""Measurements: randomised functions with a privacy map, built by ``make_*`` constructors.

It may import errors, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.samplers,
sampling.distributions and core.

Modules that begin with an underscore are shared code.
"""
