(* The number of leading ones drawn first, and the digits behind them afterwards. *)
From Coq Require Import Reals List Lra Lia Bool.
From Machine Require Import Sums Laws Composition Digits.
Import ListNotations.
Open Scope R_scope.

Fixpoint ones (w : list bool) : nat :=
  match w with
  | true :: rest => S (ones rest)
  | _ => 0
  end.

(* How many ones lead, of n digits: j has the probability 2^-(j+1), and all n have the rest, 2^-n. *)
Definition geometric (n j : nat) : R := if j <? n then / 2 ^ S j else / 2 ^ n.

(* Behind j ones there is a zero and fresh digits, or nothing if these are all. *)
Definition behind (n j : nat) : list (list bool) :=
  match (n - j)%nat with
  | O => [repeat true j]
  | S rest => map (fun v => repeat true j ++ false :: v) (words rest)
  end.

Lemma ones_of : forall j v, ones (repeat true j ++ false :: v) = j.
Proof. induction j as [|j IH]; intros v; simpl; [reflexivity|now rewrite IH]. Qed.

Lemma ones_all : forall j, ones (repeat true j) = j.
Proof. induction j as [|j IH]; simpl; [reflexivity|now rewrite IH]. Qed.

Lemma ones_shape : forall w, w = repeat true (ones w) \/ exists v, w = repeat true (ones w) ++ false :: v.
Proof.
  induction w as [|[] w IH]; simpl; [now left| |right; now exists w].
  destruct IH as [equal|(v & equal)]; [left; now f_equal|right; exists v; now f_equal].
Qed.

Lemma ones_few : forall w, (ones w <= length w)%nat.
Proof. induction w as [|[] w IH]; simpl; lia. Qed.

Lemma behind_are : forall n j w, (j <= n)%nat -> In w (behind n j) <-> In w (words n) /\ ones w = j.
Proof.
  intros n j w less. rewrite words_are. unfold behind. destruct (n - j)%nat as [|rest] eqn:room.
  - replace n with j by lia. split.
    + intros [<-|[]]. now rewrite repeat_length, ones_all.
    + intros [size all]. left. destruct (ones_shape w) as [equal|(v & equal)]; [now rewrite equal, all|exfalso].
      apply (f_equal (@length bool)) in equal. rewrite app_length, repeat_length in equal. simpl in equal. lia.
  - rewrite in_map_iff. split.
    + intros (v & <- & here). apply words_are in here. rewrite app_length, repeat_length, ones_of. simpl. lia.
    + intros [size count]. destruct (ones_shape w) as [equal|(v & equal)]; rewrite count in equal.
      * exfalso. apply (f_equal (@length bool)) in equal. rewrite repeat_length in equal. lia.
      * exists v. split; [now symmetry|]. apply words_are. apply (f_equal (@length bool)) in equal.
        rewrite app_length, repeat_length in equal. simpl in equal. lia.
Qed.

Lemma behind_distinct : forall n j, NoDup (behind n j).
Proof.
  intros n j. unfold behind. destruct (n - j)%nat; [repeat constructor; easy|].
  apply map_distinct; [|apply words_distinct]. intros v v' equal. apply app_inv_head in equal. now injection equal.
Qed.

Lemma geometric_pos : forall n j, 0 < geometric n j.
Proof. intros n j. unfold geometric. destruct (j <? n); apply Rinv_0_lt_compat, power_pos. Qed.

Lemma geometric_next : forall n j, geometric (S n) (S j) = / 2 * geometric n j.
Proof.
  intros n j. unfold geometric. change (S j <? S n) with (j <? n). pose proof (power_pos j). pose proof (power_pos n).
  destruct (j <? n); simpl pow; field; lra.
Qed.

Theorem geometric_is_a_law : forall n, law (seq 0 (S n)) (geometric n).
Proof.
  intros n. split; [intros j _; apply geometric_pos|]. induction n as [|n IH].
  - unfold geometric. simpl. lra.
  - change (seq 0 (S (S n))) with (0%nat :: seq 1 (S n)). rewrite <- seq_shift. cbn [sum]. rewrite sum_map.
    rewrite (sum_ext _ (fun j => / 2 * geometric n j)) by (intros j _; apply geometric_next).
    rewrite sum_scale, IH. unfold geometric. simpl. lra.
Qed.

Theorem digits_behind_are_a_law : forall n j, law (behind n j) (fair (n - S j)).
Proof.
  intros n j. pose proof (power_pos (n - S j)).
  apply (uniform_is_a_law (behind n j) (/ 2 ^ (n - S j))); [now apply Rinv_0_lt_compat|].
  unfold behind. destruct (n - j)%nat as [|rest] eqn:room; [replace (n - S j)%nat with 0%nat by lia; simpl; lra|].
  rewrite map_length, words_count. replace (n - S j)%nat with rest in * by lia. field. lra.
Qed.

(* The number of leading ones of fresh digits has this law. *)
Theorem leading_ones_are_geometric : forall n j, (j <= n)%nat ->
  sum (fair n) (filter (fun w => Nat.eqb (ones w) j) (words n)) = geometric n j.
Proof.
  intros n j less. unfold fair. rewrite sum_const.
  replace (length (filter (fun w => Nat.eqb (ones w) j) (words n))) with (length (behind n j)).
  2: { apply Nat.le_antisymm; apply NoDup_incl_length;
         try (apply NoDup_filter, words_distinct); try apply behind_distinct; intros w here.
       - apply filter_In. rewrite Nat.eqb_eq. now apply behind_are.
       - apply filter_In in here. rewrite Nat.eqb_eq in here. now apply behind_are. }
  unfold behind, geometric. destruct (n - j)%nat as [|rest] eqn:room.
  - replace j with n by lia. rewrite Nat.ltb_irrefl. simpl. lra.
  - replace (j <? n) with true by (symmetry; apply Nat.ltb_lt; lia). rewrite map_length, words_count.
    replace n with (S j + rest)%nat by lia. rewrite pow_add. pose proof (power_pos (S j)). pose proof (power_pos rest).
    field. split; lra.
Qed.

(* To draw this number first, and the digits behind afterwards, has the law of fresh digits. *)
Theorem leading_ones_first : forall n w, In w (words n) ->
  chance word_eq (seq 0 (S n)) (geometric n) (behind n) (fun j => fair (n - S j)) w = fair n w.
Proof.
  intros n w here. pose proof (proj1 (words_are n w) here) as size. pose proof (ones_few w) as few.
  rewrite (chance_single word_eq _ _ _ _ w (ones w)).
  - unfold geometric, fair. destruct (Nat.ltb_spec (ones w) n) as [room|full].
    + rewrite <- Rinv_mult, <- pow_add. f_equal. f_equal. lia.
    + replace (n - S (ones w))%nat with 0%nat by lia. simpl. rewrite Rinv_1. ring.
  - intros j _. apply behind_distinct.
  - apply seq_NoDup.
  - apply in_seq. lia.
  - apply behind_are; [lia|]. now split.
  - intros j inside there. apply in_seq in inside. apply behind_are in there; [|lia]. now destruct there as [_ <-].
Qed.
