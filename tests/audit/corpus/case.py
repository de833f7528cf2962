"""What a mechanism of the corpus claims, on which inputs, and what an audit says of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import opendp_topk as tk
from tests.audit.mechanisms import Mechanism

FLOATS = tk.VectorDomain(tk.AtomDomain(float))
Space = tuple[tk.VectorDomain, Any]
SCORES: Space = FLOATS, tk.LInfDistance()
ONE_WAY: Space = FLOATS, tk.LInfDistance(monotonic=True)
SUMMANDS: Space = FLOATS, tk.L1Distance()
COUNTS: Space = tk.VectorDomain(tk.AtomDomain(int, bounds=(0, 10**6))), tk.L1Distance()


@dataclass(frozen=True)
class Case:
    """A mechanism with its claim: ``release(x, n, draw)`` are n releases, or one where ``single``.

    Inputs are scores of ``space``, or ``pairs`` that the author of a test would give.
    """

    release: Mechanism
    right: bool
    epsilon: float = 1.0
    delta: float = 0.0
    rho: float | None = None
    space: Space = SCORES
    pairs: Sequence[tuple[Any, Any]] | None = None
    single: bool = False

    @property
    def name(self) -> str:
        """That of the function, in words."""
        return self.release.__name__.replace("_", " ")

    def audited(self, seed: int, samples: int, confidence: float = 0.999) -> str:
        """The verdict of one audit, which knows the claim and the space alone."""
        draw, release = np.random.default_rng(seed), self.release
        domain, metric = self.space
        measure, claim = self._claim()
        found = tk.audit.search(
            (lambda x: release(x, 1, draw)) if self.single else lambda x, n: release(x, n, draw),
            **({"input_domain": domain, "input_metric": metric} if self.pairs is None else {"pairs": self.pairs}),
            measure=measure,
            delta=self.delta,
            samples=samples,
            confidence=confidence,
            batched=not self.single,
        )
        return found.estimate.verdict(claim)

    def _claim(self) -> tuple[tk.Measure, Any]:
        if self.rho:
            return tk.ZeroConcentratedDivergence(), self.rho
        if self.delta:
            return tk.Approximate(tk.MaxDivergence()), (self.epsilon, self.delta)
        return tk.MaxDivergence(), self.epsilon


def right(release: Mechanism, **stated: Any) -> Case:
    """A case that keeps its claim."""
    return Case(release, True, **stated)


def broken(release: Mechanism, **stated: Any) -> Case:
    """A case that does not."""
    return Case(release, False, **stated)
