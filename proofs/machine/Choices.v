(* The canonical and the joint mechanism: one choice, by the exponential mechanism, among all sets or all rankings. *)
From Coq Require Import Reals List Lra Lia.
From Machine Require Import Sums Laws Exponential Peeling Orders Utilities.
Import ListNotations.
Open Scope R_scope.

Section Choices.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Context (candidates : list I) (s s' : I -> R) (r : R) (k : nat).
Hypothesis (near : spread candidates s s' r).

(* All sets of k out of the candidates, in the order of the list. *)
Fixpoint subsets (n : nat) (l : list I) : list (list I) :=
  match n, l with
  | O, _ => [[]]
  | S _, [] => []
  | S m, i :: rest => map (cons i) (subsets m rest) ++ subsets n rest
  end.

Definition outside (y : list I) : list I := filter (fun i => if in_dec same i y then false else true) candidates.

Lemma subset_of : forall n l y, In y (subsets n l) -> length y = n /\ incl y l.
Proof.
  intros n l. revert n. induction l as [|i l IH]; intros [|n] y inside; simpl in inside.
  - destruct inside as [<-|[]]. split; [reflexivity|intros ? []].
  - easy.
  - destruct inside as [<-|[]]. split; [reflexivity|intros ? []].
  - apply in_app_or in inside. destruct inside as [inside|inside].
    + apply in_map_iff in inside. destruct inside as (z & <- & inside). destruct (IH n z inside) as [size within].
      split; [simpl; now f_equal|]. intros j [<-|here]; [now left|right; now apply within].
    + destruct (IH (S n) y inside) as [size within]. split; [assumption|]. intros j here. right. now apply within.
Qed.

Lemma outside_incl : forall y, incl (outside y) candidates.
Proof. intros y i here. now apply filter_In in here. Qed.

Lemma outside_some : forall y, NoDup candidates -> (length y < length candidates)%nat -> outside y <> [].
Proof.
  intros y distinct fewer empty. cut (length candidates <= length y)%nat; [lia|].
  apply NoDup_incl_length; [assumption|]. intros i here. destruct (in_dec same i y) as [|absent]; [assumption|].
  exfalso. assert (there : In i (outside y)) by (apply filter_In; split; [assumption|]; now destruct (in_dec same i y)).
  now rewrite empty in there.
Qed.

Lemma some_of : forall y : list I, length y = k -> (0 < k)%nat -> y <> [].
Proof. intros [|] size positive; [simpl in size; lia|discriminate]. Qed.

(* One choice costs what its utilities move. *)
Lemma one_choice : forall (outcomes : list (list I)) u u' a, outcomes <> [] -> spread outcomes u u' a ->
  range outcomes (chosen outcomes u) (chosen outcomes u') a /\ pure outcomes (chosen outcomes u) (chosen outcomes u') a.
Proof. intros. split; [now apply exponential_range|now apply exponential_pure]. Qed.

Lemma some_candidates : (0 < k <= length candidates)%nat -> candidates <> [].
Proof. intros size ->. simpl in size. lia. Qed.

Theorem canonical_margin : forall gamma, 0 <= gamma <= 1 -> NoDup candidates -> (0 < k < length candidates)%nat ->
  spread (subsets k candidates) (fun y => margin gamma s y (outside y)) (fun y => margin gamma s' y (outside y)) r.
Proof.
  intros gamma weight distinct size. destruct (all_within candidates s s' r ltac:(apply some_candidates; lia) near) as (c & between).
  replace r with (gamma * (c + r) - (1 - gamma) * c - (gamma * c - (1 - gamma) * (c + r))) by ring.
  apply spread_of_moves. intros y inside. destruct (subset_of k candidates y inside) as [count within].
  apply (margin_moves candidates); auto using outside_incl; [apply some_of; [assumption|lia]|apply outside_some; [assumption|lia]].
Qed.

Theorem canonical_distance : forall gamma, 0 <= gamma <= 1 -> NoDup candidates -> (0 < k < length candidates)%nat ->
  spread (subsets k candidates) (fun y => capped gamma s y (outside y)) (fun y => capped gamma s' y (outside y)) r.
Proof.
  intros gamma weight distinct size. destruct (all_within candidates s s' r ltac:(apply some_candidates; lia) near) as (c & between).
  replace r with (gamma * (c + r) - (1 - gamma) * c - (gamma * c - (1 - gamma) * (c + r))) by ring.
  apply spread_of_moves. intros y inside. destruct (subset_of k candidates y inside) as [count within].
  apply (capped_moves candidates); auto using outside_incl; [apply some_of; [assumption|lia]|apply outside_some; [assumption|lia]].
Qed.

Theorem joint_rankings : NoDup candidates -> (0 < k <= length candidates)%nat ->
  spread (rankings same k candidates) (of_ranking candidates s) (of_ranking candidates s') (2 * r).
Proof.
  intros distinct size. destruct (all_within candidates s s' r (some_candidates size) near) as (c & between).
  replace (2 * r) with (r - - r) by ring. apply spread_of_moves. intros y inside.
  destruct (ranking_of same k candidates y distinct inside) as (count & _ & within).
  apply (ranking_moves candidates s s' r c); try assumption. apply some_of; [assumption|lia].
Qed.

Theorem joint_sets : (0 < k <= length candidates)%nat ->
  spread (subsets k candidates) (of_set candidates s) (of_set candidates s') (2 * r).
Proof.
  intros size. destruct (all_within candidates s s' r (some_candidates size) near) as (c & between).
  replace (2 * r) with (r - - r) by ring. apply spread_of_moves. intros y inside.
  destruct (subset_of k candidates y inside) as [count within].
  apply (set_moves candidates s s' r c); try assumption. apply some_of; [assumption|lia].
Qed.

(* A choice of one costs half of that: the best score is common to all outcomes. *)
Theorem joint_one : spread (map (fun i => [i]) candidates) (of_ranking candidates s) (of_ranking candidates s') r.
Proof.
  assert (shape : forall t i, In i candidates -> of_ranking candidates t [i] = t i - hd 0 (sort (map t candidates))).
  { intros t i here. unfold of_ranking, gaps. destruct (sort (map t candidates)) as [|top rest] eqn:sorted.
    - exfalso. now apply (sort_some (map t candidates) (map_some t candidates (nonempty i _ here))).
    - simpl. destruct rest; simpl; ring. }
  intros y z here there. apply in_map_iff in here, there. destruct here as (i & <- & here), there as (j & <- & there).
  rewrite !shape by assumption. specialize (near i j here there). lra.
Qed.

End Choices.
