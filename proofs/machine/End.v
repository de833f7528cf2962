(* The end: what report noisy top-k and Lipschitz top-k cost, for scores and scales as a caller gives them.

   There are d candidates, 0 .. d - 1, with the scores x, and noise of one of five kinds, times the scale tau, is added to all. The
   release is the ranking of the k best noisy scores, or their set. Its probabilities, and words in the statements:
   - released (OneShot.v): of each ranking, the limit over growing intervals of the iterated integral of densities, best score first, and of the
     distribution functions of all losers; density_of and below_of are the textbook ones (Noises.v);
   - released_set (Released.v): of each set, the sum over its orders;
   - law, pure, range, zCDP (Laws.v): positive probabilities that add up to one; a loss of at most so much, in absolute value, at each
     release; losses that differ by at most so much; and D_alpha <= alpha rho for all alpha > 1, in both directions;
   - price (RangeConcentrated.v): the zCDP of a range r, z - 1 - ln z with z = r / (1 - exp(- r)). *)
From Coq Require Import Reals List Lra Lia Arith.
From Machine Require Import Sums Laws Exponential Peeling RangeConcentrated Sets Gumbel Jumps OneShot OneShotLoss Noises Released TwoSided.
Import ListNotations.
Open Scope R_scope.

Definition candidates (d : nat) : list nat := seq 0 d.
Definition all_rankings (d k : nat) : list (list nat) := rankings Nat.eq_dec k (candidates d).
Definition all_sets (d k : nat) : list (list bool) := sets Nat.eq_dec k (candidates d).

(* The probability of a ranking, and of a set, in units of the scale. *)
Definition ranking_of_noisy (n : kind) (d : nat) (tau : R) (x : nat -> R) : list nat -> R :=
  released Nat.eq_dec (density_of n) (below_of n) (candidates d) (fun i => x i / tau).
Definition set_of_noisy (n : kind) (d k : nat) (tau : R) (x : nat -> R) : list bool -> R :=
  released_set Nat.eq_dec (density_of n) (below_of n) k (candidates d) (fun i => x i / tau).

(* The range distance: no two candidates have scores that change by amounts more than rho apart. *)
Definition within (d : nat) (rho : R) (x x' : nat -> R) : Prop :=
  forall i j, (i < d)%nat -> (j < d)%nat -> (x' i - x i) - (x' j - x j) <= rho.

Section End_.
Variables (d k : nat) (tau rho : R) (x x' : nat -> R).
Hypothesis (size : (1 <= k <= d)%nat) (scale : 0 < tau) (near : within d rho x x').

Lemma no_twice : NoDup (candidates d).
Proof. apply seq_NoDup. Qed.

Lemma count : length (candidates d) = d.
Proof. apply seq_length. Qed.

Lemma some : (1 <= k <= length (candidates d))%nat.
Proof. now rewrite count. Qed.

Lemma in_units : spread (candidates d) (fun i => x i / tau) (fun i => x' i / tau) (rho / tau).
Proof.
  intros i j here there. apply in_seq in here. apply in_seq in there. specialize (near i j ltac:(lia) ltac:(lia)).
  replace (x' i / tau - x i / tau - (x' j / tau - x j / tau)) with ((x' i - x i - (x' j - x j)) / tau) by (field; lra).
  apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|assumption].
Qed.

(* The number of steps that the library counts for a ranking: d - 1 at most, and half of d with noise on both sides. *)
Definition steps (n : kind) : nat :=
  match n with
  | laplace_noise | logistic_noise => Nat.min k (Nat.div2 d)
  | _ => Nat.min k (d - 1)
  end.

(* Pure loss, for all five kinds, of rankings and of sets. For exponential noise this is the default of the library. *)
Theorem rankings_cost : forall n, law (all_rankings d k) (ranking_of_noisy n d tau x) /\
  pure (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x') (INR (steps n) * (rho / tau)).
Proof.
  intros n. split.
  - apply released_is_a_law; [apply all_are_noise|apply no_twice|apply some].
  - pose proof (released_pure Nat.eq_dec _ _ (all_are_noise n) k (candidates d) _ _ _ no_twice (proj2 some) in_units) as cost.
    assert (half : two_sided (density_of n) -> pure (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x')
      (INR (Nat.min k (Nat.div2 d)) * (rho / tau))).
    { intros flat. pose proof (half_of_all Nat.eq_dec _ _ (all_are_noise n) flat k (candidates d) _ _ _ no_twice (proj2 some) in_units) as less.
      now rewrite count in less. }
    rewrite count in cost. destruct n; try exact cost; apply half; [exact laplace_is_two_sided|exact logistic_is_two_sided].
Qed.

Theorem sets_cost : forall n, law (all_sets d k) (set_of_noisy n d k tau x) /\
  pure (all_sets d k) (set_of_noisy n d k tau x) (set_of_noisy n d k tau x')
    (if Nat.eq_dec k d then 0 else INR (Nat.min k (d - 1)) * (rho / tau)).
Proof.
  intros n. split.
  - apply released_sets_are_a_law; [apply all_are_noise|apply no_twice|apply some].
  - destruct (Nat.eq_dec k d) as [all|].
    + apply everybody; [apply all_are_noise|apply no_twice|apply some|]. now rewrite count.
    + pose proof (released_sets_pure Nat.eq_dec _ _ k (candidates d) _ _ _ (all_are_noise n) no_twice (proj2 some) in_units) as cost.
      now rewrite count in cost.
Qed.

(* Range and zCDP, with Gumbel noise. *)
Theorem gumbel_rankings_cost :
  range (all_rankings d k) (ranking_of_noisy gumbel_noise d tau x) (ranking_of_noisy gumbel_noise d tau x')
    (INR (Nat.min (2 * k) d - 1) * (rho / tau)) /\
  (0 < rho -> zCDP (all_rankings d k) (ranking_of_noisy gumbel_noise d tau x) (ranking_of_noisy gumbel_noise d tau x')
    (INR (Nat.min k (d - 1)) * price (rho / tau))).
Proof.
  split.
  - pose proof (gumbel_range Nat.eq_dec k (candidates d) _ _ _ no_twice some in_units) as cost.
    now rewrite count in cost.
  - intros positive. assert (0 < rho / tau) by now apply Rdiv_lt_0_compat.
    pose proof (gumbel_zCDP Nat.eq_dec k (candidates d) _ _ _ no_twice some in_units) as cost.
    rewrite count in cost. now apply cost.
Qed.

Theorem gumbel_sets_cost :
  range (all_sets d k) (set_of_noisy gumbel_noise d k tau x) (set_of_noisy gumbel_noise d k tau x')
    (INR (Nat.min (2 * k) d - 1) * (rho / tau)) /\
  (0 < rho -> zCDP (all_sets d k) (set_of_noisy gumbel_noise d k tau x) (set_of_noisy gumbel_noise d k tau x')
    (INR (Nat.min k (d - 1)) * price (rho / tau))).
Proof.
  split.
  - pose proof (gumbel_sets_range Nat.eq_dec k (candidates d) _ _ _ no_twice some in_units) as cost.
    now rewrite count in cost.
  - intros positive. assert (0 < rho / tau) by now apply Rdiv_lt_0_compat.
    pose proof (gumbel_sets_zCDP Nat.eq_dec k (candidates d) _ _ _ no_twice some in_units) as cost.
    rewrite count in cost. now apply cost.
Qed.

End End_.

(* What neighbours are: scores that change by at most d_in each, or, in monotonic cases, all in one direction. *)
Theorem changes_of_both_signs : forall d d_in x x', (forall i, (i < d)%nat -> - d_in <= x' i - x i <= d_in) -> within d (2 * d_in) x x'.
Proof. intros d d_in x x' near i j here there. pose proof (near i here). pose proof (near j there). lra. Qed.

Theorem monotonic_changes : forall d d_in x x', (forall i, (i < d)%nat -> 0 <= x' i - x i <= d_in) -> within d d_in x x'.
Proof. intros d d_in x x' near i j here there. pose proof (near i here). pose proof (near j there). lra. Qed.

Theorem the_other_way : forall d rho x x', within d rho x x' -> within d rho x' x.
Proof. intros d rho x x' near i j here there. specialize (near j i there here). lra. Qed.
