(* k r does not bound the range of a ranking: two places of four candidates, by interval arithmetic. *)
From Coq Require Import Reals List Lra Arith.
From Interval Require Import Tactic.
From Machine Require Import Sums Laws Exponential Peeling PeelingRange.
Import ListNotations.
Open Scope R_scope.

Definition before (i : nat) : R := match i with 0%nat => 10 | 1%nat => 5 | _ => 0 end.
Definition after (i : nat) : R := match i with 0%nat => 11 | 1%nat => 5 | 2%nat => 1 | _ => 0 end.
Definition four : list nat := [0; 1; 2; 3]%nat.

Theorem one_step_apart : spread four before after 1.
Proof. intros i j here there. simpl in *. intuition subst; simpl; lra. Qed.

Theorem k_r_is_exceeded : ~ range (rankings Nat.eq_dec 2 four)
  (peeled Nat.eq_dec four before) (peeled Nat.eq_dec four after) (2 * 1).
Proof.
  intros small. specialize (small [0; 2]%nat [1; 3]%nat ltac:(simpl; tauto) ltac:(simpl; tauto)).
  rewrite !(loss_of_ranking Nat.eq_dec 2) in small by (simpl; tauto).
  unfold growths, growth, partition, four in small. simpl in small.
  match type of small with ?a - ?b - (?c - ?d) <= _ => assert (2 < a - b - (c - d)) by interval end. lra.
Qed.
