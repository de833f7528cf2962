"""Queryables: releases that answer one query at a time, in one process and one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..errors import NotDeclaredError, QueryError
from .home import process_identity
from .measurement import Measurement

# Proof: proofs/combinators/queryable.tex

T = TypeVar("T")


# proof-region: queryable
class _QueryTurn:
    """The period in which the queryables that one answer made stay open."""

    def __init__(self, within: _QueryTurn | None) -> None:
        self._within = within
        self._ended = False

    def end_turn(self) -> None:
        self._ended = True

    @property
    def is_over(self) -> bool:
        return self._ended or (self._within is not None and self._within.is_over)  # [nested-turns]

    def run_step(self, step: Callable[[], T]) -> T:
        token = _now.set(self)
        try:
            return step()
        finally:
            _now.reset(token)


_now: ContextVar[_QueryTurn | None] = ContextVar("turn", default=None)


def call_sealed(function: Callable[[Any], T], value: Any) -> T:
    """Return ``function(value)``, and close every queryable that was made in the call."""
    turn = _QueryTurn(_now.get())
    try:
        return turn.run_step(lambda: function(value))
    finally:
        turn.end_turn()  # [seal]


def freeze_if_array(value: Any) -> Any:
    """Return a read-only copy of ``value`` if it is an array, so that it cannot change between two queries."""
    if isinstance(value, np.ndarray):
        value = value.copy()  # [copy]
        value.flags.writeable = False
    return value


class Queryable:
    """A release that answers queries: ``queryable(measurement)`` returns a release of that measurement.

    Interactive measurements, such as those of ``make_adaptive_composition``, release queryables. For
    ``make_above_threshold``, a query is the index of a score. A query that is refused changes nothing. A query that is
    answered closes every queryable from an earlier answer, so only the newest branch of a conversation continues. A
    query whose function raises an error counts as answered.

    A queryable can be used only by the thread and the process that made it. It cannot be copied or pickled, because a
    copy would spend the same budget twice. It keeps a copy of an array, but not of a table: do not change the table
    while the queryable is in use.
    """

    def __init__(
        self,
        admit: Callable[[Any], Callable[[], Any]],
        privacy_loss: Callable[[Any, Measurement | None], Any] | None = None,
    ) -> None:
        self._admit = admit
        self._privacy_loss = privacy_loss
        self._born = _now.get()  # [born]
        self._turn: _QueryTurn | None = None
        self._busy = False
        self._home = process_identity(), threading.current_thread()

    def __call__(self, query: Any) -> Any:
        """Return a release of the measurement ``query``, or the answer for the score with the index ``query``.

        Raises:
            BudgetError: The query does not fit the budget; nothing was drawn and nothing was spent.
            QueryError: The queryable is closed, busy with another query, or belongs to another thread or process.
            SpaceError: The query has another input space or another measure.
            ParameterTypeError: ``query`` is not a measurement, or not an index if the queries are indices.
        """
        self._require_home()
        if self._born is not None and self._born.is_over:  # [check-open]
            raise QueryError(
                "this queryable is closed: the queryable that released it has answered another query, or it "
                "was released by a composition that is not adaptive (use make_adaptive_composition)"
            )
        if self._busy:  # [one-at-a-time]
            raise QueryError("this queryable is already answering a query: wait for the answer")
        self._busy = True
        try:
            answer = self._admit(query)  # [admit]
            if self._turn is not None:
                self._turn.end_turn()  # [close-children]
            self._turn = _QueryTurn(self._born)
            return self._turn.run_step(answer)  # [answer]
        finally:
            self._busy = False

    def privacy_loss(self, d_in: Any, query: Measurement | None = None) -> Any:
        """Return the loss so far for inputs at distance ``d_in``, in the measure's own distance, rounded up.

        If ``query`` is given, return what the loss would be after that measurement was answered as well.

        Raises:
            NotDeclaredError: This queryable does not track its loss; that of make_fully_adaptive_composition does.
            QueryError: The queryable belongs to another thread or process.
            ParameterError: ``d_in`` is not a distance of the input metric.
        """
        self._require_home()
        if self._privacy_loss is None:
            raise NotDeclaredError(
                "this queryable does not account for its queries: the map of its measurement returns the loss in "
                "advance"
            )
        return self._privacy_loss(d_in, query)

    def _require_home(self) -> None:
        if self._home != (process_identity(), threading.current_thread()):  # [check-home]
            raise QueryError("a queryable may be used only by the thread and the process that created it")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise QueryError("a queryable cannot be copied or pickled: a copy would spend the same budget twice")  # [one]


# end-proof-region: queryable


# Measurements rebuilt by their constructor with another noise scale.


def rescale_measurement(measurement: Measurement, scale: float) -> Measurement | None:
    """Return the measurement with another ``scale``, also within a chain; None if no constructor has a single scale."""
    recipe = measurement._own_claim().recipe
    if recipe is None:
        return None
    if "scale" in recipe.options:
        return _as_measurement(recipe.constructor(*recipe.arguments, **{**recipe.options, "scale": scale}))
    places = [place for place, one in enumerate(recipe.arguments) if isinstance(one, Measurement)]
    inner = rescale_measurement(recipe.arguments[places[0]], scale) if len(places) == 1 else None
    if inner is None:
        return None
    arguments = [inner if place == places[0] else one for place, one in enumerate(recipe.arguments)]
    return _as_measurement(recipe.constructor(*arguments, **recipe.options))


def _as_measurement(made: Any) -> Measurement | None:
    return made if isinstance(made, Measurement) else None
