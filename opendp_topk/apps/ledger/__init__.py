"""Privacy budget for one data set, which no crash and no concurrent process can overspend.

It may import errors, markup, numerics, spaces, spaces.curves and core.
"""

from .journal import Entry
from .ledger import Ledger
from .planned import Conversation, PlannedReleases, Reservation

__all__ = ["Conversation", "Entry", "Ledger", "PlannedReleases", "Reservation"]
