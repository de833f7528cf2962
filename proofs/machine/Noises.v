(* The five noises, their densities and distribution functions, and that all are of class A. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws PermuteAndFlip Concentrated ClassA Gumbel ExponentialNoise Jumps.
Import ListNotations.
Open Scope R_scope.

Definition logistic_density (z : R) : R := exp (- z) / (1 + exp (- z)) ^ 2.
Definition logistic_below (z : R) : R := 1 / (1 + exp (- z)).

Definition laplace_density (z : R) : R := exp (- Rabs z) / 2.
Definition laplace_below (z : R) : R := if Rle_dec 0 z then 1 - exp (- z) / 2 else exp z / 2.

(* The absolute value of logistic noise. *)
Definition half_logistic_density (z : R) : R := if Rle_dec 0 z then 2 * exp (- z) / (1 + exp (- z)) ^ 2 else 0.
Definition half_logistic_below (z : R) : R := if Rle_dec 0 z then (1 - exp (- z)) / (1 + exp (- z)) else 0.

Lemma slopes_are_smooth : forall (F f : R -> R), (forall z, is_derive F z (f z)) -> forall z, continuous F z.
Proof. intros F f slope z. apply (@ex_derive_continuous R_AbsRing R_NormedModule). eexists. apply slope. Qed.

Lemma grows : forall (F f : R -> R), (forall z, is_derive F z (f z)) -> (forall z, 0 <= f z) -> forall z w, z <= w -> F z <= F w.
Proof.
  intros F f slope nonneg z w order. destruct (mean_value F f slope z w order) as (c & _ & equal). specialize (nonneg c). nra.
Qed.

(* Noise with a smooth density. *)
Lemma smooth_noise : forall f F : R -> R, (forall z, 0 <= f z) -> (forall z, continuous f z) -> (forall z, is_derive F z (f z)) ->
  is_lim F m_infty 0 -> is_lim F p_infty 1 -> (forall z c, 0 <= c -> exp (- c) * f z <= f (z + c)) -> noise f F.
Proof.
  intros f F nonneg smooth slope low high class_A. split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]]; auto.
  - now apply smooth_fits.
  - now apply slopes_are_smooth with f.
  - now apply grows with f.
Qed.

(* Noise above zero whose density is smooth there. *)
Lemma noise_from_zero : forall h H : R -> R, (forall z, 0 <= h z) -> (forall z, continuous h z) -> (forall z, is_derive H z (h z)) ->
  H 0 = 0 -> is_lim H p_infty 1 -> (forall z c, 0 <= z -> 0 <= c -> exp (- c) * h z <= h (z + c)) ->
  noise (from_zero h) (from_zero H).
Proof.
  intros h H nonneg smooth slope start high class_A. unfold noise.
  assert (right : forall (g : R -> R) z, 0 < z -> locally z (fun u => g u = from_zero g u)).
  { intros g z positive. exists (mkposreal z positive). intros u close. unfold ball in close; simpl in close.
    unfold AbsRing_ball, minus, plus, opp, abs in close; simpl in close. apply Rabs_def2 in close.
    unfold from_zero. destruct (Rle_dec 0 u); [reflexivity|lra]. }
  assert (left : forall (g : R -> R) z, z < 0 -> locally z (fun u => 0 = from_zero g u)).
  { intros g z negative. exists (mkposreal (- z) ltac:(lra)). intros u close. unfold ball in close; simpl in close.
    unfold AbsRing_ball, minus, plus, opp, abs in close; simpl in close. apply Rabs_def2 in close.
    unfold from_zero. destruct (Rle_dec 0 u); [lra|reflexivity]. }
  assert (derived : forall z, z <> 0 -> continuous (from_zero h) z /\ is_derive (from_zero H) z (from_zero h z)).
  { intros z other. destruct (Rtotal_order z 0) as [negative|[equal|positive]]; [|easy|].
    - split.
      + apply (continuous_ext_loc (from_zero h) (fun _ => 0)); [now apply left|apply continuous_const].
      + apply (is_derive_ext_loc (fun _ => 0)); [now apply left|]. unfold from_zero. destruct (Rle_dec 0 z); [lra|].
        apply (@is_derive_const R_AbsRing R_NormedModule).
    - split.
      + apply (continuous_ext_loc (from_zero h) h); [now apply right|apply smooth].
      + apply (is_derive_ext_loc H); [now apply right|]. unfold from_zero. destruct (Rle_dec 0 z); [apply slope|lra]. }
  split; [|split; [|split; [exact derived|split; [|split; [|split; [|split]]]]]].
  - intros z. unfold from_zero. destruct (Rle_dec 0 z); [apply nonneg|lra].
  - now apply from_zero_fits.
  - intros z. destruct (Req_dec z 0) as [->|other].
    + apply (filterlim_locally (from_zero H)). intros eps.
      pose proof (proj1 (filterlim_locally H (H 0)) (slopes_are_smooth H h slope 0) eps) as near.
      apply (filter_imp (fun z => ball (H 0) eps (H z))); [|exact near]. intros u close. unfold from_zero at 1.
      destruct (Rle_dec 0 0) as [_|]; [|lra]. unfold from_zero. destruct (Rle_dec 0 u); [assumption|].
      rewrite start. apply ball_center.
    + apply (@ex_derive_continuous R_AbsRing R_NormedModule). eexists. now apply derived.
  - pose proof (grows H h slope nonneg) as more. intros z w order. unfold from_zero.
    destruct (Rle_dec 0 z), (Rle_dec 0 w); try lra; [now apply more|]. rewrite <- start. now apply more.
  - apply (is_lim_ext_loc (fun _ => 0)); [|apply is_lim_const]. exists 0. intros u negative. unfold from_zero.
    destruct (Rle_dec 0 u); [lra|reflexivity].
  - apply (is_lim_ext_loc H); [|exact high]. exists 0. intros u positive. unfold from_zero.
    destruct (Rle_dec 0 u); [reflexivity|lra].
  - intros z c more. unfold from_zero. destruct (Rle_dec 0 z), (Rle_dec 0 (z + c)); try lra; [auto|]. rewrite Rmult_0_r. apply nonneg.
Qed.

Lemma exp_far : is_lim (fun z => exp (- z)) p_infty 0.
Proof.
  apply (is_lim_comp exp Ropp p_infty 0 m_infty); [apply is_lim_exp_m| |now exists 0].
  apply (is_lim_opp (fun z => z) p_infty p_infty), is_lim_id.
Qed.

Lemma far : forall (g : R -> R) c, continuous g 0 -> g 0 = c -> is_lim (fun z => g (exp (- z))) p_infty c.
Proof. intros g c smooth <-. apply is_lim_comp_continuous; [apply exp_far|assumption]. Qed.

Lemma near : forall (g : R -> R) c, continuous g 0 -> g 0 = c -> is_lim (fun z => g (exp z)) m_infty c.
Proof. intros g c smooth <-. apply is_lim_comp_continuous; [apply is_lim_exp_m|assumption]. Qed.

Lemma exp_shift : forall z c, 0 <= c -> exp (- (z + c)) = exp (- c) * exp (- z) /\ 0 < exp (- (z + c)) <= exp (- z) /\ 0 < exp (- c) <= 1.
Proof.
  intros z c nonneg. pose proof (exp_pos (- (z + c))). pose proof (exp_pos (- c)). repeat split; try assumption.
  - rewrite <- exp_plus. f_equal. ring.
  - apply exp_le. lra.
  - rewrite <- exp_0. apply exp_le. lra.
Qed.

Theorem exponential_is_noise : noise exponential_density exponential_below.
Proof.
  apply (noise_from_zero (fun z => exp (- z)) (fun z => 1 - exp (- z))).
  - intros z. apply Rlt_le, exp_pos.
  - intros z. apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
  - intros z. auto_derive; [trivial|ring].
  - rewrite Ropp_0, exp_0. ring.
  - apply (far (fun x => 1 - x)); [|ring]. apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
  - intros z c _ nonneg. rewrite (proj1 (exp_shift z c nonneg)). apply Rle_refl.
Qed.

Theorem gumbel_is_noise : noise density gumbel.
Proof.
  apply smooth_noise.
  - apply density_nonneg.
  - apply density_continuous.
  - intros z. unfold gumbel, density. auto_derive; [trivial|ring].
  - apply (is_lim_comp exp (fun z => - exp (- z)) m_infty 0 m_infty); [apply is_lim_exp_m| |now exists 0].
    apply (is_lim_opp (fun z => exp (- z)) m_infty p_infty).
    apply (is_lim_comp exp Ropp m_infty p_infty p_infty); [apply is_lim_exp_p| |now exists 0].
    apply (is_lim_opp (fun z => z) m_infty m_infty), is_lim_id.
  - apply (far (fun x => exp (- x))); [|now rewrite Ropp_0, exp_0].
    apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
  - intros z c nonneg. unfold density. destruct (exp_shift z c nonneg) as (equal & less & _).
    rewrite <- Rmult_assoc, <- equal. apply Rmult_le_compat_l; [lra|]. apply exp_le. lra.
Qed.

(* What the two logistic densities share. *)
Lemma logistic_step : forall z c, 0 <= c ->
  exp (- c) * (exp (- z) / (1 + exp (- z)) ^ 2) <= exp (- (z + c)) / (1 + exp (- (z + c))) ^ 2.
Proof.
  intros z c nonneg. destruct (exp_shift z c nonneg) as (equal & less & _). unfold Rdiv. rewrite <- Rmult_assoc, <- equal.
  apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; [apply pow_lt; lra|]. apply pow_incr. lra.
Qed.

Lemma logistic_smooth : forall z, continuous logistic_density z.
Proof.
  intros z. apply (@ex_derive_continuous R_AbsRing R_NormedModule). unfold logistic_density. pose proof (exp_pos (- z)).
  auto_derive. apply Rgt_not_eq. nra.
Qed.

Lemma logistic_nonneg : forall z, 0 <= logistic_density z.
Proof.
  intros z. pose proof (exp_pos (- z)). unfold logistic_density. apply Rlt_le, Rdiv_lt_0_compat; [assumption|]. apply pow_lt. lra.
Qed.

Theorem logistic_is_noise : noise logistic_density logistic_below.
Proof.
  apply smooth_noise.
  - exact logistic_nonneg.
  - exact logistic_smooth.
  - intros z. unfold logistic_below, logistic_density. pose proof (exp_pos (- z)). auto_derive; [lra|field; lra].
  - apply (is_lim_ext (fun z => exp z / (1 + exp z))).
    + intros z. unfold logistic_below. rewrite exp_Ropp. pose proof (exp_pos z). field. lra.
    + apply (near (fun x => x / (1 + x))); [|field]. apply (@ex_derive_continuous R_AbsRing R_NormedModule). auto_derive. lra.
  - apply (far (fun x => 1 / (1 + x))); [|field]. apply (@ex_derive_continuous R_AbsRing R_NormedModule). auto_derive. lra.
  - exact logistic_step.
Qed.

Theorem half_logistic_is_noise : noise half_logistic_density half_logistic_below.
Proof.
  apply (noise_from_zero (fun z => 2 * exp (- z) / (1 + exp (- z)) ^ 2) (fun z => (1 - exp (- z)) / (1 + exp (- z)))).
  - intros z. pose proof (logistic_nonneg z). unfold logistic_density in *. unfold Rdiv in *. lra.
  - intros z. apply (@ex_derive_continuous R_AbsRing R_NormedModule). pose proof (exp_pos (- z)). auto_derive.
    apply Rgt_not_eq. nra.
  - intros z. pose proof (exp_pos (- z)). auto_derive; [lra|field; lra].
  - rewrite Ropp_0, exp_0. field.
  - apply (far (fun x => (1 - x) / (1 + x))); [|field]. apply (@ex_derive_continuous R_AbsRing R_NormedModule). auto_derive. lra.
  - intros z c _ nonneg. pose proof (logistic_step z c nonneg). unfold Rdiv in *. lra.
Qed.

Lemma laplace_by_halves : forall z, / 2 * (exponential_below z - exponential_below (- z) + 1) = laplace_below z.
Proof.
  intros z. unfold laplace_below, exponential_below. destruct (Rle_dec 0 z), (Rle_dec 0 (- z)); try lra.
  - assert (z = 0) as -> by lra. rewrite Ropp_0, Ropp_0, exp_0. lra.
  - rewrite Ropp_involutive. lra.
Qed.

Theorem laplace_is_noise : noise laplace_density laplace_below.
Proof.
  assert (smooth : forall z, continuous laplace_density z).
  { intros z. apply (continuous_comp Rabs (fun x => exp (- x) / 2)); [apply continuous_Rabs|].
    apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive. }
  unfold noise. split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]].
  - intros z. unfold laplace_density. pose proof (exp_pos (- Rabs z)). lra.
  - now apply smooth_fits.
  - intros z other. split; [apply smooth|]. unfold laplace_density.
    destruct exponential_is_noise as (_ & _ & slope & _).
    assert (left := proj2 (slope z other)). assert (right := proj2 (slope (- z) ltac:(lra))).
    evar_last.
    + apply (is_derive_ext (fun z => / 2 * (exponential_below z - exponential_below (- z) + 1))); [exact laplace_by_halves|].
      apply (is_derive_scal (fun z => exponential_below z - exponential_below (- z) + 1)).
      apply (@is_derive_plus R_AbsRing R_NormedModule); [|apply (@is_derive_const R_AbsRing R_NormedModule)].
      apply (@is_derive_minus R_AbsRing R_NormedModule); [exact left|].
      apply (is_derive_comp exponential_below Ropp z (exponential_density (- z)) (-1)); [exact right|auto_derive; [trivial|ring]].
    + unfold plus, minus, opp, zero, scal; simpl. unfold plus, opp, mult; simpl. unfold exponential_density.
      destruct (Rle_dec 0 z), (Rle_dec 0 (- z)); try lra.
      * rewrite Rabs_pos_eq by assumption. lra.
      * rewrite Rabs_left by lra. lra.
  - intros z. destruct exponential_is_noise as (_ & _ & _ & smooth' & _).
    apply (continuous_ext (fun z => / 2 * (exponential_below z - exponential_below (- z) + 1))).
    + exact laplace_by_halves.
    + apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule (/ 2)).
      apply (@continuous_plus R_UniformSpace R_AbsRing R_NormedModule); [|apply continuous_const].
      apply (@continuous_minus R_UniformSpace R_AbsRing R_NormedModule); [apply smooth'|].
      apply (continuous_comp Ropp exponential_below); [|apply smooth'].
      apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
  - intros z w order. rewrite <- !laplace_by_halves. destruct exponential_is_noise as (_ & _ & _ & _ & more & _).
    pose proof (more z w order). pose proof (more (- w) (- z) ltac:(lra)). lra.
  - apply (is_lim_ext_loc (fun z => exp z / 2)).
    + exists 0. intros u negative. unfold laplace_below. destruct (Rle_dec 0 u); [lra|reflexivity].
    + apply (near (fun x => x / 2)); [|field]. apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
  - apply (is_lim_ext_loc (fun z => 1 - exp (- z) / 2)).
    + exists 0. intros u positive. unfold laplace_below. destruct (Rle_dec 0 u); [reflexivity|lra].
    + apply (far (fun x => 1 - x / 2)); [|field]. apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
  - intros z c nonneg. unfold laplace_density.
    assert (exp (- c) * exp (- Rabs z) <= exp (- Rabs (z + c))); [|lra].
    rewrite <- exp_plus. apply exp_le. pose proof (Rabs_triang z c). rewrite (Rabs_pos_eq c nonneg) in *. lra.
Qed.

Inductive kind := exponential_noise | gumbel_noise | laplace_noise | logistic_noise | half_logistic_noise.

Definition density_of (n : kind) : R -> R :=
  match n with
  | exponential_noise => exponential_density
  | gumbel_noise => density
  | laplace_noise => laplace_density
  | logistic_noise => logistic_density
  | half_logistic_noise => half_logistic_density
  end.

Definition below_of (n : kind) : R -> R :=
  match n with
  | exponential_noise => exponential_below
  | gumbel_noise => gumbel
  | laplace_noise => laplace_below
  | logistic_noise => logistic_below
  | half_logistic_noise => half_logistic_below
  end.

Theorem all_are_noise : forall n, noise (density_of n) (below_of n).
Proof.
  intros []; [exact exponential_is_noise|exact gumbel_is_noise|exact laplace_is_noise|exact logistic_is_noise|
    exact half_logistic_is_noise].
Qed.
