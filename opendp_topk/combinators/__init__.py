"""Combinators: measurements built from other measurements.

It may import errors, numerics, tables, proof, spaces, spaces.curves, sampling.samplers, core and transformations.

They add no noise of their own; at most they draw the number of runs of a measurement.
"""
