"""Faults in the race: noisy scores are compared wrongly, or are not the noisy scores of the proofs."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "scale-halved",
        "the sampler of a selection gets half the scale",
        "measurements/_selection.py",
        "return mechanism.sample(scores, choice)  # [sample]",
        "return mechanism.sample(scores, replace(choice, tau=tau / 2))  # [sample]",
    ),
    Fault(
        "each-at-half-scale",
        "releases on several vectors at once get half the noise of one by itself",
        "measurements/_selection.py",
        "return rows.top_k_of_each(vectors, tau, noise,",
        "return rows.top_k_of_each(vectors, tau / 2, noise,",
    ),
    Fault(
        "other-noise",
        "exponential noise is drawn whatever the noise of the proof",
        "measurements/_selection.py",
        "        return race.top_k(scores, choice.tau, noise,",
        "        from ..noises.exponential import Exponential\n"
        "\n"
        "        return race.top_k(scores, choice.tau, Exponential(),",
    ),
    Fault(
        "float-scores",
        "integer scores are rounded to float64 before they are subtracted",
        "sampling/samplers/advantages.py",
        "    if values.dtype == np.float64:\n        return np.asarray(values - reference)",
        "    if values.dtype != object:\n        return np.asarray(values.astype(np.float64) - np.float64(reference))",
    ),
    Fault(
        "ties-by-score",
        "candidates whose intervals overlap are put in the order of their true scores",
        "sampling/samplers/settle.py",
        "    _draw_words(racers, order[runs.run_places])\n",
        "    for start, end in zip(runs.starts.tolist(), runs.ends.tolist(), strict=True):\n"
        "        members = order[start:end].tolist()\n"
        "        members.sort(key=lambda m: -racers.scores.exact_advantage(int(racers.index[m]), racers.reference))\n"
        "        order[start:end] = members\n"
        "    runs = runs[np.zeros(len(runs), dtype=np.bool_)]\n",
    ),
    Fault(
        "late-ties-by-score",
        "candidates whose first 64 digits leave them undecided are put in the order of their true scores",
        "sampling/samplers/settle.py",
        "    for level in range(MOST_LEVELS + 1):\n        at = Intervals(2 * _WORD << level)\n        noise",
        "    if lead:\n"
        "        return -1 if lead > 0 else 1\n"
        "    for level in range(MOST_LEVELS + 1):\n        at = Intervals(2 * _WORD << level)\n        noise",
    ),
    Fault(
        "prefix-is-all",
        "the 16 digits of a prefix are used as the whole uniform",
        "sampling/samplers/settle.py",
        "racers.words[members] = racers.entropy.draw_words(racers.index[members])  # [more-digits]",
        "racers.draw_words[members] = np.uint64(0)  # [more-digits]",
    ),
    Fault(
        "digits-repeat",
        "a candidate's first digits serve again as its later ones",
        "sampling/samplers/settle.py",
        "self.append(int(self._racers.entropy.draw_words(_contender_indices([self]))[0]))  # [extend]",
        "self.append(self.digits % 2**_WORD)  # [extend]",
    ),
    Fault(
        "shared-entropy",
        "all candidates share the digits of one uniform",
        "sampling/samplers/entropy.py",
        "return np.frombuffer(_read_system_bytes(2 * len(index)), dtype=np.uint16)",
        "return np.frombuffer(bytes(_read_system_bytes(2)) * len(index), dtype=np.uint16)",
    ),
    Fault(
        "noisy-order",
        "a set is released in the order of the noisy scores",
        "sampling/samplers/race.py",
        "return winners if ordered else np.sort(winners)",
        "return winners",
    ),
    Fault(
        "inward-bound",
        "lower bounds of noisy scores, and with them the threshold, are not rounded outward",
        "sampling/samplers/advantages.py",
        "(below + lower) - ((np.abs(below) + np.abs(lower)) * _RELATIVE + _ABSOLUTE)",
        "below + lower",
    ),
    Fault(
        "inward-cut",
        "the score below which nobody can win is rounded up",
        "sampling/samplers/advantages.py",
        "limit: Any = _round_cut(cut, self.sign)",
        "limit: Any = _round_cut(cut, -self.sign)",
    ),
    Fault(
        "truncated-table",
        "the last entry of the quantile table is cut off at the last node",
        "sampling/samplers/quantile_tables.py",
        "upper=upper[np.searchsorted(nodes, prefix + 1)],",
        "upper=upper[np.searchsorted(nodes, np.minimum(prefix + 1, _PREFIXES - 1))],",
    ),
    Fault(
        "gumbel-mirrored",
        "Gumbel noise has the wrong sign",
        "sampling/noises/gumbel.py",
        "_GUMBEL = Noise(\n",
        "_right, _right_floats = _quantile, _quantile_floats\n\n\n"
        "def _quantile(u: mpq, precision: int) -> Interval:\n"
        "    return Intervals(precision).negative(_right(1 - u, precision))\n\n\n"
        "def _quantile_floats(u: FloatBounds, v: FloatBounds) -> FloatBounds:\n"
        "    lower, upper = _right_floats(v, u)\n"
        "    return -upper, -lower\n\n\n"
        "_GUMBEL = Noise(\n",
    ),
    Fault(
        "sign-ignored",
        "the largest scores are released where the smallest were asked for",
        "measurements/_selection.py",
        'sign = {"max": 1, "min": -1}[checks.require_choice("optimize", optimize, ("max", "min"))]',
        'sign = {"max": 1, "min": 1}[checks.require_choice("optimize", optimize, ("max", "min"))]',
    ),
    Fault(
        "tail-weight",
        "the number of candidates in a tail is drawn for another probability",
        "sampling/samplers/upper_tail.py",
        "odds = gmpy2.mpz(2) ** level - 1",
        "odds = gmpy2.mpz(2) ** level",
    ),
    Fault(
        "tail-level",
        "candidates below the threshold are skipped with one leading digit too many",
        "sampling/samplers/scan.py",
        'gap, side="right") - 1  # [level]',
        'gap, side="right")  # [level]',
    ),
)
