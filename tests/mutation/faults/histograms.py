"""Faults of noise on all counts, where one person moves few of them."""

from __future__ import annotations

from tests.mutation.fault import Fault

_MOVED = "measurements/_moved.py"

FAULTS = (
    Fault(
        "both-users-forgotten",
        "of a person who is exchanged for another one only one of them moves counts",
        "transformations/count_by_item.py",
        'return 2 * most if metric.neighbors == "replace" and not monotonic else most',
        "return most",
    ),
    Fault(
        "one-rho-for-all",
        "the rho of noise on several counts is that of one",
        _MOVED,
        "rho = Fraction(moved.total, moved.each) * rho_of_discrete_laplace(one, 1 / scale)",
        "rho = rho_of_discrete_laplace(one, 1 / scale)",
    ),
    Fault(
        "one-real-rho-for-all",
        "the rho of real noise on several scores is that of one",
        _MOVED,
        "rho = Fraction(moved.total, moved.each) * rho_of(one)",
        "rho = rho_of(one)",
    ),
    Fault(
        "few-scores-with-any-noise",
        "noise whose density jumps is charged for the scores that move, and not for the winners",
        "measurements/_selection.py",
        "if noise is None or not (noise.is_two_sided and isinstance(input_metric, L01InfDistance)):",
        "if noise is None or not isinstance(input_metric, L01InfDistance):",
    ),
    Fault(
        "logistic-as-steep",
        "the rho of logistic noise is that of three quarters of the move",
        _MOVED,
        "once = one_minus_exp_down(h)\n",
        "once = one_minus_exp_down(h := h * 3 / 4)\n",
    ),
    Fault(
        "half-a-range",
        "the range of real noise on scores that move is taken for their largest loss",
        _MOVED,
        "read = Cost(loss, 2 * loss, rho, joined=(1, loss))",
        "read = Cost(loss, loss, rho, joined=(1, loss))",
    ),
    Fault(
        "every-count-moves",
        "where few scores move, all winners' counts are charged",
        "measurements/select_then_count.py",
        "few = min(k, input_metric.changes) if isinstance(input_metric, L01InfDistance) else k",
        "few = k",
    ),
    Fault(
        "one-shape-of-several",
        "of several shapes of moves the curve of the last is told",
        _MOVED,
        "yield Largest(curves)",
        "yield from curves[-1].bounds",
    ),
    Fault(
        "cap-not-applied",
        "all listed items of a person count, however few may",
        "transformations/count_by_item.py",
        "bound_first_items(filter_listed_items(rows, items), max_items)",
        "filter_listed_items(rows, items)",
    ),
    Fault(
        "capped-with-strangers",
        "items that nobody counts use up what a person may keep",
        "transformations/keep_items.py",
        "chosen = rows if items is None else filter_listed_items(rows, items)",
        "chosen = rows",
    ),
    Fault(
        "chains-of-any-release",
        "what cannot take a release follows it, and fails when it was paid for",
        "core/measurement.py",
        "    release_type_and_size(ComposedFunction(first.function, then), first.input_domain)  # [fits]\n",
        "",
    ),
    Fault(
        "indices-taken-for-counts",
        "the largest indices of a ranking are given as counts",
        "core/candidates.py",
        "if released != Counts:",
        "if released is None:",
    ),
    Fault(
        "sums-as-counts",
        "one user is taken to move a sum by one step",
        "transformations/sum_by_item.py",
        "build_output_space(\n        items, max_items, changes, monotonic, max(upper, 1)\n    )",
        "build_output_space(items, max_items, changes, monotonic)",
    ),
    Fault(
        "threshold-of-one-step",
        "a key of one user is taken to lead nothing by one step, however far the user moves it",
        "measurements/stable_histogram.py",
        "apart, alike = level - self.metric.rise(1), level - self.metric.rise(d_in)",
        "apart, alike = level - 1, level - d_in",
    ),
    Fault(
        "sums-counted-as-near",
        "the noisy sums of winners are charged as if one user moved each by one",
        "measurements/unknown_domain_counts.py",
        "far, touched = input_metric.rise(d_in),",
        "far, touched = d_in,",
    ),
)
