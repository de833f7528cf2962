"""Adapter to data frames and files: it takes columns of identifiers and returns counts.

It may import errors.
"""
