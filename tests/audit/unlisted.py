"""The black-box auditor on pairs of tables where nobody lists the keys: ``python -m tests.audit.unlisted [SAMPLES]``.

Six faults are planted, each on a pair of tables at which enumeration refutes it, and the library's own mechanism is
audited beside each. Three faults are claims of a delta that is too small, about the library's releases. Two are
mechanisms whose slots depend on the data. The last, slots that no dummies fill up, exceeds no (epsilon, delta): what it
breaks is the strict claim, that releases are concentrated but for an event of probability delta. So what is audited
there is the law given that this event does not happen: that the stop symbol beats all slots that one table alone has.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import opendp_topk as tk
from opendp_topk.sampling.samplers import unlisted as own
from tests.oracles import unlisted
from tests.oracles.unlisted import Counts, Setting

MAX, ZCDP = tk.Approximate(tk.MaxDivergence()), tk.Approximate(tk.ZeroConcentratedDivergence())
SAMPLES, CONFIDENCE = 10**6, 1 - 1e-6
NONE = "none: the library's mechanism"
Batches = Callable[..., list[Any]]
Pair = tuple[Counts, Counts]
Slots = tuple[Sequence[int | None], Sequence[float]]


@dataclass(frozen=True)
class Case:
    """A fault, a pair of tables at which it shows, what is claimed of releases on them, and who releases."""

    fault: str
    pair: Pair
    claim: tuple[float, float]
    releases: Batches
    strict: bool = False

    @property
    def claimed(self) -> Any:
        """What an estimate may contradict."""
        return self.claim[0] if self.strict else self.claim

    def audit(self, samples: int) -> tk.audit.Estimate:
        """What samples prove: of epsilon at the delta that is claimed, or of the rho of the strict claim."""
        options: dict[str, Any] = {"samples": samples, "confidence": CONFIDENCE, "batched": True}
        options |= {"measure": ZCDP.measure} if self.strict else {"measure": MAX, "delta": self.claim[1]}
        return tk.audit.estimate(self.releases, *self.pair, **options)


def measurement(setting: Setting, most: int, measure: tk.Measure = MAX) -> tk.Measurement:
    space = tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=most)
    options = {"scale": setting.tau} | {name: getattr(setting, name) for name in ("k", "limit", "threshold")}
    return space >> tk.then_unknown_domain_top_k(measure, **options)


def keyed(h: Counts) -> dict[int, int]:
    return {key: count for key, count in enumerate(h) if count}


def of_library(setting: Setting) -> Batches:
    """Releases of the library's mechanism."""
    link = measurement(setting, setting.limit)
    return lambda h, n: list(tk.make_repeat(link, times=n)(keyed(h)))


def of_slots(setting: Setting) -> Batches:
    """Releases of the mechanism of the definition, with the slots of the setting."""

    def releases(h: Counts, n: int) -> list[Any]:
        names, scores = setting.slots(h)
        drawn = ranked(setting, [*scores, setting.threshold], min(setting.k, len(scores) + 1), n)
        return [up_to_stop([*names, None], row) for row in drawn]

    return releases


def given_the_stop(setting: Setting, pair: Pair, slots: Callable[[Counts], Slots]) -> Batches:
    """Releases on one table given that the stop symbol beats all slots that only this one of the two has."""

    def releases(h: Counts, n: int) -> list[Any]:
        (names, scores), theirs = slots(h), slots(pair[h == pair[0]])[0]
        foreign = set(apart(names, theirs))
        found: list[Any] = []
        while len(found) < n:
            for row in ranked(setting, [*scores, setting.threshold], len(scores) + 1, n):
                if foreign.isdisjoint(row[: row.index(len(scores))]):
                    found.append(up_to_stop([*names, None], row[: setting.k]))
        return found[:n]

    return releases


def apart(names: Sequence[int | None], theirs: Sequence[int | None]) -> Iterator[int]:
    """The places of the slots that the other table has not; a dummy is the same as a dummy there."""
    left = list(theirs)
    for place, name in enumerate(names):
        if name in left:
            left.remove(name)
        else:
            yield place


def ranked(setting: Setting, scores: Sequence[float], k: int, n: int) -> list[list[int]]:
    """n rankings of the k best slots by noisy score, drawn exactly."""
    space = tk.VectorDomain(tk.AtomDomain(float), size=len(scores)), tk.RangeDistance()
    best = space >> tk.then_report_noisy_top_k(tk.MaxDivergence(), k=k, scale=setting.tau, noise=tk.noise.Gumbel())
    return list(tk.make_repeat(best, times=n)([float(score) for score in scores]).tolist())


def up_to_stop(names: Sequence[int | None], row: Sequence[int]) -> tuple[int, ...]:
    found: list[int] = []
    for place in row:
        name = names[place]
        if name is None:
            break
        found.append(name)
    return tuple(found)


def slots_of_library(setting: Setting) -> Callable[[Counts], Slots]:
    def slots(h: Counts) -> Slots:
        found = own.build_slots(keyed(h), setting.limit, Fraction(setting.threshold))
        scores = [float(value) / found.unit for value in found.values[:-1].tolist()]
        return [*found.keys, *[None] * (len(scores) - len(found.keys))], scores

    return slots


def cases() -> Iterator[Case]:
    """On each pair the library's mechanism, and then what is planted there."""
    yield from of_claims(Setting("Gumbel", 1, 3, 1.0, 7.0), ((0, 0, 0), (1, 1, 1)))
    four = Setting("Gumbel", 1, 3, 1.0, 4.0)
    by_order, by_limit = replace(four, order_by_data=True), replace(four, limit_of_data=True)
    yield from of_data("ties in an order of the data", by_order, ((2, 2, 2, 2, 2, 2, 0), (2, 2, 2, 2, 2, 2, 1)))
    yield from of_data("K read from the data", by_limit, ((3, 3, 3, 3, 0), (3, 3, 3, 3, 1)))
    yield from of_dummies(Setting("Gumbel", 2, 3, 2.0, 0.5), ((1, 0, 0), (1, 1, 1)))


def of_claims(setting: Setting, pair: Pair) -> Iterator[Case]:
    """Claims of a delta, for users with as many keys as take part, that forget something."""
    (epsilon, delta), lead = measurement(setting, setting.limit).map(1), (setting.threshold - 1) / setting.tau
    forgetful = {
        NONE: delta,
        "delta without the +1": unlisted.delta("Gumbel", setting.limit, lead + 1 / setting.tau),
        "n - 1 slots": unlisted.delta("Gumbel", setting.limit - 1, lead),
        "min(Δ, K) taken as 1": unlisted.delta("Gumbel", 1, lead),
    }
    for fault, claimed in forgetful.items():
        yield Case(fault, pair, (epsilon, claimed), of_library(setting))


def of_data(fault: str, planted: Setting, pair: Pair) -> Iterator[Case]:
    """Slots that depend on the data, for users with one key each."""
    claim = measurement(planted, 1).map(1)
    yield Case(NONE, pair, claim, of_library(planted))
    yield Case(fault, pair, claim, of_slots(planted))


def of_dummies(setting: Setting, pair: Pair) -> Iterator[Case]:
    """The strict claim, with and without slots that fill up."""
    claim, bare = measurement(setting, setting.limit, ZCDP).map(1), replace(setting, dummies=False)
    yield Case(NONE, pair, claim, given_the_stop(setting, pair, slots_of_library(setting)), strict=True)
    yield Case("no dummies", pair, claim, given_the_stop(bare, pair, bare.slots), strict=True)


def main(arguments: list[str]) -> None:
    samples = int(arguments[0]) if arguments else SAMPLES
    print(f"{samples:,} samples on each table, confidence {CONFIDENCE}; epsilon is bounded at the delta of the claim\n")
    print("| fault | counts by key | claimed | at least | refuted |\n|---|---|---|--:|---|")
    for case in cases():
        found = case.audit(samples)
        tables = " and ".join(str(h) for h in case.pair)
        claimed = f"{'rho' if case.strict else 'epsilon'} {case.claim[0]:.4g}, delta {case.claim[1]:.4g}"
        verdict = "yes" if found.contradicts(case.claimed) else "no"
        print(f"| {case.fault} | {tables} | {claimed} | {found.lower:.4g} | {verdict} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
