"""Faults of sums, of what is kept of each user, and of what a first release chooses."""

from __future__ import annotations

from tests.mutation.fault import Fault

_SUM = "transformations/sum_by_item.py"
_TOTALS = "tables/totals.py"

FAULTS = (
    Fault(
        "sum-of-one-sign",
        "sums of both signs cost the larger bound alone",
        _SUM,
        "d_in * (high - low if monotonic else max(high, -low))",
        "d_in * max(high, -low)",
    ),
    Fault(
        "sum-replaced-as-added",
        "sums of users who are replaced cost what those of users who are added do",
        _SUM,
        "* (2 if monotonic else 1)  # [stability-replace]",
        "* 1  # [stability-replace]",
    ),
    Fault(
        "absent-at-lower-bound",
        "the map forgets that a user without rows adds nothing",
        _SUM,
        "(min(lower, 0), max(upper, 0))",
        "(lower, upper)",
    ),
    Fault(
        "bounds-outward",
        "bounds that are no multiples of the granularity are rounded outward",
        _SUM,
        "math.ceil(least), math.floor(greatest)",
        "math.floor(least), math.ceil(greatest)",
    ),
    Fault(
        "clamped-rows",
        "rows are clamped to the bounds, and not the totals of users",
        _TOTALS,
        'found: Any = summed.with_columns(nw.col("value").clip(*bounds))',
        "found: Any = summed",
    ),
    Fault(
        "unclamped-numbers",
        "numbers may be so large that their sums overflow",
        _TOTALS,
        '(nw.col("value") / step).clip(-farthest, farthest)',
        '(nw.col("value") / step).clip(-(2**62), 2**62)',
    ),
    Fault(
        "floor-for-nearest",
        "numbers are rounded down to the grid",
        _TOTALS,
        "(near + 0.5).floor()",
        "near.floor()",
    ),
    Fault(
        "zero-sums-by-key",
        "items whose sum is 0 are among the sums by key",
        _TOTALS,
        'by_item(sums.filter(nw.col("count") != 0))',
        "by_item(sums)",
    ),
    Fault(
        "later-rows-kept",
        "of each user's items a later one is kept in the place of the first, where sums are limited",
        "tables/firsts.py",
        "users[most:] != users[:-most]",
        "users[:-most] != users[most:][::-1]",
    ),
    Fault(
        "negative-sums-by-key",
        "sums by key may be of negative numbers",
        _SUM,
        "if items is None and lower < 0:",
        "if items is None and upper < 0:",
    ),
    Fault(
        "one-item-too-many",
        "one item more of each user is kept",
        "tables/capping.py",
        '"kept", ranks < most',
        '"kept", ranks <= most',
    ),
    Fault(
        "lightest-first",
        "the items with the fewest rows are kept",
        "tables/capping.py",
        "[False, True, False]",
        "[False, False, False]",
    ),
    Fault(
        "equal-words-kept",
        "equal words of a group are not drawn again, so that their order is that of the items",
        "transformations/keep_items.py",
        "if not same.any():",
        "if same is not None:",
    ),
    Fault(
        "one-order-for-all",
        "the order within groups is that of the words of all",
        "transformations/keep_items.py",
        "np.lexsort((words, starts))",
        "np.argsort(words)",
    ),
    Fault(
        "mixed-ranges",
        "a measurement that bounds a range may follow a random choice",
        "core/transformation.py",
        "if first.randomized and not second.output_measure.survives_mixing:",
        "if first.randomized and not second.output_measure.survives_mixing and False:",
    ),
    Fault(
        "law-of-one-draw",
        "the law of one random choice is declared as that of all",
        "core/transformation.py",
        "    if first.randomized:  # [no-law]",
        "    if second.interactive:  # [no-law]",
    ),
    Fault(
        "unmarked-chain",
        "a chain that begins with a random choice is not marked",
        "core/transformation.py",
        "first.randomized or second.randomized",
        "second.randomized",
    ),
    Fault(
        "free-second",
        "what a first release chooses costs nothing",
        "combinators/followed_by.py",
        "[first.exact_map(limit), agreed]",
        "[first.exact_map(limit)]",
    ),
    Fault(
        "unchecked-second",
        "what a first release chooses may lose more than was agreed",
        "combinators/followed_by.py",
        "if second.interactive or not second.check(limit, agreed):",
        "if second.interactive:",
    ),
    Fault(
        "uncapped-rows",
        "all rows of other items count, however many a user has",
        "tables/outside.py",
        'np.minimum(by_user["rows"].to_numpy().astype(np.int64), most)',
        'by_user["rows"].to_numpy().astype(np.int64)',
    ),
    Fault(
        "listed-with-others",
        "items that are listed count with the others",
        "tables/outside.py",
        'how="anti"',
        'how="left"',
    ),
    Fault(
        "caps-replaced-as-added",
        "users who are exchanged move the scores of caps as users who are added do",
        "transformations/cap_scores.py",
        'q if input_metric.neighbors == "replace" else max(p, q - p)',
        "max(p, q - p)",
    ),
    Fault(
        "caps-without-their-own",
        "a user with just as many items as the cap is not within it",
        "transformations/cap_scores.py",
        'side="right"',
        'side="left"',
    ),
)
