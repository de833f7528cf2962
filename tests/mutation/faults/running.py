"""Faults of running sums: noise on the nodes of a tree, and what the nodes move."""

from __future__ import annotations

from tests.mutation.fault import Fault

_RUNNING = "measurements/continual_top_k.py"

FAULTS = (
    Fault(
        "running-a-level-fewer",
        "the price counts the nodes of a count one level short",
        _RUNNING,
        "levels = steps.bit_length()  # [levels]",
        "levels = (steps - 1).bit_length() or 1  # [levels]",
    ),
    Fault(
        "running-cells-apart",
        "the squares are those of counts of which no two are in one node",
        _RUNNING,
        "(most >> i << 2 * i) + (most & (1 << i) - 1) ** 2",
        "most",
    ),
    Fault(
        "running-noise-of-the-left",
        "the noise of a node is that of its parts, so that no fresh noise is drawn for it",
        _RUNNING,
        "noisy = sums + draw(len(sums))  # [noise]",
        "noisy = left.weighted + node.weighted >> node.level  # [noise]",
    ),
    Fault(
        "running-weights-alike",
        "all nodes within a node weigh the same",
        _RUNNING,
        "(noisy << node.level + 1)",
        "noisy",
    ),
    Fault(
        "running-one-step-more",
        "a conversation takes a step more than was paid for",
        _RUNNING,
        "if taken == steps:",
        "if taken > steps:",
    ),
    Fault(
        "running-list-anew",
        "a list that is asked for again has counted its last step twice",
        _RUNNING,
        "return lambda: noisy_top_k(nodes)  # [again]",
        "return lambda: noisy_top_k(extend_tree(nodes, first, draw_noise))  # [again]",
    ),
    Fault(
        "running-least-of-steps",
        "the accuracy is that of the last step, though earlier ones may have more noise",
        _RUNNING,
        "return max(\n"
        "        map(running_sum_variance, (steps, *((steps >> i << i) - 1 for i in range(steps.bit_length()))))\n"
        "    )",
        "return running_sum_variance(steps)  # [widest]",
    ),
    Fault(
        "running-laplace-tail",
        "the bound of Laplace noise forgets how many nodes add up",
        _RUNNING,
        "scaled_log_up(unit * variance, 1 / (1 - rate * rate))",
        "scaled_log_up(unit, 1 / (1 - rate * rate))",
    ),
    Fault(
        "running-curve-of-a-conversation",
        "curves of noise that is known beforehand are claimed of steps that depend on the lists",
        _RUNNING,
        "known = (PrivacyProfile,) if at_once else ()",
        "known = (PrivacyProfile,)",
    ),
    Fault(
        "running-twice-in-a-week",
        "rows of a user count, so that one borrows a book twice in a week",
        "tables/capping.py",
        "kept = bound_first_items(filter_listed_items(rows, items), most)  # [first-of-table]",
        "kept = filter_listed_items(rows, items)  # [first-of-table]",
    ),
    Fault(
        "running-cap-of-a-table",
        "the cap on a user begins anew with each table",
        "tables/capping.py",
        "counted = {} if before is None else dict(before.counted)",
        "counted: dict[Any, int] = {}",
    ),
)
