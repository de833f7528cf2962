(* Sets of winners with independent noise on all scores, and Gumbel noise, whose rankings have the law of peeling. *)
From Coq Require Import Reals List Lra Lia Permutation.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PeelingRange PeelingConcentrated RangeConcentrated Digits Images Sets.
From Machine Require Import ClassABound Gumbel GumbelLaw Jumps OneShot OneShotLoss Noises.
Import ListNotations.
Open Scope R_scope.

Section Released.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).

Lemma everybody_has_a_place : forall j m y, NoDup m -> In y (rankings same j m) -> Permutation m (y ++ left_over same m y).
Proof.
  intros j m y. revert m j. induction y as [|i z IH]; intros m j fresh here; [reflexivity|].
  destruct j as [|j]; [now destruct here|]. apply rankings_step in here. destruct here as [inside there]. simpl.
  rewrite <- (IH (remove same i m) j (without_distinct same i m fresh) there).
  apply NoDup_Permutation; [assumption| |].
  - constructor; [|now apply without_distinct]. intros back. apply in_remove in back. easy.
  - intros h. destruct (same h i) as [->|other].
    + split; [now left|intros _; assumption].
    + split; [intros back; right; now apply in_in_remove|intros [<-|back]; [easy|now apply in_remove in back]].
Qed.

(* The probability of a set is that of all its orders. *)
Definition released_set (f F : R -> R) (k : nat) (l : list I) (s : I -> R) : list bool -> R :=
  image word_eq (set_of same l) (rankings same k l) (released same f F l s).

Variables (f F : R -> R) (k : nat) (l : list I) (s s' : I -> R) (r : R).
Hypothesis (is_noise : noise f F) (distinct : NoDup l) (enough : (k <= length l)%nat) (near : spread l s s' r).

Theorem released_sets_are_a_law : law (sets same k l) (released_set f F k l s).
Proof. now apply image_is_a_law, released_is_a_law. Qed.

Theorem released_sets_pure :
  pure (sets same k l) (released_set f F k l s) (released_set f F k l s') (INR (Nat.min k (length l - 1)) * r).
Proof. apply image_pure; try (now apply released_is_a_law). now apply released_pure. Qed.

(* Who releases everybody tells nothing. *)
Theorem everybody : k = length l -> pure (sets same k l) (released_set f F k l s) (released_set f F k l s') 0.
Proof.
  intros all b here. unfold sets in here. apply releases_are in here. destruct here as (y & inside & <-).
  assert (certain : forall t, released_set f F k l t (set_of same l y) = 1).
  { intros t. unfold released_set, image. rewrite filter_all; [now apply released_add_up|].
    intros z there. apply leads. apply sets_forget_the_order.
    - now apply (ranking_of same k l z distinct).
    - now apply (ranking_of same k l y distinct).
    - assert (full : forall w, In w (rankings same k l) -> incl l w).
      { intros w back. destruct (ranking_of same k l w distinct back) as (size & fresh & within).
        apply NoDup_length_incl; [assumption|lia|assumption]. }
      intros i. split; intros back.
      + apply (full y inside). now apply (ranking_of same k l z distinct there).
      + apply (full z there). now apply (ranking_of same k l y distinct inside). }
  unfold loss. rewrite !certain. replace (1 / 1) with 1 by field. rewrite ln_1, Rabs_R0. apply Rle_refl.
Qed.

End Released.

Section Gumbels.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Variables (k : nat) (l : list I) (s s' : I -> R) (r : R).
Hypothesis (distinct : NoDup l) (size : (1 <= k <= length l)%nat) (close : spread l s s' r).
Notation drawn := (released same density gumbel l).

Theorem gumbel_is_peeled : forall t y, In y (rankings same k l) -> drawn t y = peeled same l t y.
Proof.
  intros t y here. assert (one := released_is same density gumbel gumbel_is_noise t l y).
  assert (two := gumbel_rankings_are_peeled same t l y (left_over same l y) distinct (everybody_has_a_place same k l y distinct here)).
  unfold probability in *. apply is_lim_seq_unique in one. apply is_lim_seq_unique in two. rewrite one in two. now injection two.
Qed.

Lemma same_loss : forall y, In y (rankings same k l) -> loss (drawn s) (drawn s') y = loss (peeled same l s) (peeled same l s') y.
Proof. intros y here. unfold loss. now rewrite !gumbel_is_peeled. Qed.

Theorem gumbel_range :
  range (rankings same k l) (drawn s) (drawn s') (INR (Nat.min (2 * k) (length l) - 1) * r).
Proof. intros y z here there. rewrite !same_loss by assumption. now apply peeling_range. Qed.

End Gumbels.

Section Concentrated.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Notation drawn := (released same density gumbel).

Lemma gumbel_renyi : forall k l s s' rho, NoDup l -> (1 <= k <= length l)%nat ->
  renyi (rankings same k l) (peeled same l s) (peeled same l s') rho ->
  renyi (rankings same k l) (drawn l s) (drawn l s') rho.
Proof.
  intros k l s s' rho distinct size near alpha order. eapply Rle_trans; [|exact (near alpha order)]. apply Req_le, sum_ext.
  intros y here. now erewrite same_loss, gumbel_is_peeled by eassumption.
Qed.

Theorem gumbel_zCDP : forall k l s s' r, NoDup l -> (1 <= k <= length l)%nat -> spread l s s' r -> 0 < r ->
  zCDP (rankings same k l) (drawn l s) (drawn l s') (INR (Nat.min k (length l - 1)) * price r).
Proof.
  intros k l s s' r distinct size near positive.
  destruct (peeling_zCDP same k l s s' r) as [one two]; try assumption; try apply size.
  split; now apply gumbel_renyi.
Qed.

Variables (k : nat) (l : list I) (s s' : I -> R) (r : R).
Hypothesis (distinct : NoDup l) (size : (1 <= k <= length l)%nat) (close : spread l s s' r).

Theorem gumbel_sets_range : range (sets same k l) (released_set same density gumbel k l s)
  (released_set same density gumbel k l s') (INR (Nat.min (2 * k) (length l) - 1) * r).
Proof.
  apply image_range; try (apply released_is_a_law; [exact gumbel_is_noise|assumption|apply size]). now apply gumbel_range.
Qed.

Theorem gumbel_sets_zCDP : 0 < r -> zCDP (sets same k l) (released_set same density gumbel k l s)
  (released_set same density gumbel k l s') (INR (Nat.min k (length l - 1)) * price r).
Proof.
  intros positive. apply image_zCDP; try (apply released_is_a_law; [exact gumbel_is_noise|assumption|apply size]).
  now apply gumbel_zCDP.
Qed.

End Concentrated.
