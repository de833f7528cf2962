(* Two steps, the second chosen in view of the first: pure losses and zCDP add up, ranges do not. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws.
Import ListNotations.
Open Scope R_scope.

Section TwoSteps.
Context {A B : Type} (first : list A) (second : A -> list B).

(* After the answer y the second answer is one of (second y), with the law K y. *)
Definition both : list (A * B) := flat_map (fun y => map (pair y) (second y)) first.
Definition joint (P : A -> R) (K : A -> B -> R) (answers : A * B) : R :=
  P (fst answers) * K (fst answers) (snd answers).

Lemma both_in : forall y z, In (y, z) both <-> In y first /\ In z (second y).
Proof.
  intros y z. unfold both. rewrite in_flat_map. split.
  - intros (w & here & mapped). apply in_map_iff in mapped. destruct mapped as (v & equal & there).
    now inversion equal; subst.
  - intros [here there]. exists y. split; [assumption|]. now apply in_map.
Qed.

Lemma sum_both : forall f, sum f both = sum (fun y => sum (fun z => f (y, z)) (second y)) first.
Proof. intros f. unfold both. rewrite sum_flat_map. apply sum_ext. intros y _. now rewrite sum_map. Qed.

Theorem joint_is_a_law : forall P K, law first P -> (forall y, In y first -> law (second y) (K y)) ->
  law both (joint P K).
Proof.
  intros P K law_P law_K. split.
  - intros [y z] inside. apply both_in in inside. destruct inside as [here there]. unfold joint. simpl.
    apply Rmult_lt_0_compat; [now apply law_P|now apply (law_K y here)].
  - rewrite sum_both, <- (proj2 law_P). apply sum_ext. intros y here. unfold joint. simpl.
    rewrite sum_scale, (proj2 (law_K y here)). ring.
Qed.

Section Losses.
Variables (P P' : A -> R) (K K' : A -> B -> R).
Hypothesis (law_P : law first P) (law_P' : law first P').
Hypothesis (law_K : forall y, In y first -> law (second y) (K y)).
Hypothesis (law_K' : forall y, In y first -> law (second y) (K' y)).

Lemma joint_loss : forall y z, In y first -> In z (second y) ->
  loss (joint P K) (joint P' K') (y, z) = loss P P' y + loss (K y) (K' y) z.
Proof.
  intros y z here there.
  pose proof (proj1 law_P y here). pose proof (proj1 law_P' y here).
  pose proof (proj1 (law_K y here) z there). pose proof (proj1 (law_K' y here) z there).
  unfold loss, joint. simpl. rewrite <- ln_mult by now apply Rdiv_lt_0_compat. f_equal. field. lra.
Qed.

Theorem pure_adaptive : forall e e', pure first P P' e -> (forall y, In y first -> pure (second y) (K y) (K' y) e') ->
  pure both (joint P K) (joint P' K') (e + e').
Proof.
  intros e e' near near' [y z] inside. apply both_in in inside. destruct inside as [here there].
  rewrite joint_loss by assumption. eapply Rle_trans; [apply Rabs_triang|].
  specialize (near y here). specialize (near' y here z there). lra.
Qed.

Theorem range_adaptive : forall a e, range first P P' a -> (forall y, In y first -> pure (second y) (K y) (K' y) e) ->
  range both (joint P K) (joint P' K') (a + 2 * e).
Proof.
  intros a e near near' [y z] [v w] inside inside'. apply both_in in inside, inside'.
  destruct inside as [here there], inside' as [here' there']. rewrite !joint_loss by assumption.
  specialize (near y v here here'). pose proof (near' y here z there) as one. pose proof (near' v here' w there') as two.
  apply Rcomplements.Rabs_le_between in one, two. lra.
Qed.

Lemma renyi_adaptive : forall rho rho', renyi first P P' rho ->
  (forall y, In y first -> renyi (second y) (K y) (K' y) rho') ->
  renyi both (joint P K) (joint P' K') (rho + rho').
Proof.
  intros rho rho' near near' alpha order. rewrite sum_both.
  rewrite (sum_ext _ (fun y => P y * exp (alpha * loss P P' y) *
    sum (fun z => K y z * exp (alpha * loss (K y) (K' y) z)) (second y))).
  2: { intros y here. rewrite <- sum_scale. apply sum_ext. intros z there.
       rewrite joint_loss by assumption. unfold joint. simpl. rewrite Rmult_plus_distr_l, exp_plus. ring. }
  replace (alpha * (alpha - 1) * (rho + rho')) with (alpha * (alpha - 1) * rho + alpha * (alpha - 1) * rho') by ring.
  rewrite exp_plus. eapply Rle_trans; [|apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|exact (near alpha order)]].
  rewrite <- sum_scale_right. apply sum_le. intros y here. apply Rmult_le_compat_l; [|now apply near'].
  apply Rmult_le_pos; [apply Rlt_le, (proj1 law_P y here)|apply Rlt_le, exp_pos].
Qed.

End Losses.

Theorem zCDP_adaptive : forall P P' K K' rho rho',
  law first P -> law first P' ->
  (forall y, In y first -> law (second y) (K y)) -> (forall y, In y first -> law (second y) (K' y)) ->
  zCDP first P P' rho -> (forall y, In y first -> zCDP (second y) (K y) (K' y) rho') ->
  zCDP both (joint P K) (joint P' K') (rho + rho').
Proof.
  intros P P' K K' rho rho' law_P law_P' law_K law_K' [near far] near'.
  split; apply renyi_adaptive; try assumption; intros y here; apply (near' y here).
Qed.

End TwoSteps.
