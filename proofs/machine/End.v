(* The end: what report noisy top-k and Lipschitz top-k cost, for scores and
   scales as a caller gives them. No proof has to be read here.

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
From Coq Require Import Reals List Lra.
From Machine Require Import Laws RangeConcentrated Noises Images Costs.
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

Theorem gumbel_rankings_cost : forall d k tau rho x x',
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  let P := ranking_of_noisy gumbel_noise d tau x in
  let P' := ranking_of_noisy gumbel_noise d tau x' in
  range (all_rankings d k) P P' (INR (Nat.min (2 * k) d - 1) * (rho / tau)) /\
  (0 < rho ->
    zCDP (all_rankings d k) P P' (INR (Nat.min k (d - 1)) * price (rho / tau))).
Proof. intros. now apply Costs.gumbel_rankings_cost. Qed.

Theorem gumbel_sets_cost : forall d k tau rho x x',
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  let P := set_of_noisy gumbel_noise d k tau x in
  let P' := set_of_noisy gumbel_noise d k tau x' in
  range (all_sets d k) P P' (INR (Nat.min (2 * k) d - 1) * (rho / tau)) /\
  (0 < rho ->
    zCDP (all_sets d k) P P' (INR (Nat.min k (d - 1)) * price (rho / tau))).
Proof. intros. now apply Costs.gumbel_sets_cost. Qed.

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

(* From digits, without integrals in the last theorem. Of 2^digits equal parts
   of the unit interval the uniform number of each candidate lies in one, and
   its digits say which. A race looks at the digits of all, and has an outcome
   (what) of the ranking, or none as yet. It is honest_race if it has only
   outcomes to which every noise leads that is possible with these digits, and
   prompt_race if it has whatever is certain (Costs.v, FromDigits.v). Of all
   ways in which the digits can be, releasing is the share with an outcome, and
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

Theorem races_end : forall d k tau x n A (what : list nat -> A) digits race,
  (1 <= k <= d)%nat -> prompt_race d k tau x n A what digits race ->
  not_ended d A digits race <= 2 * INR d ^ 2 / 2 ^ digits.
Proof.
  intros d k tau x n A what digits race size quick.
  exact (Costs.races_end d k tau x n A what size digits race quick).
Qed.

(* Two races with as many digits, on neighbours; with more digits the last
   summand vanishes. *)
Theorem digits_cost : forall d k tau rho x x' n A eq (what : list nat -> A)
    digits race race' a,
  (1 <= k <= d)%nat -> 0 < tau -> within d rho x x' ->
  honest_race d k tau x n A what digits race ->
  honest_race d k tau x' n A what digits race' ->
  prompt_race d k tau x' n A what digits race' ->
  In a (releases eq what (all_rankings d k)) ->
  releasing d A eq digits race a <=
    exp (INR (steps d k n) * (rho / tau)) *
      (releasing d A eq digits race' a + 2 * INR d ^ 2 / 2 ^ digits).
Proof. exact Costs.digits_cost. Qed.
