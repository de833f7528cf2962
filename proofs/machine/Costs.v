(* What report noisy top-k and Lipschitz top-k cost, for scores and scales as a caller gives them: the definitions and the proofs.
   End.v has the theorems together, to be read. *)
From Coq Require Import Reals List Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling RangeConcentrated Sets Gumbel Jumps OneShot OneShotLoss Noises Released TwoSided.
From Machine Require Import Digits Images Best Boundaries Cells Parts Counted FromDigits Mirrored.
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

(* For a set, as many as are in it or are left out, with noise on both sides. *)
Definition set_steps (n : kind) : nat :=
  match n with
  | laplace_noise | logistic_noise => Nat.min k (d - k)
  | _ => if Nat.eq_dec k d then 0 else Nat.min k (d - 1)
  end.

Theorem sets_cost : forall n, law (all_sets d k) (set_of_noisy n d k tau x) /\
  pure (all_sets d k) (set_of_noisy n d k tau x) (set_of_noisy n d k tau x') (INR (set_steps n) * (rho / tau)).
Proof.
  intros n. split.
  - apply released_sets_are_a_law; [apply all_are_noise|apply no_twice|apply some].
  - destruct (Nat.eq_dec k d) as [all|other].
    + assert (none : set_steps n = O) by (unfold set_steps; destruct n, (Nat.eq_dec k d); lia).
      rewrite none. simpl. rewrite Rmult_0_l. apply everybody; [apply all_are_noise|apply no_twice|apply some|]. now rewrite count.
    + pose proof (released_sets_pure Nat.eq_dec _ _ k (candidates d) _ _ _ (all_are_noise n) no_twice (proj2 some) in_units) as cost.
      assert (half : even_noise (below_of n) -> pure (all_sets d k) (set_of_noisy n d k tau x) (set_of_noisy n d k tau x')
        (INR (Nat.min k (d - k)) * (rho / tau))).
      { intros even. assert (part : (1 <= k < length (candidates d))%nat) by (rewrite count; lia).
        pose proof (sets_by_halves Nat.eq_dec _ _ (all_are_noise n) even k (candidates d) _ _ _ no_twice part in_units) as less.
        now rewrite count in less. }
      rewrite count in cost. unfold set_steps. destruct (Nat.eq_dec k d); [easy|].
      destruct n; try exact cost; apply half; [exact laplace_is_even|exact logistic_is_even].
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

Theorem the_other_way : forall d rho x x', within d rho x x' -> within d rho x' x.
Proof. intros d rho x x' near i j here there. specialize (near j i there here). lra. Qed.

(* From digits. A race looks at the n digits of each candidate, and has an outcome (what) of the ranking, or none as yet. What it
   has is honest where every possible noise leads to it; it is prompt where it has whatever is certain. *)
Section Digits_.
Variables (d k : nat) (tau : R) (x : nat -> R) (n : kind) (A : Type) (eq : forall a b : A, {a = b} + {a <> b}) (what : list nat -> A).
Hypothesis (size : (1 <= k <= d)%nat).
Definition outcome_of_noisy : A -> R := image eq what (all_rankings d k) (ranking_of_noisy n d tau x).

Variables (digits : nat) (race : (nat -> nat) -> option A).
Definition honest_race : Prop := honest (below_of n) k (candidates d) (fun i => x i / tau) what (2 ^ digits) race.
Definition prompt_race : Prop := prompt (below_of n) k (candidates d) (fun i => x i / tau) what (2 ^ digits) race.
Definition releasing (a : A) : R := share Nat.eq_dec (2 ^ digits) (candidates d) (releases_it eq race a).
Definition not_ended : R := share Nat.eq_dec (2 ^ digits) (candidates d) (undecided race).

Lemma parts_exist : (0 < 2 ^ digits)%nat.
Proof. pose proof (Nat.pow_nonzero 2 digits). lia. Qed.

Lemma sizes : (1 <= k <= length (candidates d))%nat.
Proof. unfold candidates. now rewrite seq_length. Qed.

(* An honest race releases each outcome with its probability, less at most the share of digits after which it has not ended. *)
Theorem digits_have_the_law : honest_race -> forall a, outcome_of_noisy a - not_ended <= releasing a <= outcome_of_noisy a.
Proof.
  intros fair_race. exact (between_integrals Nat.eq_dec _ _ (all_are_noise n) k (candidates d) _ (no_twice d) sizes eq what
    (2 ^ digits) race parts_exist fair_race).
Qed.

(* And a prompt one ends. *)
Theorem races_end : prompt_race -> not_ended <= 2 * INR d ^ 2 / 2 ^ digits.
Proof.
  intros quick. pose proof (seldom_undecided Nat.eq_dec _ _ (all_are_noise n) k (candidates d) _ (no_twice d) sizes what
    (2 ^ digits) race parts_exist quick) as seldom.
  rewrite pow_INR in seldom. now rewrite (count d) in seldom.
Qed.

End Digits_.

(* So no integral is needed to say what rankings, or functions of them, cost: of two races with as many digits, on neighbours, the
   shares are near. With more digits the last summand vanishes. *)
Theorem digits_cost : forall d k tau rho x x' n (A : Type) eq (what : list nat -> A) digits race race' a,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  honest_race d k tau x n A what digits race ->
  honest_race d k tau x' n A what digits race' -> prompt_race d k tau x' n A what digits race' ->
  In a (releases eq what (all_rankings d k)) ->
  releasing d A eq digits race a <=
    exp (INR (steps d k n) * (rho / tau)) * (releasing d A eq digits race' a + 2 * INR d ^ 2 / 2 ^ digits).
Proof.
  intros d k tau rho x x' n A eq what digits race race' a size scale near fair fair' quick' here.
  pose proof (digits_have_the_law d k tau x n A eq what size digits race fair a) as [_ above].
  pose proof (digits_have_the_law d k tau x' n A eq what size digits race' fair' a) as [below _].
  pose proof (races_end d k tau x' n A what size digits race' quick') as few.
  destruct (rankings_cost d k tau rho x x' size scale near n) as [one cost].
  destruct (rankings_cost d k tau rho x' x size scale (the_other_way d rho x x' near) n) as [two _].
  pose proof (image_pure eq what _ _ _ one two _ cost a here) as less.
  pose proof (proj1 (image_is_a_law eq what _ _ one) a here) as positive.
  pose proof (proj1 (image_is_a_law eq what _ _ two) a here) as positive'.
  unfold outcome_of_noisy in *. set (P := image eq what (all_rankings d k) (ranking_of_noisy n d tau x)) in *.
  set (P' := image eq what (all_rankings d k) (ranking_of_noisy n d tau x')) in *.
  unfold loss in less. rewrite ln_quotient in less by assumption. apply Rabs_le_between in less.
  assert (P a <= exp (INR (steps d k n) * (rho / tau)) * P' a).
  { rewrite <- (exp_ln (P a)), <- (exp_ln (P' a)), <- exp_plus by assumption. apply exp_le. lra. }
  pose proof (exp_pos (INR (steps d k n) * (rho / tau))). nra.
Qed.
