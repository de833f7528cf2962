"""Faults where nobody lists the candidates: what comes out of the table itself, and how likely."""

from __future__ import annotations

from tests.mutation.fault import Fault

_MAP = "measurements/unknown_domain_top_k.py"
_ASKED = "measurements/_key_selection.py"
_SLOTS = "sampling/samplers/unlisted.py"
_COUNTED = "measurements/unknown_domain_counts.py"
_SUCCESS = "sampling/distributions/one_shot_success.py"
_PAID = "combinators/pay_what_you_get.py"

FAULTS = (
    Fault(
        "delta-without-one",
        "delta forgets that a key of one user has the score 1, and not 0",
        _ASKED,
        "(asked.threshold - self.metric.range_distance(d_in)) / asked.scale",
        "asked.threshold / asked.scale",
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
        "    ranked = _best_keys(counts, limit + 1)",
        "    limit = max(1, min(limit, len(counts) - 1))\n    ranked = _best_keys(counts, limit + 1)",
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
        _ASKED,
        "return self.search.noise.is_max_stable",
        "return True",
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
        "kept = _first_of_each_run(users, most)",
        "kept = _first_of_each_run(users, most + 1)",
    ),
    Fault(
        "heavy-by-one",
        "users with one row more than items that count are taken for users with few",
        "tables/keyed.py",
        'nw.col("rows") > most',
        'nw.col("rows") > most + 1',
    ),
    Fault(
        "heavy-twice",
        "users with many rows count among those with few, too",
        "tables/keyed.py",
        "_count_distinct_users(light), count",
        "_count_distinct_users(pairs), count",
    ),
    Fault(
        "keyed-rows-for-users",
        "a user with several rows for one item counts several times, where nobody lists the items",
        "tables/keyed.py",
        'pairs.unique().group_by("item")',
        'pairs.group_by("item")',
    ),
    Fault(
        "keys-of-others",
        "the noisy counts that reach the threshold are given to the first keys",
        "measurements/stable_histogram.py",
        "keys_at(reached)",
        "keys_at(np.arange(len(reached)))",
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
        "max(\n"
        "            any_event_probability(beyond(b, apart), d_in * self.most),\n"
        "            any_event_probability(beyond(b, alike), self.most),\n"
        "        )",
        "max(any_event_probability(beyond(b, apart), d_in), beyond(b, alike))",
    ),
    Fault(
        "delta-for-each-key",
        "every key of a user gets the whole delta",
        "measurements/_key_shares.py",
        "even = loss / m, per_event_probability(delta, m)  # [even]",
        "even = loss / m, delta",
    ),
    Fault(
        "chances-grow-on",
        "the chances of a key grow by the first formula alone",
        "measurements/_selection_curve.py",
        "turn = (one - step) * low // (low + high)  # [turn]",
        "turn = one - 1 - step  # [turn]",
    ),
    Fault(
        "groups-without-growth",
        "deltas of a group are added without the factors of group privacy",
        "measurements/partition_selection.py",
        "[_exp_upper_bound(loss * i) for i in range(steps)]",
        "[Fraction(1) for i in range(steps)]",
    ),
    Fault(
        "stop-for-nothing",
        "a release that stops early is counted with its keys alone, and not with the stop symbol",
        _MAP,
        "min(len(found) + 1, k)",
        "max(len(found), 1)",
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
        "                left.steps += reserved - (steps_taken(query, release) or reserved)  # [give-back]",
        "                left.steps += reserved - 1\n"
        "                release = query.function(data)  # [ask]\n"
        "                left.steps += 1 - (steps_taken(query, release) or 1)  # [give-back]",
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
        "steps and steps.after_transformation(first.map)",
        "steps",
    ),
    Fault(
        "two-bounds-at-once",
        "of a map and of what steps cost, the account takes what is smaller once the answer is known",
        "combinators/_rules.py",
        "if not measure.at_most(loss_of_steps(measure, steps.most, width, delta), whole):  # [agreed-before]",
        "if False:",
    ),
    Fault(
        "one-count-of-many",
        "of the winners' counts one moves, however many keys a user may have",
        _COUNTED,
        "_counts_cost(touched, far, b)",
        "_counts_cost(1, far, b)",
    ),
    Fault(
        "counts-move-by-one",
        "the winners' counts move by one, however many users come",
        _COUNTED,
        "Cost(pure=touched * far / scale, rho=touched * far * far / (2 * scale * scale))",
        "Cost(pure=touched / scale, rho=touched / (2 * scale * scale))",
    ),
    Fault(
        "counts-of-added-users",
        "users who are exchanged move as many counts as users who are added",
        _COUNTED,
        "input_metric.moved_one_way(each, k)  # [touched]",
        "input_metric.moved_one_way(1, k)  # [touched]",
    ),
    Fault(
        "counts-for-nothing",
        "the curve of winners with counts is that of the winners",
        _COUNTED,
        "curve = sequential_curve(winners.to_distance(output_measure), ways)",
        "curve = sequential_curve(winners.to_distance(output_measure), [[]])",
    ),
    Fault(
        "epsilon-of-other-noise",
        "counts with Gaussian noise that are too many to compose get the epsilon of Laplace noise as well",
        _COUNTED,
        "ways.append([joint_counts_curve(touched * far * far, b)])",
        "ways.append([_counts_cost(touched, far, b).to_distance(output_measure)])",
    ),
    Fault(
        "users-with-keys-in-common",
        "the delta of several users is that of users who have the same keys",
        "measurements/stable_histogram.py",
        "max(\n"
        "            any_event_probability(beyond(b, apart), d_in * self.most),\n"
        "            any_event_probability(beyond(b, alike), self.most),\n"
        "        )",
        "any_event_probability(beyond(b, alike), self.most)",
    ),
    Fault(
        "gaussian-of-one-key",
        "the rho of Gaussian noise is that of one key, however many a user may have",
        "measurements/stable_histogram.py",
        "Cost(rho=moved * each / (2 * b * b))",
        "Cost(rho=Fraction(each * each) / (2 * b * b))",
    ),
    Fault(
        "tail-without-its-end",
        "the tail of Gaussian noise is summed without its first weight",
        "sampling/distributions/discrete.py",
        "- Fraction(block - 1, 2)",
        "- Fraction(block + 1, 2)",
    ),
    Fault(
        "dummies-of-one",
        "of many dummies one uniform is drawn, as if there were one",
        "sampling/samplers/unlisted.py",
        "ones = _count_ones(n, entropy)",
        "ones = _count_ones(1, entropy)",
    ),
    Fault(
        "dummies-begin-anew",
        "the best of many dummies races with fresh digits",
        "sampling/samplers/unlisted.py",
        "entropy = FixedPrefixEntropy(entropy, range(len(counts), len(counts) + most), prefix)",
        "entropy = FixedPrefixEntropy(entropy, range(0), prefix)",
    ),
    Fault(
        "one-unlisted-release",
        "releases of unlisted keys that are drawn at once are one release",
        _SLOTS,
        "[slots.released_keys(row) for row in drawn.tolist()]",
        "[slots.released_keys(row) for row in drawn[:1].tolist() * times]",
    ),
    Fault(
        "stops-have-ranks",
        "the probability of success counts a slot that is no key among the winners",
        _SUCCESS,
        "groups = group_ranks(scores.values[: d - barred], k, sure, reach)",
        "groups = group_ranks(scores.values, k, sure, reach)",
    ),
    Fault(
        "stops-among-keys",
        "a slot that is no key has its place among the keys, and the last keys have no rank instead",
        _SUCCESS,
        "order = np.concatenate([order[order < d - barred], order[order >= d - barred]])  # [barred-last]",
        "",
    ),
    Fault(
        "no-stops",
        "of unlisted candidates the probability of success takes a slot that is no key for a key",
        "sampling/distributions/unlisted.py",
        "barred = len(slots.values) - len(slots.keys)  # [no-keys]",
        "barred = 0",
    ),
)
