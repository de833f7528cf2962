(* The first digits of a uniform number enclose it, and through a quantile function the noise that is made of it. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Rbar.
From Machine Require Import Sums.
Open Scope R_scope.

(* The first m digits, as an integer, and the interval of the numbers that have them. *)
Fixpoint leading (digit : nat -> bool) (m : nat) : nat :=
  match m with
  | O => 0
  | S n => 2 * leading digit n + if digit n then 1 else 0
  end.

Definition low (digit : nat -> bool) (m : nat) : R := INR (leading digit m) / 2 ^ m.
Definition high (digit : nat -> bool) (m : nat) : R := (INR (leading digit m) + 1) / 2 ^ m.

Definition has_digits (U : R) (digit : nat -> bool) : Prop := forall m, low digit m <= U <= high digit m.

(* Nondecreasing on [0, 1]; at the ends it may be infinite. *)
Definition quantile (Fi : R -> Rbar) : Prop := forall u v, 0 <= u -> u <= v -> v <= 1 -> Rbar_le (Fi u) (Fi v).

(* A noise that is possible as far as m digits tell. *)
Definition possible (Fi : R -> Rbar) (digit : nat -> bool) (m : nat) (z : R) : Prop :=
  Rbar_le (Fi (low digit m)) z /\ Rbar_le z (Fi (high digit m)).

Section Prefixes.
Variables (U : R) (digit : nat -> bool).

Lemma leading_S : forall m, INR (leading digit (S m)) = 2 * INR (leading digit m) + if digit m then 1 else 0.
Proof. intros m. cbn [leading]. rewrite plus_INR, mult_INR. destruct (digit m); simpl; lra. Qed.

Lemma leading_small : forall m, INR (leading digit m) + 1 <= 2 ^ m.
Proof.
  induction m as [|m IH]; [simpl; lra|]. rewrite leading_S. simpl pow. destruct (digit m); lra.
Qed.

Lemma inside_one : forall m, 0 <= low digit m /\ high digit m <= 1 /\ low digit m <= high digit m.
Proof.
  intros m. unfold low, high. pose proof (power_pos m). pose proof (leading_small m). pose proof (pos_INR (leading digit m)).
  assert (0 < / 2 ^ m) by now apply Rinv_0_lt_compat. unfold Rdiv. repeat split.
  - apply Rmult_le_pos; lra.
  - apply Rle_trans with (2 ^ m * / 2 ^ m); [apply Rmult_le_compat_r; lra|rewrite Rinv_r; lra].
  - apply Rmult_le_compat_r; lra.
Qed.

Lemma next_inside : forall m, low digit m <= low digit (S m) /\ high digit (S m) <= high digit m.
Proof.
  intros m. unfold low, high. rewrite leading_S. simpl pow. pose proof (power_pos m).
  assert (half : forall x, x / (2 * 2 ^ m) = x / 2 / 2 ^ m) by (intros; field; lra). rewrite !half.
  assert (0 < / 2 ^ m) by now apply Rinv_0_lt_compat. unfold Rdiv at 1 2 4 6.
  split; apply Rmult_le_compat_r; try lra; destruct (digit m); lra.
Qed.

Theorem longer_prefixes_enclose_more_closely : forall m j,
  low digit m <= low digit (m + j) /\ high digit (m + j) <= high digit m.
Proof.
  intros m. induction j as [|j IH]; [rewrite Nat.add_0_r; lra|]. rewrite Nat.add_succ_r.
  pose proof (next_inside (m + j)). lra.
Qed.

Theorem noise_is_possible : forall Fi Z m, quantile Fi -> has_digits U digit -> Fi U = Finite Z ->
  possible Fi digit m Z.
Proof.
  intros Fi Z m grows digits noise. specialize (digits m). pose proof (inside_one m). unfold possible. rewrite <- noise.
  split; apply grows; lra.
Qed.

Theorem more_digits_leave_less : forall Fi m j z, quantile Fi ->
  possible Fi digit (m + j) z -> possible Fi digit m z.
Proof.
  intros Fi m j z grows [above under]. pose proof (inside_one m). pose proof (inside_one (m + j)).
  pose proof (longer_prefixes_enclose_more_closely m j). split.
  - apply Rbar_le_trans with (Fi (low digit (m + j))); [apply grows; lra|assumption].
  - apply Rbar_le_trans with (Fi (high digit (m + j))); [assumption|apply grows; lra].
Qed.

(* The first m digits are ones just if the number, no dyadic rational, is above 1 - 2^-m. *)
Definition begins_with_ones (m : nat) : Prop := forall j, (j < m)%nat -> digit j = true.

Lemma ones_value : forall m, begins_with_ones m -> INR (leading digit m) = 2 ^ m - 1.
Proof.
  induction m as [|m IH]; intros ones; [simpl; lra|]. rewrite leading_S, IH by (intros j less; apply ones; lia).
  rewrite ones by lia. simpl pow. lra.
Qed.

Lemma other_value : forall m, ~ begins_with_ones m -> INR (leading digit m) <= 2 ^ m - 2.
Proof.
  induction m as [|m IH]; intros other; [exfalso; apply other; intros j less; lia|]. rewrite leading_S. simpl pow.
  pose proof (leading_small m). destruct (digit m) eqn:last; [|lra].
  cut (INR (leading digit m) <= 2 ^ m - 2); [lra|]. apply IH. intros ones. apply other. intros j less.
  destruct (Nat.eq_dec j m) as [->|]; [assumption|]. apply ones. lia.
Qed.

Theorem above_with_ones : forall m, has_digits U digit -> begins_with_ones m -> 1 - / 2 ^ m <= U.
Proof.
  intros m digits ones. destruct (digits m) as [above _]. unfold low in above. rewrite ones_value in above by assumption.
  pose proof (power_pos m). replace (1 - / 2 ^ m) with ((2 ^ m - 1) / 2 ^ m) by (field; lra). assumption.
Qed.

Theorem not_above_without : forall m, has_digits U digit -> ~ begins_with_ones m -> U <= 1 - / 2 ^ m.
Proof.
  intros m digits other. destruct (digits m) as [_ under]. unfold high in under. pose proof (other_value m other).
  pose proof (power_pos m). eapply Rle_trans; [exact under|].
  replace (1 - / 2 ^ m) with ((2 ^ m - 1) / 2 ^ m) by (field; lra).
  apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|lra].
Qed.

End Prefixes.

(* Who does not begin with enough ones stays below the threshold T, if the noise at 1 - 2^-m would not lift him to it. *)
Theorem skipped : forall Fi U digit Z m a T,
  (forall u v, 0 <= u -> u < v -> v <= 1 -> Rbar_lt (Fi u) (Fi v)) ->
  has_digits U digit -> U <> 1 - / 2 ^ m -> Fi U = Finite Z -> ~ begins_with_ones digit m ->
  Rbar_le (Fi (1 - / 2 ^ m)) (T - a) -> a + Z < T.
Proof.
  intros Fi U digit Z m a T grows digits plain noise other enough.
  pose proof (not_above_without U digit m digits other). pose proof (digits m). pose proof (inside_one digit m).
  pose proof (power_pos m) as positive. pose proof (Rinv_0_lt_compat _ positive).
  assert (Rbar_lt Z (T - a)); [|simpl in *; lra]. apply Rbar_lt_le_trans with (Fi (1 - / 2 ^ m)); [|assumption].
  rewrite <- noise. apply grows; lra.
Qed.
