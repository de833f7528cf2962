(* A pure loss epsilon is zCDP of epsilon tanh(epsilon / 2), which is exact: randomised response attains it. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Concentrated Images Hyperbolic.
Import ListNotations.
Open Scope R_scope.

(* The moment of randomised response, against the claim. *)
Lemma two_points : forall eps alpha, 0 <= eps -> 1 <= alpha ->
  cosh ((alpha - / 2) * eps) / cosh (eps / 2) <= exp (alpha * (alpha - 1) * (eps * tanh (eps / 2))).
Proof.
  intros eps alpha nonneg order. pose proof (cosh_pos ((alpha - / 2) * eps)). pose proof (cosh_pos (eps / 2)).
  rewrite <- (exp_ln (_ / _)) by now apply Rdiv_lt_0_compat. apply exp_le. rewrite ln_quotient by assumption.
  cut (0 <= alpha * (alpha - 1) * (eps * tanh (eps / 2)) - (ln (cosh ((alpha - / 2) * eps)) - ln (cosh (eps / 2)))); [lra|].
  apply (grows_from (fun x => x * (x - 1) * (eps * tanh (eps / 2)) - (ln (cosh ((x - / 2) * eps)) - ln (cosh (eps / 2))))
    (fun x => (2 * x - 1) * (eps * tanh (eps / 2)) - eps * tanh ((x - / 2) * eps)) 1); [| | |assumption].
  - intros x. apply (@is_derive_minus R_AbsRing R_NormedModule); [auto_derive; [trivial|ring]|].
    evar_last; [apply (@is_derive_minus R_AbsRing R_NormedModule); [|apply (@is_derive_const R_AbsRing R_NormedModule)]|].
    + apply (is_derive_comp (fun y => ln (cosh y)) (fun x => (x - / 2) * eps)); [apply ln_cosh_derive|].
      instantiate (1 := eps). auto_derive; [trivial|ring].
    + unfold minus, plus, opp, zero, scal; simpl. unfold mult; simpl. ring.
  - intros x after. pose proof (tanh_falls_behind (eps / 2) ((x - / 2) * eps) ltac:(nra)). nra.
  - replace ((1 - / 2) * eps) with (eps / 2) by field. ring.
Qed.

(* A loss between -eps and eps has a moment below the chord. *)
Lemma below_chord : forall eps alpha L, 0 < eps -> 1 < alpha -> - eps <= L <= eps ->
  exp (alpha * L) * (exp eps - exp (- eps)) <=
  (exp L - exp (- eps)) * exp (alpha * eps) + (exp eps - exp L) * exp (- (alpha * eps)).
Proof.
  intros eps alpha L positive order between.
  pose proof (bernoulli alpha (eps - L) order) as high. pose proof (bernoulli alpha (- eps - L) order) as low.
  pose proof (exp_le (- eps) L ltac:(lra)). pose proof (exp_le L eps ltac:(lra)).
  replace (exp (alpha * eps)) with (exp (alpha * L) * exp (alpha * (eps - L))) by (rewrite <- exp_plus; f_equal; ring).
  replace (exp (- (alpha * eps))) with (exp (alpha * L) * exp (alpha * (- eps - L))) by (rewrite <- exp_plus; f_equal; ring).
  pose proof (exp_pos (alpha * L)) as scale. pose proof (exp_pos L) as one.
  assert (up : exp (eps - L) * exp L = exp eps) by (rewrite <- exp_plus; f_equal; ring).
  assert (down : exp (- eps - L) * exp L = exp (- eps)) by (rewrite <- exp_plus; f_equal; ring).
  set (E := exp (eps - L)) in *. set (F := exp (- eps - L)) in *. set (x := exp L) in *.
  apply Rle_trans with (exp (alpha * L) * ((x - exp (- eps)) * (1 + alpha * (E - 1)) + (exp eps - x) * (1 + alpha * (F - 1)))).
  - apply Rmult_le_compat_l; [lra|]. rewrite <- up, <- down. apply Req_le. ring.
  - assert ((x - exp (- eps)) * (1 + alpha * (E - 1)) <= (x - exp (- eps)) * exp (alpha * (eps - L))) by (apply Rmult_le_compat_l; lra).
    assert ((exp eps - x) * (1 + alpha * (F - 1)) <= (exp eps - x) * exp (alpha * (- eps - L))) by (apply Rmult_le_compat_l; lra).
    replace ((x - exp (- eps)) * (exp (alpha * L) * exp (alpha * (eps - L))) + (exp eps - x) * (exp (alpha * L) * exp (alpha * (- eps - L))))
      with (exp (alpha * L) * ((x - exp (- eps)) * exp (alpha * (eps - L)) + (exp eps - x) * exp (alpha * (- eps - L)))) by ring.
    apply Rmult_le_compat_l; lra.
Qed.

Section Exact.
Context {A : Type} (outcomes : list A) (P P' : A -> R) (eps : R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P') (near : pure outcomes P P' eps).

Lemma loss_between : forall y, In y outcomes -> - eps <= loss P P' y <= eps.
Proof. intros y here. specialize (near y here). now apply Rcomplements.Rabs_le_between in near. Qed.

Lemma eps_nonneg : 0 <= eps.
Proof. apply (some_loss_above outcomes P P' law_P law_P'). intros y here. now apply loss_between. Qed.

Lemma total_of_chord : forall c d, sum (fun y => P y * ((exp (loss P P' y) - exp (- eps)) * c + (exp eps - exp (loss P P' y)) * d)) outcomes
  = (1 - exp (- eps)) * c + (exp eps - 1) * d.
Proof.
  intros c d. rewrite (sum_ext _ (fun y => (P' y * c + P y * - (exp (- eps) * c)) + (P y * (exp eps * d) + P' y * - d))).
  - rewrite !sum_plus, !sum_scale_right, (proj2 law_P), (proj2 law_P'). ring.
  - intros y here. rewrite <- (exp_loss outcomes P P' law_P law_P' y here). ring.
Qed.

Lemma exact_moment : renyi outcomes P P' (eps * tanh (eps / 2)).
Proof.
  intros alpha order. pose proof eps_nonneg as [positive|zero].
  2: { rewrite <- zero, !Rmult_0_l, Rmult_0_r, exp_0, <- (proj2 law_P). apply sum_le. intros y here.
       pose proof (loss_between y here). replace (loss P P' y) with 0 by lra. rewrite Rmult_0_r, exp_0. lra. }
  eapply Rle_trans; [|apply two_points; lra].
  pose proof (exp_increasing (- eps) eps ltac:(lra)) as room.
  apply Rmult_le_reg_r with (exp eps - exp (- eps)); [lra|]. rewrite <- sum_scale_right.
  eapply Rle_trans; [apply sum_le; intros y here; rewrite Rmult_assoc; apply Rmult_le_compat_l;
    [apply Rlt_le, (proj1 law_P y here)|apply (below_chord eps alpha); auto using loss_between]|].
  rewrite total_of_chord. apply Req_le. unfold cosh.
  assert (whole : exp eps = exp (eps / 2) * exp (eps / 2)) by (rewrite <- exp_plus; f_equal; field).
  assert (whole' : exp (- eps) = exp (- (eps / 2)) * exp (- (eps / 2))) by (rewrite <- exp_plus; f_equal; field).
  assert (up : exp ((alpha - / 2) * eps) = exp (alpha * eps) * exp (- (eps / 2))) by (rewrite <- exp_plus; f_equal; field).
  assert (down : exp (- ((alpha - / 2) * eps)) = exp (- (alpha * eps)) * exp (eps / 2)) by (rewrite <- exp_plus; f_equal; field).
  rewrite whole, whole', up, down. pose proof (exp_pos (eps / 2)). pose proof (exp_pos (- (eps / 2))).
  pose proof (exp_swap (eps / 2)) as inverse.
  set (h := exp (eps / 2)) in *. set (i := exp (- (eps / 2))) in *. set (a := exp (alpha * eps)). set (b := exp (- (alpha * eps))).
  replace ((a * i + b * h) / 2 / ((h + i) / 2) * (h * h - i * i)) with (a * (i * h) - a * (i * i) + (b * (h * h) - b * (i * h)))
    by (field; lra).
  rewrite inverse. ring.
Qed.

End Exact.

Theorem pure_to_exact_zCDP : forall {A : Type} (outcomes : list A) P P' eps, law outcomes P -> law outcomes P' ->
  pure outcomes P P' eps -> zCDP outcomes P P' (eps * tanh (eps / 2)).
Proof.
  intros A outcomes P P' eps good good' near. split; apply exact_moment; try assumption.
  intros y here. rewrite (loss_swap outcomes P P' good good' y here), Rabs_Ropp. now apply near.
Qed.
