(* Noise whose density may be zero below a point: what is asked of it, and that a jump there does no harm. *)
From Coq Require Import Reals List Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws PermuteAndFlip ClassA.
Import ListNotations.
Open Scope R_scope.

(* F is the distribution function of a noise and f its density: but for one point, f is the derivative of F. The last line
   is class A: to the right the density falls no faster than exp(- z). *)
Definition noise (f F : R -> R) : Prop :=
  (forall z, 0 <= f z) /\ integrable_with f /\ (forall z, z <> 0 -> continuous f z /\ is_derive F z (f z)) /\
  (forall z, continuous F z) /\ (forall z w, z <= w -> F z <= F w) /\
  is_lim F m_infty 0 /\ is_lim F p_infty 1 /\
  (forall z c, 0 <= c -> exp (- c) * f z <= f (z + c)).

(* A density that is smooth from zero on, and zero below. *)
Definition from_zero (h : R -> R) (z : R) : R := if Rle_dec 0 z then h z else 0.

Lemma from_zero_fits : forall h, (forall z, continuous h z) -> integrable_with (from_zero h).
Proof.
  intros h smooth g c.
  assert (low : forall a b, a <= b -> b <= c -> ex_RInt (fun u => from_zero h (u - c) * g u) a b).
  { intros a b order under. apply (ex_RInt_ext (fun _ => 0)); [|apply ex_RInt_const].
    intros u between. rewrite Rmin_left, Rmax_right in between by assumption. unfold from_zero.
    destruct (Rle_dec 0 (u - c)); [lra|now rewrite Rmult_0_l]. }
  assert (high : forall a b, (forall u, continuous g u) -> a <= b -> c <= a -> ex_RInt (fun u => from_zero h (u - c) * g u) a b).
  { intros a b smooth' order over. apply (ex_RInt_ext (fun u => h (u - c) * g u)).
    - intros u between. rewrite Rmin_left, Rmax_right in between by assumption. unfold from_zero.
      destruct (Rle_dec 0 (u - c)); [reflexivity|lra].
    - now apply smooth_fits. }
  assert (ordered : forall a b, (forall u, continuous g u) -> a <= b -> ex_RInt (fun u => from_zero h (u - c) * g u) a b).
  { intros a b smooth' order. destruct (Rle_or_lt b c) as [under|over]; [now apply low|].
    destruct (Rle_or_lt c a) as [over'|under]; [now apply high|].
    apply (@ex_RInt_Chasles R_NormedModule) with c; [apply low|apply high]; auto; lra. }
  intros a b smooth'. destruct (Rle_or_lt a b) as [order|order]; [now apply ordered|].
  apply ex_RInt_swap, ordered; [assumption|lra].
Qed.

(* A function that is constant between finitely many points, and continuous, is constant. *)
Lemma constant_between : forall (D : R -> R) points a b, a <= b ->
  (forall x, a <= x <= b -> continuous D x) -> (forall x, a < x < b -> ~ In x points -> is_derive D x 0) -> D a = D b.
Proof.
  intros D points. induction points as [|p points IH]; intros a b order smooth flat.
  - destruct order as [order|<-]; [|reflexivity].
    destruct (MVT_gen D a b (fun _ => 0)) as (x & _ & equal); [| |lra].
    + intros x between. rewrite Rmin_left, Rmax_right in between by lra. now apply flat.
    + intros x between. rewrite Rmin_left, Rmax_right in between by lra. apply continuity_pt_filterlim. now apply smooth.
  - destruct (Rle_or_lt p a) as [low|above]; [|destruct (Rle_or_lt b p) as [high|under]].
    + apply IH; try assumption. intros x between out. apply flat; [assumption|]. intros [equal|here]; [lra|now apply out].
    + apply IH; try assumption. intros x between out. apply flat; [assumption|]. intros [equal|here]; [lra|now apply out].
    + transitivity (D p); apply IH; try lra; try (intros x between; apply smooth; lra);
        intros x between out; (apply flat; [lra|]); intros [equal|here]; [lra|now apply out|lra|now apply out].
Qed.

(* So a continuous function is the integral of its derivative, be there finitely many points where it has none. *)
Theorem integral_of_the_derivative : forall (G g : R -> R) (points : list R), (forall a b, ex_RInt g a b) ->
  (forall x, continuous G x) -> (forall x, ~ In x points -> continuous g x /\ is_derive G x (g x)) ->
  forall a b, a <= b -> RInt g a b = G b - G a.
Proof.
  intros G g points whole smooth derive a b order.
  set (D := fun v => G v - RInt g a v). assert (equal : D a = D b).
  { apply (constant_between D points); [assumption| |].
    - intros x _. apply (@continuous_minus R_UniformSpace R_AbsRing R_NormedModule); [apply smooth|].
      apply (@continuous_RInt_1 R_NormedModule g a x). exists posreal_one. intros u _.
      apply (@RInt_correct R_CompleteNormedModule), whole.
    - intros x _ out. destruct (derive x out) as [near slope]. evar_last.
      + apply (@is_derive_minus R_AbsRing R_NormedModule); [exact slope|].
        apply (@is_derive_RInt R_NormedModule g (RInt g a) a x); [|exact near]. exists posreal_one. intros u _.
        apply (@RInt_correct R_CompleteNormedModule), whole.
      + apply (@minus_eq_zero R_AbelianGroup). }
  unfold D in equal. rewrite (@RInt_point R_CompleteNormedModule) in equal. unfold zero in equal; simpl in equal. lra.
Qed.
