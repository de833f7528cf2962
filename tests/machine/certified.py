"""Recorded releases, certified by a proof assistant."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, gcd, lcm, log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from opendp_topk.errors import ProofError
from opendp_topk.numerics.arithmetic import as_mpq
from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.noises.standard import STANDARD
from opendp_topk.sampling.samplers import forecast, race, scan, upper_tail
from opendp_topk.sampling.samplers.entropy import SYSTEM, Entropy, Indices
from opendp_topk.sampling.samplers.quantile_tables import DIGITS, quantile_table
from opendp_topk.sampling.samplers.race import top_k
from opendp_topk.sampling.samplers.upper_tail import BLOCK

# A race whose digits are recorded: what was known of every candidate's uniform number once the winners were certain.
#
# Of a candidate that a race skips, only one fact is known: its uniform number begins with fewer ones than it would
# need. To record this, the functions that skip are replaced while a recorder is active; releases are not recorded.

_WORD = 64  # digits come in machine words


class Known(NamedTuple):
    """A uniform number between ``low / 2^digits`` and ``high / 2^digits``."""

    low: int
    high: int
    digits: int

    @property
    def is_drawn(self) -> bool:
        """Return whether digits of it were drawn, beyond a bound on its leading ones."""
        return self.high == self.low + 1 and self.digits > 0


class Recorder(Entropy):
    """An entropy source that forwards digits from another source, and records those of each candidate.

    Attributes:
        asked: For each level, how many uniforms were asked whether they begin with so many ones.
        survived: For each level, how many did.
    """

    def __init__(self, source: Entropy = SYSTEM) -> None:
        self._source = source
        self._drawn: dict[int, tuple[int, int]] = {}
        self._levels: dict[int, int] = {}
        self.asked: Counter[int] = Counter()
        self.survived: Counter[int] = Counter()

    def draw_prefixes(self, index: Indices) -> NDArray[np.uint16]:
        """Return the first 16 digits; if they are drawn again because a condition failed, the last ones count."""
        drawn = self._source.draw_prefixes(index)
        self.begins(index, drawn)
        return drawn

    def draw_words(self, index: Indices) -> NDArray[np.uint64]:
        """Return the next 64 digits."""
        drawn = self._source.draw_words(index)
        for i, word in zip(index.tolist(), drawn.tolist(), strict=True):
            digits, known = self._drawn[i]
            self._drawn[i] = digits << _WORD | word, known + _WORD
        return drawn

    def draw_auxiliary_words(self, n: int) -> NDArray[np.uint64]:
        """Return digits that belong to no candidate, and do not record them."""
        return self._source.draw_auxiliary_words(n)

    def begins(self, index: Indices, prefix: NDArray[np.uint16]) -> None:
        """Record the first 16 digits of these candidates."""
        self._drawn.update((i, (digits, DIGITS)) for i, digits in zip(index.tolist(), prefix.tolist(), strict=True))

    def put_off(self, candidates: Indices, levels: Indices) -> None:
        """Record that a candidate's uniform does not begin with so many ones, unless digits of it are drawn."""
        self._levels.update(zip(candidates.tolist(), levels.tolist(), strict=True))

    def counts(self, levels: Indices, position: Indices) -> None:
        """Record the survivors of blocks that are asked for these levels."""
        self.asked.update({level: BLOCK * many for level, many in Counter(levels.tolist()).items()})
        self.survived.update(levels[position // BLOCK].tolist())

    def known(self, i: int) -> Known:
        """Return what is known of candidate i's uniform number."""
        if i in self._drawn:
            digits, many = self._drawn[i]
            return Known(digits, digits + 1, many)
        level = self._levels.get(i)
        return Known(0, 1, 0) if level is None else Known(0, 2**level - 1, level)


@contextmanager
def watched(recorder: Recorder) -> Iterator[None]:
    """Record in ``recorder`` which candidates the races of this process skip, and which enter from the upper tail."""
    tail, skip, split, survivors, at_first = (
        scan.Scan.draw_tail_prefixes,
        race._race_tail_only,
        race._race_near_and_tail,
        race.draw_survivors,
        forecast.draw_survivors,
    )

    def watched_tail(self: scan.Scan, index: Indices, levels: Indices) -> scan.Drawn:
        drawn = tail(self, index, levels)
        recorder.begins(*drawn)
        return drawn

    def watched_skip(scanned: scan.Scan, batch: Indices, levels: Indices) -> None:
        recorder.put_off(_everybody(batch), np.repeat(levels, upper_tail.BLOCK))
        skip(scanned, batch, levels)

    def watched_split(scanned: scan.Scan, batch: Indices, near: NDArray[np.bool_], level: int, least: int) -> None:
        others = _everybody(batch)[~near.ravel()]
        recorder.put_off(others, np.full(len(others), level))
        split(scanned, batch, near, level, least)

    def watched_survivors(levels: Indices, entropy: Entropy) -> Indices:
        position = survivors(levels, entropy)
        recorder.counts(levels, position)
        return position

    def watched_at_first(levels: Indices, entropy: Entropy) -> Indices:
        recorder.put_off(_everybody(np.arange(len(levels))), np.repeat(levels, upper_tail.BLOCK))
        position = at_first(levels, entropy)
        recorder.counts(levels, position)
        return position

    watching: list[tuple[Any, str, Any, Any]] = [
        (scan.Scan, "draw_tail_prefixes", tail, watched_tail),
        (race, "_race_tail_only", skip, watched_skip),
        (race, "_race_near_and_tail", split, watched_split),
        (race, "draw_survivors", survivors, watched_survivors),
        (forecast, "draw_survivors", at_first, watched_at_first),
    ]
    try:
        for owner, name, _, new in watching:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, old, _ in watching:
            setattr(owner, name, old)


def _everybody(batch: Indices) -> Indices:
    return np.asarray((batch[:, None] * upper_tail.BLOCK + np.arange(upper_tail.BLOCK)).ravel())


# Releases of the race, certified one by one: given the digits that were drawn, no other release was possible.
#
# A race is run with digits of the operating system, which are recorded. The proof assistant Coq then computes with
# intervals which list is certain for every uniform number with these digits, and accepts the release if it is the same.
# This computation is proved correct in ``proofs/machine/Executable.v``; it shares no code, table or rounding with
# the race.

OPTIONS = ("-w", "-ambiguous-paths,-abstract-large-number", "-Q", ".", "Machine")
_COQ = 900  # seconds allowed for one file
_ROOM = 40  # binary digits of the computation beyond those of uniforms and scores
_TABLE = 64  # binary digits with which table entries are compared: entries have 53
_LONG = 50  # one release in so many is on a long vector
_KINDS = [  # number of scores, their exclusive upper end, scale, units
    (12, 6, Fraction(2), 1),
    (12, 1, Fraction(1), 1),
    (9, 2**60, Fraction(2**58), 1),
    (12, 1000, Fraction(1, 3), 0.1),
    (8, 5, Fraction(3) / 2**1074, 2.0**-1074),
    (40, 30, Fraction(5), 1),
    (7, 4, Fraction(1e307), 1e307),
]
_HEAD = """From Coq Require Import Reals List ZArith.
From Interval Require Import Specific_ops Specific_bigint Float_full.
From Machine Require Import Noises Executable.
Import ListNotations.
Module Floats := SpecificFloat BigIntRadix2.
Module Intervals := FloatIntervalFull Floats.
Module Run := Race Intervals.
Open Scope Z_scope.
"""


@dataclass(frozen=True)
class Release:
    """A release, what was known of each candidate's uniform number when it was made, and the recorder's counts."""

    noise: Noise
    scores: tuple[Fraction, ...]
    scale: Fraction
    sign: int
    k: int
    ordered: bool
    known: tuple[Known, ...]
    released: tuple[int, ...]
    asked: Counter[int] = field(default_factory=Counter)
    survived: Counter[int] = field(default_factory=Counter)


def recorded(
    values: NDArray[Any], scale: Fraction, noise: Noise, k: int, *, sign: int, ordered: bool, entropy: Entropy = SYSTEM
) -> Release:
    """Run one race and record its digits; the arguments are those of the race."""
    recorder = Recorder(entropy)
    with watched(recorder):
        released = top_k(values, scale, noise, k, sign=sign, ordered=ordered, entropy=recorder)
    known = tuple(recorder.known(i) for i in range(len(values)))
    scores = tuple(Fraction(value) for value in values.tolist())
    counts = recorder.asked, recorder.survived
    return Release(noise, scores, scale, sign, k, ordered, known, tuple(released.tolist()), *counts)


def survivors_p_value(releases: Iterable[Release]) -> float:
    """Return a bound on the odds of survivors as far from their binomial law, by Chernoff's bound on each level.

    That Coq accepts a release says that its list follows from its digits, not that these are uniform: a race in which
    nobody who was skipped ever survives has such lists as well.
    """
    asked: Counter[int] = Counter()
    survived: Counter[int] = Counter()
    for release in releases:
        asked.update(release.asked)
        survived.update(release.survived)
    odds = [2 * exp(-many * _divergence(survived[level] / many, 0.5**level)) for level, many in asked.items()]
    return min(1.0, len(odds) * min(odds, default=1.0))


def _divergence(share: float, p: float) -> float:
    """Return the Kullback-Leibler divergence of two coins."""
    return sum(x * log(x / y) for x, y in ((share, p), (1 - share, 1 - p)) if x > 0)


def made_up(n: int) -> list[Release]:
    """Return ``n`` releases on constructed scores: ties, close and far scores, subnormal ones, and long vectors.

    They cover all five noises, rankings and sets, the largest scores and the smallest.
    """
    return [_made_up(i) for i in range(n)]


def users(scale: Fraction = Fraction(4)) -> list[Release]:
    """Return releases on scores of the shapes that users have, rankings and sets, two of them on blocks of scores."""
    rng = np.random.default_rng()
    zipf = np.bincount(rng.zipf(1.3, 40_000).clip(max=2000), minlength=2000)  # users per word: most have none or one
    ranks = 10**6 // np.arange(1, 5 * BLOCK + 1)  # downloads per package, with long runs of ties
    shapes = {
        "counts of users per item": zipf,
        "the same, in random order": rng.permutation(zipf),
        "downloads": ranks,
        "downloads in random order": rng.permutation(ranks[: 2 * BLOCK + 100]),
        "everybody alike": np.full(300, 17),
        "yes or no": rng.integers(0, 2, 400),
        "stars of five, on average": np.round(rng.uniform(1, 5, 250), 2),
        "revenue in cents": np.round(rng.lognormal(5, 2, 500), 2),
        "temperatures": rng.normal(15, 8, 365),
        "votes of a party": np.array([51_234, 51_230, 48_002, 12_911, 12_910, 903, 12, 0]),
        "words of a page": np.bincount(rng.geometric(0.05, 800)),
        "balances, some below zero": rng.integers(-(10**9), 10**9, 300),
    }
    return [
        recorded(
            scores, scale, STANDARD[i % len(STANDARD)], min(1 + 3 * (i % 4), len(scores)), sign=1 - 2 * (i % 7 == 3),
            ordered=i % 3 > 0,
        )
        for i, scores in enumerate(shapes.values())
    ]  # fmt: skip


def _made_up(i: int) -> Release:
    kind, noise = i % len(_KINDS), STANDARD[(i + i // _LONG) % len(STANDARD)]
    size, spread, scale, unit = _KINDS[kind]
    if i % _LONG == 0:
        size, spread = (2 + 3 * (i % (2 * _LONG) == 0)) * BLOCK + 100, 40  # blocks in turn, or a forecast
    drawn = SYSTEM.draw_auxiliary_words(size) % np.uint64(spread)
    values = drawn.astype(np.int64) if unit == 1 else drawn.astype(np.float64) * unit
    turn = i // len(_KINDS)
    k = 1 + int(SYSTEM.draw_auxiliary_words(1)[0] % np.uint64(min(size, 10)))
    return recorded(values, scale, noise, k, sign=1 - 2 * (turn % 2), ordered=turn % 3 > 0)


def refused(releases: Sequence[Release], folder: Path, coarse: bool = True) -> list[int]:
    """Return which of the releases Coq does not accept as the only possible ones.

    Args:
        releases: The recorded releases.
        folder: The folder with the compiled sources.
        coarse: Whether Coq gets no more digits than it needs of candidates that are far behind. Default: True.

    Raises:
        ProofError: Coq accepts each release, and not the theorem about all of them.
    """
    cases = "".join(_case(f"case{i}", one, coarse) for i, one in enumerate(releases))
    listed = "; ".join(f"case{i}" for i in range(len(releases)))
    text = f"{_HEAD}{cases}Definition cases := [{listed}].\n"
    proof = "apply Run.all_agree. vm_cast_no_check (eq_refl true)."
    proved = f"Theorem certain : Forall Run.certain cases.\nProof. {proof} Qed.\n"
    if _coq(folder, "Certain", text + proved)[0] == 0:
        return []
    verdicts = _answers(folder, text, "map Run.agrees cases")
    wrong = [i for i, verdict in enumerate(re.findall(r"true|false", verdicts)) if verdict == "false"]
    if not wrong:
        raise ProofError("Coq accepts each release, and not their theorem: compile proofs/machine by hand")
    return wrong


def wrong_entries(asked: Mapping[Noise, Iterable[int]], folder: Path) -> list[tuple[str, int]]:
    """Return the prefixes of noises, among the given ones, whose quantile table entries are not proved to be bounds.

    Infinite entries claim nothing.
    """
    names, text, calls, proved = [], _HEAD, [], ""
    for noise, prefixes in asked.items():
        chosen, name = list(prefixes), _in_coq(noise)
        names += [(noise.name, p) for p in chosen]
        listed, unit = _entries(noise, chosen)
        calls.append(f"map (Run.entry_agrees (Floats.PtoP {_TABLE}) {name} {2**DIGITS} {_power(unit)}) {name}_table")
        text += f"Definition {name}_table : list Run.table_entry := [{listed}].\n"
        proved += (
            f"Theorem {name}_right : forallb {calls[-1][4:]} = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n"
            f"Definition {name}_bounds := Run.entries_are_right _ _ _ _ _ eq_refl eq_refl {name}_right.\n"
        )
    if _coq(folder, "Entries", text + proved)[0] == 0:
        return []
    verdicts = re.findall(r"true|false", _answers(folder, text, " ++ ".join(calls)))
    return [name for name, verdict in zip(names, verdicts, strict=True) if verdict == "false"]


def _entries(noise: Noise, prefixes: Sequence[int]) -> tuple[str, int]:
    """Return entries of the table as a list of integers, and the divisor that turns them into the entries."""
    entries = quantile_table(noise)
    bounds = [(entries.lower[p], entries.upper[p]) for p in prefixes]
    unit = lcm(*(Fraction(value).denominator for pair in bounds for value in pair if np.isfinite(value)))

    def told(value: float) -> str:
        if not np.isfinite(value):
            return "None"
        exact = Fraction(value)
        return f"Some ({exact.numerator} * {_power(unit // exact.denominator)})"

    listed = (f"({p}, ({told(low)}, {told(high)}))" for p, (low, high) in zip(prefixes, bounds, strict=True))
    return "; ".join(listed), unit


def ends(noise: Noise, digits: int, folder: Path, *, spoilt: bool = False) -> str:
    """Return what Coq says against the loss of its race on the library's table, read to so many digits, or "".

    The theorems are ``ranking_race_cost`` and ``set_race_cost`` of ``End.v`` without a hypothesis on the table, whose
    entries are accepted by intervals and compared. ``spoilt`` exchanges two bounds.
    """
    entries, width = quantile_table(noise), 2 ** (DIGITS - digits)
    low = [Fraction(entries.lower[m * width]) if m else Fraction(0) for m in range(2**digits)]
    last = 2**digits - 1
    high = [Fraction(entries.upper[(m + 1) * width - 1]) if m < last else Fraction(0) for m in range(2**digits)]
    if spoilt:
        low[2], low[3] = low[3], low[2]
    unit, name = lcm(*(one.denominator for one in low + high)), _in_coq(noise)
    both = (f"fun m => nth m [{'; '.join(str(int(one * unit)) for one in some)}] 0" for some in (low, high))
    text = (
        f"{_HEAD}From Machine Require Import EndRace Tables End.\n"
        "Module Fair := Honest Intervals.\nOpen Scope Z_scope.\n"
        + "".join(f"Definition {word} := {bounds}.\n" for word, bounds in zip(("low", "high"), both, strict=True))
        + f"Definition unit := {_power(unit)}.\nTheorem right : bounds {name} {digits} unit low high.\n"
        + f"Proof. apply (Fair.accepted_tables_have_bounds (Floats.PtoP {_TABLE + digits})); [reflexivity|]. "
        + "vm_cast_no_check (eq_refl true). Qed.\n"
        + f"Theorem fine : narrow {digits} low high = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n"
        + "".join(
            f"Definition {kind} P q d k a a' rho y := "
            f"{kind}_race_cost {name} {digits} unit low high P q d k a a' rho y right fine.\n"
            for kind in ("ranking", "set")
        )
    )
    code, said = _coq(folder, "Ends", text)
    return said if code else ""


def _answers(folder: Path, text: str, asked: str) -> str:
    code, said = _coq(folder, "Asked", f"{text}Eval vm_compute in ({asked}).\n")
    if code != 0:
        raise ProofError(f"Coq did not read what was recorded: {said[-500:]}")
    return said


def _in_coq(noise: Noise) -> str:
    """Return the name of a noise in ``Noises.v``, named after the module of its distribution in a race."""
    return f"{str(noise.race).rpartition('.')[2]}_noise"


def _power(number: int) -> str:
    """Return a power of two in a form that Coq reads fast."""
    return f"(2 ^ {number.bit_length() - 1})"


def _coq(folder: Path, name: str, text: str | None) -> tuple[int, str]:
    if text is not None:
        (folder / f"{name}.v").write_text(text, "utf-8")
    done = subprocess.run(
        ["coqc", *OPTIONS, f"{name}.v"], cwd=folder, capture_output=True, text=True, check=False, timeout=_COQ
    )
    return done.returncode, done.stdout + done.stderr


def _case(name: str, release: Release, coarse: bool) -> str:
    """Return the definition of a release: scores are integers; candidates far behind get no more digits than needed."""
    unit = Fraction(
        lcm(*(score.denominator for score in release.scores)), gcd(*(score.numerator for score in release.scores)) or 1
    )
    scores = [release.sign * int(score * unit) for score in release.scores]
    scale = release.scale * unit
    origin = min(scores[i] for i in release.released)
    ahead = [Fraction(score - origin) / scale for score in scores]
    least = min(_noise(release.noise, release.known[i], 0) + as_mpq(ahead[i]) for i in release.released)
    tops = {n: _noise(release.noise, Known(0, 2**n - 1, n), 1) for n in range(1, DIGITS + 1)}
    told, reach, chosen = [], 1, set(release.released)
    for i, known in enumerate(release.known):
        enough = (
            n
            for n, top in tops.items()
            if known.high << n <= (2**n - 1) << known.digits and as_mpq(ahead[i]) + top < least
        )
        level = next(enough, None) if coarse and i not in chosen else None
        told.append(known if level is None else Known(0, 2**level - 1, level))
        reach = reach if level else max(reach, int(abs(ahead[i])))
    used = max(one.digits for one in told)
    ends = {end: f"{name}_{i}" for i, end in enumerate({one.high << used - one.digits for one in told})}
    entries = "; ".join(
        f"({score}, ({one.low << used - one.digits}, {ends[one.high << used - one.digits]}))"
        for score, one in zip(scores, told, strict=True)
    )
    digits = f"(Floats.PtoP {used + _ROOM}) (Floats.PtoP {used + _ROOM + reach.bit_length()})"
    terms = (
        *(digits, _in_coq(release.noise), scale.numerator, scale.denominator, _power(2**used), f"({origin})"),
        *(f"{release.k}%nat", str(release.ordered).lower(), f"[{entries}]"),
        f"[{'; '.join(map(str, release.released))}]",
    )
    return (
        "".join(f"Definition {word} := {end}.\n" for end, word in ends.items())
        + f"Definition {name} : Run.release := Run.Build_release {' '.join(map(str, terms))}.\n"
    )


def _noise(noise: Noise, known: Known, end: int) -> mpq:
    """Return an end of the interval of possible noise. It affects only the speed of Coq, not what it accepts."""
    digits = known.high if end else known.low
    found = noise.quantile(mpq(digits, 1 << known.digits), known.digits + _ROOM)[end]
    return mpq(found) if abs(found) <= 2**_ROOM else mpq((2 * end - 1) << 2 * _ROOM)
