"""Checks of privacy claims, of this library and of others.

It may import errors, numerics, proof, sampling.noises, sampling.samplers, spaces, spaces.curves,
sampling.distributions, core and measurements.
"""

from ...proof import Proof
from ...sampling.distributions.events import Enclosure
from .audited import Audited, audit_claim
from .blackbox import Estimate, Seen, estimate
from .blackbox_search import Found, search
from .neighbours import record_pairs, table_pairs
from .registry import Claim, proofs
from .replay import Replayed, replay
from .report import Report, Witness
from .shipped import verify_all
from .verify import verify

__all__ = [
    "Audited",
    "Claim",
    "Enclosure",
    "Estimate",
    "Found",
    "Proof",
    "Replayed",
    "Report",
    "Seen",
    "Witness",
    "audit_claim",
    "estimate",
    "proofs",
    "record_pairs",
    "replay",
    "search",
    "table_pairs",
    "verify",
    "verify_all",
]
