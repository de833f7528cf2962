(* The k best of independent noisy scores, as a law: the probabilities of all rankings add up to one. *)
From Coq Require Import Reals List Lra Lia.
From Coquelicot Require Import Coquelicot.
From Machine Require Import Sums Laws Exponential Peeling PermuteAndFlip ClassA ClassABound Jumps.
Import ListNotations.
Open Scope R_scope.

Section OneShot.
Context {I : Type} (same : forall i j : I, {i = j} + {i <> j}) (f F : R -> R).
Notation without := (remove same).
Notation rankings := (rankings same).

(* The candidates who are no winners. *)
Fixpoint left_over (l y : list I) : list I :=
  match y with
  | [] => l
  | i :: z => left_over (without i l) z
  end.

(* The probability that the k best of the noisy scores of l are y, best first: the limit of iterated integrals. *)
Definition released (l : list I) (s : I -> R) (y : list I) : R :=
  real (Lim_seq (fun n => ranked (left_over l y) f F (- INR n) s y (INR n))).

Hypothesis (is_noise : noise f F).

Lemma f_nonneg : forall z, 0 <= f z.
Proof. apply is_noise. Qed.

Lemma f_fits : integrable_with f.
Proof. apply is_noise. Qed.

Lemma F_smooth : forall z, continuous F z.
Proof. apply is_noise. Qed.

Lemma F_grows : forall z w, z <= w -> F z <= F w.
Proof. apply is_noise. Qed.

Lemma class_A : forall z c, 0 <= c -> exp (- c) * f z <= f (z + c).
Proof. apply is_noise. Qed.

Lemma all_the_way : forall c, is_lim_seq (fun n => F (INR n - c)) 1.
Proof.
  intros c. apply (is_lim_comp_seq F (fun n => INR n - c) p_infty 1); [apply is_noise|now exists O|].
  apply (is_lim_seq_minus _ _ p_infty c p_infty); [apply is_lim_seq_INR|apply is_lim_seq_const|easy].
Qed.

Lemma all_the_way_down : forall c, is_lim_seq (fun n => F (- INR n - c)) 0.
Proof.
  intros c. apply (is_lim_comp_seq F (fun n => - INR n - c) m_infty 0); [apply is_noise|now exists O|].
  apply (is_lim_seq_minus _ _ m_infty c m_infty); [|apply is_lim_seq_const|easy].
  apply (is_lim_seq_opp _ p_infty), is_lim_seq_INR.
Qed.

Lemma F_between : forall z, 0 <= F z <= 1.
Proof.
  intros z. split.
  - apply (is_lim_seq_le (fun n => F (- INR n - Rabs z)) (fun _ => F z) 0 (F z));
      [|apply all_the_way_down|apply is_lim_seq_const].
    intros n. apply F_grows. pose proof (pos_INR n). pose proof (Rle_abs (- z)) as near. rewrite Rabs_Ropp in near. lra.
  - apply (is_lim_seq_le (fun _ => F z) (fun n => F (INR n - - Rabs z)) (F z) 1);
      [|apply is_lim_seq_const|apply all_the_way].
    intros n. apply F_grows. pose proof (pos_INR n). pose proof (Rle_abs z). lra.
Qed.

Lemma F_nonneg : forall z, 0 <= F z.
Proof. apply F_between. Qed.

Lemma density_alone : forall c a b, ex_RInt (fun u => f (u - c)) a b.
Proof.
  intros c a b. apply (ex_RInt_ext (fun u => f (u - c) * 1)); [intros u _; apply Rmult_1_r|].
  apply f_fits. intros u. apply continuous_const.
Qed.

Lemma moved_derive : forall c u, u <> c -> is_derive (fun u => F (u - c)) u (f (u - c)).
Proof.
  intros c u other. evar_last.
  - apply (is_derive_comp F (fun u => u - c) u (f (u - c)) 1); [apply is_noise; lra|auto_derive; [trivial|ring]].
  - unfold scal; simpl. unfold mult; simpl. ring.
Qed.

Lemma moved_density : forall c u, u <> c -> continuous (fun u => f (u - c)) u.
Proof.
  intros c u other. apply (continuous_comp (fun u => u - c) f); [|apply is_noise; lra].
  apply (@ex_derive_continuous R_AbsRing R_NormedModule). now auto_derive.
Qed.

Lemma density_mass : forall c a b, a <= b -> RInt (fun u => f (u - c)) a b <= 1.
Proof.
  intros c a b order. rewrite (integral_of_the_derivative (fun u => F (u - c)) (fun u => f (u - c)) [c]); try assumption.
  - pose proof (F_between (b - c)). pose proof (F_between (a - c)). lra.
  - intros a' b'. apply density_alone.
  - intros u. apply shifted_smooth, F_smooth.
  - intros u out. split; [apply moved_density|apply moved_derive]; intros ->; apply out; now left.
Qed.

Section Scores.
Context (s : I -> R).

(* The probability that all noisy scores of l are below v. *)
Definition all_under (l : list I) (v : R) : R := product (fun j => F (v - s j)) l.

Lemma all_under_smooth : forall l u, continuous (all_under l) u.
Proof. intros l u. apply (product_smooth l F F_smooth). Qed.

Lemma all_under_between : forall l v, 0 <= all_under l v <= 1.
Proof. intros l v. apply product_between. intros j _. apply F_between. Qed.

Definition best_of (l : list I) (i : I) (u : R) : R := f (u - s i) * all_under (without i l) u.

Lemma best_integrable : forall l i a b, ex_RInt (best_of l i) a b.
Proof. intros. apply f_fits. intros u. apply all_under_smooth. Qed.

Lemma sum_integrable : forall (g : I -> R -> R) m a b, (forall i, ex_RInt (g i) a b) ->
  ex_RInt (fun u => sum (fun i => g i u) m) a b.
Proof.
  intros g m a b whole. induction m as [|i m IH]; simpl; [apply ex_RInt_const|].
  now apply (@ex_RInt_plus R_NormedModule).
Qed.

Lemma sum_integral : forall (g : I -> R -> R) m a b, (forall i, ex_RInt (g i) a b) ->
  RInt (fun u => sum (fun i => g i u) m) a b = sum (fun i => RInt (g i) a b) m.
Proof.
  intros g m a b whole. induction m as [|i m IH]; simpl.
  - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
  - rewrite <- IH. apply (@RInt_plus R_CompleteNormedModule); [apply whole|now apply sum_integrable].
Qed.

Lemma all_under_derive : forall l u, NoDup l -> ~ In u (map s l) ->
  is_derive (all_under l) u (sum (fun i => best_of l i u) l).
Proof.
  intros l u. unfold best_of, all_under. induction l as [|j l IH]; intros distinct out.
  - simpl. apply (@is_derive_const R_AbsRing R_NormedModule).
  - inversion distinct as [|? ? fresh distinct']; subst. simpl in out.
    assert (slope := IH distinct' (fun here => out (or_intror here))).
    assert (slope' := moved_derive (s j) u (fun equal => out (or_introl (eq_sym equal)))).
    evar_last; [apply (is_derive_mult _ _ u _ _ slope' slope); intros; apply Rmult_comm|].
    cbn [sum]. rewrite (sum_ext (fun i => f (u - s i) * product (fun j => F (u - s j)) (without i (j :: l)))
      (fun i => F (u - s j) * (f (u - s i) * product (fun j => F (u - s j)) (without i l))) l).
    2: { intros i inside. simpl. destruct (same i j) as [->|other]; [easy|]. simpl. ring. }
    rewrite sum_scale. simpl. destruct (same j j) as [_|]; [|easy]. rewrite notin_remove by assumption.
    unfold plus, mult; simpl. ring.
Qed.

Lemma best_smooth : forall l m u, ~ In u (map s m) -> continuous (fun u => sum (fun i => best_of l i u) m) u.
Proof.
  intros l m u. induction m as [|i m IH]; intros out; simpl; [apply continuous_const|]. simpl in out.
  apply (@continuous_plus R_UniformSpace R_AbsRing R_NormedModule); [|apply IH; intros here; apply out; now right].
  apply (@continuous_mult R_UniformSpace R_AbsRing); [|apply all_under_smooth].
  apply moved_density. intros equal. apply out. now left.
Qed.

(* Somebody is the best one. *)
Theorem somebody_is_best : forall l low v, NoDup l -> low <= v ->
  sum (fun i => RInt (best_of l i) low v) l = all_under l v - all_under l low.
Proof.
  intros l low v distinct above. rewrite <- sum_integral by (intros; apply best_integrable).
  apply (integral_of_the_derivative (all_under l) (fun u => sum (fun i => best_of l i u) l) (map s l)); try assumption.
  - intros a b. apply sum_integrable. intros. apply best_integrable.
  - apply all_under_smooth.
  - intros u out. split; [now apply best_smooth|now apply all_under_derive].
Qed.

(* The probability that the k best of l are above low, and all are below v. *)
Definition total (k : nat) (l : list I) (low v : R) : R := sum (fun y => ranked (left_over l y) f F low s y v) (rankings k l).

Lemma inner_fits : forall losers low i z a b, ex_RInt (fun u => f (u - s i) * ranked losers f F low s z u) a b.
Proof. intros. apply inner_integrable; [apply f_fits|apply F_smooth]. Qed.

Lemma sum_integral_over : forall {A : Type} (g : A -> R -> R) m a b, (forall i, ex_RInt (g i) a b) ->
  ex_RInt (fun u => sum (fun i => g i u) m) a b /\
  RInt (fun u => sum (fun i => g i u) m) a b = sum (fun i => RInt (g i) a b) m.
Proof.
  intros A g m a b whole. induction m as [|i m [IH IH']]; simpl.
  - split; [apply ex_RInt_const|]. rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
  - split; [now apply (@ex_RInt_plus R_NormedModule)|]. rewrite <- IH'.
    apply (@RInt_plus R_CompleteNormedModule); [apply whole|assumption].
Qed.

Lemma total_smooth : forall k l low u, continuous (total k l low) u.
Proof.
  intros k l low u. unfold total. induction (rankings k l) as [|y m IH]; simpl; [apply continuous_const|].
  apply (@continuous_plus R_UniformSpace R_AbsRing R_NormedModule); [|assumption].
  apply ranked_smooth; [apply f_fits|apply F_smooth].
Qed.

Lemma total_step : forall k l low v,
  total (S k) l low v = sum (fun i => RInt (fun u => f (u - s i) * total k (without i l) low u) low v) l.
Proof.
  intros k l low v. unfold total. simpl. rewrite sum_flat_map. apply sum_ext. intros i _. rewrite sum_map. cbn [left_over ranked].
  rewrite <- (proj2 (sum_integral_over (fun z u => f (u - s i) * ranked (left_over (without i l) z) f F low s z u)
    (rankings k (without i l)) low v ltac:(intros; apply inner_fits))).
  apply RInt_ext. intros u _. apply sum_scale.
Qed.

Fixpoint factor_lost (N : R) (k : nat) : R :=
  match k with
  | O => 0
  | S n => 1 + N * factor_lost N n
  end.

Lemma factor_nonneg : forall N k, 0 <= N -> 0 <= factor_lost N k.
Proof. intros N k some. induction k as [|k IH]; simpl; [lra|]. nra. Qed.

(* What is lost where all winners have to be above low. *)
Lemma little_is_missing : forall N e low k l v, 0 <= e -> NoDup l -> (k <= length l)%nat -> INR (length l) <= N -> low <= v ->
  (forall m, m <> [] -> incl m l -> all_under m low <= e) ->
  all_under l v - factor_lost N k * e <= total k l low v <= all_under l v.
Proof.
  intros N e low. induction k as [|k IH]; intros l v nonneg distinct enough bounded above small.
  - unfold total. simpl. unfold all_under. lra.
  - assert (some : l <> []) by (destruct l; [simpl in enough; lia|discriminate]).
    assert (N_nonneg : 0 <= N) by (pose proof (pos_INR (length l)); lra).
    pose proof (factor_nonneg N k N_nonneg) as factor.
    pose proof (somebody_is_best l low v distinct above) as whole. pose proof (small l some (incl_refl l)) as less.
    assert (inner : forall i u, In i l -> low <= u ->
      all_under (without i l) u - factor_lost N k * e <= total k (without i l) low u <= all_under (without i l) u).
    { intros i u here over. pose proof (without_length same i l distinct here) as shorter. apply IH; try assumption.
      - now apply without_distinct.
      - lia.
      - apply Rle_trans with (INR (length l)); [apply le_INR; lia|assumption].
      - intros m some' within. apply small; [assumption|]. intros j there. now apply (without_incl same i), within. }
    assert (fits : forall i, ex_RInt (fun u => f (u - s i) * total k (without i l) low u) low v).
    { intros i. apply f_fits. intros u. apply total_smooth. }
    rewrite total_step. split.
    + apply Rle_trans with (sum (fun i => RInt (best_of l i) low v - factor_lost N k * e) l).
      * rewrite sum_minus, whole, sum_const. simpl.
        assert (INR (length l) * (factor_lost N k * e) <= N * (factor_lost N k * e)) by (apply Rmult_le_compat_r; nra). nra.
      * apply sum_le. intros i here.
        apply Rle_trans with (RInt (fun u => minus (best_of l i u) (scal (factor_lost N k * e) (f (u - s i)))) low v).
        -- rewrite (@RInt_minus R_CompleteNormedModule), (@RInt_scal R_CompleteNormedModule);
             [|apply density_alone|apply best_integrable|apply (@ex_RInt_scal R_NormedModule), density_alone].
           unfold minus, plus, opp, scal; simpl. unfold mult; simpl. pose proof (density_mass (s i) low v above).
           assert (factor_lost N k * e * RInt (fun u => f (u - s i)) low v <= factor_lost N k * e * 1);
             [apply Rmult_le_compat_l; nra|lra].
        -- apply RInt_le; [assumption| |apply fits|].
           ++ apply (@ex_RInt_minus R_NormedModule); [apply best_integrable|]. apply (@ex_RInt_scal R_NormedModule), density_alone.
           ++ intros u between. unfold best_of, minus, plus, opp, scal; simpl. unfold mult; simpl.
              pose proof (inner i u here ltac:(lra)). pose proof (f_nonneg (u - s i)). nra.
    + apply Rle_trans with (sum (fun i => RInt (best_of l i) low v) l).
      * apply sum_le. intros i here. apply RInt_le; [assumption|apply fits|apply best_integrable|].
        intros u between. apply Rmult_le_compat_l; [apply f_nonneg|]. apply inner; [assumption|lra].
      * rewrite whole. pose proof (all_under_between l low). lra.
Qed.

Lemma ranked_at_most_one : forall losers low y v, low <= v -> ranked losers f F low s y v <= 1.
Proof.
  intros losers low. induction y as [|i z IH]; intros v above; cbn [ranked].
  - apply (all_under_between losers v).
  - apply Rle_trans with (RInt (fun u => f (u - s i)) low v); [|now apply density_mass].
    apply RInt_le; [assumption|apply inner_fits|apply density_alone|].
    intros u between. rewrite <- (Rmult_1_r (f (u - s i))) at 2. apply Rmult_le_compat_l; [apply f_nonneg|]. apply IH. lra.
Qed.

Theorem released_is : forall l y, probability (left_over l y) f F s y (released l s y).
Proof.
  intros l y. unfold probability, released. apply Lim_seq_correct'.
  apply (ex_finite_lim_seq_incr _ 1).
  - intros n. pose proof (pos_INR n). rewrite S_INR.
    apply ranked_grows; [apply f_nonneg|apply f_fits|apply F_nonneg|apply F_smooth|apply F_grows|lra|lra|lra].
  - intros n. apply ranked_at_most_one. apply wide.
Qed.

Lemma sum_limit : forall {A : Type} (g : A -> nat -> R) (G : A -> R) m, (forall i, is_lim_seq (g i) (G i)) ->
  is_lim_seq (fun n => sum (fun i => g i n) m) (sum G m).
Proof.
  intros A g G m near. induction m as [|i m IH]; simpl; [apply is_lim_seq_const|]. now apply is_lim_seq_plus'.
Qed.

Lemma all_under_fills : forall l, is_lim_seq (fun n => all_under l (INR n)) 1.
Proof.
  intros l. unfold all_under. induction l as [|j l IH]; simpl; [apply is_lim_seq_const|].
  evar_last; [apply is_lim_seq_mult'; [apply all_the_way|exact IH]|]. f_equal. ring.
Qed.

Lemma one_is_low : forall l m v, m <> [] -> incl m l -> all_under m v <= sum (fun j => F (v - s j)) l.
Proof.
  intros l [|j m] v some within; [easy|]. apply Rle_trans with (F (v - s j)).
  - unfold all_under. simpl. pose proof (F_between (v - s j)). pose proof (all_under_between m v) as rest.
    unfold all_under in rest. nra.
  - apply (sum_member (fun j => F (v - s j))); [intros; apply F_nonneg|]. apply within. now left.
Qed.

Theorem released_add_up : forall k l, NoDup l -> (k <= length l)%nat -> sum (released l s) (rankings k l) = 1.
Proof.
  intros k l distinct enough.
  assert (one : is_lim_seq (fun n => total k l (- INR n) (INR n)) (sum (released l s) (rankings k l))).
  { unfold total. apply (sum_limit (fun y n => ranked (left_over l y) f F (- INR n) s y (INR n))). intros y. apply released_is. }
  assert (two : is_lim_seq (fun n => total k l (- INR n) (INR n)) 1).
  { apply (is_lim_seq_le_le
      (fun n => all_under l (INR n) - factor_lost (INR (length l)) k * sum (fun j => F (- INR n - s j)) l) _
      (fun n => all_under l (INR n))).
    - intros n. apply little_is_missing; try assumption; try lra.
      + apply sum_nonneg. intros. apply F_nonneg.
      + apply wide.
      + intros m some within. now apply one_is_low.
    - evar_last; [apply is_lim_seq_minus'; [apply all_under_fills|]|].
      + apply is_lim_seq_mult'; [apply is_lim_seq_const|].
        apply (sum_limit (fun j n => F (- INR n - s j)) (fun _ => 0)). intros j. apply all_the_way_down.
      + f_equal. rewrite sum_const. ring.
    - apply all_under_fills. }
  apply is_lim_seq_unique in one. apply is_lim_seq_unique in two. rewrite one in two. now injection two.
Qed.

End Scores.
End OneShot.
