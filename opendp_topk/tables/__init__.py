"""Adapter to data frames and files: it takes columns of identifiers and returns counts.

It may import errors.
"""

from .files import read_table

__all__ = ["read_table"]
