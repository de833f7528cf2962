(* A pure loss epsilon is zCDP of epsilon tanh(epsilon / 2), which is exact: randomised response attains it. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Concentrated Images.
Import ListNotations.
Open Scope R_scope.

Lemma exp_swap : forall x, exp (- x) * exp x = 1.
Proof. intros x. rewrite <- exp_plus, Rplus_opp_l. apply exp_0. Qed.

Lemma cosh_pos : forall x, 0 < cosh x.
Proof. intros x. unfold cosh. pose proof (exp_pos x). pose proof (exp_pos (- x)). lra. Qed.

Lemma tanh_derive : forall x, is_derive tanh x (1 - tanh x * tanh x).
Proof.
  intros x. pose proof (cosh_pos x). unfold tanh, sinh, cosh in *. pose proof (exp_swap x). auto_derive; [lra|]. field. lra.
Qed.

(* Of a function that is zero at u and grows from there on. *)
Lemma grows_from : forall (g dg : R -> R) u t, (forall x, is_derive g x (dg x)) -> (forall x, u <= x -> 0 <= dg x) ->
  g u = 0 -> u <= t -> 0 <= g t.
Proof.
  intros g dg u t derivative up start order. destruct (mean_value g dg derivative u t order) as (c & between & equal).
  specialize (up c ltac:(lra)). nra.
Qed.

Lemma sinh_ge : forall x, 0 <= x -> x <= sinh x * cosh x.
Proof.
  intros x nonneg. cut (0 <= sinh x * cosh x - x); [lra|].
  apply (grows_from (fun y => sinh y * cosh y - y) (fun y => 2 * (sinh y * sinh y)) 0); [| | |assumption].
  - intros y. unfold sinh, cosh. pose proof (exp_swap y). auto_derive; [trivial|]. nra.
  - intros y _. nra.
  - unfold sinh. rewrite Ropp_0. field_simplify. lra.
Qed.

Lemma tanh_grows : forall u t, u <= t -> tanh u <= tanh t.
Proof.
  intros u t order. cut (0 <= tanh t - tanh u); [lra|].
  apply (grows_from (fun x => tanh x - tanh u) (fun x => 1 - tanh x * tanh x) u); [| |ring|assumption].
  - intros x. evar_last; [apply (@is_derive_minus R_AbsRing R_NormedModule); [apply tanh_derive|apply (@is_derive_const R_AbsRing R_NormedModule)]|].
    unfold minus, plus, opp, zero; simpl. ring.
  - intros x _. pose proof (cosh_pos x). unfold tanh, sinh, cosh in *. pose proof (exp_pos x). pose proof (exp_pos (- x)).
    set (p := exp x) in *. set (q := exp (- x)) in *.
    replace (1 - (p - q) / 2 / ((p + q) / 2) * ((p - q) / 2 / ((p + q) / 2))) with (4 * p * q / ((p + q) * (p + q))) by (field; lra).
    apply Rcomplements.Rdiv_le_0_compat; nra.
Qed.

Lemma tanh_nonneg : forall x, 0 <= x -> 0 <= tanh x.
Proof.
  intros x nonneg. replace 0 with (tanh 0); [now apply tanh_grows|]. unfold tanh, sinh. rewrite Ropp_0. unfold Rdiv. ring.
Qed.

(* tanh x / x falls. *)
Lemma tanh_falls_behind : forall u t, 0 <= u <= t -> u * tanh t <= t * tanh u.
Proof.
  intros u t order. cut (0 <= t * tanh u - u * tanh t); [lra|].
  apply (grows_from (fun x => x * tanh u - u * tanh x) (fun x => tanh u - u * (1 - tanh x * tanh x)) u); [| |ring|lra].
  - intros x. apply (@is_derive_minus R_AbsRing R_NormedModule).
    + auto_derive; [trivial|ring].
    + apply (is_derive_scal tanh), tanh_derive.
  - intros x after. pose proof (tanh_grows u x after). pose proof (tanh_nonneg u ltac:(lra)).
    apply Rle_trans with (tanh u - u * (1 - tanh u * tanh u)).
    2: { assert (tanh u * tanh u <= tanh x * tanh x) by nra.
         assert (u * (tanh u * tanh u) <= u * (tanh x * tanh x)) by (apply Rmult_le_compat_l; lra). lra. }
    pose proof (sinh_ge u ltac:(lra)) as enough. pose proof (cosh_pos u) as positive.
    assert (square : cosh u * cosh u - sinh u * sinh u = 1).
    { unfold cosh, sinh. pose proof (exp_swap u). nra. }
    replace (tanh u - u * (1 - tanh u * tanh u)) with ((sinh u * cosh u - u * (cosh u * cosh u - sinh u * sinh u)) / (cosh u * cosh u))
      by (unfold tanh; field; lra).
    apply Rcomplements.Rdiv_le_0_compat; [rewrite square; lra|nra].
Qed.

(* The moment of randomised response, against the claim. *)
Lemma ln_cosh_derive : forall x, is_derive (fun x => ln (cosh x)) x (tanh x).
Proof.
  intros x. pose proof (cosh_pos x). unfold tanh, sinh, cosh in *. auto_derive; [lra|]. field. lra.
Qed.

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
