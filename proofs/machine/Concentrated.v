(* Hoeffding's lemma for finite laws: a range a costs a^2/8 of zCDP, and a pure loss eps costs eps^2/2. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws.
Import ListNotations.
Open Scope R_scope.

Lemma mean_value : forall (f df : R -> R), (forall t, is_derive f t (df t)) ->
  forall a b, a <= b -> exists c, a <= c <= b /\ f b - f a = df c * (b - a).
Proof.
  intros f df derivative a b order.
  destruct (MVT_gen f a b df) as (c & between & equal).
  - intros t _. apply derivative.
  - intros t _. apply continuity_pt_filterlim, (@ex_derive_continuous R_AbsRing R_NormedModule). exists (df t). apply derivative.
  - exists c. rewrite Rmin_left, Rmax_right in between by assumption. now split.
Qed.

Section Moments.
Context {A : Type} (outcomes : list A) (P L : A -> R) (u a : R).
Hypothesis (some : outcomes <> []).
Hypothesis (positive : forall y, In y outcomes -> 0 < P y).
Hypothesis (within : forall y, In y outcomes -> u <= L y <= u + a).

Definition moment (n : nat) (t : R) : R := sum (fun y => P y * L y ^ n * exp (t * L y)) outcomes.

Lemma moment_derive : forall n t, is_derive (moment n) t (moment (S n) t).
Proof.
  intros n t. unfold moment. clear some positive within. induction outcomes as [|y l IH]; simpl.
  - apply (@is_derive_const R_AbsRing R_NormedModule).
  - apply (@is_derive_plus R_AbsRing R_NormedModule); [|exact IH]. auto_derive; [trivial|]. simpl. ring.
Qed.

Lemma moment_pos : forall t, 0 < moment 0 t.
Proof.
  intros t. apply sum_pos; [assumption|]. intros y inside. simpl. rewrite Rmult_1_r.
  apply Rmult_lt_0_compat; [now apply positive|apply exp_pos].
Qed.

(* The logarithm of the moments, less a parabola that is zero at 0 and at 1. *)
Definition gap (t : R) : R := ln (moment 0 t) - a ^ 2 / 8 * (t * (t - 1)).
Definition slope (t : R) : R := moment 1 t / moment 0 t - a ^ 2 / 8 * (2 * t - 1).
Definition bend (t : R) : R :=
  (moment 2 t * moment 0 t - moment 1 t * moment 1 t) / moment 0 t ^ 2 - a ^ 2 / 4.

Lemma gap_derive : forall t, is_derive gap t (slope t).
Proof.
  intros t. pose proof (moment_pos t). unfold gap, slope.
  apply (@is_derive_minus R_AbsRing R_NormedModule).
  - evar_last; [apply (is_derive_comp ln (moment 0)); [apply is_derive_ln; assumption|apply moment_derive]|].
    unfold scal; simpl; unfold mult; simpl. field. lra.
  - auto_derive; [trivial|field].
Qed.

Lemma slope_derive : forall t, is_derive slope t (bend t).
Proof.
  intros t. pose proof (moment_pos t). unfold slope, bend.
  apply (@is_derive_minus R_AbsRing R_NormedModule).
  - apply is_derive_div; [apply moment_derive|apply moment_derive|lra].
  - auto_derive; [trivial|field].
Qed.

(* A variance on an interval of length a is at most a^2/4. *)
Lemma bend_le : forall t, bend t <= 0.
Proof.
  intros t. pose proof (moment_pos t) as pos. unfold bend.
  assert (bound : moment 2 t <= (2 * u + a) * moment 1 t - u * (u + a) * moment 0 t).
  { unfold moment. rewrite <- !sum_scale, <- sum_minus. apply sum_le. intros y inside. simpl.
    pose proof (positive y inside). pose proof (exp_pos (t * L y)). pose proof (within y inside).
    assert (0 < P y * exp (t * L y)) by now apply Rmult_lt_0_compat.
    assert (0 <= (L y - u) * (u + a - L y)) by (apply Rmult_le_pos; lra). nra. }
  set (m0 := moment 0 t) in *. set (m1 := moment 1 t) in *. set (m2 := moment 2 t) in *.
  assert (m2 * m0 <= ((2 * u + a) * m1 - u * (u + a) * m0) * m0) by (apply Rmult_le_compat_r; lra).
  assert (0 <= (m1 - (u + a / 2) * m0) ^ 2) by apply pow2_ge_0.
  cut ((m2 * m0 - m1 * m1) / m0 ^ 2 <= a ^ 2 / 4); [lra|].
  apply Rle_div_l; [now apply pow_lt|]. nra.
Qed.

Lemma slope_falls : forall t v, t <= v -> slope v <= slope t.
Proof.
  intros t v order. destruct (mean_value slope bend slope_derive t v order) as (c & _ & equal).
  pose proof (bend_le c). nra.
Qed.

Theorem hoeffding : moment 0 0 = 1 -> moment 0 1 = 1 ->
  forall alpha, 1 <= alpha -> moment 0 alpha <= exp (alpha * (alpha - 1) * (a ^ 2 / 8)).
Proof.
  intros zero one alpha order.
  destruct (mean_value gap slope gap_derive 0 1 Rle_0_1) as (c & inner & flat).
  destruct (mean_value gap slope gap_derive 1 alpha order) as (d & outer & rise).
  assert (gap 0 = 0) by (unfold gap; rewrite zero, ln_1; lra).
  assert (gap 1 = 0) by (unfold gap; rewrite one, ln_1; lra).
  assert (slope d <= slope c) by (apply slope_falls; lra).
  assert (gap alpha <= 0) by nra.
  rewrite <- (exp_ln (moment 0 alpha)) by apply moment_pos. apply exp_le. unfold gap in *. lra.
Qed.

End Moments.

Section Conversions.
Context {A : Type} (outcomes : list A) (P P' : A -> R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P').

Lemma interval_of_losses : forall a, range outcomes P P' a ->
  exists u, forall y, In y outcomes -> u <= loss P P' y <= u + a.
Proof.
  intros a near. assert (some := outcomes_exist outcomes P law_P). clear law_P law_P'.
  cut (exists m, In m outcomes /\ forall y, In y outcomes -> loss P P' m <= loss P P' y).
  { intros (m & here & least). exists (loss P P' m). intros y there.
    specialize (least y there). specialize (near y m there here). lra. }
  clear near. induction outcomes as [|y l IH]; [easy|]. destruct l as [|z l].
  - exists y. split; [now left|]. intros ? [<-|[]]. lra.
  - destruct IH as (m & here & least); [discriminate|].
    destruct (Rle_or_lt (loss P P' y) (loss P P' m)) as [less|more].
    + exists y. split; [now left|]. intros w [<-|there]; [lra|]. specialize (least w there). lra.
    + exists m. split; [now right|]. intros w [<-|there]; [lra|]. now apply least.
Qed.

Lemma range_to_renyi : forall a, range outcomes P P' a -> renyi outcomes P P' (a ^ 2 / 8).
Proof.
  intros a near alpha order. destruct (interval_of_losses a near) as (u & within).
  pose proof (hoeffding outcomes P (loss P P') u a (outcomes_exist _ _ law_P) (proj1 law_P) within) as bound.
  unfold moment in bound. simpl in bound.
  rewrite (sum_ext _ (fun y => P y * 1 * exp (alpha * loss P P' y))) by (intros; ring).
  apply bound; [| |lra].
  - rewrite (sum_ext _ P); [apply law_P|]. intros. rewrite Rmult_0_l, exp_0. ring.
  - rewrite (sum_ext _ P'); [apply law_P'|]. intros y inside. rewrite Rmult_1_l, Rmult_1_r.
    now apply (exp_loss outcomes).
Qed.

End Conversions.

Section Both.
Context {A : Type} (outcomes : list A) (P P' : A -> R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P').

Lemma range_swap : forall a, range outcomes P P' a -> range outcomes P' P a.
Proof.
  intros a near y z here there. rewrite !(loss_swap outcomes P P' law_P law_P') by assumption.
  specialize (near z y there here). lra.
Qed.

Theorem range_to_zCDP : forall a, range outcomes P P' a -> zCDP outcomes P P' (a ^ 2 / 8).
Proof. intros a near. split; apply range_to_renyi; auto using range_swap. Qed.

Theorem pure_to_range : forall eps, pure outcomes P P' eps -> range outcomes P P' (2 * eps).
Proof.
  intros eps near y z here there. pose proof (near y here) as one. pose proof (near z there) as two.
  apply Rabs_le_between in one, two. lra.
Qed.

Theorem pure_to_zCDP : forall eps, pure outcomes P P' eps -> zCDP outcomes P P' (eps ^ 2 / 2).
Proof.
  intros eps near. replace (eps ^ 2 / 2) with ((2 * eps) ^ 2 / 8) by field. now apply range_to_zCDP, pure_to_range.
Qed.

Theorem range_to_pure : forall a, range outcomes P P' a -> pure outcomes P P' a.
Proof.
  intros a near y here. apply Rabs_le. split.
  - cut (0 <= loss P P' y + a); [lra|]. apply (some_loss_above outcomes P P' law_P law_P').
    intros z there. specialize (near z y there here). lra.
  - cut (loss P P' y - a <= 0); [lra|]. apply (some_loss_below outcomes P P' law_P law_P').
    intros z there. specialize (near y z here there). lra.
Qed.

End Both.
