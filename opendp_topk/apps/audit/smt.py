"""Statements about real numbers, decided by an SMT solver (extra ``audit``: z3), and the terms in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...errors.extras import load

Terms = Sequence[Any]


@dataclass(frozen=True)
class Lemma:
    """A statement about numbers: wherever ``hypotheses`` hold, |``quantity``| <= ``bound``."""

    name: str
    hypotheses: tuple[Any, ...]
    quantity: Any
    bound: Any

    @property
    def claim(self) -> Any:
        """|quantity| <= bound."""
        return between(self.quantity, self.bound)


@dataclass(frozen=True)
class Verdict:
    """``status`` is "proved", "refuted" (by ``counterexample``, exact numbers by name) or "unknown" (out of time)."""

    lemma: str
    status: str
    counterexample: Mapping[str, Fraction] | None = None


def solver() -> Any:
    """The module z3.

    Raises:
        MissingExtraError: It is not installed.
    """
    return load("z3", "the lemmas need an SMT solver", "opendp_topk[audit]")


def decide(lemma: Lemma, seconds: float = 20.0) -> Verdict:
    """Whether the lemma holds for all real numbers.

    Args:
        lemma: What to decide.
        seconds: The time that the solver may take, > 0.
    """
    z3 = solver()
    search = z3.Solver()
    search.set("timeout", round(1000 * seconds))
    search.add(*lemma.hypotheses, z3.Not(lemma.claim))
    answer = search.check()
    if answer == z3.unsat:
        return Verdict(lemma.name, "proved")
    if answer == z3.unknown:
        return Verdict(lemma.name, "unknown")
    found = search.model()
    return Verdict(lemma.name, "refuted", {str(v): _rational(found[v]) for v in found.decls()})


def _rational(value: Any) -> Fraction:
    return Fraction(value.as_fraction() if hasattr(value, "as_fraction") else value.as_long())


def between(value: Any, bound: Any) -> Any:
    """|value| <= bound."""
    return solver().And(-bound <= value, value <= bound)


def number(value: Fraction) -> Any:
    """A rational number as a term."""
    return solver().Q(value.numerator, value.denominator)


def larger(a: Any, b: Any) -> Any:
    """The larger of two terms."""
    return solver().If(a >= b, a, b)


def largest(terms: Terms) -> Any:
    """The largest of the terms."""
    found = terms[0]
    for term in terms[1:]:
        found = larger(found, term)
    return found


def least(terms: Terms) -> Any:
    """The least of the terms."""
    return -largest([-term for term in terms])


def descending(terms: Terms) -> list[Any]:
    """The order statistics, by exchanges of neighbours."""
    ordered = list(terms)
    for last in range(len(ordered) - 1, 0, -1):
        for i in range(last):
            a, b = ordered[i], ordered[i + 1]
            ordered[i], ordered[i + 1] = larger(a, b), least([a, b])
    return ordered
