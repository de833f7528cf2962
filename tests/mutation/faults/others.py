"""Faults in samplers of subsets, peeling, gaps and integers, and in a declared law."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "modulo-bias",
        "a uniform integer is a word's remainder",
        "sampling/samplers/subsets.py",
        "        if value < n:\n            return value  # [reject-above]",
        "        return value % int(n)  # [reject-above]",
    ),
    Fault(
        "word-remainder",
        "positions are remainders of words that include an incomplete last multiple",
        "sampling/samplers/subsets.py",
        "        words = words[words <= np.uint64(2**_WORD - 1 - 2**_WORD % n)]  # [fair-words]\n",
        "",
    ),
    Fault(
        "word-remainder-of-few",
        "a few positions are remainders of words of which one more is taken than are fair",
        "sampling/samplers/subsets.py",
        "if word < 2**_WORD - 2**_WORD % n)",
        "if word <= 2**_WORD - 2**_WORD % n)",
    ),
    Fault(
        "step-of-another-row",
        "a walk's odds are weighed by bounds that were damped for the step before",
        "sampling/samplers/walks.py",
        "damped, outside = row.damped",
        "damped, outside = before.damped",
    ),
    Fault(
        "binomial-off-by-one",
        "a class of subsets is counted with one candidate too few",
        "sampling/samplers/subsets.py",
        "body = h + 1 + draw_uniform_subset(t - h - 2, k - 1 - h, entropy)",
        "body = h + 1 + draw_uniform_subset(max(t - h - 3, k - 1 - h), k - 1 - h, entropy)",
    ),
    Fault(
        "merged-classes",
        "classes that merge at gamma = 1 are counted as the first of them",
        "sampling/samplers/subsets.py",
        "    rest = gmpy2.bincoef(t - 2 - last, k - 2 - last) if last < k - 1 else 0\n",
        "    rest = gmpy2.bincoef(t - 2 - first, k - 2 - first) if first < k - 1 else 0\n",
    ),
    Fault(
        "canonical-rival",
        "the margin is taken from the k-th best score instead of the best one outside",
        "sampling/samplers/canonical.py",
        "best.values[k - 1 if capped else k]",
        "best.values[k - 1]",
    ),
    Fault(
        "canonical-clock-kept",
        "the clock of one canonical release goes on in the next",
        "sampling/samplers/canonical.py",
        "    while True:\n"
        "        rungs = first  # [as-at-first]\n"
        "        clock = ArrivalClock(int(proposals[-1]) * _power_of_two(lowest), entropy) if exponential else None "
        " # [clock]\n",
        "    clock = ArrivalClock(int(proposals[-1]) * _power_of_two(lowest), entropy) if exponential else None\n"
        "    while True:\n"
        "        rungs = first\n",
    ),
    Fault(
        "canonical-weight",
        "proposals are accepted without regard to how many subsets share a cell",
        "sampling/samplers/canonical.py",
        "_power_of_two(int(bits[i])) / n, clock",
        "_power_of_two(int(bits[i])), clock",
    ),
    Fault(
        "joint-repeats",
        "rankings of the joint mechanism are counted as if a candidate could win twice",
        "sampling/samplers/ceilings.py",
        "        return self.ceilings - np.arange(len(self.ceilings))  # [free]",
        "        return self.ceilings + 0  # [free]",
    ),
    Fault(
        "joint-paths",
        "weights of blocks with more members than likely are 4 per cent too small",
        "sampling/samplers/tilts.py",
        "rising = np.cumprod(z * np.maximum(b - more, 0) / (more + 1), axis=1)",
        "rising = np.cumprod(0.96 * z * np.maximum(b - more, 0) / (more + 1), axis=1)",
    ),
    Fault(
        "joint-acceptance",
        "proposals of the joint mechanism are accepted by their utility alone, whatever layer they came from",
        "sampling/samplers/joint.py",
        "ratio = weights[i] * chance / shares[i] * mpq(2) ** (exponent - first)  # [ratio]",
        "ratio = weights[i] * chance / shares[i] * mpq(2) ** exponent  # [ratio]",
    ),
    Fault(
        "peeling-one-noise",
        "peeling reuses the noise of its first race",
        "sampling/samplers/peeled.py",
        "    scores, left = values.copy(), np.arange(len(values))  # [all]\n",
        "    return race.top_k(values, scale, noise, k, sign=sign, ordered=True, entropy=entropy)\n"
        "    scores, left = values.copy(), np.arange(len(values))  # [all]\n",
    ),
    Fault(
        "wrong-neighbour",
        "every gap is the one to the runner-up",
        "sampling/samplers/gaps.py",
        "in zip(pairwise(exact), pairwise(near), pairwise(best), strict=True)",
        "in zip(*(zip(one, one[-1:] * len(one[:-1]), strict=False) for one in (exact, near, best)), strict=True)",
    ),
    Fault(
        "zero-twice",
        "discrete noise is a sign times a size, so that zero counts twice",
        "sampling/samplers/inversion.py",
        "sizes[0] >>= halved",
        "sizes[0] >>= 0",
    ),
    Fault(
        "gaussian-acceptance",
        "discrete Gaussian noise is accepted as if its proposals were centred at 0",
        "sampling/samplers/integers.py",
        "centre = scale * scale / t",
        "centre = mpq(0)",
    ),
    Fault(
        "law-with-replacement",
        "the declared law of a ranking does not take winners out",
        "sampling/distributions/one_shot.py",
        "        left.remove(winner)\n",
        "        left |= {winner}\n",
    ),
    Fault(
        "reach-of-one-side",
        "the reach of samples is that of an event which both sides show",
        "apps/audit/blackbox.py",
        "Counter[Hashable]({True: half}), Counter[Hashable]({False: half})",
        "Counter[Hashable]({True: half}), Counter[Hashable]({True: half})",
    ),
    Fault(
        "turns-in-one-order",
        "of two inputs whose calls are timed the same one is called first in each turn",
        "apps/audit/blackbox.py",
        "for coin in (SYSTEM.draw_auxiliary_words(count) & 1).tolist():  # [coin]",
        "for coin in (SYSTEM.draw_auxiliary_words(count) & 0).tolist():  # [coin]",
    ),
    Fault(
        "no-hit-to-spare",
        "bounds for trials of equal odds are taken for those of timed calls",
        "apps/audit/blackbox.py",
        "return clopper_pearson_upper(min(_event_frequency(counts, event) + spare, half), half, alpha / parts)  # "
        "[spare]",
        "return clopper_pearson_upper(_event_frequency(counts, event), half, alpha / parts)  # [spare]",
    ),
    Fault(
        "not-tested-is-passed",
        "a claim beyond the reach of the samples counts as not refuted",
        "apps/audit/blackbox.py",
        "return NOT_REFUTED if (claim[0] if isinstance(claim, tuple) else claim) < self.reach else NOT_TESTED",
        "return NOT_REFUTED",
    ),
    Fault(
        "event-of-the-other-input",
        "the counts of an event are told of the wrong inputs",
        "apps/audit/blackbox.py",
        "_event_frequency(tested[0], event),\n        _event_frequency(tested[1], event),\n        half,\n    )",
        "_event_frequency(tested[0], event), _event_frequency(tested[0], event), half)",
    ),
    Fault(
        "person-with-one-row",
        "a person leaves a table with one row of several",
        "apps/audit/neighbours.py",
        "frame.filter([other != person for other in persons])",
        "frame.filter([place != persons.index(person) for place in range(len(persons))])",
    ),
    Fault(
        "digits-left-are-none",
        "an enumeration that ends early counts the digits that it left as if there were none",
        "apps/audit/replay.py",
        "rest - sum(negative for negative, _, _ in paths)",
        "rest",
    ),
    Fault(
        "rest-of-the-neighbour-forgotten",
        "an event is held to be impossible where digits are left that may lead to it",
        "apps/audit/replay.py",
        "likely, rare = -delta, second.rest",
        "likely, rare = -delta, Fraction(0)",
    ),
    Fault(
        "coin-forgets-what-it-said",
        "a second comparison of the same float branches as if the first had not been made",
        "apps/audit/replay.py",
        "self._low, self._high = (self._low, count) if below else (count, self._high)",
        "pass",
    ),
)
