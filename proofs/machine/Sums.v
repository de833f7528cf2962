(* Finite sums of real numbers over a list of outcomes. *)
From Coq Require Import Reals List Lra Permutation.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum {A : Type} (f : A -> R) (l : list A) : R :=
  match l with
  | [] => 0
  | a :: m => f a + sum f m
  end.

Section Sums.
Context {A : Type}.
Implicit Types (f g : A -> R) (l m : list A).

Lemma sum_ext : forall f g l, (forall a, In a l -> f a = g a) -> sum f l = sum g l.
Proof.
  induction l as [|a l IH]; simpl; intros same; [reflexivity|].
  rewrite (same a) by now left. rewrite IH; [reflexivity|]. intros b inside. apply same. now right.
Qed.

Lemma sum_le : forall f g l, (forall a, In a l -> f a <= g a) -> sum f l <= sum g l.
Proof.
  induction l as [|a l IH]; simpl; intros less; [lra|].
  apply Rplus_le_compat; [apply less; now left|]. apply IH. intros b inside. apply less. now right.
Qed.

Lemma sum_nonneg : forall f l, (forall a, In a l -> 0 <= f a) -> 0 <= sum f l.
Proof.
  induction l as [|a l IH]; simpl; intros nonneg; [lra|].
  apply Rplus_le_le_0_compat; [apply nonneg; now left|]. apply IH. intros b inside. apply nonneg. now right.
Qed.

Lemma sum_pos : forall f l, l <> [] -> (forall a, In a l -> 0 < f a) -> 0 < sum f l.
Proof.
  destruct l as [|a l]; intros some positive; [easy|]. simpl.
  assert (0 < f a) by (apply positive; now left).
  assert (0 <= sum f l) by (apply sum_nonneg; intros b inside; apply Rlt_le, positive; now right). lra.
Qed.

Lemma sum_scale : forall c f l, sum (fun a => c * f a) l = c * sum f l.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_scale_right : forall c f l, sum (fun a => f a * c) l = sum f l * c.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_plus : forall f g l, sum (fun a => f a + g a) l = sum f l + sum g l.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_minus : forall f g l, sum (fun a => f a - g a) l = sum f l - sum g l.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. lra. Qed.

Lemma sum_const : forall c l, sum (fun _ : A => c) l = INR (length l) * c.
Proof. induction l as [|a l IH]; simpl length; [simpl; lra|]. rewrite S_INR. simpl sum. rewrite IH. lra. Qed.

Lemma sum_app : forall f l m, sum f (l ++ m) = sum f l + sum f m.
Proof. induction l as [|a l IH]; simpl; intros m; [lra|]. rewrite IH. lra. Qed.

Lemma sum_permutation : forall f l m, Permutation l m -> sum f l = sum f m.
Proof. induction 1; simpl; lra. Qed.

Lemma sum_member : forall f l a, (forall b, In b l -> 0 <= f b) -> In a l -> f a <= sum f l.
Proof.
  induction l as [|b l IH]; simpl; intros a nonneg inside; [easy|].
  assert (0 <= f b) by (apply nonneg; now left).
  assert (rest : forall c, In c l -> 0 <= f c) by (intros c here; apply nonneg; now right).
  destruct inside as [->|inside]; [pose proof (sum_nonneg f l rest); lra|].
  pose proof (IH a rest inside). lra.
Qed.

End Sums.

Lemma sum_map : forall {A B : Type} (h : B -> A) (f : A -> R) l, sum f (map h l) = sum (fun b => f (h b)) l.
Proof. induction l as [|b l IH]; simpl; [reflexivity|]. now rewrite IH. Qed.

Lemma sum_flat_map : forall {A B : Type} (h : B -> list A) (f : A -> R) l,
  sum f (flat_map h l) = sum (fun b => sum f (h b)) l.
Proof. induction l as [|b l IH]; simpl; [reflexivity|]. now rewrite sum_app, IH. Qed.

(* A mean lies between the least and the largest value. *)
Lemma mean_le : forall {A : Type} (w f : A -> R) c l,
  (forall a, In a l -> 0 <= w a) -> (forall a, In a l -> f a <= c) -> sum (fun a => w a * f a) l <= c * sum w l.
Proof.
  intros A w f c l nonneg less. rewrite <- sum_scale. apply sum_le. intros a inside.
  rewrite (Rmult_comm c). apply Rmult_le_compat_l; auto.
Qed.

Lemma mean_ge : forall {A : Type} (w f : A -> R) c l,
  (forall a, In a l -> 0 <= w a) -> (forall a, In a l -> c <= f a) -> c * sum w l <= sum (fun a => w a * f a) l.
Proof.
  intros A w f c l nonneg more. rewrite <- sum_scale. apply sum_le. intros a inside.
  rewrite (Rmult_comm c). apply Rmult_le_compat_l; auto.
Qed.

Lemma power_pos : forall n, 0 < 2 ^ n.
Proof. intros n. apply pow_lt. lra. Qed.
