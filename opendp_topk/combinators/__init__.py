"""Measurements made of measurements, which neither draw nor read data themselves.

It may import errors, numerics, tables, proof, spaces, spaces.curves, core and transformations.
"""
