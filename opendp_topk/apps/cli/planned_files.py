"""Plans of several releases that are kept in files: paying for them, and the query of one of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import ParameterError, TableError
from ...errors.files import quoted, read_ordinary
from ..ledger import Ledger
from ..planning.plan import Plan
from ..planning.quantile import Numbers
from ..planning.units import Users
from .asking import Options

if TYPE_CHECKING:
    from ..planning.several import Scheduled

_MOST = 2**20  # bytes: a plan has some hundred


def read_plan(path: str) -> Scheduled:
    """The plan in a file.

    Raises:
        TableError: It cannot be read.
        ParameterError: It is none.
    """
    from ..planning.several import Scheduled

    content = read_ordinary(path, "the file of --plan", TableError, at_most=_MOST)
    try:
        found = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise TableError(f"the plan {quoted(path)} cannot be read: it is no JSON")
    return Scheduled.from_dict(found)


def reserved(ledger: str, path: str, label: str) -> tuple[int, int]:
    """Pay from a ledger for all releases of the plan in a file: the number of the entry, and how many they are."""
    kept = read_plan(path)
    with Ledger(ledger) as account:
        column = kept.unit.columns.user if account.user is None else account.user
        one = kept.plan(Users(kept.unit.neighbors, kept.unit.d_in, replace(kept.unit.columns, user=column)))
        made = account.reserve_all(
            [(one.measurement, name) for name in kept.labels], d_in=kept.unit.d_in, delta=kept.delta, label=label
        )
        return made.number, kept.releases


def one_of(path: str, n_candidates: int | None, options: Options) -> Plan[Any, Users]:
    """The plan of one of the releases of the plan in a file, by the columns of ``options``.

    Raises:
        ParameterError: The plan is for another list, or for none, or keeps other items of each user than are asked for.
    """
    kept = read_plan(path)
    if isinstance(kept.unit.columns, Numbers):
        if n_candidates is not None or options.item:
            raise ParameterError("the plan is for a quantile: leave --candidates and --item out")
        options.require_no_items()
        numbers = replace(kept.unit.columns, user=options.user)
        return kept.plan(Users(kept.unit.neighbors, kept.unit.d_in, numbers), options.failing)
    if n_candidates is None:
        raise ParameterError("the plan is for a list of candidates: give --candidates")
    if kept.task.n_candidates != n_candidates:
        raise ParameterError(f"the plan is for {kept.task.n_candidates} candidates: give the list that it was made for")
    own = kept.unit.columns
    other = options.max_items not in (None, own.max_items)
    if other or options.keep not in (None, None if own.max_items is None else own.keep):
        items = "all items" if own.max_items is None else f"at most {own.max_items} items ({own.keep})"
        raise ParameterError(f"the plan counts {items} of a user: leave --max-items and --keep out, or plan anew")
    given = options.columns
    found = replace(own, user=given.user, item=given.item, parts=given.parts)
    return kept.plan(Users(kept.unit.neighbors, kept.unit.d_in, found), options.failing)
