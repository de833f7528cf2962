"""What the exact verifier reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..spaces.measures import Measure
from ..spaces.metrics import Metric


@dataclass(frozen=True)
class Witness:
    """Two neighbouring inputs, and where the loss between their laws is met."""

    x: Any
    x_prime: Any
    where: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Report:
    """What :func:`verify` found.

    ``loss`` is the largest loss met, rounded down; ``bound`` is an upper bound of the losses between all pairs that
    were tried, rounded up; ``tightness`` is ``loss`` over the claim. Under ``Approximate(MaxDivergence())`` all of
    these are deltas at the claimed epsilon. ``pairs`` were compared, and ``skipped`` had laws too large to compute.
    ``holds`` says that no pair refuted the claim; what was not tried may.
    """

    parameters: Mapping[str, Any]
    input_metric: Metric
    output_measure: Measure
    d_in: Any
    claimed: Any
    loss: float
    bound: float
    witness: Witness | None
    pairs: int
    skipped: int
    holds: bool

    @property
    def tightness(self) -> float | None:
        """The loss over the claim; None where the claim is 0 or infinite."""
        claim = limit(self.claimed)
        return self.loss / claim if 0 < claim < float("inf") else None

    def __repr__(self) -> str:
        fields: dict[str, Any] = {
            **self.parameters,
            "input_metric": self.input_metric,
            "output_measure": self.output_measure,
            "d_in": self.d_in,
            "claimed": self.claimed,
            "largest loss": f"{self.loss!r} at least, {self.bound!r} at most, over {self.pairs} pairs",
            "tightness": "-" if self.tightness is None else f"{self.tightness:.4f}",
        }
        if self.skipped:
            fields["skipped"] = f"{self.skipped} pairs whose laws are too large to compute"
        if self.witness is not None:
            fields["witness"] = f"{self.witness.x} -> {self.witness.x_prime}"
            fields |= self.witness.where
        fields["verdict"] = "no pair refutes the claim" if self.holds else "REFUTED"
        width = max(map(len, fields))
        return "\n".join(["Report(", *(f"    {name:<{width}} = {value}" for name, value in fields.items()), ")"])


def limit(claimed: Any) -> Any:
    """The number that no loss may exceed: delta, where the claim is a pair (epsilon, delta)."""
    return claimed[1] if isinstance(claimed, tuple) else claimed
