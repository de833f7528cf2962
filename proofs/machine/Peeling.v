(* Rankings by peeling with the exponential mechanism: each winner leaves the race. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Machine Require Import Sums Laws Exponential.
Import ListNotations.
Open Scope R_scope.

Section Peeling.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).

Notation without := (remove same).

(* All rankings of k out of the candidates, best first. *)
Fixpoint rankings (k : nat) (candidates : list I) : list (list I) :=
  match k with
  | O => [[]]
  | S n => flat_map (fun i => map (cons i) (rankings n (without i candidates))) candidates
  end.

(* The first place is drawn by the exponential mechanism, the others in the same way from those that are left. *)
Fixpoint peeled (candidates : list I) (s : I -> R) (y : list I) : R :=
  match y with
  | [] => 1
  | i :: z => chosen candidates s i * peeled (without i candidates) s z
  end.

Lemma without_length : forall i l, NoDup l -> In i l -> S (length (without i l)) = length l.
Proof.
  induction l as [|j l IH]; intros distinct inside; [easy|]. inversion distinct as [|? ? fresh distinct']; subst. simpl.
  destruct (same i j) as [->|other].
  - now rewrite notin_remove.
  - simpl. f_equal. apply IH; [assumption|]. now destruct inside as [->|].
Qed.

Lemma without_distinct : forall i l, NoDup l -> NoDup (without i l).
Proof.
  induction l as [|j l IH]; intros distinct; simpl; [constructor|].
  inversion distinct as [|? ? fresh distinct']; subst. destruct (same i j); [now apply IH|].
  constructor; [|now apply IH]. intros inside. apply in_remove in inside. easy.
Qed.

Lemma without_incl : forall i l, incl (without i l) l.
Proof. intros i l j inside. now apply in_remove in inside. Qed.

Lemma rankings_step : forall k l i z,
  In (i :: z) (rankings (S k) l) <-> In i l /\ In z (rankings k (without i l)).
Proof.
  intros k l i z. simpl. rewrite in_flat_map. split.
  - intros (j & inside & mapped). apply in_map_iff in mapped. destruct mapped as (w & equal & there).
    now inversion equal; subst.
  - intros [inside there]. exists i. split; [assumption|]. now apply in_map.
Qed.

Lemma rankings_shape : forall k l y, In y (rankings k l) ->
  (k = O /\ y = []) \/ exists n i z, k = S n /\ y = i :: z /\ In i l /\ In z (rankings n (without i l)).
Proof.
  intros [|n] l y inside.
  - left. now destruct inside as [<-|].
  - right. destruct y as [|i z].
    + exfalso. simpl in inside. apply in_flat_map in inside. destruct inside as (j & _ & mapped).
      apply in_map_iff in mapped. now destruct mapped as (? & ? & _).
    + apply rankings_step in inside. exists n, i, z. tauto.
Qed.

Lemma ranking_of : forall k l y, NoDup l -> In y (rankings k l) -> length y = k /\ NoDup y /\ incl y l.
Proof.
  induction k as [|k IH]; intros l y distinct inside; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; try easy.
  - repeat split; [constructor|intros ? []].
  - injection next as <-. destruct (IH _ _ (without_distinct i l distinct) there) as (size & fresh & within).
    repeat split.
    + simpl. now rewrite size.
    + constructor; [|assumption]. intros twice. apply within, in_remove in twice. easy.
    + intros j [<-|inside]; [assumption|]. now apply (without_incl i), within.
Qed.

Lemma nonempty : forall (i : I) l, In i l -> l <> [].
Proof. now intros i [|]. Qed.

Lemma peeled_pos : forall k l s y, In y (rankings k l) -> 0 < peeled l s y.
Proof.
  induction k as [|k IH]; intros l s y inside; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; simpl; try easy; [lra|].
  injection next as <-. apply Rmult_lt_0_compat; [|now apply IH].
  apply (proj1 (is_a_law l s (nonempty _ _ here))), here.
Qed.

Theorem peeling_is_a_law : forall k l s, NoDup l -> (k <= length l)%nat -> law (rankings k l) (peeled l s).
Proof.
  intros k l s distinct enough. split; [intros y; apply peeled_pos|].
  revert l distinct enough. induction k as [|k IH]; intros l distinct enough; simpl; [lra|].
  assert (some : l <> []) by (destruct l; [simpl in enough; lia|discriminate]).
  rewrite sum_flat_map, <- (proj2 (is_a_law l s some)). apply sum_ext. intros i inside.
  rewrite sum_map. simpl. rewrite sum_scale, IH; [lra|now apply without_distinct|].
  pose proof (without_length i l distinct inside). lia.
Qed.

(* The losses of the places add up. *)
Lemma peeled_loss : forall k l s s' i z, In i l -> In z (rankings k (without i l)) ->
  loss (peeled l s) (peeled l s') (i :: z) =
  loss (chosen l s) (chosen l s') i + loss (peeled (without i l) s) (peeled (without i l) s') z.
Proof.
  intros k l s s' i z here there.
  pose proof (proj1 (is_a_law l s (nonempty _ _ here)) i here).
  pose proof (proj1 (is_a_law l s' (nonempty _ _ here)) i here).
  pose proof (peeled_pos k _ s z there). pose proof (peeled_pos k _ s' z there).
  unfold loss. simpl. rewrite <- ln_mult by (apply Rdiv_lt_0_compat; assumption). f_equal. field. lra.
Qed.

Lemma spread_without : forall i l s s' r, spread l s s' r -> spread (without i l) s s' r.
Proof. intros i l s s' r near j k here there. apply near; eapply without_incl; eassumption. Qed.

Lemma single_loss : forall (i : I) s s', loss (chosen [i] s) (chosen [i] s') i = 0.
Proof.
  intros i s s'. unfold loss, chosen, partition. simpl. rewrite !Rplus_0_r. unfold Rdiv.
  rewrite !Rinv_r, Rinv_1, Rmult_1_r by (apply Rgt_not_eq, exp_pos). apply ln_1.
Qed.

Theorem peeling_pure : forall k l s s' r, NoDup l -> spread l s s' r ->
  pure (rankings k l) (peeled l s) (peeled l s') (INR (Nat.min k (length l - 1)) * r).
Proof.
  induction k as [|k IH]; intros l s s' r distinct near y inside; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; try easy.
  - unfold loss. simpl. replace (1 / 1) with 1 by field. rewrite ln_1, Rabs_R0. lra.
  - injection next as <-. rewrite (peeled_loss k) by assumption.
    pose proof (without_length i l distinct here) as shorter.
    pose proof (spread_nonneg i l s s' r here near).
    pose proof (IH _ _ _ r (without_distinct i l distinct) (spread_without i l s s' r near) z there) as rest.
    destruct (without i l) as [|j m] eqn:left_over.
    + destruct k as [|k]; [|now apply rankings_shape in there; destruct there as [(? & _)|(? & ? & ? & _ & _ & [] & _)]].
      apply rankings_shape in there. destruct there as [(_ & ->)|(? & ? & ? & ? & _)]; [|easy].
      destruct l as [|a [|b m]]; try easy. destruct here as [->|[]].
      rewrite single_loss. unfold loss. simpl. replace (1 / 1) with 1 by field. rewrite ln_1, Rplus_0_r, Rabs_R0. lra.
    + pose proof (exponential_pure l s s' r (nonempty _ _ here) near i here) as step.
      rewrite <- shorter. simpl length in *. replace (Nat.min (S k) (S (S (length m)) - 1))
        with (S (Nat.min k (S (length m) - 1))) by lia.
      rewrite S_INR. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

End Peeling.
