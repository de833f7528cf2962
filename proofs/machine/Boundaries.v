(* Places of a ranking that is being settled: which comparisons of bounds make a boundary, and when the winners are certain. *)
From Coq Require Import Reals List Lia Lra Permutation Sorted.
From Coquelicot Require Import Rbar.
From Machine Require Import Best.
Import ListNotations.
Open Scope R_scope.

Section Boundaries.
Context {I : Type} (Y : I -> R).

Definition beats (i j : I) : Prop := Y j < Y i.

(* Whoever is placed in u has a larger value than whoever is placed in v. *)
Definition boundary (u v : list I) : Prop := forall i j, In i u -> In j v -> beats i j.

Lemma beats_strict : forall i, ~ beats i i.
Proof. intros i. apply Rlt_irrefl. Qed.

Lemma beats_chain : forall i j h, beats i j -> beats j h -> beats i h.
Proof. unfold beats. intros. lra. Qed.

Lemma best_before_a_boundary : forall w after, NoDup (w ++ after) -> boundary w after ->
  best beats (length w) (w ++ after) w.
Proof.
  intros w after distinct apart. repeat split.
  - now apply distinct_parts in distinct.
  - intros i here. apply in_or_app. now left.
  - rewrite app_length. lia.
  - intros i j here there outside. apply apart; [assumption|]. apply in_app_or in there. tauto.
Qed.

(* Bounds on the values less a number that is common to the racers of one run; bounds may be infinite. *)
Context (lower upper : I -> Rbar).
Definition bounded (rho : R) (l : list I) : Prop :=
  forall i, In i l -> Rbar_le (lower i) (Y i - rho) /\ Rbar_le (Y i - rho) (upper i).

(* Lower ends descend. *)
Definition descending (l : list I) : Prop := StronglySorted (fun i j => Rbar_le (lower j) (lower i)) l.

(* A cut behind the racer i: his lower end is above all upper ends of those after him. *)
Definition cut (i : I) (after : list I) : Prop := forall j, In j after -> Rbar_lt (upper j) (lower i).

Lemma descending_before : forall w i after h, descending (w ++ i :: after) -> In h (w ++ [i]) ->
  Rbar_le (lower i) (lower h).
Proof.
  induction w as [|g w IH]; intros i after h order inside; simpl in *.
  - destruct inside as [<-|[]]. apply Rbar_le_refl.
  - inversion order as [|? ? rest ahead]; subst. rewrite Forall_forall in ahead.
    destruct inside as [<-|inside]; [|eauto]. apply ahead, in_or_app. right. now left.
Qed.

Lemma ahead_of_the_cut : forall rho w i after, bounded rho (w ++ i :: after) -> descending (w ++ i :: after) ->
  cut i after -> boundary (w ++ [i]) after.
Proof.
  intros rho w i after known order apart h j inside outside.
  assert (all : forall g, In g (w ++ [i]) \/ In g after -> In g (w ++ i :: after)).
  { intros g here. apply in_or_app. destruct here as [here|here]; [|right; now right].
    apply in_app_or in here. destruct here as [here|[<-|[]]]; [now left|right; now left]. }
  cut (Y j - rho < Y h - rho); [unfold beats; lra|]. change (Rbar_lt (Y j - rho) (Y h - rho)).
  apply Rbar_le_lt_trans with (upper j); [apply known; auto|].
  apply Rbar_lt_le_trans with (lower i); [now apply apart|].
  apply Rbar_le_trans with (lower h); [now apply (descending_before w i after)|apply known; auto].
Qed.

(* A run lies between boundaries: u is before it and v behind it. A cut within it is a boundary. *)
Theorem divided : forall rho u w i after v, boundary u (w ++ i :: after) -> boundary (u ++ w ++ i :: after) v ->
  bounded rho (w ++ i :: after) -> descending (w ++ i :: after) -> cut i after ->
  boundary (u ++ w ++ [i]) (after ++ v).
Proof.
  intros rho u w i after v start stop known order apart h j inside outside.
  pose proof (ahead_of_the_cut rho w i after known order apart) as here.
  assert (whole : forall g, In g (w ++ [i]) -> In g (w ++ i :: after)).
  { intros g among. apply in_app_or in among. apply in_or_app. destruct among as [|[<-|[]]]; [now left|right; now left]. }
  apply in_app_or in outside. destruct outside as [outside|outside].
  - apply in_app_or in inside. destruct inside as [inside|inside]; [|now apply here].
    apply start; [assumption|]. apply in_or_app. right. now right.
  - apply stop; [|assumption]. apply in_app_or in inside. apply in_or_app. destruct inside; auto.
Qed.

(* A set is certain where the k-th lower end is above all later upper ends. *)
Theorem decided_set : forall rho w i after, NoDup (w ++ i :: after) ->
  bounded rho (w ++ i :: after) -> descending (w ++ i :: after) -> cut i after ->
  best beats (S (length w)) (w ++ i :: after) (w ++ [i]).
Proof.
  intros rho w i after distinct known order apart.
  pose proof (ahead_of_the_cut rho w i after known order apart) as here.
  replace (w ++ i :: after) with ((w ++ [i]) ++ after) in * by now rewrite <- app_assoc.
  replace (S (length w)) with (length (w ++ [i])) by (rewrite app_length; simpl; lia).
  now apply best_before_a_boundary.
Qed.

(* A ranking is certain where this is so behind each of the first k places. *)
Definition cuts (k : nat) (places : list I) : Prop :=
  forall w i after, places = w ++ i :: after -> (length w < k)%nat -> cut i after.

Theorem decided_ranking : forall rho k places, NoDup places ->
  bounded rho places -> descending places -> cuts k places ->
  ranking beats k places (firstn k places).
Proof.
  intros rho k places. revert k. induction places as [|i after IH]; intros k distinct known order apart.
  - rewrite firstn_nil. split; [now apply few_are_all; [|simpl; lia]|constructor].
  - destruct k as [|k].
    { split; [|constructor]. repeat split; [constructor|intros ? []|intros ? ? []]. }
    assert (ahead : boundary [i] after).
    { apply (ahead_of_the_cut rho [] i after known order). apply (apart []); [reflexivity|simpl; lia]. }
    inversion distinct as [|? ? fresh distinct']; subst. inversion order as [|? ? order' _]; subst.
    destruct (IH k distinct') as [(_ & within & size & first) sorted]; [|assumption| |].
    { intros j here. apply known. now right. }
    { intros w j rest -> few. apply (apart (i :: w)); [reflexivity|simpl; lia]. }
    assert (next : Forall (beats i) (firstn k after)).
    { apply Forall_forall. intros j here. apply ahead; [now left|now apply within]. }
    simpl. split; [|now constructor]. repeat split.
    + constructor; [intros here; now apply fresh, within|].
      rewrite <- (firstn_skipn k after) in distinct'. now apply distinct_parts in distinct'.
    + intros j [<-|here]; [now left|right; now apply within].
    + simpl. lia.
    + intros h j inside there outside. simpl in outside. destruct there as [<-|there]; [tauto|].
      destruct inside as [<-|inside]; [apply ahead; [now left|assumption]|]. apply first; tauto.
Qed.

End Boundaries.
