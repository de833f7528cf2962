"""What was released, and its record for programs: everything public about it, and no exact count or score."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from ..core.measurement import Measurement
from ..core.version import version
from ..errors import ProofError
from ..ledger.journal import now
from ..numerics.arithmetic import exact, round_up
from ..proof import Proof
from ..spaces.curves.curve import PrivacyCurve
from ..spaces.measures import Measure, PrivacyProfile, without_delta

FORMAT = "opendp_topk.release.v2"


@dataclass(frozen=True)
class Winners:
    """The items that were released, in order, and with each a noisy count or a noisy lead where the release has one."""

    items: list[Any]
    counts: list[int] | None = None
    gaps: list[float] | None = None
    other: int | None = None

    @classmethod
    def of(cls, released: Any) -> Winners:
        """What a measurement released: one item, a list of items, or a tuple of items and what comes with them."""
        if hasattr(released, "counts"):
            return cls(list(released.items), counts=[int(count) for count in released.counts])
        if hasattr(released, "gaps"):
            return cls(list(released.items), gaps=[min(float(gap), sys.float_info.max) for gap in released.gaps])
        if hasattr(released, "stopped"):
            return cls(list(released.items))
        return cls(list(released) if isinstance(released, list) else [released])


class Asked(Protocol):
    """What a record tells of a request."""

    @property
    def wanted(self) -> int | None: ...

    @property
    def release(self) -> str: ...

    @property
    def neighbors(self) -> str: ...

    @property
    def users(self) -> int: ...

    @property
    def target(self) -> Any: ...


@dataclass(frozen=True)
class Promise:
    """What a theorem promises with probability at least ``1 - alpha``: in words, and within how many users.

    ``within`` is None where there is no finite bound, or none was computed.
    """

    words: str
    within: int | None
    alpha: float

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return {"alpha": self.alpha, "within_users": self.within, "words": self.words}


@dataclass(frozen=True)
class Read:
    """How the table was read.

    Args:
        engine: The name and the version of what counted it.
        where: The condition on its rows; None for all.
        files: The digest of the list of its files, where that was kept.
    """

    engine: Mapping[str, str]
    where: str | None = None
    files: str | None = None


def record(
    winners: Winners,
    measurement: Measurement,
    request: Asked,
    promises: Mapping[str, Promise],
    entry: Mapping[str, Any] | None,
    read: Read,
) -> dict[str, Any]:
    """What was released, what it cost, how, and why that is so; docs/release.schema.json describes it.

    Args:
        winners: What ``measurement`` released.
        measurement: The whole chain, from the table to the items.
        request: What was asked for.
        promises: The accuracy theorems, by the name of their field.
        entry: The entry of the ledger that paid for it, if one did.
        read: How the table was read.
    """
    parameters = {name: plain(value) for name, value in measurement.parameters.items()}
    return {
        "format": FORMAT,
        "time": now(),
        "items": winners.items,
        **({} if winners.counts is None else {"counts": winners.counts}),
        **({} if winners.gaps is None else {"gaps": winners.gaps}),
        **({} if winners.other is None else {"other": winners.other}),
        "k": request.wanted,
        "release": request.release,
        "measure": _measure(measurement.output_measure),
        "symbol": _symbol(measurement.output_measure),
        "neighbors": request.neighbors,
        "d_in": request.users,
        "d_out": lost(measurement, request),
        "mechanism": {name: value for name, value in parameters.items() if name != "scale"},
        "scale": parameters["scale"],
        **{name: promise.as_dict() for name, promise in promises.items()},
        "ledger": None if entry is None else dict(entry),
        "proof": {
            "status": measurement.proof.status,
            "documents": [_document(proof) for proof in links(measurement.proof)],
        },
        **({} if read.where is None else {"where": read.where}),
        **({} if read.files is None else {"files": read.files}),
        "engine": dict(read.engine),
        "library": {"name": "opendp_topk", "version": version()},
    }


def lost(measurement: Measurement, request: Asked) -> Any:
    """The privacy loss: a number, or a pair with a delta; of a curve the delta at the epsilon that was asked for."""
    loss = measurement.map(request.users)
    if not isinstance(loss, PrivacyCurve):
        return loss
    epsilon = request.target.budget[0]
    return _written(epsilon), loss.delta(epsilon)


def _written(stated: Any) -> float:
    """A float64 whose shortest decimal, as which a record is read, is at least what was stated."""
    near = float(stated)
    return near if Fraction(repr(near)) >= exact(stated) else round_up(exact(stated))


def _measure(measure: Measure) -> str:
    inner = without_delta(measure)
    return type(inner).__name__ if inner is measure else f"Approximate({type(inner).__name__})"


def _symbol(measure: Measure) -> str:
    return "(epsilon, delta)" if measure == PrivacyProfile() else measure.symbol


def links(proof: Proof) -> list[Proof]:
    """The documents on which a chain rests: those of its links, and the chain rules."""
    below = dict.fromkeys(one for part in proof.parts for one in links(part))
    return [*below, Proof(proof.name, assumption=proof.assumption)]


def plain(value: Any) -> Any:
    """A fraction as a float, or as an integer where it is beyond all floats; another value as it is."""
    if not isinstance(value, Fraction):
        return value
    return float(value) if abs(value) <= sys.float_info.max else int(value)


def _document(proof: Proof) -> dict[str, Any]:
    path = proof.path
    digest = None if path is None else "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return {"document": proof.name, "status": proof.status, "digest": digest, "claim": _claim(proof.name)}


def _claim(name: str | None) -> str | None:
    """The digest that a reader of this claim signs; None where there is none."""
    from ..audit.registry import claim_digest  # a plan needs no audit

    try:
        return None if name is None else claim_digest(name)
    except ProofError:
        return None
