"""A privacy budget for one data set, which no crash and no second process can overspend.

It may import errors, markup, numerics, spaces, spaces.curves and core.
"""

from .conversation import Conversation
from .entries import Entry
from .ledger import Ledger
from .planned import PlannedReleases
from .reservation import Reservation

__all__ = ["Conversation", "Entry", "Ledger", "PlannedReleases", "Reservation"]
