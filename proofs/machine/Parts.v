(* A noise whose place among N parts of equal probability is all that is known: its density, integrated over what a
   function allows, fills at least what parts of that function's height hold. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws PermuteAndFlip ClassA Jumps OneShot.
Import ListNotations.
Open Scope R_scope.

Section Parts.
Variables (f F : R -> R) (N : nat).
Hypothesis (is_noise : noise f F) (some : (0 < N)%nat).

(* The noise z lies in part m: the uniform number F(z) lies strictly between m / N and (m + 1) / N. *)
Definition in_part (m : nat) (z : R) : Prop := INR m < INR N * F z < INR (S m).

Lemma parts_pos : 0 < INR N.
Proof. now apply lt_0_INR. Qed.

Lemma whole : forall a b, ex_RInt f a b.
Proof.
  intros a b. apply (ex_RInt_ext (fun u => f (u - 0))); [intros u _; f_equal; ring|]. now apply (density_alone f F).
Qed.

Lemma area : forall a b, a <= b -> RInt f a b = F b - F a.
Proof.
  intros a b order. apply (integral_of_the_derivative F f [0]); try assumption.
  - apply whole.
  - apply is_noise.
  - intros x out. assert (x <> 0) by (intros ->; apply out; now left). split; now apply is_noise.
Qed.

Lemma shifted_area : forall s a b, a <= b -> RInt (fun u => f (u - s)) a b = F (b - s) - F (a - s).
Proof.
  intros s a b order. apply (integral_of_the_derivative (fun u => F (u - s)) (fun u => f (u - s)) [s]); try assumption.
  - intros a' b'. now apply (density_alone f F).
  - intros u. apply shifted_smooth, is_noise.
  - intros x out. assert (x <> s) by (intros ->; apply out; now left).
    split; [now apply (moved_density f F)|now apply (moved_derive f F)].
Qed.

(* Where F is not zero it rises. *)
Lemma rises : forall a b, 0 < F a -> a < b -> F a < F b.
Proof.
  intros a b positive order. destruct (Rlt_or_le (F a) (F b)) as [|flat]; [assumption|exfalso].
  assert (empty : forall z, z < a -> f z <= 0).
  { intros z before. assert (less : (b - a) * (exp (- (b - z)) * f z) <= 0).
    { apply Rle_trans with (RInt f a b); [|rewrite area; lra].
      replace ((b - a) * (exp (- (b - z)) * f z)) with (RInt (fun _ => exp (- (b - z)) * f z) a b)
        by now rewrite RInt_const.
      apply RInt_le; [lra|apply ex_RInt_const|apply whole|]. intros u between.
      pose proof (class_A f F is_noise z (u - z) ltac:(lra)) as step. replace (z + (u - z)) with u in step by ring.
      eapply Rle_trans; [|exact step]. apply Rmult_le_compat_r; [now apply (f_nonneg f F)|]. apply exp_le. lra. }
    pose proof (exp_pos (- (b - z))). destruct (Rle_or_lt (f z) 0) as [|more]; [assumption|exfalso].
    assert (0 < (b - a) * (exp (- (b - z)) * f z)) by (apply Rmult_lt_0_compat; [lra|now apply Rmult_lt_0_compat]). lra. }
  apply (Rlt_not_le _ _ positive).
  apply (is_lim_seq_le (fun _ => F a) (fun n => F (- INR n - Rabs a)) (F a) 0);
    [|apply is_lim_seq_const|now apply (all_the_way_down f F)].
  intros n. pose proof (pos_INR n). pose proof (Rle_abs (- a)) as near. rewrite Rabs_Ropp in near.
  assert (order' : - INR n - Rabs a <= a) by lra.
  assert (RInt f (- INR n - Rabs a) a <= RInt (fun _ => 0) (- INR n - Rabs a) a).
  { apply RInt_le; [assumption|apply whole|apply ex_RInt_const|]. intros u between. apply empty. lra. }
  rewrite RInt_const in *. rewrite area in * by assumption. unfold scal in *; simpl in *. unfold mult in *; simpl in *. lra.
Qed.

Lemma reaches : forall s a b p, a <= b -> F (a - s) <= p <= F (b - s) -> exists t, a <= t <= b /\ F (t - s) = p.
Proof.
  intros s a b p order between.
  destruct (IVT_gen (fun u => F (u - s)) a b p) as (t & inside & equal).
  - intros u. apply continuity_pt_filterlim. apply shifted_smooth, is_noise.
  - pose proof (F_grows f F is_noise (a - s) (b - s) ltac:(lra)). rewrite Rmin_left, Rmax_right by assumption. assumption.
  - rewrite Rmin_left, Rmax_right in inside by assumption. now exists t.
Qed.

Lemma everywhere : forall p, 0 < p < 1 -> exists z, F z = p.
Proof.
  intros p [low high].
  assert (start := all_the_way_down f F is_noise 0). assert (stop := all_the_way f F is_noise 0).
  apply is_lim_seq_spec in start. apply is_lim_seq_spec in stop.
  destruct (start (mkposreal p low)) as (n & under). destruct (stop (mkposreal (1 - p) ltac:(lra))) as (m & over).
  specialize (under (n + m)%nat ltac:(lia)). specialize (over (n + m)%nat ltac:(lia)). simpl in *.
  apply Rabs_def2 in under. apply Rabs_def2 in over. pose proof (pos_INR (n + m)).
  destruct (reaches 0 (- INR (n + m)) (INR (n + m)) p) as (t & _ & equal); [lra|lra|]. now exists (t - 0).
Qed.

Lemma middle : forall m, (m < N)%nat -> forall q, INR N * q < INR (S m) -> 0 <= q -> exists z, in_part m z /\ q < F z.
Proof.
  intros m small q under nonneg. pose proof parts_pos as positive. apply le_INR in small. rewrite S_INR in *. pose proof (pos_INR m).
  set (x := Rmax (INR m) (INR N * q)).
  assert (INR m <= x) by apply Rmax_l. assert (INR N * q <= x) by apply Rmax_r. assert (x < INR m + 1) by (apply Rmax_lub_lt; lra).
  destruct (everywhere ((x + (INR m + 1)) / 2 / INR N)) as (z & equal).
  - split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with (INR N); [assumption|].
    replace ((x + (INR m + 1)) / 2 / INR N * INR N) with ((x + (INR m + 1)) / 2) by (field; lra). lra.
  - assert (known : INR N * F z = (x + (INR m + 1)) / 2) by (rewrite equal; field; lra). exists z. split.
    + unfold in_part. rewrite known, S_INR. lra.
    + apply Rmult_lt_reg_l with (INR N); [assumption|]. rewrite known. lra.
Qed.

Section Heights.
Variables (K : nat -> R) (h : R -> R) (s low e : R).
Hypothesis (K_between : forall m, 0 <= K m <= 1) (h_smooth : forall u, continuous h u) (e_nonneg : 0 <= e).
Hypothesis (near : forall m u, (m < N)%nat -> low <= u -> in_part m (u - s) -> K m <= h u + e).

(* How much of the parts lies below p. *)
Definition portion (x : R) : R := Rmax 0 (Rmin 1 x).
Definition filled (p : R) : R := sum (fun m => K m * portion (INR N * p - INR m)) (seq 0 N) / INR N.

Lemma portions : forall x M, 0 <= x -> sum (fun m => portion (x - INR m)) (seq 0 M) <= Rmin x (INR M).
Proof.
  intros x M nonneg. induction M as [|M IH]; [simpl; rewrite Rmin_right; lra|].
  rewrite seq_S, sum_app. cbn [sum]. rewrite Nat.add_0_l, S_INR. unfold portion in *.
  unfold Rmax, Rmin in *. repeat destruct (Rle_dec _ _); lra.
Qed.

Lemma filled_le : forall p, 0 <= p -> filled p <= p.
Proof.
  intros p nonneg. pose proof parts_pos. unfold filled. apply Rmult_le_reg_r with (INR N); [assumption|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (sum (fun m => portion (INR N * p - INR m)) (seq 0 N)).
  - apply sum_le. intros m _. rewrite <- Rmult_1_l. apply Rmult_le_compat_r; [apply Rmax_l|apply K_between].
  - rewrite Rmult_comm. eapply Rle_trans; [apply portions; nra|apply Rmin_l].
Qed.

Lemma one_part : forall M p q, (M < N)%nat -> INR M <= INR N * p -> p <= q -> INR N * q <= INR (S M) ->
  filled q - filled p = K M * (q - p).
Proof.
  intros M p q small left order right. pose proof parts_pos. unfold filled.
  assert (parts : forall P, sum (fun m => K m * portion (INR N * q - INR m)) (seq 0 P) - sum (fun m => K m * portion (INR N * p - INR m)) (seq 0 P)
    = if le_lt_dec P M then 0 else K M * (INR N * (q - p))).
  { rewrite S_INR in right. assert (INR N * p <= INR N * q) by (apply Rmult_le_compat_l; lra).
    induction P as [|P IH]; [simpl; lra|]. rewrite seq_S, !sum_app. cbn [sum]. rewrite Nat.add_0_l.
    unfold portion in *. destruct (le_lt_dec (S P) M) as [before|after].
    - destruct (le_lt_dec P M); [|lia]. apply le_INR in before. rewrite S_INR in before.
      rewrite (Rmin_left 1 (INR N * q - INR P)), (Rmin_left 1 (INR N * p - INR P)) by lra. lra.
    - destruct (Nat.eq_dec P M) as [->|other].
      + destruct (le_lt_dec M M); [|lia].
        rewrite (Rmin_right 1 (INR N * q - INR M)), (Rmin_right 1 (INR N * p - INR M)), !Rmax_right by lra. lra.
      + destruct (le_lt_dec P M); [lia|]. assert (beyond : (S M <= P)%nat) by lia. apply le_INR in beyond. rewrite S_INR in beyond.
        rewrite (Rmin_right 1 (INR N * q - INR P)), (Rmin_right 1 (INR N * p - INR P)), !Rmax_left by lra. lra. }
  specialize (parts N). destruct (le_lt_dec N M); [lia|].
  replace (K M * (q - p)) with (K M * (INR N * (q - p)) / INR N) by (field; lra). rewrite <- parts. field. lra.
Qed.

Lemma under_h : forall a b, ex_RInt (fun u => f (u - s) * (h u + e)) a b.
Proof.
  intros a b. apply (f_fits f F is_noise). intros u.
  apply (@continuous_plus R_UniformSpace R_AbsRing R_NormedModule); [apply h_smooth|apply continuous_const].
Qed.

Lemma climb : forall M t v, (M <= N)%nat -> low <= t <= v -> 0 < F (t - s) -> INR N * F (v - s) <= INR M ->
  filled (F (v - s)) - filled (F (t - s)) <= RInt (fun u => f (u - s) * (h u + e)) t v.
Proof.
  induction M as [|M IH]; intros t v bounded between positive under.
  - pose proof parts_pos. pose proof (F_grows f F is_noise (t - s) (v - s) ltac:(lra)). simpl in under. nra.
  - destruct (Rle_or_lt (INR N * F (v - s)) (INR M)) as [low_enough|above]; [apply IH; [lia|assumption..]|].
    pose proof parts_pos as many. pose proof (F_grows f F is_noise (t - s) (v - s) ltac:(lra)) as more.
    assert (from : exists m, t <= m <= v /\ INR M <= INR N * F (m - s) /\
      filled (F (m - s)) - filled (F (t - s)) <= RInt (fun u => f (u - s) * (h u + e)) t m).
    { destruct (Rle_or_lt (INR M) (INR N * F (t - s))) as [already|below].
      - exists t. split; [lra|]. split; [assumption|]. rewrite (@RInt_point R_CompleteNormedModule). unfold zero; simpl. lra.
      - destruct (reaches s t v (INR M / INR N)) as (m & inside & equal); [lra| |].
        + split; apply Rmult_le_reg_l with (INR N); try assumption;
            replace (INR N * (INR M / INR N)) with (INR M) by (field; lra); lra.
        + assert (known : INR N * F (m - s) = INR M) by (rewrite equal; field; lra). exists m.
          split; [assumption|]. split; [lra|]. apply IH; [lia|lra|assumption|lra]. }
    destruct from as (m & inside & above' & before).
    rewrite <- (RInt_Chasles (fun u => f (u - s) * (h u + e)) t m v) by apply under_h. unfold plus; simpl.
    assert (rest : filled (F (v - s)) - filled (F (m - s)) <= RInt (fun u => f (u - s) * (h u + e)) m v); [|lra].
    pose proof (F_grows f F is_noise (t - s) (m - s) ltac:(lra)). pose proof (F_grows f F is_noise (m - s) (v - s) ltac:(lra)).
    rewrite (one_part M) by (assumption || lia). rewrite <- (shifted_area s m v) by lra.
    rewrite <- (@RInt_scal R_CompleteNormedModule) by now apply (density_alone f F).
    apply RInt_le; [lra|apply (@ex_RInt_scal R_NormedModule); now apply (density_alone f F)|apply under_h|].
    intros u here. unfold scal; simpl. unfold mult; simpl. rewrite Rmult_comm.
    apply Rmult_le_compat_l; [now apply (f_nonneg f F)|]. apply near; [lia|lra|].
    pose proof (rises (m - s) (u - s) ltac:(lra) ltac:(lra)). pose proof (rises (u - s) (v - s) ltac:(lra) ltac:(lra)).
    split; nra.
Qed.

Theorem parts_below : forall v eps, low <= v -> 0 < eps -> (forall u, low <= u -> 0 <= h u) ->
  filled (F (v - s)) <= RInt (fun u => f (u - s) * h u) low v + e + F (low - s) + eps.
Proof.
  intros v eps order small h_nonneg.
  assert (fits : forall a b, ex_RInt (fun u => f (u - s) * h u) a b) by (intros; now apply (f_fits f F is_noise)).
  assert (positive : forall a b, low <= a <= b -> 0 <= RInt (fun u => f (u - s) * h u) a b).
  { intros a b between. apply RInt_ge_0; [lra|apply fits|]. intros u inside.
    apply Rmult_le_pos; [now apply (f_nonneg f F)|apply h_nonneg; lra]. }
  pose proof (F_nonneg f F is_noise (v - s)) as nonneg. pose proof (F_nonneg f F is_noise (low - s)).
  destruct (Rle_or_lt (F (v - s)) eps) as [few|many].
  { pose proof (filled_le _ nonneg). pose proof (positive low v ltac:(lra)). lra. }
  assert (start : exists t, low <= t <= v /\ 0 < F (t - s) <= F (low - s) + eps).
  { destruct (Rle_or_lt eps (F (low - s))) as [already|below]; [exists low; lra|].
    destruct (reaches s low v eps) as (t & inside & equal); [assumption|lra|]. exists t. lra. }
  destruct start as (t & inside & begun).
  pose proof parts_pos. pose proof (F_between f F is_noise (v - s)).
  pose proof (climb N t v (Nat.le_refl N) inside ltac:(lra) ltac:(nra)) as step.
  pose proof (filled_le (F (t - s)) ltac:(lra)).
  assert (split : RInt (fun u => f (u - s) * (h u + e)) t v <= RInt (fun u => f (u - s) * h u) t v + e).
  { rewrite (RInt_ext _ (fun u => plus (f (u - s) * h u) (scal e (f (u - s)))))
      by (intros; unfold plus, scal; simpl; unfold mult; simpl; ring).
    rewrite (@RInt_plus R_CompleteNormedModule), (@RInt_scal R_CompleteNormedModule);
      [|now apply (density_alone f F)|apply fits|apply (@ex_RInt_scal R_NormedModule); now apply (density_alone f F)].
    pose proof (density_mass f F is_noise s t v ltac:(lra)). unfold plus, scal; simpl. unfold mult; simpl. nra. }
  rewrite <- (RInt_Chasles (fun u => f (u - s) * h u) low t v) by apply fits. unfold plus; simpl.
  pose proof (positive low t ltac:(lra)). lra.
Qed.

End Heights.
End Parts.
