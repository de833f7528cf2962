"""Measurements made of measurements, which read no data themselves, and draw how often they run one at most.

It may import errors, numerics, tables, proof, spaces, spaces.curves, sampling.samplers, core and transformations.
"""
