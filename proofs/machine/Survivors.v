(* A block of candidates: how many survive is drawn first, then who does, then their digits and those of the others. *)
From Coq Require Import Reals List Lra Lia Bool Permutation.
From Machine Require Import Sums Laws Composition Classes Digits Skipping.
Import ListNotations.
Open Scope R_scope.

(* Independent answers, each true with probability q. *)
Definition independent (q : R) (p : list bool) : R := fold_right (fun (b : bool) rest => (if b then q else 1 - q) * rest) 1 p.

(* The number of those who survive is binomial; given it, all sets of that size are alike. *)
Definition binomial (d : nat) (q : R) (n : nat) : R := INR (choose d n) * q ^ n * (1 - q) ^ (d - n).
Definition any_set (d n : nat) (p : list bool) : R := / INR (choose d n).

Lemma independent_members : forall q d p, length p = d -> independent q p = q ^ members p * (1 - q) ^ (d - members p).
Proof.
  intros q d p <-. induction p as [|b p IH]; [simpl; ring|].
  assert (few : (members p <= length p)%nat) by (clear; induction p as [|[] p IH]; simpl; lia).
  simpl independent. rewrite IH. destruct b; simpl members; simpl length.
  - simpl. ring.
  - change (0 + members p)%nat with (members p). rewrite Nat.sub_succ_l by assumption. simpl. ring.
Qed.

Lemma members_few : forall p, (members p <= length p)%nat.
Proof. induction p as [|[] p IH]; simpl; lia. Qed.

Lemma choose_pos : forall d n, (n <= d)%nat -> (0 < choose d n)%nat.
Proof.
  induction d as [|d IH]; intros [|n] less; simpl; try lia. pose proof (IH n ltac:(lia)). lia.
Qed.

Lemma independent_total : forall q d, sum (independent q) (words d) = 1.
Proof.
  intros q. induction d as [|d IH]; simpl; [lra|]. rewrite sum_app, !sum_map. simpl. rewrite !sum_scale, IH. ring.
Qed.

Lemma words_by_members : forall d, Permutation (words d) (flat_map (marks d) (seq 0 (S d))).
Proof.
  intros d. apply NoDup_Permutation; [apply words_distinct| |].
  - assert (apart : forall l, NoDup l -> NoDup (flat_map (marks d) l)); [|apply apart, seq_NoDup].
    induction 1 as [|n l fresh distinct IH]; simpl; [constructor|].
    apply distinct_app; [apply marks_distinct|assumption|]. intros p here there. apply fresh.
    apply in_flat_map in there. destruct there as (m & inside & there). apply marks_are in here, there.
    now replace n with m by lia.
  - intros p. rewrite words_are, in_flat_map. split.
    + intros size. exists (members p). pose proof (members_few p). split; [apply in_seq; lia|]. now apply marks_are.
    + intros (n & _ & here). now apply marks_are in here.
Qed.

Theorem binomial_is_a_law : forall d q, 0 < q < 1 -> law (seq 0 (S d)) (binomial d q).
Proof.
  intros d q between. split.
  - intros n inside. apply in_seq in inside. unfold binomial.
    apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; try (apply pow_lt; lra). apply lt_0_INR, choose_pos. lia.
  - rewrite <- (independent_total q d), (sum_permutation _ _ _ (words_by_members d)), sum_flat_map. apply sum_ext.
    intros n _. rewrite (sum_ext _ (fun _ => q ^ n * (1 - q) ^ (d - n))).
    + rewrite sum_const, marks_count. unfold binomial. ring.
    + intros p here. apply marks_are in here. destruct here as [size <-]. now apply independent_members.
Qed.

(* To draw the number and then the set has the law of independent answers. *)
Theorem survivors_are_independent : forall d q p, 0 < q < 1 -> In p (words d) ->
  chance word_eq (seq 0 (S d)) (binomial d q) (marks d) (any_set d) p = independent q p.
Proof.
  intros d q p between here. apply words_are in here. pose proof (members_few p) as few.
  rewrite (chance_single word_eq _ _ _ _ p (members p)).
  - rewrite (independent_members q d p here). unfold binomial, any_set. field.
    apply Rgt_not_eq, lt_0_INR, choose_pos. lia.
  - intros n _. apply marks_distinct.
  - apply seq_NoDup.
  - apply in_seq. lia.
  - now apply marks_are.
  - intros n _ there. apply marks_are in there. now destruct there as [_ <-].
Qed.

(* The digits of all candidates of the block, given who survives: one word each. *)
Fixpoint rows (l n : nat) (p : list bool) : list (list (list bool)) :=
  match p with
  | [] => [[]]
  | b :: rest => flat_map (fun w => map (cons w) (rows l n rest)) (after l n b)
  end.

Fixpoint all_digits (l n : nat) (p : list bool) (ws : list (list bool)) : R :=
  match p, ws with
  | b :: rest, w :: others => conditional l n b w * all_digits l n rest others
  | _, _ => 1
  end.

Definition rows_eq (v w : list (list bool)) : {v = w} + {v <> w} := list_eq_dec word_eq v w.

Lemma rows_are : forall l n p ws, (l <= n)%nat ->
  In ws (rows l n p) <-> Forall (fun w => In w (words n)) ws /\ map (begins l) ws = p.
Proof.
  intros l n p ws less. revert ws. induction p as [|b p IH]; intros ws; simpl.
  - split; [intros [<-|[]]; repeat constructor|]. intros [_ none]. left. now destruct ws.
  - rewrite in_flat_map. split.
    + intros (w & here & there). apply in_map_iff in there. destruct there as (others & <- & there).
      apply IH in there. destruct there as [good <-]. apply after_are in here; [|assumption]. destruct here as [here <-].
      split; [now constructor|reflexivity].
    + intros [good equal]. destruct ws as [|w others]; [easy|]. injection equal as first rest. inversion good; subst.
      exists w. split; [apply after_are; auto|]. apply in_map, IH. auto.
Qed.

Lemma rows_distinct : forall l n p, NoDup (rows l n p).
Proof.
  intros l n. induction p as [|b p IH]; simpl; [repeat constructor; easy|].
  assert (apart : forall u, NoDup u -> NoDup (flat_map (fun w => map (cons w) (rows l n p)) u)); [|apply apart, after_distinct].
  induction 1 as [|w u fresh distinct IH']; simpl; [constructor|]. apply distinct_app; [|assumption|].
  - apply map_distinct; [intros v v' equal; now injection equal|assumption].
  - intros ws here there. apply fresh. apply in_map_iff in here. destruct here as (others & <- & _).
    apply in_flat_map in there. destruct there as (v & inside & there). apply in_map_iff in there.
    destruct there as (? & equal & _). injection equal as <- _. assumption.
Qed.

(* The whole block, drawn in this way, has the law of fresh digits of everybody. *)
Theorem a_block_has_the_law_of_fresh_digits : forall d l n ws, (1 <= l <= n)%nat ->
  length ws = d -> Forall (fun w => In w (words n)) ws ->
  chance rows_eq (words d) (independent (/ 2 ^ l)) (rows l n) (all_digits l n) ws = (/ 2 ^ n) ^ d.
Proof.
  intros d l n ws between size good.
  rewrite (chance_single rows_eq _ _ _ _ ws (map (begins l) ws)).
  - rewrite <- size. clear size good. induction ws as [|w ws IH]; [simpl; ring|]. simpl. rewrite <- IH.
    pose proof (answer_and_digits l n (begins l w) w between) as one. unfold survives, fair in one. rewrite <- one. ring.
  - intros p _. apply rows_distinct.
  - apply words_distinct.
  - apply words_are. now rewrite map_length.
  - apply rows_are; [lia|]. now split.
  - intros p _ there. apply rows_are in there; [|lia]. now destruct there as [_ <-].
Qed.
