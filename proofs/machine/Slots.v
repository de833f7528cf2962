(* Unknown candidates: how the slots of one table are paired with those of a neighbour. *)
From Coq Require Import Reals List Lra Lia.
From Machine Require Import PeelingRange.
Import ListNotations.
Open Scope R_scope.

Section Slots.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).

(* A public order decides between keys, and dummies, of one count. *)
Context (tie : R -> I -> I -> Prop).
Hypothesis (tie_asymmetric : forall v i j, tie v i j -> ~ tie v j i).

Definition before (h : I -> R) (i j : I) : Prop := h j < h i \/ (h i = h j /\ tie (h i) i j).

(* The K keys that come first, and the count of the next one. *)
Definition slots (h : I -> R) (K : nat) (C : list I) : Prop :=
  NoDup C /\ length C = K /\ forall i j, In i C -> ~ In j C -> before h i j.
Definition base (h : I -> R) (C : list I) (b : R) : Prop :=
  (exists z, ~ In z C /\ h z = b) /\ forall j, ~ In j C -> h j <= b.

Lemma before_asymmetric : forall h i j, before h i j -> ~ before h j i.
Proof.
  intros h i j [more|[equal tied]] [more'|[equal' tied']]; try lra. rewrite equal in tied.
  exact (tie_asymmetric (h j) i j tied tied').
Qed.

Lemma before_kept : forall h h' i j, before h i j -> h i <= h' i -> h' j <= h j -> before h' i j.
Proof.
  intros h h' i j [more|[equal tied]] up down; [left; lra|].
  destruct (Rle_lt_or_eq_dec (h' j) (h' i)) as [less|level]; [lra|now left|right].
  split; [now symmetry|]. replace (h' i) with (h i) by lra. assumption.
Qed.

Lemma base_le : forall h K C b i, slots h K C -> base h C b -> In i C -> b <= h i.
Proof.
  intros h K C b i (_ & _ & first) ((z & absent & <-) & _) here. destruct (first i z here absent) as [|[]]; lra.
Qed.

Section Neighbours.
Context (h h' : I -> R) (K : nat) (C C' : list I) (b b' p q : R).
Hypothesis (slots_h : slots h K C) (slots_h' : slots h' K C') (base_h : base h C b) (base_h' : base h' C' b').
Hypothesis (near : forall i, - q <= h' i - h i <= p).

(* K + 1 keys cannot all be among K slots. *)
Lemma too_many : forall (g : I -> R) D v z E, slots g K D -> base g D v -> NoDup E -> length E = K -> ~ In z E ->
  (forall i, In i (z :: E) -> v < g i) -> False.
Proof.
  intros g D v z E (_ & size & _) (_ & rest) distinct count absent above.
  assert (within : incl (z :: E) D).
  { intros i here. specialize (above i here). destruct (in_dec same i D) as [|out]; [assumption|].
    specialize (rest i out). lra. }
  assert (distinct' : NoDup (z :: E)) by now constructor.
  pose proof (NoDup_incl_length distinct' within). simpl in *. lia.
Qed.

Theorem base_moves : - q <= b' - b <= p.
Proof.
  split; apply Rnot_lt_le; intros far.
  - pose proof base_h as ((z & absent & level) & _). pose proof slots_h as (distinct & size & _).
    apply (too_many h' C' b' z C slots_h' base_h' distinct size absent). intros i [<-|here].
    + specialize (near z). lra.
    + pose proof (base_le h K C b i slots_h base_h here). specialize (near i). lra.
  - pose proof base_h' as ((z & absent & level) & _). pose proof slots_h' as (distinct & size & _).
    apply (too_many h C b z C' slots_h base_h distinct size absent). intros i [<-|here].
    + specialize (near z). lra.
    + pose proof (base_le h' K C' b' i slots_h' base_h' here). specialize (near i). lra.
Qed.

(* A key that stays keeps its slot; its score moves by an element of one interval of length p + q. *)
Theorem kept_slot : forall i, (h' i - b') - (h i - b) <= p - (b' - b) /\ - q - (b' - b) <= (h' i - b') - (h i - b).
Proof. intros i. specialize (near i). lra. Qed.

(* A slot that is renamed: its key leaves, or comes, with a score of at most p + q. *)
Theorem leaving_slot : forall i, In i C -> ~ In i C' -> 0 <= h i - b <= q + (b' - b) /\ h i - b <= p + q.
Proof.
  intros i here gone. pose proof (base_le h K C b i slots_h base_h here).
  pose proof (proj2 base_h' i gone). pose proof base_moves. specialize (near i). lra.
Qed.

Theorem coming_slot : forall j, ~ In j C -> In j C' -> 0 <= h' j - b' <= p - (b' - b) /\ h' j - b' <= p + q.
Proof.
  intros j absent there. pose proof (base_le h' K C' b' j slots_h' base_h' there).
  pose proof (proj2 base_h j absent). pose proof base_moves. specialize (near j). lra.
Qed.

Theorem renamed_slot : forall i j, In i C -> ~ In i C' -> ~ In j C -> In j C' ->
  - q - (b' - b) <= (h' j - b') - (h i - b) <= p - (b' - b).
Proof.
  intros i j here gone absent there. pose proof (leaving_slot i here gone). pose proof (coming_slot j absent there). lra.
Qed.

(* How many slots are renamed: as many as there are keys that rise, or keys that fall, at most. *)
Notation gone := (filter (fun i => negb (member same C' i)) C).
Notation come := (filter (fun i => negb (member same C i)) C').

Lemma out_of : forall D E i, In i (filter (fun i => negb (member same E i)) D) <-> In i D /\ ~ In i E.
Proof.
  intros D E i. rewrite filter_In. pose proof (member_true same E i) as is_member.
  destruct (member same E i); simpl; intuition congruence.
Qed.

Lemma as_many : length gone = length come.
Proof.
  pose proof slots_h as (distinct & size & _); pose proof slots_h' as (distinct' & size' & _).
  assert (counts : forall (p : I -> bool) l, length l = (length (filter p l) + length (filter (fun i => negb (p i)) l))%nat).
  { intros f l. induction l as [|i l IH]; simpl; [reflexivity|]. destruct (f i); simpl; lia. }
  rewrite (counts (member same C') C) in size. rewrite (counts (member same C) C') in size'.
  assert (length (filter (member same C') C) = length (filter (member same C) C')).
  { apply Permutation.Permutation_length, Permutation.NoDup_Permutation; try now apply NoDup_filter.
    intros i. rewrite !filter_In, !member_true. tauto. }
  lia.
Qed.

Theorem renamed_slots : forall rising falling : list I,
  (forall i, h i < h' i -> In i rising) -> (forall i, h' i < h i -> In i falling) ->
  (length gone <= Nat.min K (Nat.max (length rising) (length falling)))%nat.
Proof.
  intros rising falling up down. pose proof slots_h as (distinct & size & first); pose proof slots_h' as (distinct' & size' & first').
  apply Nat.min_glb.
  - rewrite <- size. apply NoDup_incl_length; [now apply NoDup_filter|]. intros i here. now apply out_of in here.
  - assert (moves : forall i j, In i gone -> In j come -> h' i < h i \/ h j < h' j).
    { intros i j here there. apply out_of in here, there. destruct here as [here left_out], there as [there absent].
      destruct (Rlt_or_le (h' i) (h i)) as [|kept]; [now left|]. destruct (Rlt_or_le (h j) (h' j)) as [|kept']; [now right|].
      exfalso. apply (before_asymmetric h' i j); [|now apply first'].
      apply (before_kept h); auto. }
    destruct (Exists_dec (fun j => h' j <= h j) come (fun j => Rle_dec (h' j) (h j))) as [found|none].
    + apply Exists_exists in found. destruct found as (j & there & still).
      transitivity (length falling); [|lia]. apply NoDup_incl_length; [now apply NoDup_filter|].
      intros i here. apply down. destruct (moves i j here there); lra.
    + transitivity (length rising); [|lia]. rewrite as_many. apply NoDup_incl_length; [now apply NoDup_filter|].
      intros j there. apply up. apply Rnot_le_lt. intros still. apply none, Exists_exists. now exists j.
Qed.

End Neighbours.
End Slots.
