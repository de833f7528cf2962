(* From independent uniform digits to the law: a race that releases only what its digits leave no doubt of has, up to the
   share of digits with which it is undecided, the probabilities that were defined as integrals. *)
From Coq Require Import Reals List Lra Lia Bool Arith Permutation Sorted FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Jumps Exponential Peeling OneShot Best Boundaries Released Cells Parts Counted.
Import ListNotations.
Open Scope R_scope.

Section FromDigits.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (f F : R -> R).
Hypothesis (is_noise : noise f F).
Notation without := (remove same).
Variables (k : nat) (l : list I) (s : I -> R).
Hypothesis (distinct : NoDup l) (size : (1 <= k <= length l)%nat).
Notation noisy := (fun (z : I -> R) (i : I) => s i + z i).

Lemma local : forall {B : Type} (D : (I -> nat) -> B) a b, (forall h, a h = b h) -> D a = D b.
Proof. intros B D a b equal. f_equal. now apply functional_extensionality. Qed.

Section OneLevel.
Variables (N : nat).
Hypothesis (some : (0 < N)%nat).
Notation possible := (possible F N).

Lemma points : exists Q : nat -> R, forall m, (0 < m < N)%nat -> INR N * F (Q m) = INR m.
Proof.
  assert (up_to : forall M, (M <= N)%nat -> exists Q : nat -> R, forall m, (0 < m < M)%nat -> INR N * F (Q m) = INR m).
  { induction M as [|M IH]; intros bounded; [exists (fun _ => 0); lia|]. destruct IH as (Q & right); [lia|].
    destruct M as [|M]; [exists Q; lia|]. pose proof (parts_pos N some).
    destruct (everywhere f F N is_noise some (INR (S M) / INR N)) as (z & equal).
    - assert (0 < INR (S M)) by (apply lt_0_INR; lia). assert (INR (S M) < INR N) by (apply lt_INR; lia).
      split; [now apply Rdiv_lt_0_compat|]. apply Rmult_lt_reg_r with (INR N); [assumption|].
      replace (INR (S M) / INR N * INR N) with (INR (S M)) by (field; lra). lra.
    - exists (fun m => if Nat.eq_dec m (S M) then z else Q m). intros m between. destruct (Nat.eq_dec m (S M)) as [->|].
      + rewrite equal. field. lra.
      + apply right. lia. }
  now apply up_to.
Qed.

(* Pairs of candidates of which something is true that depends on the parts in which their numbers lie, counted. *)
Definition pairs (near : I -> I -> nat -> nat -> bool) (c : I -> nat) : R :=
  sum (fun i => sum (fun j => if same i j then 0 else indicator (near i j (c i) (c j))) l) l.

Lemma pairs_nonneg : forall near c, 0 <= pairs near c.
Proof.
  intros near c. apply sum_nonneg. intros i _. apply sum_nonneg. intros j _. destruct (same i j); [lra|apply indicator_between].
Qed.

Lemma seldom : forall near B, 0 <= B ->
  (forall i j, sum (fun m => sum (fun n => indicator (near i j m n)) (seq 0 N)) (seq 0 N) <= B * INR N) ->
  sum (pairs near) (assignments same N l (fun _ => O)) / INR N ^ length l <= B * INR (length l) ^ 2 / INR N.
Proof.
  intros near B nonneg stairs. pose proof (parts_pos N some) as positive. pose proof (many_pos N some (length l)) as many.
  assert (pair : forall i j, In i l -> In j l ->
    sum (fun c => if same i j then 0 else indicator (near i j (c i) (c j))) (assignments same N l (fun _ => O))
      <= B / INR N * INR N ^ length l).
  { intros i j here there. destruct (same i j) as [equal|other].
    - rewrite sum_const, Rmult_0_r. apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [lra|]. now apply Rlt_le, Rinv_0_lt_compat.
    - rewrite (of_two same N some l (fun _ => O) (fun m n => indicator (near i j m n)) i j) by assumption.
      assert (two : (2 <= length l)%nat).
      { destruct l as [|a [|b m]]; simpl in *; [easy| |lia]. destruct here as [<-|[]], there as [<-|[]]. easy. }
      replace (length l) with (S (S (length l - 2))) at 2 by lia. simpl.
      pose proof (many_pos N some (length l - 2)). replace (B / INR N * (INR N * (INR N * INR N ^ (length l - 2))))
        with (INR N ^ (length l - 2) * (B * INR N)) by (field; lra).
      apply Rmult_le_compat_l; [lra|apply stairs]. }
  unfold pairs. rewrite sum_swap.
  rewrite (sum_ext _ (fun i => sum (fun j => sum (fun c => if same i j then 0 else indicator (near i j (c i) (c j)))
    (assignments same N l (fun _ => O))) l)) by (intros i _; apply sum_swap).
  apply Rle_trans with (sum (fun _ => sum (fun _ => B / INR N * INR N ^ length l) l) l / INR N ^ length l).
  - apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|].
    apply sum_le. intros i here. apply sum_le. intros j there. now apply pair.
  - rewrite !sum_const. apply Req_le. field. lra.
Qed.

Lemma no_pair : forall near c, pairs near c < 1 -> forall i j, In i l -> In j l -> i <> j -> near i j (c i) (c j) = false.
Proof.
  intros near c few i j here there other. destruct (near i j (c i) (c j)) eqn:yes; [exfalso|reflexivity].
  assert (one : 1 <= pairs near c); [|lra]. unfold pairs.
  assert (1 <= sum (fun j => if same i j then 0 else indicator (near i j (c i) (c j))) l) as inner.
  { eapply Rle_trans; [|apply (sum_member (fun j => if same i j then 0 else indicator (near i j (c i) (c j))) l j)].
    - destruct (same i j); [easy|]. rewrite yes. simpl. lra.
    - intros h _. destruct (same i h); [lra|apply indicator_between].
    - assumption. }
  eapply Rle_trans; [exact inner|].
  apply (sum_member (fun i => sum (fun j => if same i j then 0 else indicator (near i j (c i) (c j))) l)); [|assumption].
  intros h _. apply sum_nonneg. intros g _. destruct (same h g); [lra|apply indicator_between].
Qed.

Section Plain.
Variable (Q : nat -> R).
Hypothesis (right : forall m, (0 < m < N)%nat -> INR N * F (Q m) = INR m).

(* With his number in part m, i is ahead of j, whose number is in part n. *)
Definition part_ahead (i j : I) (m n : nat) : bool :=
  Nat.ltb 0 m && Nat.ltb (S n) N && (if Rle_dec (s j + Q (S n)) (s i + Q m) then true else false).
Definition ahead (c : I -> nat) (i j : I) : bool := part_ahead i j (c i) (c j).

Fixpoint settles (m y : list I) (c : I -> nat) : bool :=
  match y with
  | [] => true
  | i :: z => forallb (ahead c i) (without i m) && settles (without i m) z c
  end.

Lemma points_rise : forall m n, (0 < m)%nat -> (m < n < N)%nat -> Q m < Q n.
Proof.
  intros m n first more. apply Rnot_le_lt. intros less. apply (F_grows f F is_noise) in less.
  pose proof (right m ltac:(lia)). pose proof (right n ltac:(lia)). pose proof (parts_pos N some).
  assert (INR m < INR n) by (apply lt_INR; lia). nra.
Qed.

Lemma points_rise' : forall m n, (0 < m)%nat -> (m <= n < N)%nat -> Q m <= Q n.
Proof.
  intros m n first more. destruct (Nat.eq_dec m n) as [->|]; [apply Rle_refl|]. apply Rlt_le, points_rise; lia.
Qed.

Lemma within_points : forall m z, in_part F N m z -> ((0 < m < N)%nat -> Q m < z) /\ ((S m < N)%nat -> z < Q (S m)).
Proof.
  intros m z [low high]. pose proof (parts_pos N some). split; intros inside; apply Rnot_le_lt; intros less;
    apply (F_grows f F is_noise) in less.
  - pose proof (right m inside). nra.
  - pose proof (right (S m) ltac:(lia)). nra.
Qed.

Lemma ahead_is_sure : forall c z i j, possible l c z -> In i l -> In j l -> (c i < N)%nat -> ahead c i j = true ->
  s j + z j < s i + z i.
Proof.
  intros c z i j fits here there reach yes. unfold ahead, part_ahead in yes.
  apply andb_prop in yes. destruct yes as [yes apart]. apply andb_prop in yes. destruct yes as [first last].
  apply Nat.ltb_lt in first. apply Nat.ltb_lt in last. destruct (Rle_dec _ _) as [order|]; [|easy].
  destruct (within_points _ _ (fits i here)) as [low _]. destruct (within_points _ _ (fits j there)) as [_ high].
  specialize (low ltac:(lia)). specialize (high last). lra.
Qed.

Lemma reach : forall (m : list I) c z i, possible m c z -> In i m -> (c i < N)%nat.
Proof.
  intros m c z i fits here. destruct (fits i here) as [low _]. pose proof (F_between f F is_noise (z i)).
  pose proof (parts_pos N some). apply INR_lt. nra.
Qed.

Lemma settles_tells : forall j (m y : list I), incl m l -> NoDup m -> In y (rankings same j m) ->
  forall c z, settles m y c = true -> possible l c z -> in_order same m y (noisy z).
Proof.
  induction j as [|j IH]; intros m y within fresh here c z yes fits; apply rankings_shape in here;
    destruct here as [(zero & ->)|(n & i & y' & next & -> & inside & there)]; try easy.
  injection next as <-. simpl in yes. apply andb_prop in yes. destruct yes as [first rest]. split.
  - intros h here. rewrite forallb_forall in first. specialize (first h here). apply (without_incl same i m) in here.
    apply (ahead_is_sure c z i h fits (within i inside) (within h here)); [|assumption]. apply (reach l c z i fits). now apply within.
  - apply (IH (without i m) y') with (c := c); auto; [|now apply without_distinct].
    intros h back. apply within. now apply (without_incl same i m).
Qed.

(* Two candidates who are not told apart. *)
Definition close (i j : I) (m n : nat) : bool := negb (part_ahead i j m n) && negb (part_ahead j i n m).

Lemma close_rise : forall i j m m' n n', close i j m m' = true -> close i j n n' = true -> (m < n)%nat -> (n < N)%nat ->
  (m' < N)%nat -> (m' <= n')%nat.
Proof.
  intros i j m m' n n' one two order bounded bounded'. destruct (le_lt_dec m' n') as [|more]; [assumption|exfalso].
  unfold close, part_ahead in *.
  apply andb_prop in one. destruct one as [_ one]. apply andb_prop in two. destruct two as [two _].
  assert (positive : Nat.ltb 0 m' = true) by (apply Nat.ltb_lt; lia). assert (last : Nat.ltb (S m) N = true) by (apply Nat.ltb_lt; lia).
  assert (positive' : Nat.ltb 0 n = true) by (apply Nat.ltb_lt; lia). assert (last' : Nat.ltb (S n') N = true) by (apply Nat.ltb_lt; lia).
  rewrite positive, last in one. rewrite positive', last' in two. simpl in one, two.
  destruct (Rle_dec (s i + Q (S m)) (s j + Q m')) as [|above]; [easy|].
  destruct (Rle_dec (s j + Q (S n')) (s i + Q n)) as [|above']; [easy|].
  pose proof (points_rise' (S m) n ltac:(lia) ltac:(lia)). pose proof (points_rise' (S n') m' ltac:(lia) ltac:(lia)). lra.
Qed.

Definition some_are_close : (I -> nat) -> R := pairs close.

Lemma some_are_close_nonneg : forall c, 0 <= some_are_close c.
Proof. apply pairs_nonneg. Qed.

Lemma seldom_close : sum some_are_close (assignments same N l (fun _ => O)) / INR N ^ length l
  <= 2 * INR (length l) ^ 2 / INR N.
Proof. apply seldom; [lra|]. intros i j. apply (staircase N some (close i j) (close_rise i j)). Qed.

Lemma all_apart : forall c, some_are_close c < 1 -> forall i j, In i l -> In j l -> i <> j -> ahead c i j = true \/ ahead c j i = true.
Proof.
  intros c few i j here there other. pose proof (no_pair close c few i j here there other) as near.
  unfold close in near. unfold ahead. destruct (part_ahead i j (c i) (c j)), (part_ahead j i (c j) (c i)); auto.
Qed.

Lemma one_is_largest : forall (Y : I -> R) m, m <> [] -> exists i, In i m /\ forall j, In j m -> Y j <= Y i.
Proof.
  intros Y m. induction m as [|h m IH]; intros nonempty; [easy|]. destruct m as [|g m].
  - exists h. split; [now left|]. intros j [<-|[]]. apply Rle_refl.
  - destruct IH as (i & here & most); [discriminate|]. destruct (Rle_or_lt (Y h) (Y i)) as [less|more].
    + exists i. split; [now right|]. intros j [<-|there]; [assumption|now apply most].
    + exists h. split; [now left|]. intros j [<-|there]; [apply Rle_refl|]. specialize (most j there). lra.
Qed.

Lemma somebody_settles : forall c, (forall i, In i l -> (c i < N)%nat) -> some_are_close c < 1 ->
  exists y, In y (rankings same k l) /\ settles l y c = true.
Proof.
  intros c inside few. pose proof (all_apart c few) as apart. destruct (somewhere same f F N is_noise some l c inside) as (z & fits).
  assert (of_part : forall j m, incl m l -> NoDup m -> (j <= length m)%nat -> exists y, In y (rankings same j m) /\ settles m y c = true).
  { induction j as [|j IH]; intros m within fresh enough; [exists []; split; [now left|reflexivity]|].
    destruct (one_is_largest (noisy z) m) as (i & here & most); [destruct m; [simpl in enough; lia|discriminate]|].
    pose proof (without_length same i m fresh here).
    destruct (IH (without i m)) as (y & there & yes); [|now apply without_distinct|lia|].
    { intros h back. apply within. now apply (without_incl same i m). }
    exists (i :: y). split; [apply rankings_step; now split|]. simpl. rewrite yes, andb_true_r. apply forallb_forall.
    intros h back. pose proof (most h (without_incl same i m h back)). apply in_remove in back. destruct back as [back other].
    destruct (apart i h) as [|behind]; auto. exfalso.
    pose proof (ahead_is_sure c z h i fits (within h back) (within i here) (inside h (within h back)) behind). lra. }
  apply of_part; [now intros ?|assumption|apply size].
Qed.

End Plain.
End OneLevel.

(* More digits: each of N parts is divided into P. *)
Lemma finer_sum : forall N P (g : nat -> R), (0 < P)%nat ->
  sum (fun m => g (m / P)%nat) (seq 0 (N * P)) = INR P * sum g (seq 0 N).
Proof.
  intros N P g positive. induction N as [|N IH]; [simpl; ring|].
  replace (S N * P)%nat with (N * P + P)%nat by lia. rewrite seq_app, sum_app, IH, seq_S, sum_app. cbn [sum].
  rewrite !Nat.add_0_l. rewrite (sum_ext (fun m => g (m / P)%nat) (fun _ => g N) (seq (N * P) P)).
  - rewrite sum_const, seq_length. ring.
  - intros m inside. apply in_seq in inside. f_equal. symmetry. apply (Nat.div_unique m P N (m - N * P)); lia.
Qed.

Definition coarse (P : nat) (c : I -> nat) : I -> nat := fun i => (c i / P)%nat.

Lemma finer_assignments : forall N P (G : (I -> nat) -> R) m c, (0 < P)%nat ->
  sum (fun c => G (coarse P c)) (assignments same (N * P) m c) = INR P ^ length m * sum G (assignments same N m (coarse P c)).
Proof.
  intros N P G m. induction m as [|i m IH]; intros c positive; cbn [assignments].
  - simpl. ring.
  - rewrite !sum_flat_map.
    rewrite (sum_ext _ (fun n => INR P ^ length m * sum G (assignments same N m (put same (coarse P c) i (n / P))))).
    + rewrite sum_scale, (finer_sum N P (fun n => sum G (assignments same N m (put same (coarse P c) i n)))) by assumption.
      simpl. ring.
    + intros n _. rewrite IH by assumption. do 3 f_equal. apply functional_extensionality. intros j. unfold coarse, put.
      now destruct (same j i).
Qed.

Lemma finer_share : forall N P D, (0 < N)%nat -> (0 < P)%nat -> share same (N * P) l (fun c => D (coarse P c)) = share same N l D.
Proof.
  intros N P D some positive. unfold share.
  rewrite (finer_assignments N P (fun c => indicator (D c)) l (fun _ => O) positive), mult_INR, Rpow_mult_distr.
  assert (0 < INR N ^ length l) by now apply many_pos. assert (0 < INR P ^ length l) by now apply many_pos.
  replace (coarse P (fun _ => O)) with (fun _ : I => O); [field; lra|].
  apply functional_extensionality. intros j. unfold coarse. symmetry. apply Nat.div_0_l. lia.
Qed.

Lemma coarser : forall N P c z, (0 < P)%nat -> possible F (N * P) l c z -> possible F N l (coarse P c) z.
Proof.
  intros N P c z positive fits i here. destruct (fits i here) as [low high]. unfold in_part, coarse.
  rewrite mult_INR in *. assert (many : 0 < INR P) by now apply lt_0_INR.
  pose proof (Nat.div_mod (c i) P ltac:(lia)) as parts. pose proof (Nat.mod_upper_bound (c i) P ltac:(lia)) as small.
  assert (below : (P * (c i / P) <= c i)%nat) by lia. assert (above : (S (c i) <= P * S (c i / P))%nat) by lia.
  apply le_INR in below. apply le_INR in above. rewrite mult_INR in *. split; nra.
Qed.

(* What a race releases is sure: whatever noises the N parts allow, the ranking has the outcome. *)
Definition sure (N : nat) (D : (I -> nat) -> bool) (E : list I -> bool) : Prop :=
  forall c z y, D c = true -> possible F N l c z -> ranking (beats (noisy z)) k l y -> E y = true.

Theorem at_most_the_integrals : forall N D E, (0 < N)%nat -> sure N D E ->
  share same N l D <= sum (released same f F l s) (filter E (rankings same k l)).
Proof.
  intros N D E some known. apply le_epsilon. intros eps small.
  set (d := INR (length l)). assert (0 <= d) by apply pos_INR.
  destruct (archimed_cor1 (eps / (2 * d ^ 2 + 1))) as (P & fine & positive); [apply Rdiv_lt_0_compat; nra|].
  rewrite <- (finer_share N P D some positive).
  assert (some' : (0 < N * P)%nat) by lia. set (M := (N * P)%nat) in *.
  destruct (points M some') as (Q & right).
  assert (each : forall c, In c (assignments same M l (fun _ => O)) -> indicator (D (coarse P c)) <=
    sum (fun y => indicator (settles M Q l y c)) (filter E (rankings same k l)) + some_are_close M Q c).
  { intros c here. pose proof (some_are_close_nonneg M Q c).
    assert (0 <= sum (fun y => indicator (settles M Q l y c)) (filter E (rankings same k l)))
      by (apply sum_nonneg; intros; apply indicator_between).
    destruct (D (coarse P c)) eqn:yes; [|simpl; lra].
    destruct (Rlt_or_le (some_are_close M Q c) 1) as [few|]; [|simpl; lra].
    assert (inside : forall i, In i l -> (c i < M)%nat) by (intros i there; now apply (in_reach same M l (fun _ => O))).
    destruct (somebody_settles M some' Q right c inside few) as (y & among & settled).
    assert (E y = true).
    { destruct (somewhere same f F M is_noise some' l c inside) as (z & fits). apply (known (coarse P c) z); [assumption|now apply coarser|].
      apply (in_order_ranks same k y l); try assumption. now apply (settles_tells M some' Q right k l y (incl_refl l) distinct among c z). }
    assert (1 <= sum (fun y => indicator (settles M Q l y c)) (filter E (rankings same k l))).
    { eapply Rle_trans; [|apply (sum_member (fun y => indicator (settles M Q l y c)) _ y)].
      - rewrite settled. simpl. lra.
      - intros; apply indicator_between.
      - apply filter_In. now split. }
    simpl. lra. }
  assert (positive' := many_pos M some' (length l)).
  apply Rle_trans with (sum (fun y => share same M l (settles M Q l y)) (filter E (rankings same k l)) +
    sum (some_are_close M Q) (assignments same M l (fun _ => O)) / INR M ^ length l).
  - unfold share, Rdiv. rewrite sum_scale_right, <- Rmult_plus_distr_r. apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|].
    rewrite sum_swap, <- sum_plus. now apply sum_le.
  - apply Rplus_le_compat.
    + apply sum_le. intros y among. apply filter_In in among. destruct among as [among _].
      apply (no_more_than_released same f F M is_noise some' s k); try assumption; [apply size|intros; now apply local|].
      intros c z. now apply (settles_tells M some' Q right k l y (incl_refl l) distinct among).
    + eapply Rle_trans; [now apply seldom_close|]. fold d. unfold M. rewrite mult_INR.
      assert (1 <= INR N) by (apply (le_INR 1); lia). assert (0 < INR P) by now apply lt_0_INR.
      assert (0 < / INR P) by now apply Rinv_0_lt_compat.
      apply Rle_trans with (2 * d ^ 2 * / INR P).
      * unfold Rdiv. apply Rmult_le_compat_l; [nra|]. apply Rinv_le_contravar; [assumption|nra].
      * apply Rle_trans with ((2 * d ^ 2 + 1) * (eps / (2 * d ^ 2 + 1))); [|apply Req_le; field; nra].
        apply Rmult_le_compat; nra.
Qed.

(* A race after N parts: an outcome, or none yet. *)
Section Races.
Context {A : Type} (eq : forall a b : A, {a = b} + {a <> b}) (what : list I -> A) (N : nat) (race : (I -> nat) -> option A).
Hypothesis (some : (0 < N)%nat).

(* It releases what is sure. *)
Definition honest : Prop :=
  forall c z y a, race c = Some a -> possible F N l c z -> ranking (beats (noisy z)) k l y -> what y = a.

Definition releases_it (a : A) (c : I -> nat) : bool := match race c with Some b => if eq a b then true else false | None => false end.
Definition undecided (c : I -> nat) : bool := match race c with Some _ => false | None => true end.
Definition is_outcome (a : A) (y : list I) : bool := if eq (what y) a then true else false.

Theorem between_integrals : honest -> forall a,
  sum (released same f F l s) (filter (is_outcome a) (rankings same k l)) - share same N l undecided
    <= share same N l (releases_it a) <= sum (released same f F l s) (filter (is_outcome a) (rankings same k l)).
Proof.
  intros true_ a. split.
  - set (others := fun y => negb (is_outcome a y)).
    set (another := fun c => match race c with Some b => if eq a b then false else true | None => false end).
    assert (rest : share same N l another <= sum (released same f F l s) (filter others (rankings same k l))).
    { apply at_most_the_integrals; [assumption|]. intros c z y yes fits first. unfold another in yes. unfold others, is_outcome.
      destruct (race c) as [b|] eqn:released_b; [|easy]. rewrite (true_ c z y b released_b fits first).
      destruct (eq b a) as [->|]; [|reflexivity]. now destruct (eq a a). }
    assert (parts : sum (released same f F l s) (filter (is_outcome a) (rankings same k l)) +
      sum (released same f F l s) (filter others (rankings same k l)) = 1).
    { rewrite <- (released_add_up same f F is_noise s k l distinct ltac:(apply size)). unfold others. clear.
      induction (rankings same k l) as [|y m IH]; simpl; [lra|]. destruct (is_outcome a y); simpl; lra. }
    assert (all : share same N l (releases_it a) + share same N l another + share same N l undecided = 1).
    { pose proof (many_pos N some (length l)). unfold share, Rdiv. rewrite <- !Rmult_plus_distr_r, <- !sum_plus.
      rewrite (sum_ext _ (fun _ => 1)).
      - rewrite (how_many same N). field. lra.
      - intros c _. unfold releases_it, another, undecided. destruct (race c) as [b|]; [destruct (eq a b)|]; simpl; lra. }
    lra.
  - apply at_most_the_integrals; [assumption|]. intros c z y yes fits first. unfold releases_it in yes.
    destruct (race c) as [b|] eqn:released_b; [|easy]. destruct (eq a b) as [<-|]; [|easy].
    unfold is_outcome. rewrite (true_ c z y a released_b fits first). now destruct (eq a a).
Qed.

End Races.
End FromDigits.
