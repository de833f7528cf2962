(* The range of permute-and-flip: the theorem. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws RangeConcentrated RangeExact Exponential Peeling Orders PermuteAndFlip Flips PermuteAndFlipRange.
Import ListNotations.
Open Scope R_scope.

(* a(r) = r + 2 ln(2 - exp(-r/2)) *)
Definition a_PF (r : R) : R := r + 2 * ln (2 - exp (- (r / 2))).

Lemma ln_bound : forall r, 0 <= r -> ln (bound r) = a_PF r.
Proof.
  intros r nonneg. pose proof (exp_half_le r nonneg). unfold bound, a_PF.
  rewrite !ln_mult, ln_exp by (try apply exp_pos; try apply Rmult_lt_0_compat; lra). lra.
Qed.

Theorem how_it_grows : forall r r', 0 <= r < r' -> a_PF r < a_PF r' /\ r <= a_PF r <= 2 * r.
Proof.
  intros r r' [nonneg less]. unfold a_PF. pose proof (exp_half_le r nonneg). split; [|split].
  - assert (exp (- (r' / 2)) < exp (- (r / 2))) by (apply exp_increasing; lra).
    assert (ln (2 - exp (- (r / 2))) < ln (2 - exp (- (r' / 2)))) by (apply ln_increasing; lra). lra.
  - assert (0 <= ln (2 - exp (- (r / 2)))) by (rewrite <- ln_1; apply ln_le; lra). lra.
  - assert (ln (2 - exp (- (r / 2))) <= r / 2); [|lra]. rewrite <- (ln_exp (r / 2)) at 2. apply ln_le; [lra|].
    pose proof (exp_ineq1_le (r / 2)). pose proof (exp_ineq1_le (- (r / 2))). lra.
Qed.

Section Range.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (l : list I).
Hypothesis (distinct : NoDup l) (some : l <> []).
Notation without := (remove same).
Notation flipped := (flipped same l).

Lemma product_without : forall (f : I -> R) k i, NoDup k -> In i k -> product f k = f i * product f (without i k).
Proof.
  induction k as [|j k IH]; intros i fresh inside; [easy|]. inversion fresh as [|? ? absent fresh']; subst. simpl.
  destruct (same i j) as [->|other].
  - now rewrite notin_remove.
  - destruct inside as [->|inside]; [easy|]. simpl. rewrite (IH i) by assumption. ring.
Qed.

Notation others y z := (without z (without y l)).

Lemma others_incl : forall y z, incl (others y z) l.
Proof. intros y z i inside. now apply (without_incl same y), (without_incl same z). Qed.

(* The chance of y, by what is left when y and z are set aside. *)
Lemma chance : forall s y z, In y l -> In z l -> y <> z ->
  flipped s y = exp (s y) * mass l (others y z) s * (1 - exp (s z) * mean l (others y z) s).
Proof.
  intros s y z here there other. unfold PermuteAndFlip.flipped. set (m := others y z).
  rewrite (RInt_ext _ (fun x => minus (losers m s x) (scal (exp (s z)) (x * losers m s x)))).
  2: { intros x _. unfold losers at 1. rewrite (product_without _ (without y l) z).
       - unfold m, losers, minus, plus, opp, scal; simpl. unfold mult; simpl. ring.
       - now apply without_distinct.
       - now apply in_in_remove; [intros ->|]. }
  assert (smooth : forall x, continuous (fun x => scal (exp (s z)) (x * losers m s x)) x).
  { intros x. apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule), (times_continuous m). }
  rewrite (@RInt_minus R_CompleteNormedModule (losers m s) (fun x => scal (exp (s z)) (x * losers m s x)));
    [|apply integrable, losers_continuous|apply integrable; exact smooth].
  rewrite (@RInt_scal R_CompleteNormedModule (fun x => x * losers m s x)); [|apply integrable, (times_continuous m)].
  pose proof (mass_pos l m (others_incl y z) s) as positive. unfold mean, first, mass in *.
  unfold minus, plus, opp, scal; simpl. unfold mult; simpl. field. lra.
Qed.

Lemma half : forall s y z i, In i l -> 0 < exp (s i) * mean l (others y z) s <= 1 / 2.
Proof.
  intros s y z i inside. pose proof (mean_pos l _ (others_incl y z) s). pose proof (exp_pos (s i)).
  pose proof (mean_le_half l _ (others_incl y z) s) as middle. split; [now apply Rmult_lt_0_compat|].
  assert (exp (s i) * exp (- top l s) <= 1).
  { rewrite <- exp_plus, <- exp_0. apply exp_le. pose proof (top_ge l s i inside). lra. }
  apply Rle_trans with (exp (s i) * (exp (- top l s) / 2)); [apply Rmult_le_compat_l; lra|]. lra.
Qed.

Section Pair.
Context (s s' : I -> R) (r : R) (y z : I).
Hypothesis (near : spread l s s' r) (here : In y l) (there : In z l) (other : y <> z).

Notation t := (s z - s y).
Notation c := ((s' y - s y) - (s' z - s z)).
Notation A := (exp (s z) * mean l (others y z) s).
Notation A' := (exp (s' z) * mean l (others y z) s').

Lemma others_swap : others z y = others y z.
Proof. apply remove_remove_comm. Qed.

Lemma pair_loss : loss (flipped s) (flipped s') y - loss (flipped s) (flipped s') z
  = ln (exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A')).
Proof.
  pose proof (flipping_is_a_law same l s some distinct) as law_s. pose proof (flipping_is_a_law same l s' some distinct) as law_s'.
  pose proof (proj1 law_s y here). pose proof (proj1 law_s z there). pose proof (proj1 law_s' y here). pose proof (proj1 law_s' z there).
  unfold loss. rewrite <- ln_quotient by now apply Rdiv_lt_0_compat. f_equal.
  rewrite !(chance _ y z), !(chance _ z y) by auto. rewrite others_swap. unfold quotient.
  assert (B : exp (- t) * A = exp (s y) * mean l (others y z) s).
  { rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (B' : exp (c - t) * A' = exp (s' y) * mean l (others y z) s').
  { rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  rewrite B, B'. pose proof (mass_pos l _ (others_incl y z) s). pose proof (mass_pos l _ (others_incl y z) s').
  pose proof (half s y z y here). pose proof (half s y z z there). pose proof (half s' y z y here). pose proof (half s' y z z there).
  replace (exp c) with (exp (s' y) * exp (s z) / (exp (s y) * exp (s' z))).
  2: { unfold Rdiv. rewrite <- !exp_plus, <- exp_Ropp, <- exp_plus. f_equal. ring. }
  pose proof (exp_pos (s y)). pose proof (exp_pos (s z)). pose proof (exp_pos (s' y)). pose proof (exp_pos (s' z)).
  field. repeat split; lra.
Qed.

Lemma ahead : 0 <= t -> c <= t -> exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A') <= bound r.
Proof.
  intros lead less. destruct (all_within l s s' r some near) as (v & between).
  assert (0 <= r) by (eapply spread_nonneg; eassumption).
  pose proof (half s y z z there). pose proof (half s' y z z there).
  apply beyond_both; try assumption; try lra; [exact (near y z here there)|].
  apply Rle_trans with (exp (s' z) * (exp (- (v + r)) * mean l (others y z) s)).
  - rewrite <- !Rmult_assoc, <- !exp_plus. apply Rmult_le_compat_r.
    + apply Rlt_le, mean_pos, others_incl.
    + apply exp_le. specialize (between z there). lra.
  - apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. apply mean_moves; [apply others_incl|assumption|].
    intros j inside. specialize (between j inside). lra.
Qed.

Lemma beside : (0 <= t <= c \/ c <= t <= 0) -> exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A') <= bound r.
Proof.
  assert (0 <= r) by (eapply spread_nonneg; eassumption).
  pose proof (half s y z z there). pose proof (half s' y z z there).
  pose proof (half s y z y here) as small. pose proof (half s' y z y here) as small'.
  assert (B : exp (- t) * A = exp (s y) * mean l (others y z) s).
  { rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (B' : exp (c - t) * A' = exp (s' y) * mean l (others y z) s').
  { rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  rewrite <- B in small. rewrite <- B' in small'. pose proof (near y z here there). intros [order|order].
  - apply between_the_two; lra.
  - apply before_both; lra.
Qed.

Lemma quotients_positive : 0 < exp c * (quotient (exp (- t)) A / quotient (exp (c - t)) A').
Proof.
  pose proof (half s y z y here) as small. pose proof (half s' y z y here) as small'.
  assert (B : exp (- t) * A = exp (s y) * mean l (others y z) s).
  { rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  assert (B' : exp (c - t) * A' = exp (s' y) * mean l (others y z) s').
  { rewrite <- Rmult_assoc, <- exp_plus. do 2 f_equal. ring. }
  pose proof (half s y z z there). pose proof (half s' y z z there). unfold quotient. rewrite B, B'.
  apply Rmult_lt_0_compat; [apply exp_pos|]. repeat apply Rdiv_lt_0_compat; lra.
Qed.

End Pair.

Theorem flipping_range : forall s s' r, spread l s s' r -> range l (flipped s) (flipped s') (a_PF r).
Proof.
  intros s s' r near y z here there. assert (0 <= r) by (eapply spread_nonneg; eassumption).
  rewrite <- ln_bound by assumption. pose proof (bound_ge_one r ltac:(assumption)).
  destruct (same y z) as [->|other]; [rewrite Rminus_diag_eq by reflexivity; rewrite <- ln_1; apply ln_le; lra|].
  assert (near' : spread l s' s r) by (intros i j this that; specialize (near j i that this); lra).
  set (t := s z - s y). set (c := (s' y - s y) - (s' z - s z)).
  assert (cases : (0 <= t /\ c <= t) \/ (0 <= t <= c \/ c <= t <= 0) \/ (t <= 0 /\ t <= c)) by lra.
  destruct cases as [[lead less]|[order|[lead less]]].
  - rewrite (pair_loss s s' y z) by assumption.
    apply ln_le; [now apply quotients_positive|now apply ahead].
  - rewrite (pair_loss s s' y z) by assumption.
    apply ln_le; [now apply quotients_positive|now apply beside].
  - replace (loss (flipped s) (flipped s') y - loss (flipped s) (flipped s') z)
      with (loss (flipped s') (flipped s) z - loss (flipped s') (flipped s) y).
    2: { rewrite !(loss_swap l (flipped s) (flipped s')) by (try apply flipping_is_a_law; assumption). ring. }
    rewrite (pair_loss s' s z y) by auto.
    apply ln_le; [apply quotients_positive; auto|apply ahead; unfold t, c in *; auto; lra].
Qed.

Theorem flipping_zCDP : forall s s' r, 0 < r -> spread l s s' r -> zCDP l (flipped s) (flipped s') (price (a_PF r)).
Proof.
  intros s s' r positive near. pose proof (how_it_grows r (r + 1) ltac:(lra)).
  apply range_to_exact_zCDP; try (now apply flipping_is_a_law); [lra|]. now apply flipping_range.
Qed.

End Range.
