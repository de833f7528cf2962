(* A race that reads digits as it needs them: it asks something of one candidate's digits at a time, such as the next one or
   whether ones lead, in view of all answers so far, and stops when these leave no doubt. It is one of the honest races of
   End.v, with as many digits as anybody may need, and each answer may be drawn when it is asked. *)
From Coq Require Import Reals List Lra Lia Bool Arith.
From Machine Require Import Sums Laws Digits Deferred Peeling Images Sets Noises Boundaries Best Cells Parts Counted FromDigits Costs.
Import ListNotations.
Open Scope R_scope.

(* The digits of the number of a part, first digit first. *)
Fixpoint digits_of (n m : nat) : list bool :=
  match n with
  | O => []
  | S e => Nat.odd (m / 2 ^ e) :: digits_of e m
  end.

Lemma digits_of_more : forall n m h, digits_of n (2 ^ n * h + m) = digits_of n m.
Proof.
  induction n as [|n IH]; intros m h; [reflexivity|]. cbn [digits_of]. pose proof (Nat.pow_nonzero 2 n ltac:(lia)) as some.
  replace (2 ^ S n * h + m)%nat with (2 ^ n * (2 * h) + m)%nat by (simpl; lia). rewrite IH. f_equal.
  rewrite (Nat.mul_comm (2 ^ n)), Nat.add_comm, Nat.div_add by assumption. apply Nat.odd_add_mul_2.
Qed.

(* All words are written, each by one number. *)
Lemma sum_words : forall n (g : list bool -> R), sum (fun m => g (digits_of n m)) (seq 0 (2 ^ n)) = sum g (words n).
Proof.
  assert (from : forall b len, seq b len = map (Nat.add b) (seq 0 len)).
  { intros b len. induction len as [|len IH]; [reflexivity|]. now rewrite !seq_S, map_app, IH. }
  induction n as [|n IH]; intros g; [reflexivity|]. pose proof (Nat.pow_nonzero 2 n ltac:(lia)) as some.
  replace (2 ^ S n)%nat with (2 ^ n + 2 ^ n)%nat by (simpl; lia). rewrite seq_app, sum_app. cbn [words].
  rewrite sum_app, !sum_map, Rplus_comm, Nat.add_0_l, (from (2 ^ n)%nat), sum_map. f_equal.
  - rewrite <- (IH (fun w => g (true :: w))). apply sum_ext. intros m here. apply in_seq in here. cbn [digits_of].
    replace (2 ^ n + m)%nat with (2 ^ n * 1 + m)%nat by lia. rewrite digits_of_more. do 2 f_equal.
    rewrite (Nat.mul_comm (2 ^ n)), Nat.add_comm, Nat.div_add, Nat.div_small by lia. reflexivity.
  - rewrite <- (IH (fun w => g (false :: w))). apply sum_ext. intros m here. apply in_seq in here. cbn [digits_of].
    now rewrite Nat.div_small by lia.
Qed.

(* The words of all candidates. *)
Definition tape (n : nat) (l : list nat) (c : nat -> nat) : list (list bool) := map (fun i => digits_of n (c i)) l.

Lemma sum_assignments : forall n l (g : list (list bool) -> R) c, NoDup l ->
  sum (fun c' => g (tape n l c')) (assignments Nat.eq_dec (2 ^ n) l c) = sum g (tapes (repeat (words n) (length l))).
Proof.
  intros n l. induction l as [|i l IH]; intros g c distinct; [reflexivity|]. inversion distinct as [|? ? fresh distinct']; subst.
  cbn [assignments length repeat]. rewrite sum_flat_map, sum_tapes, <- sum_words. apply sum_ext. intros m _.
  rewrite <- (IH (fun words => g (digits_of n m :: words)) (put Nat.eq_dec c i m) distinct'). apply sum_ext. intros c' inside.
  unfold tape. cbn [map]. now rewrite (outside Nat.eq_dec (2 ^ n) l _ c' i inside fresh), put_here.
Qed.

Section Adaptive.
Variables (d k : nat) (tau : R) (x : nat -> R) (n : kind) (A : Type) (eq : forall a b : A, {a = b} + {a <> b}) (what : list nat -> A)
  (digits : nat).
Notation everything := (repeat (words digits) d).

(* What it releases is the outcome of every noise that the answers allow. *)
Fixpoint careful (known : list (list (list bool))) (p : @procedure (option A)) : Prop :=
  match p with
  | returns None => True
  | returns (Some a) => forall z y,
      (forall i, In i (candidates d) -> exists m, In (digits_of digits m) (nth i known []) /\ in_part (below_of n) (2 ^ digits) m (z i)) ->
      ranking (beats (fun i => x i / tau + z i)) k (candidates d) y -> what y = a
  | asks i question next => forall answer, careful (narrowed known i question answer) (next answer)
  end.

(* It, as a race that has the digits of all. *)
Definition at_once (p : @procedure (option A)) (c : nat -> nat) : option A := reads (tape digits (candidates d) c) p.

Lemma nth_narrowed : forall known i j question answer w, In w (nth j known []) -> (i = j -> question w = answer) ->
  In w (nth j (narrowed known i question answer) []).
Proof.
  induction known as [|ws known IH]; intros i j question answer w here told; [now destruct i, j|].
  destruct i as [|i], j as [|j]; simpl in *; try assumption.
  - apply filter_In. split; [assumption|]. unfold agrees. rewrite told by reflexivity. apply eqb_reflx.
  - apply IH; [assumption|]. intros ->. now apply told.
Qed.

Theorem adaptive_race_is_honest : forall p, careful everything p -> honest_race d k tau x n A what digits (at_once p).
Proof.
  intros p fair c z y a yes fits first. unfold at_once in yes.
  assert (known : forall i, In i (candidates d) -> In (digits_of digits (c i)) (nth i everything [])).
  { intros i here. apply in_seq in here. rewrite (nth_indep _ [] (words digits)) by (rewrite repeat_length; lia). rewrite nth_repeat.
    clear. generalize (c i) as m. induction digits as [|e IH]; intros m; [now left|]. cbn [digits_of words]. apply in_or_app.
    destruct (Nat.odd (m / 2 ^ e)); [left|right]; apply in_map, IH. }
  revert known fair yes. generalize everything as known. induction p as [o|i question next IH]; intros known all fair yes; simpl in yes.
  - subst o. apply (fair z y); [|assumption]. intros i here. exists (c i). split; [now apply all|now apply fits].
  - set (words := tape digits (candidates d) c) in *.
    apply (IH (question (nth i words [])) (narrowed known i question (question (nth i words [])))); [|apply fair|assumption].
    intros j here. apply nth_narrowed; [now apply all|]. intros ->. f_equal. apply in_seq in here. unfold words, tape.
    rewrite (nth_indep _ [] (digits_of digits (c O))) by (rewrite map_length, count; lia).
    rewrite (map_nth (fun i => digits_of digits (c i))). unfold candidates. rewrite seq_nth by lia. reflexivity.
Qed.

(* Each answer is drawn when it is asked, in proportion to the words that are still possible. *)
Definition drawn_outcome (p : @procedure (option A)) (a : A) : R :=
  drawn (fun o => indicator (match o with Some b => if eq a b then true else false | None => false end)) everything p.
Definition drawn_none (p : @procedure (option A)) : R :=
  drawn (fun o => indicator (match o with Some _ => false | None => true end)) everything p.

Lemma as_shares : forall (f : option A -> R) p, asks_of d p ->
  drawn f everything p = sum (fun c => f (at_once p c)) (assignments Nat.eq_dec (2 ^ digits) (candidates d) (fun _ => O))
    / INR (2 ^ digits) ^ length (candidates d).
Proof.
  intros f p there. rewrite deferred.
  - unfold mean, at_once. rewrite tapes_count, (sum_assignments digits (candidates d) (fun words => f (reads words p))) by apply no_twice.
    rewrite count. f_equal. clear there. induction d as [|e IH]; [reflexivity|]. simpl. now rewrite IH, words_count, pow_INR.
  - now rewrite repeat_length.
  - apply Forall_forall. intros ws here. apply repeat_spec in here. subst ws. intros none. pose proof (words_count digits) as many.
    rewrite none in many. simpl in many. pose proof (power_pos digits). lra.
Qed.

Theorem drawn_as_asked : forall p a, asks_of d p ->
  drawn_outcome p a = releasing d A eq digits (at_once p) a /\ drawn_none p = not_ended d A digits (at_once p).
Proof.
  intros p a there. split; unfold drawn_outcome, drawn_none; rewrite as_shares by assumption; reflexivity.
Qed.

End Adaptive.

Section Cost.
Variables (d k : nat) (tau rho : R) (x x' : nat -> R) (n : kind) (digits : nat).
Hypothesis (size : (1 <= k <= d)%nat) (scale : 0 < tau) (near : within d rho x x').

(* Of candidates that there are it asks, and it releases only what the answers leave no doubt of. *)
Definition adaptive_race (z : nat -> R) (A : Type) (what : list nat -> A) (p : @procedure (option A)) : Prop :=
  asks_of d p /\ careful d k tau z n A what digits (repeat (words digits) d) p.

Theorem adaptive_cost : forall A eq (what : list nat -> A) p p' a,
  adaptive_race x A what p -> adaptive_race x' A what p' -> In a (releases eq what (all_rankings d k)) ->
  drawn_outcome d A eq digits p a <=
    exp (INR (steps d k n) * (rho / tau)) * (drawn_outcome d A eq digits p' a + drawn_none d A digits p').
Proof.
  intros A eq what p p' a [there fair] [there' fair'] here.
  destruct (drawn_as_asked d A eq digits p a there) as [-> _]. destruct (drawn_as_asked d A eq digits p' a there') as [-> ->].
  apply (digits_cost d k tau rho x x' size scale near n A eq what); [| |assumption]; now apply adaptive_race_is_honest.
Qed.

Theorem adaptive_set_cost : forall p p' b,
  adaptive_race x (list bool) (set_of Nat.eq_dec (candidates d)) p ->
  adaptive_race x' (list bool) (set_of Nat.eq_dec (candidates d)) p' -> In b (all_sets d k) ->
  drawn_outcome d (list bool) word_eq digits p b <=
    exp (INR (set_steps d k n) * (rho / tau)) * (drawn_outcome d (list bool) word_eq digits p' b + drawn_none d (list bool) digits p').
Proof.
  intros p p' b [there fair] [there' fair'] here.
  destruct (drawn_as_asked d (list bool) word_eq digits p b there) as [-> _].
  destruct (drawn_as_asked d (list bool) word_eq digits p' b there') as [-> ->].
  apply (set_digits_cost d k tau rho x x' size scale near n); [| |assumption]; now apply adaptive_race_is_honest.
Qed.

End Cost.
