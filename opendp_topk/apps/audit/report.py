"""Reports of audits, and their verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import Measure
from ...spaces.metrics import Metric

# The verdict of an audit on a claim: a word, and its exit code, the same in all outputs.
#
# By enumeration, a claim holds or fails. By samples, it is refuted or not refuted; neither proves that it is true. A
# claim is not tested if the audit could not have refuted it, whatever it saw.

HOLDS, FAILS = "holds", "fails"
REFUTED, NOT_REFUTED = "refuted", "not refuted"
NOT_TESTED = "not tested"

TONES = {HOLDS: "good", NOT_REFUTED: "open", FAILS: "bad", REFUTED: "bad", NOT_TESTED: "warn"}
"""Kind of each verdict, which decides its colour on a terminal and on a page: green, blue, red or yellow."""

EXIT_CODES = {HOLDS: 0, NOT_REFUTED: 0, FAILS: 1, REFUTED: 1, NOT_TESTED: 3}
"""Exit codes of a command that audits; 2 means that its command line is wrong."""


# The report of the exact verifier.

_WORDS = {
    HOLDS: "no pair refutes the claim",
    FAILS: "FAILS: a pair certainly refutes the claim",
    NOT_TESTED: "NOT TESTED: a loss is claimed, but no pair that was tried has a loss",
}


@dataclass(frozen=True)
class Witness:
    """Two neighbouring inputs, and where the loss between their output distributions is reached."""

    x: Any
    x_prime: Any
    where: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Report:
    """The result of :func:`verify`.

    ``loss`` is the largest loss found, rounded down; ``bound`` is an upper bound on the losses between all pairs that
    were tried, rounded up; ``tightness`` is ``loss`` over the claim. Under ``Approximate(MaxDivergence())`` all of
    these are deltas at the claimed epsilon; under ``PrivacyProfile()`` they are ratios of a delta to that of the curve,
    at an epsilon with the largest ratio, and the claim is 1. ``pairs`` is the number of compared pairs, and ``skipped``
    the number of pairs whose distributions were too large to compute. ``verdict`` is

    - ``"fails"``: the loss of a pair exceeds the claim, with certainty;
    - ``"not tested"``: a loss is claimed and none was found, so the pairs give no evidence about the claim;
    - ``"holds"``: losses were found, or none is claimed, and no pair refutes the claim; untried pairs may refute it.
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
        """The loss over the claim; None if the claim is 0 or infinite."""
        claim = claimed_limit(self.claimed)
        return self.loss / claim if 0 < claim < float("inf") else None

    def __repr__(self) -> str:
        fields: dict[str, Any] = {
            **self.parameters,
            "input_metric": self.input_metric,
            "output_measure": self.output_measure,
            "d_in": self.d_in,
            "claimed": self.claimed,
            "largest loss": f"at least {self.loss!r}, at most {self.bound!r}, over {self.pairs} pairs",
            "tightness": "-" if self.tightness is None else f"{self.tightness:.4f}",
        }
        if self.skipped:
            fields["skipped"] = f"{self.skipped} pairs whose output distributions are too large to compute"
        if self.witness is not None:
            fields["witness"] = f"{self.witness.x} -> {self.witness.x_prime}"
            fields |= self.witness.where
        fields["verdict"] = _WORDS[self.verdict]
        width = max(map(len, fields))
        return "\n".join(["Report(", *(f"    {name:<{width}} = {value}" for name, value in fields.items()), ")"])


def claim_verdict(loss: Any, claimed: Any) -> str:
    """Return the verdict on a claim, given the largest loss that was found, a lower bound."""
    if loss > claimed_limit(claimed):
        return FAILS
    return HOLDS if loss > 0 or claimed_limit(claimed) == 0 else NOT_TESTED


def claimed_limit(claimed: Any) -> Any:
    """Return the number that no loss may exceed: delta for a pair (epsilon, delta), and 1, as a ratio, for a curve."""
    if isinstance(claimed, PrivacyCurve):
        return 1.0
    return claimed[1] if isinstance(claimed, tuple) else claimed
