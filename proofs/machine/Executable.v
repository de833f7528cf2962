(* A race that runs: what is known of each candidate's uniform number in, the ranking or the set of the k best out, or
   nothing where that is not certain. It computes with intervals of binary floating-point numbers, and what it releases is
   the outcome for every noise that the digits allow.

   Scores are integers times a unit, and the scale is P / q of these units. Of the uniform number of a candidate it is known
   that it lies between lo / N and hi / N. *)
From Coq Require Import Reals List Lra Lia Bool ZArith Permutation Sorted.
From Interval Require Import Sig Xreal Interval.
From Machine Require Import Sums Laws Jumps Noises Gumbel ExponentialNoise Best Boundaries Parts.
Import ListNotations.
Open Scope R_scope.

(* A score, and between which parts of N the uniform number lies. *)
Definition entry : Type := (Z * (Z * Z))%type.
Definition score (e : entry) : Z := fst e.
Definition lo (e : entry) : Z := fst (snd e).
Definition hi (e : entry) : Z := snd (snd e).
Definition none : entry := (0, (0, 0))%Z.

Definition noise_at (n : kind) (N c : Z) : ExtendedR :=
  let ratio := fun a b => Xdiv (Xreal (IZR a)) (Xreal (IZR b)) in
  match n with
  | exponential_noise => Xneg (Xln (ratio (N - c) N))
  | gumbel_noise => Xneg (Xln (Xneg (Xln (ratio c N))))
  | laplace_noise => if (2 * c <=? N)%Z then Xln (ratio (2 * c) N) else Xneg (Xln (ratio (2 * (N - c)) N))
  | logistic_noise => Xln (ratio c (N - c))
  | half_logistic_noise => Xln (ratio (N + c) (N - c))
  end%Z.

Lemma ratio_real : forall a b r, Xln (Xdiv (Xreal (IZR a)) (Xreal (IZR b))) = Xreal r ->
  IZR b <> 0 /\ 0 < IZR a / IZR b /\ r = ln (IZR a / IZR b).
Proof.
  intros a b r. simpl. unfold Xdiv'. destruct (is_zero_spec (IZR b)) as [zero|other]; [easy|]. simpl. unfold Xln'.
  destruct (is_positive_spec (IZR a / IZR b)) as [positive|not]; [|easy]. intros equal. injection equal as <-. auto.
Qed.

Lemma noise_at_is_the_quantile : forall n N c r, (0 < N)%Z -> (0 <= c)%Z -> noise_at n N c = Xreal r ->
  IZR N * below_of n r = IZR c.
Proof.
  intros n N c r some nonneg equal. apply IZR_lt in some. apply IZR_le in nonneg. destruct n; unfold noise_at in equal.
  - destruct (Xln _) as [|x] eqn:inner; [easy|]. injection equal as <-. apply ratio_real in inner.
    destruct inner as (_ & positive & ->). rewrite minus_IZR in positive |- *.
    assert (below : (IZR N - IZR c) / IZR N <= 1) by (apply Rmult_le_reg_r with (IZR N); [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
    pose proof (ln_le _ _ positive below) as less. rewrite ln_1 in less. cbn [below_of]. unfold exponential_below.
    destruct (Rle_dec 0 (- ln ((IZR N - IZR c) / IZR N))); [|lra]. rewrite Ropp_involutive, exp_ln by assumption. field. lra.
  - destruct (Xln (Xdiv _ _)) as [|x] eqn:inner; [easy|]. apply ratio_real in inner. destruct inner as (_ & positive & ->).
    cbn [Xneg Xbind] in equal. unfold Xln' in equal. destruct (is_positive_spec (- ln (IZR c / IZR N))) as [more|]; [|easy]. injection equal as <-.
    cbn [below_of]. unfold gumbel. rewrite Ropp_involutive, exp_ln by assumption. rewrite Ropp_involutive, exp_ln by assumption. field. lra.
  - cbn [below_of]. unfold laplace_below. destruct (Z.leb_spec (2 * c) N) as [half|half].
    + apply ratio_real in equal. destruct equal as (_ & positive & ->). apply IZR_le in half. rewrite mult_IZR in positive, half |- *.
      assert (below : 2 * IZR c / IZR N <= 1) by (apply Rmult_le_reg_r with (IZR N); [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
      pose proof (ln_le _ _ positive below) as less. rewrite ln_1 in less.
      destruct (Rle_dec 0 (ln (2 * IZR c / IZR N))) as [zero|]; [|rewrite exp_ln by assumption; field; lra].
      replace (- ln (2 * IZR c / IZR N)) with (ln (2 * IZR c / IZR N)) by lra. rewrite exp_ln by assumption.
      assert (2 * IZR c / IZR N = 1) as whole.
      { rewrite <- (exp_ln (2 * IZR c / IZR N)) by assumption. replace (ln (2 * IZR c / IZR N)) with 0 by lra. apply exp_0. }
      rewrite whole. apply Rmult_eq_reg_r with (2 / IZR N); [|apply Rgt_not_eq, Rdiv_lt_0_compat; lra].
      replace (IZR c * (2 / IZR N)) with (2 * IZR c / IZR N) by (unfold Rdiv; ring). rewrite whole. field. lra.
    + destruct (Xln _) as [|x] eqn:inner; [easy|]. injection equal as <-. apply ratio_real in inner.
      destruct inner as (_ & positive & ->). apply IZR_lt in half. rewrite mult_IZR, minus_IZR in positive |- *. rewrite mult_IZR in half.
      assert (below : 2 * (IZR N - IZR c) / IZR N <= 1) by (apply Rmult_le_reg_r with (IZR N); [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
      pose proof (ln_le _ _ positive below) as less. rewrite ln_1 in less.
      destruct (Rle_dec 0 (- ln (2 * (IZR N - IZR c) / IZR N))); [|lra]. rewrite Ropp_involutive, exp_ln by assumption. field. lra.
  - apply ratio_real in equal. destruct equal as (other & positive & ->). rewrite minus_IZR in other, positive |- *.
    assert (above : 0 < IZR N - IZR c /\ 0 < IZR c).
    { destruct (Rle_lt_dec (IZR N - IZR c) 0) as [low|high].
      - assert (/ (IZR N - IZR c) < 0) by (apply Rinv_lt_0_compat; lra). unfold Rdiv in positive. nra.
      - split; [assumption|]. destruct nonneg as [more|zero]; [assumption|]. rewrite <- zero in positive. unfold Rdiv in positive. lra. }
    cbn [below_of]. unfold logistic_below. rewrite exp_Ropp, exp_ln by assumption. field. repeat split; lra.
  - apply ratio_real in equal. destruct equal as (other & positive & ->). rewrite minus_IZR, plus_IZR in *.
    assert (above : 0 < IZR N - IZR c).
    { destruct (Rle_lt_dec (IZR N - IZR c) 0) as [low|high]; [|assumption].
      assert (/ (IZR N - IZR c) < 0) by (apply Rinv_lt_0_compat; lra). unfold Rdiv in positive. nra. }
    assert (below : 1 <= (IZR N + IZR c) / (IZR N - IZR c)).
    { apply Rmult_le_reg_r with (IZR N - IZR c); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    pose proof (ln_le _ _ Rlt_0_1 below) as more. rewrite ln_1 in more. cbn [below_of]. unfold half_logistic_below.
    destruct (Rle_dec 0 (ln ((IZR N + IZR c) / (IZR N - IZR c)))); [|lra]. rewrite exp_Ropp, exp_ln by assumption. field. repeat split; lra.
Qed.

Lemma noise_above : forall n N c r z, (0 < N)%Z -> (0 <= c)%Z -> noise_at n N c = Xreal r -> IZR c < IZR N * below_of n z -> r < z.
Proof.
  intros n N c r z some nonneg equal more. rewrite <- (noise_at_is_the_quantile n N c r some nonneg equal) in more.
  apply Rnot_le_lt. intros less. destruct (all_are_noise n) as (_ & _ & _ & _ & grows & _).
  pose proof (grows z r less). apply IZR_lt in some. nra.
Qed.

Lemma noise_under : forall n N c r z, (0 < N)%Z -> (0 <= c)%Z -> noise_at n N c = Xreal r -> IZR N * below_of n z < IZR c -> z < r.
Proof.
  intros n N c r z some nonneg equal more. rewrite <- (noise_at_is_the_quantile n N c r some nonneg equal) in more.
  apply Rnot_le_lt. intros less. destruct (all_are_noise n) as (_ & _ & _ & _ & grows & _).
  pose proof (grows r z less). apply IZR_lt in some. nra.
Qed.

Module Race (In : IntervalOps).

(* Candidates, and intervals that hold a lower and an upper bound on what each has; of several there is an upper bound alone. *)
Record contender := { who : list nat; least : In.type; most : In.type }.

Section Running.
Variables (prec wide : In.precision) (n : kind) (P q N origin : Z).

(* Noise is computed to some digits; to scores, which may be far apart, it is added with more. *)
Definition ratio (p : In.precision) (a b : Z) : In.type := In.div p (In.fromZ p a) (In.fromZ p b).

Definition enclosed (c : Z) : In.type :=
  if (0 <=? c)%Z then match n with
  | exponential_noise => In.neg (In.ln prec (ratio prec (N - c) N))
  | gumbel_noise => In.neg (In.ln prec (In.neg (In.ln prec (ratio prec c N))))
  | laplace_noise => if (2 * c <=? N)%Z then In.ln prec (ratio prec (2 * c) N) else In.neg (In.ln prec (ratio prec (2 * (N - c)) N))
  | logistic_noise => In.ln prec (ratio prec c (N - c))
  | half_logistic_noise => In.ln prec (ratio prec (N + c) (N - c))
  end%Z else In.nai.

Definition noisy_score (a c : Z) : In.type := In.add wide (ratio wide ((a - origin) * q) P) (enclosed c).

Definition alone (i : nat) (e : entry) : contender :=
  {| who := [i]; least := noisy_score (score e) (lo e); most := noisy_score (score e) (hi e) |}.

(* Those of whom nothing is known from below are taken together where the same is known from above: the best score counts. *)
Definition crowd : Type := (Z * (Z * list nat))%type.
Definition together (c : crowd) : contender :=
  {| who := snd (snd c); least := In.nai; most := noisy_score (fst (snd c)) (fst c) |}.

Fixpoint joined (i : nat) (e : entry) (crowds : list crowd) : list crowd :=
  match crowds with
  | [] => [(hi e, (score e, [i]))]
  | (h, (best, members)) :: others =>
      if (h =? hi e)%Z then (h, (Z.max best (score e), i :: members)) :: others else (h, (best, members)) :: joined i e others
  end.

Fixpoint gathered (i : nat) (es : list entry) : list contender * list crowd :=
  match es with
  | [] => ([], [])
  | e :: rest =>
      let (singles, crowds) := gathered (S i) rest in
      if (lo e <=? 0)%Z then (singles, joined i e crowds) else (alone i e :: singles, crowds)
  end.

Definition contenders (es : list entry) : list contender :=
  let (singles, crowds) := gathered 0 es in singles ++ map together crowds.

(* What u holds is less than what v holds. *)
Definition less (u v : In.type) : bool := match In.sign_strict (In.sub wide u v) with Xlt => true | _ => false end.

Definition behind (g h : contender) : bool := less (most h) (least g).

(* One with the highest lower bound, and the others. *)
Fixpoint highest (g : contender) (l : list contender) : contender * list contender :=
  match l with
  | [] => (g, [])
  | h :: t => if less (least g) (least h) then let (best, others) := highest h t in (best, g :: others)
              else let (best, others) := highest g t in (best, h :: others)
  end.

Fixpoint ranked (k : nat) (l : list contender) : option (list nat) :=
  match k, l with
  | O, _ => Some []
  | S _, [] => None
  | S j, g :: t =>
      let (best, others) := highest g t in
      match who best with
      | [i] => if forallb (behind best) others then option_map (cons i) (ranked j others) else None
      | _ => None
      end
  end.

Definition ranking_race (k : nat) (es : list entry) : option (list nat) := ranked k (contenders es).

Fixpoint front (k : nat) (l : list contender) : list contender * list contender :=
  match k, l with
  | O, _ => ([], l)
  | S _, [] => ([], [])
  | S j, g :: t => let (best, others) := highest g t in let (first, rest) := front j others in (best :: first, rest)
  end.

Definition single (g : contender) : bool := match who g with [_] => true | _ => false end.

Definition set_race (k : nat) (es : list entry) : option (list nat) :=
  let (first, rest) := front k (contenders es) in
  if (length first =? k)%nat && forallb (fun g => single g && forallb (behind g) rest) first then Some (flat_map who first) else None.

Hypothesis (positive : (0 < P)%Z) (positive' : (0 < q)%Z) (some : (0 < N)%Z).

Lemma ratio_encloses : forall p a b, contains (In.convert (ratio p a b)) (Xdiv (Xreal (IZR a)) (Xreal (IZR b))).
Proof. intros p a b. apply In.div_correct; apply In.fromZ_correct. Qed.

Lemma enclosed_right : forall c, (0 <= c)%Z -> contains (In.convert (enclosed c)) (noise_at n N c).
Proof.
  intros c nonneg. unfold enclosed. destruct (Z.leb_spec 0 c); [|lia]. unfold noise_at. destruct n; cbv zeta.
  - apply In.neg_correct, In.ln_correct, ratio_encloses.
  - apply In.neg_correct, In.ln_correct, In.neg_correct, In.ln_correct, ratio_encloses.
  - destruct (2 * c <=? N)%Z; [|apply In.neg_correct]; apply In.ln_correct, ratio_encloses.
  - apply In.ln_correct, ratio_encloses.
  - apply In.ln_correct, ratio_encloses.
Qed.

Definition units (a : Z) : R := IZR a / (IZR P / IZR q).
Definition ahead (a : Z) : R := units a - units origin.

Lemma scores_in_units : forall a, Xdiv (Xreal (IZR ((a - origin) * q))) (Xreal (IZR P)) = Xreal (ahead a).
Proof.
  intros a. apply IZR_lt in positive. apply IZR_lt in positive'. simpl. unfold Xdiv'. destruct (is_zero_spec (IZR P)) as [zero|_]; [lra|].
  f_equal. unfold ahead, units. rewrite mult_IZR, minus_IZR. field. lra.
Qed.

(* It holds a number that is below y, or above it, or tells nothing. *)
Definition over (u : In.type) (y : R) : Prop := exists x, contains (In.convert u) x /\ match x with Xreal v => v < y | Xnan => True end.
Definition under (y : R) (u : In.type) : Prop := exists x, contains (In.convert u) x /\ match x with Xreal v => y < v | Xnan => True end.

Lemma noisy_right : forall a c, (0 <= c)%Z ->
  contains (In.convert (noisy_score a c)) (Xadd (Xreal (ahead a)) (noise_at n N c)).
Proof.
  intros a c nonneg. unfold noisy_score. apply In.add_correct; [|now apply enclosed_right]. rewrite <- scores_in_units. apply ratio_encloses.
Qed.

Lemma unknown : forall a c, (c < 0)%Z -> contains (In.convert (noisy_score a c)) Xnan.
Proof.
  intros a c negative. apply (In.add_correct wide (ratio wide ((a - origin) * q) P) (enclosed c) (Xreal (ahead a)) Xnan).
  - rewrite <- scores_in_units. apply ratio_encloses.
  - unfold enclosed. destruct (Z.leb_spec 0 c); [lia|]. now rewrite In.nai_correct.
Qed.

Lemma lower_right : forall a c y, IZR c < IZR N * below_of n y -> over (noisy_score a c) (ahead a + y).
Proof.
  intros a c y more. destruct (Z.lt_ge_cases c 0) as [negative|nonneg]; [exists Xnan; split; [now apply unknown|trivial]|].
  eexists. split; [now apply noisy_right|]. destruct (noise_at n N c) as [|u] eqn:equal; simpl; [trivial|].
  pose proof (noise_above n N c u y some nonneg equal more). lra.
Qed.

Lemma upper_right : forall a b c y, (b <= a)%Z -> IZR N * below_of n y < IZR c -> under (ahead b + y) (noisy_score a c).
Proof.
  intros a b c y best less_. destruct (Z.lt_ge_cases c 0) as [negative|nonneg]; [exists Xnan; split; [now apply unknown|trivial]|].
  eexists. split; [now apply noisy_right|]. destruct (noise_at n N c) as [|u] eqn:equal; simpl; [trivial|].
  pose proof (noise_under n N c u y some nonneg equal less_). apply IZR_le in best. apply IZR_lt in positive. apply IZR_lt in positive'.
  assert (0 < / (IZR P / IZR q)) by (apply Rinv_0_lt_compat, Rdiv_lt_0_compat; assumption). unfold ahead, units, Rdiv at 1 3. nra.
Qed.

(* What is known. *)
Variables (es : list entry) (z : nat -> R).
Hypothesis known : forall i, (i < length es)%nat ->
  IZR (lo (nth i es none)) < IZR N * below_of n (z i) < IZR (hi (nth i es none)).
Definition Y (i : nat) : R := units (score (nth i es none)) + z i.

Definition sound (g : contender) : Prop := forall i, In i (who g) -> over (least g) (Y i - units origin) /\ under (Y i - units origin) (most g).

Lemma alone_sound : forall i, (i < length es)%nat -> sound (alone i (nth i es none)).
Proof.
  intros i here j [<-|[]]. specialize (known i here). unfold Y.
  replace (units (score (nth i es none)) + z i - units origin) with (ahead (score (nth i es none)) + z i) by (unfold ahead; ring).
  split; [apply lower_right|apply upper_right; [lia|]]; apply known.
Qed.

Lemma nothing_known : forall y, over In.nai y.
Proof. intros y. exists Xnan. now rewrite In.nai_correct. Qed.

(* A crowd holds candidates who are no better than the best score, and of whom no more is known from above. *)
Definition right_crowd (c : crowd) : Prop := forall j, In j (snd (snd c)) ->
  (j < length es)%nat /\ (score (nth j es none) <= fst (snd c))%Z /\ hi (nth j es none) = fst c.

Lemma together_sound : forall c, right_crowd c -> sound (together c).
Proof.
  intros c right j here. destruct (right j here) as (inside & best & equal). split; [apply nothing_known|]. unfold Y.
  replace (units (score (nth j es none)) + z j - units origin) with (ahead (score (nth j es none)) + z j) by (unfold ahead; ring).
  apply upper_right; [assumption|]. rewrite <- equal. now apply known.
Qed.

Lemma joined_right : forall i crowds, (i < length es)%nat -> Forall right_crowd crowds -> Forall right_crowd (joined i (nth i es none) crowds).
Proof.
  intros i crowds here all. induction all as [|c crowds one all IH]; simpl.
  - constructor; [|constructor]. intros j [<-|[]]. simpl. auto with zarith.
  - destruct c as (h & best & members). destruct (Z.eqb_spec h (hi (nth i es none))) as [->|other]; constructor; try assumption.
    intros j [<-|inside]; simpl; [auto with zarith|]. destruct (one j inside) as (? & ? & ?). simpl in *. auto with zarith.
Qed.

Lemma joined_members : forall i e crowds, Permutation (flat_map (fun c => snd (snd c)) (joined i e crowds)) (i :: flat_map (fun c : crowd => snd (snd c)) crowds).
Proof.
  intros i e crowds. induction crowds as [|(h & best & members) crowds IH]; simpl; [reflexivity|].
  destruct (h =? hi e)%Z; simpl; [reflexivity|]. rewrite IH. symmetry. apply Permutation_middle.
Qed.

Lemma gathered_right : forall rest past, es = past ++ rest ->
  let (singles, crowds) := gathered (length past) rest in
  Forall sound singles /\ Forall right_crowd crowds /\
  Permutation (flat_map who singles ++ flat_map (fun c => snd (snd c)) crowds) (seq (length past) (length rest)).
Proof.
  induction rest as [|e rest IH]; intros past whole; [simpl; auto|].
  assert (next : es = (past ++ [e]) ++ rest) by now rewrite <- app_assoc. specialize (IH (past ++ [e]) next).
  rewrite app_length in IH. simpl length in IH. replace (length past + 1)%nat with (S (length past)) in IH by lia.
  assert (inside : (length past < length es)%nat) by (rewrite whole, app_length; simpl; lia).
  assert (here : nth (length past) es none = e) by now rewrite whole, app_nth2, Nat.sub_diag by lia.
  cbn [gathered]. destruct (gathered (S (length past)) rest) as [singles crowds]. destruct IH as (sound_ & right & all).
  simpl length. rewrite <- cons_seq. rewrite <- here. destruct (lo (nth (length past) es none) <=? 0)%Z.
  - split; [assumption|]. split; [now apply joined_right|]. rewrite joined_members. rewrite <- Permutation_middle. now constructor.
  - split; [constructor; [now apply alone_sound|assumption]|]. split; [assumption|]. simpl. now constructor.
Qed.

Definition members (l : list contender) : list nat := flat_map who l.

Lemma contenders_right : Forall sound (contenders es) /\ Permutation (members (contenders es)) (seq 0 (length es)).
Proof.
  pose proof (gathered_right es [] eq_refl) as right. unfold contenders. simpl length in right.
  destruct (gathered 0 es) as [singles crowds]. destruct right as (sound_ & right & all). split.
  - apply Forall_app. split; [assumption|]. apply Forall_forall. intros g here. apply in_map_iff in here. destruct here as (c & <- & here).
    apply together_sound. rewrite Forall_forall in right. auto.
  - unfold members. rewrite flat_map_app. rewrite <- all. apply Permutation_app_head.
    clear. induction crowds as [|c crowds IH]; simpl; [reflexivity|]. now apply Permutation_app_head.
Qed.

Lemma less_right : forall u v, less u v = true -> forall x y, under x u -> over v y -> x < y.
Proof.
  intros u v yes x y (a & inside & below) (b & inside' & above). unfold less in yes. pose proof (In.sign_strict_correct (In.sub wide u v)) as sign.
  destruct (In.sign_strict (In.sub wide u v)); try easy. destruct (sign _ (In.sub_correct wide u v a b inside inside')) as [real negative].
  destruct a as [|a], b as [|b]; try easy. simpl in negative. lra.
Qed.

Lemma behind_right : forall g h i j, sound g -> sound h -> behind g h = true -> In i (who g) -> In j (who h) -> beats Y i j.
Proof. intros g h i j one two yes here there. unfold beats. pose proof (less_right _ _ yes _ _ (proj2 (two j there)) (proj1 (one i here))). lra. Qed.

Lemma highest_permutes : forall l g best others, highest g l = (best, others) -> Permutation (g :: l) (best :: others).
Proof.
  induction l as [|h l IH]; simpl; intros g best others equal; [now injection equal as <- <-|].
  destruct (less (least g) (least h)).
  - destruct (highest h l) as [b o] eqn:found. injection equal as <- <-. rewrite (IH h b o found). apply perm_swap.
  - destruct (highest g l) as [b o] eqn:found. injection equal as <- <-. rewrite perm_swap, (IH g b o found). apply perm_swap.
Qed.

Lemma members_permute : forall l l', Permutation l l' -> Permutation (members l) (members l').
Proof. intros l l' all. now apply Permutation_flat_map. Qed.

Lemma first_and_rest : forall i k l y, NoDup (i :: l) -> (forall j, In j l -> beats Y i j) -> ranking (beats Y) k l y -> ranking (beats Y) (S k) (i :: l) (i :: y).
Proof.
  intros i k l y distinct ahead [(fresh & within & size & first) order]. inversion distinct as [|? ? out _]; subst. split.
  - repeat split.
    + constructor; [intros here; now apply out, within|assumption].
    + intros j [<-|here]; [now left|right; now apply within].
    + simpl. now rewrite size.
    + intros h j inside there outside. simpl in outside. destruct there as [<-|there]; [tauto|].
      destruct inside as [<-|inside]; [now apply ahead|]. apply first; tauto.
  - constructor; [assumption|]. apply Forall_forall. intros j here. now apply ahead, within.
Qed.

Lemma ranked_right : forall k l y, NoDup (members l) -> Forall sound l -> ranked k l = Some y -> ranking (beats Y) k (members l) y.
Proof.
  induction k as [|k IH]; intros l y distinct all yes; [injection yes as <-|].
  - split; [|constructor]. repeat split; [constructor|intros ? []|intros ? ? []].
  - destruct l as [|g t]; [easy|]. cbn [ranked] in yes. destruct (highest g t) as [best_ others] eqn:found.
    apply highest_permutes in found. destruct (who best_) as [|i [|]] eqn:one; try easy.
    destruct (forallb (behind best_) others) eqn:ahead; [|easy]. destruct (ranked k others) as [y'|] eqn:later; [|easy].
    injection yes as <-. apply members_permute in found as same. unfold members in same at 2. simpl in same. rewrite one in same. simpl in same.
    assert (all' : Forall sound (best_ :: others)) by now apply (Permutation_Forall found).
    inversion all' as [|? ? sound_ rest]; subst. apply (Permutation_NoDup same) in distinct as distinct'.
    assert (ranking (beats Y) (S k) (i :: members others) (i :: y')) as [whole order].
    { apply first_and_rest; [assumption| |].
      - intros j here. apply in_flat_map in here. destruct here as (h & among & here). rewrite forallb_forall in ahead.
        rewrite Forall_forall in rest. apply (behind_right best_ h); auto. rewrite one. now left.
      - apply IH; [now inversion distinct'|assumption|assumption]. }
    split; [|assumption]. apply (of_permuted _ _ (i :: members others)); [now symmetry|assumption].
Qed.

(* What the race releases is the ranking, for every noise that what is known allows. *)
Theorem ranking_race_is_right : forall k y, ranking_race k es = Some y -> ranking (beats Y) k (seq 0 (length es)) y.
Proof.
  intros k y yes. destruct contenders_right as [sound_ all]. apply ranked_right in yes; [|now apply (Permutation_NoDup (Permutation_sym all)), seq_NoDup|assumption].
  destruct yes as [whole order]. split; [|assumption]. now apply (of_permuted _ _ (members (contenders es))).
Qed.

Lemma front_permutes : forall k l first rest, front k l = (first, rest) -> Permutation l (first ++ rest).
Proof.
  induction k as [|k IH]; intros l first rest equal; [injection equal as <- <-; reflexivity|].
  destruct l as [|g t]; [injection equal as <- <-; reflexivity|]. cbn [front] in equal.
  destruct (highest g t) as [best_ others] eqn:found. destruct (front k others) as [f r] eqn:later. injection equal as <- <-.
  rewrite (highest_permutes _ _ _ _ found). simpl. constructor. now apply IH.
Qed.

Theorem set_race_is_right : forall k w, set_race k es = Some w -> best (beats Y) k (seq 0 (length es)) w.
Proof.
  intros k w yes. destruct contenders_right as [sound_ all]. unfold set_race in yes.
  destruct (front k (contenders es)) as [first rest] eqn:found. apply front_permutes in found.
  destruct (Nat.eqb_spec (length first) k) as [size|]; [|easy]. simpl in yes.
  destruct (forallb _ first) eqn:ahead; [|easy]. injection yes as <-. rewrite forallb_forall in ahead.
  apply (Permutation_Forall found) in sound_. apply Forall_app in sound_. destruct sound_ as [one two]. rewrite Forall_forall in one, two.
  apply members_permute in found. unfold members in found. rewrite flat_map_app in found.
  assert (many : length (flat_map who first) = k).
  { rewrite <- size. clear - ahead. induction first as [|g first IH]; [reflexivity|]. simpl. rewrite app_length, IH by (intros h here; apply ahead; now right).
    specialize (ahead g (or_introl eq_refl)). apply andb_true_iff in ahead. destruct ahead as [only _]. unfold single in only.
    destruct (who g) as [|i [|]]; try easy. }
  apply (of_permuted _ _ (flat_map who first ++ flat_map who rest)); [now rewrite <- found|]. rewrite <- many.
  apply best_before_a_boundary.
  - apply (Permutation_NoDup found). apply (Permutation_NoDup (Permutation_sym all)), seq_NoDup.
  - intros i j here there. apply in_flat_map in here. destruct here as (g & among & here). apply in_flat_map in there.
    destruct there as (h & among' & there). specialize (ahead g among). apply andb_true_iff in ahead. destruct ahead as [_ over_].
    rewrite forallb_forall in over_. apply (behind_right g h); auto.
Qed.

(* An entry v / D of a table of quantiles: a bound on the noise of everybody whose uniform number lies above, or below, c / N. *)
Definition at_most (u v : In.type) : bool := match In.sign_large (In.sub wide u v) with Xlt | Xeq => true | _ => false end.
Definition lower_entry (c v D : Z) : bool := at_most (ratio wide v D) (noisy_score origin c).
Definition upper_entry (c v D : Z) : bool := at_most (noisy_score origin c) (ratio wide v D).

Lemma at_most_right : forall u v, at_most u v = true -> forall x y, contains (In.convert u) x -> contains (In.convert v) y ->
  exists a b, x = Xreal a /\ y = Xreal b /\ a <= b.
Proof.
  intros u v yes x y inside inside'. unfold at_most in yes. pose proof (In.sign_large_correct (In.sub wide u v)) as sign.
  pose proof (In.sub_correct wide u v x y inside inside') as difference. destruct (In.sign_large (In.sub wide u v)); try easy.
  - specialize (sign _ difference). destruct x as [|a], y as [|b]; try easy. exists a, b. repeat split. injection sign. lra.
  - destruct (sign _ difference) as [real negative]. destruct x as [|a], y as [|b]; try easy. exists a, b. repeat split. simpl in negative. lra.
Qed.

Lemma number_enclosed : forall v D, (0 < D)%Z -> contains (In.convert (ratio wide v D)) (Xreal (IZR v / IZR D)).
Proof.
  intros v D more. apply IZR_lt in more. pose proof (ratio_encloses wide v D) as inside. simpl in inside. unfold Xdiv' in inside.
  destruct (is_zero_spec (IZR D)) as [zero|_]; [lra|]. exact inside.
Qed.

Theorem lower_entry_is_right : forall c v D, (0 < D)%Z -> lower_entry c v D = true ->
  forall y, IZR c < IZR N * below_of n y -> IZR v / IZR D <= y.
Proof.
  intros c v D more yes y above. destruct (lower_right origin c y above) as (x & inside & low).
  destruct (at_most_right _ _ yes _ _ (number_enclosed v D more) inside) as (a & b & equal & -> & less_).
  injection equal as <-. unfold ahead in low. lra.
Qed.

Theorem upper_entry_is_right : forall c v D, (0 < D)%Z -> upper_entry c v D = true ->
  forall y, IZR N * below_of n y < IZR c -> y <= IZR v / IZR D.
Proof.
  intros c v D more yes y above. destruct (upper_right origin origin c y (Z.le_refl origin) above) as (x & inside & high).
  destruct (at_most_right _ _ yes _ _ inside (number_enclosed v D more)) as (a & b & -> & equal & less_).
  injection equal as <-. unfold ahead in high. lra.
Qed.

End Running.

(* One release with what was known when it was made. *)
Record release := {
  precision : In.precision; wider : In.precision; its_noise : kind; scale_above : Z; scale_below : Z; parts : Z; about : Z; winners : nat;
  in_order : bool; what_is_known : list entry; released : list Z }.

Definition repeated (r : release) : option (list nat) :=
  (if in_order r then ranking_race else set_race)
    (precision r) (wider r) (its_noise r) (scale_above r) (scale_below r) (parts r) (about r) (winners r) (what_is_known r).

(* Of each candidate something is known that is true of some numbers. *)
Definition is_open (N : Z) (e : entry) : bool := (0 <=? lo e)%Z && (lo e <? hi e)%Z && (hi e <=? N)%Z.
Definition well_formed (r : release) : bool :=
  (0 <? scale_above r)%Z && (0 <? scale_below r)%Z && (0 <? parts r)%Z && forallb (is_open (parts r)) (what_is_known r).

Definition agrees (r : release) : bool :=
  well_formed r && match repeated r with
  | None => false
  | Some y => if in_order r then if list_eq_dec Z.eq_dec (map Z.of_nat y) (released r) then true else false
              else (length (released r) =? length y)%nat && forallb (fun i => existsb (Z.eqb (Z.of_nat i)) (released r)) y
  end.

(* What is known is true of these noises. *)
Definition fits (r : release) (z : nat -> R) : Prop := forall i, (i < length (what_is_known r))%nat ->
  IZR (lo (nth i (what_is_known r) none)) < IZR (parts r) * below_of (its_noise r) (z i) < IZR (hi (nth i (what_is_known r) none)).

(* It was the only one that was possible, for all uniform numbers of which this much is known; and there are such numbers. *)
Definition certain (r : release) : Prop := (exists z, fits r z) /\ forall z, fits r z ->
  let noisy := fun i => units (scale_above r) (scale_below r) (score (nth i (what_is_known r) none)) + z i in
  let everybody := seq 0 (length (what_is_known r)) in
  if in_order r then ranking (beats noisy) (winners r) everybody (map Z.to_nat (released r))
  else best (beats noisy) (winners r) everybody (map Z.to_nat (released r)).

Lemma something_fits : forall r, well_formed r = true -> exists z, fits r z.
Proof.
  intros r form. unfold well_formed in form. rewrite !andb_true_iff, !Z.ltb_lt in form. destruct form as [[_ some] open].
  rewrite forallb_forall in open.
  assert (one : forall e, exists x, In e (what_is_known r) -> IZR (lo e) < IZR (parts r) * below_of (its_noise r) x < IZR (hi e)).
  { intros e. destruct (is_open (parts r) e) eqn:yes; [|exists 0; intros here; specialize (open e here); congruence].
    unfold is_open in yes. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in yes. destruct yes as [[low between] high].
    apply IZR_le in low, high. apply IZR_lt in some, between.
    destruct (everywhere _ _ 1 (all_are_noise (its_noise r)) Nat.lt_0_1 ((IZR (lo e) + IZR (hi e)) / 2 / IZR (parts r))) as (x & equal).
    - split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with (IZR (parts r)); [assumption|].
      replace ((IZR (lo e) + IZR (hi e)) / 2 / IZR (parts r) * IZR (parts r)) with ((IZR (lo e) + IZR (hi e)) / 2) by (field; lra). lra.
    - exists x. intros _. rewrite equal. replace (IZR (parts r) * ((IZR (lo e) + IZR (hi e)) / 2 / IZR (parts r))) with ((IZR (lo e) + IZR (hi e)) / 2) by (field; lra). lra. }
  unfold fits. clear open. revert one. generalize (what_is_known r) as es. induction es as [|e es IH]; intros one; [exists (fun _ => 0); simpl; lia|].
  destruct (one e) as (x & here). destruct IH as (z & there).
  { intros e'. destruct (one e') as (y & inside). exists y. intros back. apply inside. now right. }
  exists (fun i => match i with O => x | S j => z j end). intros [|i] inside; [apply here; now left|]. apply (there i). simpl in inside. lia.
Qed.

Theorem agreement_is_certainty : forall r, agrees r = true -> certain r.
Proof.
  intros r yes. split; [apply something_fits; unfold agrees in yes; now apply andb_true_iff in yes|].
  intros z known noisy everybody. unfold agrees, well_formed, repeated in yes. apply andb_true_iff in yes. destruct yes as [form yes].
  rewrite !andb_true_iff, !Z.ltb_lt in form. destruct form as [[[above below] some] _]. destruct (in_order r).
  - destruct (ranking_race _ _ _ _ _ _ _ _ _) as [y|] eqn:found; [|easy]. destruct (list_eq_dec _ _ _) as [<-|]; [|easy].
    rewrite map_map. rewrite (map_ext _ (fun i => i)) by apply Nat2Z.id. rewrite map_id.
    exact (ranking_race_is_right _ _ _ _ _ _ _ above below some _ z known _ y found).
  - destruct (set_race _ _ _ _ _ _ _ _ _) as [w|] eqn:found; [|easy].
    pose proof (set_race_is_right _ _ _ _ _ _ _ above below some _ z known _ w found) as right.
    apply andb_true_iff in yes. destruct yes as [size all]. apply Nat.eqb_eq in size. rewrite forallb_forall in all.
    assert (same : Permutation w (map Z.to_nat (released r))).
    { apply NoDup_Permutation_bis; [apply right|rewrite map_length; lia|]. intros i here. specialize (all i here).
      apply existsb_exists in all. destruct all as (j & among & equal). apply Z.eqb_eq in equal. subst j. rewrite <- (Nat2Z.id i). now apply in_map. }
    destruct right as (fresh & within & many & first). repeat split.
    + now apply (Permutation_NoDup same).
    + intros i here. apply within. now apply (Permutation_in i (Permutation_sym same)).
    + now rewrite <- (Permutation_length same).
    + intros i j here there out. apply first; [now apply (Permutation_in i (Permutation_sym same))|assumption|].
      intros back. apply out. now apply (Permutation_in j same).
Qed.

Theorem all_agree : forall rs, forallb agrees rs = true -> Forall certain rs.
Proof. intros rs yes. apply Forall_forall. intros r here. rewrite forallb_forall in yes. apply agreement_is_certainty. auto. Qed.

(* Entries of a table after N parts: where, the lower one and the upper one, as numbers of 1 / D. *)
Definition table_entry : Type := (Z * (option Z * option Z))%type.
Definition entry_agrees (prec : In.precision) (n : kind) (N D : Z) (e : table_entry) : bool :=
  match fst (snd e) with Some v => lower_entry prec prec n 1 1 N 0 (fst e) v D | None => true end &&
  match snd (snd e) with Some v => upper_entry prec prec n 1 1 N 0 (fst e + 1) v D | None => true end.

Theorem entries_are_right : forall prec n N D es, (0 < N)%Z -> (0 < D)%Z -> forallb (entry_agrees prec n N D) es = true ->
  forall c low high, In (c, (low, high)) es -> forall z, IZR c < IZR N * below_of n z < IZR (c + 1) ->
  match low with Some v => IZR v / IZR D <= z | None => True end /\ match high with Some v => z <= IZR v / IZR D | None => True end.
Proof.
  intros prec n N D es some more yes c low high here z inside. rewrite forallb_forall in yes. specialize (yes _ here).
  unfold entry_agrees in yes. cbn [fst snd] in yes. apply andb_true_iff in yes. destruct yes as [one two]. split.
  - destruct low; [|trivial]. apply (lower_entry_is_right prec prec n 1 1 N 0 Z.lt_0_1 Z.lt_0_1 some c _ D more one). apply inside.
  - destruct high; [|trivial]. apply (upper_entry_is_right prec prec n 1 1 N 0 Z.lt_0_1 Z.lt_0_1 some (c + 1) _ D more two). apply inside.
Qed.
End Race.

