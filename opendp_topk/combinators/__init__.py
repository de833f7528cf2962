"""Combinators: measurements built from other measurements.

They add no noise of their own; at most they draw the number of runs of a measurement. This package may import errors,
numerics, tables, proof, spaces, spaces.curves, sampling.samplers, core and transformations.
"""
