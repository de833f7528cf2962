"""Neighbouring data sets for functions that read records or tables: what one person more, less or changed makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any

from ...errors import ParameterError, ParameterTypeError, checks
from ...errors.extras import load

_MOST = 64  # pairs: a search halves them with a few samples each


def record_pairs(
    records: Sequence[Any], *, neighbors: str = "add_remove", most: int = _MOST
) -> list[tuple[list[Any], list[Any]]]:
    """Pairs of lists of records that one person tells apart, each person having one record.

    Args:
        records: The records, at least one; two under ``"replace"``, which differ.
        neighbors: ``"add_remove"``: a record of ``records`` is absent from the second list, or there twice;
            ``"replace"``: in the second list it is another one of ``records``.
        most: How many pairs there are at most; the records that occur least often come first.

    Returns:
        The pairs, for ``pairs`` of :func:`search` and of :func:`audit_claim`.

    Raises:
        ParameterError: ``neighbors`` is another word, or there are no such pairs.

    Example:
        >>> import opendp_topk as tk
        >>> tk.audit.record_pairs(["a", "a", "b"], most=2)
        [(['a', 'a', 'b'], ['a', 'a']), (['a', 'a', 'b'], ['a', 'a', 'b', 'b'])]
    """
    checks.choice("neighbors", neighbors, ("add_remove", "replace"))
    is_list = isinstance(records, Iterable) and isinstance(records, Sized) and getattr(records, "ndim", 1) > 0
    if not is_list or isinstance(records, str | bytes):
        raise ParameterTypeError(f"records must be a list of records, not {type(records).__name__}")
    whole, kinds = list(records), list[tuple[int, Any]]()
    for place, record in enumerate(whole):
        if not any(record is other or _is_equal(record, other) for _, other in kinds):
            kinds.append((place, record))
    kinds.sort(key=lambda kind: sum(_is_equal(record, kind[1]) for record in whole))
    pairs = []
    for place, record in kinds:
        rest = [*whole[:place], *whole[place + 1 :]]
        if neighbors == "add_remove":
            pairs += [(whole, rest), (whole, [*whole, record])]
        else:
            pairs += [
                (whole, [*whole[:place], other, *whole[place + 1 :]]) for _, other in kinds if other is not record
            ]
    if not pairs:
        raise ParameterError('records must hold a record, and two that differ under neighbors="replace"')
    return pairs[: checks.count("most", most)]


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:
        kind = type(one).__name__
    raise ParameterTypeError(f"records must be values that == compares, and {kind} is none: give tuples")


def given_pairs(pairs: Any) -> Iterator[tuple[Any, Any]]:
    """The ``pairs`` of a caller, one by one.

    Raises:
        ParameterTypeError: They are no pairs.
    """
    if not isinstance(pairs, Iterable):
        raise ParameterTypeError(f"pairs must be a list of pairs of neighbours, not {type(pairs).__name__}")
    return map(_pair, pairs)


def _pair(pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ParameterTypeError("pairs must hold pairs (first, second) of neighbours")
    return pair[0], pair[1]


def table_pairs(table: Any, *, user: str | None = None, most: int = _MOST) -> list[tuple[Any, Any]]:
    """Pairs of tables of which the second lacks the rows of one person.

    Args:
        table: A data frame of polars, pandas or another library that narwhals reads.
        user: The column that tells the persons apart; by default each row is a person of its own.
        most: How many pairs there are at most; the persons with the most rows come first, then those with the least.

    Returns:
        The pairs, for ``pairs`` of :func:`search` and of :func:`audit_claim`.

    Raises:
        ParameterError: The table has no row or no such column.
        ParameterTypeError: ``table`` is no data frame.
        MissingExtraError: narwhals is not installed (extra ``tables``).
    """
    frame = _read(table)
    if frame is None:
        raise ParameterTypeError("table must be a data frame, of polars or pandas for instance")
    if user is not None and user not in frame.columns:
        raise ParameterError("user must be a column of table")
    persons = list(range(len(frame))) if user is None else frame[user].to_list()
    counts: dict[Any, int] = {}
    for person in persons:
        counts[person] = counts.get(person, 0) + 1
    if not counts:
        raise ParameterError("table must have a row")
    ranked = sorted(counts, key=lambda person: -counts[person])
    ends = [person for both in zip(ranked, reversed(ranked), strict=True) for person in both]
    chosen = list(dict.fromkeys(ends))[: checks.count("most", most)]
    return [(table, frame.filter([other != person for other in persons]).to_native()) for person in chosen]


def _read(table: Any) -> Any:
    nw = load("narwhals", "table_pairs needs narwhals", "opendp_topk[tables]")
    known = nw.dependencies.is_into_dataframe(table)
    return nw.from_native(table, eager_only=True, pass_through=True) if known else None
