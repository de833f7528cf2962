"""Reports of audits, and their verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Measure
from ...spaces.metrics import Metric

# What an audit says of a claim: a word, and the exit code that goes with it, the same wherever one is read.
#
# By enumeration a claim holds or fails. By samples it is refuted or not; neither is a proof that it is kept. What an
# effort could not have refuted, whatever it saw, it has not tested.

HOLDS, FAILS = "holds", "fails"
REFUTED, NOT_REFUTED = "refuted", "not refuted"
NOT_TESTED = "not tested"

TONES = {HOLDS: "good", NOT_REFUTED: "open", FAILS: "bad", REFUTED: "bad", NOT_TESTED: "warn"}
"""Of the colour in which the word is shown: green, blue, red or yellow on a terminal and on a page."""

EXIT_CODES = {HOLDS: 0, NOT_REFUTED: 0, FAILS: 1, REFUTED: 1, NOT_TESTED: 3}
"""Of a command that audits; 2 says that its command line is wrong."""


# What the exact verifier reports.

_WORDS = {
    HOLDS: "no pair refutes the claim",
    FAILS: "FAILS: a pair refutes the claim, with certainty",
    NOT_TESTED: "NOT TESTED: a loss is claimed, and no pair that was tried has any",
}


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
    these are deltas at the claimed epsilon; under ``PrivacyProfile()`` they are ratios of a delta to that of the curve,
    at an epsilon where that is largest, and 1 is claimed. ``pairs`` were compared, and ``skipped`` had laws too large
    to compute. ``verdict`` is

    - ``"fails"``: the loss of a pair exceeds the claim, with certainty;
    - ``"not tested"``: a loss is claimed and none was met, so the pairs say nothing of the claim;
    - ``"holds"``: losses were met, or none is claimed, and no pair refutes the claim; what was not tried may.
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
    verdict: str

    @property
    def holds(self) -> bool:
        """Whether the verdict is ``"holds"``: the claim was tested, and is not refuted."""
        return self.verdict == HOLDS

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
        fields["verdict"] = _WORDS[self.verdict]
        width = max(map(len, fields))
        return "\n".join(["Report(", *(f"    {name:<{width}} = {value}" for name, value in fields.items()), ")"])


def verdict(loss: Any, claimed: Any) -> str:
    """What the largest loss that was met, a lower bound, says of a claim."""
    if loss > limit(claimed):
        return FAILS
    return HOLDS if loss > 0 or limit(claimed) == 0 else NOT_TESTED


def limit(claimed: Any) -> Any:
    """The number that no loss may exceed: delta of a pair (epsilon, delta), and 1, as a ratio, of a curve."""
    if isinstance(claimed, PrivacyCurve):
        return 1.0
    return claimed[1] if isinstance(claimed, tuple) else claimed
