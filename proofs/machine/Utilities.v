(* The utilities of the canonical and of the joint mechanism: how far they move when the scores move. *)
From Coq Require Import Reals List Lra.
From Machine Require Import Sums Laws Exponential Orders.
Import ListNotations.
Open Scope R_scope.

Section Utilities.
Context {I : Type}.
Implicit Types (s : I -> R) (inside outside members : list I).

(* The canonical utility of a set: its worst score, less the best score outside, with the weight gamma. *)
Definition margin (gamma : R) s inside outside : R :=
  gamma * least (map s inside) - (1 - gamma) * largest (map s outside).

(* The same with the best score outside replaced by the k-th best of all, where that is larger. *)
Definition capped (gamma : R) s inside outside : R :=
  gamma * least (map s inside) - (1 - gamma) * Rmax (largest (map s outside)) (least (map s inside)).

(* The joint utility: minus the largest gap between the true i-th best score and that of the i-th member. *)
Definition gaps (tops own : list R) : list R := map (fun p => fst p - snd p) (combine tops own).
Definition of_ranking (candidates : list I) s members : R :=
  - largest (gaps (sort (map s candidates)) (map s members)).
Definition of_set (candidates : list I) s members : R :=
  - largest (gaps (sort (map s candidates)) (sort (map s members))).

Section Moves.
Context (candidates : list I) (s s' : I -> R) (r c : R).
Hypothesis (between : forall i, In i candidates -> c <= s' i - s i <= c + r).

Lemma part_moved : forall members, incl members candidates -> moved c (c + r) (map s members) (map s' members).
Proof. intros members within. apply moved_map. intros i here. now apply between, within. Qed.

Lemma map_some : forall {B : Type} (f : I -> B) members, members <> [] -> map f members <> [].
Proof. now intros B f [|]. Qed.

Theorem margin_moves : forall gamma inside outside, 0 <= gamma <= 1 ->
  incl inside candidates -> incl outside candidates -> inside <> [] -> outside <> [] ->
  gamma * c - (1 - gamma) * (c + r) <= margin gamma s' inside outside - margin gamma s inside outside
  <= gamma * (c + r) - (1 - gamma) * c.
Proof.
  intros gamma inside outside weight within within' some some'. unfold margin.
  pose proof (least_moved _ _ _ _ (map_some s _ some) (part_moved inside within)).
  pose proof (largest_moved _ _ _ _ (map_some s _ some') (part_moved outside within')). nra.
Qed.

Theorem capped_moves : forall gamma inside outside, 0 <= gamma <= 1 ->
  incl inside candidates -> incl outside candidates -> inside <> [] -> outside <> [] ->
  gamma * c - (1 - gamma) * (c + r) <= capped gamma s' inside outside - capped gamma s inside outside
  <= gamma * (c + r) - (1 - gamma) * c.
Proof.
  intros gamma inside outside weight within within' some some'. unfold capped.
  pose proof (least_moved _ _ _ _ (map_some s _ some) (part_moved inside within)) as low.
  pose proof (largest_moved _ _ _ _ (map_some s _ some') (part_moved outside within')) as high.
  assert (c <= Rmax (largest (map s' outside)) (least (map s' inside))
             - Rmax (largest (map s outside)) (least (map s inside)) <= c + r).
  { unfold Rmax. destruct (Rle_dec _ _), (Rle_dec _ _); lra. }
  nra.
Qed.

Lemma gaps_moved : forall tops tops' own own', moved c (c + r) tops tops' -> moved c (c + r) own own' ->
  moved (- r) r (gaps tops own) (gaps tops' own').
Proof.
  intros tops tops' own own' near. revert own own'.
  induction near as [|x y tops tops' close near IH]; intros own own' near'; [constructor|].
  destruct near' as [|z w own own' close' near']; [constructor|]. unfold gaps. simpl.
  constructor; [simpl; lra|]. now apply IH.
Qed.

Lemma sort_some : forall xs, xs <> [] -> sort xs <> [].
Proof.
  intros [|x xs] some; [easy|]. simpl. destruct (sort xs) as [|y ys]; simpl; [discriminate|].
  now destruct (Rle_dec y x).
Qed.

Lemma gaps_some : forall tops own, tops <> [] -> own <> [] -> gaps tops own <> [].
Proof. now intros [|] [|]. Qed.

Theorem ranking_moves : forall members, incl members candidates -> members <> [] ->
  - r <= of_ranking candidates s' members - of_ranking candidates s members <= r.
Proof.
  intros members within some. unfold of_ranking.
  assert (candidates <> []) by (destruct members as [|i l]; [easy|]; intros ->; now apply (within i); left).
  pose proof (largest_moved _ _ _ _ (gaps_some _ _ (sort_some _ (map_some s _ ltac:(eassumption))) (map_some s _ some))
    (gaps_moved _ _ _ _ (sort_moved _ _ _ _ (part_moved candidates (incl_refl _))) (part_moved members within))). lra.
Qed.

Theorem set_moves : forall members, incl members candidates -> members <> [] ->
  - r <= of_set candidates s' members - of_set candidates s members <= r.
Proof.
  intros members within some. unfold of_set.
  assert (candidates <> []) by (destruct members as [|i l]; [easy|]; intros ->; now apply (within i); left).
  pose proof (largest_moved _ _ _ _
    (gaps_some _ _ (sort_some _ (map_some s _ ltac:(eassumption))) (sort_some _ (map_some s _ some)))
    (gaps_moved _ _ _ _ (sort_moved _ _ _ _ (part_moved candidates (incl_refl _)))
      (sort_moved _ _ _ _ (part_moved members within)))). lra.
Qed.

End Moves.
End Utilities.
