(* The k best of finitely many candidates in a strict order, their ranking, and races in parts. *)
From Coq Require Import Reals List Lia Permutation Arith Sorted.
Import ListNotations.

Section Best.
Context {I : Type} (before : I -> I -> Prop).

(* w holds the k best of l, or all where there are fewer: each is before everybody who is left out. *)
Definition best (k : nat) (l w : list I) : Prop :=
  NoDup w /\ incl w l /\ length w = Nat.min k (length l) /\
  forall i j, In i w -> In j l -> ~ In j w -> before i j.

(* In addition, they are listed best first. *)
Definition ranking (k : nat) (l y : list I) : Prop := best k l y /\ StronglySorted before y.

(* A race in parts: a leaf finds its own best; a merge keeps the best of what the parts below it have kept. *)
Inductive part (k : nat) : list I -> list I -> Prop :=
  | leaf : forall l w, best k l w -> part k l w
  | merged : forall ls ws w, Forall2 (part k) ls ws -> best k (concat ws) w -> part k (concat ls) w.

Context (same : forall i j : I, {i = j} + {i <> j}).
Hypothesis (strict : forall i, ~ before i i) (chain : forall i j h, before i j -> before j h -> before i h).

Lemma as_many : forall u v : list I, NoDup u -> length v <= length u -> incl u v -> incl v u.
Proof. intros. now apply NoDup_length_incl. Qed.

Lemma all_or_someone : forall u v : list I, incl u v \/ exists i, In i u /\ ~ In i v.
Proof.
  induction u as [|i u IH]; intros v; [left; intros ? []|].
  destruct (in_dec same i v) as [here|]; [|right; exists i; simpl; auto].
  destruct (IH v) as [all|(j & inside & outside)]; [left|right; exists j; simpl; auto].
  intros j [<-|inside]; auto.
Qed.

Theorem the_best_are_unique : forall k l w w', best k l w -> best k l w' -> Permutation w w'.
Proof.
  assert (one_way : forall k l w w', best k l w -> best k l w' -> incl w w').
  { intros k l w w' (fresh & within & size & first) (fresh' & within' & size' & first').
    destruct (all_or_someone w w') as [|(i & inside & outside)]; [assumption|exfalso].
    destruct (all_or_someone w' w) as [all|(j & inside' & outside')].
    - apply outside. apply (as_many w' w); [assumption|lia|assumption|assumption].
    - apply (strict i). apply chain with j; [apply first|apply first']; auto. }
  intros k l w w' one two. apply NoDup_Permutation; [apply one|apply two|].
  intros i. split; [apply (one_way k l w w' one two)|apply (one_way k l w' w two one)].
Qed.

Lemma sorted_unique : forall y z, StronglySorted before y -> StronglySorted before z -> Permutation y z -> y = z.
Proof.
  induction y as [|i y IH]; intros z order order' all; [now apply Permutation_nil in all|].
  destruct z as [|j z]; [now apply Permutation_sym, Permutation_nil in all|].
  inversion order as [|? ? rest ahead]; inversion order' as [|? ? rest' ahead']; subst.
  rewrite Forall_forall in ahead, ahead'.
  assert (equal : i = j).
  { destruct (same i j) as [|other]; [assumption|exfalso].
    assert (In i (j :: z)) as [|here] by (apply (Permutation_in i all); now left); [congruence|].
    assert (In j (i :: y)) as [|there] by (apply (Permutation_in j (Permutation_sym all)); now left); [congruence|].
    apply (strict i). apply chain with j; auto. }
  subst j. f_equal. apply IH; [assumption|assumption|]. now apply Permutation_cons_inv in all.
Qed.

Theorem the_ranking_is_unique : forall k l y y', ranking k l y -> ranking k l y' -> y = y'.
Proof. intros k l y y' [one order] [two order']. eauto using sorted_unique, the_best_are_unique. Qed.

Lemma of_permuted : forall k l l' w, Permutation l l' -> best k l w -> best k l' w.
Proof.
  intros k l l' w all (fresh & within & size & first). repeat split; try assumption.
  - intros i here. now apply (Permutation_in i all), within.
  - now rewrite <- (Permutation_length all).
  - intros i j here there. apply first; [assumption|]. now apply (Permutation_in j (Permutation_sym all)).
Qed.

(* Those of a part who are kept are few just if all are kept. *)
Lemma kept_all_or_k : forall k l w j, NoDup l -> best k l w -> In j l -> ~ In j w -> length w = k.
Proof.
  intros k l w j distinct (fresh & within & size & _) inside outside.
  destruct (Nat.le_gt_cases k (length l)); [lia|exfalso]. apply outside.
  apply (as_many w l); [assumption|lia|assumption|assumption].
Qed.

Lemma kept_within : forall k ls ws, Forall2 (best k) ls ws -> incl (concat ws) (concat ls).
Proof.
  induction 1 as [|l w ls ws (_ & within & _) _ IH]; simpl; [intros ? []|].
  intros i inside. apply in_app_or in inside. apply in_or_app. destruct inside; auto.
Qed.

Lemma kept_sizes : forall k ls ws, Forall2 (best k) ls ws ->
  Nat.min k (length (concat ws)) = Nat.min k (length (concat ls)).
Proof. induction 1 as [|l w ls ws (_ & _ & size & _) _ IH]; simpl; [reflexivity|]. rewrite !app_length. lia. Qed.

Lemma distinct_parts : forall u v : list I, NoDup (u ++ v) -> NoDup u /\ NoDup v.
Proof.
  induction u as [|i u IH]; simpl; intros v distinct; [split; [constructor|assumption]|].
  inversion distinct as [|? ? fresh rest]; subst. destruct (IH v rest). split; [|assumption].
  constructor; [|assumption]. intros here. apply fresh, in_or_app. now left.
Qed.

Lemma left_out_of_his_part : forall k ls ws j, NoDup (concat ls) -> Forall2 (best k) ls ws ->
  In j (concat ls) -> ~ In j (concat ws) ->
  exists v, incl v (concat ws) /\ NoDup v /\ length v = k /\ forall h, In h v -> before h j.
Proof.
  intros k ls ws j distinct parts. induction parts as [|l w ls ws one parts IH]; simpl; intros inside outside; [easy|].
  assert (out : ~ In j w /\ ~ In j (concat ws)) by (split; intros here; apply outside, in_or_app; auto).
  simpl in distinct. apply in_app_or in inside. destruct inside as [inside|inside].
  - exists w. repeat split; [intros h here; apply in_or_app; auto|apply one| |].
    + apply (kept_all_or_k k l w j); try tauto. now apply distinct_parts in distinct.
    + intros h here. apply one; tauto.
  - destruct IH as (v & within & rest); [now apply distinct_parts in distinct|assumption|tauto|].
    exists v. split; [intros h here; apply in_or_app; auto|assumption].
Qed.

Theorem best_of_the_best : forall k ls ws w, NoDup (concat ls) -> Forall2 (best k) ls ws ->
  best k (concat ws) w -> best k (concat ls) w.
Proof.
  intros k ls ws w distinct parts (fresh & within & size & first). repeat split; [assumption| | |].
  - intros i here. now apply (kept_within k ls ws parts), within.
  - now rewrite <- (kept_sizes k ls ws).
  - intros i j here inside outside. destruct (in_dec same j (concat ws)) as [kept|dropped]; [auto|].
    destruct (left_out_of_his_part k ls ws j) as (v & among & fresh' & many & ahead); try assumption.
    destruct (all_or_someone v w) as [all|(h & inside' & outside')].
    + apply ahead. apply (as_many v w); [assumption|lia|assumption|assumption].
    + apply chain with h; auto.
Qed.

Lemma few_are_all : forall k l, NoDup l -> length l <= k -> best k l l.
Proof. intros k l distinct few. repeat split; [assumption|now intros ?|lia|easy]. Qed.

Lemma kept_once : forall k ls ws, NoDup (concat ls) -> Forall2 (best k) ls ws -> NoDup (concat ws).
Proof.
  intros k ls ws distinct parts. induction parts as [|l w ls ws one parts IH]; simpl in *; [constructor|].
  pose proof (distinct_parts _ _ distinct) as [_ rest]. specialize (IH rest). pose proof (kept_within k ls ws parts) as within.
  destruct one as (fresh & inside & _ & _). clear parts rest.
  assert (only : forall i, In i w -> ~ In i (concat ws)).
  { intros i here there. apply inside in here. apply within in there. clear - distinct here there.
    induction l as [|j l step]; [easy|]. simpl in distinct. inversion distinct as [|? ? absent distinct']; subst.
    destruct here as [->|here]; [apply absent, in_or_app; now right|now apply step]. }
  clear inside. induction w as [|i w step]; [assumption|]. simpl. inversion fresh as [|? ? absent fresh']; subst. constructor.
  - intros back. apply in_app_or in back. destruct back as [back|back]; [easy|]. now apply (only i (or_introl eq_refl)).
  - apply step; [assumption|]. intros j here. apply only. now right.
Qed.

Theorem few_of_the_best : forall k ls ws, NoDup (concat ls) -> Forall2 (best k) ls ws ->
  length (concat ws) <= k -> best k (concat ls) (concat ws).
Proof.
  intros k ls ws distinct parts few. apply best_of_the_best with ws; [assumption|assumption|].
  apply few_are_all; [now apply (kept_once k ls)|assumption].
Qed.

(* However the candidates are shared out and merged, what is kept are the best of all. *)
Theorem finalists : forall k l w, NoDup l -> part k l w -> best k l w.
Proof.
  intros k. fix IH 4. intros l w distinct race. destruct race as [l w one|ls ws w parts one]; [assumption|].
  apply best_of_the_best with ws; [assumption| |assumption]. clear one.
  induction parts as [|l u ls ws here parts step]; constructor.
  - apply IH; [|assumption]. simpl in distinct. now apply distinct_parts in distinct.
  - apply step. simpl in distinct. now apply distinct_parts in distinct.
Qed.

Theorem any_tree_has_these_winners : forall k l l' w w', NoDup l -> Permutation l l' ->
  part k l w -> part k l' w' -> Permutation w w'.
Proof.
  intros k l l' w w' distinct all race race'. apply (the_best_are_unique k l); [now apply finalists|].
  apply of_permuted with l'; [now apply Permutation_sym|]. apply finalists; [|assumption].
  now apply (Permutation_NoDup all).
Qed.

End Best.

(* Scores without noise: ties go to the lower label. *)
Section Noiseless.
Context {I L : Type} (same : forall i j : I, {i = j} + {i <> j}) (score : I -> R) (label : I -> L) (lower : L -> L -> Prop).
Hypothesis (lower_strict : forall a, ~ lower a a) (lower_chain : forall a b c, lower a b -> lower b c -> lower a c).

Definition precedes (i j : I) : Prop := (score j < score i)%R \/ score i = score j /\ lower (label i) (label j).

Lemma precedes_strict : forall i, ~ precedes i i.
Proof. intros i [less|[_ less]]; [now apply Rlt_irrefl in less|now apply lower_strict in less]. Qed.

Lemma precedes_chain : forall i j h, precedes i j -> precedes j h -> precedes i h.
Proof.
  unfold precedes. intros i j h [less|[equal less]] [less'|[equal' less']].
  - left. now apply Rlt_trans with (score j).
  - left. now rewrite <- equal'.
  - left. now rewrite equal.
  - right. split; [now rewrite equal|now apply lower_chain with (label j)].
Qed.

Theorem finalists_without_noise : forall k l w, NoDup l -> part precedes k l w -> best precedes k l w.
Proof. intros k l w. apply finalists; [exact same|exact precedes_chain]. Qed.

End Noiseless.
