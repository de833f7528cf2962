"""Who a person is: a release by another column than the ledger's is refused, or charged by a bound that is stated.

The distances are counted here, over all small tables, from the definition of neighbours.
"""

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import opendp_topk as tk
from opendp_topk.apps.cli.ledger_page import render_ledger_page
from opendp_topk.apps.ledger import report
from opendp_topk.apps.ledger.journal import Entry
from opendp_topk.apps.ledger.stated import LINES, OWN, LedgerPrivacyUnit
from opendp_topk.errors import ParameterError, ParameterTypeError, SpaceError
from tests.concepts.sentinels import raises_exactly

from .workers import PURE, SPACE

ITEMS = ("a", "b", "c")
ROWS = pl.DataFrame({"visitor": [1, 2, 3], "session": [10, 20, 30], "page": ["a", "a", "b"]})
KINDS = "add_remove", "replace"
Table = frozenset[tuple[int, int]]  # a person and a value of the other column in each row


def counted(column: str, neighbors: str = "add_remove") -> tk.Measurement:
    """One of three pages at epsilon 1/4 for one value of ``column``, or 1/2 where one is exchanged."""
    space = tk.FrameDomain(column, "page"), tk.UserDistance(neighbors)
    count = tk.then_count_by_item(candidates=ITEMS, monotonic=neighbors == "add_remove")
    made: tk.Measurement = space >> count >> tk.then_report_noisy_top_k(PURE, k=1, scale=4.0)
    return made


def visits(path: Path, neighbors: str = "add_remove", **more: object) -> tk.ledger.Ledger:
    """A ledger for visitors."""
    given = {"dataset": "visits", "metric": tk.UserDistance(neighbors), "user": "visitor", **more}
    return tk.ledger.Ledger.create(path, budget=100, measure=PURE, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("neighbors", KINDS)
def test_another_column_is_refused_or_charged_by_its_bound(path: Path, neighbors: str) -> None:
    with visits(path, neighbors) as ledger:
        one = counted("visitor", neighbors).map(1)
        ledger.release(counted("visitor", neighbors), ROWS)
        session = counted("session", neighbors)
        said = "a person is a visitor: the column visitor", "identifies users by session", "state at_most"
        raises_exactly(SpaceError, lambda: ledger.release(session, ROWS), *said)
        raises_exactly(SpaceError, lambda: ledger.fits(session), *said)
        raises_exactly(SpaceError, lambda: ledger.conversation(ROWS)(session), *said)
        assert ledger.count() == 2
        ledger.release(session, ROWS, at_most=5)
        ledger.release(session, ROWS, at_most=5, shared=True)
        ledger.release(session, ROWS, at_most=5, d_in=7)
        raises_exactly(ParameterError, lambda: ledger.release(session, ROWS, at_most=5, d_in=4), "at least 5")
        told = [(entry.cost, entry.d_in, entry.at_most, entry.shared) for entry in ledger.history() if entry.cost]
        expected = [("1", None, None), ("5", 5, False), ("10", 5, True), ("7", 5, False)]
        assert told == [(one * int(d_in), d_in, *bound) for d_in, *bound in expected]
        assert ledger.verify() == []


def test_a_bound_is_for_another_column_alone_and_is_a_whole_number(path: Path) -> None:
    with visits(path) as ledger:
        own, session = counted("visitor"), counted("session")
        raises_exactly(ParameterError, lambda: ledger.reserve(own, at_most=1), "omit them")
        raises_exactly(ParameterError, lambda: ledger.reserve(own, shared=True), "omit them")
        raises_exactly(ParameterError, lambda: ledger.reserve(session, at_most=0), "at_most must be an integer")
        raises_exactly(ParameterTypeError, lambda: ledger.reserve(session, at_most=1.5), "at_most")  # type: ignore[arg-type]
        raises_exactly(ParameterTypeError, lambda: ledger.reserve(session, at_most=1, shared=1), "shared")  # type: ignore[arg-type]
        assert ledger.count() == 0


def test_what_was_stated_is_kept_and_told(path: Path) -> None:
    words = {"publisher": "the city", "period": "2026", "purpose": "a plan of buses"}
    visits(path, person="guest", **words).close()
    with tk.ledger.Ledger(path) as ledger:
        assert (ledger.user, ledger.person, ledger.stated) == ("visitor", "guest", words)
        ledger.release(counted("visitor"), ROWS, period="week 1")
        first = ledger.reserve(counted("session"), at_most=5, purpose="sessions", label="twice")
        assert (ledger.history()[0].period, ledger.history()[0].purpose) == ("week 1", None)
        whom = {"person": "guest", "column": "visitor"}
        assert first.metadata_fields == {**words, **whom, "purpose": "sessions", "label": "twice", "at_most": 5}
        raises_exactly(ParameterError, lambda: ledger.reserve(counted("visitor"), purpose="a\nb"), "purpose")
        for name in ("publisher", "reason"):  # the first is said of a ledger alone
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
                ledger.release(counted("visitor"), ROWS, **{name: "x"})  # type: ignore[arg-type]
        assert ledger.count() == 2


def test_every_line_goes_through_ledger_entry_and_pages(path: Path) -> None:
    lines = {name: f"said of the {name}" for name in LINES}
    own = {name: f"of this {name}" for name in OWN}
    assert set(OWN) < set(LINES)
    with visits(path, **lines) as ledger:
        assert ledger.stated == lines
        made = ledger.reserve(counted("visitor"), **own)  # type: ignore[arg-type]
        assert made.metadata_fields == {**lines, **own, "person": "visitor", "column": "visitor"}
        assert {name: getattr(ledger.history()[0], name) for name in OWN} == own
        told = render_ledger_page(ledger), report.csv_table(ledger), report.json_lines(ledger)
        missing = [(word, at) for word in own.values() for at, text in enumerate(told) if word not in text]
        missing += [(word, at) for word in lines.values() for at in (0, 2) if word not in told[at]]
        assert missing == []


def test_the_fields_of_entries_and_of_records_have_the_lines() -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs" / "release.schema.json").read_text(encoding="utf-8"))
    told = schema["$defs"]["StatedFields"]["properties"].keys()
    assert told == {"label", *LINES, "person", "column", "at_most", "shared"}
    assert set(OWN) == set(LINES) & set(Entry.__dataclass_fields__)


def test_a_ledger_that_names_nobody_looks_at_no_column(path: Path) -> None:
    with visits(path, user=None) as ledger:
        assert (ledger.user, ledger.person, ledger.stated) == (None, None, {})
        ledger.release(counted("session"), ROWS)
    scores = {"dataset": "votes", "metric": SPACE[1], "budget": 1, "measure": PURE}
    other = path.with_name("other.ledger")
    raises_exactly(
        ParameterError, lambda: tk.ledger.Ledger.create(other, user="visitor", **scores), "are only for tables"
    )
    raises_exactly(ParameterError, lambda: visits(other, user=None, person="guest"), "give user")
    assert not other.exists()


# The theorem, against a count.


def tables(people: int, values: int, most: int, *, shared: bool) -> list[Table]:
    """All tables of so many people who each have rows with at most so many of the values."""
    own = [set(some) for size in range(most + 1) for some in itertools.combinations(range(values), size)]
    found = []
    for chosen in itertools.product(own, repeat=people):
        rows = frozenset((person, value) for person, some in enumerate(chosen) for value in some)
        if shared or len({value for _, value in rows}) == len(rows):
            found.append(rows)
    return found


def apart(one: Table, other: Table, column: int, neighbors: str) -> int:
    """How far two tables are apart, by the values of one of their columns as users."""
    changed = {row[column] for row in one ^ other}
    removed = sum(any(row[column] == user for row in one) for user in changed)
    added = sum(any(row[column] == user for row in other) for user in changed)
    return added + removed if neighbors == "add_remove" else max(added, removed)


def worst(all_of: list[Table], d_in: int, neighbors: str) -> Iterator[int]:
    for one, other in itertools.product(all_of, repeat=2):
        if apart(one, other, 0, neighbors) <= d_in:
            yield apart(one, other, 1, neighbors)


@pytest.mark.parametrize("neighbors", KINDS)
@pytest.mark.parametrize(
    ("people", "values", "most", "shared", "d_in"),
    [(2, 2, 1, False, 1), (2, 4, 2, False, 1), (2, 3, 1, False, 2), (4, 2, 1, True, 1), (3, 2, 2, True, 1)],
)
def test_the_distance_by_another_column_is_the_largest_that_there_is(
    people: int, values: int, most: int, shared: bool, d_in: int, neighbors: str
) -> None:
    unit = LedgerPrivacyUnit.for_new_ledger("visits", tk.UserDistance(neighbors), d_in, "visitor")
    bound = unit.for_user_column(tk.FrameDomain("session", "page"), most, shared).d_in
    found = max(worst(tables(people, values, most, shared=shared), d_in, neighbors))
    assert found <= bound
    small = shared and most * (2 if neighbors == "replace" else 1) > values  # too few values for the worst pair
    assert small or Fraction(found) == bound
