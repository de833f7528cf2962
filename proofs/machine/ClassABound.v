(* Noise of class A: the bound for the law itself, which is the limit over growing intervals. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws PermuteAndFlip ClassA.
Import ListNotations.
Open Scope R_scope.

Section Bound.
Context {I : Type} (losers : list I) (f F : R -> R).
Hypothesis (f_nonneg : forall z, 0 <= f z) (f_fits : integrable_with f).
Hypothesis (F_nonneg : forall z, 0 <= F z) (F_smooth : forall z, continuous F z).
Hypothesis (F_grows : forall z w, z <= w -> F z <= F w).
Hypothesis (class_A : forall z c, 0 <= c -> exp (- c) * f z <= f (z + c)).
Notation ranked := (ranked losers f F).

Lemma ranked_grows : forall s y low low' v w, low' <= low -> low <= v -> v <= w ->
  ranked low s y v <= ranked low' s y w.
Proof.
  intros s. induction y as [|i z IH]; intros low low' v w lower above higher; simpl.
  - apply base_le; auto. intros j _. lra.
  - assert (whole := inner_integrable losers f F f_fits F_smooth low s i z).
    assert (whole' := inner_integrable losers f F f_fits F_smooth low' s i z).
    set (g := fun u => f (u - s i) * ranked low' s z u) in *.
    assert (nonneg : forall a b, low' <= a -> a <= b -> 0 <= RInt g a b).
    { intros a b inside order. apply RInt_ge_0; [assumption|apply whole'|].
      intros u between. apply Rmult_le_pos; [apply f_nonneg|]. apply ranked_nonneg; auto. lra. }
    rewrite <- (RInt_Chasles g low' low w), <- (RInt_Chasles g low v w) by apply whole'.
    pose proof (nonneg low' low ltac:(lra) lower). pose proof (nonneg v w ltac:(lra) higher).
    assert (RInt (fun u => f (u - s i) * ranked low s z u) low v <= RInt g low v); [|unfold plus; simpl; lra].
    apply RInt_le; [assumption|apply whole|apply whole'|].
    intros u between. apply Rmult_le_compat_l; [apply f_nonneg|]. apply IH; lra.
Qed.

(* The probability of the ranking y: no bound on the noisy scores. *)
Definition probability (s : I -> R) (y : list I) (P : R) : Prop :=
  is_lim_seq (fun n => ranked (- INR n) s y (INR n)) P.

Context (s s' : I -> R) (r : R) (y : list I) (P P' : R).
Hypothesis (law : probability s y P) (law' : probability s' y P').
Hypothesis (winners : forall i, In i y -> 0 <= s' i - s i <= r).
Hypothesis (rest : forall j, In j losers -> 0 <= s' j - s j <= r) (nonneg : 0 <= r).

Lemma wide : forall n, - INR n <= INR n.
Proof. intros n. pose proof (pos_INR n). lra. Qed.

Theorem above : exp (- sum (fun i => s' i - s i) y) * P' <= P.
Proof.
  apply (is_lim_seq_le (fun n => exp (- sum (fun i => s' i - s i) y) * ranked (- INR n) s' y (INR n))
    (fun n => ranked (- INR n) s y (INR n)) (exp (- sum (fun i => s' i - s i) y) * P') P).
  - intros n. apply rising; auto using wide; intros i here; [specialize (winners i here)|specialize (rest i here)]; lra.
  - apply (is_lim_seq_scal_l (fun n => ranked (- INR n) s' y (INR n)) _ P'). exact law'.
  - exact law.
Qed.

Theorem under : exp (- sum (fun i => r - (s' i - s i)) y) * P <= P'.
Proof.
  destruct (nfloor_ex r nonneg) as (M & _ & enough). set (N := S M). assert (r < INR N) by (unfold N; rewrite S_INR; lra).
  apply (is_lim_seq_le (fun n => exp (- sum (fun i => r - (s' i - s i)) y) * ranked (- INR n) s y (INR n))
    (fun n => ranked (- INR (n + N)) s' y (INR (n + N))) (exp (- sum (fun i => r - (s' i - s i)) y) * P) P').
  - intros n. eapply Rle_trans.
    + apply (falling losers f F f_nonneg f_fits F_nonneg F_smooth F_grows class_A (- INR n) s s' r y (INR n));
        auto using wide; intros i here; [specialize (winners i here)|specialize (rest i here)]; lra.
    + rewrite plus_INR. pose proof (wide n). pose proof (pos_INR N). apply ranked_grows; lra.
  - apply (is_lim_seq_scal_l (fun n => ranked (- INR n) s y (INR n)) _ P). exact law.
  - apply (proj1 (is_lim_seq_incr_n (fun n => ranked (- INR n) s' y (INR n)) N P')). exact law'.
Qed.

End Bound.
