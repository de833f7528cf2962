"""Specimens of everything that is built from other links: combinators, conversions, transformations, a caller's own."""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from tests.combinators.talks import SPACE, Tape, noisy_bit, transcripts
from tests.oracles import floats

from .clocks import unwaited
from .examples import geometric_choice, powers, times
from .links import as_outcome
from .specimens import Law, Specimen

MAX, RANGE, ZCDP = tk.MaxDivergence(), tk.RangeDivergence(), tk.ZeroConcentratedDivergence()
COUNTS = tk.VectorDomain(tk.AtomDomain(int)), tk.LInfDistance(monotonic=True)
PAIR = (4, 2, 0), (4, 3, 1)
THIRD = Fraction(1, 3)


def _choice(measure: tk.Measure, space: Any = COUNTS) -> tk.Measurement:
    return space >> tk.then_exponential_mechanism(measure, scale=1)  # type: ignore[no-any-return]


def _softmax(x: Any) -> Law:
    return dict(enumerate(floats.softmax(np.array([x], dtype=float))[0].tolist()))


def _product(*laws: Law) -> Law:
    chosen = itertools.product(*(law.items() for law in laws))
    return {tuple(outcome for outcome, _ in one): float(np.prod([p for _, p in one])) for one in chosen}


def _converted(make: Callable[..., tk.Measurement], source: tk.Measure, share: float = 0.5) -> list[Specimen]:
    return [Specimen(make(_choice(source)), PAIR, _softmax, share)]


def _composition() -> list[Specimen]:
    both = tk.make_composition([_choice(RANGE), _choice(RANGE)])
    return [Specimen(both, PAIR, lambda x: _product(_softmax(x), _softmax(x)))]


def _repeat() -> list[Specimen]:
    return [Specimen(tk.make_repeat(_choice(RANGE), times=2), PAIR, lambda x: _product(_softmax(x), _softmax(x)))]


def _asked(queryable: Any, tape: Tape) -> tuple[int, int]:
    """A second question that depends on the first answer."""
    first = queryable(noisy_bit(MAX, tape, (THIRD, Fraction(1, 2))))
    chances = ((Fraction(1, 4), THIRD), (THIRD, Fraction(1, 2)))[first]
    return first, queryable(noisy_bit(MAX, tape, chances))


def _conversation(link: Any, claimed: Callable[[Any], Any] = lambda link: link.map(1)) -> list[Specimen]:
    """Both questions, about one bit; the law is that of the whole transcript."""
    return [
        Specimen(
            link,
            ((0,), (1,)),
            lambda x: transcripts(link, _asked, x[0]),
            cell=lambda built, x: _asked(built(list(x)), Tape()),
            claimed=claimed,
        )
    ]


def _account(odometer: Any) -> Any:
    """What the odometer says after the dearer of the second questions."""
    queryable = odometer([0])
    _asked(queryable, Tape((1,)))
    return queryable.privacy_loss(1)


def _odometer() -> tk.Odometer:
    return tk.make_fully_adaptive_composition(*SPACE, MAX)


def _adaptive() -> list[Specimen]:
    return _conversation(tk.make_adaptive_composition(*SPACE, MAX, d_in=1, d_mids=[0.41, 0.41]))


def _filter() -> list[Specimen]:
    return _conversation(tk.make_privacy_filter(_odometer(), d_in=1, d_out=0.82))


def _frame(rows: list[tuple[Any, ...]], *columns: str) -> Any:
    polars = pytest.importorskip("polars", reason="the tests of tables make them with polars")
    return polars.DataFrame(rows, schema=list(columns), orient="row")


LOANS = [(1, "a", 0), (2, "a", 0), (2, "b", 0), (3, "b", 1)]
FEWER = [row for row in LOANS if row[0] != 3]
BOOKS = ["a", "b"]


def _readers(rows: list[tuple[int, str, int]]) -> list[int]:
    return [len({reader for reader, item, _ in rows if item == book}) for book in BOOKS]


def _partition() -> list[Specimen]:
    """One choice for each of two towns, and one for each of three of which two count for a reader."""
    inner = (tk.FrameDomain("reader", "book"), tk.UserDistance()) >> tk.then_count_by_item(candidates=BOOKS)
    space = tk.FrameDomain("reader", "book", group="town"), tk.UserDistance()
    link = tk.make_partition_by(*space, MAX, measurements=dict.fromkeys([0, 1], inner >> _chooser(MAX)))

    def law(table: Any) -> Law:
        towns = [[row for row in table.rows() if row[2] == town] for town in (0, 1)]
        return _product(*(_softmax(_readers(rows)) for rows in towns))

    tables = _frame(LOANS, "reader", "book", "town"), _frame(FEWER, "reader", "book", "town")
    members = dict.fromkeys([0, 1, 2], inner >> _chooser(MAX))
    several = tk.make_partition_by(*space, MAX, measurements=members, max_groups=2)
    travelled = [(1, "a", 0), (2, "a", 0), (3, "b", 2), (3, "a", 2), (3, "b", 1), (3, "b", 0)]

    def third_dropped(table: Any) -> Law:
        kept = [row for row in table.rows() if row[2] < 2]
        return _product(*(_softmax(_readers([row for row in kept if row[2] == town])) for town in (0, 1, 2)))

    pair = _frame(travelled, "reader", "book", "town"), _frame(travelled[:2], "reader", "book", "town")
    return [Specimen(link, tables, law), Specimen(several, pair, third_dropped)]


def _chooser(measure: tk.Measure) -> tk.Partial:
    return tk.then_exponential_mechanism(measure, scale=1)


def _count() -> list[Specimen]:
    link = tk.make_count_by_item(tk.FrameDomain("reader", "book"), tk.UserDistance(), candidates=BOOKS)
    tables = _frame([row[:2] for row in LOANS], "reader", "book"), _frame([row[:2] for row in FEWER], "reader", "book")

    def law(table: Any) -> Law:
        return _softmax(_readers([(*row, 0) for row in table.rows()]))

    return [Specimen(link, tables, law, measurement=link >> _chooser(RANGE))]


def _own_transformation() -> list[Specimen]:
    link = times(2)
    return [Specimen(link, PAIR, lambda x: _softmax([2 * score for score in x]), measurement=link >> _choice(RANGE))]


def _unwaited(measurement: Any, value: Any) -> Any:
    with unwaited():
        return as_outcome(measurement(value))


COMBINATIONS: dict[str, Callable[[], list[Specimen]]] = {
    "make_adaptive_composition": _adaptive,
    "make_approximate": lambda: _converted(tk.make_approximate, MAX),
    "make_composition": _composition,
    "make_count_by_item": _count,
    "make_fix_delta": lambda: [
        Specimen(tk.make_fix_delta(tk.make_range_to_approxDP(_choice(RANGE)), delta=0.01), PAIR, _softmax)
    ],
    "make_fully_adaptive_composition": lambda: _conversation(_odometer(), _account),
    "make_partition_by": _partition,
    "make_privacy_filter": _filter,
    "make_pureDP_to_range": lambda: _converted(tk.make_pureDP_to_range, MAX, 0.4),
    "make_pureDP_to_zCDP": lambda: _converted(tk.make_pureDP_to_zCDP, MAX, 0.15),
    "make_padded": lambda: [Specimen(tk.make_padded(_choice(RANGE), seconds=5), PAIR, _softmax, cell=_unwaited)],
    "make_repeat": _repeat,
    "make_range_to_approxDP": lambda: _converted(tk.make_range_to_approxDP, RANGE),
    "make_range_to_pureDP": lambda: _converted(tk.make_range_to_pureDP, RANGE),
    "make_range_to_zCDP": lambda: _converted(tk.make_range_to_zCDP, RANGE),
    "make_user_measurement": lambda: [Specimen(geometric_choice(), PAIR, lambda x: powers(list(x)), share=0.3)],
    "make_user_transformation": _own_transformation,
    "make_zCDP_to_approxDP": lambda: _converted(tk.make_zCDP_to_approxDP, ZCDP, 0.05),
}
"""How everything that is no mechanism is tried."""
