(* The classes of the k-subsets of d ranked candidates: what they hold, how many, and that they are all. *)
From Coq Require Import List Lia Arith Bool.
Import ListNotations.

Fixpoint choose (n k : nat) : nat :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S m, S j => choose m j + choose m (S j)
  end.

(* A set is a list of marks, one a rank, best first; it has k members. *)
Fixpoint marks (d k : nat) : list (list bool) :=
  match d with
  | O => match k with O => [[]] | S _ => [] end
  | S n => match k with O => [] | S j => map (cons true) (marks n j) end ++ map (cons false) (marks n k)
  end.

Fixpoint members (b : list bool) : nat :=
  match b with
  | [] => 0
  | x :: rest => (if x then 1 else 0) + members rest
  end.

Lemma marks_are : forall d k b, In b (marks d k) <-> length b = d /\ members b = k.
Proof.
  induction d as [|d IH]; intros k b.
  - destruct k; simpl; split; try easy.
    + intros [<-|[]]. easy.
    + intros [size _]. destruct b; [now left|easy].
    + intros [size count]. now destruct b.
  - simpl. rewrite in_app_iff. split.
    + intros [inside|inside]; [destruct k as [|k]; [easy|]|];
        apply in_map_iff in inside; destruct inside as (c & <- & inside); apply IH in inside; simpl; lia.
    + intros [size count]. destruct b as [|[] c]; [easy| |]; simpl in size, count.
      * left. destruct k as [|k]; [easy|]. apply in_map, IH. lia.
      * right. apply in_map, IH. lia.
Qed.

Theorem marks_count : forall d k, length (marks d k) = choose d k.
Proof.
  induction d as [|d IH]; intros [|k]; simpl; try reflexivity; rewrite ?app_length, !map_length, !IH; [|reflexivity].
  now destruct d.
Qed.

Theorem marks_distinct : forall d k, NoDup (marks d k).
Proof.
  assert (lifted : forall (x : bool) l, NoDup l -> NoDup (map (cons x) l)).
  { intros x l. induction 1 as [|b l fresh distinct IH]; simpl; constructor; [|assumption].
    intros inside. apply in_map_iff in inside. destruct inside as (c & equal & inside). now injection equal as ->. }
  assert (apart : forall l m, NoDup l -> NoDup m -> (forall b : list bool, In b l -> ~ In b m) -> NoDup (l ++ m)).
  { induction l as [|b l IH]; simpl; intros m distinct distinct' other; [assumption|].
    inversion distinct; subst. constructor; [|apply IH; auto].
    intros inside. apply in_app_or in inside. destruct inside; [easy|]. now apply (other b (or_introl eq_refl)). }
  induction d as [|d IH]; intros k; simpl; [destruct k; repeat constructor; intros []|].
  apply apart; [destruct k; [constructor|now apply lifted]|now apply lifted|].
  intros b inside inside'. destruct k; [easy|]. apply in_map_iff in inside, inside'.
  destruct inside as (? & <- & _), inside' as (? & equal & _). easy.
Qed.

Definition best (d k : nat) : list bool := repeat true k ++ repeat false (d - k).

(* Class (h, t): rank h + 1 is the best that is left out, and rank t the worst that is in, t > k. *)
Definition in_class (d h t : nat) (middle : list bool) : list bool :=
  repeat true h ++ [false] ++ middle ++ [true] ++ repeat false (d - t).

Lemma members_app : forall b c, members (b ++ c) = members b + members c.
Proof. induction b as [|[] b IH]; intros c; simpl; [reflexivity| |]; now rewrite IH. Qed.

Lemma members_repeat : forall x n, members (repeat x n) = if x then n else 0.
Proof. intros [] n; induction n; simpl in *; lia. Qed.

Lemma leading : forall b, exists h, b = repeat true h \/ exists rest, b = repeat true h ++ false :: rest.
Proof.
  induction b as [|[] b (h & [->|(rest & ->)])].
  - exists 0. now left.
  - exists (S h). now left.
  - exists (S h). right. now exists rest.
  - exists 0. right. now exists (repeat true h).
  - exists 0. right. now exists (repeat true h ++ false :: rest).
Qed.

Lemma trailing : forall b, members b = 0 /\ b = repeat false (length b) \/
  exists rest n, b = rest ++ true :: repeat false n.
Proof.
  induction b as [|x b [(none & equal)|(rest & n & ->)]]; [now left| |].
  - destruct x; [right; exists [], (length b); simpl; now f_equal|left; simpl; split; [lia|now f_equal]].
  - right. now exists (x :: rest), n.
Qed.

(* Each set but the best is in one class, with k - 1 - h further members among the ranks h + 2 .. t - 1. *)
Theorem classes_are_all : forall d k b, length b = d -> members b = k ->
  b = best d k \/ exists h t middle, (h < k < t /\ t <= d) /\ b = in_class d h t middle /\
    length middle = t - h - 2 /\ members middle = k - 1 - h.
Proof.
  intros d k b size count. destruct (leading b) as (h & [->|(rest & ->)]).
  - left. rewrite members_repeat in count. rewrite repeat_length in size. rewrite <- size, <- count. unfold best.
    rewrite Nat.sub_diag. now rewrite app_nil_r.
  - rewrite members_app, members_repeat in count. rewrite app_length, repeat_length in size. simpl in size, count.
    destruct (trailing rest) as [(none & equal)|(middle & n & ->)].
    + left. unfold best. rewrite none in count. replace k with h by lia. f_equal.
      replace (d - h) with (S (length rest)) by lia. simpl. now rewrite <- equal.
    + right. rewrite members_app in count. rewrite app_length in size. simpl in size, count.
      rewrite members_repeat in count. rewrite repeat_length in size.
      exists h, (d - n), middle.
      assert (few : members middle <= length middle).
      { clear. induction middle as [|[] l IH]; simpl; lia. }
      split; [lia|]. split; [unfold in_class; now replace (d - (d - n)) with n by lia|lia].
Qed.

Theorem class_members : forall d k h t middle, h < k < t -> t <= d ->
  length middle = t - h - 2 -> members middle = k - 1 - h ->
  length (in_class d h t middle) = d /\ members (in_class d h t middle) = k.
Proof.
  intros d k h t middle order inside size count. unfold in_class.
  repeat (rewrite ?members_app, ?app_length, ?members_repeat, ?repeat_length; simpl). lia.
Qed.

Lemma leading_unique : forall h g rest rest',
  repeat true h ++ false :: rest = repeat true g ++ false :: rest' -> h = g /\ rest = rest'.
Proof.
  induction h as [|h IH]; intros [|g] rest rest' equal; simpl in equal; try easy; injection equal as equal.
  - easy.
  - destruct (IH _ _ _ equal). auto.
Qed.

(* No set is in two classes, nor twice in one; and the best is in none. *)
Theorem classes_are_apart : forall d h t middle h' t' middle', t <= d -> t' <= d ->
  in_class d h t middle = in_class d h' t' middle' -> h = h' /\ t = t' /\ middle = middle'.
Proof.
  intros d h t middle h' t' middle' inside inside' equal. unfold in_class in equal. simpl in equal.
  apply leading_unique in equal. destruct equal as [-> equal].
  apply (f_equal (@rev bool)) in equal. rewrite !rev_app_distr in equal. simpl in equal.
  assert (reversed : forall n, rev (repeat false n) = repeat false n).
  { induction n as [|n IH]; [reflexivity|]. simpl. rewrite IH. symmetry. apply (repeat_cons n false). }
  rewrite !reversed, <- !app_assoc in equal. simpl in equal.
  assert (cut : forall n m (b c : list bool), repeat false n ++ true :: b = repeat false m ++ true :: c -> n = m /\ b = c).
  { induction n as [|n IH]; intros [|m] b c same; simpl in same; try easy; injection same as same; [easy|].
    destruct (IH _ _ _ same). auto. }
  apply cut in equal. destruct equal as [places equal].
  apply (f_equal (@rev bool)) in equal. rewrite !rev_involutive in equal. repeat split; [lia|assumption].
Qed.

Theorem best_is_in_no_class : forall d k h t middle, h < k < t -> t <= d -> in_class d h t middle <> best d k.
Proof.
  intros d k h t middle order inside equal. unfold in_class, best in equal. simpl in equal.
  destruct (d - k) as [|n] eqn:rest; [lia|]. simpl in equal. apply leading_unique in equal. lia.
Qed.

(* So their sizes add up: all classes with t = k + 1 .. d and h = 0 .. k - 1, and the best. *)
Fixpoint total (f : nat -> nat) (n : nat) : nat :=
  match n with
  | O => 0
  | S m => total f m + f m
  end.

Lemma hockey_stick : forall j n, total (fun i => choose (j + i) j) n = choose (j + n) (S j).
Proof.
  intros j. induction n as [|n IH]; simpl.
  - rewrite Nat.add_0_r. clear. assert (beyond : forall n k, n < k -> choose n k = 0).
    { induction n as [|n IH]; intros [|k] less; simpl; try lia. rewrite !IH by lia. reflexivity. }
    symmetry. apply beyond. lia.
  - rewrite IH. replace (j + S n) with (S (j + n)) by lia. simpl. lia.
Qed.

Lemma diagonal : forall k m, total (fun h => choose (m + k - h) (S k - h)) (S k) + 1 = choose (S (m + k)) (S k).
Proof.
  assert (shift : forall f n, total f (S n) = f 0 + total (fun i => f (S i)) n).
  { intros f. induction n as [|n IH]; simpl in *; [lia|]. rewrite IH. lia. }
  induction k as [|k IH]; intros m.
  - simpl. replace (m + 0 - 0) with (m + 0) by lia. rewrite Nat.add_comm. f_equal. now destruct (m + 0).
  - rewrite shift. replace (total (fun i => choose (m + S k - S i) (S (S k) - S i)) (S k))
      with (total (fun h => choose (m + k - h) (S k - h)) (S k)).
    + pose proof (IH m) as known. simpl choose at 2. replace (m + S k) with (S (m + k)) in * by lia.
      simpl in known |- *. lia.
    + assert (ext : forall f g n, (forall i, f i = g i) -> total f n = total g n) by
        (intros f g n same; induction n; simpl; [reflexivity|now rewrite IHn, same]).
      apply ext. intros i. f_equal; lia.
Qed.

Theorem class_sizes_add_up : forall d k, 0 < k < d ->
  total (fun h => total (fun i => choose (k + 1 + i - h - 2) (k - 1 - h)) (d - k)) k + 1 = choose d k.
Proof.
  intros d k order. destruct k as [|k]; [lia|].
  assert (ext : forall f g n, (forall i, i < n -> f i = g i) -> total f n = total g n).
  { intros f g n same. induction n as [|n IH]; simpl; [reflexivity|]. rewrite IH, same; auto. }
  rewrite (ext _ (fun h => choose (d - S k + k - h) (S k - h))).
  - pose proof (diagonal k (d - S k)) as known. now replace (S (d - S k + k)) with d in known by lia.
  - intros h inside. rewrite (ext _ (fun i => choose (k - h + i) (k - h))) by (intros i _; f_equal; lia).
    rewrite hockey_stick. f_equal; lia.
Qed.
