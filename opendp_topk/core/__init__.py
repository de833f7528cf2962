"""Transformations and measurements, and how they are chained, completed by a space, searched for and shown.

Imports errors, numerics, spaces, proof and distributions; no mechanism is known here by name.
"""
