"""A privacy budget in a file, which no crash and no second process can overspend.

It may import errors, numerics, proof, spaces and core.
"""

from .ledger import Entry, Ledger

__all__ = ["Entry", "Ledger"]
