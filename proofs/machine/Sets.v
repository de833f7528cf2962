(* Sets of winners, which are functions of rankings: what Gumbel noise and peeling cost where the order is not released. *)
From Coq Require Import Reals List Lra.
From Machine Require Import Sums Laws Exponential Peeling PeelingRange Digits Images RangeConcentrated PeelingConcentrated.
Import ListNotations.
Open Scope R_scope.

Section Sets.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).

(* Who of the candidates is in the set. *)
Definition set_of (candidates y : list I) : list bool :=
  map (fun i => if in_dec same i y then true else false) candidates.

(* The sets of k that can be released, and their probabilities. *)
Definition sets (k : nat) (l : list I) : list (list bool) := releases word_eq (set_of l) (rankings same k l).
Definition peeled_set (k : nat) (l : list I) (s : I -> R) : list bool -> R :=
  image word_eq (set_of l) (rankings same k l) (peeled same l s).

(* A set says who is in the ranking, and nothing else. *)
Theorem sets_forget_the_order : forall l y z, incl y l -> incl z l ->
  set_of l y = set_of l z <-> (forall i, In i y <-> In i z).
Proof.
  intros l y z within within'. unfold set_of. split.
  - intros equal i. assert (marks : In i l -> (In i y <-> In i z)).
    { clear within within'. induction l as [|j l IH]; [easy|]. simpl in equal. injection equal as first rest.
      intros [<-|here]; [|now apply IH]. destruct (in_dec same j y), (in_dec same j z); easy. }
    split; intros here; apply marks; auto.
  - intros alike. apply map_ext. intros i. specialize (alike i). destruct (in_dec same i y), (in_dec same i z); tauto.
Qed.

Variables (k : nat) (l : list I) (s s' : I -> R) (r : R).
Hypothesis (distinct : NoDup l) (size : (1 <= k <= length l)%nat) (near : spread l s s' r).

Theorem peeled_sets_are_a_law : law (sets k l) (peeled_set k l s).
Proof. apply image_is_a_law, peeling_is_a_law; [assumption|apply size]. Qed.

Theorem peeled_sets_pure : pure (sets k l) (peeled_set k l s) (peeled_set k l s') (INR (Nat.min k (length l - 1)) * r).
Proof. apply image_pure; try (apply peeling_is_a_law; [assumption|apply size]). now apply peeling_pure. Qed.

Theorem peeled_sets_range : range (sets k l) (peeled_set k l s) (peeled_set k l s') (INR (Nat.min (2 * k) (length l) - 1) * r).
Proof. apply image_range; try (apply peeling_is_a_law; [assumption|apply size]). now apply peeling_range. Qed.

Theorem peeled_sets_zCDP : 0 < r ->
  zCDP (sets k l) (peeled_set k l s) (peeled_set k l s') (INR (Nat.min k (length l - 1)) * price r).
Proof.
  intros positive. apply image_zCDP; try (apply peeling_is_a_law; [assumption|apply size]).
  apply peeling_zCDP; try assumption. apply size.
Qed.

End Sets.
