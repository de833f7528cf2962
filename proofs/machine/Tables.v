(* A race on integers, by a table of bounds on the noise in each part, as it reads equally many digits of all: it releases
   only what its digits leave no doubt of, and it is seldom undecided. Such tables exist for all numbers of digits. *)
From Coq Require Import Reals List Lra Lia Bool Arith ZArith Permutation Sorted.
From Machine Require Import Sums Laws Exponential Peeling Jumps OneShot Noises Digits Deferred Images Best Boundaries Cells Parts Counted FromDigits Sets Costs Adaptive.
Import ListNotations.
Open Scope R_scope.

Notation without := (remove Nat.eq_dec).

Lemma many_parts : forall digits, (0 < 2 ^ digits)%nat.
Proof. intros digits. pose proof (Nat.pow_nonzero 2 digits). lia. Qed.

Section Tables.
Variables (n : kind) (digits : nat) (D : Z) (low high : nat -> Z).
Notation N := (Nat.pow 2 digits).

(* Bounds on the noise in each part, in units of 1 / D: the first part has no lower bound, and the last one no upper. *)
Definition bounds : Prop := (0 < D)%Z /\ forall m z, in_part (below_of n) N m z ->
  ((0 < m)%nat -> IZR (low m) <= IZR D * z) /\ ((S m < N)%nat -> IZR D * z <= IZR (high m)).

(* The bounds of parts that are not beside each other are in order. *)
Definition narrow : bool := forallb (fun m =>
  ((m =? 0)%nat || (low m <=? low (S m))%Z) && ((N <=? S (S m))%nat || (high m <? low (S (S m)))%Z)) (seq 0 (N - 1)).

Lemma lower_ones_rise : narrow = true -> forall m m', (0 < m)%nat -> (m <= m' < N)%nat -> (low m <= low m')%Z.
Proof.
  intros fine m m' some [order small]. unfold narrow in fine. rewrite forallb_forall in fine.
  induction order as [|m' order IH]; [lia|]. apply Z.le_trans with (low m'); [apply IH; lia|].
  specialize (fine m' ltac:(apply in_seq; lia)). apply andb_prop in fine. destruct fine as [fine _].
  apply orb_prop in fine. destruct fine as [zero|fine]; [apply Nat.eqb_eq in zero; lia|now apply Z.leb_le].
Qed.

Lemma others_are_in_order : narrow = true -> forall m m', (S m < m')%nat -> (m' < N)%nat -> (high m < low m')%Z.
Proof.
  intros fine m m' order small. apply Z.lt_le_trans with (low (S (S m))); [|apply lower_ones_rise; [assumption|lia|lia]].
  unfold narrow in fine. rewrite forallb_forall in fine. specialize (fine m ltac:(apply in_seq; lia)).
  apply andb_prop in fine. destruct fine as [_ fine]. apply orb_prop in fine.
  destruct fine as [last|fine]; [apply Nat.leb_le in last; lia|now apply Z.ltb_lt].
Qed.

(* Scores are integers, and the scale is P / q. *)
Variables (P q : Z) (d k : nat) (a : nat -> Z).
Notation noisy := (fun (z : nat -> R) (i : nat) => IZR (a i) / (IZR P / IZR q) + z i).

(* With his number in part m, i is ahead of j, whose number is in part m'. *)
Definition part_ahead (i j m m' : nat) : bool :=
  (0 <? m)%nat && (S m' <? N)%nat && (a j * q * D + P * high m' <? a i * q * D + P * low m)%Z.
Definition ahead (c : nat -> nat) (i j : nat) : bool := part_ahead i j (c i) (c j).

Fixpoint found (j : nat) (m : list nat) (c : nat -> nat) : option (list nat) :=
  match j with
  | O => Some []
  | S h => match find (fun i => forallb (ahead c i) (without i m)) m with
           | None => None
           | Some i => option_map (cons i) (found h (without i m) c)
           end
  end.

Section Outcomes.
Context {A : Type} (what : list nat -> A).
Definition table_race (c : nat -> nat) : option A := option_map what (found k (candidates d) c).
Hypothesis (size : (1 <= k <= d)%nat) (right : bounds) (above : (0 < P)%Z) (below : (0 < q)%Z).

Lemma ahead_is_sure : forall c z i j, possible (below_of n) N (candidates d) c z -> In i (candidates d) -> In j (candidates d) ->
  ahead c i j = true -> noisy z j < noisy z i.
Proof.
  intros c z i j fits here there yes. destruct right as [unit inside]. unfold ahead, part_ahead in yes.
  rewrite !andb_true_iff, !Nat.ltb_lt, Z.ltb_lt in yes. destruct yes as [[first last] more].
  destruct (inside _ _ (fits i here)) as [lower _]. destruct (inside _ _ (fits j there)) as [_ upper].
  specialize (lower first). specialize (upper last). apply IZR_lt in more, unit, above, below.
  rewrite !plus_IZR, !mult_IZR in more.
  assert (IZR P * IZR (low (c i)) <= IZR P * (IZR D * z i)) by (apply Rmult_le_compat_l; lra).
  assert (IZR P * (IZR D * z j) <= IZR P * IZR (high (c j))) by (apply Rmult_le_compat_l; lra).
  apply Rmult_lt_reg_l with (IZR P * IZR D); [now apply Rmult_lt_0_compat|].
  replace (IZR P * IZR D * noisy z j) with (IZR (a j) * IZR q * IZR D + IZR P * (IZR D * z j)) by (field; lra).
  replace (IZR P * IZR D * noisy z i) with (IZR (a i) * IZR q * IZR D + IZR P * (IZR D * z i)) by (field; lra). lra.
Qed.

Lemma found_is_in_order : forall j m c z y, incl m (candidates d) -> NoDup m -> possible (below_of n) N (candidates d) c z ->
  found j m c = Some y -> In y (rankings Nat.eq_dec j m) /\ in_order Nat.eq_dec m y (noisy z).
Proof.
  induction j as [|j IH]; intros m c z y within fresh fits yes; cbn [found] in yes.
  - injection yes as <-. split; [now left|exact I].
  - destruct (find _ m) as [i|] eqn:first; [|easy]. destruct (found j (without i m) c) as [w|] eqn:rest; [|easy].
    injection yes as <-. apply find_some in first. destruct first as [here first]. rewrite forallb_forall in first.
    destruct (IH (without i m) c z w) as [among order]; [| |assumption|assumption|].
    + intros h back. apply within. now apply (without_incl Nat.eq_dec i m).
    + now apply without_distinct.
    + split; [apply rankings_step; now split|]. split; [|assumption]. intros h back.
      apply (ahead_is_sure c z i h fits); [now apply within|apply within; now apply (without_incl Nat.eq_dec i m)|now apply first].
Qed.

Theorem table_race_is_honest : honest_race d k (IZR P / IZR q) (fun i => IZR (a i)) n A what digits table_race.
Proof.
  intros c z y b yes fits first. unfold table_race in yes. destruct (found k (candidates d) c) as [w|] eqn:some; [|easy].
  injection yes as <-. f_equal.
  destruct (found_is_in_order k (candidates d) c z w (incl_refl _) (no_twice d) fits some) as [among order].
  apply (the_ranking_is_unique (beats (noisy z)) Nat.eq_dec (beats_strict (noisy z)) (beats_chain (noisy z)) k (candidates d)); [assumption|].
  now apply (in_order_ranks Nat.eq_dec k w (candidates d) _ (no_twice d)).
Qed.

(* Two candidates who are not told apart. *)
Definition close (i j m m' : nat) : bool := negb (part_ahead i j m m') && negb (part_ahead j i m' m).

Hypothesis (fine : narrow = true).

Lemma close_rise : forall i j m m' h h', close i j m m' = true -> close i j h h' = true -> (S m < h)%nat -> (h < N)%nat ->
  (m' < N)%nat -> (m' <= S h')%nat.
Proof.
  intros i j m m' h h' one two order small small'. destruct (le_lt_dec m' (S h')) as [|more]; [assumption|exfalso].
  unfold close, part_ahead in *. apply andb_prop in one. destruct one as [_ one]. apply andb_prop in two. destruct two as [two _].
  rewrite (proj2 (Nat.ltb_lt 0 m')), (proj2 (Nat.ltb_lt (S m) N)) in one by lia.
  rewrite (proj2 (Nat.ltb_lt 0 h)), (proj2 (Nat.ltb_lt (S h') N)) in two by lia. simpl in one, two.
  rewrite negb_true_iff, Z.ltb_ge in one, two.
  pose proof (others_are_in_order fine m h order small). pose proof (others_are_in_order fine h' m' more small'). nia.
Qed.

Lemma stairs : forall i j, sum (fun m => sum (fun m' => indicator (close i j m m')) (seq 0 N)) (seq 0 N) <= 4 * INR N.
Proof.
  intros i j. destruct digits as [|more] eqn:none.
  - simpl. pose proof (indicator_between (close i j 0 0)). lra.
  - replace (2 ^ S more)%nat with (2 * 2 ^ more)%nat by reflexivity. pose proof (Nat.pow_nonzero 2 more ltac:(lia)).
    apply wide_staircase; [lia|]. intros m m' h h' one two order small small'.
    apply (close_rise i j m m' h h'); rewrite ?none; assumption.
Qed.

Lemma apart_is_found : forall c, (forall i, In i (candidates d) -> (c i < N)%nat) ->
  (forall i j, In i (candidates d) -> In j (candidates d) -> i <> j -> close i j (c i) (c j) = false) ->
  forall j m, incl m (candidates d) -> NoDup m -> (j <= length m)%nat -> found j m c <> None.
Proof.
  intros c inside apart.
  destruct (somewhere Nat.eq_dec _ _ N (all_are_noise n) (many_parts digits) (candidates d) c inside) as (z & fits).
  induction j as [|j IH]; intros m within fresh enough; [easy|]. cbn [found].
  destruct (find _ m) as [i|] eqn:first.
  - apply find_some in first. destruct first as [here _]. pose proof (without_length Nat.eq_dec i m fresh here).
    destruct (found j (without i m) c) as [w|] eqn:rest; [easy|exfalso]. revert rest. apply IH; [|now apply without_distinct|lia].
    intros h back. apply within. now apply (without_incl Nat.eq_dec i m).
  - exfalso. destruct (one_is_largest (noisy z) m) as (i & here & most); [destruct m; [simpl in enough; lia|discriminate]|].
    pose proof (find_none _ _ first i here) as no. cbv beta in no. apply not_true_iff_false in no. apply no, forallb_forall.
    intros h back. pose proof (most h (without_incl Nat.eq_dec i m h back)). apply in_remove in back. destruct back as [back other].
    pose proof (apart i h (within i here) (within h back) ltac:(congruence)) as told. unfold close in told. unfold ahead.
    destruct (part_ahead i h (c i) (c h)) eqn:yes; [reflexivity|]. simpl in told. apply negb_false_iff in told.
    pose proof (ahead_is_sure c z h i fits (within h back) (within i here) told). lra.
Qed.

Theorem table_races_end : not_ended d A digits table_race <= 4 * INR d ^ 2 / 2 ^ digits.
Proof.
  pose proof (seldom Nat.eq_dec k (candidates d) (no_twice d) (sizes d k size) N (many_parts digits) close 4 ltac:(lra) stairs) as few.
  rewrite (count d), pow_INR in few. change (INR 2) with 2 in few. eapply Rle_trans; [|exact few]. unfold not_ended, share.
  rewrite (count d), pow_INR. change (INR 2) with 2.
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, pow_lt, pow_lt; lra|]. apply sum_le. intros c here.
  pose proof (pairs_nonneg Nat.eq_dec (candidates d) close c) as nonneg. unfold undecided.
  destruct (table_race c) as [b|] eqn:none; simpl; [assumption|].
  destruct (Rlt_or_le (pairs Nat.eq_dec (candidates d) close c) 1) as [less|]; [exfalso|assumption]. unfold table_race in none.
  destruct (found k (candidates d) c) as [w|] eqn:never; [easy|]. revert never. apply apart_is_found.
  - intros i there. now apply (in_reach Nat.eq_dec N (candidates d) (fun _ => O)).
  - intros i j here' there'. now apply (no_pair Nat.eq_dec (candidates d)).
  - apply incl_refl.
  - apply no_twice.
  - rewrite count. apply size.
Qed.

(* So do races that read digits as they need them, if with the digits of all they end wherever this one does. *)
Theorem adaptive_races_end : forall p, asks_of d p -> (forall c, table_race c <> None -> at_once d A digits p c <> None) ->
  drawn_none d A digits p <= 4 * INR d ^ 2 / 2 ^ digits.
Proof.
  intros p there sooner. unfold drawn_none. rewrite as_shares by assumption. eapply Rle_trans; [|exact table_races_end].
  unfold not_ended, share. apply Rmult_le_compat_r.
  { apply Rlt_le, Rinv_0_lt_compat, pow_lt, lt_0_INR, many_parts. }
  apply sum_le. intros c _. specialize (sooner c). unfold undecided.
  destruct (table_race c), (at_once d A digits p c); simpl; try lra. exfalso. now apply sooner.
Qed.

End Outcomes.
End Tables.

(* For each number of digits there is a table, if its unit is small enough. *)
Theorem tables_exist : forall n digits, exists D low high, bounds n digits D low high /\ narrow digits low high = true.
Proof.
  intros n digits. pose proof (many_parts digits) as some. set (N := (2 ^ digits)%nat) in *.
  destruct (points _ _ (all_are_noise n) 1 [0%nat] (conj (le_n 1) (le_n 1)) N some) as (Q & right).
  pose proof (points_rise _ _ (all_are_noise n) 1 [0%nat] (conj (le_n 1) (le_n 1)) N some Q right) as rise.
  assert (unit : forall M, exists D, (0 < D)%Z /\ forall m, (0 < m < M)%nat -> (S m < N)%nat -> IZR D * (Q (S m) - Q m) > 2).
  { induction M as [|M (D & positive & IH)]; [exists 1%Z; split; [lia|intros; lia]|].
    destruct (le_lt_dec 1 M) as [first|]; [|exists D; split; [assumption|intros; lia]].
    destruct (le_lt_dec N (S M)) as [|last]; [exists D; split; [assumption|intros; apply IH; lia]|].
    pose proof (rise M (S M) ltac:(lia) ltac:(lia)) as step. set (gap := Q (S M) - Q M). assert (0 < gap) by (unfold gap; lra).
    destruct (archimed (2 / gap)) as [enough _]. assert (0 < 2 / gap) by (apply Rdiv_lt_0_compat; lra).
    exists (Z.max D (up (2 / gap))). split; [lia|]. intros m between small.
    assert (IZR (up (2 / gap)) <= IZR (Z.max D (up (2 / gap)))) by (apply IZR_le; lia).
    assert (IZR D <= IZR (Z.max D (up (2 / gap)))) by (apply IZR_le; lia).
    destruct (Nat.eq_dec m M) as [->|other].
    - fold gap. apply Rlt_gt. apply Rmult_lt_reg_r with (/ gap); [now apply Rinv_0_lt_compat|].
      replace (IZR (Z.max D (up (2 / gap))) * gap * / gap) with (IZR (Z.max D (up (2 / gap)))) by (field; lra).
      unfold Rdiv in *. lra.
    - pose proof (IH m ltac:(lia) small). pose proof (rise m (S m) ltac:(lia) ltac:(lia)). nra. }
  destruct (unit N) as (D & positive & apart). exists D, (fun m => up (IZR D * Q m) - 1)%Z, (fun m => up (IZR D * Q (S m))).
  pose proof (IZR_lt _ _ positive) as real. split; [split; [assumption|]|].
  - intros m z inside. fold N in inside |- *. destruct (within_points _ _ (all_are_noise n) 1 [0%nat] (conj (le_n 1) (le_n 1)) N some Q right m z inside) as [lower upper]. split.
    + intros first. destruct (archimed (IZR D * Q m)) as [_ near]. rewrite minus_IZR.
      destruct inside as [below _]. pose proof (F_between _ _ (all_are_noise n) z). pose proof (lt_0_INR N some).
      assert (m < N)%nat by (apply INR_lt; nra). specialize (lower ltac:(lia)). nra.
    + intros last. destruct (archimed (IZR D * Q (S m))) as [near _]. specialize (upper last). nra.
  - unfold narrow. fold N. apply forallb_forall. intros m here. apply in_seq in here.
    apply andb_true_intro. split; apply orb_true_iff.
    + destruct (Nat.eqb_spec m 0) as [|other]; [now left|right]. apply Z.leb_le, Z.sub_le_mono_r.
      destruct (archimed (IZR D * Q m)) as [_ near]. destruct (archimed (IZR D * Q (S m))) as [more _].
      pose proof (rise m (S m) ltac:(lia) ltac:(lia)). apply Z.lt_le_incl, lt_IZR.
      pose proof (apart m ltac:(lia) ltac:(lia)). lra.
    + destruct (Nat.leb_spec N (S (S m))) as [|inside]; [now left|right]. apply Z.ltb_lt, lt_IZR. rewrite minus_IZR.
      destruct (archimed (IZR D * Q (S m))) as [_ near]. destruct (archimed (IZR D * Q (S (S m)))) as [more _].
      pose proof (apart (S m) ltac:(lia) ltac:(lia)). lra.
Qed.

(* What its rankings and its sets cost. *)
Section Cost.
Variables (n : kind) (digits : nat) (D : Z) (low high : nat -> Z) (P q : Z) (d k : nat) (a a' : nat -> Z) (rho : R).
Hypothesis (right : bounds n digits D low high) (fine : narrow digits low high = true) (above : (0 < P)%Z) (below : (0 < q)%Z)
  (size : (1 <= k <= d)%nat) (near : within d rho (fun i => IZR (a i)) (fun i => IZR (a' i))).
Notation races := (table_race digits D low high P q d k).

Lemma scale_is_positive : 0 < IZR P / IZR q.
Proof. apply Rdiv_lt_0_compat; now apply IZR_lt. Qed.

Lemma with_more : forall {A : Type} (eq : forall v w : A, {v = w} + {v <> w}) (what : list nat -> A) c b,
  releasing d A eq digits (races a what) b <=
    exp c * (releasing d A eq digits (races a' what) b + not_ended d A digits (races a' what)) ->
  releasing d A eq digits (races a what) b <= exp c * (releasing d A eq digits (races a' what) b + 4 * INR d ^ 2 / 2 ^ digits).
Proof.
  intros A eq what c b cost. pose proof (table_races_end n digits D low high P q d k a' what size right above below fine).
  pose proof (exp_pos c). nra.
Qed.

Theorem ranking_race_cost : forall y, In y (all_rankings d k) ->
  let released := releasing d (list nat) (list_eq_dec Nat.eq_dec) digits in
  released (races a (fun w => w)) y <= exp (INR (steps d k n) * (rho / (IZR P / IZR q))) *
    (released (races a' (fun w => w)) y + 4 * INR d ^ 2 / 2 ^ digits).
Proof.
  intros y here. apply with_more, digits_cost with (k := k) (x := fun i => IZR (a i)) (x' := fun i => IZR (a' i)) (what := fun w => w);
    try assumption; [apply scale_is_positive|now apply table_race_is_honest|now apply table_race_is_honest|].
  apply releases_are. now exists y.
Qed.

Theorem set_race_cost : forall b, In b (all_sets d k) ->
  let released := releasing d (list bool) word_eq digits in
  let marks := set_of Nat.eq_dec (candidates d) in
  released (races a marks) b <= exp (INR (set_steps d k n) * (rho / (IZR P / IZR q))) *
    (released (races a' marks) b + 4 * INR d ^ 2 / 2 ^ digits).
Proof.
  intros b here. apply with_more, set_digits_cost with (k := k) (x := fun i => IZR (a i)) (x' := fun i => IZR (a' i));
    try assumption; [apply scale_is_positive|now apply table_race_is_honest|now apply table_race_is_honest].
Qed.

End Cost.
