"""Faults in composed curves: mass is lost, or a direction, or a step."""

from __future__ import annotations

from tests.mutation.fault import Fault

COVERS, DOTS = "spaces/curves/covers.py", "spaces/curves/covers.py"
COMPOSED, TOTALS, DISCRETE = "spaces/curves/composed.py", "spaces/curves/composed.py", "spaces/curves/discrete.py"

FAULTS = (
    Fault(
        "mass-down",
        "the masses of a convolution are rounded down",
        COVERS,
        "(joint + ones * (ONE - 1)) >> DIGITS",
        "joint >> DIGITS",
    ),
    Fault(
        "tail-lost",
        "mass that is cut off at the top of a grid is lost",
        COVERS,
        "(kept[0] + below, *kept[1:]), self.infinite + above)",
        "(kept[0] + below, *kept[1:]), self.infinite)",
    ),
    Fault(
        "infinite-once",
        "the second step's mass at infinity is forgotten",
        COVERS,
        "self.infinite * others + (whole - self.infinite) * other.infinite",
        "self.infinite * others",
    ),
    Fault(
        "odd-power",
        "an odd number of steps is one step short",
        COVERS,
        "half * half * self if count % 2 else half * half",
        "half * half",
    ),
    Fault(
        "losses-of-one-direction",
        "losses below zero are those of one direction that loses nothing",
        DOTS,
        "lower[i] * (ONE - right[i]) >> DIGITS",
        "lower[i] * ONE >> DIGITS",
    ),
    Fault(
        "fill-short",
        "masses are chosen 2 % too small for the curve",
        DOTS,
        "-(-lacking // (ONE - decay))",
        "-(-lacking * 49 // (50 * (ONE - decay)))",
    ),
    Fault(
        "chord-to-the-left",
        "the chord between two corners is drawn with its ends exchanged",
        DOTS,
        "(ONE - lower[right - i]) << DIGITS",
        "(ONE - lower[i - left]) << DIGITS",
    ),
    Fault(
        "delta-to-units-down",
        "a delta becomes the units of mass below it",
        DOTS,
        "return mpz(math.ceil(value))",
        "return mpz(math.floor(value))",
    ),
    Fault(
        "next-node",
        "a composed curve is read from the node beyond the next one",
        COMPOSED,
        "place = max(e // h + 1, first)  # [cell]",
        "place = max(e // h + 2, first)  # [cell]",
    ),
    Fault(
        "below-the-least-loss",
        "below the least loss a composed curve is read as far above the least",
        COMPOSED,
        "weight, damped = beyond[place - first]",
        "weight, damped = beyond[min(place, len(beyond) - 1)]",
    ),
    Fault(
        "more-steps-imply",
        "a curve of more steps counts as below one of fewer",
        COMPOSED,
        "count <= counts.get(curve, 0)",
        "count >= counts.get(curve, 0)",
    ),
    Fault(
        "delta-of-a-pair-lost",
        "of a pair inside a mixture the delta is lost",
        TOTALS,
        "to_fraction(delta) + to_fraction(inner.delta)  # [pair]",
        "to_fraction(delta)  # [pair]",
    ),
    Fault(
        "conversations-reordered",
        "steps of a conversation are added up as if they followed each other",
        TOTALS,
        "    if not adaptive:\n",
        "    if True:\n",
    ),
    Fault(
        "in-a-row-counted-once",
        "of equal steps that follow each other one is counted",
        TOTALS,
        "(curve, sum(1 for _ in same)) for curve, same",
        "(curve, 1) for curve, same",
    ),
    Fault(
        "one-step-taken-for-all",
        "what one step states is said of all",
        TOTALS,
        "    if len(bounds) < len(steps):\n",
        "    if not bounds:\n",
    ),
    Fault(
        "later-event",
        "the event that tells discrete Gaussian noise apart begins one integer too late",
        DISCRETE,
        "Fraction(self.shift, 2)) + 1  # [first-gaussian]",
        "Fraction(self.shift, 2)) + 2  # [first-gaussian]",
    ),
    Fault(
        "one-count-charged",
        "of k noisy counts one is charged",
        "measurements/select_then_count.py",
        "[[count_curve(moved, apart)] * counts]",
        "[[count_curve(moved, apart)]]",
    ),
    Fault(
        "counts-together-of-one",
        "of all noisy counts together one is charged",
        "measurements/select_then_count.py",
        "joint_counts_curve(few * moved * moved, apart)",
        "joint_counts_curve(moved * moved, apart)",
    ),
    Fault(
        "mildest-point",
        "the verifier holds a curve against laws where it is met least",
        "apps/audit/losses.py",
        "best = max(found, key=lambda loss: loss.lower)\n        return LossEnclosure(best.lower, max(",
        "best = min(found, key=lambda loss: loss.lower)\n        return LossEnclosure(best.lower, max(",
    ),
    Fault(
        "runs-of-one-shape-less",
        "the best of many runs is priced as if the shape of their number were one smaller",
        "combinators/repetitions.py",
        "scaled_log_up(1 + to_fraction(self.shape), (1 + gamma * q)",
        "scaled_log_up(max(to_fraction(self.shape), 0), (1 + gamma * q)",
    ),
    Fault(
        "curve-without-runs",
        "the delta of the best of many runs is that of one",
        "combinators/repetitions.py",
        "self.most * to_fraction(self.runs.delta(rest))",
        "to_fraction(self.runs.delta(rest))",
    ),
    Fault(
        "nearly-the-best-run",
        "the best of many runs may be one point worse than the one before it",
        "combinators/private_selection.py",
        "if best is None or score > top:",
        "if best is None or score >= top - 1:",
    ),
    Fault(
        "one-run-too-many",
        "the number of runs is one too large where the first digits do not tell",
        "sampling/samplers/run_counts.py",
        "        while reached[1] <= digits * unit:  # [above]\n",
        "        while reached[0] < (digits + 1) * unit:  # [above]\n",
    ),
)
