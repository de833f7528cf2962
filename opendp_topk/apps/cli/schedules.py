"""Files of plans of several releases: reading one, and paying for all of its releases."""

from __future__ import annotations

import json
import shlex

from ...errors import BudgetError, ParameterError, SpaceError, TableError
from ...errors.files import quote_path
from ..ledger import Ledger
from ..planning.options import given_options, option_words
from ..planning.several import ReleaseSchedule, format_stated_number
from .options import read_mapping


def read_schedule(path: str) -> ReleaseSchedule:
    """Read a plan of several releases from a file.

    Raises:
        TableError: The file cannot be read, or is not JSON.
        ParameterError: The JSON is not a plan.
    """
    found = read_mapping(path, "--plan", json.loads)
    if found is None:
        raise TableError(f"the plan {quote_path(path)} cannot be read: it is not JSON")
    return ReleaseSchedule.from_dict(found)


def reserve_schedule(ledger: str, path: str, label: str, labels: str | None) -> tuple[int, int]:
    """Pay from a ledger for all releases of a plan file. Return the number of the entry and the number of releases.

    ``labels`` are those of the releases, with commas between them; None for the plan's own.
    """
    schedule = read_schedule(path)
    names = schedule.release_labels if labels is None else labels.split(",")
    if len(names) != schedule.releases:
        raise ParameterError(f"--labels must be one for each of the {schedule.releases} releases of the plan")
    with Ledger(ledger) as account:
        own = {} if account.user is None else {"user": account.user}
        one = schedule.with_options(own).single_release_plan()
        unit, budget = one.query.unit, one.query.budget
        try:
            pairs = [(one.measurement, name) for name in names]
            made = account.reserve_all(pairs, d_in=unit.d_in, delta=budget.delta, label=label)
            return made.number, schedule.releases
        except (SpaceError, BudgetError) as error:
            refused = error
        if isinstance(refused, BudgetError) and account.limit[1] >= float(budget.delta or 0):
            raise refused
        epsilon, delta = map(format_stated_number, schedule.question.task_budget.d_out)
        words = ["--dataset", "NAME", "--epsilon", epsilon, "--delta", delta, "--own-delta", delta]
        words += option_words({**given_options(schedule.question), **own}, {"user", "users", "neighbors"})
        create = shlex.join(["opendp-topk", "ledger", "create", "NEW.ledger", *words])
        raise type(refused)(f"{refused}. This plan needs a ledger made with: {create}")
