(* Rankings by peeling: zCDP of min(k, d - 1) times the exact price of a range r. *)
From Coq Require Import Reals List Lra Lia.
From Machine Require Import Sums Laws Exponential Peeling Concentrated SinhGrowth RangeConcentrated RangeExact.
Import ListNotations.
Open Scope R_scope.

Section Peeling.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Notation rankings := (rankings same).
Notation peeled := (peeled same).
Notation without := (remove same).

Lemma one_step : forall l (s s' : I -> R) r, l <> [] -> 0 < r -> spread l s s' r ->
  renyi l (chosen l s) (chosen l s') (price r).
Proof.
  intros l s s' r some positive near. apply (exact_moment l); [now apply is_a_law|now apply is_a_law|assumption|].
  exact (exponential_range l s s' r some near).
Qed.

Lemma alone : forall (i : I) s s', renyi [i] (chosen [i] s) (chosen [i] s') 0.
Proof.
  intros i s s' alpha _. simpl. rewrite single_loss, !Rmult_0_r, exp_0.
  unfold chosen, partition. simpl. pose proof (exp_pos (s i)). apply Req_le. field. lra.
Qed.

Lemma peeling_renyi : forall k l s s' r, NoDup l -> (k <= length l)%nat -> 0 < r -> spread l s s' r ->
  renyi (rankings k l) (peeled l s) (peeled l s') (INR (Nat.min k (length l - 1)) * price r).
Proof.
  induction k as [|k IH]; intros l s s' r distinct enough positive near alpha order.
  - simpl. unfold loss. simpl. replace (1 / 1) with 1 by field. rewrite ln_1, Rmult_0_l, !Rmult_0_r, exp_0. lra.
  - assert (some : l <> []) by (destruct l; [simpl in enough; lia|discriminate]).
    set (m := Nat.min k (length l - 1 - 1)). set (first := INR (Nat.min 1 (length l - 1)) * price r).
    assert (count : INR (Nat.min (S k) (length l - 1)) * price r = first + INR m * price r).
    { unfold first. rewrite <- Rmult_plus_distr_r, <- plus_INR. f_equal. f_equal. unfold m. lia. }
    rewrite count. simpl rankings. rewrite sum_flat_map.
    apply Rle_trans with (sum (fun i => chosen l s i * exp (alpha * loss (chosen l s) (chosen l s') i) *
      exp (alpha * (alpha - 1) * (INR m * price r))) l).
    + apply sum_le. intros i here. rewrite sum_map.
      rewrite (sum_ext _ (fun z => chosen l s i * exp (alpha * loss (chosen l s) (chosen l s') i) *
        (peeled (without i l) s z * exp (alpha * loss (peeled (without i l) s) (peeled (without i l) s') z)))).
      2: { intros z there. rewrite (peeled_loss same k) by assumption. rewrite Rmult_plus_distr_l, exp_plus. simpl. ring. }
      rewrite sum_scale. pose proof (without_length same i l distinct here) as shorter. apply Rmult_le_compat_l.
      * apply Rmult_le_pos; [apply Rlt_le, (proj1 (is_a_law l s some) i here)|apply Rlt_le, exp_pos].
      * replace m with (Nat.min k (length (without i l) - 1)) by (unfold m; f_equal; lia).
        apply IH; [now apply without_distinct|lia|assumption|now apply spread_without|assumption].
    + rewrite sum_scale_right, Rmult_plus_distr_l, exp_plus. apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|].
      unfold first. destruct l as [|i [|j l]]; [easy| |].
      * simpl Nat.min. rewrite Rmult_0_l. now apply alone.
      * replace (Nat.min 1 (length (i :: j :: l) - 1)) with 1%nat by (simpl; lia). rewrite Rmult_1_l.
        now apply one_step.
Qed.

Theorem peeling_zCDP : forall k l s s' r, NoDup l -> (k <= length l)%nat -> 0 < r -> spread l s s' r ->
  zCDP (rankings k l) (peeled l s) (peeled l s') (INR (Nat.min k (length l - 1)) * price r).
Proof.
  intros k l s s' r distinct enough positive near. split; apply peeling_renyi; try assumption.
  intros i j here there. specialize (near j i there here). lra.
Qed.

End Peeling.
