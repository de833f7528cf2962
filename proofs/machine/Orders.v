(* Largest, least and i-th largest of a list of numbers: how far they move when the numbers move. *)
From Coq Require Import Reals List Lra.
From Machine Require Import Sums.
Import ListNotations.
Open Scope R_scope.

(* Each number of the second list is between lo and hi above the one in its place in the first. *)
Definition moved (lo hi : R) : list R -> list R -> Prop := Forall2 (fun x y => lo <= y - x <= hi).

Fixpoint largest (xs : list R) : R :=
  match xs with
  | [] => 0
  | [x] => x
  | x :: rest => Rmax x (largest rest)
  end.

Definition least (xs : list R) : R := - largest (map Ropp xs).

(* Descending order. *)
Fixpoint insert (x : R) (xs : list R) : list R :=
  match xs with
  | [] => [x]
  | y :: rest => if Rle_dec y x then x :: y :: rest else y :: insert x rest
  end.

Definition sort (xs : list R) : list R := fold_right insert [] xs.

Lemma moved_map : forall {I : Type} lo hi (s s' : I -> R) l, (forall i, In i l -> lo <= s' i - s i <= hi) ->
  moved lo hi (map s l) (map s' l).
Proof.
  induction l as [|i l IH]; intros near; simpl; constructor; [apply near; now left|].
  apply IH. intros j inside. apply near. now right.
Qed.

Lemma largest_moved : forall lo hi xs ys, xs <> [] -> moved lo hi xs ys -> lo <= largest ys - largest xs <= hi.
Proof.
  intros lo hi xs ys some near. induction near as [|x y xs ys close near IH]; [easy|].
  destruct near as [|x' y' xs ys close' near]; [exact close|].
  specialize (IH ltac:(discriminate)). change (largest (y :: y' :: ys)) with (Rmax y (largest (y' :: ys))).
  change (largest (x :: x' :: xs)) with (Rmax x (largest (x' :: xs))).
  unfold Rmax. destruct (Rle_dec y _), (Rle_dec x _); lra.
Qed.

Lemma least_moved : forall lo hi xs ys, xs <> [] -> moved lo hi xs ys -> lo <= least ys - least xs <= hi.
Proof.
  intros lo hi xs ys some near. unfold least.
  assert (- hi <= largest (map Ropp ys) - largest (map Ropp xs) <= - lo).
  { apply largest_moved; [now destruct xs|]. clear some. induction near; simpl; constructor; [lra|assumption]. }
  lra.
Qed.

Definition below : list R -> list R -> Prop := Forall2 Rle.

Fixpoint descending (xs : list R) : Prop :=
  match xs with
  | [] => True
  | x :: rest => match rest with [] => True | y :: _ => y <= x end /\ descending rest
  end.

Lemma insert_head : forall x xs, descending (x :: xs) -> insert x xs = x :: xs.
Proof. intros x [|y xs] ordered; simpl; [reflexivity|]. destruct ordered as [less _]. now destruct (Rle_dec y x). Qed.

Lemma insert_descending : forall x xs, descending xs -> descending (insert x xs).
Proof.
  induction xs as [|y xs IH]; intros ordered; [simpl; auto|]. simpl. destruct (Rle_dec y x) as [less|more].
  - simpl. auto.
  - destruct ordered as [head tail]. specialize (IH tail). split; [|assumption].
    destruct xs as [|z xs]; simpl in *; [lra|]. destruct (Rle_dec z x); lra.
Qed.

Lemma sort_descending : forall xs, descending (sort xs).
Proof. induction xs as [|x xs IH]; simpl; [trivial|]. now apply insert_descending. Qed.

Lemma insert_below : forall xs ys x y, below xs ys -> x <= y -> descending xs -> descending ys ->
  below (insert x xs) (insert y ys).
Proof.
  intros xs ys x y less. revert x y. induction less as [|a b xs ys close less IH]; intros x y order down down'.
  - simpl. constructor; [assumption|constructor].
  - simpl. destruct (Rle_dec a x) as [first|later], (Rle_dec b y) as [first'|later'].
    + constructor; [assumption|]. now constructor.
    + constructor; [lra|]. rewrite <- (insert_head a xs down). apply IH; [lra|apply down|apply down'].
    + constructor; [lra|]. rewrite <- (insert_head b ys down'). apply IH; [lra|apply down|apply down'].
    + constructor; [assumption|]. apply IH; [assumption|apply down|apply down'].
Qed.

Lemma sort_below : forall xs ys, below xs ys -> below (sort xs) (sort ys).
Proof. induction 1; simpl; [constructor|]. apply insert_below; auto using sort_descending. Qed.

Lemma insert_shift : forall c x xs, insert (x + c) (map (fun y => y + c) xs) = map (fun y => y + c) (insert x xs).
Proof.
  induction xs as [|y xs IH]; simpl; [reflexivity|].
  destruct (Rle_dec (y + c) (x + c)), (Rle_dec y x); simpl; try lra; [reflexivity|now rewrite IH].
Qed.

Lemma sort_shift : forall c xs, sort (map (fun y => y + c) xs) = map (fun y => y + c) (sort xs).
Proof. induction xs as [|x xs IH]; simpl; [reflexivity|]. now rewrite IH, insert_shift. Qed.

Lemma below_shift : forall c xs ys, below (map (fun x => x + c) xs) ys <-> Forall2 (fun x y => c <= y - x) xs ys.
Proof.
  intros c xs. induction xs as [|x xs IH]; intros [|y ys]; simpl; split; intros near; inversion near; subst;
    constructor; try lra; now apply IH.
Qed.

Lemma above_shift : forall c xs ys, below ys (map (fun x => x + c) xs) <-> Forall2 (fun x y => y - x <= c) xs ys.
Proof.
  intros c xs. induction xs as [|x xs IH]; intros [|y ys]; simpl; split; intros near; inversion near; subst;
    constructor; try lra; now apply IH.
Qed.

Lemma moved_split : forall lo hi xs ys,
  moved lo hi xs ys <-> Forall2 (fun x y => lo <= y - x) xs ys /\ Forall2 (fun x y => y - x <= hi) xs ys.
Proof.
  intros lo hi xs ys. split.
  - induction 1 as [|x y xs ys close near [low high]]; split; constructor; tauto.
  - intros [low high]. revert high. induction low as [|x y xs ys close low IH]; intros high; [constructor|].
    inversion high; subst. constructor; [tauto|]. now apply IH.
Qed.

(* The i-th largest of some numbers moves no further than the numbers do, for all i at once. *)
Theorem sort_moved : forall lo hi xs ys, moved lo hi xs ys -> moved lo hi (sort xs) (sort ys).
Proof.
  intros lo hi xs ys near. apply moved_split in near. destruct near as [low high]. apply moved_split. split.
  - apply below_shift. rewrite <- sort_shift. now apply sort_below, below_shift.
  - apply above_shift. rewrite <- sort_shift. now apply sort_below, above_shift.
Qed.
