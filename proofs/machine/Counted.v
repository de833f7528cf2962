(* Digits against integrals: where the first digits of independent uniform numbers leave no other ranking possible, the
   share of such digits is at most the ranking's probability, defined as an iterated integral. *)
From Coq Require Import Reals List Lra Lia Bool Arith Permutation Sorted.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws PermuteAndFlip ClassA ClassABound Jumps Exponential Peeling OneShot Best Boundaries Released Cells Parts.
Import ListNotations.
Open Scope R_scope.

Section InOrder.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Notation without := (remove same).

(* y are the best of l in the values Y, best first. *)
Fixpoint in_order (l : list I) (y : list I) (Y : I -> R) : Prop :=
  match y with
  | [] => True
  | i :: z => (forall j, In j (without i l) -> Y j < Y i) /\ in_order (without i l) z Y
  end.

Lemma in_order_local : forall y l Y Y', incl y l -> (forall i, In i l -> Y i = Y' i) -> NoDup y -> in_order l y Y -> in_order l y Y'.
Proof.
  induction y as [|i z IH]; intros l Y Y' within equal distinct order; [easy|]. destruct order as [first rest].
  inversion distinct as [|? ? fresh distinct']; subst. split.
  - intros j here. rewrite <- (equal i) by (apply within; now left). rewrite <- (equal j) by now apply (without_incl same i l).
    now apply first.
  - apply (IH _ Y); [|intros j here; apply equal; now apply (without_incl same i l)|assumption|assumption].
    intros j here. apply in_in_remove; [congruence|]. apply within. now right.
Qed.

(* Those in order are the ranking of the values. *)
Lemma in_order_ranks : forall k y l Y, NoDup l -> In y (rankings same k l) -> in_order l y Y -> ranking (beats Y) k l y.
Proof.
  induction k as [|k IH]; intros y l Y distinct here order; apply rankings_shape in here;
    destruct here as [(zero & ->)|(n & i & z & next & -> & inside & there)]; try easy.
  - split; [|constructor]. repeat split; [constructor|intros ? []|intros ? ? []].
  - injection next as <-. destruct order as [first rest].
    destruct (IH z (without i l) Y (without_distinct same i l distinct) there rest) as [(fresh & within & size & ahead) sorted].
    assert (out : ~ In i z) by (intros back; apply within, in_remove in back; easy).
    split.
    + repeat split.
      * now constructor.
      * intros j [<-|back]; [assumption|]. now apply (without_incl same i l), within.
      * pose proof (without_length same i l distinct inside). cbn [length]. lia.
      * intros h j [<-|back] whole beyond; unfold beats.
        -- apply first. apply in_in_remove; [|assumption]. intros ->. apply beyond. now left.
        -- apply ahead; [assumption| |intros later; apply beyond; now right].
           apply in_in_remove; [|assumption]. intros ->. apply beyond. now left.
    + constructor; [assumption|]. apply Forall_forall. intros j back. now apply first, within.
Qed.

End InOrder.

Section Counted.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (f F : R -> R) (N : nat).
Hypothesis (is_noise : noise f F) (some : (0 < N)%nat).
Notation without := (remove same).
Notation ranked := (fun losers => ranked losers f F).
Notation in_order := (in_order same).

(* The noises z are possible where all that is known of the uniform numbers is in which of the N parts they lie. *)
Definition possible (l : list I) (c : I -> nat) (z : I -> R) : Prop := forall i, In i l -> in_part F N (c i) (z i).

Lemma somewhere : forall l c, (forall i, In i l -> (c i < N)%nat) -> exists z, possible l c z.
Proof.
  assert (one : forall m, exists z, (m < N)%nat -> in_part F N m z).
  { intros m. destruct (le_lt_dec N m); [exists 0; lia|].
    destruct (middle f F N is_noise some m ltac:(assumption) 0) as (z & inside & _);
      [rewrite Rmult_0_r, S_INR; pose proof (pos_INR m); lra|lra|now exists z]. }
  intros l c reach. induction l as [|i l IH]; [exists (fun _ => 0); intros ? []|].
  destruct IH as (z & fits); [intros j here; apply reach; now right|]. destruct (one (c i)) as (x & inside).
  exists (fun j => if same j i then x else z j). intros j here. destruct (same j i) as [->|other].
  - apply inside, reach. now left.
  - apply fits. destruct here as [<-|]; [easy|assumption].
Qed.

Section Scores.
Variables (s : I -> R).
Notation noisy := (fun (z : I -> R) (i : I) => s i + z i).

(* Whoever must stay below v lies in a part below v. *)
Lemma part_below : forall l c i v, (forall j, In j l -> (c j < N)%nat) -> In i l ->
  (forall z, possible l c z -> s i + z i < v) -> INR (S (c i)) <= INR N * F (v - s i).
Proof.
  intros l c i v reach here below. apply Rnot_lt_le. intros under.
  destruct (middle f F N is_noise some (c i) (reach i here) (F (v - s i)) under) as (x & inside & beyond);
    [now apply (F_nonneg f F)|].
  destruct (somewhere l c reach) as (z & fits).
  assert (x <= v - s i).
  { specialize (below (fun j => if same j i then x else z j)). cbv beta in below. destruct (same i i); [|easy].
    apply Rlt_le. cut (s i + x < v); [lra|]. apply below. intros j there. destruct (same j i) as [->|]; [assumption|now apply fits]. }
  pose proof (F_grows f F is_noise x (v - s i) ltac:(assumption)). lra.
Qed.

Definition counted (l : list I) (c : I -> nat) (D : (I -> nat) -> bool) : R :=
  sum (fun c => indicator (D c)) (assignments same N l c) / INR N ^ length l.

Lemma counted_between : forall l c D, 0 <= counted l c D <= 1.
Proof.
  intros l c D. pose proof (many_pos N some (length l)) as positive. unfold counted, Rdiv. split.
  - apply Rmult_le_pos; [|now apply Rlt_le, Rinv_0_lt_compat]. apply sum_nonneg. intros. apply indicator_between.
  - apply Rmult_le_reg_r with (INR N ^ length l); [assumption|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra.
    rewrite <- (how_many same N l c). apply sum_le. intros. apply indicator_between.
Qed.

Lemma counted_step : forall i l c D,
  counted (i :: l) c D = sum (fun m => counted l (put same c i m) D) (seq 0 N) / INR N.
Proof.
  intros i l c D. unfold counted. cbn [assignments]. rewrite sum_flat_map. unfold Rdiv. rewrite sum_scale_right. simpl.
  pose proof (parts_pos N some). pose proof (many_pos N some (length l)). field. lra.
Qed.

Lemma counted_ext : forall l c D D', (forall c', In c' (assignments same N l c) -> D c' = D' c') -> counted l c D = counted l c D'.
Proof. intros l c D D' equal. unfold counted. f_equal. apply sum_ext. intros c' here. now rewrite equal. Qed.

Lemma counted_none : forall l c D, (forall c', In c' (assignments same N l c) -> D c' = false) -> counted l c D = 0.
Proof.
  intros l c D none. unfold counted. rewrite (sum_ext _ (fun _ => 0)) by (intros c' here; now rewrite none).
  rewrite sum_const. unfold Rdiv. ring.
Qed.

Lemma few_below : forall x M, 0 <= x -> sum (fun m => if Rle_dec (INR (S m)) x then 1 else 0) (seq 0 M) <= Rmin x (INR M).
Proof.
  intros x M nonneg. induction M as [|M IH]; [simpl; rewrite Rmin_right; lra|].
  rewrite seq_S, sum_app. cbn [sum]. rewrite Nat.add_0_l, S_INR. unfold Rmin in *. repeat destruct (Rle_dec _ _); lra.
Qed.

Lemma losers_counted : forall l c D v, NoDup l ->
  (forall c' i, In c' (assignments same N l c) -> D c' = true -> In i l -> INR (S (c' i)) <= INR N * F (v - s i)) ->
  counted l c D <= product (fun j => F (v - s j)) l.
Proof.
  induction l as [|i l IH]; intros c D v distinct below.
  - simpl. pose proof (counted_between [] c D). lra.
  - inversion distinct as [|? ? fresh distinct']; subst. rewrite counted_step. simpl product.
    pose proof (parts_pos N some) as positive. set (p := F (v - s i)).
    assert (0 <= p) by now apply (F_nonneg f F).
    assert (0 <= product (fun j => F (v - s j)) l) by (apply product_between; intros; now apply (F_between f F)).
    apply Rmult_le_reg_r with (INR N); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (sum (fun m => (if Rle_dec (INR (S m)) (INR N * p) then 1 else 0) * product (fun j => F (v - s j)) l) (seq 0 N)).
    + apply sum_le. intros m here.
      assert (inner : forall c', In c' (assignments same N l (put same c i m)) -> In c' (assignments same N (i :: l) c)).
      { intros c' there. simpl. apply in_flat_map. now exists m. }
      destruct (Rle_dec (INR (S m)) (INR N * p)) as [|above].
      * rewrite Rmult_1_l. apply IH; [assumption|]. intros c' j there yes later. apply below; [now apply inner|assumption|now right].
      * rewrite Rmult_0_l. apply Req_le, counted_none. intros c' there. destruct (D c') eqn:yes; [|reflexivity].
        exfalso. apply above. specialize (below c' i (inner c' there) yes (or_introl eq_refl)).
        now rewrite (outside same N l _ c' i there fresh), put_here in below.
    + rewrite sum_scale_right. pose proof (few_below (INR N * p) N ltac:(nra)) as few. pose proof (Rmin_l (INR N * p) (INR N)).
      apply Rle_trans with (INR N * p * product (fun j => F (v - s j)) l); [apply Rmult_le_compat_r; lra|apply Req_le; ring].
Qed.

(* A property of digits that leaves y the only possible ranking, and all below v. *)
Definition tells (l y : list I) (D : (I -> nat) -> bool) : Prop :=
  forall c z, D c = true -> possible l c z -> in_order l y (noisy z).

Definition all_below (l : list I) (v : R) (D : (I -> nat) -> bool) : Prop :=
  forall c z i, D c = true -> possible l c z -> In i l -> s i + z i < v.

Definition missing (y : list I) (low eps : R) : R := sum (fun i => F (low - s i) + eps) y.

Lemma missing_nonneg : forall y low eps, 0 < eps -> 0 <= missing y low eps.
Proof. intros y low eps small. apply sum_nonneg. intros i _. pose proof (F_nonneg f F is_noise (low - s i)). lra. Qed.

Lemma respects : forall D : (I -> nat) -> bool, (forall a b, (forall h, a h = b h) -> D a = D b) ->
  forall a b, (forall h, a h = b h) -> indicator (D a) = indicator (D b).
Proof. intros D local a b equal. now rewrite (local a b). Qed.

(* One step of the integral: the best one's noise lies in one part after the other. *)
Lemma best_first : forall i l z low v eps c D, NoDup l -> In i l -> incl z (without i l) -> NoDup z ->
  low <= v -> 0 < eps -> (forall a b, (forall h, a h = b h) -> D a = D b) -> tells l (i :: z) D ->
  (forall low' v' c' D', low <= low' -> low' = low -> low' <= v' -> (forall a b, (forall h, a h = b h) -> D' a = D' b) ->
    tells (without i l) z D' -> all_below (without i l) v' D' ->
    counted (without i l) c' D' <= ranked (left_over same (without i l) z) low' s z v' + missing z low' eps) ->
  filled N (fun m => counted (without i l) (put same c i m) D) (F (v - s i))
    <= ranked (left_over same l (i :: z)) low s (i :: z) v + missing (i :: z) low eps.
Proof.
  intros i l z low v eps c D distinct here within fresh order small local known IH.
  pose proof (parts_below f F N is_noise some (fun m => counted (without i l) (put same c i m) D)
    (ranked (left_over same (without i l) z) low s z) (s i) low (missing z low eps)) as step.
  cbn [left_over ClassA.ranked]. unfold missing at 1. cbn [sum]. fold (missing z low eps).
  apply Rle_trans with (RInt (fun u => f (u - s i) * ranked (left_over same (without i l) z) low s z u) low v + missing z low eps + F (low - s i) + eps);
    [apply step; clear step|cbv beta; lra].
  - intros m. apply counted_between.
  - intros u. apply ranked_smooth; apply is_noise.
  - now apply missing_nonneg.
  - intros m u reach above inside.
    rewrite (counted_ext _ _ D (fun c' => D c' && Nat.eqb (c' i) m)).
    + apply IH; [lra|reflexivity|assumption| | |].
      * intros a b equal. now rewrite (local a b), (equal i).
      * intros c' z' yes fits. apply andb_prop in yes. destruct yes as [yes at_m]. apply Nat.eqb_eq in at_m.
        set (z'' := fun j => if same j i then u - s i else z' j).
        assert (fits' : possible l c' z'').
        { intros j inside'. unfold z''. destruct (same j i) as [->|other]; [now rewrite at_m|].
          apply fits. now apply in_in_remove. }
        destruct (known c' z'' yes fits') as [_ rest]. apply (in_order_local same z _ (noisy z'')); try assumption.
        intros j there. unfold z''. apply in_remove in there. now destruct (same j i).
      * intros c' z' j yes fits there. apply andb_prop in yes. destruct yes as [yes at_m]. apply Nat.eqb_eq in at_m.
        set (z'' := fun h => if same h i then u - s i else z' h).
        assert (fits' : possible l c' z'').
        { intros h inside'. unfold z''. destruct (same h i) as [->|other]; [now rewrite at_m|].
          apply fits. now apply in_in_remove. }
        destruct (known c' z'' yes fits') as [first _]. specialize (first j there). unfold z'' in first.
        apply in_remove in there. destruct (same i i); [|easy]. destruct (same j i); [tauto|]. lra.
    + intros c' there. rewrite (outside same N _ _ c' i there), put_here, Nat.eqb_refl by apply remove_In.
      now rewrite andb_true_r.
  - assumption.
  - assumption.
  - intros u above. apply ranked_nonneg; try apply is_noise; [now apply (F_nonneg f F)|assumption].
Qed.

Lemma counted_first : forall i l c D, NoDup l -> In i l -> (forall a b, (forall h, a h = b h) -> D a = D b) ->
  counted l c D = sum (fun m => counted (without i l) (put same c i m) D) (seq 0 N) / INR N.
Proof.
  intros i l c D distinct here local.
  assert (all : Permutation l (i :: without i l)).
  { apply NoDup_Permutation; [assumption| |].
    - constructor; [apply remove_In|now apply without_distinct].
    - intros j. split; [|intros [<-|back]; [assumption|now apply (without_incl same i l)]].
      intros back. destruct (same j i) as [->|other]; [now left|right; now apply in_in_remove]. }
  rewrite <- counted_step. unfold counted. rewrite (any_order same N l (i :: without i l) c _ (respects D local) all).
  now rewrite (Permutation_length all).
Qed.

Lemma counted_under : forall k y l low v eps c D, NoDup l -> In y (rankings same k l) -> low <= v -> 0 < eps ->
  (forall a b, (forall h, a h = b h) -> D a = D b) -> tells l y D -> all_below l v D ->
  counted l c D <= ranked (left_over same l y) low s y v + missing y low eps.
Proof.
  induction k as [|k IH]; intros y l low v eps c D distinct here order small local known below;
    pose proof (ranking_of same _ l y distinct here) as (_ & fresh & within); apply rankings_shape in here;
    destruct here as [(zero & ->)|(n & i & z & next & -> & inside & there)]; try easy.
  - unfold missing. simpl. rewrite Rplus_0_r. apply losers_counted; [assumption|]. intros c' i here yes inside.
    apply (part_below l); [intros j there; now apply (in_reach same N l c)|assumption|]. intros z fits. now apply (below c' z i).
  - injection next as <-. inversion fresh as [|? ? out fresh']; subst.
    assert (within' : incl z (without i l)).
    { intros j back. apply in_in_remove; [congruence|]. apply within. now right. }
    eapply Rle_trans; [|apply (best_first i l z low v eps c D); try assumption].
    + rewrite (counted_first i) by assumption. apply Req_le. unfold filled. f_equal. apply sum_ext. intros m low_m. apply in_seq in low_m.
      destruct (Rle_or_lt (INR (S m)) (INR N * F (v - s i))) as [full|above].
      * unfold portion. rewrite S_INR in full. rewrite Rmin_left, Rmax_right by lra. ring.
      * rewrite counted_none; [ring|]. intros c' back. destruct (D c') eqn:yes; [|reflexivity]. exfalso. apply (Rlt_not_le _ _ above).
        rewrite <- (put_here same c i m), <- (outside same N _ _ c' i back) by apply remove_In.
        apply (part_below l); [|assumption|intros z' fits; now apply (below c' z' i)]. intros j among.
        destruct (same j i) as [->|other].
        -- rewrite (outside same N _ _ c' i back), put_here by apply remove_In. lia.
        -- apply (in_reach same N _ _ c' j back). now apply in_in_remove.
    + intros low' v' c' D' _ -> order' local' known' below'. apply (IH z (without i l)); auto. now apply without_distinct.
Qed.

(* The theorem: digits that leave no other ranking possible are no more probable than the ranking. *)
Theorem no_more_than_released : forall k y l D, NoDup l -> In y (rankings same k l) -> (1 <= k)%nat ->
  (forall a b, (forall h, a h = b h) -> D a = D b) -> tells l y D -> share same N l D <= released same f F l s y.
Proof.
  intros k y l D distinct here least local known.
  pose proof (ranking_of same _ l y distinct here) as (_ & fresh & within).
  apply rankings_shape in here. destruct here as [(zero & _)|(n & i & z & -> & -> & inside & there)]; [lia|].
  inversion fresh as [|? ? out fresh']; subst.
  assert (within' : incl z (without i l)).
  { intros j back. apply in_in_remove; [congruence|]. apply within. now right. }
  change (share same N l D) with (counted l (fun _ => O) D). apply le_epsilon. intros eps small.
  set (each := eps / INR (S (length z))).
  assert (0 < INR (S (length z))) by (apply lt_0_INR; lia).
  assert (each_pos : 0 < each) by now apply Rdiv_lt_0_compat.
  pose proof (parts_pos N some) as positive.
  assert (bound : forall m : nat, counted l (fun _ => O) D - INR N * (1 - F (INR m - s i))
    <= ranked (left_over same l (i :: z)) (- INR m) s (i :: z) (INR m) + missing (i :: z) (- INR m) each).
  { intros m. eapply Rle_trans; [|apply (best_first i l z (- INR m) (INR m) each (fun _ => O) D); try assumption].
    - rewrite (counted_first i) by assumption. unfold filled. pose proof (F_between f F is_noise (INR m - s i)) as between.
      set (p := F (INR m - s i)) in *. set (K := fun m => counted (without i l) (put same (fun _ => O) i m) D).
      assert (less : sum K (seq 0 N) - INR N * INR N * (1 - p) <= sum (fun m => K m * portion (INR N * p - INR m)) (seq 0 N)).
      { replace (INR N * INR N * (1 - p)) with (sum (fun _ : nat => INR N * (1 - p)) (seq 0 N))
          by (rewrite sum_const, seq_length; ring).
        rewrite <- sum_minus. apply sum_le. intros n' low. apply in_seq in low. destruct low as [_ low]. rewrite Nat.add_0_l in low.
        apply le_INR in low. rewrite S_INR in low. pose proof (counted_between (without i l) (put same (fun _ => O) i n') D) as unit.
        fold (K n') in unit. unfold portion. unfold Rmax, Rmin. repeat destruct (Rle_dec _ _); nra. }
      fold K. replace (sum K (seq 0 N) / INR N - INR N * (1 - p)) with ((sum K (seq 0 N) - INR N * INR N * (1 - p)) / INR N)
        by (field; lra).
      apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|exact less].
    - apply wide.
    - intros low' v' c' D' _ -> order' local' known' below'. apply (counted_under n); auto. now apply without_distinct. }
  apply (is_lim_seq_le _ _ (counted l (fun _ => O) D) (released same f F l s (i :: z) + eps) bound).
  - evar_last; [apply is_lim_seq_minus'; [apply is_lim_seq_const|]|].
    + apply is_lim_seq_mult'; [apply is_lim_seq_const|]. apply is_lim_seq_minus'; [apply is_lim_seq_const|now apply (all_the_way f F)].
    + simpl. f_equal. ring.
  - apply is_lim_seq_plus'; [now apply (released_is same f F is_noise s l (i :: z))|]. unfold missing.
    evar_last; [apply (sum_limit (fun j m => F (- INR m - s j) + each) (fun _ => 0 + each))|].
    + intros j. apply is_lim_seq_plus'; [now apply (all_the_way_down f F)|apply is_lim_seq_const].
    + f_equal. rewrite sum_const. unfold each. cbn [length]. field. lra.
Qed.

End Scores.
End Counted.
