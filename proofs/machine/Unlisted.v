(* Unknown candidates: a ranking of numbered slots of which some change their names, and the delta of that. *)
From Coq Require Import Reals List Lra Lia Bool.
From Coquelicot Require Rcomplements.
From Machine Require Import Sums Laws Exponential Peeling Joined.
Import ListNotations.
Open Scope R_scope.

Section Unlisted.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Context (stop : I) (renamed : I -> bool).
Hypothesis (stays : renamed stop = false).

Notation without := (remove same).
Notation rankings := (rankings same).
Notation peeled := (peeled same).

(* No slot that was renamed comes before the stop symbol. *)
Fixpoint clean (y : list I) : bool :=
  match y with
  | [] => true
  | i :: z => if same i stop then true else if renamed i then false else clean z
  end.

Definition weight (s : I -> R) (slots : list I) : R := sum (fun i => exp (s i)) (filter renamed slots).
Definition lost (s : I -> R) (slots : list I) : R := weight s slots / (weight s slots + exp (s stop)).

Lemma weight_nonneg : forall s l, 0 <= weight s l.
Proof. intros s l. apply sum_nonneg. intros. apply Rlt_le, exp_pos. Qed.

Lemma lost_between : forall s l, 0 <= lost s l <= 1.
Proof.
  intros s l. pose proof (weight_nonneg s l). pose proof (exp_pos (s stop)). unfold lost. split.
  - apply Rcomplements.Rdiv_le_0_compat; lra.
  - apply Rcomplements.Rle_div_l; lra.
Qed.

Lemma weight_without : forall s i l, renamed i = false -> weight s (without i l) = weight s l.
Proof.
  intros s i l keeps. unfold weight. induction l as [|j l IH]; simpl; [reflexivity|].
  destruct (same i j) as [<-|other]; simpl; [now rewrite keeps|]. destruct (renamed j); simpl; now rewrite IH.
Qed.

Lemma sum_if : forall (g : I -> R) (p : I -> bool) l, sum (fun i => if p i then g i else 0) l = sum g (filter p l).
Proof. induction l as [|i l IH]; simpl; [reflexivity|]. destruct (p i); simpl; lra. Qed.

Lemma sum_single : forall (g : I -> R) j l, NoDup l -> In j l ->
  sum (fun i => if same i j then g i else 0) l = g j.
Proof.
  induction l as [|i l IH]; simpl; intros distinct inside; [easy|]. inversion distinct as [|? ? fresh distinct']; subst.
  destruct (same i j) as [->|other].
  - rewrite (sum_ext _ (fun _ => 0)), sum_const; [lra|]. intros h here. now destruct (same h j) as [->|].
  - destruct inside as [->|inside]; [easy|]. rewrite IH by assumption. lra.
Qed.

Lemma total_le : forall k l s, NoDup l -> sum (peeled l s) (rankings k l) <= 1.
Proof.
  intros k l s distinct. destruct (Nat.le_gt_cases k (length l)) as [enough|few].
  - right. now apply (peeling_is_a_law same k l s distinct).
  - cut (rankings k l = []); [intros ->; simpl; lra|]. destruct (rankings k l) as [|y rest] eqn:some; [reflexivity|exfalso].
    assert (inside : In y (rankings k l)) by (rewrite some; now left).
    destruct (ranking_of same k l y distinct inside) as (size & fresh & within).
    pose proof (NoDup_incl_length fresh within). lia.
Qed.

(* The probability that a renamed slot comes before the stop symbol among the first k places. *)
Lemma seldom : forall k l s, NoDup l -> In stop l ->
  sum (fun y => if clean y then 0 else peeled l s y) (rankings k l) <= lost s l.
Proof.
  induction k as [|k IH]; intros l s distinct here; [simpl; destruct (lost_between s l); lra|].
  set (b := lost s l). pose proof (partition_pos l (nonempty _ _ here) s) as whole.
  pose proof (weight_nonneg s l). pose proof (exp_pos (s stop)).
  simpl rankings. rewrite sum_flat_map.
  apply Rle_trans with (sum (fun i => chosen l s i * (if same i stop then 0 else if renamed i then 1 else b)) l).
  - apply sum_le. intros i inside. rewrite sum_map. simpl.
    destruct (same i stop) as [->|other]; [rewrite sum_const; lra|].
    assert (0 < chosen l s i) by (apply (proj1 (is_a_law l s (nonempty _ _ here))), inside).
    pose proof (without_distinct same i l distinct). destruct (renamed i) eqn:moved.
    + rewrite sum_scale. apply Rmult_le_compat_l; [lra|]. now apply total_le.
    + rewrite (sum_ext _ (fun y => chosen l s i * (if clean y then 0 else peeled (without i l) s y)))
        by (intros y _; destruct (clean y); ring).
      rewrite sum_scale. apply Rmult_le_compat_l; [lra|].
      replace b with (lost s (without i l)) by (unfold b, lost; now rewrite weight_without).
      apply IH; [assumption|]. now apply in_in_remove; [intros ->|].
  - right. unfold chosen, Rdiv.
    rewrite (sum_ext _ (fun i => (exp (s i) * b + (if renamed i then exp (s i) * (1 - b) else 0)
      + (if same i stop then - (exp (s i) * b) else 0)) * / partition l s)).
    2: { intros i _. destruct (same i stop) as [->|]; [rewrite stays|destruct (renamed i)]; ring. }
    rewrite sum_scale_right, !sum_plus, sum_scale_right, sum_if, sum_scale_right,
      (sum_single (fun i => - (exp (s i) * b))) by assumption.
    fold (partition l s). fold (weight s l). unfold b, lost. field. lra.
Qed.

Section Release.
Context {O : Type} (k : nat) (slots : list I) (s s' : I -> R) (r : R) (name name' : list I -> O).
Hypothesis (distinct : NoDup slots) (enough : (k <= length slots)%nat) (here : In stop slots).
Hypothesis (near : spread slots s s' r).
Hypothesis (agree : forall y, In y (rankings k slots) -> clean y = true -> name y = name' y).

Definition released (t : I -> R) (to : list I -> O) (event : O -> bool) : R :=
  sum (peeled slots t) (filter (fun y => event (to y)) (rankings k slots)).

Notation eps := (INR (Nat.min k (length slots - 1)) * r).

Lemma one_way : forall event, released s name event <= exp eps * released s' name' event + lost s slots.
Proof.
  intros event. unfold released.
  assert (law_s := peeling_is_a_law same k slots s distinct enough).
  assert (law_s' := peeling_is_a_law same k slots s' distinct enough).
  assert (each : forall f p (l : list (list I)), sum f (filter p l) = sum (fun y => if p y then f y else 0) l).
  { intros f p l. induction l as [|y l IH]; simpl; [reflexivity|]. destruct (p y); simpl; lra. }
  rewrite !each, <- sum_scale. eapply Rle_trans; [|apply Rplus_le_compat_l, (seldom k slots s distinct here)].
  rewrite <- sum_plus. apply sum_le. intros y inside.
  pose proof (proj1 law_s y inside). pose proof (proj1 law_s' y inside). pose proof (exp_pos eps).
  destruct (pure_le _ _ _ _ y law_s law_s' (peeling_pure same k slots s s' r distinct near) inside) as [_ less].
  destruct (clean y) eqn:ok.
  - rewrite <- (agree y inside ok). destruct (event (name y)); lra.
  - assert (0 <= exp eps * peeled slots s' y) by (apply Rmult_le_pos; lra).
    destruct (event (name y)), (event (name' y)); lra.
Qed.

End Release.

Lemma lost_le : forall n s l D t, (length (filter renamed l) <= n)%nat -> (0 < n)%nat ->
  (forall i, In i l -> renamed i = true -> s i <= D) -> s stop = t ->
  lost s l <= INR n * exp D / (INR n * exp D + exp t).
Proof.
  intros n s l D t few some small level. unfold lost. rewrite level.
  assert (weight s l <= INR n * exp D).
  { apply Rle_trans with (INR (length (filter renamed l)) * exp D).
    - rewrite <- sum_const. apply sum_le. intros i inside. apply filter_In in inside. now apply exp_le, small.
    - apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|]. now apply le_INR. }
  pose proof (weight_nonneg s l). pose proof (exp_pos t). pose proof (exp_pos D).
  assert (0 < INR n) by now apply lt_0_INR.
  apply Rcomplements.Rle_div_l; [lra|]. unfold Rdiv. rewrite Rmult_assoc, (Rmult_comm (/ _)), <- Rmult_assoc.
  apply Rcomplements.Rle_div_r; nra.
Qed.

(* With Gumbel noise: (min(k, K) r, delta) in both directions, delta = n e^D / (n e^D + e^t). *)
Theorem unlisted_privacy : forall {O : Type} k slots s s' r (name name' : list I -> O) n D t,
  NoDup slots -> (k <= length slots)%nat -> In stop slots -> spread slots s s' r ->
  (forall y, In y (rankings k slots) -> clean y = true -> name y = name' y) ->
  (length (filter renamed slots) <= n)%nat -> (0 < n)%nat ->
  (forall i, In i slots -> renamed i = true -> s i <= D /\ s' i <= D) -> s stop = t -> s' stop = t ->
  forall event,
    released k slots s name event <= exp (INR (Nat.min k (length slots - 1)) * r) * released k slots s' name' event
      + INR n * exp D / (INR n * exp D + exp t) /\
    released k slots s' name' event <= exp (INR (Nat.min k (length slots - 1)) * r) * released k slots s name event
      + INR n * exp D / (INR n * exp D + exp t).
Proof.
  intros O k slots s s' r name name' n D t distinct enough here near agree few some small level level' event. split.
  - pose proof (one_way k slots s s' r name name' distinct enough here near agree event).
    pose proof (lost_le n s slots D t few some (fun i inside moved => proj1 (small i inside moved)) level). lra.
  - assert (near' : spread slots s' s r) by (intros i j this that; specialize (near j i that this); lra).
    assert (agree' : forall y, In y (rankings k slots) -> clean y = true -> name' y = name y)
      by (intros y inside ok; symmetry; now apply agree).
    pose proof (one_way k slots s' s r name' name distinct enough here near' agree' event).
    pose proof (lost_le n s' slots D t few some (fun i inside moved => proj2 (small i inside moved)) level'). lra.
Qed.

End Unlisted.
