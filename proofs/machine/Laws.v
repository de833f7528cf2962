(* Laws on finitely many outcomes, and what one says of two of them: pure privacy, range, zCDP, (epsilon, delta). *)
From Coq Require Import Reals List Lra.
From Machine Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Lemma ln_quotient : forall x y, 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof. intros. unfold Rdiv. rewrite ln_mult, ln_Rinv; auto using Rinv_0_lt_compat. Qed.

Lemma exp_le : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [less|same]; [now apply Rlt_le, exp_increasing|rewrite same; apply Rle_refl]. Qed.

Lemma ln_le : forall x y, 0 < x -> x <= y -> ln x <= ln y.
Proof. intros x y positive [less|same]; [now apply Rlt_le, ln_increasing|rewrite same; apply Rle_refl]. Qed.

(* A law gives each outcome of the list a positive probability; together they are one. *)
Definition law {A : Type} (outcomes : list A) (P : A -> R) : Prop :=
  (forall y, In y outcomes -> 0 < P y) /\ sum P outcomes = 1.

(* The loss of P' against P at an outcome. *)
Definition loss {A : Type} (P P' : A -> R) (y : A) : R := ln (P' y / P y).

Definition pure {A : Type} (outcomes : list A) (P P' : A -> R) (eps : R) : Prop :=
  forall y, In y outcomes -> Rabs (loss P P' y) <= eps.

Definition range {A : Type} (outcomes : list A) (P P' : A -> R) (a : R) : Prop :=
  forall y z, In y outcomes -> In z outcomes -> loss P P' y - loss P P' z <= a.

(* D_alpha(P'|P) <= alpha rho for every order alpha > 1, written without a logarithm; one direction of zCDP. *)
Definition renyi {A : Type} (outcomes : list A) (P P' : A -> R) (rho : R) : Prop :=
  forall alpha, 1 < alpha ->
    sum (fun y => P y * exp (alpha * loss P P' y)) outcomes <= exp (alpha * (alpha - 1) * rho).

Definition zCDP {A : Type} (outcomes : list A) (P P' : A -> R) (rho : R) : Prop :=
  renyi outcomes P P' rho /\ renyi outcomes P' P rho.

(* P'(E) <= e^eps P(E) + delta for every event E; one direction of (epsilon, delta). *)
Definition below {A : Type} (outcomes : list A) (P P' : A -> R) (eps delta : R) : Prop :=
  forall event : A -> bool,
    sum P' (filter event outcomes) <= exp eps * sum P (filter event outcomes) + delta.

Definition approximate {A : Type} (outcomes : list A) (P P' : A -> R) (eps delta : R) : Prop :=
  below outcomes P P' eps delta /\ below outcomes P' P eps delta.

Lemma outcomes_exist : forall {A : Type} (outcomes : list A) P, law outcomes P -> outcomes <> [].
Proof. intros A outcomes P [_ one] ->. simpl in one. lra. Qed.

Section Losses.
Context {A : Type} (outcomes : list A) (P P' : A -> R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P').

Lemma positive : forall y, In y outcomes -> 0 < P y.
Proof. exact (proj1 law_P). Qed.

Lemma positive' : forall y, In y outcomes -> 0 < P' y.
Proof. exact (proj1 law_P'). Qed.

Lemma exp_loss : forall y, In y outcomes -> P y * exp (loss P P' y) = P' y.
Proof.
  intros y inside. pose proof (positive y inside). pose proof (positive' y inside).
  unfold loss. rewrite exp_ln; [field; lra|]. now apply Rdiv_lt_0_compat.
Qed.

Lemma loss_swap : forall y, In y outcomes -> loss P' P y = - loss P P' y.
Proof.
  intros y inside. pose proof (positive y inside). pose proof (positive' y inside). unfold loss.
  rewrite <- ln_Rinv by now apply Rdiv_lt_0_compat. f_equal. field. lra.
Qed.

(* Losses cannot be on one side of zero: both laws have the sum one. *)
Lemma some_loss_below : forall c, (forall y, In y outcomes -> c <= loss P P' y) -> c <= 0.
Proof.
  intros c above. destruct (Rle_or_lt c 0) as [|positive_c]; [assumption|exfalso].
  assert (one : sum P' outcomes = 1) by apply law_P'. assert (one' : sum P outcomes = 1) by apply law_P.
  assert (exp c * sum P outcomes <= sum P' outcomes).
  { rewrite <- sum_scale. apply sum_le. intros y inside. rewrite <- (exp_loss y inside), Rmult_comm.
    apply Rmult_le_compat_l; [now apply Rlt_le, positive|].
    now apply exp_le, above. }
  pose proof (exp_ineq1 c ltac:(lra)). nra.
Qed.

Lemma some_loss_above : forall c, (forall y, In y outcomes -> loss P P' y <= c) -> 0 <= c.
Proof.
  intros c under. destruct (Rle_or_lt 0 c) as [|negative]; [assumption|exfalso].
  assert (one : sum P' outcomes = 1) by apply law_P'. assert (one' : sum P outcomes = 1) by apply law_P.
  assert (sum P' outcomes <= exp c * sum P outcomes).
  { rewrite <- sum_scale. apply sum_le. intros y inside. rewrite <- (exp_loss y inside), (Rmult_comm (exp c)).
    apply Rmult_le_compat_l; [now apply Rlt_le, positive|].
    now apply exp_le, under. }
  pose proof (exp_increasing c 0 negative). rewrite exp_0 in *. nra.
Qed.

End Losses.
