"""Continual top-k of running sums, which share noise: by square-root factorisation, or by the binary tree mechanism."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from ..core.candidates import Counts, largest_counts
from ..core.claims import proved_by
from ..core.measurement import Declared, Measurement
from ..core.partials import partial_constructor
from ..core.queryable import Queryable
from ..core.spaces import require_space, require_table_space
from ..errors import BudgetError, DataError, ParameterError, SpaceError, checks
from ..errors.checks import Number
from ..errors.experimental import mark_experimental
from ..numerics.arithmetic import round_up, scaled_log_up, to_fraction
from ..sampling.samplers.integers import discrete_gaussian, discrete_laplace
from ..spaces.costs import SCALAR, require_measure
from ..spaces.domains import AtomDomain, FrameDomain, VectorDomain, same_items
from ..spaces.measures import Distance, Measure, PrivacyProfile, ZeroConcentratedDivergence, bounds_range, is_pure
from ..spaces.metrics import L01InfDistance, UserDistance
from ._grid import Array, narrow_to_int64
from ._moved import ChangedScores, gaussian_loss, laplace_loss

Read = Callable[[Any, Any], tuple[Array, Any]]  # (step, state before) -> (counts of the step, state after)
_MOST_ROOT_STEPS = 512  # with more steps, weighting the noise of a count takes over a millisecond a step
_RATES = tuple(map(Fraction, ("1/8", "1/4", "1/2", "3/4", "7/8")))  # each gives a valid tail bound; the best is used


@proved_by("measurements/continual_top_k")
@mark_experimental("its noise may be added by another factorisation, with other accuracy")
def make_continual_top_k(
    input_domain: VectorDomain | FrameDomain,
    input_metric: L01InfDistance | UserDistance,
    output_measure: Measure[Distance],
    *,
    steps: int,
    k: int,
    scale: Number,
    gaussian: bool | None = None,
    items: Iterable[Hashable] | None = None,
    max_items: int | None = None,
    at_once: bool = False,
) -> Measurement[Distance, Any]:
    """Release the k best of running sums after each of many steps, for example of a table that grows every week.

    Each step has d counts. With a separate release after every step, a count would affect all later releases. Here the
    running sums share noise, which is drawn once for each step:

    - Gaussian noise with at most 512 steps: the square-root factorisation. With c(i) = binomial(2 i, i) / 4^i, the
      running sum after step t gets c(0) Z_t + c(1) Z_(t-1) + ... + c(t-1) Z_1, where Z_i is the noise of step i:
      discrete Gaussian noise on the multiples of 4^(1 - steps).
    - Otherwise a binary tree. Its nodes are the sums of 1, 2, 4, 8, ... successive steps. Each node gets discrete noise
      once, after its last step, and the running sum is the best weighted sum of the nodes within the steps so far.

    Experimental: its noise may be added by another factorisation, with other accuracy.

    Args:
        input_domain: Vectors of integers: the d counts of the first step or, with ``at_once``, the counts of all steps,
            first the d counts of step 1, then those of step 2, and so on. Or ``FrameDomain(user, item)``: the table of
            the first step, if each step is a table.
        input_metric: ``L01InfDistance(changes=m)`` on the counts of **all steps together**, as one vector: over all
            steps one person changes at most m counts (an item in two weeks is two counts), each by at most ``d_in``.
            ``UserDistance(...)`` for tables: the number of users who differ in the tables of **all steps together**.
        output_measure: ``MaxDivergence()``, ``RangeDivergence()`` or ``ZeroConcentratedDivergence()``; with ``at_once``
            also ``PrivacyProfile()``.
        steps: The number T of steps, >= 1, public and fixed in advance.
        k: The number of winners after each step, >= 1 and <= d.
        scale: The scale of the noise of a step or a node in units of the counts, finite, >= 0. The standard deviation
            is about ``scale`` for Gaussian noise, and about sqrt(2) ``scale`` for Laplace noise. At 0 the sums are
            exact and the privacy loss is infinite.
        gaussian: True for discrete Gaussian noise, False for discrete Laplace noise. Gaussian noise bounds neither
            MaxDivergence nor RangeDivergence; the default is True under the other measures.
        items: The d public candidates in the order of the counts; by default the lists contain indices. Required for
            tables, as all integers or all strings.
        max_items: For tables, the contribution bound: the number of items of a user that count over all steps together.
            An item in two steps counts twice, and repeated rows within a step count once. The items of earlier steps
            are kept first and, within a step, the first ones in the order of the numbers or of the code points.
        at_once: True if the counts of all steps are given together and all T lists are released at once. Default False.

    Returns:
        A :class:`Measurement`. Without ``at_once`` it is interactive: it takes the counts of the first step and
        releases a :class:`Queryable`. ``queryable(None)`` returns the current list, any number of times.
        ``queryable(counts)`` adds the counts of the next step and returns the list after it. With ``at_once`` the
        release is a list of all T lists. Each one is a :class:`Release` of the winners and their noisy sums
        (``counts``), rounded to integers, largest first.

    Privacy:
        For all lists together and every k, also if the counts of a step depend on earlier lists, for example because
        people react to them. With h = floor(log2(T)) + 1, n = m (min(m, T d), if the domain declares its size),
        D = floor(d_in), e = min(n, 2^(h-1)), and G(x) = x - 2 g exp(-g) (1 - exp(-x)) / (1 - exp(-2 g)), g = 1 / scale:

        - MaxDivergence, Laplace noise: epsilon = h n D / scale.
        - RangeDivergence, Laplace noise: 2 h n D / scale.
        - ZeroConcentratedDivergence: rho = q D^2 / (2 scale^2) for Gaussian noise, and (h n / e) G(e D / scale) for
          Laplace noise.

        For the tree, q is the sum over i < h of floor(n / 2^i) 4^i + (n mod 2^i)^2. For the square root, it is n times
        the largest g(r) / r for r <= min(n, T), rounded up to a multiple of 16^(1-T) / D^2. Here g(r) is the sum over
        t <= T of (F(t) - F(t-r))^2, with F(t) = c(0) + ... + c(t-1).

        For tables m is ``max_items`` under "add_remove" and twice that under "replace".

        For m = 1, q is h for the tree and c(0)^2 + ... + c(T-1)^2 for the square root: 6 and 2.32 for T = 52. For
        m > 1, q exceeds m times that: if one person changes the count of the same item in successive weeks, the sums
        change by the sum of the changes. With enough candidates the bounds for MaxDivergence, RangeDivergence and, with
        Gaussian noise, ZeroConcentratedDivergence are tight for all noisy sums: for the square root, if n is a multiple
        of the best r. Under PrivacyProfile the curve is that of independent noise on the nodes, as in ``make_gaussian``
        and ``make_laplace``, and for the square root with T > 2 that of its rho.

    Accuracy:
        The noise of the sum after t steps has the variance of a step or node times c(0)^2 + ... + c(t-1)^2 for the
        square root, and for the tree times the sum of 2^i / (2^(i+1) - 1) over the positions i of the ones in the
        binary representation of t, which is at most (h + 2) / 2. ``accuracy(d, alpha)``: with probability at least
        1 - alpha, the true sum of every winner of the T lists is at most this much below the true sum of its rank.

        At equal rho and m = 1, the square root has less noise after every step than separate Gaussian releases of the
        sums if T >= 2. For T = 52 its standard deviation is at most 0.32 of theirs. With Laplace noise, at equal
        epsilon, the tree has less noise if T >= 3.

    Raises:
        ParameterError: ``steps``, ``k``, ``scale``, ``gaussian`` or ``at_once`` is out of range or of the wrong type,
            the noise does not bound the measure, ``steps`` does not divide the size of the domain, or ``max_items`` is
            missing for tables or given for vectors. ``items`` is empty or repeats an item, or is missing for tables.
        SpaceError: The metric does not fit the domain, the domain has too few counts for ``k``, or ``items`` do not
            match it.
        DataError: On a call or a query, the counts or the table are not a member of the domain, or the number of counts
            does not fit ``k``, ``items``, ``steps`` or the first step.
        BudgetError: A query adds a step after all T steps.

    Runtime:
        About 1 microsecond per count and step, and per counted row of a table. For the square root, 3 to 12
        microseconds per count and step up to T = 100, and 0.4 milliseconds for T = 512. A queryable keeps the noise of
        all steps so far or, for the tree, 2 d numbers for each one in the binary representation of their number and,
        for tables, the number of counted items of each user. It is lost when its process ends.

    Proof: proofs/measurements/continual_top_k.tex

    References:
        Dwork, Naor, Pitassi and Rothblum, "Differential Privacy under Continual Observation" (2010). Chan, Shi and
        Song, "Private and Continual Release of Statistics" (2011). Honaker, "Efficient Use of Differentially Private
        Binary Trees" (2015). Denisov, McMahan, Rush, Smith and Thakurta, "Improved Differential Privacy for SGD via
        Optimal Private Linear Operators on Adaptive Streams" (2022). Fichtenberger, Henzinger and Upadhyay, "Constant
        Matters: Fine-grained Error Bound on Differentially Private Continual Observation" (2023).

    Example:
        >>> import opendp_topk as tk
        >>> space = tk.VectorDomain(tk.AtomDomain(int)), tk.L01InfDistance(changes=1, monotonic=True)
        >>> weekly = space >> tk.then_continual_top_k(tk.ZeroConcentratedDivergence(), steps=52, k=2, scale=8.0)
        >>> round(weekly.map(1), 5)
        0.01814
        >>> lists = weekly([900, 100, 500])
        >>> lists(None).indices.tolist(), lists([0, 2000, 0]).indices.tolist()
        ([0, 2], [1, 0])
    """
    # proof-region: continual_top_k
    best = largest_counts(checks.require_positive_int("k", k), items)
    checks.require_boolean("at_once", at_once)
    domain, metric, read = _counting_space(input_domain, input_metric, best.items, max_items, at_once)  # [check-space]
    if gaussian is None:
        gaussian = not (is_pure(output_measure) or bounds_range(output_measure))  # [default-noise]
    checks.require_boolean("gaussian", gaussian)
    bounded = (ZeroConcentratedDivergence,) if gaussian else SCALAR
    known = (PrivacyProfile,) if at_once else ()
    require_measure(output_measure, *bounded, *known)  # [check-measure]
    steps, k = checks.require_positive_int("steps", steps), checks.require_positive_int("k", k)  # [check-counts]
    scale = checks.require_scale(scale)  # [check-scale]
    counted = domain.candidates
    if best.items is not None and counted is not None and (at_once or not same_items(best.items, counted)):  # [names]
        raise SpaceError(
            "items must be the candidates of input_domain, in their order; omit items with at_once, for "
            "which these are the candidates of all steps"
        )
    width = domain.size
    if at_once and width is not None:
        if width % steps:
            raise ParameterError("steps must divide the size of input_domain: each step has the same number of counts")
        width //= steps  # [width]
    best.output_type_for(Counts, width)
    rooted = gaussian and steps <= _MOST_ROOT_STEPS  # [which-sums]
    unit = 4 ** (steps - 1) if rooted else 1
    b = to_fraction(scale) * unit
    extend: Callable[[Any, Array, Any], Any] = extend_root if rooted else extend_tree
    estimate = functools.partial(rooted_running_sums, steps) if rooted else noisy_running_sums

    def draw_noise(size: int) -> Array:
        noise = discrete_gaussian(b, size) if gaussian else discrete_laplace(b, size)
        return noise.astype(object)  # [draw]

    def function(value: Any) -> Any:
        if not at_once:
            counts, seen = read(value, None)  # [read-first]
            best.require_matching_counts(len(counts), DataError)
            return Queryable(start_conversation(counts, seen))  # [interactive]
        if len(value) % steps:
            raise DataError("scores must contain the same number of counts for each step")  # [check-length]
        best.require_matching_counts(len(value) // steps, DataError)
        lists: list[Any] = []
        parts: tuple[Any, ...] = ()
        for counts in np.split(value, steps):
            parts = extend(parts, counts, draw_noise)  # [next]
            lists.append(noisy_top_k(parts))
        return lists

    def noisy_top_k(parts: tuple[Any, ...]) -> Any:
        sums, one_count = estimate(parts)
        found: Any = best(narrow_to_int64(sums))  # [best]
        whole = [(2 * one + one_count) // (2 * one_count) for one in found.counts.tolist()]
        return replace(found, counts=narrow_to_int64(np.array(whole, dtype=object)))  # [rounded]

    def start_conversation(first: Array, seen: Any) -> Callable[[Any], Callable[[], Any]]:
        taken, parts = 1, extend((), first, draw_noise)  # [first]

        def admit_query(query: Any) -> Callable[[], Any]:
            if query is None:
                return lambda: noisy_top_k(parts)  # [again]
            value = input_domain.validate(query)  # [validate]
            if taken == steps:
                raise BudgetError("all steps have been taken: use a measurement with more steps")  # [used-up]
            counts, after = read(value, seen)  # [read]
            if len(counts) != len(first):
                raise DataError("the counts of a step must be as many as those of the first step")  # [same-length]
            return lambda: take_step(counts, after)

        def take_step(counts: Array, after: Any) -> Any:
            nonlocal taken, parts, seen
            parts, taken, seen = extend(parts, counts, draw_noise), taken + 1, after  # [take]
            return noisy_top_k(parts)

        return admit_query

    def privacy_map(d_in: Number) -> Any:
        if d_in == 0:
            return 0.0  # [free]
        if b == 0 or d_in == math.inf:
            return output_measure.infinite  # [no-noise]
        each, _ = metric.moves(d_in)
        if each == 0:
            return 0.0  # [no-move]
        most = metric.changes if width is None else min(metric.changes, steps * width)  # [most]
        moved = (changed_root_sums if rooted else changed_node_sums)(steps, most, each)
        return (gaussian_loss if gaussian else laplace_loss)(moved, b, output_measure)  # [map]

    def accuracy(n_candidates: int, alpha: Any) -> float:
        if n_candidates < k:
            raise ParameterError(f"n_candidates must be at least k ({k})")
        variance = rooted_variance(steps) if rooted else largest_variance(steps)
        return noise_error_bound(
            b / unit, variance, to_fraction(alpha) / (steps * n_candidates), gaussian=gaussian
        )  # [all-sums]

    return Measurement(
        input_domain=input_domain,
        input_metric=input_metric,
        output_measure=output_measure,
        function=function,
        privacy_map=privacy_map,
        parameters={
            "mechanism": "continual_top_k",
            "steps": steps,
            "k": k,
            "gaussian": gaussian,
            "scale": scale,
            "at_once": at_once,
        }
        | ({} if max_items is None else {"max_items": max_items}),
        declared=Declared(accuracy=accuracy, later_data=not at_once),
        interactive=not at_once,
    )
    # end-proof-region: continual_top_k


# proof-region: continual_tables
def _counting_space(
    domain: Any, metric: Any, items: tuple[Any, ...] | None, max_items: Any, at_once: bool
) -> tuple[VectorDomain, L01InfDistance, Read]:
    """Return the domain of the counts of a step, the metric on the counts of all steps, and how to count a step."""
    if not isinstance(domain, FrameDomain):
        require_space(domain, metric, L01InfDistance, "L01InfDistance(changes=...)")  # [vectors]
        if max_items is not None:
            raise ParameterError(
                "max_items must be omitted for vectors, because input_metric bounds the changed counts"
            )
        return domain, metric, lambda counts, seen: (counts, seen)
    require_table_space(domain, metric, ("item",))  # [tables]
    if at_once:
        raise ParameterError("at_once must be False for tables: give them step by step, and store the lists")
    most = checks.require_positive_int("max_items", max_items)  # [check-most]
    text = items is not None and all(isinstance(item, str) for item in items)
    if items is None or not (text or all(checks.is_integer(item) for item in items)):  # [check-items]
        raise ParameterError("items must be given for tables: the public candidates, all integers or all strings")
    candidates = tuple(map(str.__str__ if text else int, items))

    def count_step(rows: Any, seen: Any) -> tuple[Array, Any]:
        from ..tables.capping import count_time_step

        return count_time_step(rows, candidates, most, seen)  # [capped]

    both = metric.neighbors == "replace"
    apart = L01InfDistance(changes=2 * most if both else most, monotonic=not both)  # [both-users]
    return VectorDomain(AtomDomain(int), size=len(candidates)), apart, count_step


# end-proof-region: continual_tables


# proof-region: continual_tree
@dataclass(frozen=True, eq=False)
class TreeNode:
    """A node of the binary tree: 2^level successive steps.

    ``sums`` are the exact sums of the node. ``weighted`` is the sum of the noisy sums of all nodes within it, each
    multiplied by 2^level of that node.
    """

    level: int
    sums: Array
    weighted: Array


def extend_tree(nodes: tuple[TreeNode, ...], counts: Array, draw: Callable[[int], Array]) -> tuple[TreeNode, ...]:
    """Return the maximal nodes, in order, after a step with these ``counts`` is added to ``nodes``."""
    sums = counts.astype(object)
    node = TreeNode(0, sums, sums + draw(len(sums)))  # [leaf]
    while nodes and nodes[-1].level == node.level:  # [pair]
        left, nodes = nodes[-1], nodes[:-1]
        sums = left.sums + node.sums  # [sum]
        noisy = sums + draw(len(sums))  # [noise]
        node = TreeNode(node.level + 1, sums, left.weighted + node.weighted + (noisy << node.level + 1))  # [weights]
    return (*nodes, node)


def noisy_running_sums(nodes: tuple[TreeNode, ...]) -> tuple[Array, int]:
    """Return the noisy running sums as multiples of 1 / unit, and the unit."""
    weights = [2 ** (node.level + 1) - 1 for node in nodes]
    unit = math.lcm(*weights)
    parts = [node.weighted * (unit // weight) for node, weight in zip(nodes, weights, strict=True)]  # [mean]
    return np.sum(parts, axis=0), unit


# end-proof-region: continual_tree


# proof-region: continual_root
@functools.lru_cache(maxsize=16)
def root_coefficients(steps: int) -> tuple[int, ...]:
    """Return 4^(steps - 1) binomial(2 i, i) / 4^i for i < ``steps``, which are integers."""
    return tuple(math.comb(2 * i, i) << 2 * (steps - 1 - i) for i in range(steps))  # [coefficients]


def extend_root(parts: tuple[Array, ...], counts: Array, draw: Callable[[int], Array]) -> tuple[Array, ...]:
    """Return the exact running sums, and then the noise of each step, after a step with these ``counts``."""
    sums = counts.astype(object)
    before, *noise = parts or (0 * sums,)
    return (before + sums, *noise, draw(len(sums)))  # [root-noise]


def rooted_running_sums(steps: int, parts: tuple[Array, ...]) -> tuple[Array, int]:
    """Return the noisy running sums as multiples of 1 / unit, and the unit."""
    sums, *noise = parts
    weights = root_coefficients(steps)
    unit = weights[0] ** 2
    return unit * sums + sum(map(operator.mul, weights, reversed(noise))), unit  # [root-sum]


# end-proof-region: continual_root


# proof-region: continual_moves
def changed_node_sums(steps: int, most: int, each: int) -> ChangedScores:
    """Return the changes of the node sums of ``steps`` steps, if ``most`` counts change by at most ``each``."""
    levels = steps.bit_length()  # [levels]
    squares = sum((most >> i << 2 * i) + (most & (1 << i) - 1) ** 2 for i in range(levels))  # [squares]
    return ChangedScores(
        min(most, 1 << levels - 1) * each, levels * most * each, squares * each * each, None
    )  # [moved]


@functools.lru_cache(maxsize=64)  # a search for a scale asks for the same changes at every scale
def changed_root_sums(steps: int, most: int, each: int) -> ChangedScores:
    """Return the changes of the sums with noise of the square root, in units of 4^(1 - steps)."""
    ends = (0, *accumulate(root_coefficients(steps)))
    most_in_row = min(most, steps)

    def squares_of_run(length: int) -> int:
        return sum((ends[t] - ends[max(t - length, 0)]) ** 2 for t in range(1, steps + 1))  # [run]

    largest = max(Fraction(squares_of_run(length), length) for length in range(1, most_in_row + 1))  # [best-run]
    return ChangedScores(
        each * ends[most_in_row], most * each * ends[steps], math.ceil(most * each * each * largest), None
    )  # [root-moved]


# end-proof-region: continual_moves


# proof-region: continual_accuracy
def running_sum_variance(step: int) -> Fraction:
    """Return the variance of the running sum after this step, in units of that of a node."""
    ones = (1 << i for i in range(step.bit_length()) if step >> i & 1)
    return sum((Fraction(one, 2 * one - 1) for one in ones), Fraction(0))  # [variance]


def largest_variance(steps: int) -> Fraction:
    """Return the largest variance of a running sum after any of ``steps`` steps, in units of that of a node."""
    return max(
        map(running_sum_variance, (steps, *((steps >> i << i) - 1 for i in range(steps.bit_length()))))
    )  # [widest]


def rooted_variance(steps: int) -> Fraction:
    """Return the largest variance of a running sum with the square root, in units of that of a step."""
    weights = root_coefficients(steps)
    return Fraction(sum(one * one for one in weights), weights[0] ** 2)  # [root-variance]


def noise_error_bound(scale: Fraction, variance: Fraction, alpha: Fraction, *, gaussian: bool) -> float:
    """Return twice a bound that the absolute noise of a sum exceeds with probability at most ``alpha``."""
    if scale == 0:
        return 0.0
    if gaussian:
        return math.nextafter(math.sqrt(scaled_log_up(8 * variance * scale * scale, 2 / alpha)), math.inf)  # [gaussian]
    found = math.inf
    for rate in _RATES:
        unit = 2 * scale / rate
        terms = scaled_log_up(unit, 2 / alpha), scaled_log_up(unit * variance, 1 / (1 - rate * rate))  # [laplace]
        if math.isfinite(sum(terms)):
            found = min(found, round_up(sum(map(to_fraction, terms), Fraction(0))))  # [least]
    return found


# end-proof-region: continual_accuracy


then_continual_top_k = partial_constructor(make_continual_top_k)
TRIED = {"steps": (2,), "at_once": (True,)}
