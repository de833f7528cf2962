(* The algebra of permute-and-flip's range: quotients of chances to lose. *)
From Coq Require Import Reals Lra.
From Coquelicot Require Rcomplements.
From Machine Require Import Laws.
Open Scope R_scope.

Definition quotient (p v : R) : R := (1 - p * v) / (1 - v).

Lemma quotient_ge : forall p v, 0 <= p <= 1 -> 0 <= v <= 1 / 2 -> 1 <= quotient p v.
Proof. intros p v order small. unfold quotient. apply Rcomplements.Rle_div_r; [lra|]. nra. Qed.

Lemma quotient_le : forall p v, 0 <= p <= 1 -> 0 <= v <= 1 / 2 -> quotient p v <= 2 - p.
Proof. intros p v order small. unfold quotient. apply Rcomplements.Rle_div_l; [lra|]. nra. Qed.

Lemma quotient_grows : forall p v w, 0 <= p <= 1 -> 0 <= v <= w -> w <= 1 / 2 -> quotient p v <= quotient p w.
Proof.
  intros p v w order more small. unfold quotient. apply Rcomplements.Rle_div_l; [lra|].
  replace ((1 - p * w) / (1 - w) * (1 - v)) with ((1 - p * w) * (1 - v) / (1 - w)) by (field; lra).
  apply Rcomplements.Rle_div_r; [lra|]. nra.
Qed.

Lemma quotient_inverse : forall p v, 0 < p -> v <> 1 -> p * v <> 1 -> / quotient p v = quotient (/ p) (p * v).
Proof. intros p v positive one one'. unfold quotient. field. repeat split; lra. Qed.

Lemma exp_inv : forall x, exp (- x) * exp x = 1.
Proof. intros x. rewrite <- exp_plus, <- exp_0. f_equal. ring. Qed.

Lemma square_root : forall r, exp (- r) = exp (- (r / 2)) * exp (- (r / 2)).
Proof. intros r. rewrite <- exp_plus. f_equal. field. Qed.

(* What one pair of candidates can differ by; t is the lead of the second one, c the difference of the changes. *)
Definition bound (r : R) : R := exp r * ((2 - exp (- (r / 2))) * (2 - exp (- (r / 2)))).

Lemma exp_half_le : forall r, 0 <= r -> exp (- (r / 2)) <= 1.
Proof. intros r nonneg. rewrite <- exp_0. apply exp_le. lra. Qed.

Lemma bound_grows : forall c r, 0 <= c <= r -> bound c <= bound r.
Proof.
  intros c r order.
  assert (squared : forall x, 0 <= x -> bound x = (2 * exp (x / 2) - 1) * (2 * exp (x / 2) - 1)).
  { intros x nonneg. unfold bound. replace (exp x) with (exp (x / 2) * exp (x / 2)) by (rewrite <- exp_plus; f_equal; field).
    pose proof (exp_inv (x / 2)) as inverse. set (e := exp (x / 2)) in *. set (i := exp (- (x / 2))) in *.
    replace (e * e * ((2 - i) * (2 - i))) with ((2 * e - i * e) * (2 * e - i * e)) by ring. now rewrite inverse. }
  rewrite !squared by lra. pose proof (exp_le (c / 2) (r / 2) ltac:(lra)).
  pose proof (exp_le 0 (c / 2) ltac:(lra)). rewrite exp_0 in *. nra.
Qed.

Lemma bound_ge_one : forall r, 0 <= r -> 1 <= bound r.
Proof.
  intros r nonneg. apply Rle_trans with (bound 0); [|apply bound_grows; lra].
  unfold bound. replace (- (0 / 2)) with 0 by field. rewrite exp_0. lra.
Qed.

Lemma between_the_two : forall t c r A A', 0 <= t <= c -> c <= r -> 0 <= A <= 1 / 2 -> 0 <= A' -> exp (c - t) * A' <= 1 / 2 ->
  exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A') <= bound r.
Proof.
  intros t c r A A' order less small nonneg small'. apply Rle_trans with (bound c); [|apply bound_grows; lra].
  unfold bound. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
  pose proof (exp_le 0 (c - t) ltac:(lra)) as steep. rewrite exp_0 in steep.
  assert (A' <= 1 / 2) by nra. unfold Rdiv. rewrite quotient_inverse by (try apply exp_pos; lra).
  assert (p : 0 <= exp (- t) <= 1) by (split; [apply Rlt_le, exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  rewrite <- exp_Ropp.
  assert (p' : 0 <= exp (- (c - t)) <= 1) by (split; [apply Rlt_le, exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  assert (0 <= exp (c - t) * A') by (apply Rmult_le_pos; lra).
  pose proof (quotient_le _ A p small). pose proof (quotient_ge _ A p small).
  pose proof (quotient_le _ (exp (c - t) * A') p' ltac:(lra)). pose proof (quotient_ge _ (exp (c - t) * A') p' ltac:(lra)).
  apply Rle_trans with ((2 - exp (- t)) * (2 - exp (- (c - t)))).
  - apply Rmult_le_compat; lra.
  - change (c * / 2) with (c / 2). set (q := exp (- (c / 2))). assert (same : exp (- t) * exp (- (c - t)) = q * q).
    { unfold q. rewrite <- !exp_plus. f_equal. field. }
    assert (0 < q) by apply exp_pos. pose proof (exp_pos (- t)). pose proof (exp_pos (- (c - t))).
    set (a := exp (- t)) in *. set (b := exp (- (c - t))) in *. cut (2 * q <= a + b).
    { replace ((2 - a) * (2 - b)) with (4 - 2 * (a + b) + a * b) by ring. rewrite same.
      replace ((2 - q) * (2 - q)) with (4 - 4 * q + q * q) by ring. lra. }
    assert (0 <= (a - b) * (a - b)) by apply Rle_0_sqr. destruct (Rle_or_lt (2 * q) (a + b)); [assumption|exfalso].
    assert ((a + b) * (a + b) < 2 * q * (2 * q)) by (apply Rmult_gt_0_lt_compat; lra). nra.
Qed.

Lemma beyond_both : forall t c r A A', 0 <= t -> c <= t -> c <= r -> 0 <= r -> 0 <= A <= 1 / 2 -> A' <= 1 / 2 ->
  exp (- r) * A <= A' -> exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A') <= bound r.
Proof.
  intros t c r A A' lead less less' nonneg small small' more.
  assert (p : 0 <= exp (c - t) <= 1) by (split; [apply Rlt_le, exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  assert (pr : 0 <= exp (- r) <= 1) by (split; [apply Rlt_le, exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  assert (low : 0 <= exp (- r) * A) by (apply Rmult_le_pos; lra).
  pose proof (quotient_grows _ _ _ p (conj low more) small').
  pose proof (quotient_ge _ (exp (- r) * A) p ltac:(lra)).
  assert (pt : 0 <= exp (- t) <= 1) by (split; [apply Rlt_le, exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  pose proof (quotient_ge _ A pt small).
  apply Rle_trans with (exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) (exp (- r) * A))).
  { apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra. }
  apply Rle_trans with (exp c * quotient (exp (- r)) A).
  { apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. apply Rcomplements.Rle_div_l; [lra|].
    unfold quotient at 1 2 3.
    assert (0 < 1 - exp (- r) * A) by nra.
    replace ((1 - exp (- r) * A) / (1 - A) * ((1 - exp (c - t) * (exp (- r) * A)) / (1 - exp (- r) * A)))
      with ((1 - exp (c - t) * (exp (- r) * A)) / (1 - A)) by (field; lra).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
    assert (exp (c - t) * exp (- r) <= exp (- t)) by (rewrite <- exp_plus; apply exp_le; lra). nra. }
  apply Rle_trans with (exp r * (2 - exp (- r))).
  { pose proof (quotient_le _ A pr small). pose proof (quotient_ge _ A pr small).
    apply Rmult_le_compat; [apply Rlt_le, exp_pos|lra|now apply exp_le|assumption]. }
  unfold bound. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. rewrite square_root.
  pose proof (exp_half_le r nonneg). nra.
Qed.

Lemma before_both : forall t c r A A', c <= t <= 0 -> 0 <= r -> 0 <= A -> exp (- t) * A <= 1 / 2 -> 0 <= A' <= 1 / 2 ->
  exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A') <= bound r.
Proof.
  intros t c r A A' order nonneg low small small'. apply Rle_trans with 1; [|now apply bound_ge_one].
  assert (p : 0 <= exp (c - t) <= 1) by (split; [apply Rlt_le, exp_pos|rewrite <- exp_0; apply exp_le; lra]).
  pose proof (quotient_ge _ A' p small').
  pose proof (exp_le 0 (- t) ltac:(lra)) as steep. rewrite exp_0 in steep.
  assert (A <= 1 / 2) by nra.
  assert (0 <= quotient (exp (- t)) A <= 1).
  { unfold quotient. split; [apply Rcomplements.Rdiv_le_0_compat; lra|apply Rcomplements.Rle_div_l; nra]. }
  assert (quotient (exp (- t)) A / quotient (exp (c - t)) A' <= 1) by (apply Rcomplements.Rle_div_l; lra).
  assert (0 <= quotient (exp (- t)) A / quotient (exp (c - t)) A') by (apply Rcomplements.Rdiv_le_0_compat; lra).
  assert (0 < exp c <= 1) by (split; [apply exp_pos|rewrite <- exp_0; apply exp_le; lra]). nra.
Qed.
