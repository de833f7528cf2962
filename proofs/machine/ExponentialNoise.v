(* One winner with exponential noise has the law of permute-and-flip. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PermuteAndFlip ClassA ClassABound GumbelLaw.
Import ListNotations.
Open Scope R_scope.

(* The density and the distribution function of exponential noise. *)
Definition exponential_density (z : R) : R := if Rle_dec 0 z then exp (- z) else 0.
Definition exponential_below (z : R) : R := if Rle_dec 0 z then 1 - exp (- z) else 0.

Section ExponentialNoise.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (s : I -> R).

(* The integrand, with the true functions and, above all scores, with smooth ones. *)
Definition wins (others : list I) (i : I) (u : R) : R :=
  exponential_density (u - s i) * product (fun j => exponential_below (u - s j)) others.
Definition wins_above (others : list I) (i : I) (u : R) : R := exp (s i) * (exp (- u) * losers others s (exp (- u))).

Lemma product_zero : forall (f : I -> R) l j, In j l -> f j = 0 -> product f l = 0.
Proof.
  induction l as [|h l IH]; intros j inside zero; [easy|]. simpl.
  destruct inside as [->|inside]; [rewrite zero; ring|rewrite (IH j inside zero); ring].
Qed.

Lemma product_permuted : forall (f : I -> R) l m, Permutation l m -> product f l = product f m.
Proof. induction 1; simpl; [reflexivity|now f_equal|ring|congruence]. Qed.

(* Below the best score somebody is certain to be above. *)
Lemma nobody_wins_below : forall l i others u, l <> [] -> Permutation l (i :: others) -> u < top l s -> wins others i u = 0.
Proof.
  intros l i others u some all low. destruct (top_in l s some) as (j & here & best). unfold wins.
  apply (Permutation_in j all) in here. destruct here as [<-|here].
  - unfold exponential_density. destruct (Rle_dec 0 (u - s i)); [lra|ring].
  - rewrite (product_zero _ others j here); [ring|]. unfold exponential_below. destruct (Rle_dec 0 (u - s j)); [lra|reflexivity].
Qed.

Lemma smooth_above : forall l i others u, Permutation l (i :: others) -> top l s <= u -> wins others i u = wins_above others i u.
Proof.
  intros l i others u all high. unfold wins, wins_above.
  assert (reached : forall j, In j (i :: others) -> s j <= u).
  { intros j here. apply Rle_trans with (top l s); [|assumption]. apply top_ge. now apply (Permutation_in j (Permutation_sym all)). }
  unfold exponential_density. destruct (Rle_dec 0 (u - s i)) as [_|low]; [|specialize (reached i (or_introl eq_refl)); lra].
  replace (- (u - s i)) with (s i + - u) by ring. rewrite exp_plus, Rmult_assoc. f_equal. f_equal. unfold losers. clear all.
  induction others as [|j others IH]; [reflexivity|]. simpl. rewrite IH by (intros h [->|here]; apply reached; simpl; auto).
  f_equal. unfold exponential_below. destruct (Rle_dec 0 (u - s j)) as [_|low]; [|specialize (reached j ltac:(simpl; auto)); lra].
  replace (- (u - s j)) with (- u + s j) by ring. now rewrite exp_plus.
Qed.

Definition area (others : list I) (x : R) : R := RInt (losers others s) 0 x.

Lemma area_derive : forall others x, is_derive (area others) x (losers others s x).
Proof.
  intros others x. apply (@is_derive_RInt R_NormedModule (losers others s) (area others) 0 x).
  - exists posreal_one. intros y _. apply (@RInt_correct R_CompleteNormedModule), integrable, losers_continuous.
  - apply losers_continuous.
Qed.

Lemma integral_above : forall others i a b,
  is_RInt (wins_above others i) a b (exp (s i) * area others (exp (- a)) - exp (s i) * area others (exp (- b))).
Proof.
  intros others i a b.
  replace (exp (s i) * area others (exp (- a)) - exp (s i) * area others (exp (- b)))
    with (minus (- (exp (s i) * area others (exp (- b)))) (- (exp (s i) * area others (exp (- a)))))
    by (unfold minus, plus, opp; simpl; ring).
  apply (is_RInt_derive (fun u => - (exp (s i) * area others (exp (- u)))) (wins_above others i)).
  - intros u _. evar_last.
    + apply (@is_derive_opp R_AbsRing R_NormedModule), (is_derive_scal (fun u => area others (exp (- u)))).
      apply (is_derive_comp (area others) (fun u => exp (- u))); [apply area_derive|].
      instantiate (1 := - exp (- u)). auto_derive; [trivial|ring].
    + unfold wins_above, opp, scal; simpl. unfold mult; simpl. ring.
  - intros u _. unfold wins_above. apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule (exp (s i))).
    assert (continuous (fun u => exp (- u)) u).
    { apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive. }
    apply (@continuous_mult R_UniformSpace R_AbsRing); [assumption|].
    apply (continuous_comp (fun u => exp (- u)) (losers others s)); [assumption|apply losers_continuous].
Qed.

Lemma integral_of_winning : forall l i others low v, l <> [] -> Permutation l (i :: others) -> low <= top l s <= v ->
  RInt (wins others i) low v = exp (s i) * area others (exp (- top l s)) - exp (s i) * area others (exp (- v)).
Proof.
  intros l i others low v some all between. apply (@is_RInt_unique R_CompleteNormedModule).
  evar_last; [apply (@is_RInt_Chasles R_NormedModule _ low (top l s) v 0)|unfold plus; simpl; apply Rplus_0_l].
  - apply (is_RInt_ext (fun _ => 0)).
    + intros u inside. rewrite Rmin_left, Rmax_right in inside by lra. symmetry. apply (nobody_wins_below l); [assumption|assumption|lra].
    + evar_last; [apply (@is_RInt_const R_NormedModule)|]. unfold scal; simpl. unfold mult; simpl. ring.
  - apply (is_RInt_ext (wins_above others i)); [|apply integral_above].
    intros u inside. rewrite Rmin_left, Rmax_right in inside by lra. symmetry. apply (smooth_above l); [assumption|lra].
Qed.

(* With independent exponential noise on all scores, the probability that i is the best one is that of permute-and-flip. *)
Theorem exponential_noise_flips : forall l i others, NoDup l -> Permutation l (i :: others) ->
  probability others exponential_density exponential_below s [i] (flipped same l s i).
Proof.
  intros l i others distinct all. unfold probability.
  assert (some : l <> []) by (intros ->; now apply Permutation_nil in all).
  assert (alone : flipped same l s i = exp (s i) * area others (exp (- top l s))).
  { pose proof (Permutation_NoDup all distinct) as fresh. inversion fresh as [|? ? absent _]; subst.
    pose proof (without_permuted same i _ _ all) as rest. simpl in rest. destruct (same i i) as [_|]; [|easy].
    rewrite (notin_remove same others i absent) in rest. unfold flipped, area. f_equal. apply RInt_ext.
    intros x _. now apply product_permuted. }
  rewrite alone. apply (is_lim_seq_ext_loc (fun n => exp (s i) * area others (exp (- top l s)) - exp (s i) * area others (exp (- INR n)))).
  - destruct (nfloor_ex (Rabs (top l s)) (Rabs_pos _)) as (N & _ & enough). exists (S N). intros n late.
    apply le_INR in late. rewrite S_INR in late. pose proof (Rle_abs (top l s)). pose proof (Rle_abs (- top l s)) as low.
    rewrite Rabs_Ropp in low. symmetry. apply (integral_of_winning l); [assumption|assumption|lra].
  - evar_last; [apply is_lim_seq_minus'; [apply is_lim_seq_const|apply is_lim_seq_mult'; [apply is_lim_seq_const|]]|].
    + apply (is_lim_seq_continuous (area others) (fun n => exp (- INR n)) 0).
      * apply continuity_pt_filterlim, (@ex_derive_continuous R_AbsRing R_NormedModule). eexists. apply area_derive.
      * apply (is_lim_seq_ext (fun n => exp (- (INR n * 1)))); [intros n; f_equal; ring|]. apply vanishes. lra.
    + unfold area at 2. rewrite RInt_point. unfold zero; simpl. f_equal. ring.
Qed.

End ExponentialNoise.
