(* Any number of steps, each chosen in view of all answers before it, with bounds that may depend on them. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws Composition.
Import ListNotations.
Open Scope R_scope.

Section ManySteps.
Context {A : Type}.

(* The answers of n steps. *)
Fixpoint History (n : nat) : Type :=
  match n with
  | O => unit
  | S m => (History m * A)%type
  end.

(* After the answers h the next one is one of (next n h), with the law K n h. *)
Variable next : forall n, History n -> list A.
Definition Kernel : Type := forall n, History n -> A -> R.

Fixpoint histories (n : nat) : list (History n) :=
  match n with
  | O => [tt]
  | S m => both (histories m) (next m)
  end.

Fixpoint released (K : Kernel) (n : nat) : History n -> R :=
  match n with
  | O => fun _ => 1
  | S m => joint (released K m) (K m)
  end.

Definition laws (K : Kernel) : Prop := forall n h, In h (histories n) -> law (next n h) (K n h).

(* Each step has a bound that may depend on the answers before it; what a history has spent is their sum. *)
Definition Bound : Type := forall n, History n -> R.
Fixpoint spent (c : Bound) (n : nat) : History n -> R :=
  match n with
  | O => fun _ => 0
  | S m => fun h => spent c m (fst h) + c m (fst h)
  end.

Theorem released_is_a_law : forall K n, laws K -> law (histories n) (released K n).
Proof.
  intros K n good. induction n as [|n IH]; [split; [intros h _; simpl; lra|simpl; lra]|].
  apply (joint_is_a_law (histories n) (next n)); [assumption|apply good].
Qed.

Variables (K K' : Kernel).
Hypothesis (laws_K : laws K) (laws_K' : laws K').

Lemma no_loss : forall (h : unit), loss (fun _ : unit => 1) (fun _ => 1) h = 0.
Proof. intros h. unfold loss. replace (1 / 1) with 1 by field. apply ln_1. Qed.

Lemma step_loss : forall n h y, In h (histories n) -> In y (next n h) ->
  loss (released K (S n)) (released K' (S n)) (h, y) = loss (released K n) (released K' n) h + loss (K n h) (K' n h) y.
Proof.
  intros n h y here there. simpl.
  apply (joint_loss (histories n) (next n)); try (apply released_is_a_law; assumption); auto.
Qed.

Lemma loss_within : forall c n, (forall m h, In h (histories m) -> pure (next m h) (K m h) (K' m h) (c m h)) ->
  forall h, In h (histories n) -> Rabs (loss (released K n) (released K' n) h) <= spent c n h.
Proof.
  intros c n near. induction n as [|n IH]; intros h inside; [simpl; rewrite no_loss, Rabs_R0; lra|].
  destruct h as [h y]. apply both_in in inside. destruct inside as [here there]. rewrite step_loss by assumption.
  eapply Rle_trans; [apply Rabs_triang|]. simpl. specialize (IH h here). specialize (near n h here y there). lra.
Qed.

Theorem pure_of_many : forall c n B, (forall m h, In h (histories m) -> pure (next m h) (K m h) (K' m h) (c m h)) ->
  (forall h, In h (histories n) -> spent c n h <= B) ->
  pure (histories n) (released K n) (released K' n) B.
Proof. intros c n B near enough h here. eapply Rle_trans; [now apply (loss_within c)|now apply enough]. Qed.

(* The range of the first step counts once, the pure losses of all later ones twice. *)
Theorem range_of_many : forall a c n B,
  range (next 0 tt) (K 0%nat tt) (K' 0%nat tt) a ->
  (forall m h, (0 < m)%nat -> In h (histories m) -> pure (next m h) (K m h) (K' m h) (c m h)) ->
  (forall h, In h (histories (S n)) -> a + 2 * (spent c (S n) h - c 0%nat tt) <= B) ->
  range (histories (S n)) (released K (S n)) (released K' (S n)) B.
Proof.
  intros a c n B near near' enough.
  cut (forall h g, In h (histories (S n)) -> In g (histories (S n)) ->
    loss (released K (S n)) (released K' (S n)) h - loss (released K (S n)) (released K' (S n)) g
    <= a + (spent c (S n) h - c 0%nat tt) + (spent c (S n) g - c 0%nat tt)).
  { intros within h g here there. specialize (within h g here there).
    pose proof (enough h here). pose proof (enough g there). lra. }
  clear enough. induction n as [|n IH]; intros [h y] [g z] inside inside'; apply both_in in inside, inside';
    destruct inside as [here there], inside' as [here' there']; rewrite !step_loss by assumption.
  - destruct h, g. simpl. rewrite !no_loss. specialize (near y z there there'). lra.
  - specialize (IH h g here here'). pose proof (near' (S n) h ltac:(auto with arith) here y there) as one.
    pose proof (near' (S n) g ltac:(auto with arith) here' z there') as two.
    apply Rcomplements.Rabs_le_between in one, two. simpl in *. lra.
Qed.

(* The moment of the loss, less what was spent, does not grow. *)
Lemma moment_within : forall c alpha n, 1 < alpha ->
  (forall m h, In h (histories m) -> renyi (next m h) (K m h) (K' m h) (c m h)) ->
  sum (fun h => released K n h * exp (alpha * loss (released K n) (released K' n) h
    - alpha * (alpha - 1) * spent c n h)) (histories n) <= 1.
Proof.
  intros c alpha n order near. induction n as [|n IH].
  - simpl. rewrite no_loss, !Rmult_0_r, Rminus_0_r, exp_0. lra.
  - eapply Rle_trans; [|exact IH]. rewrite (sum_both (histories n) (next n)). apply sum_le. intros h here.
    set (so_far := exp (alpha * loss (released K n) (released K' n) h - alpha * (alpha - 1) * spent c n h)).
    rewrite (sum_ext _ (fun y => released K n h * so_far * exp (- (alpha * (alpha - 1) * c n h)) *
      (K n h y * exp (alpha * loss (K n h) (K' n h) y)))).
    2: { intros y there. rewrite step_loss by assumption. simpl released. simpl spent. unfold joint, so_far. simpl.
         replace (alpha * (loss (released K n) (released K' n) h + loss (K n h) (K' n h) y)
           - alpha * (alpha - 1) * (spent c n h + c n h))
           with ((alpha * loss (released K n) (released K' n) h - alpha * (alpha - 1) * spent c n h)
             + (- (alpha * (alpha - 1) * c n h) + alpha * loss (K n h) (K' n h) y)) by ring.
         rewrite !exp_plus. ring. }
    rewrite sum_scale. pose proof (near n h here alpha order) as step.
    assert (0 <= released K n h) by (apply Rlt_le, (proj1 (released_is_a_law K n laws_K)), here).
    assert (nonneg : 0 <= released K n h * so_far) by (apply Rmult_le_pos; [assumption|apply Rlt_le, exp_pos]).
    rewrite <- (Rmult_1_r (released K n h * so_far)) at 2. rewrite Rmult_assoc. apply Rmult_le_compat_l; [assumption|].
    apply Rle_trans with (exp (- (alpha * (alpha - 1) * c n h)) * exp (alpha * (alpha - 1) * c n h)).
    + apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|assumption].
    + rewrite <- exp_plus, Rplus_opp_l, exp_0. lra.
Qed.

Lemma renyi_of_many : forall c n B, (forall m h, In h (histories m) -> renyi (next m h) (K m h) (K' m h) (c m h)) ->
  (forall h, In h (histories n) -> spent c n h <= B) ->
  renyi (histories n) (released K n) (released K' n) B.
Proof.
  intros c n B near enough alpha order. pose proof (moment_within c alpha n order near) as moment.
  rewrite <- (Rmult_1_r (exp (alpha * (alpha - 1) * B))).
  eapply Rle_trans; [|apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|exact moment]].
  rewrite <- sum_scale. apply sum_le. intros h here.
  assert (0 <= released K n h) by (apply Rlt_le, (proj1 (released_is_a_law K n laws_K)), here).
  rewrite (Rmult_comm (exp _)), Rmult_assoc. apply Rmult_le_compat_l; [assumption|]. rewrite <- exp_plus. apply exp_le.
  specialize (enough h here). assert (0 <= alpha * (alpha - 1)) by nra. nra.
Qed.

End ManySteps.

Theorem zCDP_of_many : forall {A : Type} (next : forall n, History n -> list A) (K K' : Kernel) c n B,
  laws next K -> laws next K' ->
  (forall m h, In h (histories next m) -> zCDP (next m h) (K m h) (K' m h) (c m h)) ->
  (forall h, In h (histories next n) -> spent c n h <= B) ->
  zCDP (histories next n) (released K n) (released K' n) B.
Proof.
  intros A next K K' c n B good good' near enough.
  split; apply (renyi_of_many next) with c; try assumption; intros m h here; apply (near m h here).
Qed.

(* Steps that do not depend on answers: their ranges add up. *)
Theorem range_of_independent : forall {A : Type} (outcomes : nat -> list A) (P P' : nat -> A -> R) c n,
  (forall m, law (outcomes m) (P m)) -> (forall m, law (outcomes m) (P' m)) ->
  (forall m, range (outcomes m) (P m) (P' m) (c m)) ->
  range (histories (fun m _ => outcomes m) n) (released (fun m _ => P m) n) (released (fun m _ => P' m) n)
    (fold_right (fun m rest => c m + rest) 0 (rev (seq 0 n))).
Proof.
  intros A outcomes P P' c n good good' near.
  assert (laws_P : laws (fun m _ => outcomes m) (fun m _ => P m)) by (intros m h _; apply good).
  assert (laws_P' : laws (fun m _ => outcomes m) (fun m _ => P' m)) by (intros m h _; apply good').
  induction n as [|n IH]; [intros [] [] _ _; simpl; rewrite no_loss; lra|].
  intros [h y] [g z] inside inside'. apply both_in in inside, inside'. destruct inside as [here there], inside' as [here' there'].
  rewrite !(step_loss (fun m _ => outcomes m)) by assumption.
  rewrite seq_S, rev_app_distr. simpl. specialize (IH h g here here'). specialize (near n y z there there'). lra.
Qed.
