(* What report noisy top-k costs, for scores and scales as a caller gives them: the definitions and the proofs.
   End.v has the theorems together, to be read. *)
From Coq Require Import Reals List Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PeelingRange RangeConcentrated RangeExact Sets Gumbel Jumps OneShot OneShotLoss Noises Released TwoSided.
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

(* The width of a range in steps. With Gumbel noise one less: the first normalising sum is that of all rankings. *)
Definition width (n : kind) : nat := match n with gumbel_noise => Nat.min (2 * k) d - 1 | _ => Nat.min (2 * k) d end.

(* The zCDP for a range distance r in units of the scale. *)
Definition concentrated (n : kind) (r : R) : R :=
  match n with
  | gumbel_noise => INR (Nat.min k (d - 1)) * price r
  | _ => price (INR (width n) * r)
  end.

Lemma wide : forall n, range (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x') (INR (Nat.min (2 * k) d) * (rho / tau)).
Proof.
  intros n y z here there. destruct (ranking_of Nat.eq_dec k (candidates d) y no_twice here) as (size_y & fresh_y & within_y).
  destruct (ranking_of Nat.eq_dec k (candidates d) z no_twice there) as (size_z & fresh_z & within_z).
  assert (nonempty : candidates d <> []) by (intros empty; pose proof some as least; rewrite empty in least; simpl in least; lia).
  destruct (all_within (candidates d) _ _ _ nonempty in_units) as (c & between).
  assert (nonneg : 0 <= rho / tau) by (destruct (candidates d) as [|i m]; [easy|]; specialize (between i (or_introl eq_refl)); lra).
  pose proof (released_loss Nat.eq_dec _ _ (all_are_noise n) k (candidates d) _ _ _ c y no_twice (proj2 some) here nonneg between) as [_ high].
  pose proof (released_loss Nat.eq_dec _ _ (all_are_noise n) k (candidates d) _ _ _ c z no_twice (proj2 some) there nonneg between) as [low _].
  pose proof (difference Nat.eq_dec (fun i => x' i / tau - x i / tau - c) (rho / tau) k (candidates d) y z nonneg
    fresh_y fresh_z within_y within_z size_y size_z ltac:(intros i inside; specialize (between i inside); lra)) as gap.
  rewrite sum_minus, sum_const, size_z in low. rewrite count in gap.
  replace (Nat.min (2 * k) d) with (Nat.min k (d - k) + k)%nat by lia. rewrite plus_INR.
  unfold ranking_of_noisy. lra.
Qed.

Lemma rankings_law : forall n t, law (all_rankings d k) (ranking_of_noisy n d tau t).
Proof. intros n t. apply released_is_a_law; [apply all_are_noise|apply no_twice|apply some]. Qed.

Theorem rankings_range : forall n,
  range (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x') (INR (width n) * (rho / tau)) /\
  (0 < rho -> zCDP (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x') (concentrated n (rho / tau))).
Proof.
  assert (positive : 0 < rho -> 0 < rho / tau) by (intros; now apply Rdiv_lt_0_compat).
  assert (others : forall n, width n = Nat.min (2 * k) d -> concentrated n (rho / tau) = price (INR (width n) * (rho / tau)) ->
    range (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x') (INR (width n) * (rho / tau)) /\
    (0 < rho -> zCDP (all_rankings d k) (ranking_of_noisy n d tau x) (ranking_of_noisy n d tau x') (concentrated n (rho / tau)))).
  { intros n whole ->. rewrite whole. split; [apply wide|]. intros more.
    apply range_to_exact_zCDP; [apply rankings_law|apply rankings_law| |apply wide].
    apply Rmult_lt_0_compat; [apply lt_0_INR; lia|now apply positive]. }
  intros []; try (now apply others). split.
  - pose proof (gumbel_range Nat.eq_dec k (candidates d) _ _ _ no_twice some in_units) as cost. now rewrite count in cost.
  - intros more. pose proof (gumbel_zCDP Nat.eq_dec k (candidates d) _ _ _ no_twice some in_units) as cost.
    rewrite count in cost. now apply cost, positive.
Qed.

Theorem sets_range : forall n,
  range (all_sets d k) (set_of_noisy n d k tau x) (set_of_noisy n d k tau x') (INR (width n) * (rho / tau)) /\
  (0 < rho -> zCDP (all_sets d k) (set_of_noisy n d k tau x) (set_of_noisy n d k tau x') (concentrated n (rho / tau))).
Proof.
  intros n. destruct (rankings_range n) as [broad dense]. split; [|intros more].
  - apply image_range; [apply rankings_law|apply rankings_law|exact broad].
  - apply image_zCDP; [apply rankings_law|apply rankings_law|now apply dense].
Qed.

End End_.

Theorem the_other_way : forall d rho x x', within d rho x x' -> within d rho x' x.
Proof. intros d rho x x' near i j here there. specialize (near j i there here). lra. Qed.

(* From digits. A race looks at the n digits of each candidate, and has an outcome (what) of the ranking, or none as yet. What it
   has is honest where every possible noise leads to it. *)
Section Digits_.
Variables (d k : nat) (tau : R) (x : nat -> R) (n : kind) (A : Type) (eq : forall a b : A, {a = b} + {a <> b}) (what : list nat -> A).
Hypothesis (size : (1 <= k <= d)%nat).
Definition outcome_of_noisy : A -> R := image eq what (all_rankings d k) (ranking_of_noisy n d tau x).

Variables (digits : nat) (race : (nat -> nat) -> option A).
Definition honest_race : Prop := honest (below_of n) k (candidates d) (fun i => x i / tau) what (2 ^ digits) race.
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

End Digits_.

(* So no integral is needed to say what rankings, sets, or functions of them cost: of two races with as many digits, on neighbours,
   the shares are near, up to the share of digits with which one of them has not ended. *)
Lemma of_pure : forall {A : Type} (outcomes : list A) P P' c a, law outcomes P -> law outcomes P' -> pure outcomes P P' c -> In a outcomes ->
  P a <= exp c * P' a.
Proof.
  intros A outcomes P P' c a [positive _] [positive' _] cost here. specialize (cost a here). unfold loss in cost.
  rewrite ln_quotient in cost by auto. apply Rabs_le_between in cost.
  rewrite <- (exp_ln (P a)), <- (exp_ln (P' a)), <- exp_plus by auto. apply exp_le. lra.
Qed.

Lemma of_range : forall {A : Type} (outcomes : list A) P P' c a b, law outcomes P -> law outcomes P' -> range outcomes P P' c ->
  In a outcomes -> In b outcomes -> P a * P' b <= exp c * (P' a * P b).
Proof.
  intros A outcomes P P' c a b one two cost here there. specialize (cost b a there here).
  pose proof (positive outcomes P one a here). pose proof (positive outcomes P one b there).
  pose proof (positive outcomes P' two a here). pose proof (positive outcomes P' two b there).
  unfold loss in cost. rewrite !ln_quotient in cost by assumption. apply Rle_trans with (exp (ln (P a) + ln (P' b))).
  - rewrite exp_plus, !exp_ln by assumption. apply Rle_refl.
  - rewrite <- (exp_ln (P' a * P b)), ln_mult, <- exp_plus by (try apply Rmult_lt_0_compat; assumption). apply exp_le. lra.
Qed.

Section Two.
Variables (d k : nat) (tau rho : R) (x x' : nat -> R).
Hypothesis (size : (1 <= k <= d)%nat) (scale : 0 < tau) (near : within d rho x x').

Section Any.
Variables (n : kind) (A : Type) (eq : forall a b : A, {a = b} + {a <> b}) (what : list nat -> A) (digits : nat)
  (race race' : (nat -> nat) -> option A).
Hypothesis (fair : honest_race d k tau x n A what digits race) (fair' : honest_race d k tau x' n A what digits race').
Notation share_of := (releasing d A eq digits race).
Notation share_of' := (releasing d A eq digits race').

Lemma from_integrals : forall c a,
  outcome_of_noisy d k tau x n A eq what a <= exp c * outcome_of_noisy d k tau x' n A eq what a ->
  share_of a <= exp c * (share_of' a + not_ended d A digits race').
Proof.
  intros c a cost. pose proof (digits_have_the_law d k tau x n A eq what size digits race fair a) as [_ above].
  pose proof (digits_have_the_law d k tau x' n A eq what size digits race' fair' a) as [below _]. pose proof (exp_pos c). nra.
Qed.

Theorem digits_cost : forall a, In a (releases eq what (all_rankings d k)) ->
  share_of a <= exp (INR (steps d k n) * (rho / tau)) * (share_of' a + not_ended d A digits race').
Proof.
  intros a here. apply from_integrals. destruct (rankings_cost d k tau rho x x' size scale near n) as [one cost].
  destruct (rankings_cost d k tau rho x' x size scale (the_other_way d rho x x' near) n) as [two _].
  apply (of_pure (releases eq what (all_rankings d k))); [now apply image_is_a_law|now apply image_is_a_law|now apply image_pure|assumption].
Qed.

End Any.

Theorem set_digits_cost : forall n digits race race',
  honest_race d k tau x n (list bool) (set_of Nat.eq_dec (candidates d)) digits race ->
  honest_race d k tau x' n (list bool) (set_of Nat.eq_dec (candidates d)) digits race' ->
  forall b, In b (all_sets d k) ->
  releasing d (list bool) word_eq digits race b <=
    exp (INR (set_steps d k n) * (rho / tau)) * (releasing d (list bool) word_eq digits race' b + not_ended d (list bool) digits race').
Proof.
  intros n digits race race' fair fair' b here.
  apply (from_integrals n (list bool) word_eq (set_of Nat.eq_dec (candidates d)) digits race race' fair fair').
  destruct (sets_cost d k tau rho x x' size scale near n) as [one cost].
  destruct (sets_cost d k tau rho x' x size scale (the_other_way d rho x x' near) n) as [two _].
  now apply (of_pure (all_sets d k)).
Qed.

(* The range, and zCDP: a moment of two shares, of which the upper one may be nothing. *)
Definition moment (alpha u v : R) : R := if Rle_dec u 0 then 0 else v * exp (alpha * ln (u / v)).

Lemma moment_le : forall alpha u u' v v', 1 < alpha -> u <= u' -> 0 < v' -> v' <= v -> moment alpha u v <= v' * exp (alpha * ln (u' / v')).
Proof.
  intros alpha u u' v v' order more positive less. unfold moment. destruct (Rle_dec u 0) as [none|].
  - apply Rmult_le_pos; [lra|]. apply Rlt_le, exp_pos.
  - assert (0 < u) by lra. rewrite !ln_quotient by lra. rewrite <- (exp_ln v) at 1 by lra. rewrite <- (exp_ln v') at 1 by lra.
    rewrite <- !exp_plus. apply exp_le. pose proof (ln_le u u' ltac:(lra) more). pose proof (ln_le v' v positive less).
    assert (0 <= alpha * (ln u' - ln u)) by (apply Rmult_le_pos; lra).
    assert (0 <= (alpha - 1) * (ln v - ln v')) by (apply Rmult_le_pos; lra). nra.
Qed.

Section Wide.
Variables (n : kind) (A : Type) (eq : forall a b : A, {a = b} + {a <> b}) (what : list nat -> A) (digits : nat)
  (race race' : (nat -> nat) -> option A).
Hypothesis (fair : honest_race d k tau x n A what digits race) (fair' : honest_race d k tau x' n A what digits race').
Notation outcomes := (releases eq what (all_rankings d k)).
Notation P := (outcome_of_noisy d k tau x n A eq what).
Notation P' := (outcome_of_noisy d k tau x' n A eq what).
Notation share_of := (releasing d A eq digits race).
Notation share_of' := (releasing d A eq digits race').

Lemma laws : law outcomes P /\ law outcomes P'.
Proof. split; apply image_is_a_law, rankings_law; assumption. Qed.

Lemma share_nonneg : forall r c, 0 <= releasing d A eq digits r c.
Proof.
  intros r c. unfold releasing, share. apply Rmult_le_pos; [apply sum_nonneg; intros; apply indicator_between|].
  apply Rlt_le, Rinv_0_lt_compat, pow_lt, lt_0_INR. pose proof (Nat.pow_nonzero 2 digits). lia.
Qed.

Lemma between : forall a, P a - not_ended d A digits race <= share_of a <= P a.
Proof. exact (digits_have_the_law d k tau x n A eq what size digits race fair). Qed.

Lemma between' : forall a, P' a - not_ended d A digits race' <= share_of' a <= P' a.
Proof. exact (digits_have_the_law d k tau x' n A eq what size digits race' fair'). Qed.

Theorem digits_range : forall a b, In a outcomes -> In b outcomes ->
  share_of a * share_of' b <= exp (INR (width d k n) * (rho / tau)) *
    ((share_of' a + not_ended d A digits race') * (share_of b + not_ended d A digits race)).
Proof.
  intros a b here there. destruct laws as [one two]. destruct (rankings_range d k tau rho x x' size scale near n) as [broad _].
  pose proof (of_range _ _ _ _ a b one two (image_range eq what _ _ _ (rankings_law d k tau size n x) (rankings_law d k tau size n x') _ broad) here there) as cost.
  pose proof (positive _ _ one b there). pose proof (positive _ _ two a here).
  pose proof (between a). pose proof (between b). pose proof (between' a). pose proof (between' b).
  eapply Rle_trans; [|eapply Rle_trans; [exact cost|]].
  - apply Rmult_le_compat; try apply share_nonneg; lra.
  - apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|]. apply Rmult_le_compat; lra.
Qed.

Theorem digits_zCDP : 0 < rho -> forall alpha, 1 < alpha ->
  sum (fun a => moment alpha (share_of' a) (share_of a + not_ended d A digits race)) outcomes
    <= exp (alpha * (alpha - 1) * concentrated d k n (rho / tau)).
Proof.
  intros more alpha order. destruct laws as [one two]. destruct (rankings_range d k tau rho x x' size scale near n) as [_ dense].
  destruct (image_zCDP eq what _ _ _ _ (rankings_law d k tau size n x) (rankings_law d k tau size n x') (dense more)) as [cost _].
  eapply Rle_trans; [|exact (cost alpha order)]. apply sum_le. intros a here. pose proof (between a). pose proof (between' a).
  apply moment_le; [assumption|apply between'|now apply (positive _ _ one)|]. unfold outcome_of_noisy in *. lra.
Qed.

End Wide.
End Two.
