"""Queryables: one branch of a conversation at a time, in one thread of one process, and never twice."""

import copy
import gc
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opendp_topk as tk
from opendp_topk.errors import NotDeclaredError, ParameterTypeError, QueryError, SpaceError

from ..concepts.examples import COUNTS, geometric_choice
from ..concepts.sentinels import raises_exactly

MAX = tk.MaxDivergence()
CHOICE = geometric_choice(privacy_map=lambda d_in: 1.0)


def talk(*mids: float) -> tk.Measurement:
    return COUNTS >> tk.then_adaptive_composition(MAX, d_in=1, d_mids=mids)


def odometer() -> tk.Odometer:
    return COUNTS >> tk.then_fully_adaptive_composition(MAX)


def budgeted(budget: float) -> tk.Measurement:
    return tk.make_privacy_filter(odometer(), d_in=1, d_out=budget)


PARENTS: list[Callable[[], Any]] = [lambda: talk(2.0, 2.0, 2.0), odometer, lambda: budgeted(6.0)]
IDS = ["adaptive", "odometer", "filter"]


def asking(function: Callable[[Any], Any], loss: float = 1.0) -> tk.Measurement:
    return tk.make_user_measurement(*COUNTS, MAX, function=function, privacy_map=lambda d_in: loss)


@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_the_next_answer_closes_what_came_before(make: Callable[[], Any]) -> None:
    parent = make()([1, 2])
    child = parent(talk(1.0, 1.0))
    assert child(CHOICE) == 1
    other = parent(budgeted(2.0))
    raises_exactly(QueryError, lambda: child(CHOICE), "closed", "answered another query")
    assert other(CHOICE) == 1
    assert parent(CHOICE) == 1
    raises_exactly(QueryError, lambda: other(CHOICE), "closed")


@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_a_refused_query_closes_nothing(make: Callable[[], Any]) -> None:
    parent = make()([1, 2])
    child = parent(talk(1.0, 1.0))
    floats = geometric_choice((tk.VectorDomain(tk.AtomDomain(float)), COUNTS[1]))
    error = raises_exactly(SpaceError, lambda: parent(floats), "query has input_domain", repr(COUNTS[0]))
    assert "AtomDomain(float)" in str(error)
    for bad in (None, len, 3, tk.then_permute_and_flip(MAX, scale=1.0)):
        raises_exactly(ParameterTypeError, lambda bad=bad: parent(bad), "query must be a measurement")
    assert child(CHOICE) == 1


def test_closing_reaches_grandchildren() -> None:
    parent = talk(3.0, 1.0)([1, 2])
    child = parent(talk(2.0, 1.0))
    grandchild = child(budgeted(2.0))
    assert grandchild(CHOICE) == 1
    assert parent(CHOICE) == 1
    for closed in (child, grandchild):
        raises_exactly(QueryError, lambda closed=closed: closed(CHOICE), "closed")


def test_a_child_hidden_in_a_post_processed_release_is_closed_too() -> None:
    parent = talk(2.0, 1.0)([1, 2])
    (child,) = parent(talk(1.0, 1.0) >> (lambda queryable: [queryable]))
    assert child(CHOICE) == 1
    parent(CHOICE)
    raises_exactly(QueryError, lambda: child(CHOICE), "closed")


def test_conversations_about_the_same_data_are_apart() -> None:
    first, second = talk(1.0)([1, 2]), talk(1.0)([1, 2])
    assert first(CHOICE) == second(CHOICE) == 1


def test_an_analyst_may_run_inside_a_query() -> None:
    def analyst(queryable: Any) -> tuple[int, int]:
        return queryable(CHOICE), queryable(CHOICE)

    parent = talk(2.0)([1, 2])
    assert parent(talk(1.0, 1.0) >> analyst) == (1, 1)


@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_a_query_cannot_ask_the_queryable_that_answers_it(make: Callable[[], Any]) -> None:
    parent = make()([1, 2])
    nosy = asking(lambda scores: parent(CHOICE))
    raises_exactly(QueryError, lambda: parent(nosy), "already answering a query")
    assert parent(CHOICE) == 1


@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_an_error_of_a_query_is_an_answer(make: Callable[[], Any]) -> None:
    parent = make()([1, 2])
    child = parent(talk(1.0, 1.0))

    def fail(scores: Any) -> None:
        raise ZeroDivisionError

    raises_exactly(ZeroDivisionError, lambda: parent(asking(fail)))
    raises_exactly(QueryError, lambda: child(CHOICE), "closed")
    assert parent(CHOICE) == 1
    outside = talk(1.0)([1, 2])
    assert outside(CHOICE) == 1, "after an error nothing is born inside the failed query any more"


@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_a_second_thread_is_refused(make: Callable[[], Any]) -> None:
    parent = make()([1, 2])
    errors: list[BaseException] = []

    def use() -> None:
        for step in (lambda: parent(CHOICE), lambda: parent.privacy_loss(1)):
            try:
                step()
            except QueryError as error:
                errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(errors) == 2
    assert all("thread and the process" in str(error) for error in errors)
    assert parent(CHOICE) == 1


@pytest.mark.slow
def test_a_thread_that_ended_leaves_no_heir() -> None:
    """Numbers of threads are used again; the queryable of a thread that ended is not."""
    made: list[Any] = []
    refused: list[bool] = []

    def use() -> None:
        try:
            made[0](CHOICE)
        except QueryError:
            refused.append(True)

    for step in (lambda: made.append(talk(1.0)([1, 2])), use):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
        del thread
        gc.collect()
    assert refused == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_second_process_is_refused() -> None:
    queryable = talk(1.0)([1, 2])
    child = os.fork()
    if child == 0:
        try:
            queryable(CHOICE)
        except QueryError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert queryable(CHOICE) == 1


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda copier: copier.__name__)
@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_there_is_one_of_each(make: Callable[[], Any], copier: Callable[[Any], Any]) -> None:
    parent = make()([1, 2])
    raises_exactly(QueryError, lambda: copier(parent), "cannot be copied")


@pytest.mark.parametrize("make", PARENTS, ids=IDS)
def test_data_that_change_later_are_not_seen(make: Callable[[], Any]) -> None:
    scores = np.array([1, 2])
    parent = make()(scores)
    scores[0] = 9
    assert parent(CHOICE) == 1
    raises_exactly(ValueError, lambda: parent(asking(lambda held: held.__setitem__(0, 9))), "read-only")
    assert parent(CHOICE) == 1
    assert scores.flags.writeable


def test_selection_runs_on_the_data_that_are_held() -> None:
    odd = (COUNTS >> tk.then_fully_adaptive_composition(MAX))([1, 2**70, 3])
    assert odd(COUNTS >> tk.then_permute_and_flip(MAX, scale=1.0)) == 1
    plain = odometer()([5000, 1, 9000])
    assert plain(COUNTS >> tk.then_report_noisy_top_k(MAX, k=2, scale=1.0)).tolist() == [2, 0]


def test_only_odometers_and_filters_keep_an_account() -> None:
    raises_exactly(NotDeclaredError, lambda: talk(1.0)([1, 2]).privacy_loss(1), "does not account for its queries")


def test_the_repr_holds_no_data() -> None:
    assert "918273645" not in repr(talk(1.0)([918273645, 2]))
