(* Candidates who are asked first whether their digits begin with ones: the digits that follow have the law of fresh ones. *)
From Coq Require Import Reals List Lra Lia Bool.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Composition Digits.
Import ListNotations.
Open Scope R_scope.

(* Whether l ones lead. *)
Definition begins (l : nat) (w : list bool) : bool := forallb (fun b => b) (firstn l w).

(* The answer whether l ones lead, drawn before any digit. *)
Definition survives (l : nat) (b : bool) : R := if b then / 2 ^ l else 1 - / 2 ^ l.

(* The n digits after that answer: l ones and fresh digits; or the words that do not begin with l ones, all alike. *)
Definition after (l n : nat) (b : bool) : list (list bool) :=
  if b then map (app (repeat true l)) (words (n - l)) else filter (fun w => negb (begins l w)) (words n).
Definition conditional (l n : nat) (b : bool) (w : list bool) : R :=
  if b then fair (n - l) w else / (2 ^ n - 2 ^ (n - l)).

Lemma begins_are : forall l w, (l <= length w)%nat -> begins l w = true <-> exists v, w = repeat true l ++ v.
Proof.
  unfold begins. induction l as [|l IH]; intros w size; simpl.
  - split; [intros _; now exists w|reflexivity].
  - destruct w as [|b w]; simpl in size; [lia|]. simpl. rewrite andb_true_iff, IH by lia. split.
    + intros [-> (v & ->)]. now exists v.
    + intros (v & equal). injection equal as -> ->. split; [reflexivity|now exists v].
Qed.

Lemma after_are : forall l n b w, (l <= n)%nat -> In w (after l n b) <-> In w (words n) /\ begins l w = b.
Proof.
  intros l n b w less. destruct b; simpl.
  - rewrite in_map_iff, words_are. split.
    + intros (v & <- & here). apply words_are in here. rewrite app_length, repeat_length. split; [lia|].
      apply begins_are; [rewrite app_length, repeat_length; lia|now exists v].
    + intros [size ones]. apply begins_are in ones; [|lia]. destruct ones as (v & ->). exists v. split; [reflexivity|].
      apply words_are. rewrite app_length, repeat_length in size. lia.
  - rewrite filter_In, negb_true_iff. tauto.
Qed.

Lemma after_distinct : forall l n b, NoDup (after l n b).
Proof.
  intros l n []; simpl; [|apply NoDup_filter, words_distinct].
  apply map_distinct; [intros v w equal; now apply app_inv_head in equal|apply words_distinct].
Qed.

Lemma filter_count : forall {A : Type} (p : A -> bool) l,
  (length (filter p l) + length (filter (fun a => negb (p a)) l) = length l)%nat.
Proof. induction l as [|a l IH]; simpl; [reflexivity|]. destruct (p a); simpl; lia. Qed.

(* Of the 2^n words 2^(n - l) begin with l ones. *)
Theorem words_with_leading_ones : forall l n, (l <= n)%nat ->
  INR (length (filter (begins l) (words n))) = 2 ^ (n - l).
Proof.
  intros l n less. rewrite <- words_count, <- (map_length (app (repeat true l)) (words (n - l))). f_equal.
  apply (Nat.le_antisymm _ (length (after l n true))); apply NoDup_incl_length;
    try (apply NoDup_filter, words_distinct); try apply (after_distinct l n true); intros w here.
  - apply filter_In in here. now apply after_are.
  - apply filter_In. now apply after_are in here.
Qed.

Lemma others_count : forall l n, (l <= n)%nat -> INR (length (after l n false)) = 2 ^ n - 2 ^ (n - l).
Proof.
  intros l n less. pose proof (filter_count (begins l) (words n)) as all. apply (f_equal INR) in all.
  rewrite plus_INR, words_with_leading_ones, words_count in all by assumption. simpl. lra.
Qed.

Lemma split_power : forall l n, (l <= n)%nat -> 2 ^ n = 2 ^ l * 2 ^ (n - l).
Proof. intros l n less. rewrite <- pow_add. f_equal. lia. Qed.

Lemma power_more : forall l, (1 <= l)%nat -> 1 < 2 ^ l.
Proof. intros l some. apply Rlt_pow_R1; [lra|lia]. Qed.

Lemma others_some : forall l n, (1 <= l <= n)%nat -> 0 < 2 ^ n - 2 ^ (n - l).
Proof.
  intros l n between. rewrite (split_power l n) by lia. pose proof (power_pos (n - l)).
  pose proof (power_more l ltac:(lia)). nra.
Qed.

Theorem survival_is_a_law : forall l, (1 <= l)%nat -> law [true; false] (survives l).
Proof.
  intros l some. pose proof (power_more l some) as more. pose proof (Rinv_1_lt_contravar 1 (2 ^ l) ltac:(lra) more) as less.
  rewrite Rinv_1 in less. pose proof (Rinv_0_lt_compat (2 ^ l) ltac:(lra)).
  split; [intros [] _; simpl; lra|simpl; lra].
Qed.

Theorem conditional_is_a_law : forall l n b, (1 <= l <= n)%nat -> law (after l n b) (conditional l n b).
Proof.
  intros l n [] between.
  - apply (uniform_is_a_law (after l n true) (/ 2 ^ (n - l))); pose proof (power_pos (n - l)); [now apply Rinv_0_lt_compat|].
    simpl. rewrite map_length, words_count. field. lra.
  - pose proof (others_some l n between).
    apply (uniform_is_a_law (after l n false) (/ (2 ^ n - 2 ^ (n - l)))); [now apply Rinv_0_lt_compat|].
    rewrite others_count by lia. field. lra.
Qed.

Lemma answer_and_digits : forall l n b w, (1 <= l <= n)%nat -> survives l b * conditional l n b w = fair n w.
Proof.
  intros l n b w between. unfold survives, conditional, fair. pose proof (others_some l n between).
  rewrite (split_power l n) in * by lia. pose proof (power_pos (n - l)). pose proof (power_pos l).
  destruct b; field; repeat split; try lra; nra.
Qed.

(* Skipping by leading ones has the law of independent digits. *)
Theorem skipping_has_the_law_of_fresh_digits : forall l n w, (1 <= l <= n)%nat -> In w (words n) ->
  chance word_eq [true; false] (survives l) (after l n) (conditional l n) w = fair n w.
Proof.
  intros l n w between here. rewrite (chance_single word_eq _ _ _ _ w (begins l w)).
  - now apply answer_and_digits.
  - intros b _. apply after_distinct.
  - repeat constructor; simpl; intuition discriminate.
  - destruct (begins l w); simpl; auto.
  - apply after_are; [lia|]. split; [assumption|reflexivity].
  - intros b _ there. apply after_are in there; [|lia]. now destruct there as [_ <-].
Qed.

(* The probability that a word has been taken after t rounds, each of which takes fresh digits and rejects leading ones. *)
Fixpoint taken (l n t : nat) (w : list bool) : R :=
  match t with
  | O => 0
  | S u => fair n w + sum (fair n) (filter (begins l) (words n)) * taken l n u w
  end.

Lemma rejected : forall l n, (l <= n)%nat -> sum (fair n) (filter (begins l) (words n)) = / 2 ^ l.
Proof.
  intros l n less. unfold fair. rewrite sum_const, words_with_leading_ones, (split_power l n) by assumption.
  pose proof (power_pos (n - l)). pose proof (power_pos l). field. lra.
Qed.

Theorem rejection_has_the_conditional_law : forall l n w, (1 <= l <= n)%nat ->
  is_lim_seq (fun t => taken l n t w) (conditional l n false w).
Proof.
  intros l n w between. pose proof (others_some l n between). pose proof (power_pos n). pose proof (power_pos l).
  pose proof (power_pos (n - l)). pose proof (split_power l n ltac:(lia)) as split_n.
  assert (shape : forall t, taken l n t w = conditional l n false w - conditional l n false w * (/ 2 ^ l) ^ t).
  { induction t as [|t IH]; [simpl; lra|]. cbn [taken]. rewrite IH, rejected by lia. unfold conditional, fair. simpl pow.
    rewrite split_n in *. field_simplify_eq; [ring|]. repeat split; try lra; nra. }
  apply (is_lim_seq_ext (fun t => conditional l n false w - conditional l n false w * (/ 2 ^ l) ^ t)); [now intros|].
  evar_last; [apply is_lim_seq_minus'; [apply is_lim_seq_const|]|].
  - apply (is_lim_seq_scal_l _ (conditional l n false w) 0). apply is_lim_seq_geom.
    pose proof (power_more l ltac:(lia)). rewrite Rabs_pos_eq by (apply Rlt_le, Rinv_0_lt_compat; lra).
    rewrite <- Rinv_1. apply Rinv_1_lt_contravar; lra.
  - simpl. f_equal. ring.
Qed.
