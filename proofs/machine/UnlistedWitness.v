(* Without dummies the strict claim for unknown candidates is false: one winner, a count of 1 being worth ln 2. *)
From Coq Require Import Reals List Lra Bool.
From Machine Require Import Sums Laws Exponential.
Import ListNotations.
Open Scope R_scope.

(* true is a key of count 1 in both tables, false the stop symbol, joined with the slots that it has to beat. Their
   weights are exponentials of scores: 2 for a key, 1 for a dummy, and 3/2 for the threshold. The second table has one
   more key. *)
Definition two : list bool := [true; false].
Definition scores (stop : R) (i : bool) : R := if i then ln 2 else ln stop.

Theorem without_dummies_the_loss_exceeds_the_claim :
  ~ range two (chosen two (scores (3 / 2))) (chosen two (scores (3 / 2 + 2))) (ln 2).
Proof.
  intros small. specialize (small false true ltac:(simpl; tauto) ltac:(simpl; tauto)).
  rewrite !loss_of_choice in small by discriminate. simpl in small.
  assert (ln (3 / 2 + 2) - ln (3 / 2) <= ln 2) as less by lra. rewrite <- ln_quotient in less by lra.
  apply (Rle_not_lt _ _ less). apply ln_increasing; lra.
Qed.

(* With dummies the first table has one in the place of the further key. *)
Theorem with_dummies_it_does_not :
  range two (chosen two (scores (3 / 2 + 1))) (chosen two (scores (3 / 2 + 2))) (ln 2).
Proof.
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (ln (3 / 2 + 1) <= ln (3 / 2 + 2)) by (apply ln_le; lra).
  assert (ln (3 / 2 + 2) - ln (3 / 2 + 1) <= ln 2) by (rewrite <- ln_quotient by lra; apply ln_le; lra).
  apply exponential_range; [discriminate|]. intros [] [] _ _; simpl; lra.
Qed.
