(* k r does not bound the range of a ranking: two places of four candidates whose weights are whole numbers. *)
From Coq Require Import Reals List Lra Arith.
From Machine Require Import Sums Laws Exponential Peeling.
Import ListNotations.
Open Scope R_scope.

(* The weights exp(s i), before and after; scores change by 0 or ln 2. *)
Definition before (i : nat) : R := match i with 0%nat => 10000 | 1%nat => 100 | _ => 1 end.
Definition after (i : nat) : R := match i with 0%nat => 20000 | 1%nat => 100 | 2%nat => 2 | _ => 1 end.
Definition scores (w : nat -> R) (i : nat) : R := ln (w i).
Definition four : list nat := [0; 1; 2; 3]%nat.

Lemma weight : forall w i, 0 < w i -> exp (scores w i) = w i.
Proof. intros w i positive. now apply exp_ln. Qed.

Theorem one_step_apart : spread four (scores before) (scores after) (ln 2).
Proof.
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (ten : ln 20000 = ln 2 + ln 10000) by (rewrite <- ln_mult by lra; f_equal; lra).
  intros i j here there. unfold scores. simpl in *. intuition subst; simpl; rewrite ?ten, ?ln_1; lra.
Qed.

Theorem k_r_is_exceeded : ~ range (rankings Nat.eq_dec 2 four)
  (peeled Nat.eq_dec four (scores before)) (peeled Nat.eq_dec four (scores after)) (INR 2 * ln 2).
Proof.
  intros small. specialize (small [0; 2]%nat [1; 3]%nat ltac:(simpl; tauto) ltac:(simpl; tauto)).
  unfold loss, peeled, chosen, partition, four in small. simpl in small.
  rewrite !weight in small by (simpl; lra). simpl in small.
  rewrite <- ln_quotient in small by lra. replace ((1 + 1) * ln 2) with (ln 4) in small.
  - apply (Rle_not_lt _ _ small). apply ln_increasing; lra.
  - replace 4 with (2 * 2) by lra. rewrite ln_mult by lra. lra.
Qed.
