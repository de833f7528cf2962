"""Functions with a stability map: one ``make_*`` constructor a file.

It may import errors, numerics, tables, proof, spaces, sampling.samplers and core.
"""
