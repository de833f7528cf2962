(* How sinh x / x grows: the function by which a range is turned into zCDP falls behind x^2. *)
From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Laws Concentrated Hyperbolic.
Open Scope R_scope.

Definition lift (x : R) : R := ln (sinh x / x).
Definition excess (x : R) : R := x * cosh x / sinh x - 1.
Definition both (x : R) : R := lift x + excess x.

Lemma grows_after : forall (g dg : R -> R) u t, u <= t -> (forall x, u <= x <= t -> is_derive g x (dg x)) ->
  (forall x, u <= x <= t -> 0 <= dg x) -> g u <= g t.
Proof.
  intros g dg u t order derivative up. destruct (MVT_gen g u t dg) as (c & between & equal).
  - intros x. rewrite Rmin_left, Rmax_right by assumption. intros inside. apply derivative. lra.
  - intros x. rewrite Rmin_left, Rmax_right by assumption. intros inside.
    apply continuity_pt_filterlim, (@ex_derive_continuous R_AbsRing R_NormedModule). exists (dg x). now apply derivative.
  - rewrite Rmin_left, Rmax_right in between by assumption. specialize (up c between). nra.
Qed.

(* What is above every small negative number is not negative. *)
Lemma above_small : forall X M b, 0 <= M -> 0 < b -> (forall u, 0 < u <= b -> - (M * u) <= X) -> 0 <= X.
Proof.
  intros X M b nonneg positive above. destruct (Rle_or_lt 0 X) as [|negative]; [assumption|exfalso].
  assert (room : 0 < - X / (2 * (M + 1))) by (apply Rdiv_lt_0_compat; lra).
  set (u := Rmin b (- X / (2 * (M + 1)))). assert (0 < u) by now apply Rmin_glb_lt.
  specialize (above u ltac:(split; [assumption|apply Rmin_l])). assert (u <= - X / (2 * (M + 1))) by apply Rmin_r.
  assert ((M + 1) * u <= - X / 2).
  { replace (- X / 2) with ((M + 1) * (- X / (2 * (M + 1)))) by (field; lra). apply Rmult_le_compat_l; lra. }
  nra.
Qed.

Lemma sinh_derive : forall x, is_derive sinh x (cosh x).
Proof. intros x. unfold sinh, cosh. auto_derive; [trivial|field]. Qed.

Lemma cosh_derive : forall x, is_derive cosh x (sinh x).
Proof. intros x. unfold sinh, cosh. auto_derive; [trivial|field]. Qed.

Lemma square : forall x, cosh x * cosh x - sinh x * sinh x = 1.
Proof. intros x. unfold cosh, sinh. pose proof (exp_swap x). nra. Qed.

Lemma sinh_0 : sinh 0 = 0.
Proof. unfold sinh. rewrite Ropp_0. unfold Rdiv. ring. Qed.

Lemma cosh_0 : cosh 0 = 1.
Proof. unfold cosh. rewrite Ropp_0, exp_0. field. Qed.

Lemma cosh_ge_1 : forall x, 1 <= cosh x.
Proof. intros x. pose proof (square x). pose proof (cosh_pos x). nra. Qed.

Lemma sinh_above : forall x, 0 <= x -> x <= sinh x.
Proof.
  intros x nonneg. cut (0 <= sinh x - x); [lra|].
  apply (grows_from (fun y => sinh y - y) (fun y => cosh y - 1) 0); [| |rewrite sinh_0; ring|assumption].
  - intros y. unfold sinh, cosh. auto_derive; [trivial|field].
  - intros y _. pose proof (cosh_ge_1 y). lra.
Qed.

(* y cosh y - sinh y, then y sinh y + 2 - 2 cosh y, then y cosh y + 2 y - 3 sinh y, and so on, are not negative. *)
Lemma chain_1 : forall y, 0 <= y -> 0 <= y * cosh y - sinh y.
Proof.
  intros y nonneg. apply (grows_from (fun y => y * cosh y - sinh y) (fun y => y * sinh y) 0); [| | |assumption].
  - intros x. unfold sinh, cosh. auto_derive; [trivial|field].
  - intros x after. pose proof (sinh_above x after). nra.
  - rewrite sinh_0. ring.
Qed.

Lemma chain_2 : forall y, 0 <= y -> 0 <= y * sinh y + 2 - 2 * cosh y.
Proof.
  intros y nonneg. apply (grows_from (fun y => y * sinh y + 2 - 2 * cosh y) (fun y => y * cosh y - sinh y) 0); [| | |assumption].
  - intros x. unfold sinh, cosh. auto_derive; [trivial|field].
  - intros x after. now apply chain_1.
  - rewrite sinh_0, cosh_0. ring.
Qed.

Lemma chain_3 : forall y, 0 <= y -> 0 <= y * cosh y + 2 * y - 3 * sinh y.
Proof.
  intros y nonneg. apply (grows_from (fun y => y * cosh y + 2 * y - 3 * sinh y) (fun y => y * sinh y + 2 - 2 * cosh y) 0); [| | |assumption].
  - intros x. unfold sinh, cosh. auto_derive; [trivial|field].
  - intros x after. now apply chain_2.
  - rewrite sinh_0. ring.
Qed.

Lemma chain_4 : forall y, 0 <= y -> 0 <= y * sinh y + y * y - 4 * cosh y + 4.
Proof.
  intros y nonneg.
  apply (grows_from (fun y => y * sinh y + y * y - 4 * cosh y + 4) (fun y => y * cosh y + 2 * y - 3 * sinh y) 0); [| | |assumption].
  - intros x. unfold sinh, cosh. auto_derive; [trivial|field].
  - intros x after. now apply chain_3.
  - rewrite sinh_0, cosh_0. ring.
Qed.

Lemma squares : forall x, 0 <= x -> 2 * (sinh x * sinh x) <= x * sinh x * cosh x + x * x.
Proof.
  intros x nonneg. pose proof (chain_4 (2 * x) ltac:(lra)) as last.
  assert (twice : sinh (2 * x) = 2 * sinh x * cosh x).
  { unfold sinh, cosh. replace (2 * x) with (x + x) by ring. replace (- (x + x)) with (- x + - x) by ring. rewrite !exp_plus. field. }
  assert (twice' : cosh (2 * x) = 1 + 2 * (sinh x * sinh x)).
  { unfold sinh, cosh. replace (2 * x) with (x + x) by ring. replace (- (x + x)) with (- x + - x) by ring. rewrite !exp_plus.
    pose proof (exp_swap x). nra. }
  rewrite twice, twice' in last. lra.
Qed.

Lemma sinh_pos : forall x, 0 < x -> 0 < sinh x.
Proof. intros x positive. pose proof (sinh_above x ltac:(lra)). lra. Qed.

Lemma lift_derive : forall x, 0 < x -> is_derive lift x (excess x / x).
Proof.
  intros x positive. pose proof (sinh_pos x positive) as high. unfold lift, excess.
  assert (0 < sinh x / x) by now apply Rdiv_lt_0_compat.
  evar_last; [apply (is_derive_comp ln (fun x => sinh x / x)); [now apply is_derive_ln|]|].
  - apply is_derive_div; [apply sinh_derive|apply (@is_derive_id R_AbsRing)|lra].
  - unfold scal, one; simpl. unfold mult; simpl. field. lra.
Qed.

Lemma excess_derive : forall x, 0 < x -> is_derive excess x (cosh x / sinh x - x / (sinh x * sinh x)).
Proof.
  intros x positive. pose proof (sinh_pos x positive) as high. unfold excess.
  evar_last; [apply (@is_derive_minus R_AbsRing R_NormedModule); [|apply (@is_derive_const R_AbsRing R_NormedModule)]|].
  - apply is_derive_div; [apply (is_derive_mult (fun x => x) cosh); [apply (@is_derive_id R_AbsRing)|apply cosh_derive|apply Rmult_comm]|apply sinh_derive|lra].
  - pose proof (square x) as one_square. unfold minus, plus, opp, zero, mult, one; simpl. unfold mult, one; simpl.
    replace (cosh x / sinh x - x / (sinh x * sinh x))
      with (cosh x / sinh x - x * (cosh x * cosh x - sinh x * sinh x) / (sinh x * sinh x)) by (rewrite one_square; field; lra).
    field. lra.
Qed.

Lemma excess_between : forall x, 0 < x -> 0 <= excess x <= x.
Proof.
  intros x positive. pose proof (sinh_pos x positive) as high. unfold excess. split.
  - replace (x * cosh x / sinh x - 1) with ((x * cosh x - sinh x) / sinh x) by (field; lra).
    apply Rcomplements.Rdiv_le_0_compat; [apply chain_1; lra|assumption].
  - replace (x * cosh x / sinh x - 1) with (x - (x * sinh x + sinh x - x * cosh x) / sinh x) by (field; lra).
    assert (0 <= x * sinh x + sinh x - x * cosh x).
    { apply (grows_from (fun y => y * sinh y + sinh y - y * cosh y) (fun y => y * exp (- y) + sinh y) 0); [| | |lra].
      - intros y. unfold sinh, cosh. auto_derive; [trivial|field].
      - intros y after. pose proof (sinh_above y after). pose proof (exp_pos (- y)). nra.
      - rewrite sinh_0. ring. }
    assert (0 <= (x * sinh x + sinh x - x * cosh x) / sinh x) by (apply Rcomplements.Rdiv_le_0_compat; assumption). lra.
Qed.

Lemma lift_nonneg : forall x, 0 < x -> 0 <= lift x.
Proof.
  intros x positive. unfold lift. rewrite <- ln_1. apply ln_le; [lra|]. apply Rcomplements.Rle_div_r; [assumption|].
  pose proof (sinh_above x ltac:(lra)). lra.
Qed.

Lemma excess_slow : forall x, 0 < x -> x * (cosh x / sinh x - x / (sinh x * sinh x)) <= 2 * excess x.
Proof.
  intros x positive. pose proof (sinh_pos x positive) as high. pose proof (squares x ltac:(lra)). unfold excess.
  apply Rminus_le_0. replace (2 * (x * cosh x / sinh x - 1) - x * (cosh x / sinh x - x / (sinh x * sinh x)))
    with ((x * sinh x * cosh x + x * x - 2 * (sinh x * sinh x)) / (sinh x * sinh x)) by (field; lra).
  apply Rcomplements.Rdiv_le_0_compat; nra.
Qed.

Lemma excess_below_lift : forall x, 0 < x -> excess x <= 2 * lift x.
Proof.
  intros x positive. cut (0 <= 2 * lift x - excess x); [lra|]. apply (above_small _ 1 x); [lra|assumption|].
  intros u between. pose proof (lift_nonneg u ltac:(lra)). pose proof (excess_between u ltac:(lra)).
  apply Rle_trans with (2 * lift u - excess u); [lra|].
  apply (grows_after (fun y => 2 * lift y - excess y)
    (fun y => 2 * (excess y / y) - (cosh y / sinh y - y / (sinh y * sinh y)))); [lra| |].
  - intros y inside. apply (@is_derive_minus R_AbsRing R_NormedModule); [|apply excess_derive; lra].
    apply (is_derive_scal lift), lift_derive. lra.
  - intros y inside. pose proof (excess_slow y ltac:(lra)).
    replace (2 * (excess y / y) - (cosh y / sinh y - y / (sinh y * sinh y)))
      with ((2 * excess y - y * (cosh y / sinh y - y / (sinh y * sinh y))) / y)
      by (field; split; [apply Rgt_not_eq, sinh_pos; lra|lra]).
    apply Rcomplements.Rdiv_le_0_compat; lra.
Qed.

Lemma both_derive : forall x, 0 < x -> is_derive both x (excess x / x + (cosh x / sinh x - x / (sinh x * sinh x))).
Proof.
  intros x positive. apply (@is_derive_plus R_AbsRing R_NormedModule); [now apply lift_derive|now apply excess_derive].
Qed.

(* both x / x^2 falls. *)
Theorem both_falls_behind : forall x y, 0 < x <= y -> both y * (x * x) <= both x * (y * y).
Proof.
  intros x y order. cut (both y / (y * y) <= both x / (x * x)).
  { intros less. apply (Rmult_le_compat_r ((x * x) * (y * y))) in less; [|apply Rmult_le_pos; nra].
    replace (both y / (y * y) * (x * x * (y * y))) with (both y * (x * x)) in less by (field; lra).
    replace (both x / (x * x) * (x * x * (y * y))) with (both x * (y * y)) in less by (field; lra). assumption. }
  apply Ropp_le_cancel.
  apply (grows_after (fun t => - (both t / (t * t)))
    (fun t => (2 * both t - t * (excess t / t + (cosh t / sinh t - t / (sinh t * sinh t)))) / (t * t * t))); [lra| |].
  - intros t inside. assert (squared : is_derive (fun t => t * t) t (2 * t)) by (auto_derive; [trivial|ring]).
    evar_last; [apply (@is_derive_opp R_AbsRing R_NormedModule), is_derive_div; [apply both_derive; lra|exact squared|nra]|].
    unfold opp; simpl. field. split; [apply Rgt_not_eq, sinh_pos; lra|lra].
  - intros t inside. apply Rcomplements.Rdiv_le_0_compat; [|apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; lra].
    pose proof (excess_slow t ltac:(lra)). pose proof (excess_below_lift t ltac:(lra)). unfold both.
    replace (t * (excess t / t + (cosh t / sinh t - t / (sinh t * sinh t))))
      with (excess t + t * (cosh t / sinh t - t / (sinh t * sinh t))) by (field; split; [apply Rgt_not_eq, sinh_pos; lra|lra]).
    lra.
Qed.
