(* Rankings with Gumbel noise have the law of peeling with the exponential mechanism: the theorem. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PermuteAndFlip ClassA ClassABound Gumbel.
Import ListNotations.
Open Scope R_scope.

Lemma exp_times : forall c n, exp (INR n * c) = exp c ^ n.
Proof.
  intros c. induction n as [|n IH]; [simpl; now rewrite Rmult_0_l, exp_0|].
  rewrite S_INR, Rmult_plus_distr_r, exp_plus, IH, Rmult_1_l. simpl. ring.
Qed.

Lemma vanishes : forall c, 0 < c -> is_lim_seq (fun n => exp (- (INR n * c))) 0.
Proof.
  intros c positive. apply (is_lim_seq_ext (fun n => exp (- c) ^ n)).
  - intros n. rewrite <- exp_times. f_equal. ring.
  - apply is_lim_seq_geom. rewrite Rabs_pos_eq by apply Rlt_le, exp_pos. rewrite <- exp_0. apply exp_increasing. lra.
Qed.

Lemma vanishes_below : forall S, 0 < S -> is_lim_seq (fun n => exp (- (exp (- - INR n) * S))) 0.
Proof.
  intros S positive. apply (is_lim_seq_le_le (fun _ => 0) _ (fun n => exp (- (INR n * S)))).
  - intros n. split; [apply Rlt_le, exp_pos|]. apply exp_le. apply Ropp_le_contravar, Rmult_le_compat_r; [lra|].
    rewrite Ropp_involutive. destruct n as [|n]; [simpl; apply Rlt_le, exp_pos|].
    pose proof (exp_ineq1 (INR (Datatypes.S n)) ltac:(apply Rgt_not_eq, lt_0_INR; lia)). lra.
  - apply is_lim_seq_const.
  - now apply vanishes.
Qed.

Lemma stays_above : forall S, is_lim_seq (fun n => exp (- (exp (- INR n) * S))) 1.
Proof.
  intros S. rewrite <- exp_0. apply (is_lim_seq_continuous exp (fun n => - (exp (- INR n) * S)) 0).
  - apply derivable_continuous_pt, derivable_pt_exp.
  - apply (is_lim_seq_ext (fun n => exp (- INR n) * - S)); [intros n; ring|].
    evar_last; [apply is_lim_seq_mult'; [|apply is_lim_seq_const]|simpl; f_equal; apply Rmult_0_l].
    apply (is_lim_seq_ext (fun n => exp (- (INR n * 1)))); [intros n; f_equal; ring|]. apply vanishes. lra.
Qed.

Section Law.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (s : I -> R).

Lemma all_below_vanishes : forall losers i z,
  is_lim_seq (fun n => all_below same losers s (i :: z) (- INR n)) 0.
Proof.
  intros losers i z. unfold all_below.
  evar_last; [apply is_lim_seq_mult'; [apply is_lim_seq_const|apply vanishes_below, partition_pos; discriminate]|].
  simpl. f_equal. ring.
Qed.

Lemma lost_vanishes : forall losers y, is_lim_seq (fun n => lost same losers s y (- INR n)) 0.
Proof.
  intros losers. induction y as [|i z IH]; [apply is_lim_seq_const|]. cbn [lost].
  evar_last; [apply is_lim_seq_plus'; [apply all_below_vanishes|exact IH]|]. simpl. f_equal. ring.
Qed.

Lemma without_permuted : forall i l m, Permutation l m -> Permutation (remove same i l) (remove same i m).
Proof.
  intros i l m. induction 1 as [|j l m all IH|j h l|l m k one IH two IH']; simpl; [constructor| | |].
  - destruct (same i j); [assumption|now constructor].
  - destruct (same i j), (same i h); try reflexivity. apply perm_swap.
  - now transitivity (remove same i m).
Qed.

Lemma peeled_permuted : forall y l m, Permutation l m -> peeled same l s y = peeled same m s y.
Proof.
  induction y as [|i y IH]; intros l m all; simpl; [reflexivity|]. f_equal; [|now apply IH, without_permuted].
  unfold chosen, partition. f_equal. now apply sum_permutation.
Qed.

(* With independent Gumbel noise on all scores, the probability that y are the best ones, best first, is that of peeling. *)
Theorem gumbel_rankings_are_peeled : forall l y losers, NoDup l -> Permutation l (y ++ losers) ->
  probability losers density gumbel s y (peeled same l s y).
Proof.
  intros l y losers distinct all. unfold probability. rewrite (peeled_permuted y l _ all).
  assert (distinct' : NoDup (y ++ losers)) by now apply (Permutation_NoDup all).
  assert (most : is_lim_seq (fun n => all_below same losers s y (INR n)) (peeled same (y ++ losers) s y)).
  { unfold all_below. evar_last; [apply is_lim_seq_mult'; [apply is_lim_seq_const|apply stays_above]|]. simpl. f_equal. ring. }
  apply (is_lim_seq_le_le (fun n => all_below same losers s y (INR n) - lost same losers s y (- INR n)) _
    (fun n => all_below same losers s y (INR n))); [| |exact most].
  - intros n. apply little_is_lost; [assumption|]. pose proof (pos_INR n). lra.
  - evar_last; [apply is_lim_seq_minus'; [exact most|apply lost_vanishes]|]. simpl. f_equal. ring.
Qed.

(* For one winner it is the exponential mechanism. *)
Theorem gumbel_winner_is_chosen : forall l i losers, NoDup l -> Permutation l (i :: losers) ->
  probability losers density gumbel s [i] (chosen l s i).
Proof.
  intros l i losers distinct all. rewrite <- (Rmult_1_r (chosen l s i)). now apply (gumbel_rankings_are_peeled l [i]).
Qed.

End Law.
