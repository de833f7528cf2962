"""Faults in keys of users with many keys, and in a minimum of users: weights too long, thresholds too low."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "weights-too-long",
        "a user spreads one step more for each item than the length allows",
        "tables/grouping.py",
        "return np.where(lower * lower * squares <= unit * unit, lower, 0)  # [within]",
        "return np.where(lower * lower * squares <= unit * unit, lower + 1, 0)  # [within]",
    ),
    Fault(
        "new-keys-without-length",
        "what the length of weights adds to the chance of new keys is left out",
        "measurements/_new_keys.py",
        "return one_minus_exp_up(keys * max(Fraction(0), most) + price * length * length)  # [lost]",
        "return one_minus_exp_up(keys * max(Fraction(0), most))  # [lost]",
    ),
    Fault(
        "weights-replaced-once",
        "a user who is replaced is charged as one who comes or goes",
        "measurements/weighted_partition_selection.py",
        'both_ways = 1 if input_metric.neighbors == "add_remove" else 2  # [both-ways]',
        'both_ways = 1 if input_metric.neighbors == "add_remove" else 1  # [both-ways]',
    ),
    Fault(
        "normal-pair-less",
        "the delta of normal laws is 2 per cent too small",
        "spaces/curves/normal.py",
        "return round_up(min(Fraction(1), (1 + 2 * NEAR) * Fraction(int(top), 2 * int(bottom))))  # [delta-up]",
        "return round_up(min(Fraction(1), Fraction(49, 50) * Fraction(int(top), 2 * int(bottom))))  # [delta-up]",
    ),
    Fault(
        "weighted-minimum-without-others",
        "the weights of others on a key that one user brings to the minimum are forgotten",
        "measurements/weighted_partition_selection.py",
        "level = own_level + least - 1  # [others]",
        "level = own_level  # [others]",
    ),
    Fault(
        "weighted-minimum-one-less",
        "a key of one user fewer than the minimum may come out of noisy weights",
        "measurements/weighted_partition_selection.py",
        "enough = baskets.users >= least  # [enough]",
        "enough = baskets.users >= least - 1  # [enough]",
    ),
    Fault(
        "sums-by-key-as-users",
        "a minimum of users is held against sums by key",
        "transformations/minimum_users.py",
        "_require_users(metric.each == 1)",
        "_require_users(metric.each >= 1)",
    ),
    Fault(
        "sums-of-a-list-as-users",
        "a minimum of users is held against sums of a list",
        "transformations/minimum_users.py",
        "_require_users(input_domain.counts_users is not False)",
        "_require_users(True)",
    ),
    Fault(
        "minimum-one-less",
        "an item of one user fewer than the minimum is kept",
        "transformations/minimum_users.py",
        "return {key: min(count - least + 1, _LARGEST) for key, count in listed if count >= least}  # [listed]",
        "return {key: min(count - least + 2, _LARGEST) for key, count in listed if count >= least - 1}  # [listed]",
    ),
)
