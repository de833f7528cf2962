"""Files of plans of several releases: reading one, and paying for all of its releases."""

from __future__ import annotations

import json

from ...errors import ParameterError, TableError
from ...errors.files import quote_path
from ..ledger import Ledger
from ..planning.several import ReleaseSchedule
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
        made = account.reserve_all(
            [(one.measurement, name) for name in names],
            d_in=one.query.unit.d_in,
            delta=one.query.budget.delta,
            label=label,
        )
        return made.number, schedule.releases
