(* A range a is zCDP of z - 1 - ln z with z = a / (1 - e^-a), which is exact. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Concentrated Images Hyperbolic SinhGrowth.
Import ListNotations.
Open Scope R_scope.

Definition price (a : R) : R := a / (1 - exp (- a)) - 1 - ln (a / (1 - exp (- a))).

Lemma price_is_both : forall a, 0 < a -> price a = both (a / 2).
Proof.
  intros a positive. unfold price, both, lift, excess. set (c := a / 2). assert (pos : 0 < c) by (unfold c; lra).
  pose proof (sinh_pos c pos) as high. pose proof (exp_pos c) as up.
  assert (room : 1 - exp (- a) = 2 * sinh c * exp (- c)).
  { unfold sinh. replace (- a) with (- c + - c) by (unfold c; field). rewrite exp_plus. pose proof (exp_swap c). nra. }
  assert (z : a / (1 - exp (- a)) = exp c / (sinh c / c)).
  { rewrite room, exp_Ropp. unfold c. fold c. replace a with (2 * c) by (unfold c; field). field. lra. }
  assert (whole : exp c / (sinh c / c) = c * cosh c / sinh c + c).
  { replace (exp c) with (cosh c + sinh c) by (unfold cosh, sinh; field). field. lra. }
  rewrite z, ln_quotient by (try assumption; now apply Rdiv_lt_0_compat). rewrite ln_exp, whole. ring.
Qed.

(* The function of (three) in the document: what the worst law on two points has, against the claim. *)
Lemma part_derive : forall c x, 0 < c -> 0 < x -> is_derive (fun x => x * lift (x * c)) x (both (x * c)).
Proof.
  intros c x positive above. assert (inside : 0 < x * c) by nra. evar_last.
  - apply (is_derive_mult (fun x => x) (fun x => lift (x * c))); [apply (@is_derive_id R_AbsRing)| |apply Rmult_comm].
    apply (is_derive_comp lift (fun x => x * c)); [now apply lift_derive|]. instantiate (1 := c). auto_derive; [trivial|ring].
  - unfold both, plus, mult, scal, one; simpl. unfold mult, one; simpl. field. lra.
Qed.

Lemma both_nonneg : forall x, 0 < x -> 0 <= both x.
Proof. intros x positive. unfold both. pose proof (lift_nonneg x positive). pose proof (excess_between x positive). lra. Qed.

Lemma both_scaled : forall x c, 0 < c -> 1 <= x -> both (x * c) <= x * x * both c.
Proof.
  intros x c positive more. pose proof (both_falls_behind c (x * c) ltac:(nra)) as less.
  apply (Rmult_le_reg_r (c * c)); [nra|]. nra.
Qed.

(* By both x / x^2 falling: x^2 = b^2 + (1 + 2 b) for x = 1 + b. *)
Lemma both_subadditive : forall b c, 0 < c -> 0 < b -> both ((1 + b) * c) <= both (b * c) + (1 + 2 * b) * both c.
Proof.
  intros b c positive more.
  pose proof (both_falls_behind (b * c) ((1 + b) * c) ltac:(nra)) as one.
  pose proof (both_falls_behind c ((1 + b) * c) ltac:(nra)) as two.
  assert (one' : both ((1 + b) * c) * (b * b) <= both (b * c) * ((1 + b) * (1 + b))).
  { apply (Rmult_le_reg_r (c * c)); [nra|]. nra. }
  assert (two' : both ((1 + b) * c) <= both c * ((1 + b) * (1 + b))).
  { apply (Rmult_le_reg_r (c * c)); [nra|]. nra. }
  apply (Rmult_le_reg_r ((1 + b) * (1 + b))); [nra|].
  assert (both ((1 + b) * c) * (1 + 2 * b) <= both c * ((1 + b) * (1 + b)) * (1 + 2 * b)) by (apply Rmult_le_compat_r; lra).
  replace (both ((1 + b) * c) * ((1 + b) * (1 + b))) with (both ((1 + b) * c) * (b * b) + both ((1 + b) * c) * (1 + 2 * b)) by ring.
  lra.
Qed.

Lemma three : forall b c, 0 < c -> 0 < b ->
  (1 + b) * lift ((1 + b) * c) - b * lift (b * c) - lift c <= b * (1 + b) * both c.
Proof.
  intros b c positive more.
  set (F := fun x => x * (1 + x) * both c - ((1 + x) * lift ((1 + x) * c) - x * lift (x * c) - lift c)).
  cut (0 <= F b); [unfold F; lra|].
  pose proof (both_nonneg c positive) as nonneg.
  apply (above_small _ (4 * both c) (Rmin b 1)); [lra|apply Rmin_glb_lt; lra|]. intros u between.
  pose proof (Rmin_l b 1). pose proof (Rmin_r b 1). apply Rle_trans with (F u).
  - (* (1 + u) lift ((1 + u) c) has grown by 4 both c u at most *)
    assert (start : (1 + u) * lift ((1 + u) * c) - lift c <= 4 * both c * u).
    { cut (4 * both c * 1 - 1 * lift (1 * c) <= 4 * both c * (1 + u) - (1 + u) * lift ((1 + u) * c)).
      { rewrite (Rmult_1_l c). lra. }
      apply (grows_after (fun x => 4 * both c * x - x * lift (x * c)) (fun x => 4 * both c - both (x * c))); [lra| |].
      - intros x inside. apply (@is_derive_minus R_AbsRing R_NormedModule); [auto_derive; [trivial|ring]|].
        apply part_derive; lra.
      - intros x inside. pose proof (both_scaled x c positive ltac:(lra)). assert (x * x <= 4) by nra. assert (x * x * both c <= 4 * both c) by (apply Rmult_le_compat_r; lra). lra. }
    pose proof (lift_nonneg (u * c) ltac:(nra)). unfold F. nra.
  - apply (grows_after F (fun x => (1 + 2 * x) * both c - (both ((1 + x) * c) - both (x * c)))); [lra| |].
    + intros x inside. unfold F.
      assert (first : is_derive (fun x => (1 + x) * lift ((1 + x) * c)) x (both ((1 + x) * c))).
      { evar_last; [apply (is_derive_comp (fun y => y * lift (y * c)) (fun x => 1 + x)); [apply part_derive; lra|]|].
        - instantiate (1 := 1). auto_derive; [trivial|ring].
        - unfold scal; simpl. unfold mult; simpl. ring. }
      apply (@is_derive_minus R_AbsRing R_NormedModule); [auto_derive; [trivial|ring]|].
      evar_last; [apply (@is_derive_minus R_AbsRing R_NormedModule);
        [apply (@is_derive_minus R_AbsRing R_NormedModule); [exact first|apply part_derive; lra]|apply (@is_derive_const R_AbsRing R_NormedModule)]|].
      unfold minus, plus, opp, zero; simpl. ring.
    + intros x inside. pose proof (both_subadditive x c positive ltac:(lra)). lra.
Qed.

(* The worst of the laws on two points: y is the probability of the upper end, in units that fit. *)
Lemma worst : forall alpha A B y, 1 < alpha -> 0 < B -> alpha * B <= A -> 0 <= y ->
  ln (1 + y * A) - alpha * ln (1 + y * B) <=
  alpha * ln (A / alpha) - (alpha - 1) * ln ((A - B) / (alpha - 1)) - ln B.
Proof.
  intros alpha A B y order positive more nonneg. assert (B < A) by nra.
  set (best := (A - alpha * B) / ((alpha - 1) * A * B)).
  assert (start : 0 <= best) by (apply Rcomplements.Rdiv_le_0_compat; [lra|apply Rmult_lt_0_compat; [nra|assumption]]).
  assert (at_A : 1 + best * A = (A - B) / (alpha - 1) / B) by (unfold best; field; lra).
  assert (at_B : 1 + best * B = (A - B) / (alpha - 1) / (A / alpha)) by (unfold best; field; lra).
  set (f := fun t => ln (1 + t * A) - alpha * ln (1 + t * B)).
  set (df := fun t => (A - alpha * B - (alpha - 1) * A * B * t) / ((1 + t * A) * (1 + t * B))).
  assert (derivative : forall t, 0 <= t -> is_derive f t (df t)).
  { intros t after. unfold f, df. auto_derive; [repeat split; nra|]. field. split; nra. }
  assert (sign : forall t, 0 <= t -> (t <= best -> 0 <= df t) /\ (best <= t -> df t <= 0)).
  { intros t after. assert (den : 0 < (1 + t * A) * (1 + t * B)) by (apply Rmult_lt_0_compat; nra).
    assert (split_num : A - alpha * B - (alpha - 1) * A * B * t = (alpha - 1) * A * B * (best - t)) by (unfold best; field; lra).
    assert (scale : 0 < (alpha - 1) * A * B) by (apply Rmult_lt_0_compat; nra).
    unfold df. rewrite split_num. split; intros side.
    - apply Rcomplements.Rdiv_le_0_compat; [apply Rmult_le_pos; lra|assumption].
    - apply Rcomplements.Rle_div_l; [assumption|]. rewrite Rmult_0_l. nra. }
  assert (top : f y <= f best).
  { destruct (Rle_or_lt y best) as [left|right].
    - apply (grows_after f df); [assumption|intros t inside; apply derivative; lra|].
      intros t inside. apply sign; lra.
    - apply Ropp_le_cancel. apply (grows_after (fun t => - f t) (fun t => - df t)); [lra| |].
      + intros t inside. apply (@is_derive_opp R_AbsRing R_NormedModule), derivative. lra.
      + intros t inside. assert (df t <= 0) by (apply sign; lra). lra. }
  apply Rle_trans with (f best); [exact top|]. unfold f. rewrite at_A, at_B.
  assert (0 < (A - B) / (alpha - 1)) by (apply Rdiv_lt_0_compat; lra).
  assert (0 < A / alpha) by (apply Rdiv_lt_0_compat; lra).
  rewrite (ln_quotient _ B), (ln_quotient _ (A / alpha)) by assumption. apply Req_le. ring.
Qed.

(* Logarithms of differences of exponentials, by sinh. *)
Lemma ln_difference : forall c l m, 0 < c -> 0 < m ->
  ln ((exp ((l + m) * c) - exp ((l - m) * c)) / m) = l * c + ln (2 * c) + lift (m * c).
Proof.
  intros c l m positive positive'. assert (inside : 0 < m * c) by nra. pose proof (sinh_pos (m * c) inside) as high.
  unfold lift. rewrite <- (ln_exp (l * c)).
  rewrite <- (ln_mult (exp (l * c)) (2 * c)); [|apply exp_pos|lra].
  rewrite <- ln_mult; [|apply Rmult_lt_0_compat; [apply exp_pos|lra]|now apply Rdiv_lt_0_compat].
  f_equal. unfold sinh. replace ((l + m) * c) with (l * c + m * c) by ring. replace ((l - m) * c) with (l * c + - (m * c)) by ring.
  rewrite !exp_plus. field. lra.
Qed.
