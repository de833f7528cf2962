(* Laws of the first digits of a uniform number, read at once or in several steps. *)
From Coq Require Import Reals List Lra Lia Bool.
From Machine Require Import Sums Laws Composition.
Import ListNotations.
Open Scope R_scope.

(* All words of n digits; fresh digits give each of them the same probability. *)
Fixpoint words (n : nat) : list (list bool) :=
  match n with
  | O => [[]]
  | S m => map (cons true) (words m) ++ map (cons false) (words m)
  end.

Definition fair (n : nat) (w : list bool) : R := / 2 ^ n.

Definition word_eq (v w : list bool) : {v = w} + {v <> w} := list_eq_dec bool_dec v w.

(* The probability that a first answer, with the law P, and then a second one, with the law K of the first, has the
   second answer w. *)
Definition chance {A B : Type} (eq : forall v w : B, {v = w} + {v <> w}) (first : list A) (P : A -> R)
  (second : A -> list B) (K : A -> B -> R) (w : B) : R :=
  sum (joint P K) (filter (fun answers => if eq (snd answers) w then true else false) (both first second)).

Section Chances.
Context {A B : Type} (eq : forall v w : B, {v = w} + {v <> w}).

Lemma sum_filter : forall (f : A -> R) p l, sum f (filter p l) = sum (fun a => if p a then f a else 0) l.
Proof. induction l as [|a l IH]; simpl; [reflexivity|]. destruct (p a); simpl; rewrite IH; lra. Qed.

Lemma sum_zero : forall (f : A -> R) l, (forall a, In a l -> f a = 0) -> sum f l = 0.
Proof.
  induction l as [|a l IH]; simpl; intros none; [reflexivity|]. rewrite none, IH by auto. lra.
Qed.

Lemma sum_single : forall (f : A -> R) l a, NoDup l -> In a l -> (forall b, In b l -> b <> a -> f b = 0) -> sum f l = f a.
Proof.
  induction l as [|b l IH]; simpl; intros a distinct inside none; [easy|].
  inversion distinct as [|? ? fresh distinct']; subst. destruct inside as [->|inside].
  - rewrite sum_zero; [lra|]. intros c here. apply none; [now right|]. intros ->. now apply fresh.
  - rewrite (IH a) by auto. rewrite none; [lra|now left|]. intros ->. now apply fresh.
Qed.

End Chances.

Lemma chance_sum : forall {A B : Type} (eq : forall v w : B, {v = w} + {v <> w}) first P second K w,
  (forall y : A, In y first -> NoDup (second y)) ->
  chance eq first P second K w = sum (fun y => if in_dec eq w (second y) then P y * K y w else 0) first.
Proof.
  intros A B eq first P second K w distinct. unfold chance. rewrite sum_filter, sum_both.
  apply sum_ext. intros y here. unfold joint. simpl. destruct (in_dec eq w (second y)) as [inside|outside].
  - rewrite (sum_single _ (second y) w); [now destruct (eq w w)|now apply distinct|assumption|].
    intros b _ other. now destruct (eq b w).
  - apply sum_zero. intros b inside. destruct (eq b w) as [->|]; [now exfalso; apply outside|reflexivity].
Qed.

(* Just one first answer can have the second answer w. *)
Lemma chance_single : forall {A B : Type} (eq : forall v w : B, {v = w} + {v <> w}) first P second K w y,
  (forall z : A, In z first -> NoDup (second z)) -> NoDup first -> In y first -> In w (second y) ->
  (forall z, In z first -> In w (second z) -> z = y) -> chance eq first P second K w = P y * K y w.
Proof.
  intros A B eq first P second K w y distinct distinct' here inside only. rewrite chance_sum by assumption.
  rewrite (sum_single _ first y); [now destruct (in_dec eq w (second y))|assumption|assumption|].
  intros z there other. destruct (in_dec eq w (second z)); [|reflexivity]. now exfalso; apply other, only.
Qed.

Lemma words_are : forall n w, In w (words n) <-> length w = n.
Proof.
  induction n as [|n IH]; intros w; simpl.
  - split; [intros [<-|[]]; reflexivity|]. destruct w; [now left|easy].
  - rewrite in_app_iff, !in_map_iff. split.
    + intros [(v & <- & here)|(v & <- & here)]; simpl; f_equal; now apply IH.
    + destruct w as [|[] w]; [easy| |]; simpl; intros size; [left|right]; exists w; (split; [reflexivity|]); apply IH; lia.
Qed.

Lemma words_count : forall n, INR (length (words n)) = 2 ^ n.
Proof. induction n as [|n IH]; [reflexivity|]. simpl words. rewrite app_length, !map_length, plus_INR, IH. simpl. ring. Qed.

Lemma map_distinct : forall {A B : Type} (f : A -> B) l, (forall a b, f a = f b -> a = b) -> NoDup l -> NoDup (map f l).
Proof.
  intros A B f l injective. induction 1 as [|a l fresh distinct IH]; simpl; constructor; [|assumption].
  intros here. apply in_map_iff in here. destruct here as (b & equal & here). now apply injective in equal as ->.
Qed.

Lemma distinct_app : forall {A : Type} (u v : list A), NoDup u -> NoDup v -> (forall a, In a u -> ~ In a v) -> NoDup (u ++ v).
Proof.
  intros A u v. induction 1 as [|a u fresh distinct IH]; simpl; intros distinct' apart; [assumption|].
  constructor; [|apply IH; auto]. intros here. apply in_app_or in here. destruct here as [|here]; [easy|].
  now apply (apart a); [left|].
Qed.

Lemma words_distinct : forall n, NoDup (words n).
Proof.
  induction n as [|n IH]; simpl; [repeat constructor; easy|].
  apply distinct_app; [apply map_distinct; [intros v w equal; now injection equal|assumption]..|].
  intros w here there. apply in_map_iff in here, there. destruct here as (? & <- & _), there as (? & equal & _). easy.
Qed.

Lemma uniform_is_a_law : forall {A : Type} (l : list A) p, 0 < p -> INR (length l) * p = 1 -> law l (fun _ => p).
Proof. intros A l p positive one. split; [now intros|]. now rewrite sum_const. Qed.

Theorem fair_is_a_law : forall n, law (words n) (fair n).
Proof.
  intros n. pose proof (power_pos n). apply (uniform_is_a_law (words n) (/ 2 ^ n)); [now apply Rinv_0_lt_compat|]. rewrite words_count. field. lra.
Qed.

(* Digits that are read later are as if they had been read at once: m digits, and then n more. *)
Theorem read_in_two_steps : forall m n w, In w (words (m + n)) ->
  chance word_eq (words m) (fair m) (fun u => map (app u) (words n)) (fun _ => fair n) w = fair (m + n) w.
Proof.
  intros m n w here. apply words_are in here. rewrite (chance_single word_eq _ _ _ _ w (firstn m w)).
  - unfold fair. rewrite pow_add. pose proof (power_pos m). pose proof (power_pos n). field. lra.
  - intros u _. apply map_distinct; [intros v v' equal; now apply app_inv_head in equal|apply words_distinct].
  - apply words_distinct.
  - apply words_are. rewrite firstn_length. lia.
  - rewrite <- (firstn_skipn m w) at 1. apply in_map, words_are. rewrite skipn_length. lia.
  - intros u inside there. apply in_map_iff in there. destruct there as (v & <- & _). apply words_are in inside.
    now rewrite <- inside, firstn_app, Nat.sub_diag, firstn_all, app_nil_r.
Qed.
