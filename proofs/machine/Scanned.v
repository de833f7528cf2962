(* One pass that keeps whoever may still win: candidates arrive or are skipped, and those below the threshold are dropped. *)
From Coq Require Import Reals List Lia Lra.
From Coquelicot Require Import Rbar.
From Machine Require Import Best Boundaries.
Import ListNotations.
Open Scope R_scope.

Section Scanned.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (Y : I -> R) (k : nat).

(* At least k of a list are as the property says. *)
Definition at_least_k (property : I -> Prop) (l : list I) : Prop :=
  exists K, NoDup K /\ length K = k /\ incl K l /\ forall j, In j K -> property j.

Definition beaten (l : list I) (i : I) : Prop := at_least_k (fun j => beats Y j i) l.

Definition stays (upper : I -> Rbar) (T : Rbar) (j : I) : bool := if Rbar_le_dec T (upper j) then true else false.

(* The candidates kept so far, before and now; those given so far; the reference rho; the threshold T over it. *)
Inductive scanned : list (list I) -> list I -> R -> Rbar -> list I -> Prop :=
  | new : forall rho, scanned [] [] rho m_infty []
  | arrived : forall past given rho T kept i, scanned past given rho T kept -> ~ In i given ->
      scanned (kept :: past) (i :: given) rho T (i :: kept)
  | below_the_threshold : forall past given rho T kept i, scanned past given rho T kept ->
      Rbar_lt (Y i - rho) T -> scanned past (i :: given) rho T kept
  | beaten_once : forall past given rho T kept i then_, scanned past given rho T kept ->
      In then_ (kept :: past) -> beaten then_ i -> scanned past (i :: given) rho T kept
  | raised : forall past given rho T kept lower T', scanned past given rho T kept ->
      bounded Y lower (fun _ => p_infty) rho kept -> at_least_k (fun j => Rbar_le T' (lower j)) kept ->
      scanned past given rho T' kept
  | dropped : forall past given rho T kept upper, scanned past given rho T kept -> T <> m_infty ->
      bounded Y (fun _ => m_infty) upper rho kept ->
      scanned (kept :: past) given rho T (filter (stays upper T) kept)
  | new_reference : forall past given rho T kept rho', scanned past given rho T kept ->
      scanned past given rho' m_infty kept.

Lemma at_least_k_of_more : forall (property property' : I -> Prop) l l', (forall j, property j -> property' j) -> incl l l' ->
  at_least_k property l -> at_least_k property' l'.
Proof.
  intros property property' l l' weaker more (K & distinct & size & within & good). exists K.
  repeat split; auto. intros j here. auto.
Qed.

Definition over (rho : R) (T : Rbar) (l : list I) : Prop := T = m_infty \/ at_least_k (fun j => Rbar_le T (Y j - rho)) l.

(* Whoever is kept at the threshold takes the place of those who are dropped. *)
Lemma still_over : forall rho T upper l, over rho T l -> T <> m_infty -> bounded Y (fun _ => m_infty) upper rho l ->
  at_least_k (fun j => Rbar_le T (Y j - rho)) (filter (stays upper T) l).
Proof.
  intros rho T upper l [none|(K & distinct & size & within & good)] some known; [easy|].
  exists K. repeat split; auto. intros j here. apply filter_In. split; [now apply within|].
  unfold stays. destruct (Rbar_le_dec T (upper j)) as [|low]; [reflexivity|exfalso]. apply low.
  apply Rbar_le_trans with (Y j - rho); [now apply good|apply known, within, here].
Qed.

Lemma below_is_beaten : forall rho T l i, at_least_k (fun j => Rbar_le T (Y j - rho)) l -> Rbar_lt (Y i - rho) T -> beaten l i.
Proof.
  intros rho T l i many low. apply (at_least_k_of_more (fun j => Rbar_le T (Y j - rho)) _ l); [|now intros ?|assumption].
  intros j high. assert (less : Rbar_lt (Y i - rho) (Y j - rho)) by now apply Rbar_lt_le_trans with T.
  simpl in less. unfold beats. lra.
Qed.

Lemma still_beaten : forall rho T upper l i, over rho T l -> T <> m_infty -> bounded Y (fun _ => m_infty) upper rho l ->
  beaten l i -> beaten (filter (stays upper T) l) i.
Proof.
  intros rho T upper l i high some known (K & distinct & size & within & good).
  pose proof (still_over rho T upper l high some known) as many.
  destruct (all_or_someone same K (filter (stays upper T) l)) as [all|(j & here & gone)].
  - exists K. repeat split; auto.
  - apply (at_least_k_of_more (fun h => Rbar_le T (Y h - rho)) _ (filter (stays upper T) l)); [|now intros ?|assumption].
    intros h level. assert (low : Rbar_lt (Y j - rho) T).
    { apply Rbar_le_lt_trans with (upper j); [apply known, within, here|]. apply Rbar_not_le_lt. intros stay. apply gone.
      apply filter_In. split; [now apply within|]. unfold stays. now destruct (Rbar_le_dec T (upper j)). }
    assert (less : Rbar_lt (Y j - rho) (Y h - rho)) by now apply Rbar_lt_le_trans with T.
    specialize (good j here). unfold beats in *. simpl in less. lra.
Qed.

(* The invariant. *)
Theorem kept_are_enough : forall past given rho T kept, scanned past given rho T kept ->
  over rho T kept /\ incl kept given /\ NoDup kept /\
  (forall i, In i given -> In i kept \/ beaten kept i) /\
  (forall then_ i, In then_ (kept :: past) -> beaten then_ i -> beaten kept i).
Proof.
  intros past given rho T kept race.
  induction race as [rho|past given rho T kept i race (high & within & distinct & rest & before) fresh
    |past given rho T kept i race (high & within & distinct & rest & before) low
    |past given rho T kept i then_ race (high & within & distinct & rest & before) moment lost
    |past given rho T kept lower T' race (high & within & distinct & rest & before) known many
    |past given rho T kept upper race (high & within & distinct & rest & before) some known
    |past given rho T kept rho' race (high & within & distinct & rest & before)].
  - repeat split; [now left|now intros ?|constructor|easy|]. intros then_ i [<-|[]]. auto.
  - assert (more : incl kept (i :: kept)) by now apply incl_tl, incl_refl. repeat split.
    + destruct high as [none|many]; [now left|right]. now apply (at_least_k_of_more _ _ kept _ (fun j good => good)).
    + intros j [<-|here]; [now left|right; now apply within].
    + constructor; [|assumption]. intros here. now apply fresh, within.
    + intros j [<-|here]; [left; now left|]. destruct (rest j here) as [|lost]; [left; now right|right].
      now apply (at_least_k_of_more _ _ kept _ (fun h good => good)).
    + intros then_ j [<-|moment] lost; [assumption|].
      apply (at_least_k_of_more _ _ kept _ (fun h good => good)); [assumption|]. now apply (before then_).
  - repeat split; auto using incl_tl. intros j [<-|here]; [right|auto].
    destruct high as [->|many]; [easy|]. now apply (below_is_beaten rho T).
  - repeat split; auto using incl_tl. intros j [<-|here]; [right; now apply (before then_)|auto].
  - repeat split; auto. right. destruct many as (K & fresh & size & inside & good). exists K. repeat split; auto.
    intros j here. apply Rbar_le_trans with (lower j); [now apply good|]. apply known, inside, here.
  - repeat split.
    + right. now apply still_over.
    + intros j here. apply filter_In in here. apply within, here.
    + now apply NoDup_filter.
    + intros j here. destruct (rest j here) as [stay|lost]; [|right; now apply (still_beaten rho T)].
      destruct (stays upper T j) eqn:high_enough; [left; now apply filter_In|right].
      apply (below_is_beaten rho T); [now apply still_over|]. apply Rbar_le_lt_trans with (upper j); [apply known, stay|].
      apply Rbar_not_le_lt. intros level. unfold stays in high_enough. now destruct (Rbar_le_dec T (upper j)).
    + intros then_ j [<-|moment] lost; [assumption|]. apply (still_beaten rho T); [assumption|assumption|assumption|].
      now apply (before then_).
  - repeat split; auto. now left.
Qed.

(* Once all candidates were given, at least k are kept, and the k best of these are the k best of all. *)
Theorem the_best_are_kept : forall past given rho T kept l w, scanned past given rho T kept -> incl l given -> incl given l ->
  NoDup l -> (k <= length l)%nat -> best (beats Y) k kept w -> (k <= length kept)%nat /\ best (beats Y) k l w.
Proof.
  intros past given rho T kept l w race all only distinct enough (fresh & within & size & first).
  apply kept_are_enough in race. destruct race as (_ & inside & _ & rest & _).
  assert (many : (k <= length kept)%nat).
  { destruct (all_or_someone same l kept) as [everybody|(i & here & out)].
    - apply Nat.le_trans with (length l); [assumption|now apply NoDup_incl_length].
    - destruct (rest i (all i here)) as [|(K & fresh' & <- & inside' & _)]; [easy|]. now apply NoDup_incl_length. }
  split; [assumption|]. repeat split; [assumption|intros i here; now apply only, inside, within|lia|].
  intros i j here there outside. destruct (rest j (all j there)) as [stay|(K & fresh' & size' & inside' & ahead)]; [auto|].
  destruct (all_or_someone same K w) as [among|(h & present & absent)].
  - apply ahead. apply (as_many K w); [assumption|lia|assumption|assumption].
  - apply (beats_chain Y i h j); [apply first; auto|now apply ahead].
Qed.

End Scanned.
