(* What a range says of (epsilon, delta): the mean of a convex function is at most that of its chord. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws Concentrated.
Import ListNotations.
Open Scope R_scope.

Definition part (x : R) : R := Rmax 0 x.

(* The weight of the upper end, where the losses lie in [t - a, t] and only the ends occur. *)
Definition upper (a t : R) : R := (1 - exp (t - a)) / (1 - exp (- a)).

(* The hockey-stick divergence of the law on both ends. *)
Definition ends (a t eps : R) : R :=
  upper a t * part (1 - exp (eps - t)) + (1 - upper a t) * part (1 - exp (eps - t + a)).

Lemma part_convex : forall u v x z, u < v -> u <= x <= v ->
  part (x - z) <= (v - x) / (v - u) * part (u - z) + (x - u) / (v - u) * part (v - z).
Proof.
  intros u v x z order between.
  assert (0 <= (v - x) / (v - u)) by (apply Rcomplements.Rdiv_le_0_compat; lra).
  assert (0 <= (x - u) / (v - u)) by (apply Rcomplements.Rdiv_le_0_compat; lra).
  assert (one : x - z = (v - x) / (v - u) * (u - z) + (x - u) / (v - u) * (v - z)) by (field; lra).
  pose proof (Rmax_l 0 (u - z)). pose proof (Rmax_r 0 (u - z)).
  pose proof (Rmax_l 0 (v - z)). pose proof (Rmax_r 0 (v - z)). unfold part. apply Rmax_lub; nra.
Qed.

Section Curve.
Context {A : Type} (outcomes : list A) (P P' : A -> R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P').

Lemma event_le : forall eps event,
  sum P' (filter event outcomes) - exp eps * sum P (filter event outcomes)
  <= sum (fun y => P y * part (exp (loss P P' y) - exp eps)) outcomes.
Proof.
  intros eps event. rewrite <- sum_scale, <- sum_minus.
  assert (forall y, In y outcomes -> P' y - exp eps * P y = P y * (exp (loss P P' y) - exp eps)) as each.
  { intros y here. rewrite <- (exp_loss outcomes P P' law_P law_P' y here) at 1. ring. }
  pose proof (proj1 law_P) as positive. clear law_P law_P'.
  induction outcomes as [|y l IH]; simpl; [lra|].
  specialize (IH (fun z inside => each z (or_intror inside)) (fun z inside => positive z (or_intror inside))).
  specialize (each y (or_introl eq_refl)). specialize (positive y (or_introl eq_refl)).
  pose proof (Rmax_l 0 (exp (loss P P' y) - exp eps)). pose proof (Rmax_r 0 (exp (loss P P' y) - exp eps)).
  fold (part (exp (loss P P' y) - exp eps)) in *. destruct (event y); simpl; nra.
Qed.

Lemma range_below : forall a eps, 0 < a -> range outcomes P P' a ->
  exists t, 0 <= t <= a /\ below outcomes P P' eps (ends a t eps).
Proof.
  intros a eps positive near.
  destruct (interval_of_losses outcomes P P' law_P a near) as (u & within).
  assert (u <= 0) by (apply (some_loss_below outcomes P P' law_P law_P'); intros y here; apply (within y here)).
  assert (0 <= u + a) by (apply (some_loss_above outcomes P P' law_P law_P'); intros y here; apply (within y here)).
  exists (u + a). split; [lra|]. intros event.
  cut (sum (fun y => P y * part (exp (loss P P' y) - exp eps)) outcomes <= ends a (u + a) eps).
  { pose proof (event_le eps event). lra. }
  set (low := exp u). set (high := exp (u + a)). set (z := exp eps).
  assert (low < high) by (apply exp_increasing; lra).
  assert (0 < low) by apply exp_pos.
  assert (chord : sum (fun y => P y * part (exp (loss P P' y) - z)) outcomes <=
    sum (fun y => P y * ((high - exp (loss P P' y)) / (high - low) * part (low - z)
      + (exp (loss P P' y) - low) / (high - low) * part (high - z))) outcomes).
  { apply sum_le. intros y here. apply Rmult_le_compat_l; [now apply Rlt_le, (proj1 law_P)|].
    apply part_convex; [assumption|]. destruct (within y here). split; now apply exp_le. }
  eapply Rle_trans; [exact chord|]. right.
  rewrite (sum_ext _ (fun y => P y * ((high * part (low - z) - low * part (high - z)) / (high - low))
    + P' y * ((part (high - z) - part (low - z)) / (high - low)))).
  2: { intros y here. rewrite <- (exp_loss outcomes P P' law_P law_P' y here) at 1. field. lra. }
  rewrite sum_plus, !sum_scale_right, (proj2 law_P), (proj2 law_P'). unfold ends, upper.
  replace (u + a - a) with u by ring. replace (eps - (u + a) + a) with (eps - u) by ring.
  assert (scaled : forall c d, 0 < c -> part (c - d) = c * part (1 - d / c)).
  { intros c d pos. unfold part. destruct (Rle_or_lt d c) as [less|more].
    - assert (d / c <= 1) by (apply Rcomplements.Rle_div_l; lra).
      rewrite !Rmax_right by lra. field. lra.
    - assert (1 < d / c) by (apply Rcomplements.Rlt_div_r; lra).
      rewrite !Rmax_left by lra. ring. }
  rewrite (scaled high z), (scaled low z) by (unfold high, low; apply exp_pos).
  replace (z / high) with (exp (eps - (u + a))) by (unfold z, high, Rdiv; now rewrite <- exp_Ropp, <- exp_plus).
  replace (z / low) with (exp (eps - u)) by (unfold z, low, Rdiv; now rewrite <- exp_Ropp, <- exp_plus).
  generalize (part (1 - exp (eps - (u + a)))) (part (1 - exp (eps - u))). intros p q.
  unfold high, low in *. rewrite exp_plus in *. rewrite exp_Ropp. fold (exp u). pose proof (exp_pos a).
  assert (1 < exp a) by (rewrite <- exp_0; now apply exp_increasing).
  field. repeat split; nra.
Qed.

End Curve.

Theorem range_curve : forall {A : Type} (outcomes : list A) P P' a eps delta, law outcomes P -> law outcomes P' ->
  0 < a -> (forall t, 0 <= t <= a -> ends a t eps <= delta) ->
  range outcomes P P' a -> approximate outcomes P P' eps delta.
Proof.
  intros A outcomes P P' a eps delta law_P law_P' positive most near.
  assert (near' := range_swap outcomes P P' law_P law_P' a near).
  destruct (range_below outcomes P P' law_P law_P' a eps positive near) as (t & inside & bound).
  destruct (range_below outcomes P' P law_P' law_P a eps positive near') as (v & inside' & bound').
  pose proof (most t inside). pose proof (most v inside').
  split; intros event; [specialize (bound event)|specialize (bound' event)]; lra.
Qed.

(* The worst division of a range a: the curve of one bounded range. *)
Definition one_range (a eps : R) : R := (1 - exp (- ((a - eps) / 2))) * (1 - exp (- ((a - eps) / 2))) / (1 - exp (- a)).

Lemma ends_le : forall a t eps, 0 < a -> 0 <= t <= a -> 0 <= eps <= a -> ends a t eps <= one_range a eps.
Proof.
  intros a t eps positive inside order. unfold ends, one_range, upper.
  assert (low : exp (- a) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  assert (second : part (1 - exp (eps - t + a)) = 0).
  { unfold part. apply Rmax_left. pose proof (exp_le 0 (eps - t + a) ltac:(lra)). rewrite exp_0 in *. lra. }
  rewrite second, Rmult_0_r, Rplus_0_r. set (q := exp (- ((a - eps) / 2))).
  assert (0 < q <= 1) by (split; [apply exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  unfold Rdiv. rewrite Rmult_assoc, (Rmult_comm (/ _)), <- Rmult_assoc.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
  unfold part. destruct (Rle_or_lt t eps) as [early|late].
  - rewrite Rmax_left; [nra|]. pose proof (exp_le 0 (eps - t) ltac:(lra)). rewrite exp_0 in *. lra.
  - rewrite Rmax_right by (pose proof (exp_le (eps - t) 0 ltac:(lra)); rewrite exp_0 in *; lra).
    set (x := exp (t - a)). set (y := exp (eps - t)).
    assert (0 < x) by apply exp_pos. assert (0 < y) by apply exp_pos.
    assert (same : x * y = q * q) by (unfold x, y, q; rewrite <- !exp_plus; f_equal; field).
    cut (2 * q <= x + y).
    { replace ((1 - x) * (1 - y)) with (1 - (x + y) + x * y) by ring. rewrite same. lra. }
    assert (0 <= (x - y) * (x - y)) by apply Rle_0_sqr. destruct (Rle_or_lt (2 * q) (x + y)); [assumption|exfalso].
    assert ((x + y) * (x + y) < 2 * q * (2 * q)) by (apply Rmult_gt_0_lt_compat; lra). nra.
Qed.

Theorem one_range_curve : forall {A : Type} (outcomes : list A) P P' a eps, law outcomes P -> law outcomes P' ->
  0 < a -> 0 <= eps <= a -> range outcomes P P' a -> approximate outcomes P P' eps (one_range a eps).
Proof.
  intros A outcomes P P' a eps law_P law_P' positive order near.
  apply (range_curve outcomes P P' a eps); try assumption. intros t inside. now apply ends_le.
Qed.
