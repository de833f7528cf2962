"""Faults that an earlier suite did not notice, or noticed by pins alone."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "digits-repeat-after-256k",
        "a request of more than 256 KiB gets the same bytes over and over",
        "sampling/samplers/entropy.py",
        "        drawn = os.urandom(n + _SPARE)\n",
        "        drawn = (os.urandom(min(n, 2**18)) * (n // 2**18 + 1))[:n] + os.urandom(_SPARE)\n",
    ),
    Fault(
        "odometer-of-fifty",
        "an odometer forgets all but its last 50 queries",
        "combinators/fully_adaptive_composition.py",
        "            asked.append(booked := _BookedQuery(query))  # [debit]\n",
        "            asked.append(booked := _BookedQuery(query))  # [debit]\n            del asked[:-50]\n",
    ),
    Fault(
        "cap-of-unknown-size",
        "one-shot selection from an unknown number of candidates is charged as if they were 1,000",
        "measurements/_selection.py",
        "return self.k if self.size is None else min(self.k, self.size - 1)  # [cap-steps]",
        "return min(self.k, (self.size or 1000) - 1)  # [cap-steps]",
    ),
    Fault(
        "range-one-short",
        "the range of more than four winners among an unknown number is one too small",
        "measurements/_selection.py",
        "return 2 * self.k if self.size is None else",
        "return 2 * self.k - (self.k > 4) if self.size is None else",
    ),
    Fault(
        "last-node-zero",
        "the curve of many steps is 0 beyond its grid",
        "spaces/curves/closed_forms.py",
        "return float(nodes[-1])  # [last-node]",
        "return 0.0  # [last-node]",
    ),
    Fault(
        "no-slack",
        "nothing is added for the rounding of the recursion of range steps",
        "spaces/curves/closed_forms.py",
        "best * (1 + 2.0**-49) + 2.0**-1070",
        "best",
    ),
    Fault(
        "half-extra",
        "half of what is added for losses between two nodes",
        "spaces/curves/closed_forms.py",
        "/ (4 * whole))  # [inside]",
        "/ (8 * whole))  # [inside]",
    ),
    Fault(
        "composition-draws-once",
        "a measurement that occurs twice in a composition is released once",
        "combinators/composition.py",
        "        return tuple(call_sealed(member.function, value) for member in members)  # [release-each]",
        "        once = {id(member): call_sealed(member.function, value) for member in members}\n"
        "        return tuple(once[id(member)] for member in members)  # [release-each]",
    ),
    Fault(
        "rounded-centre",
        "the level that decides on discrete Gaussian noise has a centre of 53 digits",
        "sampling/samplers/integers.py",
        "centre = scale * scale / t",
        "centre = mpq(float(scale * scale / t))",
    ),
    Fault(
        "gamma-swapped",
        "gamma weighs the best score outside, in the law and in the sampler alike",
        "measurements/canonical_top_k.py",
        "_canonical_mechanism(noise, to_fraction(gamma), capped)",
        "_canonical_mechanism(noise, 1 - to_fraction(gamma), capped)",
    ),
    Fault(
        "ninth-for-many",
        "the rho of three winners or more is 1/9 too small",
        "measurements/_selection.py",
        "        cost = Cost.from_laplace_dominated(steps * r, choice.largest_union_size * r)  # [one-sided]",
        "        cost = Cost.from_laplace_dominated(steps * r, choice.largest_union_size * r)  # [one-sided]\n"
        "        cost = replace(cost, rho=(cost.rho or 0) * (1 if choice.k < 3 else Fraction(8, 9)))",
    ),
    Fault(
        "ninth-for-many-rankings",
        "three Gumbel winners or more cost 1/9 less than they do",
        "measurements/_selection.py",
        "steps * rho_of_range(r), (steps, r))",
        "steps * rho_of_range(r) * (1 if choice.k < 3 else Fraction(8, 9)), (steps, r))",
    ),
    Fault(
        "ninth-for-many-peels",
        "three peeled winners or more cost 1/9 less than they do",
        "measurements/peeled_top_k.py",
        "n * min(rho_of_laplace(r), rho_of_range(each))  # [step-rho]",
        "n * min(rho_of_laplace(r), rho_of_range(each)) * (1 if n < 3 else Fraction(8, 9))  # [step-rho]",
    ),
    Fault(
        "ln-2-high-byte",
        "one digit of the leading part of ln 2 is wrong",
        "numerics/floats.py",
        "2977044471.0",
        "2977044472.0",
    ),
    Fault(
        "ln-2-low-byte",
        "one digit of the rest of ln 2 is wrong",
        "numerics/floats.py",
        "1.9082149292705877e-10",
        "1.9082149293705877e-10",
    ),
    Fault(
        "ln-2-inverse-byte",
        "one digit of 1 / ln 2 is wrong",
        "numerics/floats.py",
        "1.4426950408889634",
        "1.4426950418889634",
    ),
    Fault(
        "ln-2-level-byte",
        "the levels of the joint mechanism are multiples of a little less than ln 2",
        "sampling/samplers/joint.py",
        "0.6931471805599454",
        "0.6931471805599452",
    ),
)
