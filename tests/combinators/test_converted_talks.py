"""Conversations under another measure: they stay conversations, and the claim covers analysts who toss coins."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import opendp_topk as tk

from ..concepts.sentinels import raises_exactly
from .talks import MAX, RANGE, SPACE, ZCDP, Tape, bit_loss, lower_loss, noisy_bit, number, transcripts

ETA = Fraction(1, 20)
UP, DOWN = (2 * ETA, ETA), (ETA, 2 * ETA)
MIDS = [bit_loss(RANGE, UP)] * 2
Law = dict[Any, Fraction]


def talk() -> tk.Measurement:
    return tk.make_adaptive_composition(*SPACE, RANGE, d_in=1, d_mids=MIDS)


def filtered() -> tk.Measurement:
    return tk.make_privacy_filter(tk.make_fully_adaptive_composition(*SPACE, RANGE), d_in=1, d_out=talk().map(1))


def analyst(queryable: Any, tape: Tape) -> tuple[Any, ...]:
    """Tosses a coin, by which it chooses where the losses of both queries point."""
    coin = tape.draw(Fraction(1, 2))
    first, other = (UP, DOWN) if coin else (DOWN, UP)
    answer = queryable(noisy_bit(RANGE, tape, first))
    return coin, answer, queryable(noisy_bit(RANGE, tape, first if answer else other))


def views(interactive: tk.Measurement) -> list[Law]:
    return [transcripts(interactive, analyst, x) for x in (0, 1)]


def delta_at(epsilon: float, law: Law, other: Law) -> Any:
    with mpmath.workdps(40):
        e = mpmath.exp(epsilon)
        return max(
            mpmath.fsum(max(mpmath.mpf(0), number(p[y]) - e * number(q[y])) for y in p)
            for p, q in ((law, other), (other, law))
        )


@pytest.mark.further
@pytest.mark.parametrize("make", [talk, filtered])
def test_a_converted_conversation_keeps_its_claim_for_analysts_with_coins(make: Callable[[], tk.Measurement]) -> None:
    laws = views(make())
    pure, zcdp = tk.make_range_to_pureDP(make()), tk.make_range_to_zCDP(make())
    curve = tk.make_range_to_approxDP(make()).map(1)
    assert views(pure) == views(zcdp) == laws
    assert lower_loss(RANGE, *laws) > make().map(1), "no range bounds the view of an analyst with coins"
    assert 0.5 * pure.map(1) < lower_loss(MAX, *laws) <= pure.map(1) == make().map(1)
    assert 0.1 * zcdp.map(1) < lower_loss(ZCDP, *laws) <= zcdp.map(1)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5):
        assert delta_at(epsilon, *laws) <= curve.delta(epsilon)


CONVERSIONS = [
    tk.make_range_to_pureDP,
    tk.make_range_to_zCDP,
    tk.make_range_to_approxDP,
    tk.make_approximate,
    lambda one: tk.make_pureDP_to_range(tk.make_range_to_pureDP(one)),
    lambda one: tk.make_pureDP_to_zCDP(tk.make_range_to_pureDP(one)),
    lambda one: tk.make_zCDP_to_approxDP(tk.make_range_to_zCDP(one)),
    lambda one: tk.make_fix_delta(tk.make_range_to_approxDP(one), delta=1e-6),
]


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("make", [talk, filtered])
def test_it_stays_interactive_and_speaks_of_ranges_inside(
    make: Callable[[], tk.Measurement], convert: Callable[[tk.Measurement], tk.Measurement]
) -> None:
    converted = convert(make())
    assert converted.interactive
    pairs = (tk.Approximate, tk.PrivacyProfile)
    assert not converted.check(2, (1e9, 0.5) if isinstance(converted.output_measure, pairs) else 1e9), "beyond d_in"
    queryable = converted([1])
    assert queryable(noisy_bit(RANGE, Tape((1,)), UP)) == 1
    raises_exactly(tk.SpaceError, lambda: queryable(noisy_bit(MAX, Tape(), UP)), "query")


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_only_what_has_no_range_left_can_be_post_processed(convert: Callable[[tk.Measurement], tk.Measurement]) -> None:
    converted = convert(talk())
    if converted.output_measure in (RANGE, tk.Approximate(RANGE)):
        raises_exactly(tk.SpaceError, lambda: converted >> str, "cannot be post-processed")
    else:
        assert (converted >> type)([1]) is tk.Queryable


def test_a_converted_conversation_is_a_query_of_another() -> None:
    """The inner one asks ranges; the outer one adds epsilons."""
    inner = tk.make_range_to_pureDP(talk())
    outer = tk.make_adaptive_composition(*SPACE, MAX, d_in=1, d_mids=[inner.map(1), 1.0])

    def view(queryable: Any, tape: Tape) -> tuple[Any, ...]:
        seen = analyst(queryable(inner), tape)
        return *seen, queryable(noisy_bit(MAX, tape, (Fraction(1, 3), Fraction(1, 2))))

    laws = [transcripts(outer, view, x) for x in (0, 1)]
    assert lower_loss(MAX, *laws) <= outer.map(1)
    assert outer.map(1) == math.nextafter(Fraction(inner.map(1)) + 1, math.inf) or outer.map(1) == inner.map(1) + 1
