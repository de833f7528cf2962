"""Time and memory of the curves of every constructor that takes a privacy profile, at parameters of all sizes.

``python -m tests.spaces.curves.extremes [WORD ...]`` tries all, or those whose name contains one of the words. Each
curve is made and asked in a process of its own, whose memory and time the system limits.
"""

import functools
import itertools
import math
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import opendp_topk as tk
from opendp_topk.errors import TopKError

PROFILE = tk.PrivacyProfile()
SECONDS, MEGABYTES = 2, 300  # the seconds are those of a machine that takes STANDARD of them for the sums of _pace
STANDARD = 0.25
SURE = 3e-9  # a threshold may use up more of its delta, which is less than this, at a larger scale
EPSILONS = (0.0, 1e-9, 0.5, 1.0, 30.0, 1e6, 1e300)
DELTAS = (0.0, 1e-12, 1e-6, 0.5)
BUDGET = (1.0, 1e-8)

TINY, HUGE = Fraction(1, 10**400), Fraction(10**400)
SCALES: tuple[Any, ...] = (TINY, 5e-324, 1e-300, 1e-30, 1e-9, 1e-4, 1e-3, 0.01, 0.05, 0.3, 1.0)
# From 1024 to less than three times that the curves of Gaussian noise on integers, which are those of their rho from
# there on, are above that at 1024: no scale between is tried.
SCALES += (Fraction(10, 3), 10.0, 50.0, 300.0, 1000.0, 3000.0, 1e5, 1e9, 1e30, 1e300, 1e308, HUGE)
DISTANCES = (1, 2, 7, 1000, 10**6, 10**18)
COUNTS = (1, 2, 3, 5, 12, 24, 100, 10**4, 10**6)

INTEGERS = tk.VectorDomain(tk.AtomDomain(int))
SIZED = tk.VectorDomain(tk.AtomDomain(int), size=20)
ONE_WAY = tk.LInfDistance(monotonic=True)
ITEMS = tk.FrameDomain("user", "item"), tk.UserDistance()

Make = Callable[[Any, int], Any]
"""From a scale and a number of winners, changes or repetitions to a measurement."""


def _scored(make: Any, metric: tk.Metric = ONE_WAY, domain: Any = INTEGERS, **options: Any) -> Make:
    return lambda scale, count: make(domain, metric, PROFILE, scale=scale, **options)


def _winners(make: Any, metric: tk.Metric = ONE_WAY, domain: Any = INTEGERS, **options: Any) -> Make:
    return lambda scale, count: make(domain, metric, PROFILE, scale=scale, k=count, **options)


def _changed(make: Any, domain: Any = INTEGERS, **options: Any) -> Make:
    return lambda scale, count: make(domain, tk.L01InfDistance(changes=count), PROFILE, scale=scale, **options)


def _keyed(make: Any, **options: Any) -> Make:
    def built(scale: Any, count: int) -> Any:
        return make(tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=count), PROFILE, scale=scale, **options)

    return built


def _repeated(inner: Make) -> Make:
    return lambda scale, count: tk.make_repeat(inner(scale, 2), times=count)


def _together(*inner: Make) -> Make:
    return lambda scale, count: tk.make_composition([one(scale, count) for one in inner])


def _partitions(scale: Any, count: int) -> Any:
    options = {"epsilon": 1 / Fraction(scale), "delta": 1e-9}
    return tk.make_partition_selection(
        tk.KeyedCountsDomain(), tk.KeyedCountDistance(max_items=count), PROFILE, **options
    )


def _runs(scale: Any, count: int) -> Any:
    run = _scored(FLIP)(scale, 1) >> (lambda index: (0.0, index))
    return tk.make_private_selection(run, repetitions=tk.Poisson(mean=count))


def _groups(scale: Any, count: int) -> Any:
    domain = tk.FrameDomain("user", "item", group="group"), tk.UserDistance()
    one = ITEMS >> tk.then_count_by_item(candidates=["a", "b"]) >> tk.then_report_noisy_top_k(PROFILE, k=1, scale=scale)
    return tk.make_partition_by(*domain, PROFILE, measurements=dict.fromkeys(range(9), one), max_groups=count)


def _noises(name: str, make: Any, wrap: Callable[..., Make], **options: Any) -> dict[str, Make]:
    kinds = tk.noise.Gumbel(), tk.noise.Exponential(), tk.noise.Laplace(), tk.noise.Logistic(), tk.noise.HalfLogistic()
    return {f"{name} {noise.name}": wrap(make, noise=noise, **options) for noise in kinds}


QUARTERS = [Fraction(n, 4) for n in (1, 2, 3)]
TOP, FLIP = tk.make_report_noisy_top_k, tk.make_permute_and_flip
MAKERS: dict[str, Make] = {
    "laplace": _scored(tk.make_laplace, tk.L1Distance()),
    "laplace changes": _changed(tk.make_laplace, SIZED),
    "gaussian": _scored(tk.make_gaussian, tk.L2Distance()),
    "gaussian changes": _changed(tk.make_gaussian, SIZED),
    "histogram laplace": _changed(tk.make_noisy_histogram, gaussian=False),
    "histogram gaussian": _changed(tk.make_noisy_histogram, gaussian=True),
    "exponential mechanism": _scored(tk.make_exponential_mechanism),
    "permute and flip": _scored(FLIP),
    "top k": _winners(TOP),
    "top k set": _winners(TOP, domain=SIZED, release="set"),
    **_noises("lipschitz", tk.make_report_noisy_top_k, _winners),
    **_noises("lipschitz changes", tk.make_report_noisy_top_k, _changed, k=3),
    "canonical": _winners(tk.make_canonical_top_k, domain=SIZED),
    "canonical flip": _winners(tk.make_canonical_top_k, domain=SIZED, noise=tk.noise.Exponential()),
    "joint": _winners(tk.make_joint_top_k, domain=SIZED),
    "peeled": _winners(tk.make_peeled_top_k, mechanism="exponential"),
    "peeled flip": _winners(tk.make_peeled_top_k, mechanism="permute_and_flip"),
    **_noises("gaps", tk.make_noisy_top_k_with_gaps, _winners),
    "normalised": _winners(tk.make_normalised_top_k, tk.PerCandidateDistance(bounds=[1.0] * 20), SIZED),
    "above threshold": _winners(tk.make_above_threshold, threshold=5),
    "quantiles": _scored(tk.make_quantiles, tk.L1Distance(), SIZED, quantiles=QUARTERS),
    "select then count": _winners(tk.make_select_then_count),
    "select then count changes": _changed(tk.make_select_then_count, k=3),
    "by gap": _winners(tk.make_top_k_by_gap, domain=SIZED, delta=1e-9),
    "stable histogram": _keyed(tk.make_stable_histogram, delta=1e-9),
    "stable histogram gaussian": _keyed(tk.make_stable_histogram, delta=1e-9, gaussian=True),
    "unknown top k": _keyed(tk.make_unknown_domain_top_k, k=3, limit=50, delta=1e-9),
    "unknown counts": _keyed(tk.make_unknown_domain_counts, k=3, limit=50, delta=1e-9),
    "partition selection": _partitions,
    "weighted partitions": lambda scale, count: tk.make_weighted_partition_selection(
        *ITEMS, PROFILE, max_items=count, scale=scale, delta=1e-9
    ),
    "continual at once": _changed(tk.make_continual_top_k, steps=9, k=3, at_once=True),
    "repeat laplace": _repeated(_scored(tk.make_laplace, tk.L1Distance())),
    "repeat gaussian": _repeated(_scored(tk.make_gaussian, tk.L2Distance())),
    "repeat top k": _repeated(_winners(TOP)),
    "repeat flip": _repeated(_scored(FLIP)),
    "repeat threshold": _repeated(_winners(tk.make_above_threshold, threshold=5)),
    "repeat by gap": _repeated(_winners(tk.make_top_k_by_gap, domain=SIZED, delta=1e-9)),
    "top k and flip": _together(_winners(TOP), _scored(FLIP)),
    "top k and laplace": _together(_changed(TOP, k=3), _changed(tk.make_laplace)),
    "private selection": _runs,
    "partition by": _groups,
}


@dataclass(frozen=True)
class Case:
    """One curve: of which constructor, at which scale, number of what there are several of, and distance."""

    name: str
    scale: Any
    count: int
    d_in: int

    def look(self) -> list[float] | str:
        """Deltas and epsilons of the curve, or how the constructor refuses its arguments."""
        try:
            curve = MAKERS[self.name](self.scale, self.count).map(self.d_in)
        except TopKError as error:
            return str(error)
        PROFILE.at_most(curve, BUDGET)
        return [*map(curve.delta, EPSILONS), *map(curve.epsilon, DELTAS)]


def cases(name: str) -> Iterator[Case]:
    """All scales with all distances for two of what is counted, and with all counts at distance 1."""
    pairs = dict.fromkeys([*((2, d_in) for d_in in DISTANCES), *((count, 1) for count in COUNTS)])
    return (Case(name, scale, *pair) for pair in pairs for scale in SCALES)


@functools.cache
def _pace() -> float:
    """How many times as long this machine takes, at least 1."""
    start = time.process_time()
    sum(i * i for i in range(3 * 10**6))
    return max(1.0, (time.process_time() - start) / STANDARD)


@dataclass(frozen=True)
class Outcome:
    """What a process said of a case, how long it took in standard seconds, and how much memory beyond its parent's."""

    found: Any
    seconds: float
    megabytes: float


def tried(case: Case) -> Outcome:
    """The case in a process of its own, which may take a few times as much as a case should."""
    pace = _pace()
    read, write = os.pipe()
    reserved, before = (
        int(pages) * resource.getpagesize() for pages in Path("/proc/self/statm").read_text().split()[:2]
    )
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_AS, (reserved + (2 << 30),) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(5 * SECONDS * pace),) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            found = case.look()
        except BaseException:
            found = traceback.format_exc()
        os.write(write, repr(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read().decode()
    _, status, used = os.wait4(child, 0)
    found = f"process ended by {status}" if status else eval(told, {"inf": math.inf, "nan": math.nan})
    return Outcome(found, (used.ru_utime + used.ru_stime) / pace, max(used.ru_maxrss - before // 1024, 0) / 1024)


def _more(before: list[float], after: list[float], times: int) -> bool:
    """Whether a curve is anywhere above that at the scale before, but for ``times`` the threshold's delta."""
    sure = min(1.0, SURE * times) if after[len(EPSILONS) - 1] > 0 else 0
    kept = [True] * len(EPSILONS) + [delta >= sure for delta in DELTAS]
    return any(b > max(a, sure) for a, b, one in zip(before, after, kept, strict=True) if one)


def faults(name: str, among: Iterable[Case] = (), *, limits: float = 1) -> tuple[list[str], float, float]:
    """What is wrong with the curves of a constructor, and the worst time and memory."""
    wrong, seconds, megabytes, last = [], 0.0, 0.0, None
    Case(name, 7.0, 2, 1).look()  # what is loaded when it is asked for is no part of a curve
    for case in among or cases(name):
        outcome = tried(case)
        seconds, megabytes = max(seconds, outcome.seconds), max(megabytes, outcome.megabytes)
        if outcome.seconds > limits * SECONDS or outcome.megabytes > MEGABYTES:
            wrong.append(f"{case}: {outcome.seconds:.1f} s, {outcome.megabytes:.0f} MB")
        if isinstance(outcome.found, str):
            if "\n" in outcome.found or outcome.found.startswith("process"):
                wrong.append(f"{case}: {outcome.found}")
            continue
        deltas, epsilons = outcome.found[: len(EPSILONS)], outcome.found[len(EPSILONS) :]
        if any(b > a for values in (deltas, epsilons) for a, b in itertools.pairwise(values)):
            wrong.append(f"{case}: not monotone, {outcome.found}")
        here = case.name, case.count, case.d_in
        if last and last[0] == here and _more(last[1], outcome.found, case.d_in * case.count):
            wrong.append(f"{case}: more than at the scale before, {last[1]} {outcome.found}")
        last = here, outcome.found
    return wrong, seconds, megabytes


def main(words: list[str]) -> int:
    """Try the constructors that are asked for, and print a line for each."""
    count = 0
    for name in MAKERS:
        if words and not any(word in name for word in words):
            continue
        wrong, seconds, megabytes = faults(name)
        count += len(wrong)
        print(f"{name:28} {seconds:6.2f} s {megabytes:6.0f} MB {len(wrong):4} wrong", flush=True)
        for line in wrong:
            print("   ", line[:600], flush=True)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
