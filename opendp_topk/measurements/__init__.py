"""Measurements: randomised functions with a privacy map.

Each public module defines one ``make_*`` constructor. Modules that begin with an underscore are shared code.

It may import errors, markup, numerics, tables, proof, sampling.noises, spaces, spaces.curves, sampling.samplers,
sampling.distributions and core.
"""
