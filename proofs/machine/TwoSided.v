(* Laplace and logistic noise: a ranking costs no more than half of all candidates' steps. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PermuteAndFlip ClassA ClassABound ExponentialNoise.
From Machine Require Import Jumps OneShot OneShotLoss Noises Released.
Import ListNotations.
Open Scope R_scope.

(* Some point is so near to all that the distances add up to no more than half of the numbers times their spread. *)
Lemma median : forall n lo hi (xs : list R), (length xs <= n)%nat -> lo <= hi -> (forall x, In x xs -> lo <= x <= hi) ->
  exists c, lo <= c <= hi /\ sum (fun x => Rabs (x - c)) xs <= INR (Nat.div2 (length xs)) * (hi - lo).
Proof.
  intros n. induction n as [n IH] using (well_founded_induction Wf_nat.lt_wf). intros lo hi xs few order near.
  destruct xs as [|x [|x' rest]].
  - exists lo. simpl. lra.
  - exists x. split; [apply near; now left|]. simpl. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  - destruct (least_value Ropp (x :: x' :: rest) ltac:(discriminate)) as (M & (high & here & <-) & most).
    apply in_split in here. destruct here as (u & v & split). rewrite split in *.
    assert (some : u ++ v <> []).
    { intros none. apply app_eq_nil in none. destruct none as [-> ->]. now apply (f_equal (@length R)) in split. }
    destruct (least_value (fun z => z) (u ++ v) some) as (m & (low & here & <-) & least).
    apply in_split in here. destruct here as (u' & v' & split').
    assert (all : Permutation (u ++ high :: v) (high :: low :: u' ++ v')).
    { rewrite <- Permutation_middle, split', <- Permutation_middle. reflexivity. }
    pose proof (Permutation_length all) as size. simpl in size.
    assert (between : forall z, In z (u' ++ v') -> low <= z <= high).
    { intros z here. split.
      - apply least. rewrite split'. apply in_app_or in here. apply in_or_app. simpl. tauto.
      - specialize (most z). cut (- high <= - z); [lra|]. apply most. apply (Permutation_in z (Permutation_sym all)). simpl. auto. }
    assert (order' : low <= high).
    { cut (- high <= - low); [lra|]. apply most. apply (Permutation_in low (Permutation_sym all)). simpl. auto. }
    destruct (IH (length (u' ++ v')) ltac:(lia) low high (u' ++ v') (Nat.le_refl _) order' between) as (c & inside & half).
    pose proof (near high (Permutation_in high (Permutation_sym all) (or_introl eq_refl))).
    pose proof (near low (Permutation_in low (Permutation_sym all) (or_intror (or_introl eq_refl)))).
    exists c. split; [lra|]. rewrite (sum_permutation _ _ _ all), size. cbn [sum Nat.div2]. rewrite S_INR.
    rewrite (Rabs_pos_eq (high - c)) by lra. rewrite (Rabs_left1 (low - c)) by lra.
    pose proof (pos_INR (Nat.div2 (length (u' ++ v')))). nra.
Qed.

(* The logarithm of the density changes no faster than its argument, in both directions. *)
Definition two_sided (f : R -> R) : Prop := forall z w, exp (- Rabs (z - w)) * f w <= f z.

Section TwoSided.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (f F : R -> R).
Hypothesis (is_noise : noise f F) (flat : two_sided f).
Notation rankings := (rankings same).
Notation left_over := (left_over same).
Notation released := (released same f F).

Lemma ranked_all : forall s s' low y v, low <= v ->
  exp (- sum (fun i => Rabs (s' i - s i)) y) * ranked (@nil I) f F low s y v <= ranked (@nil I) f F low s' y v.
Proof.
  intros s s' low. induction y as [|i z IH]; intros v above; cbn [ranked sum product].
  - rewrite Ropp_0, exp_0. lra.
  - set (rest := sum (fun i => Rabs (s' i - s i)) z) in *.
    assert (fits := fun t => inner_fits f F is_noise t (@nil I)).
    rewrite <- (@RInt_scal R_CompleteNormedModule) by apply fits.
    apply RInt_le; [assumption|apply (@ex_RInt_scal R_NormedModule), fits|apply fits|].
    intros u between. unfold scal; simpl. unfold mult; simpl. pose proof (IH u ltac:(lra)) as inner.
    pose proof (flat (u - s' i) (u - s i)) as step. replace (u - s' i - (u - s i)) with (- (s' i - s i)) in step by ring.
    rewrite Rabs_Ropp in step. replace (- (Rabs (s' i - s i) + rest)) with (- Rabs (s' i - s i) + - rest) by ring. rewrite exp_plus.
    replace (exp (- Rabs (s' i - s i)) * exp (- rest) * (f (u - s i) * ranked (@nil I) f F low s z u))
      with ((exp (- Rabs (s' i - s i)) * f (u - s i)) * (exp (- rest) * ranked (@nil I) f F low s z u)) by ring.
    apply Rmult_le_compat; [| |assumption|assumption]; apply Rmult_le_pos; try (apply Rlt_le, exp_pos).
    + now apply f_nonneg with F.
    + apply ranked_nonneg; [now apply f_nonneg with F|now apply f_fits with F|now apply F_nonneg with f|now apply F_smooth with f|lra].
Qed.

Lemma released_all : forall l s s' y, NoDup l -> In y (rankings (length l) l) ->
  exp (- sum (fun i => Rabs (s' i - s i)) l) * released l s y <= released l s' y.
Proof.
  intros l s s' y distinct here.
  pose proof (left_over_length same (length l) l y distinct here) as size.
  assert (none : left_over l y = []) by (destruct (left_over l y); [reflexivity|simpl in size; lia]).
  pose proof (everybody_has_a_place same (length l) l y distinct here) as all. rewrite none, app_nil_r in all.
  rewrite (sum_permutation _ _ _ all).
  pose proof (released_is same f F is_noise s l y) as one. pose proof (released_is same f F is_noise s' l y) as two.
  unfold probability in one, two. rewrite none in one, two.
  apply (is_lim_seq_le (fun n => exp (- sum (fun i => Rabs (s' i - s i)) y) * ranked (@nil I) f F (- INR n) s y (INR n))
    (fun n => ranked (@nil I) f F (- INR n) s' y (INR n)) (exp (- sum (fun i => Rabs (s' i - s i)) y) * released l s y) (released l s' y)).
  - intros n. apply ranked_all, wide.
  - now apply (is_lim_seq_scal_l (fun n => ranked (@nil I) f F (- INR n) s y (INR n)) _ (released l s y)).
  - exact two.
Qed.

Lemma one_more : forall k l y i, In y (rankings k l) -> In i (left_over l y) -> In (y ++ [i]) (rankings (S k) l).
Proof.
  induction k as [|k IH]; intros l y i here last; apply rankings_shape in here;
    destruct here as [(zero & ->)|(n & j & z & next & -> & here & there)]; try easy; simpl in last.
  - apply rankings_step. split; [assumption|now left].
  - injection next as <-. simpl app. apply rankings_step. split; [assumption|]. now apply IH.
Qed.

(* A ranking of fewer is a function of the ranking of all. *)
Lemma of_fewer : forall l s s' B, NoDup l ->
  (forall y, In y (rankings (length l) l) -> exp (- B) * released l s y <= released l s' y) ->
  forall j k, (k + j = length l)%nat -> forall y, In y (rankings k l) -> exp (- B) * released l s y <= released l s' y.
Proof.
  intros l s s' B distinct all. induction j as [|j IH]; intros k size y here.
  - apply all. now replace (length l) with k by lia.
  - rewrite (released_next same f F is_noise k l s y), (released_next same f F is_noise k l s' y) by (try assumption; lia).
    rewrite <- sum_scale. apply sum_le. intros i last. apply (IH (S k)); [lia|]. now apply one_more.
Qed.

Theorem half_of_all : forall k l s s' r, NoDup l -> (k <= length l)%nat -> spread l s s' r ->
  pure (rankings k l) (released l s) (released l s') (INR (Nat.min k (Nat.div2 (length l))) * r).
Proof.
  intros k l s s' r distinct enough near y here.
  pose proof (proj1 (released_is_a_law same f F is_noise k l s distinct enough) y here) as positive.
  pose proof (proj1 (released_is_a_law same f F is_noise k l s' distinct enough) y here) as positive'.
  pose proof (released_pure same f F is_noise k l s s' r distinct enough near y here) as steps.
  destruct l as [|j l].
  - destruct k as [|k]; [|simpl in enough; lia]. simpl in *. lra.
  - set (m := j :: l) in *. destruct (all_within m s s' r ltac:(discriminate) near) as (c & between).
    pose proof (spread_nonneg j m s s' r ltac:(now left) near) as nonneg.
    destruct (median (length m) c (c + r) (map (fun i => s' i - s i) m)) as (b & _ & half).
    { now rewrite map_length. }
    { lra. }
    { intros x inside. apply in_map_iff in inside. destruct inside as (i & <- & inside). now apply between. }
    rewrite map_length, sum_map in half. replace (c + r - c) with r in half by ring.
    set (B := sum (fun i => Rabs (s' i - s i - b)) m) in *.
    assert (one : exp (- B) * released m s y <= released m s' y).
    { rewrite <- (released_shift same f F is_noise k m s' (- b)) by assumption.
      apply (of_fewer m s (fun i => s' i + - b) B distinct) with (j := (length m - k)%nat) (k := k); [|lia|assumption].
      intros z there. unfold B. rewrite (sum_ext _ (fun i => Rabs (s' i + - b - s i))) by (intros; f_equal; ring).
      now apply released_all. }
    assert (two : exp (- B) * released m s' y <= released m s y).
    { rewrite <- (released_shift same f F is_noise k m s b) by assumption.
      apply (of_fewer m s' (fun i => s i + b) B distinct) with (j := (length m - k)%nat) (k := k); [|lia|assumption].
      intros z there. unfold B. rewrite (sum_ext _ (fun i => Rabs (s i + b - s' i))).
      - now apply released_all.
      - intros i _. rewrite <- Rabs_Ropp. f_equal. ring. }
    assert (bound : Rabs (loss (released m s) (released m s') y) <= B).
    { unfold loss. rewrite ln_quotient by assumption. apply Rabs_le. split.
      - cut (ln (exp (- B) * released m s y) <= ln (released m s' y)).
        + rewrite ln_mult, ln_exp by (try apply exp_pos; assumption). lra.
        + apply ln_le; [|assumption]. apply Rmult_lt_0_compat; [apply exp_pos|assumption].
      - cut (ln (exp (- B) * released m s' y) <= ln (released m s y)).
        + rewrite ln_mult, ln_exp by (try apply exp_pos; assumption). lra.
        + apply ln_le; [|assumption]. apply Rmult_lt_0_compat; [apply exp_pos|assumption]. }
    destruct (Nat.le_gt_cases k (Nat.div2 (length m))) as [few|many].
    + rewrite Nat.min_l by assumption. eapply Rle_trans; [exact steps|]. apply Rmult_le_compat_r; [assumption|].
      apply le_INR, Nat.le_min_l.
    + rewrite Nat.min_r by lia. lra.
Qed.

End TwoSided.

Theorem laplace_is_two_sided : two_sided laplace_density.
Proof.
  intros z w. unfold laplace_density. assert (exp (- Rabs (z - w)) * exp (- Rabs w) <= exp (- Rabs z)); [|lra].
  rewrite <- exp_plus. apply exp_le. pose proof (Rabs_triang (z - w) w) as less. replace (z - w + w) with z in less by ring. lra.
Qed.

Lemma logistic_even : forall z, logistic_density (- z) = logistic_density z.
Proof.
  intros z. unfold logistic_density. rewrite Ropp_involutive, exp_Ropp. pose proof (exp_pos z). field. lra.
Qed.

Theorem logistic_is_two_sided : two_sided logistic_density.
Proof.
  intros z w. destruct (Rle_or_lt w z) as [right|left].
  - rewrite Rabs_pos_eq by lra. pose proof (logistic_step w (z - w) ltac:(lra)) as step.
    replace (w + (z - w)) with z in step by ring. exact step.
  - rewrite Rabs_left by lra. pose proof (logistic_step (- w) (w - z) ltac:(lra)) as step.
    replace (- w + (w - z)) with (- z) in step by ring.
    rewrite <- (logistic_even w), <- (logistic_even z). replace (- - (z - w)) with (- (w - z)) by ring. exact step.
Qed.
