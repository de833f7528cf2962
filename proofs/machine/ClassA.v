(* Noise of class A, whose density may have jumps: a ranking of k winners has a loss of at most k r. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws PermuteAndFlip.
Import ListNotations.
Open Scope R_scope.

(* Of a density it is asked that its products with continuous functions have integrals; jumps do no harm. *)
Definition integrable_with (f : R -> R) : Prop :=
  forall (g : R -> R) c a b, (forall u, continuous g u) -> ex_RInt (fun u => f (u - c) * g u) a b.

Lemma shifted_smooth : forall (g : R -> R) c v, (forall z, continuous g z) -> continuous (fun u => g (u - c)) v.
Proof.
  intros g c v smooth. apply (continuous_comp (fun u => u - c) g); [|apply smooth].
  apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
Qed.

Lemma smooth_fits : forall f : R -> R, (forall z, continuous f z) -> integrable_with f.
Proof.
  intros f smooth g c a b smooth'. apply integrable. intros u.
  apply (@continuous_mult R_UniformSpace R_AbsRing); [now apply shifted_smooth|apply smooth'].
Qed.

Section ClassA.
Context {I : Type} (losers : list I) (f F : R -> R).
Hypothesis (f_nonneg : forall z, 0 <= f z) (f_fits : integrable_with f).
Hypothesis (F_nonneg : forall z, 0 <= F z) (F_smooth : forall z, continuous F z).
Hypothesis (F_grows : forall z w, z <= w -> F z <= F w).
Hypothesis (class_A : forall z c, 0 <= c -> exp (- c) * f z <= f (z + c)).

(* The probability, with noisy scores above low and the best one below v, that y are the winners, best first, and that
   all losers stay below the last of them. *)
Fixpoint ranked (low : R) (s : I -> R) (y : list I) (v : R) : R :=
  match y with
  | [] => product (fun j => F (v - s j)) losers
  | i :: z => RInt (fun u => f (u - s i) * ranked low s z u) low v
  end.

Lemma product_smooth : forall s v, continuous (fun u => product (fun j => F (u - s j)) losers) v.
Proof.
  intros s v. induction losers as [|j l IH]; simpl; [apply continuous_const|].
  apply (@continuous_mult R_UniformSpace R_AbsRing); [now apply shifted_smooth|exact IH].
Qed.

Lemma ranked_smooth : forall low s y v, continuous (ranked low s y) v.
Proof.
  intros low s. induction y as [|i z IH]; intros v; [apply product_smooth|]. simpl.
  apply (@continuous_RInt_1 R_NormedModule (fun u => f (u - s i) * ranked low s z u) low v).
  exists posreal_one. intros u _. apply (@RInt_correct R_CompleteNormedModule). now apply f_fits.
Qed.

Lemma inner_integrable : forall low s i z a b, ex_RInt (fun u => f (u - s i) * ranked low s z u) a b.
Proof. intros. apply f_fits, ranked_smooth. Qed.

Lemma ranked_nonneg : forall low s y v, low <= v -> 0 <= ranked low s y v.
Proof.
  intros low s. induction y as [|i z IH]; intros v above; simpl.
  - clear - F_nonneg. induction losers as [|j l IH]; simpl; [lra|]. now apply Rmult_le_pos.
  - apply RInt_ge_0; [assumption|apply (inner_integrable low s i z)|].
    intros u between. apply Rmult_le_pos; [apply f_nonneg|]. apply IH. lra.
Qed.

Lemma base_le : forall s s' v w, (forall j, In j losers -> v - s j <= w - s' j) ->
  product (fun j => F (v - s j)) losers <= product (fun j => F (w - s' j)) losers.
Proof. intros s s' v w less. apply product_le. intros j inside. split; [apply F_nonneg|now apply F_grows, less]. Qed.

(* Winners that rise by delta cost no more than the sum of their deltas. *)
Theorem rising : forall low s s' y v, low <= v ->
  (forall i, In i y -> s i <= s' i) -> (forall j, In j losers -> s j <= s' j) ->
  exp (- sum (fun i => s' i - s i) y) * ranked low s' y v <= ranked low s y v.
Proof.
  intros low s s'. induction y as [|i z IH]; intros v above more more'; simpl.
  - rewrite Ropp_0, exp_0, Rmult_1_l. apply base_le. intros j inside. specialize (more' j inside). lra.
  - set (total := sum (fun i => s' i - s i) z) in *.
    rewrite <- (@RInt_scal R_CompleteNormedModule); [|apply (inner_integrable low s' i z)].
    apply RInt_le; [assumption| |apply (inner_integrable low s i z)|].
    + apply (@ex_RInt_scal R_NormedModule), inner_integrable.
    + intros u between. unfold scal; simpl. unfold mult; simpl.
      pose proof (IH u ltac:(lra) (fun j here => more j (or_intror here)) more') as rest.
      pose proof (class_A (u - s' i) (s' i - s i) ltac:(specialize (more i (or_introl eq_refl)); lra)) as step.
      replace (u - s' i + (s' i - s i)) with (u - s i) in step by ring.
      replace (- (s' i - s i + total)) with (- (s' i - s i) + - total) by ring. rewrite exp_plus.
      replace (exp (- (s' i - s i)) * exp (- total) * (f (u - s' i) * ranked low s' z u))
        with ((exp (- (s' i - s i)) * f (u - s' i)) * (exp (- total) * ranked low s' z u)) by ring.
      apply Rmult_le_compat; [| |assumption|assumption]; apply Rmult_le_pos;
        auto using Rlt_le, exp_pos; apply ranked_nonneg; lra.
Qed.

(* Seen from a point that is r higher, nobody has risen by more than r: they cost r less their deltas. *)
Theorem falling : forall low s s' r y v, low <= v -> 0 <= r ->
  (forall i, In i y -> s' i <= s i + r) -> (forall j, In j losers -> s' j <= s j + r) ->
  exp (- sum (fun i => r - (s' i - s i)) y) * ranked low s y v <= ranked low s' y (v + r).
Proof.
  intros low s s' r. induction y as [|i z IH]; intros v above nonneg less less'; simpl.
  - rewrite Ropp_0, exp_0, Rmult_1_l. apply base_le. intros j inside. specialize (less' j inside). lra.
  - set (total := sum (fun i => r - (s' i - s i)) z) in *.
    assert (whole := inner_integrable low s' i z).
    assert (moved : RInt (fun u => f (u + r - s' i) * ranked low s' z (u + r)) low v
      = RInt (fun u => f (u - s' i) * ranked low s' z u) (low + r) (v + r)).
    { pose proof (@RInt_comp_lin R_CompleteNormedModule (fun u => f (u - s' i) * ranked low s' z u) 1 r low v) as change.
      rewrite !Rmult_1_l in change. rewrite <- change by apply whole.
      apply RInt_ext. intros u _. unfold scal; simpl. unfold mult; simpl. now rewrite !Rmult_1_l. }
    assert (whole' : forall a b, ex_RInt (fun u => f (u + r - s' i) * ranked low s' z (u + r)) a b).
    { intros a b. apply (ex_RInt_ext (fun u => f (u - (s' i - r)) * ranked low s' z (u + r))).
      - intros u _. f_equal. f_equal. ring.
      - apply f_fits. intros u. apply (continuous_comp (fun u => u + r) (ranked low s' z)); [|apply ranked_smooth].
        apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive. }
    apply Rle_trans with (RInt (fun u => f (u + r - s' i) * ranked low s' z (u + r)) low v).
    + rewrite <- (@RInt_scal R_CompleteNormedModule); [|apply (inner_integrable low s i z)].
      apply RInt_le; [assumption| |apply whole'|].
      * apply (@ex_RInt_scal R_NormedModule), inner_integrable.
      * intros u between. unfold scal; simpl. unfold mult; simpl.
        pose proof (IH u ltac:(lra) nonneg (fun j here => less j (or_intror here)) less') as rest.
        pose proof (class_A (u - s i) (r - (s' i - s i)) ltac:(specialize (less i (or_introl eq_refl)); lra)) as step.
        replace (u - s i + (r - (s' i - s i))) with (u + r - s' i) in step by ring.
        replace (- (r - (s' i - s i) + total)) with (- (r - (s' i - s i)) + - total) by ring. rewrite exp_plus.
        replace (exp (- (r - (s' i - s i))) * exp (- total) * (f (u - s i) * ranked low s z u))
          with ((exp (- (r - (s' i - s i))) * f (u - s i)) * (exp (- total) * ranked low s z u)) by ring.
        apply Rmult_le_compat; [| |assumption|assumption]; apply Rmult_le_pos;
          auto using Rlt_le, exp_pos; apply ranked_nonneg; lra.
    + rewrite moved. rewrite <- (RInt_Chasles (fun u => f (u - s' i) * ranked low s' z u) low (low + r) (v + r))
        by apply whole.
      assert (0 <= RInt (fun u => f (u - s' i) * ranked low s' z u) low (low + r)); [|unfold plus; simpl; lra].
      apply RInt_ge_0; [lra|apply whole|].
      intros u between. apply Rmult_le_pos; [apply f_nonneg|]. apply ranked_nonneg. lra.
Qed.

End ClassA.
