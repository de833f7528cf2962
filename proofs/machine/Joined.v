(* Laws with a law between them at every division of the cost: the curve of two Laplace laws bounds theirs. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws Exponential.
Import ListNotations.
Open Scope R_scope.

Definition joined {A : Type} (outcomes : list A) (P P' : A -> R) (E : R) : Prop :=
  forall t, 0 <= t <= E -> exists between, law outcomes between /\
    forall y, In y outcomes -> between y <= exp t * P y /\ between y <= exp (E - t) * P' y.

Lemma sum_complement : forall {A : Type} (P : A -> R) event l,
  sum P (filter event l) + sum P (filter (fun y => negb (event y)) l) = sum P l.
Proof. induction l as [|y l IH]; simpl; [lra|]. destruct (event y); simpl; lra. Qed.

Lemma sum_filter_le : forall {A : Type} (P Q : A -> R) c event l, (forall y, In y l -> P y <= c * Q y) ->
  sum P (filter event l) <= c * sum Q (filter event l).
Proof.
  intros A P Q c event l less. rewrite <- sum_scale. apply sum_le. intros y inside. apply filter_In in inside.
  now apply less.
Qed.

Section Curve.
Context {A : Type} (outcomes : list A) (P P' : A -> R) (E eps : R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P').
Hypothesis (inside : 0 <= eps <= E).

Lemma between_below : forall Q, law outcomes Q ->
  (forall y, In y outcomes -> Q y <= exp ((E + eps) / 2) * P y /\ Q y <= exp ((E - eps) / 2) * P' y) ->
  below outcomes P P' eps (1 - exp (- ((E - eps) / 2))).
Proof.
  intros Q law_Q near event. set (q := exp (- ((E - eps) / 2))).
  pose proof (sum_complement P' event outcomes) as all'. rewrite (proj2 law_P') in all'.
  pose proof (sum_complement Q event outcomes) as all. rewrite (proj2 law_Q) in all.
  pose proof (sum_filter_le Q P _ event outcomes (fun y here => proj1 (near y here))) as one.
  pose proof (sum_filter_le Q P' _ (fun y => negb (event y)) outcomes (fun y here => proj2 (near y here))) as two.
  assert (0 < q) by apply exp_pos.
  assert (half : q * exp ((E - eps) / 2) = 1) by (unfold q; rewrite <- exp_plus; replace (- ((E - eps) / 2) + (E - eps) / 2) with 0 by lra; apply exp_0).
  assert (rest : q * exp ((E + eps) / 2) = exp eps) by (unfold q; rewrite <- exp_plus; f_equal; lra).
  apply (Rmult_le_compat_l q) in one, two; try lra. rewrite <- Rmult_assoc, rest in one.
  rewrite <- Rmult_assoc, half in two. nra.
Qed.

End Curve.

Theorem joined_curve : forall {A : Type} (outcomes : list A) P P' E eps, law outcomes P -> law outcomes P' ->
  joined outcomes P P' E -> 0 <= eps <= E -> approximate outcomes P P' eps (1 - exp (- ((E - eps) / 2))).
Proof.
  intros A outcomes P P' E eps law_P law_P' together inside. split.
  - destruct (together ((E + eps) / 2) ltac:(lra)) as (Q & law_Q & near).
    apply (between_below outcomes P P' E eps law_P' Q law_Q). intros y here. destruct (near y here) as [one two].
    split; [assumption|]. now replace ((E - eps) / 2) with (E - (E + eps) / 2) by lra.
  - destruct (together ((E - eps) / 2) ltac:(lra)) as (Q & law_Q & near).
    apply (between_below outcomes P' P E eps law_P Q law_Q). intros y here. destruct (near y here) as [one two].
    split; [|assumption]. now replace ((E + eps) / 2) with (E - (E - eps) / 2) by lra.
Qed.

(* What has a pure loss in proportion to the range distance, for all scores, has such laws. *)
Section Segments.
Context {I A : Type} (candidates : list I) (outcomes : list A) (Q : (I -> R) -> A -> R) (c : R).
Hypothesis (laws : forall s, law outcomes (Q s)).
Hypothesis (linear : forall s s' r, spread candidates s s' r -> pure outcomes (Q s) (Q s') (c * r)).
Hypothesis (nonneg : 0 <= c).

Lemma pure_le : forall P P' e y, law outcomes P -> law outcomes P' -> pure outcomes P P' e -> In y outcomes ->
  P' y <= exp e * P y /\ P y <= exp e * P' y.
Proof.
  intros P P' e y law_P law_P' near here. pose proof (near y here) as loss_y. apply Rcomplements.Rabs_le_between in loss_y.
  pose proof (proj1 law_P y here). pose proof (proj1 law_P' y here).
  pose proof (exp_loss outcomes P P' law_P law_P' y here) as equal.
  assert (exp (loss P P' y) <= exp e) by (apply exp_le; lra).
  assert (exp (- e) <= exp (loss P P' y)) by (apply exp_le; lra).
  assert (exp e * exp (- e) = 1) by (rewrite <- exp_plus; replace (e + - e) with 0 by lra; apply exp_0).
  pose proof (exp_pos e). split; [nra|].
  assert (P y * exp (- e) <= P' y) by nra. nra.
Qed.

Theorem linear_is_joined : forall s s' r, spread candidates s s' r -> 0 <= r ->
  joined outcomes (Q s) (Q s') (c * r).
Proof.
  intros s s' r near positive t inside.
  destruct (Req_dec (c * r) 0) as [none|some].
  - exists (Q s). split; [apply laws|]. intros y here. rewrite none in *. replace t with 0 by lra.
    replace (0 - 0) with 0 by lra. rewrite exp_0. split; [lra|].
    pose proof (linear s s' r near) as equal. rewrite none in equal.
    destruct (pure_le _ _ 0 y (laws s) (laws s') equal here) as [_ other]. now rewrite exp_0 in other.
  - set (v := t / (c * r)). assert (0 < c * r) by nra.
    assert (0 <= v) by (unfold v; apply Rcomplements.Rdiv_le_0_compat; lra).
    assert (v <= 1) by (unfold v; apply Rcomplements.Rle_div_l; lra).
    assert (part : t = c * (v * r)) by (unfold v; field; nra).
    set (m := fun i => s i + v * (s' i - s i)). exists (Q m). split; [apply laws|]. intros y here.
    assert (first : spread candidates s m (v * r)).
    { intros i j this that. unfold m. specialize (near i j this that). nra. }
    assert (rest : spread candidates m s' ((1 - v) * r)).
    { intros i j this that. unfold m. specialize (near i j this that). nra. }
    split.
    + rewrite part. now apply (pure_le (Q s) (Q m)); auto.
    + replace (c * r - t) with (c * ((1 - v) * r)) by (rewrite part; ring).
      now apply (pure_le (Q m) (Q s')); auto.
Qed.

End Segments.

Theorem exponential_curve : forall {I : Type} (candidates : list I) s s' r eps, candidates <> [] ->
  spread candidates s s' r -> 0 <= eps <= r ->
  approximate candidates (chosen candidates s) (chosen candidates s') eps (1 - exp (- ((r - eps) / 2))).
Proof.
  intros I candidates s s' r eps some near inside. rewrite <- (Rmult_1_l r) at 1.
  apply joined_curve; try (now apply is_a_law); [|lra].
  apply (linear_is_joined candidates candidates (chosen candidates) 1); try lra; try assumption.
  - intros t. now apply is_a_law.
  - intros t u e close. rewrite Rmult_1_l. now apply exponential_pure.
Qed.
