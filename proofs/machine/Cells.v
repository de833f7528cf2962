(* Finitely many digits of independent uniform numbers: how often they have a property, counted, and how seldom two of the
   numbers are not told apart.

   Of N parts of equal length of the unit interval, c i is the number of the one in which the uniform number of i lies; with
   N = 2^n, c i is written with the first n digits. *)
From Coq Require Import Reals List Lra Lia Arith Bool Permutation.
From Machine Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Definition indicator (b : bool) : R := if b then 1 else 0.

Lemma indicator_between : forall b, 0 <= indicator b <= 1.
Proof. intros []; simpl; lra. Qed.

Lemma sum_swap : forall {A B : Type} (g : A -> B -> R) l m,
  sum (fun a => sum (fun b => g a b) m) l = sum (fun b => sum (fun a => g a b) l) m.
Proof.
  intros A B g l m. induction l as [|a l IH]; simpl.
  - rewrite sum_const. ring.
  - now rewrite IH, <- sum_plus.
Qed.

Section Cells.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (N : nat).

Definition put (c : I -> nat) (i : I) (m : nat) : I -> nat := fun j => if same j i then m else c j.

(* All ways in which numbers of the candidates may lie in the N parts; whoever is no candidate stays where c has him. *)
Fixpoint assignments (l : list I) (c : I -> nat) : list (I -> nat) :=
  match l with
  | [] => [c]
  | i :: m => flat_map (fun n => assignments m (put c i n)) (seq 0 N)
  end.

(* The share of them that have a property. *)
Definition share (l : list I) (D : (I -> nat) -> bool) : R :=
  sum (fun c => indicator (D c)) (assignments l (fun _ => O)) / INR N ^ length l.

Lemma put_here : forall c i m, put c i m i = m.
Proof. intros. unfold put. now destruct (same i i). Qed.

Lemma put_there : forall c i m j, j <> i -> put c i m j = c j.
Proof. intros. unfold put. now destruct (same j i). Qed.

Lemma outside : forall l c c' j, In c' (assignments l c) -> ~ In j l -> c' j = c j.
Proof.
  induction l as [|i l IH]; simpl; intros c c' j inside out.
  - now destruct inside as [<-|[]].
  - apply in_flat_map in inside. destruct inside as (m & _ & inside). rewrite (IH _ _ j inside) by tauto.
    apply put_there. intros ->. tauto.
Qed.

Lemma in_reach : forall l c c' j, In c' (assignments l c) -> In j l -> (c' j < N)%nat.
Proof.
  induction l as [|i l IH]; simpl; intros c c' j inside here; [easy|].
  apply in_flat_map in inside. destruct inside as (m & small & inside). apply in_seq in small.
  destruct (in_dec same j l) as [later|never]; [now apply (IH _ _ j inside)|].
  destruct here as [<-|]; [|easy]. rewrite (outside _ _ _ i inside never), put_here. lia.
Qed.

Lemma put_twice : forall l c c' i j m n (G : (I -> nat) -> R), (forall a b, (forall h, a h = b h) -> G a = G b) ->
  i <> j -> (forall h, c h = c' h) ->
  sum G (assignments l (put (put c i m) j n)) = sum G (assignments l (put (put c' j n) i m)).
Proof.
  assert (alike : forall l c c' (G : (I -> nat) -> R), (forall a b, (forall h, a h = b h) -> G a = G b) ->
    (forall h, c h = c' h) -> sum G (assignments l c) = sum G (assignments l c')).
  { induction l as [|i l IH]; intros c c' G local equal; cbn [assignments].
    - simpl. now rewrite (local c c').
    - rewrite !sum_flat_map. apply sum_ext. intros m _. apply IH; [assumption|]. intros h. unfold put. now destruct (same h i). }
  intros l c c' i j m n G local other equal. apply alike; [assumption|].
  intros h. unfold put. destruct (same h i), (same h j); congruence.
Qed.

Lemma any_order : forall l l' c (G : (I -> nat) -> R), (forall a b, (forall h, a h = b h) -> G a = G b) ->
  Permutation l l' -> sum G (assignments l c) = sum G (assignments l' c).
Proof.
  intros l l' c G local all. revert c. induction all as [|i l l' all IH|i j l|l m l' one IH two IH']; intros c.
  - reflexivity.
  - cbn [assignments]. rewrite !sum_flat_map. apply sum_ext. intros m _. apply IH.
  - cbn [assignments]. rewrite !sum_flat_map.
    destruct (same i j) as [->|other]; [reflexivity|].
    rewrite (sum_ext _ (fun m => sum (fun n => sum G (assignments l (put (put c j m) i n))) (seq 0 N)))
      by (intros; apply sum_flat_map).
    rewrite (sum_ext (fun b => sum G (flat_map _ _)) (fun n => sum (fun m => sum G (assignments l (put (put c i n) j m))) (seq 0 N)))
      by (intros; apply sum_flat_map).
    rewrite sum_swap. apply sum_ext. intros n _. apply sum_ext. intros m _. apply put_twice; auto.
  - now rewrite IH.
Qed.

Hypothesis (some : (0 < N)%nat).

Lemma N_pos : 0 < INR N.
Proof. now apply lt_0_INR. Qed.

Lemma many_pos : forall n, 0 < INR N ^ n.
Proof. intros n. apply pow_lt, N_pos. Qed.

Lemma how_many : forall l c, sum (fun _ => 1) (assignments l c) = INR N ^ length l.
Proof.
  induction l as [|i l IH]; intros c; simpl; [lra|]. rewrite sum_flat_map.
  rewrite (sum_ext _ (fun _ => INR N ^ length l)) by (intros; apply IH). rewrite sum_const, seq_length. reflexivity.
Qed.

(* A property of the numbers of two candidates alone. *)
Lemma of_one : forall l c (g : nat -> R) i, NoDup l -> In i l ->
  sum (fun c' => g (c' i)) (assignments l c) = INR N ^ (length l - 1) * sum g (seq 0 N).
Proof.
  induction l as [|j l IH]; intros c g i distinct here; [easy|]. inversion distinct as [|? ? fresh distinct']; subst.
  cbn [assignments]. rewrite sum_flat_map. replace (length (j :: l) - 1)%nat with (length l) by (simpl; lia).
  destruct (same i j) as [->|other].
  - rewrite (sum_ext _ (fun m => INR N ^ length l * g m)); [apply sum_scale|].
    intros m _. rewrite (sum_ext _ (fun _ => g m * 1)).
    + rewrite sum_scale, how_many. ring.
    + intros c' inside. rewrite (outside _ _ _ j inside fresh), put_here. ring.
  - destruct here as [->|here]; [easy|].
    rewrite (sum_ext _ (fun _ => INR N ^ (length l - 1) * sum g (seq 0 N))) by (intros; now apply IH).
    rewrite sum_const, seq_length. destruct l as [|h l]; [easy|]. simpl length. rewrite Nat.sub_succ, Nat.sub_0_r. simpl. ring.
Qed.

Lemma of_two : forall l c (g : nat -> nat -> R) i j, NoDup l -> In i l -> In j l -> i <> j ->
  sum (fun c' => g (c' i) (c' j)) (assignments l c) =
    INR N ^ (length l - 2) * sum (fun m => sum (fun n => g m n) (seq 0 N)) (seq 0 N).
Proof.
  assert (first : forall l c (g : nat -> nat -> R) i j, NoDup (i :: l) -> In j l ->
    sum (fun c' => g (c' i) (c' j)) (assignments (i :: l) c) =
      INR N ^ (length l - 1) * sum (fun m => sum (fun n => g m n) (seq 0 N)) (seq 0 N)).
  { intros l c g i j distinct here. inversion distinct as [|? ? fresh distinct']; subst.
    cbn [assignments]. rewrite sum_flat_map, <- sum_scale. apply sum_ext. intros m _.
    change (sum (fun n => g m n) (seq 0 N)) with (sum (g m) (seq 0 N)). rewrite <- (of_one l (put c i m) (g m) j distinct' here). apply sum_ext. intros c' inside.
    now rewrite (outside _ _ _ i inside fresh), put_here. }
  induction l as [|h l IH]; intros c g i j distinct here there other; [easy|].
  inversion distinct as [|? ? fresh distinct']; subst.
  replace (length (h :: l) - 2)%nat with (length l - 1)%nat by (simpl; lia).
  destruct (same h i) as [->|not_i]; [|destruct (same h j) as [->|not_j]].
  - apply first; [assumption|]. now destruct there.
  - rewrite (first l c (fun m n => g n m) j i); [|assumption|now destruct here]. now rewrite sum_swap.
  - destruct here as [|here]; [easy|]. destruct there as [|there]; [easy|]. cbn [assignments]. rewrite sum_flat_map.
    rewrite (sum_ext _ (fun _ => INR N ^ (length l - 2) * sum (fun m => sum (fun n => g m n) (seq 0 N)) (seq 0 N)))
      by (intros; now apply IH).
    rewrite sum_const, seq_length. assert (two : (2 <= length l)%nat).
    { destruct l as [|a [|b l]]; simpl in *; [easy| |lia]. destruct here as [<-|[]], there as [<-|[]]. easy. }
    replace (length l - 1)%nat with (S (length l - 2)) by lia. simpl. ring.
Qed.

(* Pairs of parts that rise together, as those do that are not told apart, are fewer than 2 N: a path of steps to the right
   and upward has no more. *)
Lemma staircase : forall b : nat -> nat -> bool,
  (forall m m' n n', b m m' = true -> b n n' = true -> (m < n)%nat -> (n < N)%nat -> (m' < N)%nat -> (m' <= n')%nat) ->
  sum (fun m => sum (fun n => indicator (b m n)) (seq 0 N)) (seq 0 N) <= 2 * INR N.
Proof.
  intros b rises.
  (* With rows below M done, the pairs seen are no more than M and the largest place so far, which later rows do not go below. *)
  assert (rows : forall M, (M <= N)%nat -> exists top, (top <= N)%nat /\
    sum (fun m => sum (fun n => indicator (b m n)) (seq 0 N)) (seq 0 M) <= INR M + INR top /\
    forall m m', (M <= m < N)%nat -> (m' < N)%nat -> b m m' = true -> (top <= m')%nat).
  { induction M as [|M IH]; intros small.
    - exists O. split; [lia|]. split; [simpl; lra|]. intros. lia.
    - destruct IH as (top & bounded & count & above); [lia|].
      (* In row M all lie at top or beyond. *)
      assert (row : exists top', (top <= top' <= N)%nat /\
        sum (fun n => indicator (b M n)) (seq 0 N) <= INR top' - INR top + 1 /\
        forall m m', (S M <= m < N)%nat -> (m' < N)%nat -> b m m' = true -> (top' <= m')%nat).
      { assert (scan : forall P, (P <= N)%nat -> exists last, (top <= last <= N)%nat /\
          sum (fun n => indicator (b M n)) (seq 0 P) <= INR last - INR top + 1 /\
          (forall m', (m' < P)%nat -> b M m' = true -> (m' <= last)%nat) /\ (last = top \/ ((last < P)%nat /\ b M last = true)) /\
          (sum (fun n => indicator (b M n)) (seq 0 P) <= 0 \/ (exists m', (m' < P)%nat /\ b M m' = true))).
        { induction P as [|P IH]; intros fits.
          - exists top. split; [lia|]. split; [simpl; lra|]. split; [intros; lia|]. split; [now left|]. left. simpl. lra.
          - destruct IH as (last & between & less & all & which & any); [lia|]. rewrite seq_S, sum_app. simpl.
            destruct (b M P) eqn:here.
            + pose proof (above M P ltac:(lia) ltac:(lia) here) as over.
              destruct (Nat.eq_dec P last) as [equal|other].
              * exists last. destruct which as [->|[low _]]; [|lia]. split; [lia|]. split.
                { destruct any as [none|(m' & low & there)].
                  - simpl. lra.
                  - pose proof (above M m' ltac:(lia) ltac:(lia) there). lia. }
                split; [intros m' low there; destruct (Nat.eq_dec m' P); [lia|apply all; [lia|assumption]]|].
                split; [now left|]. right. exists P. split; [lia|assumption].
              * assert (last <= P)%nat by (destruct which as [->|[low _]]; lia).
                exists P. split; [lia|]. split.
                { assert (INR last + 1 <= INR P) by (rewrite <- S_INR; apply le_INR; lia). simpl. lra. }
                split; [intros m' low _; lia|]. split; [right; split; [lia|assumption]|]. right. exists P. split; [lia|assumption].
            + exists last. split; [lia|]. split; [simpl; lra|]. split.
              * intros m' low there. destruct (Nat.eq_dec m' P) as [->|]; [congruence|]. apply all; [lia|assumption].
              * split; [destruct which as [|[low there]]; [now left|right; split; [lia|assumption]]|].
                destruct any as [none|(m' & low & there)]; [left; simpl; lra|right; exists m'; split; [lia|assumption]]. }
        destruct (scan N ltac:(lia)) as (last & between & less & _ & which & _). exists last. split; [assumption|].
        split; [assumption|]. intros m m' between' low there. destruct which as [->|[low' there']].
        - apply (above m m'); [lia|assumption|assumption].
        - pose proof (rises M last m m' there' there). lia. }
      destruct row as (top' & between & less & above'). exists top'. split; [lia|]. split; [|assumption].
      rewrite seq_S, sum_app. cbn [sum]. rewrite Nat.add_0_l, S_INR. lra. }
  destruct (rows N ltac:(lia)) as (top & bounded & count & _). apply le_INR in bounded. lra.
Qed.

End Cells.

Lemma two_by_two : forall M (g : nat -> R), sum g (seq 0 (2 * M)) = sum (fun u => g (2 * u)%nat) (seq 0 M) + sum (fun u => g (S (2 * u))) (seq 0 M).
Proof.
  induction M as [|M IH]; intros g; [simpl; ring|]. replace (2 * S M)%nat with (S (S (2 * M))) by lia.
  rewrite !seq_S, !sum_app, IH. cbn [sum]. rewrite !Nat.add_0_l. ring.
Qed.

(* Where parts beside each other may be in any order, they are fewer than 4 N. *)
Lemma wide_staircase : forall M (b : nat -> nat -> bool), (0 < M)%nat ->
  (forall m m' n n', b m m' = true -> b n n' = true -> (S m < n)%nat -> (n < 2 * M)%nat -> (m' < 2 * M)%nat -> (m' <= S n')%nat) ->
  sum (fun m => sum (fun n => indicator (b m n)) (seq 0 (2 * M))) (seq 0 (2 * M)) <= 4 * INR (2 * M).
Proof.
  intros M b some rises.
  assert (one : forall f f' : nat -> nat, (f = (fun u => 2 * u)%nat \/ f = (fun u => S (2 * u))) -> (f' = (fun u => 2 * u)%nat \/ f' = (fun u => S (2 * u))) ->
    sum (fun u => sum (fun v => indicator (b (f u) (f' v))) (seq 0 M)) (seq 0 M) <= 2 * INR M).
  { intros f f' which which'. apply (staircase M some (fun u v => b (f u) (f' v))). intros u u' v v' here there more small small'.
    pose proof (rises _ _ _ _ here there) as bound. destruct which as [-> | ->], which' as [-> | ->]; cbv beta in bound; lia. }
  rewrite two_by_two. rewrite (sum_ext _ _ (seq 0 M) (fun u _ => two_by_two M (fun n => indicator (b (2 * u)%nat n)))).
  rewrite (sum_ext (fun u => sum (fun n => indicator (b (S (2 * u)) n)) _) _ (seq 0 M) (fun u _ => two_by_two M (fun n => indicator (b (S (2 * u)) n)))).
  rewrite !sum_plus, mult_INR. change (INR 2) with 2.
  pose proof (one (fun u => 2 * u)%nat (fun u => 2 * u)%nat ltac:(auto) ltac:(auto)).
  pose proof (one (fun u => 2 * u)%nat (fun u => S (2 * u)) ltac:(auto) ltac:(auto)).
  pose proof (one (fun u => S (2 * u)) (fun u => 2 * u)%nat ltac:(auto) ltac:(auto)).
  pose proof (one (fun u => S (2 * u)) (fun u => S (2 * u)) ltac:(auto) ltac:(auto)). cbv beta in *. lra.
Qed.
