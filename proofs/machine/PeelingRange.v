(* The range of a ranking by peeling. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Machine Require Import Sums Laws Exponential Peeling.
Import ListNotations.
Open Scope R_scope.

Section Range.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).

Notation without := (remove same).
Notation rankings := (rankings same).
Notation peeled := (peeled same).

(* What the normalising sums of all places grow by together. *)
Fixpoint growths (l : list I) (s s' : I -> R) (y : list I) : R :=
  match y with
  | [] => 0
  | i :: z => growth l s s' + growths (without i l) s s' z
  end.

Lemma loss_of_ranking : forall k l s s' y, In y (rankings k l) ->
  loss (peeled l s) (peeled l s') y = sum (fun i => s' i - s i) y - growths l s s' y.
Proof.
  induction k as [|k IH]; intros l s s' y inside; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; try easy.
  - unfold loss. simpl. replace (1 / 1) with 1 by field. rewrite ln_1. lra.
  - injection next as <-. rewrite (peeled_loss same k) by assumption. rewrite (IH _ _ _ _ there).
    rewrite (loss_of_choice l s s' (nonempty _ _ here)). simpl. lra.
Qed.

Lemma growths_bounds : forall k l s s' c r y, In y (rankings k l) ->
  (forall i, In i l -> c <= s' i - s i <= c + r) ->
  INR k * c <= growths l s s' y <= INR k * (c + r).
Proof.
  induction k as [|k IH]; intros l s s' c r y inside between; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; try easy.
  - simpl. lra.
  - injection next as <-. rewrite S_INR. simpl growths.
    destruct (IH _ s s' c r _ there) as [low high].
    { intros j inside. now apply between, (without_incl same i). }
    assert (c <= growth l s s').
    { apply growth_ge; [now apply (nonempty i)|]. intros j inside. now destruct (between j inside). }
    assert (growth l s s' <= c + r).
    { apply growth_le; [now apply (nonempty i)|]. intros j inside. now destruct (between j inside). }
    lra.
Qed.

Definition member (y : list I) (i : I) : bool := if in_dec same i y then true else false.

Lemma member_true : forall y i, member y i = true <-> In i y.
Proof. intros y i. unfold member. now destruct (in_dec same i y). Qed.

Lemma sum_split : forall (f : I -> R) (p : I -> bool) l,
  sum f l = sum f (filter p l) + sum f (filter (fun i => negb (p i)) l).
Proof. induction l as [|i l IH]; simpl; [lra|]. destruct (p i); simpl; lra. Qed.

Lemma distinct_app : forall y z : list I, NoDup y -> NoDup z -> (forall i, In i y -> ~ In i z) -> NoDup (y ++ z).
Proof.
  induction y as [|i y IH]; simpl; intros z distinct distinct_z apart; [assumption|].
  inversion distinct as [|? ? fresh distinct']; subst. constructor; [|apply IH; auto].
  intros inside. apply in_app_or in inside. destruct inside as [inside|inside]; [easy|].
  now apply (apart i (or_introl eq_refl)).
Qed.

(* Candidates that two rankings share cancel. *)
Lemma difference : forall (f : I -> R) r k l y z, 0 <= r ->
  NoDup y -> NoDup z -> incl y l -> incl z l -> length y = k -> length z = k ->
  (forall i, In i l -> 0 <= f i <= r) ->
  sum f y - sum f z <= INR (Nat.min k (length l - k)) * r.
Proof.
  intros f r k l y z nonneg distinct_y distinct_z within_y within_z size_y size_z between.
  rewrite (sum_split f (member z) y), (sum_split f (member y) z).
  rewrite (sum_permutation f (filter (member z) y) (filter (member y) z)).
  2: { apply NoDup_Permutation; try (now apply NoDup_filter). intros i. rewrite !filter_In, !member_true. tauto. }
  set (extra := filter (fun i => negb (member z i)) y). set (lost := filter (fun i => negb (member y i)) z).
  assert (distinct_extra : NoDup extra) by now apply NoDup_filter.
  assert (0 <= sum f lost).
  { apply sum_nonneg. intros i inside. apply filter_In in inside. now apply between, within_z. }
  assert (few : (length extra <= Nat.min k (length l - k))%nat).
  { apply Nat.min_glb.
    - rewrite <- size_y. apply NoDup_incl_length; [assumption|]. intros i inside. now apply filter_In in inside.
    - cut (length (extra ++ z) <= length l)%nat; [rewrite app_length; lia|]. apply NoDup_incl_length.
      + apply distinct_app; try assumption. intros i inside there. apply filter_In in inside.
        destruct inside as [_ outside]. apply member_true in there. now rewrite there in outside.
      + intros i inside. apply in_app_or in inside. destruct inside as [inside|inside]; [|now apply within_z].
        apply filter_In in inside. now apply within_y. }
  assert (sum f extra <= INR (length extra) * r).
  { rewrite <- sum_const. apply sum_le. intros i inside. apply filter_In in inside. now apply between, within_y. }
  apply le_INR in few. nra.
Qed.

Lemma shifted : forall (f : I -> R) c y, sum (fun i => f i - c) y = sum f y - INR (length y) * c.
Proof. intros f c y. now rewrite sum_minus, sum_const. Qed.

Theorem peeling_range : forall k l s s' r, NoDup l -> (1 <= k <= length l)%nat -> spread l s s' r ->
  range (rankings k l) (peeled l s) (peeled l s') (INR (Nat.min (2 * k) (length l) - 1) * r).
Proof.
  intros k l s s' r distinct [least most] near y z inside there.
  assert (some : l <> []) by (destruct l; [simpl in most; lia|discriminate]).
  destruct (all_within l s s' r some near) as (c & between).
  assert (0 <= r) by (destruct l as [|i m]; [easy|]; specialize (between i (or_introl eq_refl)); lra).
  rewrite (loss_of_ranking k _ _ _ _ inside), (loss_of_ranking k _ _ _ _ there).
  destruct (ranking_of same k l y distinct inside) as (size_y & fresh_y & within_y).
  destruct (ranking_of same k l z distinct there) as (size_z & fresh_z & within_z).
  pose proof (difference (fun i => (s' i - s i) - c) r k l y z ltac:(assumption) fresh_y fresh_z within_y within_z size_y size_z) as gap.
  rewrite !shifted, size_y, size_z in gap. specialize (gap ltac:(intros i here; specialize (between i here); lra)).
  apply rankings_shape in inside, there.
  destruct inside as [(zero & _)|(n & i & y' & -> & -> & here & tail)]; [lia|].
  destruct there as [(zero & _)|(n' & j & z' & next & -> & here' & tail')]; [lia|]. injection next as <-.
  assert (forall h, In h l -> forall g, In g (without h l) -> c <= s' g - s g <= c + r) as inner.
  { intros h _ g left_over. apply between. now apply (without_incl same h). }
  destruct (growths_bounds n _ s s' c r _ tail (inner i here)) as [low high].
  destruct (growths_bounds n _ s s' c r _ tail' (inner j here')) as [low' high'].
  replace (Nat.min (2 * S n) (length l) - 1)%nat with (Nat.min (S n) (length l - S n) + n)%nat by lia.
  rewrite plus_INR. simpl growths. lra.
Qed.

End Range.
