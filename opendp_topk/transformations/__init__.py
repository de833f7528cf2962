"""Transformations: functions with a stability map, built by ``make_*`` constructors.

It may import errors, numerics, tables, spaces, sampling.samplers and core.
"""
