(* The range of permute-and-flip is at most a(r) = r + 2 ln(2 - exp(-r/2)), for any number of candidates. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling Orders PermuteAndFlip Flips.
Import ListNotations.
Open Scope R_scope.

Section Means.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (l m : list I) (within : incl m l).
Notation losers := PermuteAndFlip.losers.
Notation top := PermuteAndFlip.top.

(* Where the others let candidates arrive: the mean of x under the density in proportion to their product. *)
Definition mass (s : I -> R) : R := RInt (losers m s) 0 (exp (- top l s)).
Definition first (s : I -> R) : R := RInt (fun x => x * losers m s x) 0 (exp (- top l s)).
Definition mean (s : I -> R) : R := first s / mass s.

Lemma scaled_continuous : forall c s x, continuous (fun x => (x - c) * losers m s x) x.
Proof.
  intros c s x. apply (@continuous_mult R_UniformSpace R_AbsRing); [|apply losers_continuous].
  apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
Qed.

Lemma times_continuous : forall s x, continuous (fun x => x * losers m s x) x.
Proof.
  intros s x. apply (@continuous_mult R_UniformSpace R_AbsRing); [apply continuous_id|apply losers_continuous].
Qed.

Lemma mass_pos : forall s, 0 < mass s.
Proof. intros s. now apply integral_pos. Qed.

Lemma about : forall c s a b,
  RInt (fun x => (x - c) * losers m s x) a b = RInt (fun x => x * losers m s x) a b - c * RInt (losers m s) a b.
Proof.
  intros c s a b. rewrite (RInt_ext _ (fun x => minus (x * losers m s x) (scal c (losers m s x)))).
  2: { intros x _. unfold minus, plus, opp, scal; simpl. unfold mult; simpl. ring. }
  assert (smooth : forall x, continuous (fun x => scal c (losers m s x)) x).
  { intros x. apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule c), losers_continuous. }
  rewrite (@RInt_minus R_CompleteNormedModule); [|apply integrable, times_continuous|apply integrable; exact smooth].
  rewrite (@RInt_scal R_CompleteNormedModule) by apply integrable, losers_continuous. reflexivity.
Qed.

Lemma mean_pos : forall s, 0 < mean s.
Proof.
  intros s. apply Rdiv_lt_0_compat; [|apply mass_pos]. apply RInt_gt_0; [apply exp_pos| |].
  - intros x between. apply Rmult_lt_0_compat; [lra|]. apply (positive_inside l); [assumption|lra].
  - intros x _. apply times_continuous.
Qed.

Lemma losers_falls : forall s x z, 0 <= x <= z -> z <= exp (- top l s) -> losers m s z <= losers m s x.
Proof.
  intros s x z order inside. apply product_le. intros j here. pose proof (factor l s z j (within j here) ltac:(lra)).
  pose proof (exp_pos (s j)). assert (x * exp (s j) <= z * exp (s j)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* A density that falls has its mean in the first half. *)
Lemma mean_le_half : forall s, mean s <= exp (- top l s) / 2.
Proof.
  intros s. set (b := exp (- top l s)). assert (0 < b) by apply exp_pos. set (h := b / 2). assert (middle : h = b / 2) by reflexivity.
  unfold mean. apply Rcomplements.Rle_div_l; [apply mass_pos|]. unfold first, mass. fold b.
  cut (RInt (fun x => (x - h) * losers m s x) 0 b <= 0); [rewrite about; lra|].
  apply Rle_trans with (RInt (fun x => scal (losers m s h) (x - h)) 0 b).
  - apply RInt_le; [lra|apply integrable; intros; apply scaled_continuous| |].
    + apply integrable. intros x. apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule).
      apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
    + intros x between. unfold scal; simpl. unfold mult; simpl.
      destruct (Rle_or_lt x h) as [early|late].
      * pose proof (losers_falls s x h ltac:(lra) ltac:(fold b; lra)). nra.
      * pose proof (losers_falls s h x ltac:(lra) ltac:(fold b; lra)). nra.
  - right. rewrite (@is_RInt_unique R_CompleteNormedModule _ _ _ (scal (losers m s h) 0)).
    + unfold scal; simpl. unfold mult; simpl. ring.
    + apply (@is_RInt_scal R_NormedModule).
      replace 0 with (minus ((b - h) * (b - h) / 2) ((0 - h) * (0 - h) / 2)) at 2.
      * apply (is_RInt_derive (fun x => (x - h) * (x - h) / 2)).
        -- intros x _. auto_derive; [trivial|field].
        -- intros x _. apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
      * unfold minus, plus, opp; simpl. unfold h. field.
Qed.

Lemma product_mult : forall (f g : I -> R) k, product (fun j => f j * g j) k = product f k * product g k.
Proof. induction k as [|j k IH]; simpl; [ring|]. rewrite IH. ring. Qed.

(* Lower scores make late arrivals likelier, in proportion. *)
Lemma likelier_late : forall s s' x z, (forall j, In j l -> s' j <= s j) -> 0 <= x <= z -> z <= exp (- top l s) ->
  losers m s' x * losers m s z <= losers m s' z * losers m s x.
Proof.
  intros s s' x z less order inside. unfold PermuteAndFlip.losers. rewrite <- !product_mult. apply product_le.
  intros j here. pose proof (factor l s z j (within j here) ltac:(lra)) as late.
  pose proof (factor l s x j (within j here) ltac:(lra)) as early.
  pose proof (exp_le _ _ (less j (within j here))) as lower. pose proof (exp_pos (s' j)).
  assert (x * exp (s' j) <= x * exp (s j)) by (apply Rmult_le_compat_l; lra).
  split; [apply Rmult_le_pos; lra|].
  assert (0 <= (z - x) * (exp (s j) - exp (s' j))) by (apply Rmult_le_pos; lra). nra.
Qed.

Lemma mean_falls : forall s s', l <> [] -> (forall j, In j l -> s' j <= s j) -> mean s <= mean s'.
Proof.
  intros s s' some less. set (b := exp (- top l s)). set (c := exp (- top l s')). set (e := mean s).
  assert (0 < b) by apply exp_pos. assert (0 < e) by apply mean_pos.
  assert (early : e <= b / 2) by apply mean_le_half.
  assert (b <= c).
  { apply exp_le. destruct (top_in l s' some) as (i & inside & <-). pose proof (less i inside).
    pose proof (top_ge l s i inside). lra. }
  assert (zero : RInt (fun x => (x - e) * losers m s x) 0 b = 0).
  { rewrite about. change (first s - e * mass s = 0). unfold e, mean. field. apply Rgt_not_eq, mass_pos. }
  assert (at_mean : 0 < losers m s e) by (apply (positive_inside l); [assumption|fold b; lra]).
  assert (smooth := scaled_continuous e s'). assert (smooth' := scaled_continuous e s).
  assert (head : 0 <= RInt (fun x => (x - e) * losers m s' x) 0 b).
  { apply Rmult_le_reg_l with (losers m s e); [assumption|]. rewrite Rmult_0_r.
    apply Rle_trans with (losers m s' e * RInt (fun x => (x - e) * losers m s x) 0 b); [rewrite zero; lra|].
    rewrite <- !(@RInt_scal R_CompleteNormedModule) by (apply integrable; assumption).
    apply RInt_le; [lra| | |].
    - apply integrable. intros x. now apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule).
    - apply integrable. intros x. now apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule).
    - intros x between. unfold scal; simpl. unfold mult; simpl.
      destruct (Rle_or_lt x e) as [before|after].
      + pose proof (likelier_late s s' x e less ltac:(lra) ltac:(fold b; lra)). nra.
      + pose proof (likelier_late s s' e x less ltac:(lra) ltac:(fold b; lra)). nra. }
  assert (tail : 0 <= RInt (fun x => (x - e) * losers m s' x) b c).
  { apply RInt_ge_0; [assumption|now apply integrable|]. intros x between.
    apply Rmult_le_pos; [lra|]. apply (nonneg_inside l); [assumption|fold c; lra]. }
  assert (all : 0 <= RInt (fun x => (x - e) * losers m s' x) 0 c).
  { rewrite <- (RInt_Chasles _ 0 b c) by (apply integrable; assumption). unfold plus; simpl. lra. }
  rewrite about in all. change (0 <= first s' - e * mass s') in all. change (e <= first s' / mass s').
  apply (proj1 (Rcomplements.Rle_div_r e (first s') (mass s') (mass_pos s'))). lra.
Qed.

Lemma mean_shift : forall s c, l <> [] -> mean (fun j => s j + c) = exp (- c) * mean s.
Proof.
  intros s c some. unfold mean, first, mass. rewrite top_shift by assumption.
  set (b := exp (- top l s)). replace (exp (- (top l s + c))) with (exp (- c) * b) by (unfold b; rewrite <- exp_plus; f_equal; ring).
  assert (inverse := exp_inv c). assert (scaled : forall f : R -> R, (forall x, continuous f x) ->
    RInt f 0 (exp (- c) * b) = exp (- c) * RInt (fun x => f (exp (- c) * x)) 0 b).
  { intros f smooth.
    pose proof (@RInt_comp_lin R_CompleteNormedModule f (exp (- c)) 0 0 b) as change.
    rewrite !Rplus_0_r, Rmult_0_r in change. rewrite <- change by now apply integrable.
    rewrite (@RInt_scal R_CompleteNormedModule).
    - unfold scal; simpl. unfold mult; simpl. f_equal. apply RInt_ext. intros x _. f_equal. ring.
    - apply integrable. intros x. apply (continuous_comp (fun x => exp (- c) * x + 0) f); [|apply smooth].
      apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive. }
  rewrite !scaled by (exact (losers_continuous m _) || exact (times_continuous _)).
  rewrite (RInt_ext (fun x => exp (- c) * x * losers m (fun j => s j + c) (exp (- c) * x))
    (fun x => scal (exp (- c)) (x * losers m s x))).
  2: { intros x _. rewrite losers_shift. unfold scal; simpl. unfold mult; simpl.
       replace (exp c * (exp (- c) * x)) with x by (rewrite <- Rmult_assoc, (Rmult_comm (exp c)), inverse; ring). ring. }
  rewrite (RInt_ext (fun x => losers m (fun j => s j + c) (exp (- c) * x)) (losers m s)).
  2: { intros x _. rewrite losers_shift. f_equal. rewrite <- Rmult_assoc, (Rmult_comm (exp c)), inverse. ring. }
  rewrite (@RInt_scal R_CompleteNormedModule) by (apply integrable; intros; apply times_continuous).
  pose proof (mass_pos s) as positive. unfold mass in positive. fold b in positive. pose proof (exp_pos (- c)).
  unfold scal; simpl. unfold mult; simpl. field. split; lra.
Qed.

(* Scores that rise by at most e move the mean down by a factor of at most exp(e). *)
Lemma mean_moves : forall s s' e, l <> [] -> (forall j, In j l -> s' j - s j <= e) -> exp (- e) * mean s <= mean s'.
Proof.
  intros s s' e some less. rewrite <- mean_shift by assumption. apply mean_falls; [assumption|].
  intros j inside. specialize (less j inside). lra.
Qed.

End Means.
