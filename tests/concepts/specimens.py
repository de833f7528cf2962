"""What every constructor must show on an instance so small that its law can be written down: a specimen of it."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import opendp_topk as tk

from .links import as_outcome
from .losses import within

Law = Mapping[Hashable, Any]


def _released(measurement: Any, value: Any) -> Hashable:
    return as_outcome(measurement(value))


def _mapped(measurement: Any) -> Any:
    return measurement.map(1)


@dataclass(frozen=True)
class Specimen:
    """A link with the law of its releases, from another source than the library, on two neighbours at distance 1.

    ``cell`` makes a release and gives the outcome of the law to which it belongs. ``claimed`` is the bound on the loss,
    of which the neighbours reach the part ``share``. A transformation, which draws nothing, is seen through
    ``measurement``, which begins with it; ``draws`` makes many independent releases at once where that is possible.
    """

    link: Any
    pair: tuple[Any, Any]
    law: Callable[[Any], Law]
    share: float = 0.5
    cell: Callable[[Any, Any], Hashable] = _released
    claimed: Callable[[Any], Any] = _mapped
    measurement: Any = None
    draws: Callable[[int], list[Hashable]] | None = None

    @property
    def released(self) -> Any:
        """What draws."""
        return self.measurement or self.link

    def samples(self, n: int) -> list[Hashable]:
        """The cells of ``n`` releases on the first of the neighbours."""
        return self.draws(n) if self.draws else [self.cell(self.released, self.pair[0]) for _ in range(n)]


def check_specimen(specimen: Specimen) -> None:
    """A release is possible, the declared law is the enumerated one, and the map holds, but not idly."""
    law = specimen.law(specimen.pair[0])
    assert law.get(specimen.samples(1)[0], 0) > 0, "a release that the law excludes"
    laws = [_checked(specimen, value) for value in specimen.pair]
    claim = specimen.claimed(specimen.released)
    assert within(specimen.released.output_measure, *laws, claim), "neighbours lose more than the map says"
    assert not within(specimen.released.output_measure, *laws, part(claim, specimen.share)), "an idle pair"


def _checked(specimen: Specimen, value: Any) -> Law:
    """The declared law, which has more digits, after it was compared with the enumerated one; this where none is."""
    law = specimen.law(value)
    if not isinstance(specimen.released, tk.Measurement) or specimen.released.declared.law is None:
        return law
    declared = specimen.released.distribution(value)
    assert declared.keys() == law.keys()
    assert max(abs(float(declared[outcome]) - float(p)) for outcome, p in law.items()) < 1e-9, "another law"
    return declared  # type: ignore[no-any-return]


def part(claim: Any, share: float) -> Any:
    """The claim times ``share``: a number, a pair of epsilon and delta, or a curve."""
    if isinstance(claim, tuple):
        return tuple(number * share for number in claim)
    if isinstance(claim, tk.PrivacyCurve):
        return SimpleNamespace(delta=lambda epsilon: share * claim.delta(epsilon))
    return claim * share
