"""The faults, each a mistake that would break a promise."""

from __future__ import annotations

from tests.mutation.fault import Fault
from tests.mutation.faults import costs, draws, edges, others, overlooked

FAULTS: tuple[Fault, ...] = costs.FAULTS + draws.FAULTS + others.FAULTS + edges.FAULTS + overlooked.FAULTS
"""All of them: in maps, in samplers, and around the mechanisms."""
