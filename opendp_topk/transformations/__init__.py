"""Deterministic functions with a stability map: one ``make_*`` constructor a file.

Imports core and everything below it; no sampler.
"""
