(* A range a is zCDP of z - 1 - ln z with z = a / (1 - e^-a): the theorem. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Concentrated Images SinhGrowth RangeConcentrated.
Import ListNotations.
Open Scope R_scope.

Section Exact.
Context {A : Type} (outcomes : list A) (P P' : A -> R) (a : R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P') (positive_a : 0 < a) (near : range outcomes P P' a).

(* A loss between w and w + a has a moment below the chord. *)
Lemma chord : forall w alpha L, 1 < alpha -> w <= L <= w + a ->
  exp (alpha * L) * (exp (w + a) - exp w) <=
  (exp L - exp w) * exp (alpha * (w + a)) + (exp (w + a) - exp L) * exp (alpha * w).
Proof.
  intros w alpha L order between.
  pose proof (bernoulli alpha (w + a - L) order) as high. pose proof (bernoulli alpha (w - L) order) as low.
  pose proof (exp_le w L ltac:(lra)). pose proof (exp_le L (w + a) ltac:(lra)).
  replace (exp (alpha * (w + a))) with (exp (alpha * L) * exp (alpha * (w + a - L))) by (rewrite <- exp_plus; f_equal; ring).
  replace (exp (alpha * w)) with (exp (alpha * L) * exp (alpha * (w - L))) by (rewrite <- exp_plus; f_equal; ring).
  pose proof (exp_pos (alpha * L)) as scale.
  assert (up : exp (w + a - L) * exp L = exp (w + a)) by (rewrite <- exp_plus; f_equal; ring).
  assert (down : exp (w - L) * exp L = exp w) by (rewrite <- exp_plus; f_equal; ring).
  set (E := exp (w + a - L)) in *. set (F := exp (w - L)) in *. set (x := exp L) in *.
  set (top := exp (w + a)) in *. set (bottom := exp w) in *.
  apply Rle_trans with (exp (alpha * L) * ((x - bottom) * (1 + alpha * (E - 1)) + (top - x) * (1 + alpha * (F - 1)))).
  - apply Rmult_le_compat_l; [lra|]. rewrite <- up, <- down. apply Req_le. ring.
  - assert ((x - bottom) * (1 + alpha * (E - 1)) <= (x - bottom) * exp (alpha * (w + a - L))) by (apply Rmult_le_compat_l; lra).
    assert ((top - x) * (1 + alpha * (F - 1)) <= (top - x) * exp (alpha * (w - L))) by (apply Rmult_le_compat_l; lra).
    replace ((x - bottom) * (exp (alpha * L) * exp (alpha * (w + a - L))) + (top - x) * (exp (alpha * L) * exp (alpha * (w - L))))
      with (exp (alpha * L) * ((x - bottom) * exp (alpha * (w + a - L)) + (top - x) * exp (alpha * (w - L)))) by ring.
    apply Rmult_le_compat_l; lra.
Qed.

Lemma total_of_chord : forall u v c d,
  sum (fun y => P y * ((exp (loss P P' y) - u) * c + (v - exp (loss P P' y)) * d)) outcomes = (1 - u) * c + (v - 1) * d.
Proof.
  intros u v c d. rewrite (sum_ext _ (fun y => (P' y * c + P y * - (u * c)) + (P y * (v * d) + P' y * - d))).
  - rewrite !sum_plus, !sum_scale_right, (proj2 law_P), (proj2 law_P'). ring.
  - intros y here. rewrite <- (exp_loss outcomes P P' law_P law_P' y here). ring.
Qed.

Lemma bernoulli_ends : forall alpha, 1 < alpha -> alpha * (exp a - 1) <= exp (alpha * a) - 1.
Proof. intros alpha order. pose proof (bernoulli alpha a order). lra. Qed.

Lemma price_of_worst : forall alpha, 1 < alpha ->
  alpha * ln ((exp (alpha * a) - 1) / alpha) - (alpha - 1) * ln ((exp (alpha * a) - exp a) / (alpha - 1)) - ln (exp a - 1)
  <= alpha * (alpha - 1) * price a.
Proof.
  intros alpha order. set (c := a / 2). assert (0 < c) by (unfold c; lra).
  pose proof (ln_difference c alpha alpha ltac:(assumption) ltac:(lra)) as one.
  pose proof (ln_difference c (alpha + 1) (alpha - 1) ltac:(assumption) ltac:(lra)) as two.
  pose proof (ln_difference c 1 1 ltac:(assumption) ltac:(lra)) as last.
  replace ((alpha + alpha) * c) with (alpha * a) in one by (unfold c; field).
  replace ((alpha - alpha) * c) with 0 in one by ring. rewrite exp_0 in one.
  replace ((alpha + 1 + (alpha - 1)) * c) with (alpha * a) in two by (unfold c; field).
  replace ((alpha + 1 - (alpha - 1)) * c) with a in two by (unfold c; field).
  replace ((1 + 1) * c) with a in last by (unfold c; field). replace ((1 - 1) * c) with 0 in last by ring.
  rewrite exp_0, Rdiv_1, !Rmult_1_l in last. rewrite one, two, last, price_is_both by assumption. fold c.
  pose proof (three (alpha - 1) c ltac:(assumption) ltac:(lra)) as enough.
  replace (1 + (alpha - 1)) with alpha in enough by ring.
  replace (alpha * (alpha * c + ln (2 * c) + lift (alpha * c)) - (alpha - 1) * ((alpha + 1) * c + ln (2 * c) + lift ((alpha - 1) * c))
    - (c + ln (2 * c) + lift c)) with (alpha * lift (alpha * c) - (alpha - 1) * lift ((alpha - 1) * c) - lift c) by ring.
  replace (alpha * (alpha - 1) * both c) with ((alpha - 1) * alpha * both c) by ring. exact enough.
Qed.

Lemma exact_moment : renyi outcomes P P' (price a).
Proof.
  intros alpha order. destruct (interval_of_losses outcomes P P' law_P a near) as (w & within).
  assert (low : w <= 0) by (apply (some_loss_below outcomes P P' law_P law_P'); intros y here; now apply within).
  assert (high : 0 <= w + a) by (apply (some_loss_above outcomes P P' law_P law_P'); intros y here; now apply within).
  pose proof (exp_increasing 0 a positive_a) as more. rewrite exp_0 in more.
  set (B := exp a - 1). set (A' := exp (alpha * a) - 1).
  set (y := (exp (- w) - 1) / B). assert (nonneg : 0 <= y).
  { apply Rcomplements.Rdiv_le_0_compat; [|unfold B; lra]. pose proof (exp_le 0 (- w) ltac:(lra)) as up. rewrite exp_0 in up. lra. }
  assert (at_B : 1 + y * B = exp (- w)) by (unfold y; field; unfold B; lra).
  apply Rle_trans with (exp (ln (1 + y * A') - alpha * ln (1 + y * B))).
  2: { apply exp_le. pose proof (bernoulli_ends alpha order) as ends.
       eapply Rle_trans; [apply worst; [assumption|unfold B; lra|assumption|assumption]|].
       replace (A' - B) with (exp (alpha * a) - exp a) by (unfold A', B; ring). now apply price_of_worst. }
  assert (some : 0 < 1 + y * A').
  { assert (0 <= A') by (pose proof (bernoulli_ends alpha order); unfold A'; nra). nra. }
  rewrite at_B, ln_exp. unfold Rminus at 1. rewrite exp_plus, exp_ln by assumption.
  replace (- (alpha * - w)) with (alpha * w) by ring.
  apply Rmult_le_reg_r with (exp (w + a) - exp w); [pose proof (exp_increasing w (w + a) ltac:(lra)); lra|].
  rewrite <- sum_scale_right.
  eapply Rle_trans; [apply sum_le; intros z here; rewrite Rmult_assoc; apply Rmult_le_compat_l;
    [apply Rlt_le, (proj1 law_P z here)|apply (chord w alpha); [assumption|now apply within]]|].
  rewrite total_of_chord. apply Req_le.
  replace (alpha * (w + a)) with (alpha * w + alpha * a) by ring. rewrite !exp_plus.
  assert (inverse : exp w * exp (- w) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  replace (exp (alpha * a)) with (A' + 1) by (unfold A'; ring). replace (exp a) with (B + 1) by (unfold B; ring).
  assert (weight : exp w * (y * B) = 1 - exp w).
  { replace (y * B) with (exp (- w) - 1) by lra. rewrite Rmult_minus_distr_l, inverse. ring. }
  replace ((1 + y * A') * exp (alpha * w) * (exp w * (B + 1) - exp w))
    with (exp (alpha * w) * (exp w * B + A' * (exp w * (y * B)))) by ring.
  rewrite weight. ring.
Qed.

End Exact.

Theorem range_to_exact_zCDP : forall {A : Type} (outcomes : list A) P P' a, law outcomes P -> law outcomes P' -> 0 < a ->
  range outcomes P P' a -> zCDP outcomes P P' (price a).
Proof.
  intros A outcomes P P' a good good' positive near. split; apply exact_moment; try assumption.
  now apply range_swap.
Qed.
