(* Ranges do not add up when the second step is chosen in view of the first: two steps of two answers. *)
From Coq Require Import Reals List Lra Bool.
From Machine Require Import Sums Laws Composition.
Import ListNotations.
Open Scope R_scope.

Definition answers : list bool := [true; false].
Definition P (y : bool) : R := if y then 1 / 3 else 2 / 3.
Definition P' (y : bool) : R := if y then 2 / 3 else 1 / 3.

(* After true an answer that becomes twice as likely; after false one that becomes half as likely. *)
Definition K (y z : bool) : R := if y then (if z then 1 / 100 else 99 / 100) else (if z then 2 / 100 else 98 / 100).
Definition K' (y z : bool) : R := K (negb y) z.

Theorem laws : law answers P /\ law answers P' /\ forall y, law answers (K y) /\ law answers (K' y).
Proof.
  unfold law, P, P', K', K. simpl. repeat split; try (intros [] _); try destruct y; simpl; lra.
Qed.

Theorem first_range : range answers P P' (ln 4).
Proof. intros [] [] _ _; unfold loss, P, P'; rewrite <- ln_quotient by lra; apply ln_le; lra. Qed.

Theorem second_range : forall y, range answers (K y) (K' y) (ln (99 / 49)).
Proof. intros [] [] [] _ _; unfold loss, K', K; simpl; rewrite <- ln_quotient by lra; apply ln_le; lra. Qed.

Theorem ranges_do_not_add_up : ~ range (both answers (fun _ => answers)) (joint P K) (joint P' K')
  (ln 4 + ln (99 / 49)).
Proof.
  intros small. specialize (small (true, true) (false, true) ltac:(simpl; tauto) ltac:(simpl; tauto)).
  unfold loss, joint, P, P', K', K in small. simpl in small.
  rewrite <- ln_quotient, <- ln_mult in small by lra. apply (Rle_not_lt _ _ small). apply ln_increasing; lra.
Qed.
