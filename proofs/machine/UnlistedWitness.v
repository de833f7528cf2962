(* Without dummies the strict claim for unknown candidates is false: one winner, scale 2, threshold 1/2. *)
From Coq Require Import Reals List Lra Bool.
From Interval Require Import Tactic.
From Machine Require Import Sums Laws Exponential.
Import ListNotations.
Open Scope R_scope.

(* true is a key of count 1 in both tables; false the stop symbol, joined with the slots that it has to beat.
   The second table has one more key, of count 1. All counts are divided by the scale. *)
Definition two : list bool := [true; false].
Definition scores (stop : R) (i : bool) : R := if i then 1 / 2 else stop.
Definition later : R := ln (exp (1 / 4) + exp (1 / 2)).

Theorem without_dummies_the_loss_exceeds_the_claim :
  ~ range two (chosen two (scores (1 / 4))) (chosen two (scores later)) (1 / 2).
Proof.
  intros small. specialize (small false true ltac:(simpl; tauto) ltac:(simpl; tauto)).
  rewrite !loss_of_choice in small by discriminate. unfold later in small. simpl in small.
  match type of small with ?a - _ - (?b - _) <= _ => assert (1 / 2 < a - b) by interval end. lra.
Qed.

(* With dummies the first table has one of count 0 in the place of the further key. *)
Theorem with_dummies_it_does_not :
  range two (chosen two (scores (ln (exp (1 / 4) + exp 0)))) (chosen two (scores later)) (1 / 2).
Proof.
  apply exponential_range; [discriminate|]. unfold later. intros [] [] _ _; simpl; interval.
Qed.
