"""What was released, and its record for programs: everything public about it, and no exact count or score."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from fractions import Fraction
from importlib import metadata
from typing import Any, Protocol

from ..core.measurement import Measurement
from ..proof import Proof
from ..spaces.measures import Measure, without_delta

FORMAT = "opendp_topk.release.v1"


def version() -> str:
    """The version of the installed library."""
    try:
        return metadata.version("opendp_topk")
    except metadata.PackageNotFoundError:
        return "unknown"


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
        if hasattr(released, "counts") and hasattr(released, "items"):
            return cls(list(released.items), counts=list(released.counts))
        if hasattr(released, "counts"):
            return cls(released.indices, counts=[int(count) for count in released.counts])
        if hasattr(released, "gaps"):
            return cls(released.indices, gaps=[min(float(gap), sys.float_info.max) for gap in released.gaps])
        if hasattr(released, "stopped"):
            return cls(list(released.items))
        return cls(released if isinstance(released, list) else [released])


class Asked(Protocol):
    """What a record tells of a request."""

    @property
    def release(self) -> str: ...

    @property
    def neighbors(self) -> str: ...

    @property
    def users(self) -> int: ...


def record(winners: Winners, measurement: Measurement, request: Asked) -> dict[str, Any]:
    """What was released, what it cost, how, and why that is so.

    Args:
        winners: What ``measurement`` released.
        measurement: The whole chain, from the table to the items.
        request: What was asked for.
    """
    parameters = {name: plain(value) for name, value in measurement.parameters.items()}
    users = request.users
    return {
        "format": FORMAT,
        "items": winners.items,
        **({} if winners.counts is None else {"counts": winners.counts}),
        **({} if winners.gaps is None else {"gaps": winners.gaps}),
        **({} if winners.other is None else {"other": winners.other}),
        "release": request.release,
        "measure": _measure(measurement.output_measure),
        "symbol": measurement.output_measure.symbol,
        "neighbors": request.neighbors,
        "d_in": users,
        "d_out": measurement.map(users),
        "mechanism": {name: value for name, value in parameters.items() if name != "scale"},
        "scale": parameters["scale"],
        "proof": {
            "status": measurement.proof.status,
            "documents": [_document(proof) for proof in links(measurement.proof)],
        },
        "library": {"name": "opendp_topk", "version": version()},
    }


def _measure(measure: Measure) -> str:
    inner = without_delta(measure)
    return type(inner).__name__ if inner is measure else f"Approximate({type(inner).__name__})"


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
    return {"document": proof.name, "status": proof.status, "digest": digest}
