(* The exponential mechanism: its law, its pure privacy and its range. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws.
Import ListNotations.
Open Scope R_scope.

(* Of the candidates that are listed, i is chosen with a probability in proportion to exp(s i). *)
Definition partition {I : Type} (candidates : list I) (s : I -> R) : R := sum (fun i => exp (s i)) candidates.

Definition chosen {I : Type} (candidates : list I) (s : I -> R) (i : I) : R := exp (s i) / partition candidates s.

(* The range distance of two vectors of scores, in units of the scale, is at most r. *)
Definition spread {I : Type} (candidates : list I) (s s' : I -> R) (r : R) : Prop :=
  forall i j, In i candidates -> In j candidates -> (s' i - s i) - (s' j - s j) <= r.

Section Mechanism.
Context {I : Type} (candidates : list I) (s s' : I -> R) (r : R).
Hypothesis (some : candidates <> []).

Lemma partition_pos : forall t : I -> R, 0 < partition candidates t.
Proof. intros t. apply sum_pos; [assumption|]. intros. apply exp_pos. Qed.

Theorem is_a_law : law candidates (chosen candidates s).
Proof.
  pose proof (partition_pos s). split.
  - intros i _. apply Rdiv_lt_0_compat; [apply exp_pos|assumption].
  - unfold chosen, Rdiv. rewrite sum_scale_right. fold (partition candidates s). field. lra.
Qed.

(* How the normalising sum grows is the same for every candidate. *)
Definition growth : R := ln (partition candidates s' / partition candidates s).

Lemma loss_of_choice : forall i,
  loss (chosen candidates s) (chosen candidates s') i = (s' i - s i) - growth.
Proof.
  intros i. pose proof (partition_pos s). pose proof (partition_pos s').
  pose proof (exp_pos (s i)). pose proof (exp_pos (s' i)). unfold loss, growth, chosen.
  replace (exp (s' i) / partition candidates s' / (exp (s i) / partition candidates s))
    with (exp (s' i) / exp (s i) / (partition candidates s' / partition candidates s)) by (field; lra).
  rewrite ln_quotient by (apply Rdiv_lt_0_compat; assumption).
  rewrite (ln_quotient (exp (s' i))) by assumption. now rewrite !ln_exp.
Qed.

Theorem exponential_range : spread candidates s s' r ->
  range candidates (chosen candidates s) (chosen candidates s') r.
Proof. intros near i j here there. rewrite !loss_of_choice. specialize (near i j here there). lra. Qed.

Lemma growth_le : forall c, (forall i, In i candidates -> s' i - s i <= c) -> growth <= c.
Proof.
  intros c less. pose proof (partition_pos s). pose proof (partition_pos s'). unfold growth.
  rewrite <- (ln_exp c). apply ln_le; [now apply Rdiv_lt_0_compat|].
  apply Rcomplements.Rle_div_l; [assumption|]. unfold partition. rewrite <- sum_scale. apply sum_le. intros i inside.
  rewrite <- exp_plus. apply exp_le. specialize (less i inside). lra.
Qed.

Lemma growth_ge : forall c, (forall i, In i candidates -> c <= s' i - s i) -> c <= growth.
Proof.
  intros c more. pose proof (partition_pos s). pose proof (partition_pos s'). unfold growth.
  rewrite <- (ln_exp c). apply ln_le; [apply exp_pos|].
  apply Rcomplements.Rle_div_r; [assumption|]. unfold partition. rewrite <- sum_scale. apply sum_le. intros i inside.
  rewrite <- exp_plus. apply exp_le. specialize (more i inside). lra.
Qed.

Theorem exponential_pure : spread candidates s s' r ->
  pure candidates (chosen candidates s) (chosen candidates s') r.
Proof.
  intros near i here. rewrite loss_of_choice. apply Rabs_le. split.
  - cut (growth <= s' i - s i + r); [lra|]. apply growth_le. intros j there. specialize (near j i there here). lra.
  - cut (s' i - s i - r <= growth); [lra|]. apply growth_ge. intros j there. specialize (near i j here there). lra.
Qed.

End Mechanism.

(* Scores at range distance at most r: all changes lie in one interval of that length. *)
Section Within.
Context {I : Type}.

Lemma least_value : forall (f : I -> R) (l : list I), l <> [] ->
  exists c, (exists i, In i l /\ f i = c) /\ forall i, In i l -> c <= f i.
Proof.
  induction l as [|i l IH]; intros some; [easy|]. destruct l as [|j l].
  - exists (f i). split; [exists i; simpl; auto|]. intros ? [<-|[]]. lra.
  - destruct IH as (c & (m & inside & <-) & least); [discriminate|].
    destruct (Rle_or_lt (f i) (f m)) as [less|more].
    + exists (f i). split; [exists i; simpl; auto|]. intros h [<-|there]; [lra|]. specialize (least h there). lra.
    + exists (f m). split; [exists m; simpl in *; auto|]. intros h [<-|there]; [lra|]. now apply least.
Qed.

Lemma all_within : forall (l : list I) s s' r, l <> [] -> spread l s s' r ->
  exists c, forall i, In i l -> c <= s' i - s i <= c + r.
Proof.
  intros l s s' r some near. destruct (least_value (fun i => s' i - s i) l some) as (c & (m & here & <-) & least).
  exists (s' m - s m). intros i there. specialize (least i there). specialize (near i m there here). lra.
Qed.

Lemma spread_nonneg : forall (i : I) l s s' r, In i l -> spread l s s' r -> 0 <= r.
Proof. intros i l s s' r inside near. specialize (near i i inside inside). lra. Qed.

Lemma spread_of_moves : forall (l : list I) u u' lo hi, (forall y, In y l -> lo <= u' y - u y <= hi) ->
  spread l u u' (hi - lo).
Proof. intros l u u' lo hi moves y z here there. specialize (moves y here) as one. specialize (moves z there). lra. Qed.

End Within.
