"""Catalogue of selection mechanisms: a table of described ones, and all others as found from their constructors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.measurement import Measurement
from ...core.partials import Partial, partial_constructor
from ...errors import NotDeclaredError, ParameterError, SpaceError
from ...errors.checks import Number
from ...measurements._listed import find_constructors, load_partial
from ...measurements._selection import MOST_JOINT_WINNERS
from ...measurements.report_noisy_top_k import default_noise, then_report_noisy_top_k
from ...numerics.arithmetic import to_fraction
from ...sampling.distributions.discrete import largest_range
from ...sampling.noises.exponential import Exponential
from ...sampling.noises.gumbel import Gumbel
from ...sampling.noises.noise import Noise
from ...sampling.noises.standard import STANDARD
from ...spaces.domains import AtomDomain, VectorDomain
from ...spaces.measures import MaxDivergence, Measure, PrivacyProfile, ZeroConcentratedDivergence
from ...spaces.metrics import LInfDistance

RELEASES = ("ranking", "set")

Chosen = Partial[Any, Any, Measurement]
Then = Callable[..., Chosen]
_MOST_FACTORS = 100_000  # factors of a falling factorial or a binomial, which takes two seconds at this limit


# proof-region: apart
def rank_error_bound(scale: Number, n_candidates: int, alpha: Any, *, gaussian: bool) -> float:
    """Return a bound on the distance of the count with the t-th largest noisy value from the t-th largest count.

    It is valid for all t at once with probability at least 1 - alpha.
    """
    return largest_range(to_fraction(scale), n_candidates, alpha, gaussian=gaussian)  # [apart]


# end-proof-region: apart


@dataclass(frozen=True)
class Mechanism:
    """A mechanism that selects k of the scores.

    ``words`` describes it, with parameters of the measurement in braces. ``constructor`` is a partial constructor, or
    the name of its file, which is loaded on first use. It is called with k, the scale, the release and ``options``.
    ``most`` is the largest k; None if k is unlimited. ``counted`` is the file of the constructor that also releases
    noisy counts of the winners; None if there is none.

    ``ranked``: the accuracy theorem bounds the error at every rank, not only that of the worst winner.
    ``numbered``: the accuracy theorem needs the number of all possible releases.
    ``led``: each winner's lead over the next is released with it.
    ``few``: the mechanism adds noise to all counts and takes the largest. It needs a bound on how many counts one
    person changes.

    ``by_measure``: the noise depends on the measure, unless the option ``noise`` is given.
    """

    name: str
    releases: tuple[str, ...]
    words: str
    constructor: str | Then
    options: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None
    counted: str | None = None
    ranked: bool = True
    numbered: bool = False
    led: bool = False
    few: bool = False
    by_measure: bool = False

    @property
    def loaded_constructor(self) -> Then:
        """The partial constructor, loaded if it is given by its file."""
        return load_partial(self.constructor) if isinstance(self.constructor, str) else self.constructor

    def release_obstacle(
        self, k: int, n_candidates: int, release: str, counts: bool = False, few: bool = False
    ) -> str | None:
        """Return what to change, as for a command, so that the mechanism can make this release; None if it can.

        ``few`` is True if the scores have a bound on how many of them one person changes.
        """
        if self.most is not None and k > self.most:
            return f"use --k {self.most}"
        if self.led and k >= n_candidates:
            return "use a --k below the number of candidates"
        if self.few and not few:
            return "give --max-items, the number of items of a user that count"
        if release not in self.releases:
            return f"use --release {self.releases[0]}"
        return "omit --counts" if counts and self.counted is None else None

    def build_partial(
        self, measure: Measure, k: int, scale: float, release: str, counts: bool = False, curve: bool = False
    ) -> Chosen:
        """Return the measurement as a partial, which still lacks the space.

        For its ``curve``, it is under ``PrivacyProfile()``, and has the releases of the one under ``measure``.
        """
        then = load_partial(self.counted) if counts and self.counted is not None else self.loaded_constructor
        options = {"noise": default_noise(measure)} if curve and self.by_measure else self.options
        asked, accepted = {"k": k, "scale": scale, "release": release, **options}, inspect.signature(then).parameters
        given = {name: value for name, value in asked.items() if name in accepted}
        return then(PrivacyProfile() if curve else measure, **given)

    def accuracy_bound(
        self, measurement: Measurement, k: int, n_candidates: int, release: str, alpha: Any
    ) -> float | None:
        """Return the bound of the accuracy theorem; None if counting the possible releases takes too long."""
        if self.few:
            known = measurement.parameters
            return rank_error_bound(known["scale"], n_candidates, alpha, gaussian=known["gaussian"])
        factors = k if release == "ranking" else min(k, n_candidates - k)
        if self.numbered and factors > _MOST_FACTORS:
            return None
        return measurement.accuracy(n_candidates, alpha)


_SUMS = "independent {noise} noise on each count of distinct users; the k largest sums win"
_SETS = "one choice among all sets of k, by the counts next to the boundary of the set, with {noise} noise"
_LEADS = f"{_SUMS}, and each winner's lead over the next is released"
_PEELS = "k choices of one item, each among the remaining items, by {choice}"
_ODDS = "one choice, with probabilities proportional to exp(count / scale)"
_FLIP = "one choice: the largest of the counts with independent exponential noise"
_JOINT = "one choice among all rankings, by their largest shortfall at any rank"
_ALL = "independent discrete {noise} noise on the count of every candidate; the k largest are taken"
_SET = RELEASES[1:]  # all kinds except rankings


def _one_shot_mechanism(noise: Noise) -> Mechanism:
    """Return the row of one-shot selection with a noise, named after the noise."""
    name = f"report_noisy_top_k_{noise.words.lower().replace('-', '_')}"
    return Mechanism(name, RELEASES, _SUMS, "report_noisy_top_k", {"noise": noise})


def _histogram_mechanism(noise: str) -> Mechanism:
    """Return the row of noise on all counts, named after the noise."""
    option, words = {"gaussian": noise == "Gaussian"}, _ALL.format(noise=noise)
    stem = "noisy_histogram"
    return Mechanism(f"histogram_{noise.lower()}", RELEASES, words, stem, option, counted=stem, few=True)


def _canonical_mechanism(name: str, noise: Noise) -> Mechanism:
    """Return the row of one choice among all sets with a noise."""
    return Mechanism(name, _SET, _SETS, "canonical_top_k", {"noise": noise}, ranked=False, numbered=True)


# Rows with equal error bounds keep this order. Before each choice with Gumbel noise is the one with exponential noise,
# which dominates it: at the same scale its winner is stochastically better.
DESCRIBED = (
    Mechanism(
        "report_noisy_top_k", RELEASES, _SUMS, then_report_noisy_top_k, counted="select_then_count", by_measure=True
    ),
    _canonical_mechanism("canonical_exponential", Exponential()),
    _canonical_mechanism("canonical", Gumbel()),
    Mechanism("permute_and_flip", RELEASES, _FLIP, "permute_and_flip", most=1),
    Mechanism("exponential_mechanism", RELEASES, _ODDS, "exponential_mechanism", most=1),
    Mechanism("joint", RELEASES, _JOINT, "joint_top_k", most=MOST_JOINT_WINNERS, numbered=True),
    Mechanism("peeled_permute_and_flip", RELEASES[:1], _PEELS, "peeled_top_k", {"mechanism": "permute_and_flip"}),
    Mechanism("peeled_exponential", RELEASES[:1], _PEELS, "peeled_top_k", {"mechanism": "exponential"}),
    Mechanism("noisy_top_k_with_gaps", RELEASES[:1], _LEADS, "noisy_top_k_with_gaps", led=True, by_measure=True),
    _histogram_mechanism("Laplace"),
    _histogram_mechanism("Gaussian"),
    *map(_one_shot_mechanism, sorted(STANDARD, key=lambda noise: not noise.is_memoryless)),
)
# A constructor that is not in the table is tried on four candidates, which are enough to show its kinds of releases.
_COUNTS = VectorDomain(AtomDomain(int), size=4), LInfDistance(monotonic=True)
_ASKED: Mapping[str, Any] = {"k": 2, "scale": 1.0, "release": "ranking"}


def discover_mechanism(make: Callable[..., Measurement]) -> Mechanism | None:
    """Return the row of a constructor that is not in the table, from its signature, first line and distribution.

    Return None if the command cannot offer it: it needs more than k, a scale and a kind of release, does not accept
    counts or one of ``MaxDivergence()`` and ``ZeroConcentratedDivergence()``, declares no output distribution or no
    accuracy, or does not release items.
    """
    own = [p for p in inspect.signature(make).parameters.values() if p.kind is p.KEYWORD_ONLY]
    options = {p.name: _ASKED[p.name] for p in own if p.name in _ASKED}
    needed = {p.name for p in own if p.default is p.empty}
    choices = _possible_choices(make, options) if needed <= options.keys() else None
    if not choices:
        return None
    one = len(choices[0]) == 1
    sets = all(list(choice) == sorted(choice) for choice in choices)
    releases = RELEASES if one or "release" in options else _SET if sets else RELEASES[:1]
    said = (inspect.getdoc(make) or "").partition("\n")[0].rstrip(".").replace("{", "{{").replace("}", "}}")
    words, stem = said[:1].lower() + said[1:], make.__name__.removeprefix("make_")
    return Mechanism(
        stem, releases, words, partial_constructor(make), most=1 if one else None, ranked=False, numbered=True
    )


def _possible_choices(make: Callable[..., Measurement], options: Mapping[str, Any]) -> list[tuple[int, ...]] | None:
    """Return the possible releases of ``make(..., **options)`` on four candidates; None if unknown or not items."""
    try:
        built = [make(*_COUNTS, measure, **options) for measure in (MaxDivergence(), ZeroConcentratedDivergence())]
        built[0].accuracy(4)
        outcomes = [one if isinstance(one, tuple) else (one,) for one in built[0].distribution([1, 0, 0, 0])]
    except (ParameterError, SpaceError, NotDeclaredError):
        return None
    k = options.get("k", 1)
    return outcomes if all(len(set(one) & {0, 1, 2, 3}) == len(one) == k for one in outcomes) else None


def _discovered_mechanisms() -> Iterator[Mechanism]:
    described = {name for row in DESCRIBED for name in (row.loaded_constructor.__name__, f"then_{row.counted}")}
    for name, make in find_constructors().items():
        row = None if name.replace("make_", "then_", 1) in described else discover_mechanism(make)
        if row is not None:
            yield row


@functools.cache
def all_mechanisms() -> tuple[Mechanism, ...]:
    """Return all rows; the first call loads every constructor."""
    return (*DESCRIBED, *_discovered_mechanisms())


def capable_mechanisms(
    k: int, n_candidates: int, release: str, counts: bool = False, few: bool = False
) -> list[Mechanism]:
    """Return the mechanisms that can make this release, in table order; ``few`` as in ``release_obstacle``."""
    return [row for row in all_mechanisms() if row.release_obstacle(k, n_candidates, release, counts, few) is None]


HISTOGRAMS = tuple(row for row in DESCRIBED if row.few)
SET_CHOICES = tuple(row for row in DESCRIBED if row.constructor == "canonical_top_k")
ONE_SHOT = DESCRIBED[0]


def default_mechanisms(release: str, *, counts: bool, few: bool) -> tuple[Mechanism, ...]:
    """Return the mechanisms from which the default is chosen by error bounds; ``few`` as in ``release_obstacle``."""
    sets = SET_CHOICES if release == "set" and not counts else ()
    return ONE_SHOT, *sets, *(HISTOGRAMS if few else ())
