(* The end: what report noisy top-k costs, for scores and scales as a caller
   gives them. No proof has to be read here.

   There are d candidates, 0 .. d - 1, with the scores x. Noise of one of five
   kinds n, times the scale tau, is added to each; released is the ranking of
   the k best noisy scores, or their set. Neighbours x and x' are within the
   range distance rho: no two scores change by amounts more than rho apart.

   Words of one to three lines, in Costs.v where nothing else is said:
   - within, candidates, all_rankings, all_sets, steps and set_steps;
   - ranking_of_noisy: of each ranking, the limit over growing intervals of the
     iterated integral of the noise's densities, best score first, and of the
     distribution functions of all losers (released in OneShot.v; density_of
     and below_of in Noises.v are the textbook ones);
   - set_of_noisy: of each set, the sum over its orders (Released.v);
   - law, pure, range and zCDP (Laws.v): positive probabilities that add up to
     one; a loss of at most so much, in absolute value, at each release; losses
     that differ by at most so much; and D_alpha <= alpha rho for all alpha > 1;
     the last three in both directions;
   - price (RangeConcentrated.v): the zCDP of a range r, z - 1 - ln z with
     z = r / (1 - exp(- r)). *)
From Coq Require Import Reals List Lra ZArith.
From Machine Require Import Sums Laws RangeConcentrated Digits Deferred Images Sets Noises Costs.
From Machine Require Import Adaptive Tables.
Open Scope R_scope.

(* The number of steps: steps is min(k, d - 1), and min(k, d / 2) for Laplace
   and logistic noise. For exponential noise this is the library's default. *)
Theorem rankings_cost : forall d k tau rho x x' n,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  law (all_rankings d k) (ranking_of_noisy n d tau x) /\
  pure (all_rankings d k) (ranking_of_noisy n d tau x)
    (ranking_of_noisy n d tau x') (INR (steps d k n) * (rho / tau)).
Proof. intros. now apply Costs.rankings_cost. Qed.

(* For sets min(k, d - 1), or 0 where k = d, and min(k, d - k) for the two. *)
Theorem sets_cost : forall d k tau rho x x' n,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  law (all_sets d k) (set_of_noisy n d k tau x) /\
  pure (all_sets d k) (set_of_noisy n d k tau x)
    (set_of_noisy n d k tau x') (INR (set_steps d k n) * (rho / tau)).
Proof. intros. now apply Costs.sets_cost. Qed.

(* Range and zCDP, for all five. The width of the range is min(2 k, d) steps,
   and one less with Gumbel noise. What is concentrated is the price of this
   range, and with Gumbel noise min(k, d - 1) times the price of one step. *)
Theorem rankings_range : forall d k tau rho x x' n,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  let P := ranking_of_noisy n d tau x in
  let P' := ranking_of_noisy n d tau x' in
  range (all_rankings d k) P P' (INR (width d k n) * (rho / tau)) /\
  (0 < rho -> zCDP (all_rankings d k) P P' (concentrated d k n (rho / tau))).
Proof. intros. now apply Costs.rankings_range. Qed.

Theorem sets_range : forall d k tau rho x x' n,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  let P := set_of_noisy n d k tau x in
  let P' := set_of_noisy n d k tau x' in
  range (all_sets d k) P P' (INR (width d k n) * (rho / tau)) /\
  (0 < rho -> zCDP (all_sets d k) P P' (concentrated d k n (rho / tau))).
Proof. intros. now apply Costs.sets_range. Qed.

(* What d_in makes of rho: scores that change by at most d_in each, or, in
   monotonic cases, all in one direction. *)
Theorem changes_of_both_signs : forall d d_in x x',
  (forall i, (i < d)%nat -> - d_in <= x' i - x i <= d_in) ->
  within d (2 * d_in) x x'.
Proof.
  intros d d_in x x' near i j here there.
  pose proof (near i here). pose proof (near j there). lra.
Qed.

Theorem monotonic_changes : forall d d_in x x',
  (forall i, (i < d)%nat -> 0 <= x' i - x i <= d_in) -> within d d_in x x'.
Proof.
  intros d d_in x x' near i j here there.
  pose proof (near i here). pose proof (near j there). lra.
Qed.

(* From digits, without integrals. Of 2^digits equal parts of the unit interval
   the uniform number of each candidate lies in one, and its digits say which.
   A race has for the digits of all an outcome (what) of the ranking, or none as
   yet. It is honest_race if it has only outcomes to which every noise leads
   that is possible with these digits (Costs.v, FromDigits.v). Of all ways in
   which the digits can be, releasing is the share with an outcome, and
   not_ended the share with none (share in Cells.v). *)
Theorem digits_have_the_law : forall d k tau x n A eq (what : list nat -> A)
    digits race,
  (1 <= k <= d)%nat -> honest_race d k tau x n A what digits race ->
  forall a,
  outcome_of_noisy d k tau x n A eq what a - not_ended d A digits race
    <= releasing d A eq digits race a
    <= outcome_of_noisy d k tau x n A eq what a.
Proof.
  intros d k tau x n A eq what digits race size fair.
  exact (Costs.digits_have_the_law d k tau x n A eq what size digits race fair).
Qed.

(* Two races with as many digits, on neighbours: the loss of rankings, and of
   all functions of them; of sets; and the range and zCDP of such functions,
   sets among them. *)
Theorem digits_cost : forall d k tau rho x x' n A eq (what : list nat -> A)
    digits race race' a,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  honest_race d k tau x n A what digits race ->
  honest_race d k tau x' n A what digits race' ->
  In a (releases eq what (all_rankings d k)) ->
  releasing d A eq digits race a <=
    exp (INR (steps d k n) * (rho / tau)) *
      (releasing d A eq digits race' a + not_ended d A digits race').
Proof. intros. eapply Costs.digits_cost; eassumption. Qed.

Theorem set_digits_cost : forall d k tau rho x x' n digits race race' b,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  let marks := set_of Nat.eq_dec (candidates d) in
  honest_race d k tau x n (list bool) marks digits race ->
  honest_race d k tau x' n (list bool) marks digits race' ->
  In b (all_sets d k) ->
  releasing d (list bool) word_eq digits race b <=
    exp (INR (set_steps d k n) * (rho / tau)) *
      (releasing d (list bool) word_eq digits race' b
        + not_ended d (list bool) digits race').
Proof. intros. eapply Costs.set_digits_cost; eassumption. Qed.

Theorem digits_range : forall d k tau rho x x' n A eq (what : list nat -> A)
    digits race race' a b,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  honest_race d k tau x n A what digits race ->
  honest_race d k tau x' n A what digits race' ->
  In a (releases eq what (all_rankings d k)) ->
  In b (releases eq what (all_rankings d k)) ->
  releasing d A eq digits race a * releasing d A eq digits race' b <=
    exp (INR (width d k n) * (rho / tau)) *
      ((releasing d A eq digits race' a + not_ended d A digits race') *
       (releasing d A eq digits race b + not_ended d A digits race)).
Proof. intros. eapply Costs.digits_range; eassumption. Qed.

(* A moment of shares u and v is v (u / v)^alpha, and nothing where u is. *)
Theorem digits_zCDP : forall d k tau rho x x' n A eq (what : list nat -> A)
    digits race race' alpha,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  honest_race d k tau x n A what digits race ->
  honest_race d k tau x' n A what digits race' -> 0 < rho -> 1 < alpha ->
  sum (fun a => moment alpha (releasing d A eq digits race' a)
      (releasing d A eq digits race a + not_ended d A digits race))
    (releases eq what (all_rankings d k))
    <= exp (alpha * (alpha - 1) * concentrated d k n (rho / tau)).
Proof. intros. eapply Costs.digits_zCDP; eassumption. Qed.

(* A race that runs: table_race (Tables.v, where found searches for one who is
   ahead of all others, k times). It computes with integers: scores a of each
   candidate, a scale P / q, and a table, low and high, of bounds on the noise
   in each part, in units of 1 / D. The table has bounds if they are right, and
   is narrow if those of parts that are not beside each other are in order,
   which it takes 2^digits comparisons of integers to see. *)
Theorem table_race_is_honest : forall n digits D low high P q d k a A
    (what : list nat -> A),
  bounds n digits D low high -> (0 < P)%Z -> (0 < q)%Z -> (1 <= k <= d)%nat ->
  honest_race d k (IZR P / IZR q) (fun i => IZR (a i)) n A what digits
    (table_race digits D low high P q d k a what).
Proof. intros. now apply Tables.table_race_is_honest. Qed.

Theorem table_races_end : forall n digits D low high P q d k a A
    (what : list nat -> A),
  bounds n digits D low high -> narrow digits low high = true ->
  (0 < P)%Z -> (0 < q)%Z -> (1 <= k <= d)%nat ->
  not_ended d A digits (table_race digits D low high P q d k a what)
    <= 4 * INR d ^ 2 / 2 ^ digits.
Proof. intros. eapply Tables.table_races_end; eassumption. Qed.

Theorem tables_exist : forall n digits, exists D low high,
  bounds n digits D low high /\ narrow digits low high = true.
Proof. exact Tables.tables_exist. Qed.

(* So this is what its rankings and its sets cost. *)
Theorem ranking_race_cost : forall n digits D low high P q d k a a' rho y,
  bounds n digits D low high -> narrow digits low high = true ->
  (0 < P)%Z -> (0 < q)%Z -> (1 <= k <= d)%nat ->
  within d rho (fun i => IZR (a i)) (fun i => IZR (a' i)) ->
  In y (all_rankings d k) ->
  let itself := fun ranking : list nat => ranking in
  let released := releasing d (list nat) (list_eq_dec Nat.eq_dec) digits in
  released (table_race digits D low high P q d k a itself) y <=
    exp (INR (steps d k n) * (rho / (IZR P / IZR q))) *
      (released (table_race digits D low high P q d k a' itself) y
        + 4 * INR d ^ 2 / 2 ^ digits).
Proof. intros. now apply Tables.ranking_race_cost. Qed.

Theorem set_race_cost : forall n digits D low high P q d k a a' rho b,
  bounds n digits D low high -> narrow digits low high = true ->
  (0 < P)%Z -> (0 < q)%Z -> (1 <= k <= d)%nat ->
  within d rho (fun i => IZR (a i)) (fun i => IZR (a' i)) ->
  In b (all_sets d k) ->
  let marks := set_of Nat.eq_dec (candidates d) in
  let released := releasing d (list bool) word_eq digits in
  released (table_race digits D low high P q d k a marks) b <=
    exp (INR (set_steps d k n) * (rho / (IZR P / IZR q))) *
      (released (table_race digits D low high P q d k a' marks) b
        + 4 * INR d ^ 2 / 2 ^ digits).
Proof. intros. now apply Tables.set_race_cost. Qed.

(* A race that reads no more digits than it needs, of each candidate as many as
   it likes up to a limit, is a procedure (Deferred.v): it asks something of one
   candidate's digits at a time, such as the next one or whether ones lead, in
   view of all answers so far, or ends with an outcome or with none. It is an
   adaptive_race if it asks of candidates alone and has only outcomes to which
   every noise leads that its answers allow. Each answer is drawn when it is
   asked, in proportion to the words of digits that are still possible;
   drawn_outcome and drawn_none are the probabilities of an outcome and of none. *)
Theorem adaptive_cost : forall d k tau rho x x' n digits A eq
    (what : list nat -> A) p p' a,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  adaptive_race d k tau n digits x A what p ->
  adaptive_race d k tau n digits x' A what p' ->
  In a (releases eq what (all_rankings d k)) ->
  drawn_outcome d A eq digits p a <=
    exp (INR (steps d k n) * (rho / tau)) *
      (drawn_outcome d A eq digits p' a + drawn_none d A digits p').
Proof. intros. eapply Adaptive.adaptive_cost; eassumption. Qed.

Theorem adaptive_set_cost : forall d k tau rho x x' n digits p p' b,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  let marks := set_of Nat.eq_dec (candidates d) in
  adaptive_race d k tau n digits x (list bool) marks p ->
  adaptive_race d k tau n digits x' (list bool) marks p' ->
  In b (all_sets d k) ->
  drawn_outcome d (list bool) word_eq digits p b <=
    exp (INR (set_steps d k n) * (rho / tau)) *
      (drawn_outcome d (list bool) word_eq digits p' b
        + drawn_none d (list bool) digits p').
Proof. intros. eapply Adaptive.adaptive_set_cost; eassumption. Qed.

(* And such a race ends if with the digits of all it ends wherever a race that
   runs does (at_once is what it has when all digits are there). *)
Theorem adaptive_races_end : forall n digits D low high P q d k a A
    (what : list nat -> A) p,
  bounds n digits D low high -> narrow digits low high = true ->
  (0 < P)%Z -> (0 < q)%Z -> (1 <= k <= d)%nat -> asks_of d p ->
  (forall c, table_race digits D low high P q d k a what c <> None ->
    at_once d A digits p c <> None) ->
  drawn_none d A digits p <= 4 * INR d ^ 2 / 2 ^ digits.
Proof.
  intros n digits D low high P q d k a A what p **.
  now apply (Tables.adaptive_races_end n digits D low high P q d k a what).
Qed.
