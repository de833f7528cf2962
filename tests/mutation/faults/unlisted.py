"""Faults where nobody lists the candidates: what comes out of the table itself, and how likely."""

from __future__ import annotations

from tests.mutation.fault import Fault

_MAP = "measurements/unknown_domain_top_k.py"
_SLOTS = "samplers/unlisted.py"
_COUNTED = "measurements/unknown_domain_counts.py"
_PAID = "combinators/pay_what_you_get.py"

FAULTS = (
    Fault(
        "delta-without-one",
        "delta forgets that a key of one user has the score 1, and not 0",
        "measurements/_stop.py",
        "(threshold - metric.range_distance(d_in)) / tau)",
        "threshold / tau)",
    ),
    Fault(
        "slots-less-one",
        "delta counts one slot less than a user may change",
        "spaces/keyed_counts.py",
        "return min(limit, d_in * most)",
        "return max(1, min(limit, d_in * most) - 1)",
    ),
    Fault(
        "one-slot",
        "delta is that of one key, however many a user may have",
        "spaces/keyed_counts.py",
        "return min(limit, d_in * most)",
        "return min(1, d_in)",
    ),
    Fault(
        "no-dummies",
        "where there are fewer keys than may take part, no dummies fill up",
        _SLOTS,
        "[0] * (limit - len(keys) if most is None else most)",
        "[0] * (limit - len(keys) and 1)",
    ),
    Fault(
        "ties-by-data",
        "keys of one count are ranked in the order in which the table lists them",
        _SLOTS,
        "key=lambda key: (-counts[key], key)",
        "key=lambda key: -counts[key]",
    ),
    Fault(
        "limit-from-data",
        "where there are fewer keys than may take part, as many as there are take part",
        _SLOTS,
        "    ranked = _best(counts, limit + 1)",
        "    limit = max(1, min(limit, len(counts) - 1))\n    ranked = _best(counts, limit + 1)",
    ),
    Fault(
        "base-of-the-last",
        "scores are what a count leads the last of those that take part",
        _SLOTS,
        "counts[ranked[limit]] if len(ranked) > limit else 0",
        "counts[ranked[limit - 1]] if len(ranked) >= limit else 0",
    ),
    Fault(
        "names-after-the-stop",
        "keys that come after the stop symbol are released",
        _SLOTS,
        "tuple(self.keys[slot] for slot in slots[:count])",
        "tuple(self.keys[slot] for slot in slots if slot < len(self.keys))[: count + 1]",
    ),
    Fault(
        "replaced-as-added",
        "users who are exchanged move counts as far as users who are added",
        "spaces/keyed_counts.py",
        "return d_in if self.monotonic else 2 * d_in",
        "return d_in",
    ),
    Fault(
        "exponential-as-strict",
        "a curve with exponential noise is a mixture, as with Gumbel noise",
        _MAP,
        "strict=noise.is_max_stable)",
        "strict=True)",
    ),
    Fault(
        "cancelled-digits",
        "delta with exponential noise is computed with digits that cancel",
        "measurements/_stop.py",
        "Intervals(_PRECISION + 3 * int(lead) + 2 * slots.bit_length())",
        "Intervals(_PRECISION)",
    ),
    Fault(
        "most-items-and-one",
        "one item more of each user counts than max_items allows",
        "tables/keyed.py",
        '(nw.col("row") - nw.col("first") < most)',
        '(nw.col("row") - nw.col("first") <= most)',
    ),
    Fault(
        "keyed-rows-for-users",
        "a user with several rows for one item counts several times, where nobody lists the items",
        "tables/keyed.py",
        "found: Any = pairs.unique()",
        "found: Any = pairs",
    ),
    Fault(
        "threshold-passed-at-equality-only",
        "noisy counts one below the threshold are released",
        "measurements/stable_histogram.py",
        "(noisy >= level)",
        "(noisy >= level - 1)",
    ),
    Fault(
        "one-key-of-many",
        "the delta of a histogram is that of one key, however many a user may have",
        "measurements/stable_histogram.py",
        "max(any_of(beyond(b, level - 1), d_in * most), any_of(beyond(b, level - d_in), most))",
        "max(any_of(beyond(b, level - 1), d_in), beyond(b, level - d_in))",
    ),
    Fault(
        "delta-for-each-key",
        "every key of a user gets the whole delta",
        "measurements/partition_selection.py",
        'share_of(exact(checks.probability(delta, "delta")), most)',
        'exact(checks.probability(delta, "delta"))',
    ),
    Fault(
        "chances-grow-on",
        "the chances of a key grow by the first formula alone",
        "measurements/_selection_curve.py",
        "min(grown, one + -left // shrink.denominator, one)",
        "min(grown, one)",
    ),
    Fault(
        "groups-without-growth",
        "deltas of a group are added without the factors of group privacy",
        "measurements/partition_selection.py",
        "[_grown(loss * i) for i in range(steps)]",
        "[Fraction(1) for i in range(steps)]",
    ),
    Fault(
        "stop-for-nothing",
        "a release that stops early is counted with its keys alone, and not with the stop symbol",
        _MAP,
        "min(len(found.items) + 1, k)",
        "max(len(found.items), 1)",
    ),
    Fault(
        "delta-once-in-all",
        "a conversation that is paid by steps pays the delta of one query for all",
        _PAID,
        "most * each",
        "each",
    ),
    Fault(
        "failures-for-nothing",
        "a query that failed gives back all its steps but one",
        _PAID,
        "                release = query.function(data)  # [ask]\n"
        "                left.steps += reserved - (drawn_in(query, release) or reserved)  # [give-back]",
        "                left.steps += reserved - 1\n"
        "                release = query.function(data)  # [ask]\n"
        "                left.steps += 1 - (drawn_in(query, release) or 1)  # [give-back]",
    ),
    Fault(
        "wider-steps",
        "queries with steps of a larger range than agreed are answered",
        _PAID,
        "if found.width(d_in) > r or found.delta(d_in) > each:",
        "if found.delta(d_in) > each:",
    ),
    Fault(
        "steps-of-the-counts",
        "after a transformation the range of a step is that at the distance of its inputs",
        "core/transformation.py",
        "steps and steps.after(first.map)",
        "steps",
    ),
    Fault(
        "two-bounds-at-once",
        "of a map and of what steps cost, the account takes what is smaller once the answer is known",
        "combinators/_steps.py",
        "if not measure.at_most(loss_of_steps(measure, steps.most, width, delta), whole):  # [agreed-before]",
        "if False:",
    ),
    Fault(
        "one-count-of-many",
        "of the winners' counts one moves, however many keys a user may have",
        _COUNTED,
        "_counts_cost(input_metric.moved_one_way(each, k), d_in, b)",
        "_counts_cost(1, d_in, b)",
    ),
    Fault(
        "counts-move-by-one",
        "the winners' counts move by one, however many users come",
        _COUNTED,
        "Cost(pure=touched * d_in / scale, rho=touched * d_in * d_in / (2 * scale * scale))",
        "Cost(pure=touched / scale, rho=touched / (2 * scale * scale))",
    ),
    Fault(
        "counts-of-added-users",
        "users who are exchanged move as many counts as users who are added",
        _COUNTED,
        "input_metric.moved_one_way(each, k), d_in, b)",
        "input_metric.moved_one_way(1, k), d_in, b)",
    ),
    Fault(
        "counts-for-nothing",
        "the curve of winners with counts is that of the winners",
        _COUNTED,
        "compose([winners.under(output_measure), *curves], adaptive=True)",
        "compose([winners.under(output_measure)], adaptive=True)",
    ),
    Fault(
        "users-with-keys-in-common",
        "the delta of several users is that of users who have the same keys",
        "measurements/stable_histogram.py",
        "max(any_of(beyond(b, level - 1), d_in * most), any_of(beyond(b, level - d_in), most))",
        "any_of(beyond(b, level - d_in), most)",
    ),
    Fault(
        "gaussian-of-one-key",
        "the rho of Gaussian noise is that of one key, however many a user may have",
        "measurements/stable_histogram.py",
        "Cost(rho=moved * d_in / (2 * b * b))",
        "Cost(rho=Fraction(d_in * d_in) / (2 * b * b))",
    ),
    Fault(
        "tail-without-its-end",
        "the tail of Gaussian noise is summed without its first weight",
        "measurements/_gaussian_tail.py",
        "- Fraction(block - 1, 2)",
        "- Fraction(block + 1, 2)",
    ),
    Fault(
        "dummies-of-one",
        "of many dummies one uniform is drawn, as if there were one",
        "samplers/dummies.py",
        "ones = _ones(n, entropy)",
        "ones = _ones(1, entropy)",
    ),
    Fault(
        "dummies-begin-anew",
        "the best of many dummies races with fresh digits",
        "samplers/unlisted.py",
        "entropy = dummies.Led(entropy, range(len(counts), len(counts) + most), prefix)",
        "entropy = dummies.Led(entropy, range(0), prefix)",
    ),
    Fault(
        "one-unlisted-release",
        "releases of unlisted keys that are drawn at once are one release",
        _SLOTS,
        "[slots.named(row) for row in drawn.tolist()]",
        "[slots.named(row) for row in drawn[:1].tolist() * times]",
    ),
)
