"""A privacy budget in a file, which no crash and no second process can overspend."""

from .ledger import Entry, Ledger

__all__ = ["Entry", "Ledger"]
