(* What the k best of independent noisy scores cost, for every noise of class A: at most k r, and d - 1 steps where all are ranked. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PermuteAndFlip ClassA ClassABound Jumps OneShot.
Import ListNotations.
Open Scope R_scope.

Section Loss.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (f F : R -> R).
Hypothesis (is_noise : noise f F).
Notation without := (remove same).
Notation rankings := (rankings same).
Notation left_over := (left_over same).
Notation released := (released same f F).

Lemma left_over_within : forall y l, incl (left_over l y) l.
Proof.
  induction y as [|i z IH]; intros l j here; simpl in here; [assumption|].
  apply IH in here. now apply without_incl in here.
Qed.

(* Scores between s and s + r: the sums of the deltas, on both sides, without a logarithm. *)
Lemma above_released : forall k l s s' r y, NoDup l -> In y (rankings k l) -> 0 <= r ->
  (forall i, In i l -> 0 <= s' i - s i <= r) ->
  exp (- sum (fun i => s' i - s i) y) * released l s' y <= released l s y.
Proof.
  intros k l s s' r y distinct here nonneg near. destruct (ranking_of same k l y distinct here) as (_ & _ & within).
  apply (above (left_over l y) f F) with (r := r); try apply released_is; try assumption.
  - now apply f_nonneg with F.
  - now apply f_fits with F.
  - now apply F_nonneg with f.
  - now apply F_smooth with f.
  - now apply F_grows with f.
  - now apply class_A with F.
  - intros i inside. now apply near, within.
  - intros i inside. now apply near, (left_over_within y).
Qed.

Lemma under_released : forall k l s s' r y, NoDup l -> In y (rankings k l) -> 0 <= r ->
  (forall i, In i l -> 0 <= s' i - s i <= r) ->
  exp (- sum (fun i => r - (s' i - s i)) y) * released l s y <= released l s' y.
Proof.
  intros k l s s' r y distinct here nonneg near. destruct (ranking_of same k l y distinct here) as (_ & _ & within).
  apply (under (left_over l y) f F); try apply released_is; try assumption.
  - now apply f_nonneg with F.
  - now apply f_fits with F.
  - now apply F_nonneg with f.
  - now apply F_smooth with f.
  - now apply F_grows with f.
  - now apply class_A with F.
  - intros i inside. now apply near, within.
  - intros i inside. now apply near, (left_over_within y).
Qed.

(* Where nothing is above and the sums are equal, nothing is below. *)
Lemma equal_where_sums_are : forall {A : Type} (P Q : A -> R) l, (forall y, In y l -> P y <= Q y) -> sum P l = sum Q l ->
  forall y, In y l -> P y = Q y.
Proof.
  intros A P Q l less equal y here. apply Rle_antisym; [now apply less|].
  pose proof (sum_member (fun y => Q y - P y) l y) as one. cbv beta in one. rewrite sum_minus in one.
  cut (Q y - P y <= sum Q l - sum P l); [lra|]. apply one; [|assumption]. intros z there. specialize (less z there). lra.
Qed.

(* One constant added to all scores changes nothing. *)
Theorem released_shift : forall k l s c y, NoDup l -> (k <= length l)%nat -> In y (rankings k l) ->
  released l (fun i => s i + c) y = released l s y.
Proof.
  intros k l s c y distinct enough here.
  assert (up : forall t b, 0 <= b -> forall z, In z (rankings k l) -> released l t z = released l (fun i => t i + b) z).
  { intros t b nonneg. apply equal_where_sums_are; [|now rewrite !released_add_up].
    intros z inside. pose proof (under_released k l t (fun i => t i + b) b z distinct inside nonneg) as low.
    rewrite (sum_ext _ (fun _ => 0)), sum_const, Rmult_0_r, Ropp_0, exp_0, Rmult_1_l in low by (intros; ring).
    apply low. intros i _. lra. }
  destruct (Rle_or_lt 0 c) as [nonneg|negative]; [symmetry; now apply up|].
  rewrite (up (fun i => s i + c) (- c)) by (try assumption; lra).
  f_equal. apply FunctionalExtensionality.functional_extensionality. intros i. ring.
Qed.

(* Where all scores are equal, all rankings are equally probable. *)
Lemma ranked_equal : forall m low y y' (u u' : list I) v, length u = length u' -> length y = length y' ->
  ranked u f F low (fun _ => m) y v = ranked u' f F low (fun _ => m) y' v.
Proof.
  intros m low y. induction y as [|i z IH]; intros [|i' z'] u u' v many many'; try easy; cbn [ranked].
  - revert u' many. induction u as [|j u IH]; intros [|j' u'] many; try easy. simpl. f_equal. apply IH. now injection many.
  - apply RInt_ext. intros x _. f_equal. apply IH; [assumption|now injection many'].
Qed.

Lemma left_over_length : forall k l y, NoDup l -> In y (rankings k l) -> (k + length (left_over l y))%nat = length l.
Proof.
  induction k as [|k IH]; intros l y distinct inside; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; try easy.
  injection next as <-. simpl. rewrite (IH (without i l)); [|now apply without_distinct|assumption].
  now apply without_length.
Qed.

Lemma equal_scores : forall k l m y, NoDup l -> (k <= length l)%nat -> In y (rankings k l) -> 0 < released l (fun _ => m) y.
Proof.
  intros k l m y distinct enough here. assert (one := released_add_up same f F is_noise (fun _ => m) k l distinct enough).
  rewrite (sum_ext _ (fun _ => released l (fun _ => m) y)), sum_const in one.
  - pose proof (pos_INR (length (rankings k l))). nra.
  - intros z there. unfold OneShot.released. f_equal. apply Lim_seq_ext. intros n.
    pose proof (left_over_length k l y distinct here). pose proof (left_over_length k l z distinct there).
    apply ranked_equal; [lia|]. now rewrite (proj1 (ranking_of same k l y distinct here)), (proj1 (ranking_of same k l z distinct there)).
Qed.

Lemma all_between : forall (l : list I) (s : I -> R), exists m r, 0 <= r /\ forall i, In i l -> m <= s i <= m + r.
Proof.
  intros l s. induction l as [|i l (m & r & nonneg & near)]; [exists 0, 0; split; [lra|easy]|].
  exists (Rmin m (s i)), (Rmax (m + r) (s i) - Rmin m (s i)).
  pose proof (Rmin_l m (s i)). pose proof (Rmin_r m (s i)). pose proof (Rmax_l (m + r) (s i)). pose proof (Rmax_r (m + r) (s i)).
  split; [lra|]. intros j [<-|inside]; [lra|]. specialize (near j inside). lra.
Qed.

Theorem released_is_a_law : forall k l s, NoDup l -> (k <= length l)%nat -> law (rankings k l) (released l s).
Proof.
  intros k l s distinct enough. split; [|now apply released_add_up]. intros y here.
  destruct (all_between l s) as (m & r & nonneg & near).
  pose proof (under_released k l (fun _ => m) s r y distinct here nonneg) as low.
  eapply Rlt_le_trans; [|apply low; intros i inside; specialize (near i inside); lra].
  apply Rmult_lt_0_compat; [apply exp_pos|now apply (equal_scores k)].
Qed.

(* The loss of a ranking lies between two sums over its winners; c is the least of all changes. *)
Theorem released_loss : forall k l s s' r c y, NoDup l -> (k <= length l)%nat -> In y (rankings k l) -> 0 <= r ->
  (forall i, In i l -> c <= s' i - s i <= c + r) ->
  - sum (fun i => r - (s' i - s i - c)) y <= loss (released l s) (released l s') y <= sum (fun i => s' i - s i - c) y.
Proof.
  intros k l s s' r c y distinct enough here nonneg near.
  pose proof (proj1 (released_is_a_law k l s distinct enough) y here) as positive.
  pose proof (proj1 (released_is_a_law k l s' distinct enough) y here) as positive'.
  assert (moved : forall i, In i l -> 0 <= (s' i + - c) - s i <= r) by (intros i inside; specialize (near i inside); lra).
  pose proof (above_released k l s (fun i => s' i + - c) r y distinct here nonneg moved) as high.
  pose proof (under_released k l s (fun i => s' i + - c) r y distinct here nonneg moved) as low.
  rewrite (released_shift k) in high, low by assumption. cbv beta in high, low.
  rewrite (sum_ext _ (fun i => s' i - s i - c)) in high by (intros; ring).
  rewrite (sum_ext _ (fun i => r - (s' i - s i - c))) in low by (intros; ring).
  unfold loss. rewrite ln_quotient by assumption. split.
  - cut (ln (exp (- sum (fun i => r - (s' i - s i - c)) y) * released l s y) <= ln (released l s' y)).
    + rewrite ln_mult, ln_exp by (try apply exp_pos; assumption). lra.
    + apply ln_le; [|assumption]. apply Rmult_lt_0_compat; [apply exp_pos|assumption].
  - cut (ln (exp (- sum (fun i => s' i - s i - c) y) * released l s' y) <= ln (released l s y)).
    + rewrite ln_mult, ln_exp by (try apply exp_pos; assumption). lra.
    + apply ln_le; [|assumption]. apply Rmult_lt_0_compat; [apply exp_pos|assumption].
Qed.

Lemma k_steps : forall k l s s' r, NoDup l -> (k <= length l)%nat -> spread l s s' r ->
  pure (rankings k l) (released l s) (released l s') (INR k * r).
Proof.
  intros k l s s' r distinct enough near y here. destruct (ranking_of same k l y distinct here) as (size & _ & within).
  assert (few : forall g : I -> R, (forall i, In i y -> g i <= r) -> sum g y <= INR k * r).
  { intros g less. rewrite <- size, <- sum_const. now apply sum_le. }
  destruct l as [|j l].
  - destruct k as [|k]; [|simpl in enough; lia]. destruct here as [<-|[]].
    pose proof (released_loss 0 [] s s' 0 0 [] ltac:(constructor) ltac:(simpl; lia) ltac:(now left) ltac:(lra) ltac:(easy)) as between.
    simpl in between. apply Rabs_le. simpl. lra.
  - destruct (all_within (j :: l) s s' r ltac:(discriminate) near) as (c & between).
    pose proof (spread_nonneg j (j :: l) s s' r ltac:(now left) near) as nonneg.
    pose proof (released_loss k (j :: l) s s' r c y distinct enough here nonneg between) as [low high].
    pose proof (few (fun i => s' i - s i - c) ltac:(intros i inside; specialize (between i (within i inside)); lra)).
    pose proof (few (fun i => r - (s' i - s i - c)) ltac:(intros i inside; specialize (between i (within i inside)); lra)).
    apply Rabs_le. lra.
Qed.

(* One more winner: a ranking of k is followed by one of those who are left. *)
Lemma left_over_next : forall y l i, left_over l (y ++ [i]) = without i (left_over l y).
Proof. induction y as [|j z IH]; intros l i; simpl; [reflexivity|]. apply IH. Qed.

Lemma rankings_next : forall k l y, NoDup l -> In y (rankings (S k) l) ->
  exists z i, y = z ++ [i] /\ In z (rankings k l) /\ In i (left_over l z).
Proof.
  induction k as [|k IH]; intros l y distinct inside; apply rankings_shape in inside;
    destruct inside as [(zero & ->)|(n & i & z & next & -> & here & there)]; try easy; injection next as <-.
  - destruct there as [<-|[]]. exists [], i. simpl. auto.
  - destruct (IH _ z (without_distinct same i l distinct) there) as (w & j & -> & inside & last).
    exists (i :: w), j. split; [reflexivity|]. split; [now apply rankings_step|assumption].
Qed.

Lemma sum_next : forall k l (g : list I -> R),
  sum (fun y => sum (fun i => g (y ++ [i])) (left_over l y)) (rankings k l) = sum g (rankings (S k) l).
Proof.
  induction k as [|k IH]; intros l g.
  - simpl. rewrite sum_flat_map, Rplus_0_r. apply sum_ext. intros i _. simpl. ring.
  - change (rankings (S (S k)) l) with (flat_map (fun i => map (cons i) (rankings (S k) (without i l))) l).
    change (rankings (S k) l) with (flat_map (fun i => map (cons i) (rankings k (without i l))) l) at 1.
    rewrite !sum_flat_map. apply sum_ext. intros i _. rewrite !sum_map.
    rewrite <- (IH (without i l) (fun z => g (i :: z))). apply sum_ext. intros z _. reflexivity.
Qed.

Lemma ranked_next : forall s low y m v, NoDup m -> low <= v ->
  sum (fun i => ranked (without i m) f F low s (y ++ [i]) v) m <= ranked m f F low s y v.
Proof.
  intros s low y m. induction y as [|j z IH]; intros v distinct above; cbn [app ranked].
  - pose proof (somebody_is_best same f F is_noise s m low v distinct above) as whole.
    unfold best_of, all_under in whole. rewrite whole.
    pose proof (all_under_between f F is_noise s m low) as nonneg. unfold all_under in nonneg. lra.
  - assert (fits : forall i, ex_RInt (fun u => f (u - s j) * ranked (without i m) f F low s (z ++ [i]) u) low v).
    { intros i. now apply inner_fits. }
    destruct (sum_integral_over (fun i u => f (u - s j) * ranked (without i m) f F low s (z ++ [i]) u) m low v fits) as [whole <-].
    apply RInt_le; [assumption|exact whole|now apply inner_fits|].
    intros u between. rewrite sum_scale. apply Rmult_le_compat_l; [now apply f_nonneg with F|]. apply IH; [assumption|lra].
Qed.

Lemma left_over_distinct : forall y l, NoDup l -> NoDup (left_over l y).
Proof. induction y as [|i z IH]; intros l distinct; simpl; [assumption|]. now apply IH, without_distinct. Qed.

Theorem released_next : forall k l s y, NoDup l -> (S k <= length l)%nat -> In y (rankings k l) ->
  released l s y = sum (fun i => released l s (y ++ [i])) (left_over l y).
Proof.
  intros k l s y distinct enough here. symmetry. revert y here.
  apply (equal_where_sums_are (fun y => sum (fun i => released l s (y ++ [i])) (left_over l y)) (released l s)).
  - intros y here.
    apply (is_lim_seq_le (fun n => sum (fun i => ranked (left_over l (y ++ [i])) f F (- INR n) s (y ++ [i]) (INR n)) (left_over l y))
      (fun n => ranked (left_over l y) f F (- INR n) s y (INR n))
      (sum (fun i => released l s (y ++ [i])) (left_over l y)) (released l s y)).
    + intros n. rewrite (sum_ext _ (fun i => ranked (without i (left_over l y)) f F (- INR n) s (y ++ [i]) (INR n))).
      * apply ranked_next; [now apply left_over_distinct|apply wide].
      * intros i _. now rewrite left_over_next.
    + apply (sum_limit (fun i n => ranked (left_over l (y ++ [i])) f F (- INR n) s (y ++ [i]) (INR n))).
      intros i. now apply released_is.
    + now apply released_is.
  - rewrite sum_next, !released_add_up; try assumption; [reflexivity|lia].
Qed.

(* Where all are ranked, the last one is no news: its law is that of the others. *)
Theorem released_pure : forall k l s s' r, NoDup l -> (k <= length l)%nat -> spread l s s' r ->
  pure (rankings k l) (released l s) (released l s') (INR (Nat.min k (length l - 1)) * r).
Proof.
  intros k l s s' r distinct enough near.
  destruct (Nat.le_gt_cases k (length l - 1)) as [few|all]; [rewrite Nat.min_l by assumption; now apply k_steps|].
  destruct k as [|k]; [lia|]. assert (everybody : length l = S k) by lia.
  replace (Nat.min (S k) (length l - 1)) with k by lia. intros y here.
  destruct (rankings_next k l y distinct here) as (z & i & -> & inside & last).
  pose proof (left_over_length k l z distinct inside) as alone.
  assert (only : left_over l z = [i]).
  { destruct (left_over l z) as [|j [|h m]]; [easy| |simpl in alone; lia]. now destruct last as [<-|[]]. }
  assert (equal : forall t, released l t (z ++ [i]) = released l t z).
  { intros t. rewrite (released_next k l t z) by (try assumption; lia). rewrite only. simpl. ring. }
  unfold loss. rewrite !equal. apply (k_steps k l s s' r distinct ltac:(lia) near z inside).
Qed.

End Loss.
