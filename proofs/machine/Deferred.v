(* Decisions that are deferred: to draw each answer when it is asked has the law of words that were there before. *)
From Coq Require Import Reals List Lra Lia Bool.
From Machine Require Import Sums Digits Skipping.
Import ListNotations.
Open Scope R_scope.

Section Deferred.
Context {Result : Type}.

(* What a race may do: ask something of one candidate's word, such as a digit or whether ones lead, and go on in view of
   the answer; or return a result. *)
Inductive procedure : Type :=
  | returns : Result -> procedure
  | asks : nat -> (list bool -> bool) -> (bool -> procedure) -> procedure.

(* The result where the words are there before. *)
Fixpoint reads (words : list (list bool)) (p : procedure) : Result :=
  match p with
  | returns r => r
  | asks i question next => reads words (next (question (nth i words []))) 
  end.

(* The words that are still possible for each candidate, given the answers so far; and after one more answer. *)
Definition agrees (question : list bool -> bool) (answer : bool) (w : list bool) : bool := Bool.eqb (question w) answer.
Fixpoint narrowed (possible : list (list (list bool))) (i : nat) (question : list bool -> bool) (answer : bool) :=
  match possible, i with
  | [], _ => []
  | ws :: rest, O => filter (agrees question answer) ws :: rest
  | ws :: rest, S j => ws :: narrowed rest j question answer
  end.

(* The share of the words that are still possible for i with this answer. *)
Definition share (possible : list (list (list bool))) (i : nat) (question : list bool -> bool) (answer : bool) : R :=
  INR (length (filter (agrees question answer) (nth i possible []))) / INR (length (nth i possible [])).

(* The mean of f over the results where each answer is drawn when it is asked, in proportion to these shares. *)
Fixpoint drawn (f : Result -> R) (possible : list (list (list bool))) (p : procedure) : R :=
  match p with
  | returns r => f r
  | asks i question next =>
      share possible i question true * drawn f (narrowed possible i question true) (next true) +
      share possible i question false * drawn f (narrowed possible i question false) (next false)
  end.

(* All words together; the mean over them, all alike. *)
Fixpoint tapes (possible : list (list (list bool))) : list (list (list bool)) :=
  match possible with
  | [] => [[]]
  | ws :: rest => flat_map (fun w => map (cons w) (tapes rest)) ws
  end.
Definition mean (g : list (list bool) -> R) (possible : list (list (list bool))) : R :=
  sum g (tapes possible) / INR (length (tapes possible)).

Fixpoint size (possible : list (list (list bool))) : R :=
  match possible with
  | [] => 1
  | ws :: rest => INR (length ws) * size rest
  end.

Lemma tapes_count : forall possible, INR (length (tapes possible)) = size possible.
Proof.
  induction possible as [|ws rest IH]; simpl; [reflexivity|]. rewrite <- IH. clear IH.
  induction ws as [|w ws IH]; [simpl; ring|]. simpl flat_map. rewrite app_length, map_length, plus_INR, IH.
  simpl length. rewrite S_INR. ring.
Qed.

Lemma sum_tapes : forall g ws rest,
  sum g (tapes (ws :: rest)) = sum (fun w => sum (fun tape => g (w :: tape)) (tapes rest)) ws.
Proof. intros g ws rest. simpl. rewrite sum_flat_map. apply sum_ext. intros w _. now rewrite sum_map. Qed.

(* Tapes that give an answer are the tapes of the words that do. *)
Lemma sum_narrowed : forall possible g i question answer, (i < length possible)%nat ->
  sum g (tapes (narrowed possible i question answer)) =
  sum (fun tape => if agrees question answer (nth i tape []) then g tape else 0) (tapes possible).
Proof.
  induction possible as [|ws rest IH]; intros g i question answer inside; simpl in inside; [lia|].
  destruct i as [|i]; simpl narrowed; rewrite !sum_tapes.
  - rewrite sum_filter. apply sum_ext. intros w _. simpl. destruct (agrees question answer w); [reflexivity|].
    symmetry. now apply sum_zero.
  - apply sum_ext. intros w _. simpl. apply (IH (fun tape => g (w :: tape))). lia.
Qed.

Lemma size_narrowed : forall possible i question answer, (i < length possible)%nat -> nth i possible [] <> [] ->
  size (narrowed possible i question answer) = share possible i question answer * size possible.
Proof.
  unfold share. induction possible as [|ws rest IH]; intros i question answer inside some; simpl in inside; [lia|].
  destruct i as [|i]; simpl in *.
  - field. apply not_0_INR. now destruct ws.
  - rewrite IH by (try lia; assumption). ring.
Qed.

Lemma size_some : forall possible i, 0 < size possible -> (i < length possible)%nat -> nth i possible [] <> [].
Proof.
  induction possible as [|ws rest IH]; intros i positive inside; simpl in *; [lia|].
  assert (nonneg : forall l, 0 <= size l).
  { induction l as [|vs l IH']; simpl; [lra|]. apply Rmult_le_pos; [apply pos_INR|assumption]. }
  destruct i as [|i].
  - intros ->. simpl in positive. lra.
  - apply IH; [|lia]. specialize (nonneg rest). destruct nonneg as [|zero]; [assumption|]. rewrite <- zero in positive. lra.
Qed.

(* All candidates who are asked are there. *)
Fixpoint asks_of (d : nat) (p : procedure) : Prop :=
  match p with
  | returns _ => True
  | asks i _ next => (i < d)%nat /\ forall answer, asks_of d (next answer)
  end.

Lemma narrowed_length : forall possible i question answer, length (narrowed possible i question answer) = length possible.
Proof. induction possible as [|ws rest IH]; intros [|i] question answer; simpl; auto. Qed.

Lemma size_nonneg : forall possible, 0 <= size possible.
Proof. induction possible as [|ws rest IH]; simpl; [lra|]. apply Rmult_le_pos; [apply pos_INR|assumption]. Qed.

Lemma drawn_by_counting : forall f p possible, asks_of (length possible) p -> 0 < size possible ->
  drawn f possible p * size possible = sum (fun tape => f (reads tape p)) (tapes possible).
Proof.
  intros f p. induction p as [r|i question next IH]; intros possible there positive; simpl.
  - rewrite <- tapes_count, sum_const. ring.
  - destruct there as [inside there]. pose proof (size_some possible i positive inside) as some.
    assert (one : forall answer, share possible i question answer * drawn f (narrowed possible i question answer) (next answer)
      * size possible = sum (fun tape => if agrees question answer (nth i tape []) then f (reads tape (next answer)) else 0)
        (tapes possible)).
    { intros answer. rewrite <- (sum_narrowed possible (fun tape => f (reads tape (next answer)))) by assumption.
      pose proof (size_narrowed possible i question answer inside some) as less.
      destruct (size_nonneg (narrowed possible i question answer)) as [more|none].
      - rewrite <- IH; [rewrite less; ring|rewrite narrowed_length; apply there|assumption].
      - rewrite <- none in less. rewrite <- tapes_count in none.
        destruct (tapes (narrowed possible i question answer)) as [|tape tapes_left].
        + simpl. rewrite Rmult_assoc, (Rmult_comm (drawn _ _ _)), <- Rmult_assoc, <- less. ring.
        + exfalso. simpl length in none. rewrite S_INR in none. pose proof (pos_INR (length tapes_left)). lra. }
    rewrite Rmult_plus_distr_r, !one, <- sum_plus. apply sum_ext. intros tape _. unfold agrees.
    destruct (question (nth i tape [])); simpl; ring.
Qed.

Theorem deferred : forall f p possible, asks_of (length possible) p -> Forall (fun ws => ws <> []) possible ->
  drawn f possible p = mean (fun tape => f (reads tape p)) possible.
Proof.
  intros f p possible there some. unfold mean. rewrite tapes_count.
  assert (positive : 0 < size possible).
  { clear there. induction some as [|ws rest one some IH]; simpl; [lra|]. apply Rmult_lt_0_compat; [|assumption].
    apply lt_0_INR. destruct ws; [easy|simpl; lia]. }
  rewrite <- drawn_by_counting by assumption. field. lra.
Qed.

End Deferred.

(* These shares are what the code draws. Nothing was asked before: l ones lead with the probability 2^-l. *)
Theorem share_of_leading_ones : forall possible i l n, (l <= n)%nat -> nth i possible [] = words n ->
  share possible i (begins l) true = / 2 ^ l.
Proof.
  intros possible i l n less fresh. unfold share. rewrite fresh.
  rewrite (filter_ext _ (begins l)) by (intros w; unfold agrees; now destruct (begins l w)).
  rewrite words_with_leading_ones, words_count, (split_power l n) by assumption.
  pose proof (power_pos l). pose proof (power_pos (n - l)). field. lra.
Qed.

(* The first digits are known to be u: the next one is fair, and then those after it are as they were. *)
Lemma next_digit : forall u m answer,
  filter (agrees (fun w => nth (length u) w false) answer) (map (app u) (words (S m))) = map (app (u ++ [answer])) (words m).
Proof.
  intros u m answer. simpl words. rewrite map_app, filter_app, !map_map.
  assert (all : forall b, filter (agrees (fun w => nth (length u) w false) answer) (map (fun v => u ++ b :: v) (words m)) =
    if Bool.eqb b answer then map (fun v => u ++ b :: v) (words m) else []).
  { intros b. induction (words m) as [|v l IH]; [simpl; now destruct (Bool.eqb b answer)|]. simpl map. simpl filter.
    unfold agrees at 1. rewrite app_nth2, Nat.sub_diag by lia. simpl nth. rewrite IH. now destruct (Bool.eqb b answer). }
  rewrite !all. rewrite (map_ext (app (u ++ [answer])) (fun v => u ++ answer :: v)) by (intros v; now rewrite <- app_assoc).
  destruct answer; simpl; [now rewrite app_nil_r|reflexivity].
Qed.

Theorem share_of_the_next_digit : forall possible i u m answer, nth i possible [] = map (app u) (words (S m)) ->
  share possible i (fun w => nth (length u) w false) answer = / 2.
Proof.
  intros possible i u m answer known. unfold share. rewrite known, next_digit, !map_length, !words_count.
  pose proof (power_pos m). simpl. field. lra.
Qed.
