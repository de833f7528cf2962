"""Faults of what happens once in a process, of forks, and of what is refused before it is paid."""

from __future__ import annotations

from tests.mutation.fault import Fault

FAULTS = (
    Fault(
        "presented-after-the-debit",
        "a release pays before it asks whether the data are a table at all",
        "apps/ledger/ledger.py",
        "        require_readable_data(measurement, data)  # [presented]\n",
        "",
    ),
    Fault(
        "reserved-presented-late",
        "a reservation is used up by what is no table",
        "apps/ledger/planned.py",
        "        require_readable_data(self._measurement, data)  # [still-open]\n",
        "",
    ),
    Fault(
        "lists-after-the-debit",
        "a release pays before it asks whether the candidates are of the kind of their column",
        "apps/ledger/planned.py",
        "require_readable(measurement.input_domain, data, public_lists(measurement))",
        "require_readable(measurement.input_domain, data, {})",
    ),
    Fault(
        "threads-after-a-fork",
        "a process that was forked after polars had started its threads counts tables",
        "errors/extras.py",
        '            _LOST.add("polars")\n',
        "            pass\n",
    ),
    Fault(
        "partial-shows-tables",
        "an error shows the rows of a table that was given in the place of a parameter",
        "core/partials.py",
        '        given += [f"{name}={argument_repr(value)}" for',
        '        given += [f"{name}={value!r}" for',
    ),
)
