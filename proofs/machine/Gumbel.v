(* Rankings with Gumbel noise have the law of peeling with the exponential mechanism. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PermuteAndFlip ClassA ClassABound.
Import ListNotations.
Open Scope R_scope.

(* The density and the distribution function of Gumbel noise. *)
Definition density (z : R) : R := exp (- z) * exp (- exp (- z)).
Definition gumbel (z : R) : R := exp (- exp (- z)).

Section Gumbel.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (losers : list I) (s : I -> R).
Notation "'ranked'" := (ranked losers density gumbel).

Lemma density_continuous : forall z, continuous density z.
Proof. intros z. apply (@ex_derive_continuous R_AbsRing R_NormedModule). unfold density. now auto_derive. Qed.

Lemma gumbel_continuous : forall z, continuous gumbel z.
Proof. intros z. apply (@ex_derive_continuous R_AbsRing R_NormedModule). unfold gumbel. now auto_derive. Qed.

Lemma density_nonneg : forall z, 0 <= density z.
Proof. intros z. unfold density. apply Rmult_le_pos; apply Rlt_le, exp_pos. Qed.

(* The probability that y are the winners, best first, and all noisy scores stay below v. *)
Definition all_below (y : list I) (v : R) : R :=
  peeled same (y ++ losers) s y * exp (- (exp (- v) * partition (y ++ losers) s)).

Lemma peeled_nonneg : forall y l, 0 <= peeled same l s y.
Proof.
  induction y as [|i y IH]; intros l; simpl; [lra|]. apply Rmult_le_pos; [|apply IH]. unfold chosen.
  destruct l as [|j l]; [unfold partition; simpl; unfold Rdiv; rewrite Rinv_0; lra|].
  apply Rlt_le, Rdiv_lt_0_compat; [apply exp_pos|]. apply partition_pos. discriminate.
Qed.

Lemma all_below_nonneg : forall y v, 0 <= all_below y v.
Proof. intros y v. apply Rmult_le_pos; [apply peeled_nonneg|apply Rlt_le, exp_pos]. Qed.

Lemma losers_below : forall v, product (fun j => gumbel (v - s j)) losers = all_below [] v.
Proof.
  intros v. unfold all_below. simpl. rewrite Rmult_1_l. unfold partition.
  induction losers as [|j l IH]; simpl; [now rewrite Rmult_0_r, Ropp_0, exp_0|].
  rewrite IH. unfold gumbel. rewrite <- exp_plus. f_equal. replace (- (v - s j)) with (- v + s j) by ring.
  rewrite exp_plus. ring.
Qed.

Lemma peeled_first : forall i z, ~ In i (z ++ losers) ->
  peeled same ((i :: z) ++ losers) s (i :: z) = exp (s i) / partition ((i :: z) ++ losers) s * peeled same (z ++ losers) s z.
Proof.
  intros i z fresh. simpl. destruct (same i i) as [_|]; [|easy]. now rewrite notin_remove.
Qed.

Lemma all_below_derive : forall i z v, ~ In i (z ++ losers) ->
  is_derive (all_below (i :: z)) v (density (v - s i) * all_below z v).
Proof.
  intros i z v fresh. unfold all_below. rewrite peeled_first by assumption.
  assert (positive : 0 < partition ((i :: z) ++ losers) s) by (apply partition_pos; discriminate).
  set (S := partition ((i :: z) ++ losers) s) in *. auto_derive; [trivial|].
  unfold density. replace (- (v - s i)) with (s i + - v) by ring.
  assert (parts : S = exp (s i) + partition (z ++ losers) s) by reflexivity.
  assert (joined : exp (- (exp (- v) * S)) = exp (- exp (s i + - v)) * exp (- (exp (- v) * partition (z ++ losers) s))).
  { rewrite <- exp_plus. f_equal. rewrite parts, exp_plus. ring. }
  rewrite joined, exp_plus. field. lra.
Qed.

Lemma inner_continuous : forall i z u, continuous (fun u => density (u - s i) * all_below z u) u.
Proof.
  intros i z u. apply (@ex_derive_continuous R_AbsRing R_NormedModule). unfold density, all_below. now auto_derive.
Qed.

Lemma all_below_integral : forall i z low v, ~ In i (z ++ losers) ->
  RInt (fun u => density (u - s i) * all_below z u) low v = all_below (i :: z) v - all_below (i :: z) low.
Proof.
  intros i z low v fresh. apply (@is_RInt_unique R_CompleteNormedModule).
  apply (is_RInt_derive (all_below (i :: z)) (fun u => density (u - s i) * all_below z u)).
  - intros u _. now apply all_below_derive.
  - intros u _. apply inner_continuous.
Qed.

Lemma density_integral : forall i low v, RInt (fun u => density (u - s i)) low v = gumbel (v - s i) - gumbel (low - s i).
Proof.
  intros i low v. apply (@is_RInt_unique R_CompleteNormedModule).
  apply (is_RInt_derive (fun u => gumbel (u - s i)) (fun u => density (u - s i))).
  - intros u _. unfold gumbel, density. auto_derive; [trivial|]. unfold Rminus. ring.
  - intros u _. apply (@ex_derive_continuous R_AbsRing R_NormedModule). unfold density. now auto_derive.
Qed.

Lemma gumbel_between : forall z, 0 < gumbel z <= 1.
Proof.
  intros z. unfold gumbel. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_le. pose proof (exp_pos (- z)). lra.
Qed.

(* What is lost where all winners have to be above low. *)
Fixpoint lost (y : list I) (low : R) : R :=
  match y with
  | [] => 0
  | i :: z => all_below (i :: z) low + lost z low
  end.

Lemma lost_nonneg : forall y low, 0 <= lost y low.
Proof.
  induction y as [|i z IH]; intros low; [simpl; lra|]. cbn [lost]. pose proof (all_below_nonneg (i :: z) low).
  specialize (IH low). lra.
Qed.

Lemma little_is_lost : forall y low v, NoDup (y ++ losers) -> low <= v ->
  all_below y v - lost y low <= ranked low s y v <= all_below y v.
Proof.
  induction y as [|i z IH]; intros low v distinct above.
  - simpl. rewrite losers_below. lra.
  - inversion distinct as [|? ? fresh distinct']; subst. cbn [ClassA.ranked lost].
    assert (smooth : ex_RInt (fun u => density (u - s i) * ranked low s z u) low v).
    { apply inner_integrable; [apply smooth_fits; exact density_continuous|exact gumbel_continuous]. }
    assert (whole : ex_RInt (fun u => density (u - s i) * all_below z u) low v) by apply integrable, inner_continuous.
    assert (alone : ex_RInt (fun u => density (u - s i)) low v).
    { apply integrable. intros u. apply shifted_smooth. exact density_continuous. }
    pose proof (all_below_integral i z low v fresh) as exact_all. pose proof (density_integral i low v) as exact_one.
    split.
    + apply Rle_trans with (RInt (fun u => minus (density (u - s i) * all_below z u) (scal (lost z low) (density (u - s i)))) low v).
      * rewrite (@RInt_minus R_CompleteNormedModule), (@RInt_scal R_CompleteNormedModule), exact_all, exact_one; try assumption;
          [|now apply (@ex_RInt_scal R_NormedModule)].
        unfold minus, plus, opp, scal; simpl. unfold mult; simpl.
        pose proof (lost_nonneg z low). pose proof (gumbel_between (v - s i)). pose proof (gumbel_between (low - s i)). nra.
      * apply RInt_le; [assumption| |assumption|].
        -- apply (@ex_RInt_minus R_NormedModule); [assumption|now apply (@ex_RInt_scal R_NormedModule)].
        -- intros u between. unfold minus, plus, opp, scal; simpl. unfold mult; simpl.
           pose proof (IH low u distinct' ltac:(lra)). pose proof (density_nonneg (u - s i)). nra.
    + apply Rle_trans with (RInt (fun u => density (u - s i) * all_below z u) low v).
      * apply RInt_le; [assumption|assumption|assumption|]. intros u between. apply Rmult_le_compat_l; [apply density_nonneg|].
        apply IH; [assumption|lra].
      * rewrite exact_all. pose proof (all_below_nonneg (i :: z) low). lra.
Qed.

End Gumbel.
