"""The maps in Python and the statements that are checked give the same numbers, on a grid of rationals."""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_topk as tk
from opendp_topk.sampling.samplers import upper_tail
from opendp_topk.spaces import costs as concentrated
from opendp_topk.spaces.curves import closed_forms

from . import coq

GRID = [(k, d) for d in range(1, 8) for k in range(1, d + 1)]
RATIONALS = [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(8)]

# Coq accepts the theorem with ``claimed`` in the place of its factor just if both are one by computation.
FACTORS = {
    "Peeling": (
        tk.MaxDivergence(),
        "Nat.min k (d - 1)",
        "fun I same => @peeling_pure I same : forall k l s s' r, NoDup l -> spread l s s' r -> "
        "pure (rankings same k l) (peeled same l s) (peeled same l s') (INR (claimed k (length l)) * r)",
    ),
    "PeelingRange": (
        tk.RangeDivergence(),
        "Nat.min (2 * k) d - 1",
        "fun I same => @peeling_range I same : forall k l s s' r, NoDup l -> "
        "(1 <= k <= length l)%nat -> spread l s s' r "
        "-> range (rankings same k l) (peeled same l s) (peeled same l s') (INR (claimed k (length l)) * r)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("file", FACTORS)
def test_a_ranking_costs_as_many_times_r_as_the_checked_statement_says(built: Path, file: str) -> None:
    measure, factor, statement = FACTORS[file]
    pairs = "; ".join(f"({k}, {d})%nat" for k, d in GRID)
    said = coq.answered(
        built,
        "From Coq Require Import Reals List Arith.\n"
        f"From Machine Require Import Laws Exponential Peeling {file}.\nImport ListNotations. Open Scope R_scope.\n"
        f"Definition claimed (k d : nat) : nat := ({factor})%nat.\nCheck ({statement}).\n"
        f"Compute (map (fun p => claimed (fst p) (snd p)) [{pairs}]).\n",
    )
    checked = [int(word) for word in re.findall(r"\d+", said.rpartition("= [")[2].partition("]")[0])]
    maps = []
    for k, d in GRID:
        space = tk.VectorDomain(tk.AtomDomain(int), size=d), tk.RangeDistance()
        peeled = space >> tk.then_peeled_top_k(measure, k=k, scale=1, mechanism="exponential")
        maps.append(peeled.map(1))
    assert maps == checked


def number(value: Fraction | float) -> str:
    exact = Fraction(value)
    return f"({exact.numerator} / {exact.denominator})"


def between(built: Path, file: str, claims: Sequence[tuple[str, Fraction | float]]) -> None:
    """Coq proves that each number is not below the expression beside it, nor above it by more than 10^-9 of it."""
    goals = "".join(
        f"Goal {said} <= {number(found)}. Proof. {unfold} interval with (i_prec 200). Qed.\n"
        f"Goal {number(found)} <= {said} * (1 + 1 / 1000000000). Proof. {unfold} interval with (i_prec 200). Qed.\n"
        for said, found in claims
        for unfold in ["unfold a_PF, one_range, chance, price, tanh, sinh, cosh."]
    )
    coq.answered(
        built,
        "From Coq Require Import Reals.\nFrom Interval Require Import Tactic.\n"
        f"From Machine Require Import Curve FlippingRange RangeConcentrated {file}.\nOpen Scope R_scope.\n"
        "Definition chance (n : R) (D t : R) : R := n * exp D / (n * exp D + exp t).\n" + goals,
    )


@pytest.mark.slow
def test_the_range_of_permute_and_flip_is_the_checked_one(built: Path) -> None:
    space = tk.VectorDomain(tk.AtomDomain(int), size=5), tk.RangeDistance()
    claims = []
    for r in RATIONALS:
        flip = space >> tk.then_permute_and_flip(tk.RangeDivergence(), scale=1 / r)
        claims.append((f"a_PF {number(r)}", flip.map(1)))
    between(built, "FlippingRange", claims)
    with pytest.raises(AssertionError, match="Numerical evaluation failed"):
        between(built, "FlippingRange", [(f"a_PF {number(Fraction(1))}", claims[0][1])])


@pytest.mark.slow
def test_the_curve_of_a_range_is_the_checked_one(built: Path) -> None:
    pairs = [(a, a * share) for a in RATIONALS for share in (Fraction(0), Fraction(1, 3), Fraction(9, 10))]
    claims = [(f"one_range {number(a)} {number(eps)}", closed_forms.range_delta(a, eps)) for a, eps in pairs]
    between(built, "Curve", claims)


@pytest.mark.slow
def test_the_exact_rhos_are_the_checked_ones(built: Path) -> None:
    claims: list[tuple[str, Fraction | float]] = []
    for a in RATIONALS:
        claims.append((f"price {number(a)}", concentrated.rho_of_range(a)))
        claims.append((f"({number(a)} * tanh ({number(a)} / 2))", concentrated.rho_of_pure(a)))
    between(built, "PureConcentrated", claims)


@pytest.mark.slow
def test_the_delta_of_unknown_candidates_is_the_checked_one(built: Path) -> None:
    space = tk.KeyedCountsDomain(), tk.KeyedCountDistance()
    claims = []
    for limit, tau, threshold in ((1, 1, 3), (5, 2, 20), (50, 1, 12)):
        unknown = space >> tk.then_unknown_domain_top_k(
            tk.Approximate(tk.MaxDivergence()), k=1, scale=tau, threshold=threshold, limit=limit
        )
        _, delta = unknown.map(1)
        claims.append((f"chance {limit} (1 / {tau}) ({threshold} / {tau})", delta))
    between(built, "Unlisted", claims)


@pytest.mark.slow
def test_the_sizes_of_upper_tails_have_the_checked_law(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upper_tail, "BLOCK", 6)
    goals = "".join(
        f"Goal sum (binomial 6 (/ 2 ^ 4)) (seq 0 {n + 1}) = {total} / 2 ^ 24.\n"
        "Proof. unfold binomial. simpl. field. Qed.\n"
        for n, total in enumerate(upper_tail._exact_binomial_cdf(4))
    )
    coq.answered(
        built,
        "From Coq Require Import Reals List.\nFrom Machine Require Import Sums Survivors.\nOpen Scope R_scope.\n"
        + goals,
    )
