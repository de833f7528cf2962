"""Releases, digit for digit: the race in Python against the race that is proved, which runs in the proof assistant.

No result depends on a seed: each release is certified for the digits that it happened to have.
"""

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from opendp_topk.sampling.noises.noise import Noise
from opendp_topk.sampling.noises.standard import STANDARD
from opendp_topk.sampling.samplers import forecast, quantile_tables, race, scan, settle
from opendp_topk.sampling.samplers import settle as short
from opendp_topk.sampling.samplers.entropy import Entropy, Indices
from opendp_topk.sampling.samplers.upper_tail import BLOCK
from tests.machine.certified import Recorder

from ..samplers.adversaries import CASES, canonical
from ..samplers.paths import SCANNED, up_to
from ..samplers.streams import Streams
from . import certified
from .certified import Known

ALIKE = "0110" * 40
P_VALUE = 1e-9
"""The odds at which survivors of a right race are refused."""


def recorded(values: np.ndarray, noise: object, k: int, streams: Streams, ordered: bool = True) -> certified.Release:
    return certified.recorded(values, Fraction(1), noise, k, sign=1, ordered=ordered, entropy=streams)


@pytest.mark.slow
def test_each_release_is_the_only_one_possible(built: Path) -> None:
    """26 made up, two of them on blocks of scores, 12 on users' shapes, and 16 with adverse digits and scores."""
    releases = certified.made_up(51)[::2] + certified.users()
    releases.append(recorded(np.zeros(2, dtype=np.int64), STANDARD[0], 1, Streams(0, dict.fromkeys((0, 1), ALIKE))))
    assert certified.survivors_p_value(releases) > P_VALUE
    rng = random.Random()
    for place, adverse in enumerate(CASES):
        case, noise = adverse(rng), STANDARD[place % 5]
        releases.append(
            certified.recorded(
                canonical(case.scores), case.scale, noise, rng.randrange(1, len(case.scores) + 1),
                sign=rng.choice((1, -1)), ordered=rng.random() < 0.5, entropy=Streams(place, case.leading),
            )
        )  # fmt: skip
    assert certified.refused(releases, built) == []
    drawn = [max(one.digits for one in release.known) for release in releases]
    assert 16 in drawn
    assert max(drawn) > len(ALIKE)
    assert any(not one.is_drawn for release in releases for one in release.known)


def repeated(release: certified.Release, streams: Streams, digits: int) -> certified.Release:
    """The release with the first digits of everybody, whatever the race had drawn."""
    n = len(release.scores)
    known = tuple(Known(streams.digits(i, digits), streams.digits(i, digits) + 1, digits) for i in range(n))
    return certified.Release(**{**vars(release), "known": known})


@pytest.mark.slow
def test_the_race_has_the_list_of_its_reference(built: Path) -> None:
    """Of the 60 one has more scores than are bounded one by one; ``python -m tests.machine --race N`` takes N."""
    same_lists(built, range(60))


def same_lists(folder: Path, cases: range) -> None:
    """Digits in, list out: the proved race reads 48 digits of everybody, or 600 where the first 160 are alike."""
    rng = random.Random()
    releases, sizes = [], [*range(1, 13), short.FEW + 1, 512, 513]
    for i in cases:
        size = sizes[i % 13] if i % 60 else rng.choice(sizes[13:])
        values = np.array([rng.randrange(rng.choice((2, 9))) for _ in range(size)], dtype=np.int64)
        alike = i % 50 == 7
        streams = Streams(i, dict.fromkeys(range(size if alike else 0), ALIKE))
        made = recorded(values, STANDARD[i % 5], rng.randrange(1, min(size, 12) + 1), streams, i % 2 > 0)
        releases.append(repeated(made, streams, 600 if alike else 48))
    assert certified.refused(releases, folder, coarse=False) == []


@pytest.mark.slow
def test_faults_are_found(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the comparison of digits, in an entry of a table, and in who is skipped; so are lists that were altered."""
    noise = STANDARD[0]
    tied = Streams(0, {0: ALIKE + "0", 1: ALIKE + "1"})
    releases = [recorded(np.zeros(2, dtype=np.int64), noise, 2, tied)]
    assert releases[0].released == (1, 0)
    assert max(one.digits for one in releases[0].known) > 128

    blocks = np.array([23] * BLOCK + [30] * 8, dtype=np.int64)
    with up_to(SCANNED):
        releases.append(recorded(blocks, noise, 5, Streams(1)))
    assert any(not one.is_drawn for one in releases[1].known)

    ahead = Streams(0, {0: "0" * 10 + "1", 1: "1" * 3 + "0"})
    releases.append(recorded(np.zeros(2, dtype=np.int64), noise, 1, ahead))
    assert certified.refused(releases, built) == []

    faulty = [certified.Release(**{**vars(releases[0]), "released": (0, 1)})]
    with monkeypatch.context() as patch:
        compare = settle._compare_contenders
        patch.setattr(settle, "_compare_contenders", lambda a, b: -compare(a, b))
        faulty.append(recorded(np.zeros(2, dtype=np.int64), noise, 2, Streams(0, {0: ALIKE + "0", 1: ALIKE + "1"})))
    with monkeypatch.context() as patch:
        levels = scan.Scan.required_levels
        patch.setattr(scan.Scan, "required_levels", lambda *arguments: np.minimum(levels(*arguments) + 5, 16))
        with up_to(SCANNED):
            faulty.append(recorded(blocks, noise, 5, Streams(1)))
    with monkeypatch.context() as patch:
        table = short.padded_table(noise).copy()
        table[:, ahead.digits(0, 16)] = 30.0
        patch.setattr(short, "padded_table", lambda _: table)
        faulty.append(recorded(np.zeros(2, dtype=np.int64), noise, 1, ahead_again(ahead)))
    assert certified.refused(faulty, built) == [0, 1, 2, 3]


@pytest.mark.slow
def test_what_nobody_can_know_certifies_nothing(built: Path) -> None:
    """No number is in an interval that is empty, or outside of the unit interval: of such numbers anything is true."""
    right = recorded(np.array([5, 9]), STANDARD[0], 1, Streams(3, {0: "0110" * 4, 1: "0110" * 4}))
    assert right.released == (1,)
    (digits, *_) = right.known[1]
    wrong = [
        certified.Release(**{**vars(right), "known": (right.known[0], known), "released": (0,)})
        for known in (Known(0, 0, 16), Known(digits, digits, 16), Known(9, 7, 16), Known(-4, 0, 16), Known(-4, -1, 16))
    ]
    assert certified.refused([right], built) == []
    assert certified.refused(wrong, built, coarse=False) == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_survivors_that_never_are_have_the_wrong_law(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each list is what its digits say, so Coq accepts it; how many survive says that the digits are not fair."""
    scores = np.array([30] * 8 + [20] * (5 * BLOCK - 8), dtype=np.int64)
    fair = [certified.recorded(scores, Fraction(1), STANDARD[i % 5], 3, sign=1, ordered=True) for i in range(6)]
    assert certified.survivors_p_value(fair) > P_VALUE

    def nobody(levels: Indices, entropy: Entropy) -> Indices:
        return np.zeros(0, dtype=np.int64)

    monkeypatch.setattr(race, "draw_survivors", nobody)
    monkeypatch.setattr(forecast, "draw_survivors", nobody)
    unfair = [certified.recorded(scores, Fraction(1), STANDARD[i % 5], 3, sign=1, ordered=True) for i in range(6)]
    assert certified.refused(unfair, built) == []
    assert certified.survivors_p_value(unfair) < P_VALUE


def ahead_again(streams: Streams) -> Streams:
    return Streams(0, {i: format(streams.digits(i, 16), "016b") for i in range(2)})


def sampled() -> list[int]:
    """Where formulas of quantiles have their branches, both ends, and some by chance: others are computed alike."""
    ends = [p for n in (1, 4, 8, 15) for p in (2**n - 2, 2**n - 1, 2**n, 2**16 - 2**n - 1, 2**16 - 2**n)]
    rng = random.Random()
    return sorted({p for p in [*ends, *(rng.randrange(2**16) for _ in range(9))] if 0 <= p < 2**16})


def spread(noise: Noise, by_chance: int) -> list[int]:
    """The first and the last 256 prefixes, those beside whom an exponent or a sign changes, and some by chance."""
    entries, chosen = quantile_tables.quantile_table(noise), {*range(256), *range(2**16 - 256, 2**16)}
    for bounds in (entries.lower[: 2**16], entries.upper[: 2**16]):
        marks = np.where(np.isfinite(bounds), np.sign(bounds) * 5000 + np.frexp(bounds)[1], 0)
        (changes,) = np.nonzero(np.diff(marks))
        chosen |= {*changes.tolist(), *(changes + 1).tolist()}
    return sorted(chosen | {*random.Random().sample(range(2**16), by_chance)})


@pytest.mark.slow
def test_entries_of_tables_are_bounds(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each noise some 25 prefixes; ``python -m tests.machine --tables 1000`` takes some 1,600."""
    assert certified.wrong_entries({noise: sampled() for noise in STANDARD}, built) == []
    entries = quantile_tables.quantile_table(STANDARD[0])
    lower, upper = entries.lower.copy(), entries.upper.copy()
    lower[1000] += 2**-40
    upper[50_000] *= 1 - 2**-40
    monkeypatch.setattr(
        certified, "quantile_table", lambda _: quantile_tables.QuantileTable(lower, upper, entries.tail)
    )
    found = certified.wrong_entries({STANDARD[0]: [999, 1000, 50_000]}, built)
    assert found == [("Gumbel", 1000), ("Gumbel", 50_000)]


@pytest.mark.slow
def test_the_loss_of_a_race_that_runs(built: Path) -> None:
    """By the library's own tables, read to the first eight digits, with no hypothesis left; not by altered ones."""
    assert [certified.ends(noise, 8, built) for noise in STANDARD] == [""] * 5
    assert "Error" in certified.ends(STANDARD[0], 8, built, spoilt=True)


@pytest.mark.parametrize("noise", STANDARD, ids=lambda noise: noise.name)
def test_tables_are_narrow(noise: Noise) -> None:
    """As ``narrow`` of ``Tables.v`` asks, for all 16 digits: bounds of parts that are not adjacent are in order."""
    entries = quantile_tables.quantile_table(noise)
    lower, upper = entries.lower[: 2**16], entries.upper[: 2**16]
    assert (lower[1:-1] <= lower[2:]).all()
    assert (upper[:-2] < lower[2:]).all()


# What a recorder knows of uniform numbers: by their own digits, and by what a race skipped.


class Scripted(Entropy):
    """Candidate i begins with the digits of i, and goes on with those of 100 + i."""

    def draw_prefixes(self, index: Indices) -> np.ndarray:
        return index.astype(np.uint16)

    def draw_words(self, index: Indices) -> np.ndarray:
        return (index + 100).astype(np.uint64)


def test_what_is_known_grows_with_the_digits() -> None:
    recorder, one = Recorder(Scripted()), np.array([7])
    assert recorder.known(7) == Known(0, 1, 0)
    recorder.put_off(one, np.array([5]))
    assert recorder.known(7) == Known(0, 31, 5)  # of five ones first it has not all
    assert not recorder.known(7).is_drawn
    assert recorder.draw_prefixes(one).tolist() == [7]
    assert recorder.known(7) == Known(7, 8, 16)
    assert recorder.draw_words(one).tolist() == [107]
    assert recorder.known(7) == Known(7 * 2**64 + 107, 7 * 2**64 + 108, 80)
    assert recorder.known(7).is_drawn
    assert recorder.known(8) == Known(0, 1, 0)
    assert not recorder.known(8).is_drawn
