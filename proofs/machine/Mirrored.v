(* Noise that is symmetric about zero: the set of the k best is what the d - k worst leave, so that with noise whose density
   changes no faster than an exponential sets cost no more than min(k, d - k) r. The proof counts digits: those of a uniform
   number U with all digits exchanged are those of 1 - U. *)
From Coq Require Import Reals List Lra Lia Bool Arith Permutation Sorted FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Jumps Exponential Peeling OneShot OneShotLoss Best Boundaries Digits Images Sets Released Noises.
From Machine Require Import Cells Parts Counted FromDigits.
Import ListNotations.
Open Scope R_scope.

Definition even_noise (F : R -> R) : Prop := forall z, F (- z) = 1 - F z.

Section Mirrored.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (f F : R -> R).
Hypothesis (is_noise : noise f F) (even : even_noise F).
Notation without := (remove same).

Lemma lists_are_rankings : forall y l : list I, NoDup y -> incl y l -> In y (rankings same (length y) l).
Proof.
  induction y as [|i z IH]; intros l fresh within; [now left|]. inversion fresh as [|? ? out fresh']; subst.
  simpl length. apply rankings_step. split; [apply within; now left|]. apply IH; [assumption|].
  intros j here. apply in_in_remove; [congruence|]. apply within. now right.
Qed.

(* Who is not in y. *)
Definition rest (l y : list I) : list I := filter (fun i => if in_dec same i y then false else true) l.
Definition complement (b : list bool) : list bool := map negb b.

Lemma in_rest : forall l y i, In i (rest l y) <-> In i l /\ ~ In i y.
Proof. intros l y i. unfold rest. rewrite filter_In. destruct (in_dec same i y); intuition congruence. Qed.

Lemma rest_shape : forall l y, NoDup l -> NoDup y -> incl y l -> NoDup (rest l y) /\ length (rest l y) = (length l - length y)%nat.
Proof.
  intros l y fresh fresh' within. assert (apart : NoDup (rest l y)) by now apply NoDup_filter. split; [assumption|].
  assert (all : Permutation l (y ++ rest l y)).
  { apply NoDup_Permutation; [assumption| |].
    - clear - fresh' apart. assert (no : forall i, In i y -> ~ In i (rest l y)) by (intros i here back; now apply in_rest in back).
      induction y as [|i z IH]; [assumption|]. simpl. inversion fresh'; subst. revert no apart. generalize (rest l (i :: z)). intros r no apart.
      clear IH. constructor.
      + intros back. apply in_app_or in back. destruct back as [|back]; [easy|]. now apply (no i (or_introl eq_refl)).
      + assert (no' : forall j, In j z -> ~ In j r) by (intros j here; apply no; now right). clear no. induction z as [|j z IH]; [assumption|].
        inversion fresh' as [|? ? out deep]; subst. inversion deep; subst. simpl. constructor.
        * intros back. apply in_app_or in back. destruct back as [|back]; [easy|]. now apply (no' j (or_introl eq_refl)).
        * apply IH.
          -- constructor; [|assumption]. intros back. apply out. now right.
          -- intros back. apply out. now right.
          -- assumption.
          -- intros h here. apply no'. now right.
    - intros i. split; intros here.
      + apply in_or_app. destruct (in_dec same i y); [now left|right; now apply in_rest].
      + apply in_app_or in here. destruct here as [here|here]; [now apply within|now apply in_rest in here]. }
  apply Permutation_length in all. rewrite app_length in all. lia.
Qed.

Lemma set_of_rest : forall l y, set_of same l (rest l y) = complement (set_of same l y).
Proof.
  intros l y. unfold set_of, complement. rewrite map_map. apply map_ext_in. intros i here.
  destruct (in_dec same i y) as [inside|out], (in_dec same i (rest l y)) as [left|gone]; try reflexivity; exfalso.
  - now apply in_rest in left.
  - apply gone. now apply in_rest.
Qed.

Lemma complement_twice : forall b, complement (complement b) = b.
Proof. induction b as [|x b IH]; simpl; [reflexivity|]. unfold complement in *. simpl. now rewrite IH, negb_involutive. Qed.

(* The best in one order are those whom the best in the opposite order leave. *)
Lemma opposite : forall k (l y : list I) Y Y', NoDup l -> (k <= length l)%nat -> (forall i, In i l -> Y' i = - Y i) ->
  best (beats Y) k l y -> best (beats Y') (length l - k) l (rest l y).
Proof.
  intros k l y Y Y' distinct few equal (fresh & within & size & first).
  destruct (rest_shape l y distinct fresh within) as [fresh' size']. repeat split.
  - assumption.
  - intros i here. now apply in_rest in here.
  - rewrite size', size. lia.
  - intros i j here there out. apply in_rest in here. destruct here as [here none].
    assert (In j y) by (destruct (in_dec same j y); [assumption|exfalso; apply out; now apply in_rest]).
    specialize (first j i ltac:(assumption) here none). unfold beats in *. rewrite !equal by assumption. lra.
Qed.

Definition mirror (N : nat) (c : I -> nat) : I -> nat := fun i => (N - 1 - c i)%nat.

Lemma mirrored_seq : forall N (g : nat -> R), sum (fun m => g (N - 1 - m)%nat) (seq 0 N) = sum g (seq 0 N).
Proof.
  intros N g. rewrite <- (sum_map (fun m => (N - 1 - m)%nat) g). apply sum_permutation.
  apply NoDup_Permutation; [|apply seq_NoDup|].
  - assert (mapped : forall m, NoDup m -> (forall x, In x m -> (x < N)%nat) -> NoDup (map (fun x => (N - 1 - x)%nat) m)).
    { induction m as [|x m IH]; intros fresh small; simpl; constructor; inversion fresh; subst.
      - intros here. apply in_map_iff in here. destruct here as (z & equal & there).
        assert (z = x) as ->; [|easy]. specialize (small x (or_introl eq_refl)) as a. specialize (small z (or_intror there)) as b. lia.
      - apply IH; [assumption|]. intros z there. apply small. now right. }
    apply mapped; [apply seq_NoDup|]. intros x here. apply in_seq in here. lia.
  - intros m. rewrite in_map_iff. split.
    + intros (x & <- & here). apply in_seq in here. apply in_seq. lia.
    + intros here. apply in_seq in here. exists (N - 1 - m)%nat. split; [lia|]. apply in_seq. lia.
Qed.

Lemma mirrored_assignments : forall N (G : (I -> nat) -> R) l c,
  sum (fun c => G (mirror N c)) (assignments same N l c) = sum G (assignments same N l (mirror N c)).
Proof.
  intros N G l. induction l as [|i l IH]; intros c; cbn [assignments]; [reflexivity|]. rewrite !sum_flat_map.
  rewrite <- (mirrored_seq N (fun m => sum G (assignments same N l (put same (mirror N c) i m)))).
  apply sum_ext. intros m _. rewrite IH. replace (put same (mirror N c) i (N - 1 - m)) with (mirror N (put same c i m)); [reflexivity|].
  apply functional_extensionality. intros j. unfold mirror, put. now destruct (same j i).
Qed.

(* Who is no candidate does not count. *)
Lemma elsewhere : forall N (G : (I -> nat) -> R) l c c', (forall a b, (forall i, In i l -> a i = b i) -> G a = G b) ->
  sum G (assignments same N l c) = sum G (assignments same N l c').
Proof.
  assert (general : forall N (l : list I) m (G : (I -> nat) -> R) c c', incl m l ->
    (forall a b, (forall i, In i l -> a i = b i) -> G a = G b) -> (forall i, In i l -> ~ In i m -> c i = c' i) ->
    sum G (assignments same N m c) = sum G (assignments same N m c')).
  { intros N l m. induction m as [|i m IH]; intros G c c' within respects equal; cbn [assignments].
    - simpl. rewrite (respects c c'); [reflexivity|]. intros i here. now apply equal.
    - rewrite !sum_flat_map. apply sum_ext. intros n _. apply IH; [intros j here; apply within; now right|assumption|].
      intros j here out. unfold put. destruct (same j i) as [->|other]; [reflexivity|]. apply equal; [assumption|].
      intros [->|back]; [easy|now apply out]. }
  intros N G l c c' respects. apply (general N l l); auto; [now intros ?|]. intros i here out. easy.
Qed.

Section Sets_.
Variables (k : nat) (l : list I) (s : I -> R).
Hypothesis (distinct : NoDup l) (size : (1 <= k < length l)%nat).
Notation opposed := (fun i => - s i).
Notation the_set := (set_of same l).

Lemma no_more_than_mirrored : forall b,
  released_set same f F k l s b <= released_set same f F (length l - k) l opposed (complement b).
Proof.
  intros b. apply le_epsilon. intros eps small.
  set (d := INR (length l)). assert (0 <= d) by apply pos_INR.
  destruct (archimed_cor1 (eps / (2 * d ^ 2 + 1))) as (N & fine & some); [apply Rdiv_lt_0_compat; nra|].
  assert (size' : (1 <= k <= length l)%nat) by lia.
  destruct (points f F is_noise k l size' N some) as (Q & right).
  set (decided := fun (E : list I -> bool) c => existsb (fun y => settles same s N Q l y c && E y) (rankings same k l)).
  set (good := fun y => if word_eq (the_set y) b then true else false).
  set (bad := fun y => negb (good y)).
  assert (sure_of : forall (E : list I -> bool) c z y, decided E c = true -> possible F N l c z ->
    ranking (beats (fun i => s i + z i)) k l y -> E y = true).
  { intros E c z y yes fits first. unfold decided in yes. apply existsb_exists in yes. destruct yes as (y' & among & yes).
    apply andb_prop in yes. destruct yes as [settled fine']. replace y with y'; [assumption|].
    apply (the_ranking_is_unique (beats (fun i => s i + z i)) same (beats_strict _) (beats_chain _) k l); [|assumption].
    apply (in_order_ranks same k y' l); try assumption.
    now apply (settles_tells same f F is_noise k l s size' N some Q right k l y' (incl_refl l) distinct among c z). }
  assert (positive := many_pos N some (length l)).
  (* The digits that tell of another set are no more probable than the other sets. *)
  pose proof (at_most_the_integrals same f F is_noise k l s distinct size' N (decided bad) bad some (sure_of bad)) as others.
  assert (parts : released_set same f F k l s b + sum (released same f F l s) (filter bad (rankings same k l)) = 1).
  { rewrite <- (released_add_up same f F is_noise s k l distinct ltac:(lia)). unfold released_set, image, bad, good. clear.
    induction (rankings same k l) as [|y m IH]; simpl; [lra|]. unfold leads_to at 1. destruct (word_eq (the_set y) b); simpl; lra. }
  assert (all : 1 - 2 * d ^ 2 / INR N <= share same N l (decided good) + share same N l (decided bad)).
  { pose proof (seldom_close same f F is_noise k l s distinct size' N some Q right) as seldom. fold d in seldom.
    assert (covered : 1 <= share same N l (decided good) + share same N l (decided bad) +
      sum (some_are_close same l s N Q) (assignments same N l (fun _ => O)) / INR N ^ length l); [|lra].
    unfold share, Rdiv. rewrite <- !Rmult_plus_distr_r, <- !sum_plus. apply Rmult_le_reg_r with (INR N ^ length l); [assumption|].
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. rewrite <- (how_many same N l (fun _ => O)). apply sum_le. intros c here.
    pose proof (some_are_close_nonneg same l s N Q c). pose proof (indicator_between (decided good c)). pose proof (indicator_between (decided bad c)).
    destruct (Rlt_or_le (some_are_close same l s N Q c) 1) as [few|]; [|lra].
    destruct (somebody_settles same f F is_noise k l s distinct size' N some Q right c) as (y & among & settled); [|assumption|].
    { intros i there. now apply (in_reach same N l (fun _ => O)). }
    assert (one : decided good c = true \/ decided bad c = true).
    { destruct (good y) eqn:which; [left|right]; unfold decided; apply existsb_exists; exists y; rewrite settled; unfold bad; rewrite which; now split. }
    destruct one as [-> | ->]; simpl in *; lra. }
  (* The digits that tell of this set tell, exchanged, of its complement. *)
  assert (exchanged : share same N l (decided good) <= released_set same f F (length l - k) l opposed (complement b)).
  { set (D := fun c => decided good (mirror N (fun i => Nat.min (N - 1) (c i)))).
    assert (equal : share same N l (decided good) = share same N l D).
    { unfold share. f_equal. transitivity (sum (fun c => indicator (decided good (mirror N c))) (assignments same N l (fun _ => O))).
      - rewrite (mirrored_assignments N (fun c => indicator (decided good c))). apply elsewhere. intros a a' alike. f_equal. unfold decided.
        assert (same_settled : forall m y, incl m l -> incl y m -> NoDup y -> settles same s N Q m y a = settles same s N Q m y a').
        { intros m y. revert m. induction y as [|i y IH]; intros m within inside fresh; [reflexivity|]. simpl. inversion fresh; subst.
          rewrite (IH (without i m)); [|intros j back; apply within; now apply (without_incl same i m)| |assumption].
          - f_equal. assert (same_first : forall m', incl m' l -> forallb (ahead s N Q a i) m' = forallb (ahead s N Q a' i) m').
            { induction m' as [|j m' IH']; intros within'; [reflexivity|]. simpl. rewrite IH' by (intros h back; apply within'; now right).
              f_equal. unfold ahead. rewrite (alike i), (alike j); [reflexivity|apply within'; now left|apply within, inside; now left]. }
            apply same_first. intros j back. apply within. now apply (without_incl same i m).
          - intros j back. apply in_in_remove; [congruence|]. apply inside. now right. }
        assert (over : forall m, incl m (rankings same k l) ->
          existsb (fun y => settles same s N Q l y a && good y) m = existsb (fun y => settles same s N Q l y a' && good y) m).
        { induction m as [|y m IH]; intros inside; [reflexivity|]. simpl. rewrite IH by (intros z back; apply inside; now right).
          destruct (ranking_of same k l y distinct (inside y (or_introl eq_refl))) as (_ & fresh & within).
          now rewrite (same_settled l y (incl_refl l) within fresh). }
        apply over. now intros ?.
      - apply sum_ext. intros c here. f_equal. unfold D. f_equal. apply functional_extensionality. intros i. unfold mirror.
        destruct (in_dec same i l) as [inside|out].
        + pose proof (in_reach same N l _ c i here inside). lia.
        + rewrite (outside same N l _ c i here out). lia. }
    rewrite equal.
    pose proof (at_most_the_integrals same f F is_noise (length l - k) l opposed distinct ltac:(lia) N D
      (leads_to word_eq the_set (complement b)) some) as most. apply most. clear most.
    intros c z y yes fits first. apply leads.
    set (z' := fun i => - z i).
    assert (fits' : possible F N l (mirror N (fun i => Nat.min (N - 1) (c i))) z').
    { intros i here. destruct (fits i here) as [low high]. pose proof (F_between f F is_noise (z i)). pose proof (parts_pos N some).
      assert (bounded : (c i < N)%nat) by (apply INR_lt; nra). unfold in_part, mirror, z'. rewrite even, Nat.min_r by lia.
      replace (S (N - 1 - c i)) with (N - c i)%nat by lia. replace (N - 1 - c i)%nat with (N - S (c i))%nat by lia.
      rewrite !minus_INR by lia. lra. }
    destruct (somewhere same f F N is_noise some l c) as (_ & _); [intros i here; destruct (fits i here) as [low _];
      pose proof (F_between f F is_noise (z i)); pose proof (parts_pos N some); apply INR_lt; nra|].
    unfold D, decided in yes. apply existsb_exists in yes. destruct yes as (w & among & yes).
    apply andb_prop in yes. destruct yes as [settled this].
    assert (ranked_w : ranking (beats (fun i => s i + z' i)) k l w).
    { apply (in_order_ranks same k w l); try assumption.
      now apply (settles_tells same f F is_noise k l s size' N some Q right k l w (incl_refl l) distinct among _ z' settled). }
    destruct ranked_w as [top _]. apply (opposite k l w _ (fun i => - s i + z i) distinct) in top; [|lia|unfold z'; intros; ring].
    destruct first as [first _].
    pose proof (the_best_are_unique (beats (fun i => - s i + z i)) same (beats_strict _) (beats_chain _) _ l y (rest l w) first top) as equal_sets.
    unfold good in this. destruct (word_eq (the_set w) b) as [<-|]; [|easy]. rewrite <- set_of_rest.
    apply sets_forget_the_order; [apply first|intros i here; now apply in_rest in here|].
    intros i. split; intros here; [now apply (Permutation_in i equal_sets)|now apply (Permutation_in i (Permutation_sym equal_sets))]. }
  assert (few : 2 * d ^ 2 / INR N <= eps).
  { assert (0 < / INR N) by (apply Rinv_0_lt_compat; now apply lt_0_INR).
    apply Rle_trans with ((2 * d ^ 2 + 1) * (eps / (2 * d ^ 2 + 1))); [|apply Req_le; field; nra].
    unfold Rdiv at 1. apply Rmult_le_compat; nra. }
  lra.
Qed.

End Sets_.

Theorem sets_are_mirrored : forall k l s b, NoDup l -> (1 <= k < length l)%nat ->
  released_set same f F k l s b = released_set same f F (length l - k) l (fun i => - s i) (complement b).
Proof.
  intros k l s b distinct size. apply Rle_antisym; [now apply no_more_than_mirrored|].
  pose proof (no_more_than_mirrored (length l - k) l (fun i => - s i) distinct ltac:(lia) (complement b)) as back.
  rewrite complement_twice in back. replace (length l - (length l - k))%nat with k in back by lia.
  eapply Rle_trans; [exact back|]. apply Req_le. f_equal. apply functional_extensionality. intros i. ring.
Qed.

(* Sets cost no more than their complements. *)
Theorem sets_by_halves : forall k l s s' r, NoDup l -> (1 <= k < length l)%nat -> spread l s s' r ->
  pure (sets same k l) (released_set same f F k l s) (released_set same f F k l s') (INR (Nat.min k (length l - k)) * r).
Proof.
  intros k l s s' r distinct size near b here.
  destruct (Nat.le_gt_cases k (length l - k)) as [few|many].
  - rewrite Nat.min_l by assumption. replace k with (Nat.min k (length l - 1)) at 3 by lia.
    now apply (released_sets_pure same f F k l s s' r is_noise distinct ltac:(lia) near).
  - rewrite Nat.min_r by lia. unfold loss. rewrite (sets_are_mirrored k l s b), (sets_are_mirrored k l s' b) by assumption.
    replace (INR (length l - k)) with (INR (Nat.min (length l - k) (length l - 1))) by (f_equal; lia).
    apply (released_sets_pure same f F (length l - k) l (fun i => - s i) (fun i => - s' i) r is_noise distinct ltac:(lia)).
    + intros i j inside inside'. specialize (near j i inside' inside). lra.
    + unfold sets in *. apply releases_are in here. destruct here as (y & among & <-). apply releases_are.
      destruct (ranking_of same k l y distinct among) as (long & fresh & within).
      destruct (rest_shape l y distinct fresh within) as [fresh' long'].
      exists (rest l y). split; [|apply set_of_rest]. replace (length l - k)%nat with (length (rest l y)) by lia.
      apply lists_are_rankings; [assumption|]. intros i back. now apply in_rest in back.
Qed.

End Mirrored.

Lemma laplace_is_even : even_noise laplace_below.
Proof.
  intros z. rewrite <- !laplace_by_halves, Ropp_involutive. lra.
Qed.

Lemma logistic_is_even : even_noise logistic_below.
Proof.
  intros z. unfold logistic_below. rewrite Ropp_involutive, exp_Ropp. pose proof (exp_pos z). field. lra.
Qed.
