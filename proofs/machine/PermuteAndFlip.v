(* Permute-and-flip: its law is the integral of a polynomial; it is a law, and its pure loss is at most r. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling Orders.
Import ListNotations.
Open Scope R_scope.

Fixpoint product {A : Type} (f : A -> R) (l : list A) : R :=
  match l with
  | [] => 1
  | a :: m => f a * product f m
  end.

(* The integral of a continuous function. *)
Lemma integrable : forall (f : R -> R) a b, (forall x, continuous f x) -> ex_RInt f a b.
Proof. intros f a b smooth. apply (@ex_RInt_continuous R_CompleteNormedModule). intros x _. apply smooth. Qed.

Section Mechanism.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}).
Notation without := (remove same).

(* All of the listed candidates arrive later than x or show tails, in units of the best weight. *)
Definition losers (l : list I) (s : I -> R) (x : R) : R := product (fun j => 1 - x * exp (s j)) l.
Definition top (l : list I) (s : I -> R) : R := largest (map s l).
Definition flipped (l : list I) (s : I -> R) (i : I) : R :=
  exp (s i) * RInt (losers (without i l) s) 0 (exp (- top l s)).

Lemma losers_continuous : forall l s x, continuous (losers l s) x.
Proof.
  intros l s x. unfold losers. induction l as [|j l IH]; simpl; [apply continuous_const|].
  apply (@continuous_mult R_UniformSpace R_AbsRing); [|exact IH].
  apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
Qed.

Lemma top_ge : forall l (s : I -> R) i, In i l -> s i <= top l s.
Proof.
  intros l s i. unfold top. induction l as [|j l IH]; intros inside; [easy|].
  destruct l as [|h l]; [destruct inside as [->|[]]; simpl; lra|].
  change (largest (map s (j :: h :: l))) with (Rmax (s j) (largest (map s (h :: l)))).
  pose proof (Rmax_l (s j) (largest (map s (h :: l)))). pose proof (Rmax_r (s j) (largest (map s (h :: l)))).
  destruct inside as [->|inside]; [assumption|]. specialize (IH inside). lra.
Qed.

Lemma top_in : forall l (s : I -> R), l <> [] -> exists i, In i l /\ s i = top l s.
Proof.
  intros l s. unfold top. induction l as [|j l IH]; intros some; [easy|].
  destruct l as [|h l]; [exists j; simpl; auto|].
  change (largest (map s (j :: h :: l))) with (Rmax (s j) (largest (map s (h :: l)))).
  destruct IH as (i & inside & equal); [discriminate|]. unfold Rmax. destruct (Rle_dec _ _).
  - exists i. split; [now right|assumption].
  - exists j. split; [now left|reflexivity].
Qed.

(* On the range of integration no factor is negative, and none exceeds one. *)
Lemma factor : forall l s x j, In j l -> 0 <= x <= exp (- top l s) -> 0 <= 1 - x * exp (s j) <= 1.
Proof.
  intros l s x j inside between. pose proof (exp_pos (s j)).
  assert (x * exp (s j) <= exp (- top l s) * exp (s j)) by (apply Rmult_le_compat_r; lra).
  assert (exp (- top l s) * exp (s j) <= 1).
  { rewrite <- exp_plus, <- exp_0. apply exp_le. pose proof (top_ge l s j inside). lra. }
  assert (0 <= x * exp (s j)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma product_between : forall (f : I -> R) l, (forall j, In j l -> 0 <= f j <= 1) -> 0 <= product f l <= 1.
Proof.
  induction l as [|j l IH]; intros between; simpl; [lra|]. pose proof (between j (or_introl eq_refl)).
  pose proof (IH (fun h inside => between h (or_intror inside))). split; [apply Rmult_le_pos; lra|].
  rewrite <- (Rmult_1_l 1). apply Rmult_le_compat; lra.
Qed.

Lemma product_le : forall (f g : I -> R) l, (forall j, In j l -> 0 <= f j <= g j) -> product f l <= product g l.
Proof.
  induction l as [|j l IH]; intros less; simpl; [lra|]. pose proof (less j (or_introl eq_refl)).
  assert (0 <= product f l).
  { clear IH. induction l as [|h l IH]; simpl; [lra|]. pose proof (less h (or_intror (or_introl eq_refl))).
    apply Rmult_le_pos; [lra|]. apply IH. intros i [->|inside]; apply less; simpl; auto. }
  apply Rmult_le_compat; try lra. apply IH. intros h inside. apply less. now right.
Qed.

Lemma product_pos : forall (f : I -> R) l, (forall j, In j l -> 0 < f j) -> 0 < product f l.
Proof.
  induction l as [|j l IH]; intros positive; simpl; [lra|].
  apply Rmult_lt_0_compat; [apply positive; now left|]. apply IH. intros h inside. apply positive. now right.
Qed.

Lemma positive_inside : forall l m s x, incl m l -> 0 <= x < exp (- top l s) -> 0 < losers m s x.
Proof.
  intros l m s x within between. apply product_pos. intros j inside. pose proof (exp_pos (s j)).
  assert (x * exp (s j) < exp (- top l s) * exp (s j)) by (apply Rmult_lt_compat_r; lra).
  assert (exp (- top l s) * exp (s j) <= 1); [|lra].
  rewrite <- exp_plus, <- exp_0. apply exp_le. pose proof (top_ge l s j (within j inside)). lra.
Qed.

Lemma nonneg_inside : forall l m s x, incl m l -> 0 <= x <= exp (- top l s) -> 0 <= losers m s x.
Proof.
  intros l m s x within between. apply (product_between (fun j => 1 - x * exp (s j))).
  intros j inside. now apply (factor l), between; apply within.
Qed.

Lemma integral_pos : forall l m s, incl m l -> 0 < RInt (losers m s) 0 (exp (- top l s)).
Proof.
  intros l m s within. apply RInt_gt_0; [apply exp_pos| |].
  - intros x between. apply (positive_inside l); [assumption|lra].
  - intros x _. apply losers_continuous.
Qed.

(* The derivative of the product over all candidates. *)
Lemma losers_derive : forall l s x, NoDup l ->
  is_derive (losers l s) x (- sum (fun i => exp (s i) * losers (without i l) s x) l).
Proof.
  intros l s x. induction l as [|j l IH]; intros distinct.
  - unfold losers. simpl. rewrite Ropp_0. apply (@is_derive_const R_AbsRing R_NormedModule).
  - inversion distinct as [|? ? fresh distinct']; subst. specialize (IH distinct').
    evar_last; [apply (is_derive_mult (fun x => 1 - x * exp (s j)) (losers l s) x);
      [now auto_derive|exact IH|intros; apply Rmult_comm]|].
    cbn [sum]. rewrite (sum_ext (fun i => exp (s i) * losers (without i (j :: l)) s x)
      (fun i => (1 - x * exp (s j)) * (exp (s i) * losers (without i l) s x)) l).
    2: { intros i inside. simpl. destruct (same i j) as [->|other]; [easy|]. unfold losers. simpl. ring. }
    rewrite sum_scale. simpl. destruct (same j j) as [_|]; [|easy]. rewrite notin_remove by assumption.
    unfold plus, mult; simpl. unfold one; simpl. ring.
Qed.

Lemma sum_continuous : forall (F : I -> R -> R) l, (forall i x, continuous (F i) x) ->
  forall x, continuous (fun x => sum (fun i => F i x) l) x.
Proof.
  intros F l smooth x. induction l as [|i l IH]; simpl; [apply continuous_const|].
  now apply (@continuous_plus R_UniformSpace R_AbsRing R_NormedModule).
Qed.

Lemma integral_sum : forall (F : I -> R -> R) l a b, (forall i x, continuous (F i) x) ->
  RInt (fun x => sum (fun i => F i x) l) a b = sum (fun i => RInt (F i) a b) l.
Proof.
  intros F l a b smooth. induction l as [|i l IH]; simpl.
  - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
  - rewrite <- IH. apply (@RInt_plus R_CompleteNormedModule); apply integrable; [apply smooth|now apply sum_continuous].
Qed.

Theorem flipping_is_a_law : forall l s, l <> [] -> NoDup l -> law l (flipped l s).
Proof.
  intros l s some distinct. split.
  - intros i _. apply Rmult_lt_0_compat; [apply exp_pos|]. apply integral_pos, without_incl.
  - set (b := exp (- top l s)).
    set (rate := fun x => sum (fun i => exp (s i) * losers (without i l) s x) l).
    assert (smooth : forall i x, continuous (fun x => exp (s i) * losers (without i l) s x) x).
    { intros i x. apply (@continuous_scal_r R_UniformSpace R_AbsRing R_NormedModule (exp (s i))), losers_continuous. }
    assert (whole : is_RInt rate 0 b (1 - 0)).
    { replace (1 - 0) with (minus (- losers l s b) (- losers l s 0)).
      - apply (is_RInt_derive (fun x => - losers l s x) rate).
        + intros x _. unfold rate. evar_last; [apply (@is_derive_opp R_AbsRing R_NormedModule), losers_derive, distinct|].
          unfold opp; simpl. ring.
        + intros x _. now apply sum_continuous.
      - unfold minus, plus, opp; simpl. destruct (top_in l s some) as (i & inside & best).
        assert (zero : losers l s b = 0).
        { unfold losers. clear - inside best. subst b. rewrite <- best. clear best. induction l as [|j l IH]; [easy|].
          simpl. destruct inside as [->|inside].
          - replace (exp (- s i) * exp (s i)) with 1; [ring|]. rewrite <- exp_plus, <- exp_0. f_equal. ring.
          - rewrite IH by assumption. ring. }
        assert (one : losers l s 0 = 1).
        { unfold losers. clear. induction l as [|j l IH]; simpl; [reflexivity|]. rewrite IH. ring. }
        rewrite zero, one. ring. }
    apply (@is_RInt_unique R_CompleteNormedModule) in whole. rewrite Rminus_0_r in whole. rewrite <- whole. unfold rate.
    rewrite (integral_sum (fun i x => exp (s i) * losers (without i l) s x)) by assumption.
    apply sum_ext. intros i _. unfold flipped. fold b. symmetry.
    apply (@RInt_scal R_CompleteNormedModule), integrable, losers_continuous.
Qed.

(* One constant added to all scores changes nothing. *)
Lemma top_shift : forall l (s : I -> R) c, l <> [] -> top l (fun i => s i + c) = top l s + c.
Proof.
  intros l s c some. unfold top. induction l as [|j l IH]; [easy|]. destruct l as [|h l]; [reflexivity|].
  change (Rmax (s j + c) (largest (map (fun i => s i + c) (h :: l))) = Rmax (s j) (largest (map s (h :: l))) + c).
  rewrite IH by discriminate. unfold Rmax. destruct (Rle_dec _ _), (Rle_dec _ _); lra.
Qed.

Lemma losers_shift : forall l s c x, losers l (fun i => s i + c) x = losers l s (exp c * x).
Proof.
  intros l s c x. unfold losers. induction l as [|j l IH]; simpl; [reflexivity|]. rewrite IH, exp_plus. ring.
Qed.

Lemma flipped_shift : forall l s c i, l <> [] -> flipped l (fun j => s j + c) i = flipped l s i.
Proof.
  intros l s c i some. unfold flipped. rewrite top_shift, exp_plus by assumption.
  rewrite (RInt_ext _ (fun x => losers (without i l) s (exp c * x + 0))).
  2: { intros x _. rewrite losers_shift. f_equal. ring. }
  rewrite Rmult_assoc. f_equal.
  pose proof (@RInt_comp_lin R_CompleteNormedModule (losers (without i l) s) (exp c) 0 0 (exp (- (top l s + c)))) as change.
  rewrite <- (@RInt_scal R_CompleteNormedModule _ _ _ (exp c)).
  2: { apply integrable. intros x. apply (continuous_comp (fun x => exp c * x + 0) (losers (without i l) s)).
       - apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
       - apply losers_continuous. }
  rewrite change by apply integrable, losers_continuous. f_equal; [ring|].
  rewrite Rplus_0_r, <- exp_plus. f_equal. ring.
Qed.

(* Raising scores raises no integral. *)
Lemma flipped_le : forall l s s' i, l <> [] -> In i l -> (forall j, In j l -> s j <= s' j) ->
  flipped l s' i <= exp (s' i - s i) * flipped l s i.
Proof.
  intros l s s' i some here more. unfold flipped. rewrite <- Rmult_assoc, <- exp_plus.
  replace (s' i - s i + s i) with (s' i) by ring. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|].
  assert (tops : top l s <= top l s').
  { destruct (top_in l s some) as (j & inside & <-). pose proof (more j inside). pose proof (top_ge l s' j inside). lra. }
  assert (ends : exp (- top l s') <= exp (- top l s)) by (apply exp_le; lra).
  assert (smooth := losers_continuous (without i l)).
  rewrite <- (RInt_Chasles (losers (without i l) s) 0 (exp (- top l s')) (exp (- top l s))) by now apply integrable.
  apply Rle_trans with (RInt (losers (without i l) s) 0 (exp (- top l s'))).
  - apply RInt_le; [apply Rlt_le, exp_pos|now apply integrable|now apply integrable|].
    intros x between. apply product_le. intros j inside. apply without_incl in inside.
    pose proof (factor l s' x j inside ltac:(lra)). pose proof (exp_le _ _ (more j inside)).
    split; [tauto|]. assert (x * exp (s j) <= x * exp (s' j)) by (apply Rmult_le_compat_l; lra). lra.
  - unfold plus; simpl.
    assert (0 <= RInt (losers (without i l) s) (exp (- top l s')) (exp (- top l s))); [|lra].
    apply RInt_ge_0; [assumption|now apply integrable|].
    intros x between. apply (nonneg_inside l); [apply without_incl|]. pose proof (exp_pos (- top l s')). lra.
Qed.

Theorem flipping_pure : forall l s s' r, l <> [] -> NoDup l -> spread l s s' r ->
  pure l (flipped l s) (flipped l s') r.
Proof.
  assert (one_way : forall l s s' r i, l <> [] -> NoDup l -> spread l s s' r -> In i l ->
    loss (flipped l s) (flipped l s') i <= r).
  { intros l s s' r i some distinct near here. destruct (all_within l s s' r some near) as (c & between).
    rewrite <- (ln_exp r). pose proof (proj1 (flipping_is_a_law l s some distinct) i here).
    pose proof (proj1 (flipping_is_a_law l s' some distinct) i here). apply ln_le; [now apply Rdiv_lt_0_compat|].
    apply Rcomplements.Rle_div_l; [assumption|].
    rewrite <- (flipped_shift l s' (- c) i some). eapply Rle_trans; [apply (flipped_le l s); try eassumption|].
    - intros j inside. cbv beta. specialize (between j inside). lra.
    - cbv beta. apply Rmult_le_compat_r; [lra|]. apply exp_le. specialize (between i here). lra. }
  intros l s s' r some distinct near i here. apply Rabs_le. split; [|now apply one_way].
  rewrite (loss_swap l (flipped l s') (flipped l s)) by (try apply flipping_is_a_law; assumption).
  apply Ropp_le_contravar. apply one_way; try assumption.
  intros j h this that. specialize (near h j that this). lra.
Qed.

End Mechanism.
