(* Winners by digits: whatever is drawn, in whatever order, the winners are those of the real values. *)
From Coq Require Import Reals List Lia Lra Permutation Sorted.
From Coquelicot Require Import Rbar.
From Machine Require Import Best Boundaries Prefixes.
Import ListNotations.
Open Scope R_scope.

Section Settled.
Context {I : Type} (Fi : R -> Rbar) (U Z advantage : I -> R) (digit : I -> nat -> bool).
Hypothesis (grows : quantile Fi) (digits : forall i, has_digits (U i) (digit i)) (noise : forall i, Fi (U i) = Finite (Z i)).

Definition Y (i : I) : R := advantage i + Z i.

(* Bounds of i that are right for every noise that is possible as far as his first m digits tell. *)
Definition sound (rho : R) (m : nat) (i : I) (lower upper : Rbar) : Prop :=
  forall z, possible Fi (digit i) m z ->
    Rbar_le lower (advantage i + z - rho) /\ Rbar_le (advantage i + z - rho) upper.

(* As far as their digits tell, i is ahead of j. *)
Definition surely (i j : I) : Prop := exists m n, forall z z',
  possible Fi (digit i) m z -> possible Fi (digit j) n z' -> advantage j + z' < advantage i + z.

(* What a race may do with the places, in runs from the best to the worst. At first they are one run. Racers may be
   sorted anew within a run; a run may be cut where bounds, after any numbers of digits, tell it apart; and a run may be
   sorted by comparisons of two racers at a time. *)
Inductive settled (places : list I) : list (list I) -> Prop :=
  | whole : settled places [places]
  | sorted_anew : forall A r r' B, settled places (A ++ [r] ++ B) -> Permutation r r' -> settled places (A ++ [r'] ++ B)
  | cut_in_two : forall A w i after B (m : I -> nat) (lower upper : I -> Rbar) rho,
      settled places (A ++ [w ++ i :: after] ++ B) ->
      (forall j, In j (w ++ i :: after) -> sound rho (m j) j (lower j) (upper j)) ->
      descending lower (w ++ i :: after) -> cut lower upper i after ->
      settled places (A ++ [w ++ [i]; after] ++ B)
  | compared : forall A r B, settled places (A ++ [r] ++ B) -> StronglySorted surely r ->
      settled places (A ++ map (fun i => [i]) r ++ B).

Lemma sound_bounds : forall rho m i lower upper, sound rho m i lower upper ->
  Rbar_le lower (Y i - rho) /\ Rbar_le (Y i - rho) upper.
Proof. intros rho m i lower upper right. apply right. now apply noise_is_possible with (U i). Qed.

Lemma surely_ahead : forall i j, surely i j -> beats Y i j.
Proof. intros i j (m & n & ahead). apply ahead; eapply noise_is_possible; eauto. Qed.

Notation apart := (StronglySorted (boundary Y)).

Lemma apart_parts : forall A B, apart (A ++ B) -> apart A /\ apart B /\ boundary Y (concat A) (concat B).
Proof.
  induction A as [|r A IH]; simpl; intros B order; [repeat split; [constructor|assumption|intros ? ? []]|].
  inversion order as [|? ? rest ahead]; subst. destruct (IH B rest) as (front & back & between).
  rewrite Forall_forall in ahead. repeat split; [|assumption|].
  - constructor; [assumption|]. apply Forall_forall. intros s here. apply ahead, in_or_app. now left.
  - intros i j here there. apply in_app_or in here. destruct here as [here|here]; [|now apply between].
    apply in_concat in there. destruct there as (s & inside & there).
    apply (ahead s); [apply in_or_app; now right|assumption|assumption].
Qed.

Lemma apart_joined : forall A B, apart A -> apart B -> boundary Y (concat A) (concat B) -> apart (A ++ B).
Proof.
  induction A as [|r A IH]; simpl; intros B front back between; [assumption|].
  inversion front as [|? ? rest ahead]; subst. constructor.
  - apply IH; [assumption|assumption|]. intros i j here. apply between, in_or_app. now right.
  - rewrite Forall_forall in *. intros s here. apply in_app_or in here. destruct here as [here|here]; [now apply ahead|].
    intros i j inside there. apply between; [apply in_or_app; now left|]. apply in_concat. now exists s.
Qed.

(* Runs in the place of one that has their racers. *)
Lemma refined : forall A r rs B, apart (A ++ [r] ++ B) -> apart rs -> incl (concat rs) r -> apart (A ++ rs ++ B).
Proof.
  intros A r rs B order finer within. apply apart_parts in order. destruct order as (front & back & between).
  apply apart_parts in back. destruct back as (_ & back & between'). simpl in between'. rewrite app_nil_r in between'.
  rewrite concat_app in between. simpl in between. rewrite app_nil_r in between.
  apply apart_joined; [assumption| |].
  - apply apart_joined; [assumption|assumption|]. intros i j here there. apply between'; [now apply within|assumption].
  - rewrite concat_app. intros i j here there. apply between; [assumption|]. apply in_app_or in there. apply in_or_app.
    destruct there as [there|there]; [left; now apply within|now right].
Qed.

Lemma concat_singles : forall r : list I, concat (map (fun i => [i]) r) = r.
Proof. induction r as [|i r IH]; simpl; [reflexivity|now rewrite IH]. Qed.

Lemma settled_runs : forall places runs, settled places runs -> apart runs /\ Permutation places (concat runs).
Proof.
  intros places runs race.
  induction race as [|A r r' B race [order all] same|A w i after B m lower upper rho race [order all] right descends enough
    |A r B race [order all] sure].
  - simpl. rewrite app_nil_r. split; [repeat constructor|reflexivity].
  - split.
    + apply (refined A r [r'] B order); [repeat constructor|]. simpl. rewrite app_nil_r.
      intros i here. now apply (Permutation_in i (Permutation_sym same)).
    + rewrite all, !concat_app. simpl. rewrite !app_nil_r. now rewrite same.
  - split.
    + apply (refined A (w ++ i :: after) [w ++ [i]; after] B order).
      * constructor; [repeat constructor|]. constructor; [|constructor].
        apply (ahead_of_the_cut Y lower upper rho); [|assumption|assumption].
        intros j here. now apply (sound_bounds rho (m j)), right.
      * simpl. rewrite app_nil_r, <- app_assoc. now intros ?.
    + rewrite all, !concat_app. simpl. rewrite !app_nil_r, <- !app_assoc. reflexivity.
  - split.
    + apply (refined A r _ B order); [|rewrite concat_singles; now intros ?]. clear - sure grows digits noise.
      induction sure as [|i r sure IH ahead]; simpl; constructor; [assumption|].
      rewrite Forall_forall in *. intros s inside. apply in_map_iff in inside. destruct inside as (j & <- & here).
      intros h g [<-|[]] [<-|[]]. now apply surely_ahead, ahead.
    + rewrite all, !concat_app, concat_singles. simpl. now rewrite app_nil_r.
Qed.

(* Where a run ends behind place k, the first k places hold the k best of the real values. *)
Theorem winners : forall places A B, NoDup places -> settled places (A ++ B) ->
  best (beats Y) (length (concat A)) places (concat A).
Proof.
  intros places A B distinct race. apply settled_runs in race. destruct race as [order all].
  apply apart_parts in order. destruct order as (_ & _ & between). rewrite concat_app in all.
  apply (of_permuted _ _ (concat A ++ concat B)); [now apply Permutation_sym|].
  apply best_before_a_boundary; [now apply (Permutation_NoDup all)|assumption].
Qed.

(* Where each of the first k places is a run, they hold the k best, best first. *)
Theorem winners_in_order : forall places y B, NoDup places -> settled places (map (fun i => [i]) y ++ B) ->
  ranking (beats Y) (length y) places y.
Proof.
  intros places y B distinct race. pose proof (winners places _ B distinct race) as all. rewrite concat_singles in all.
  split; [assumption|]. apply settled_runs in race. destruct race as [order _]. apply apart_parts in order.
  destruct order as (front & _). clear - front. induction y as [|i y IH]; [constructor|].
  simpl in front. inversion front as [|? ? rest ahead]; subst. constructor; [now apply IH|].
  rewrite Forall_forall in *. intros j here. apply (ahead [j]); [|now left|now left].
  apply in_map_iff. now exists j.
Qed.

(* The same uniforms have the same winners, whatever digits of them were read, and in whatever order. *)
Theorem same_uniforms_same_winners : forall (same : forall i j : I, {i = j} + {i <> j}) places places' A B A' B',
  NoDup places -> Permutation places places' ->
  settled places (A ++ B) -> settled places' (A' ++ B') -> length (concat A) = length (concat A') ->
  Permutation (concat A) (concat A').
Proof.
  intros same places places' A B A' B' distinct all race race' size.
  apply (the_best_are_unique (beats Y) same (beats_strict Y) (beats_chain Y) (length (concat A)) places);
    [now apply (winners places A B)|].
  rewrite size. apply of_permuted with places'; [now apply Permutation_sym|].
  apply (winners places' A' B'); [now apply (Permutation_NoDup all)|assumption].
Qed.

End Settled.
