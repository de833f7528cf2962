"""Faults in samplers: releases follow another law than the proofs say."""

from __future__ import annotations

from ..fault import code

FAULTS = (
    code(
        "scale-halved",
        "the sampler of a selection gets half the scale",
        "measurements/_selection.py",
        "return engine.sample(scores, tau, k, sign, ordered)",
        "return engine.sample(scores, tau / 2, k, sign, ordered)",
    ),
    code(
        "other-noise",
        "exponential noise is drawn whatever the noise of the proof",
        "measurements/_one_shot.py",
        "race.top_k(scores, tau, noise, k, sign=sign, ordered=ordered),",
        "race.top_k(scores, tau, Exponential(), k, sign=sign, ordered=ordered),",
    ),
    code(
        "float-scores",
        "integer scores are rounded to float64 before they are subtracted",
        "samplers/advantages.py",
        "    if values.dtype == np.float64:\n        return np.asarray(values - reference)",
        "    if values.dtype != object:\n        return np.asarray(values.astype(np.float64) - np.float64(reference))",
    ),
    code(
        "ties-by-score",
        "candidates whose intervals overlap are put in the order of their true scores",
        "samplers/settle.py",
        "    clusters = _clusters(lower[order], upper[order], 0, k, ordered)\n    if clusters:",
        "    for start, end in _clusters(lower[order], upper[order], 0, k, ordered):\n"
        "        members = order[start:end].tolist()\n"
        "        members.sort(key=lambda m: -racers.scores.exact(int(racers.index[m]), racers.reference))\n"
        "        order[start:end] = members\n"
        "    clusters: list[tuple[int, int]] = []\n"
        "    if clusters:",
    ),
    code(
        "late-ties-by-score",
        "candidates whose first 64 digits leave them undecided are put in the order of their true scores",
        "samplers/settle.py",
        "    for level in range(MOST_LEVELS + 1):\n        at = Intervals(2 * _WORD << level)\n        noise",
        "    if lead:\n"
        "        return -1 if lead > 0 else 1\n"
        "    for level in range(MOST_LEVELS + 1):\n        at = Intervals(2 * _WORD << level)\n        noise",
    ),
    code(
        "prefix-is-all",
        "the 16 digits of a prefix are used as the whole uniform",
        "samplers/settle.py",
        "racers.words[where] = racers.entropy.words(racers.index[where])  # [more-digits]",
        "racers.words[where] = np.uint64(0)  # [more-digits]",
    ),
    code(
        "digits-repeat",
        "a candidate's first digits serve again as its later ones",
        "samplers/settle.py",
        "self._append(int(self._entropy.words(self._where)[0]))  # [extend]",
        "self._append(self._digits % 2**_WORD)  # [extend]",
    ),
    code(
        "shared-entropy",
        "all candidates share the digits of one uniform",
        "samplers/entropy.py",
        "return np.frombuffer(_read(2 * len(index)), dtype=np.uint16)",
        "return np.frombuffer(_read(2) * len(index), dtype=np.uint16)",
    ),
    code(
        "noisy-order",
        "a set is released in the order of the noisy scores",
        "samplers/race.py",
        "return winners if ordered else np.sort(winners)",
        "return winners",
    ),
    code(
        "inward-bound",
        "lower bounds of noisy scores, and with them the threshold, are not rounded outward",
        "samplers/advantages.py",
        "(below + lower) - ((np.abs(below) + np.abs(lower)) * _RELATIVE + _ABSOLUTE),",
        "below + lower,",
    ),
    code(
        "inward-cut",
        "the score below which nobody can win is rounded up",
        "samplers/advantages.py",
        "limit: Any = round_down(cut) if self.sign > 0 else round_up(cut)",
        "limit: Any = round_up(cut) if self.sign > 0 else round_down(cut)",
    ),
    code(
        "truncated-table",
        "the last entry of the quantile table is cut off at the last node",
        "samplers/tables.py",
        "upper=upper[np.searchsorted(nodes, prefix + 1)],",
        "upper=upper[np.searchsorted(nodes, np.minimum(prefix + 1, _PREFIXES - 1))],",
    ),
    code(
        "gumbel-mirrored",
        "Gumbel noise has the wrong sign",
        "noise.py",
        "# end-proof-region: noise\n",
        "_right, _right_floats = _gumbel, _gumbel_floats\n\n\n"
        "def _gumbel(u: mpq, precision: int) -> Interval:\n"
        "    return Intervals(precision).negative(_right(1 - u, precision))\n\n\n"
        "def _gumbel_floats(u: Pair, v: Pair) -> Pair:\n"
        "    lower, upper = _right_floats(v, u)\n"
        "    return -upper, -lower\n\n\n"
        "# end-proof-region: noise\n",
    ),
    code(
        "sign-ignored",
        "the largest scores are released where the smallest were asked for",
        "measurements/_selection.py",
        'sign = {"max": 1, "min": -1}[_check.choice("optimize", optimize, ("max", "min"))]',
        'sign = {"max": 1, "min": 1}[_check.choice("optimize", optimize, ("max", "min"))]',
    ),
    code(
        "tail-weight",
        "the number of candidates in a tail is drawn for another probability",
        "samplers/skips.py",
        "odds = gmpy2.mpz(2) ** level - 1",
        "odds = gmpy2.mpz(2) ** level",
    ),
    code(
        "tail-level",
        "candidates below the threshold are skipped with one leading digit too many",
        "samplers/scan.py",
        'gap, side="right") - 1  # [level]',
        'gap, side="right")  # [level]',
    ),
    code(
        "modulo-bias",
        "a uniform integer is a word's remainder",
        "samplers/subsets.py",
        "        if value < n:\n            return value  # [reject-above]",
        "        return value % int(n)  # [reject-above]",
    ),
    code(
        "word-remainder",
        "positions are remainders of words that include an incomplete last multiple",
        "samplers/subsets.py",
        "        words = words[words <= np.uint64(2**_WORD - 1 - 2**_WORD % n)]  # [fair-words]\n",
        "",
    ),
    code(
        "binomial-off-by-one",
        "a class of subsets is counted with one candidate too few",
        "samplers/subsets.py",
        "body = h + 1 + choose(t - h - 2, k - 1 - h, entropy)",
        "body = h + 1 + choose(max(t - h - 3, k - 1 - h), k - 1 - h, entropy)",
    ),
    code(
        "merged-classes",
        "classes that merge at gamma = 1 are counted as the first of them",
        "samplers/subsets.py",
        "    rest = gmpy2.bincoef(t - 2 - last, k - 2 - last) if last < k - 1 else 0\n",
        "    rest = gmpy2.bincoef(t - 2 - first, k - 2 - first) if first < k - 1 else 0\n",
    ),
    code(
        "canonical-rival",
        "the margin is taken from the k-th best score instead of the best one outside",
        "samplers/canonical.py",
        "ranked.values[k - 1 if capped else k]",
        "ranked.values[k - 1]",
    ),
    code(
        "canonical-weight",
        "proposals are accepted without regard to how many subsets share a cell",
        "samplers/canonical.py",
        "_power_of_two(int(bits[i])) / n, clock",
        "_power_of_two(int(bits[i])), clock",
    ),
    code(
        "joint-repeats",
        "rankings of the joint mechanism are counted as if a candidate could win twice",
        "samplers/ceilings.py",
        "return prod(ceiling - i for i, ceiling in enumerate(ceilings))",
        "return prod(ceilings)",
    ),
    code(
        "joint-paths",
        "sets of the joint mechanism are counted without one of their blocks' binomials",
        "samplers/ceilings.py",
        "found.append(found[-1] * (n - t) // (t + 1))  # [binomial]",
        "found.append(found[-1] * (n - t) // (t + 2))  # [binomial]",
    ),
    code(
        "joint-acceptance",
        "proposals of the joint mechanism are accepted by their utility alone, whatever layer they came from",
        "samplers/joint.py",
        "if accepted(mpq(-loss), mpq(1, 1 << starts[first]), None, entropy):",
        "if accepted(mpq(-loss), mpq(1), None, entropy):",
    ),
    code(
        "peeling-one-noise",
        "peeling reuses the noise of its first race",
        "samplers/peeled.py",
        "    left = np.arange(len(values))  # [all]\n",
        "    return race.top_k(values, scale, noise, k, sign=sign, ordered=True, entropy=entropy)\n"
        "    left = np.arange(len(values))  # [all]\n",
    ),
    code(
        "wrong-neighbour",
        "every gap is the one to the runner-up",
        "samplers/gaps.py",
        "for a, b in pairwise(best)]  # [gaps]",
        "for a, b in zip(best, best[-1:] * k, strict=False)]  # [gaps]",
    ),
    code(
        "zero-twice",
        "discrete Laplace noise is a sign times a size, so that zero counts twice",
        "samplers/integers.py",
        "lambda m: floors(scale, m, entropy) - floors(scale, m, entropy))",
        "lambda m: floors(scale, m, entropy) * (1 - 2 * (entropy.auxiliary(m) % 2).astype(np.int64)))",
    ),
    code(
        "gaussian-acceptance",
        "discrete Gaussian noise is accepted as if its proposals were centred at 0",
        "samplers/integers.py",
        "centre, weight = variance / t, 1 / (2 * variance)",
        "centre, weight = Fraction(0), 1 / (2 * variance)",
    ),
    code(
        "law-with-replacement",
        "the declared law of a ranking does not take winners out",
        "distributions/one_shot.py",
        "        left.remove(winner)\n",
        "        left |= {winner}\n",
    ),
)
