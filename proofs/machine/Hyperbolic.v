(* Hyperbolic functions: how tanh grows. *)
From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Concentrated.
Open Scope R_scope.

Lemma exp_swap : forall x, exp (- x) * exp x = 1.
Proof. intros x. rewrite <- exp_plus, Rplus_opp_l. apply exp_0. Qed.

Lemma cosh_pos : forall x, 0 < cosh x.
Proof. intros x. unfold cosh. pose proof (exp_pos x). pose proof (exp_pos (- x)). lra. Qed.

Lemma tanh_derive : forall x, is_derive tanh x (1 - tanh x * tanh x).
Proof.
  intros x. pose proof (cosh_pos x). unfold tanh, sinh, cosh in *. pose proof (exp_swap x). auto_derive; [lra|]. field. lra.
Qed.

(* Of a function that is zero at u and grows from there on. *)
Lemma grows_from : forall (g dg : R -> R) u t, (forall x, is_derive g x (dg x)) -> (forall x, u <= x -> 0 <= dg x) ->
  g u = 0 -> u <= t -> 0 <= g t.
Proof.
  intros g dg u t derivative up start order. destruct (mean_value g dg derivative u t order) as (c & between & equal).
  specialize (up c ltac:(lra)). nra.
Qed.

Lemma sinh_ge : forall x, 0 <= x -> x <= sinh x * cosh x.
Proof.
  intros x nonneg. cut (0 <= sinh x * cosh x - x); [lra|].
  apply (grows_from (fun y => sinh y * cosh y - y) (fun y => 2 * (sinh y * sinh y)) 0); [| | |assumption].
  - intros y. unfold sinh, cosh. pose proof (exp_swap y). auto_derive; [trivial|]. nra.
  - intros y _. nra.
  - unfold sinh. rewrite Ropp_0. field_simplify. lra.
Qed.

Lemma tanh_grows : forall u t, u <= t -> tanh u <= tanh t.
Proof.
  intros u t order. cut (0 <= tanh t - tanh u); [lra|].
  apply (grows_from (fun x => tanh x - tanh u) (fun x => 1 - tanh x * tanh x) u); [| |ring|assumption].
  - intros x. evar_last; [apply (@is_derive_minus R_AbsRing R_NormedModule); [apply tanh_derive|apply (@is_derive_const R_AbsRing R_NormedModule)]|].
    unfold minus, plus, opp, zero; simpl. ring.
  - intros x _. pose proof (cosh_pos x). unfold tanh, sinh, cosh in *. pose proof (exp_pos x). pose proof (exp_pos (- x)).
    set (p := exp x) in *. set (q := exp (- x)) in *.
    replace (1 - (p - q) / 2 / ((p + q) / 2) * ((p - q) / 2 / ((p + q) / 2))) with (4 * p * q / ((p + q) * (p + q))) by (field; lra).
    apply Rcomplements.Rdiv_le_0_compat; nra.
Qed.

Lemma tanh_nonneg : forall x, 0 <= x -> 0 <= tanh x.
Proof.
  intros x nonneg. replace 0 with (tanh 0); [now apply tanh_grows|]. unfold tanh, sinh. rewrite Ropp_0. unfold Rdiv. ring.
Qed.

(* tanh x / x falls. *)
Lemma tanh_falls_behind : forall u t, 0 <= u <= t -> u * tanh t <= t * tanh u.
Proof.
  intros u t order. cut (0 <= t * tanh u - u * tanh t); [lra|].
  apply (grows_from (fun x => x * tanh u - u * tanh x) (fun x => tanh u - u * (1 - tanh x * tanh x)) u); [| |ring|lra].
  - intros x. apply (@is_derive_minus R_AbsRing R_NormedModule).
    + auto_derive; [trivial|ring].
    + apply (is_derive_scal tanh), tanh_derive.
  - intros x after. pose proof (tanh_grows u x after). pose proof (tanh_nonneg u ltac:(lra)).
    apply Rle_trans with (tanh u - u * (1 - tanh u * tanh u)).
    2: { assert (tanh u * tanh u <= tanh x * tanh x) by nra.
         assert (u * (tanh u * tanh u) <= u * (tanh x * tanh x)) by (apply Rmult_le_compat_l; lra). lra. }
    pose proof (sinh_ge u ltac:(lra)) as enough. pose proof (cosh_pos u) as positive.
    assert (square : cosh u * cosh u - sinh u * sinh u = 1).
    { unfold cosh, sinh. pose proof (exp_swap u). nra. }
    replace (tanh u - u * (1 - tanh u * tanh u)) with ((sinh u * cosh u - u * (cosh u * cosh u - sinh u * sinh u)) / (cosh u * cosh u))
      by (unfold tanh; field; lra).
    apply Rcomplements.Rdiv_le_0_compat; [rewrite square; lra|nra].
Qed.

Lemma ln_cosh_derive : forall x, is_derive (fun x => ln (cosh x)) x (tanh x).
Proof.
  intros x. pose proof (cosh_pos x). unfold tanh, sinh, cosh in *. auto_derive; [lra|]. field. lra.
Qed.
