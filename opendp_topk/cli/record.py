"""The record of a release, for programs: everything public about it, and no count or score."""

from __future__ import annotations

import hashlib
from importlib import metadata
from typing import Any

from ..core import Measurement
from ..proof import Proof

FORMAT = "opendp_topk.release.v1"


def version() -> str:
    """The version of the installed library."""
    try:
        return metadata.version("opendp_topk")
    except metadata.PackageNotFoundError:
        return "unknown"


def record(items: list[Any], measurement: Measurement, users: int, neighbors: str) -> dict[str, Any]:
    """What was released, what it cost, how, and why that is so.

    Args:
        items: What ``measurement`` released, in order.
        measurement: The whole chain, from the table to the items.
        users: d_in, the number of users by which neighbouring tables differ.
        neighbors: ``"add_remove"`` or ``"replace"``.
    """
    parameters = dict(measurement.parameters)
    return {
        "format": FORMAT,
        "items": items,
        "release": parameters["release"],
        "measure": type(measurement.output_measure).__name__,
        "symbol": measurement.output_measure.symbol,
        "neighbors": neighbors,
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


def links(proof: Proof) -> list[Proof]:
    """The documents on which a chain rests: those of its links, and the chain rules."""
    return [*proof.parts, Proof(proof.name, assumption=proof.assumption)]


def _document(proof: Proof) -> dict[str, Any]:
    path = proof.path
    digest = None if path is None else "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return {"document": proof.name, "status": proof.status, "digest": digest}
