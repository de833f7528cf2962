"""Inequalities of the proofs, decided for all real scores by an SMT solver (z3)."""

import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

# Statements about real numbers, and the terms in them.

Terms = Sequence[Any]


@dataclass(frozen=True)
class Lemma:
    """A statement about numbers: if all ``hypotheses`` are true, |``quantity``| <= ``bound``."""

    name: str
    hypotheses: tuple[Any, ...]
    quantity: Any
    bound: Any

    @property
    def claimed_inequality(self) -> Any:
        """Return |quantity| <= bound."""
        return absolute_value_at_most(self.quantity, self.bound)


@dataclass(frozen=True)
class Verdict:
    """``status``: "proved", "refuted" (by ``counterexample``, exact numbers by name) or "unknown" (out of time)."""

    lemma: str
    status: str
    counterexample: Mapping[str, Fraction] | None = None


def load_solver() -> Any:
    """Return the module z3, which the whole suite does not require."""
    return importlib.import_module("z3")


def decide_lemma(lemma: Lemma, seconds: float = 20.0) -> Verdict:
    """Decide whether the lemma is true for all real numbers.

    Args:
        lemma: The lemma to decide.
        seconds: The time limit of the solver, > 0. Default: 20.
    """
    z3 = load_solver()
    search = z3.Solver()
    search.set("timeout", round(1000 * seconds))
    search.add(*lemma.hypotheses, z3.Not(lemma.claimed_inequality))
    answer = search.check()
    if answer == z3.unsat:
        return Verdict(lemma.name, "proved")
    if answer == z3.unknown:
        return Verdict(lemma.name, "unknown")
    found = search.model()
    return Verdict(lemma.name, "refuted", {str(v): _to_fraction(found[v]) for v in found.decls()})


def _to_fraction(value: Any) -> Fraction:
    return Fraction(value.as_fraction() if hasattr(value, "as_fraction") else value.as_long())


def absolute_value_at_most(value: Any, bound: Any) -> Any:
    """Return |value| <= bound."""
    return load_solver().And(-bound <= value, value <= bound)


def rational_term(value: Fraction) -> Any:
    """Return a rational number as a term."""
    return load_solver().Q(value.numerator, value.denominator)


def larger_term(a: Any, b: Any) -> Any:
    """Return the larger of two terms."""
    return load_solver().If(a >= b, a, b)


def largest_term(terms: Terms) -> Any:
    """Return the largest of the terms."""
    found = terms[0]
    for term in terms[1:]:
        found = larger_term(found, term)
    return found


def smallest_term(terms: Terms) -> Any:
    """Return the smallest of the terms."""
    return -largest_term([-term for term in terms])


def sort_descending(terms: Terms) -> list[Any]:
    """Return the order statistics, by exchanges of neighbours."""
    ordered = list(terms)
    for last in range(len(ordered) - 1, 0, -1):
        for i in range(last):
            a, b = ordered[i], ordered[i + 1]
            ordered[i], ordered[i + 1] = larger_term(a, b), smallest_term([a, b])
    return ordered


# The sensitivity lemmas behind the privacy maps, decided for all real scores.
#
# Each lemma is checked for every size d <= 4 and every k <= 3. A lemma is proved if the solver finds that its negation
# has no solution in the reals, and refuted by a counterexample.

# The number of cases for the solver grows like d!; for more scores the proof documents give the argument.
_MOST_SCORES, _MOST_WINNERS = 4, 3


def all_lemmas() -> Iterator[Lemma]:
    """Yield all lemmas, each for every size."""
    yield convexity_lemma()
    for d in range(1, _MOST_SCORES + 1):
        yield from metric_lemmas(d)
        yield from counting_lemmas(d)
        for k in range(1, min(_MOST_WINNERS, d) + 1):
            yield from joint_lemmas(d, k)
            for capped in (False, True):
                yield from canonical_lemmas(d, k, capped)


def verify_lemmas(seconds: float = 20.0) -> list[Verdict]:
    """Return the verdict on every lemma that the maps of the selections depend on.

    The lemmas are about the canonical utilities at gamma = 0 and 1, and from there for all gamma in between; the gaps
    of the joint utility; the effect of counting; the bound that each metric implies on the range distance.

    Args:
        seconds: The time limit of the solver for one lemma, > 0. Default: 20.
    """
    return [decide_lemma(lemma, seconds) for lemma in all_lemmas()]


def metric_lemmas(d: int) -> Iterator[Lemma]:
    """Yield the lemmas d_R <= 2 d for LInfDistance(), and d_R <= d for its monotonic form."""
    z3 = load_solver()
    r, moves = z3.Real("r"), z3.Reals(" ".join(f"m{i}" for i in range(d)))
    spread = largest_term(moves) - smallest_term(moves)
    yield Lemma(f"metric, l-inf, d={d}", tuple(z3.And(-r <= m, m <= r) for m in moves), spread, 2 * r)
    directed = largest_term([*moves, 0]) + largest_term([*(-m for m in moves), 0])
    yield Lemma(f"metric, monotonic, d={d}", (directed <= r,), spread, r)


def counting_lemmas(d: int) -> Iterator[Lemma]:
    """Yield lemmas for ``added`` and ``removed`` users; each moves every count by 0 or 1 in one direction."""
    z3 = load_solver()
    added, removed = z3.Ints("added removed")
    up, down = (z3.Ints(" ".join(f"{name}{i}" for i in range(d))) for name in ("up", "down"))
    users = tuple(z3.And(part >= 0, part <= most) for parts, most in ((up, added), (down, removed)) for part in parts)
    moves = [a - b for a, b in zip(up, down, strict=True)]
    directed = largest_term([*moves, 0]) + largest_term([*(-m for m in moves), 0])
    size = largest_term([*moves, *(-m for m in moves)])
    yield Lemma(f"counting, add_remove, monotonic, d={d}", users, directed, added + removed)
    yield Lemma(f"counting, add_remove, d={d}", users, size, added + removed)
    replaced = (*users, added == removed)
    yield Lemma(f"counting, replace, monotonic, d={d}", replaced, directed, 2 * added)
    yield Lemma(f"counting, replace, d={d}", replaced, size, added)


def canonical_lemmas(d: int, k: int, capped: bool, factor: Fraction = Fraction(1)) -> Iterator[Lemma]:
    """Yield lemmas: utilities gamma m - (1 - gamma) M of two sets move apart by at most ``factor`` range distances.

    They are for gamma = 0 and gamma = 1; :func:`convexity_lemma` extends both to every gamma in between.
    """
    x, moved, close = _neighbouring_scores(d)

    def canonical_utility(scores: Terms, chosen: Sequence[int], gamma: int) -> Any:
        inside = smallest_term([scores[i] for i in chosen])
        outside = [scores[i] for i in range(d) if i not in chosen] + [inside] * capped
        return inside if gamma else -largest_term(outside)

    kind = "distance" if capped else "margin"
    for gamma, (s, t) in itertools.product((0, 1), itertools.combinations(itertools.combinations(range(d), k), 2)):
        apart = [canonical_utility(y, s, gamma) - canonical_utility(y, t, gamma) for y in (x, moved)]
        bound = rational_term(factor) * load_solver().Real("r")
        name = f"canonical, {kind}, d={d}, k={k}, gamma={gamma}, {s} and {t}"
        yield Lemma(name, close, apart[1] - apart[0], bound)


def convexity_lemma() -> Lemma:
    """Return the lemma: a move by at most r at gamma = 0 and gamma = 1 is one by at most r for every gamma between."""
    z3 = load_solver()
    inside, outside, gamma, r = z3.Reals("inside outside gamma r")
    ends = (absolute_value_at_most(inside, r), absolute_value_at_most(outside, r), gamma >= 0, gamma <= 1)
    return Lemma("canonical, every gamma in [0, 1]", ends, gamma * inside + (1 - gamma) * outside, r)


def joint_lemmas(d: int, k: int, factor: int | None = None) -> Iterator[Lemma]:
    """Yield lemmas: utilities -max_t (x_[t] - x_{s_t}) of two rankings (or sets) move apart by at most ``factor`` r.

    ``factor`` is 1 for one winner and 2 for more. Scores are numbered by rank on the first input, without loss of
    generality.
    """
    x, moved, close = _neighbouring_scores(d)
    hypotheses = (*close, *(a >= b for a, b in itertools.pairwise(x)))
    bound = (min(k, 2) if factor is None else factor) * load_solver().Real("r")

    def utility_change(chosen: Sequence[int], as_set: bool) -> Any:
        utilities = []
        for scores in (x, moved):
            winners, best = [scores[i] for i in chosen], sort_descending(scores)
            winners = sort_descending(winners) if as_set else winners
            utilities.append(-largest_term([best[t] - winners[t] for t in range(k)]))
        return utilities[1] - utilities[0]

    for kind, outcomes in (("ranking", itertools.permutations), ("set", itertools.combinations)):
        moves = {s: utility_change(s, kind == "set") for s in outcomes(range(d), k)}
        for s, t in itertools.combinations(moves, 2):
            yield Lemma(f"joint, {kind}, d={d}, k={k}, {s} and {t}", hypotheses, moves[s] - moves[t], bound)


def _neighbouring_scores(d: int) -> tuple[Terms, Terms, tuple[Any, ...]]:
    """Return scores, the scores of a neighbour, and the condition that their range distance is at most r."""
    z3 = load_solver()
    x, moved = (z3.Reals(" ".join(f"{name}{i}" for i in range(d))) for name in ("x", "y"))
    moves, r = [b - a for a, b in zip(x, moved, strict=True)], z3.Real("r")
    return x, moved, (r >= 0, *(absolute_value_at_most(a - b, r) for a, b in itertools.combinations(moves, 2)))
