(* What is released is a function of an outcome: a set of a ranking, for instance. It costs no more. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Concentrated.
Import ListNotations.
Open Scope R_scope.

Section Images.
Context {A B : Type} (eq : forall b c : B, {b = c} + {b <> c}) (f : A -> B).

(* What may be released, each once; its probability is that of all outcomes that lead to it. *)
Definition releases (outcomes : list A) : list B := nodup eq (map f outcomes).
Definition leads_to (b : B) (y : A) : bool := if eq (f y) b then true else false.
Definition image (outcomes : list A) (P : A -> R) (b : B) : R := sum P (filter (leads_to b) outcomes).

Lemma leads : forall b y, leads_to b y = true <-> f y = b.
Proof. intros b y. unfold leads_to. destruct (eq (f y) b); split; congruence. Qed.

Lemma releases_are : forall outcomes b, In b (releases outcomes) <-> exists y, In y outcomes /\ f y = b.
Proof. intros outcomes b. unfold releases. rewrite nodup_In, in_map_iff. split; intros (y & one & two); exists y; auto. Qed.

Lemma some_lead : forall outcomes b, In b (releases outcomes) -> filter (leads_to b) outcomes <> [].
Proof.
  intros outcomes b here none. apply releases_are in here. destruct here as (y & inside & equal).
  assert (In y (filter (leads_to b) outcomes)) by now apply filter_In; rewrite leads. now rewrite none in *.
Qed.

(* Each outcome is counted once. *)
Lemma sum_image : forall outcomes (g : A -> R) bs, NoDup bs ->
  sum (fun b => sum g (filter (leads_to b) outcomes)) bs =
  sum g (filter (fun y => if in_dec eq (f y) bs then true else false) outcomes).
Proof.
  intros outcomes g bs distinct. induction outcomes as [|y l IH]; simpl.
  - induction bs as [|b bs IH]; simpl; [reflexivity|]. inversion distinct; subst. rewrite IH by assumption. lra.
  - rewrite (sum_ext _ (fun b => (if leads_to b y then g y else 0) + sum g (filter (leads_to b) l))).
    2: { intros b _. destruct (leads_to b y); simpl; lra. }
    rewrite sum_plus, IH.
    assert (once : sum (fun b => if leads_to b y then g y else 0) bs = if in_dec eq (f y) bs then g y else 0).
    { clear IH. induction distinct as [|b bs fresh distinct IH]; [now destruct (in_dec eq (f y) [])|].
      cbn [sum]. rewrite IH. destruct (leads_to b y) eqn:lead.
      - apply leads in lead. subst b. destruct (in_dec eq (f y) bs); [easy|].
        destruct (in_dec eq (f y) (f y :: bs)) as [|absent]; [lra|]. exfalso. apply absent. now left.
      - assert (other : f y <> b) by (intros equal; apply leads in equal; congruence).
        destruct (in_dec eq (f y) bs) as [inside|outside], (in_dec eq (f y) (b :: bs)) as [inside'|outside']; try lra; exfalso.
        + apply outside'. now right.
        + destruct inside' as [equal|]; [now apply other|easy]. }
    rewrite once. destruct (in_dec eq (f y) bs); simpl; lra.
Qed.

Lemma filter_all : forall (p : A -> bool) l, (forall y, In y l -> p y = true) -> filter p l = l.
Proof.
  induction l as [|y l IH]; intros all; simpl; [reflexivity|]. rewrite all by now left. f_equal. apply IH. intros z here.
  apply all. now right.
Qed.

Lemma sum_releases : forall outcomes (g : A -> R),
  sum (fun b => sum g (filter (leads_to b) outcomes)) (releases outcomes) = sum g outcomes.
Proof.
  intros outcomes g. rewrite sum_image by apply NoDup_nodup. f_equal. apply filter_all. intros y here.
  destruct (in_dec eq (f y) (releases outcomes)) as [|absent]; [reflexivity|]. exfalso. apply absent.
  apply releases_are. now exists y.
Qed.

Theorem image_is_a_law : forall outcomes P, law outcomes P -> law (releases outcomes) (image outcomes P).
Proof.
  intros outcomes P [positive one]. split; [|unfold image; now rewrite sum_releases].
  intros b here. apply sum_pos; [now apply some_lead|]. intros y inside. apply filter_In in inside. now apply positive.
Qed.

Section Costs.
Context (outcomes : list A) (P P' : A -> R).
Hypothesis (law_P : law outcomes P) (law_P' : law outcomes P').
Notation "'Q'" := (image outcomes P).
Notation "'Q''" := (image outcomes P').

Lemma exp_image_loss : forall b, In b (releases outcomes) -> Q b * exp (loss Q Q' b) = Q' b.
Proof. intros b. apply exp_loss; now apply image_is_a_law. Qed.

Lemma image_loss_le : forall b c, In b (releases outcomes) ->
  (forall y, In y outcomes -> f y = b -> loss P P' y <= c) -> loss Q Q' b <= c.
Proof.
  intros b c here less. pose proof (proj1 (image_is_a_law _ _ law_P) b here) as positive.
  apply Rnot_lt_le. intros more. apply exp_increasing in more. pose proof (exp_image_loss b here) as exact_loss.
  assert (Q' b <= exp c * Q b); [|nra]. unfold image. rewrite <- sum_scale. apply sum_le. intros y inside.
  apply filter_In in inside. destruct inside as [inside lead]. apply leads in lead.
  rewrite <- (exp_loss outcomes P P' law_P law_P' y inside), Rmult_comm. apply Rmult_le_compat_r.
  - now apply Rlt_le, (proj1 law_P).
  - apply exp_le. now apply less.
Qed.

Lemma image_loss_ge : forall b c, In b (releases outcomes) ->
  (forall y, In y outcomes -> f y = b -> c <= loss P P' y) -> c <= loss Q Q' b.
Proof.
  intros b c here more. pose proof (proj1 (image_is_a_law _ _ law_P) b here) as positive.
  apply Rnot_lt_le. intros less. apply exp_increasing in less. pose proof (exp_image_loss b here) as exact_loss.
  assert (exp c * Q b <= Q' b); [|nra]. unfold image. rewrite <- sum_scale. apply sum_le. intros y inside.
  apply filter_In in inside. destruct inside as [inside lead]. apply leads in lead.
  rewrite <- (exp_loss outcomes P P' law_P law_P' y inside), (Rmult_comm (exp c)). apply Rmult_le_compat_l.
  - now apply Rlt_le, (proj1 law_P).
  - apply exp_le. now apply more.
Qed.

Theorem image_pure : forall eps, pure outcomes P P' eps -> pure (releases outcomes) Q Q' eps.
Proof.
  intros eps near b here. apply Rabs_le. split; [apply image_loss_ge|apply image_loss_le]; try assumption;
    intros y inside _; specialize (near y inside); apply Rcomplements.Rabs_le_between in near; lra.
Qed.

Theorem image_range : forall a, range outcomes P P' a -> range (releases outcomes) Q Q' a.
Proof.
  intros a near b c here there. cut (loss Q Q' b - a <= loss Q Q' c); [lra|]. apply image_loss_ge; [assumption|].
  intros z inside _. cut (loss Q Q' b <= a + loss P P' z); [lra|]. apply image_loss_le; [assumption|].
  intros y inside' _. specialize (near y z inside' inside). lra.
Qed.

Theorem image_below : forall eps delta, below outcomes P P' eps delta -> below (releases outcomes) Q Q' eps delta.
Proof.
  intros eps delta near event. unfold image. rewrite !sum_image by apply NoDup_filter, NoDup_nodup. apply near.
Qed.

(* Bernoulli's inequality, for real exponents. *)
Lemma bernoulli : forall alpha x, 1 < alpha -> 1 + alpha * (exp x - 1) <= exp (alpha * x).
Proof.
  intros alpha x order. set (h := fun t => exp (alpha * t) - alpha * exp t).
  set (dh := fun t => alpha * (exp (alpha * t) - exp t)).
  assert (derivative : forall t, is_derive h t (dh t)) by (intros t; unfold h, dh; auto_derive; [trivial|ring]).
  assert (start : h 0 = 1 - alpha) by (unfold h; rewrite Rmult_0_r, exp_0; ring).
  cut (h 0 <= h x); [rewrite start; unfold h; lra|]. destruct (Rle_or_lt 0 x) as [right|left].
  - destruct (mean_value h dh derivative 0 x right) as (c & between & equal).
    assert (0 <= dh c); [|nra]. unfold dh. apply Rmult_le_pos; [lra|]. pose proof (exp_le c (alpha * c) ltac:(nra)). lra.
  - destruct (mean_value h dh derivative x 0 ltac:(lra)) as (c & between & equal).
    assert (dh c <= 0); [|nra]. unfold dh. pose proof (exp_le (alpha * c) c ltac:(nra)). nra.
Qed.

Lemma image_renyi : forall rho, renyi outcomes P P' rho -> renyi (releases outcomes) Q Q' rho.
Proof.
  intros rho near alpha order. eapply Rle_trans; [|exact (near alpha order)].
  rewrite <- (sum_releases outcomes (fun y => P y * exp (alpha * loss P P' y))). apply sum_le. intros b here.
  pose proof (exp_image_loss b here) as exact_loss. set (L := loss Q Q' b) in *.
  apply Rle_trans with (sum (fun y => exp (alpha * L) * ((1 - alpha) * P y + alpha * (exp (- L) * P' y)))
    (filter (leads_to b) outcomes)).
  - rewrite sum_scale, sum_plus, !sum_scale. fold (image outcomes P b) (image outcomes P' b). rewrite <- exact_loss.
    replace (exp (- L) * (Q b * exp L)) with (Q b * (exp (- L) * exp L)) by ring.
    rewrite <- exp_plus, Rplus_opp_l, exp_0. apply Req_le. ring.
  - apply sum_le. intros y inside. apply filter_In in inside. destruct inside as [inside _].
    rewrite <- (exp_loss outcomes P P' law_P law_P' y inside). pose proof (proj1 law_P y inside).
    pose proof (bernoulli alpha (loss P P' y - L) order) as less.
    replace (alpha * loss P P' y) with (alpha * L + alpha * (loss P P' y - L)) by ring. rewrite exp_plus.
    replace (exp (- L) * (P y * exp (loss P P' y))) with (P y * exp (loss P P' y - L))
      by (unfold Rminus; rewrite exp_plus; ring).
    apply Rle_trans with (P y * (exp (alpha * L) * (1 + alpha * (exp (loss P P' y - L) - 1)))); [apply Req_le; ring|].
    apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|assumption].
Qed.

End Costs.

Theorem image_zCDP : forall outcomes P P' rho, law outcomes P -> law outcomes P' ->
  zCDP outcomes P P' rho -> zCDP (releases outcomes) (image outcomes P) (image outcomes P') rho.
Proof. intros outcomes P P' rho good good' [near near']. split; now apply image_renyi. Qed.

End Images.
