(* The race that runs releases only what its digits leave no doubt of: so what End.v says of honest races holds for it. *)
From Coq Require Import Reals List Lra Lia Bool ZArith Permutation Sorted.
From Interval Require Import Interval.
From Machine Require Import Sums Laws Jumps Noises Best Boundaries Cells Parts Counted FromDigits Digits Images Sets Executable Costs Tables.
Import ListNotations.
Open Scope R_scope.

Lemma ranking_of_same : forall {I : Type} (b b' : I -> I -> Prop) k l y, (forall i j, In i l -> In j l -> b i j -> b' i j) ->
  ranking b k l y -> ranking b' k l y.
Proof.
  intros I b b' k l y more [(fresh & within & size & first) order]. split.
  - repeat split; try assumption. intros i j here there out. apply more; auto.
  - clear first fresh size. induction order as [|i y order IH ahead]; constructor; [apply IH; intros j here; apply within; now right|].
    rewrite Forall_forall in *. intros j here. apply more; [apply within; now left|apply within; now right|auto].
Qed.

Module Honest (In : IntervalOps).
Module Run := Race In.

Section Given.
Variables (prec wide : In.precision) (n : kind) (P q origin : Z) (d k digits : nat) (a : nat -> Z).
Hypothesis (positive : (0 < P)%Z) (positive' : (0 < q)%Z).

(* Digits that say in which of 2^digits parts the uniform number of each candidate lies. *)
Definition entries (c : nat -> nat) : list entry := map (fun i => (a i, (Z.of_nat (c i), Z.of_nat (S (c i))))) (candidates d).
Definition parts_in_all : Z := Z.pow 2 (Z.of_nat digits).

Lemma entries_count : forall c, length (entries c) = d.
Proof. intros c. unfold entries. rewrite map_length. apply count. Qed.

Lemma entry_of : forall c i, (i < d)%nat -> nth i (entries c) none = (a i, (Z.of_nat (c i), Z.of_nat (S (c i)))).
Proof.
  intros c i here. unfold entries. set (told := fun j => _). rewrite (nth_indep _ none (told O)) by (rewrite map_length, count; assumption).
  rewrite (map_nth told). unfold candidates. now rewrite seq_nth.
Qed.

Notation noisy := (fun (z : nat -> R) (i : nat) => IZR (a i) / (IZR P / IZR q) + z i).

Lemma enough_is_known : forall c z, possible (below_of n) (2 ^ digits) (candidates d) c z -> forall i, (i < length (entries c))%nat ->
  IZR (lo (nth i (entries c) none)) < IZR parts_in_all * below_of n (z i) < IZR (hi (nth i (entries c) none)).
Proof.
  intros c z fits i here. rewrite entries_count in here. rewrite entry_of by assumption. unfold lo, hi. cbn [fst snd].
  specialize (fits i). unfold in_part in fits. rewrite !INR_IZR_INZ, Nat2Z.inj_pow in fits. apply fits, in_seq. lia.
Qed.

Lemma same_order : forall c z i j, In i (candidates d) -> In j (candidates d) ->
  (beats (Run.Y P q (entries c) z) i j <-> beats (noisy z) i j).
Proof.
  intros c z i j here there. apply in_seq in here, there. unfold beats, Run.Y, Run.units. rewrite !entry_of by lia. reflexivity.
Qed.

Definition ranking_released (c : nat -> nat) : option (list nat) := Run.ranking_race prec wide n P q parts_in_all origin k (entries c).

Theorem ranking_race_is_honest :
  honest_race d k (IZR P / IZR q) (fun i => IZR (a i)) n (list nat) (fun y => y) digits ranking_released.
Proof.
  intros c z y b yes fits first. assert (some : (0 < parts_in_all)%Z) by (apply Z.pow_pos_nonneg; lia).
  apply (Run.ranking_race_is_right prec wide n P q parts_in_all origin positive positive' some (entries c) z (enough_is_known c z fits)) in yes.
  rewrite entries_count in yes. apply (ranking_of_same _ (beats (noisy z))) in yes; [|intros; now apply (same_order c z)].
  exact (the_ranking_is_unique _ Nat.eq_dec (beats_strict _) (beats_chain _) k (candidates d) y b first yes).
Qed.

Definition set_released (c : nat -> nat) : option (list bool) :=
  option_map (set_of Nat.eq_dec (candidates d)) (Run.set_race prec wide n P q parts_in_all origin k (entries c)).

Theorem set_race_is_honest :
  honest_race d k (IZR P / IZR q) (fun i => IZR (a i)) n (list bool) (set_of Nat.eq_dec (candidates d)) digits set_released.
Proof.
  intros c z y b yes fits [first _]. assert (some : (0 < parts_in_all)%Z) by (apply Z.pow_pos_nonneg; lia). unfold set_released in yes.
  destruct (Run.set_race _ _ _ _ _ _ _ _ _) as [w|] eqn:found; [|easy]. injection yes as <-.
  apply (Run.set_race_is_right prec wide n P q parts_in_all origin positive positive' some (entries c) z (enough_is_known c z fits)) in found.
  rewrite entries_count in found. destruct found as (fresh & within & size & ahead).
  assert (best (beats (noisy z)) k (candidates d) w) as found.
  { repeat split; try assumption. intros i j here there out. apply (same_order c z); auto. }
  apply sets_forget_the_order; [apply first|apply found|].
  pose proof (the_best_are_unique _ Nat.eq_dec (beats_strict _) (beats_chain _) k (candidates d) y w first found) as all.
  intros i. split; [now apply Permutation_in|now apply Permutation_in, Permutation_sym].
Qed.

End Given.

(* So this is what two of these races cost on neighbours. How seldom they have not ended is not known of intervals as such. *)
Section Two.
Variables (prec wide : In.precision) (n : kind) (P q origin origin' : Z) (d k digits : nat) (a a' : nat -> Z) (rho : R).
Hypothesis (above : (0 < P)%Z) (below : (0 < q)%Z) (size : (1 <= k <= d)%nat)
  (near : within d rho (fun i => IZR (a i)) (fun i => IZR (a' i))).

Theorem ranking_released_cost : forall y, In y (all_rankings d k) ->
  let released := releasing d (list nat) (list_eq_dec Nat.eq_dec) digits in
  let race' := ranking_released prec wide n P q origin' d k digits a' in
  released (ranking_released prec wide n P q origin d k digits a) y <=
    exp (INR (steps d k n) * (rho / (IZR P / IZR q))) * (released race' y + not_ended d (list nat) digits race').
Proof.
  intros y here. apply digits_cost with (k := k) (x := fun i => IZR (a i)) (x' := fun i => IZR (a' i)) (what := fun w => w); try assumption.
  - now apply scale_is_positive.
  - now apply ranking_race_is_honest.
  - now apply ranking_race_is_honest.
  - apply releases_are. now exists y.
Qed.

Theorem set_released_cost : forall b, In b (all_sets d k) ->
  let released := releasing d (list bool) word_eq digits in
  let race' := set_released prec wide n P q origin' d k digits a' in
  released (set_released prec wide n P q origin d k digits a) b <=
    exp (INR (set_steps d k n) * (rho / (IZR P / IZR q))) * (released race' b + not_ended d (list bool) digits race').
Proof.
  intros b here. apply set_digits_cost with (k := k) (x := fun i => IZR (a i)) (x' := fun i => IZR (a' i)); try assumption.
  - now apply scale_is_positive.
  - now apply set_race_is_honest.
  - now apply set_race_is_honest.
Qed.

End Two.

(* A table that the intervals accept, entry by entry, has bounds. *)
Definition entries_of (digits : nat) (low high : nat -> Z) : list Run.table_entry := map (fun m =>
  (Z.of_nat m, (if (0 <? m)%nat then Some (low m) else None, if (S m <? 2 ^ digits)%nat then Some (high m) else None)))
  (seq 0 (2 ^ digits)).

Theorem accepted_tables_have_bounds : forall prec n digits D low high, (0 < D)%Z ->
  forallb (Run.entry_agrees prec n (Z.pow 2 (Z.of_nat digits)) D) (entries_of digits low high) = true -> bounds n digits D low high.
Proof.
  intros prec n digits D low high unit yes. split; [assumption|]. intros m z inside. pose proof (IZR_lt _ _ unit) as real.
  assert (some : (0 < 2 ^ Z.of_nat digits)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (reach : (m < 2 ^ digits)%nat).
  { destruct inside as [less _]. apply INR_lt.
    pose proof (OneShot.F_between _ _ (all_are_noise n) z). pose proof (lt_0_INR _ (many_parts digits)). nra. }
  assert (entry_ : In (Z.of_nat m, (if (0 <? m)%nat then Some (low m) else None, if (S m <? 2 ^ digits)%nat then Some (high m) else None))
    (entries_of digits low high)) by (apply in_map_iff; exists m; split; [reflexivity|apply in_seq; lia]).
  pose proof (Run.entries_are_right prec n _ D _ some unit yes _ _ _ entry_ z) as right.
  assert (known : IZR (Z.of_nat m) < IZR (2 ^ Z.of_nat digits) * below_of n z < IZR (Z.of_nat m + 1)).
  { replace (Z.of_nat m + 1)%Z with (Z.of_nat (S m)) by lia. change 2%Z with (Z.of_nat 2). rewrite <- Nat2Z.inj_pow, <- !INR_IZR_INZ. exact inside. }
  destruct (right known) as [lower upper]. split.
  - intros first. rewrite (proj2 (Nat.ltb_lt 0 m) first) in lower. apply (Rmult_le_compat_l (IZR D)) in lower; [|lra].
    replace (IZR D * (IZR (low m) / IZR D)) with (IZR (low m)) in lower by (field; lra). exact lower.
  - intros last. rewrite (proj2 (Nat.ltb_lt (S m) _) last) in upper. apply (Rmult_le_compat_l (IZR D)) in upper; [|lra].
    replace (IZR D * (IZR (high m) / IZR D)) with (IZR (high m)) in upper by (field; lra). exact upper.
Qed.

End Honest.

