"""A release from Python with the record that the command writes, whose digest its ledger keeps."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from ...combinators.partition_by import ByGroup
from ...core.candidates import BestCounts, IndexCandidates
from ...core.measurement import Measurement
from ...core.version import version
from ...errors import ParameterError, checks
from ...spaces.metrics import UserDistance
from ...transformations.quantile_scores import multiples
from ..ledger import Ledger
from ..ledger.journal import now
from ..ledger.reservation import require_presented
from .columns import Columns, numeral
from .promises import Promise
from .quantile import Numbers
from .rebuilding import Rebuilt, rebuilt
from .release_record import (
    Claim,
    Read,
    Released,
    ReleaseRecord,
    list_digest,
    named,
    parameters_of,
    plain,
    proof_of,
    quantiles_of,
    salted,
)
from .verification import lines


def release_with_record(
    ledger: Ledger,
    measurement: Measurement,
    data: Any,
    *,
    alpha: float = 0.05,
    d_in: Any = None,
    **words: Any,
) -> tuple[Any, dict[str, Any]]:
    """One release that ``ledger`` pays for, and its record, which ``opendp-topk verify`` and ``show`` read as JSON.

    Args:
        ledger: Who pays. Its entry keeps the digest of the record.
        measurement: From a table to items, under epsilon or rho or one of them with a delta, as ``opendp-topk release``
            makes it: counts or sums by item, a selection, and with listed candidates ``index_candidates()`` at its end;
            or noise on all counts, and ``largest_counts`` with the candidates. Or ``make_partition_by`` of one such
            measurement for all groups, after ``make_keep_groups`` or without.
        data: A member of its input domain.
        alpha: With which probability the accuracy theorems in the record may fail.
        d_in: As for :meth:`Ledger.release`, a whole number of users.
        words: ``label``, ``period``, ``purpose``, ``at_most`` and ``shared``, as for :meth:`Ledger.release`.

    Returns:
        What was released, and the record: a dictionary for ``json.dump``.

    Raises:
        ParameterError: The measurement is none of those; ``ledger.release`` releases it without a record.
        BudgetError, SpaceError, LedgerError, DataError: As :meth:`Ledger.release`.

    Example:
        >>> import tempfile, pathlib, polars as pl, opendp_topk as tk
        >>> folder, pure = tempfile.TemporaryDirectory(), tk.MaxDivergence()
        >>> pages, space = ["/", "/docs", "/blog"], (tk.FrameDomain("visitor", "page"), tk.UserDistance())
        >>> top = space >> tk.then_count_by_item(candidates=pages) >> tk.then_report_noisy_top_k(pure, k=2, scale=4.0)
        >>> given = {"dataset": "visits", "metric": space[1], "user": "visitor"}
        >>> ledger = tk.Ledger.create(pathlib.Path(folder.name, "budget"), budget=1, measure=pure, **given)
        >>> visits = pl.DataFrame({"visitor": [1, 2, 2], "page": ["/", "/", "/docs"]})
        >>> named = top >> tk.index_candidates(pages)
        >>> items, record = tk.release_with_record(ledger, named, visits, label="week 1")
        >>> record["items"] == items, record["d_out"], ledger.history()[0].record is None
        (True, 0.5, False)
        >>> ledger.close(), folder.cleanup()
        (None, None)
    """
    checks.instance("ledger", ledger, Ledger, "a ledger")
    checks.instance("measurement", measurement, Measurement, "a measurement")
    distance = ledger.d_in if d_in is None else d_in
    times = words.get("at_most")
    if d_in is None and times is not None:
        distance *= checks.count("at_most", times) * (2 if words.get("shared") else 1)
    groups = _groups(measurement)
    draft = _draft(measurement, distance, alpha, data)
    found = rebuilt(draft)
    if found is None or lines(repr(found.plan.measurement)) != lines(repr(measurement)):
        raise ParameterError(
            "measurement must be one that `opendp-topk release` makes, from a table to items, for a record: release it "
            "by ledger.release, without one"
        )
    require_presented(measurement, data)
    reserved, made = ledger.reserve(measurement, d_in=distance, **words), []

    def digest(released: Any) -> str:
        written = _written(released, found.plan.query.unit.columns)
        listed = Released.of(written) if groups is None else Released.of_groups(groups, written)
        made.append(_finished(draft, found, listed, salted(reserved.paid), reserved.told))
        return made[0].digest

    return reserved.release(data, recorded=digest), made[0].as_dict()


def _parted(measurement: Measurement) -> ByGroup | None:
    """What releases one list for each of several groups, alone or after what chooses the groups of a user."""
    last = getattr(measurement.function, "then", None)
    found = getattr(last if isinstance(last, Measurement) else measurement, "function", None)
    return found if isinstance(found, ByGroup) else None


def _groups(measurement: Measurement) -> tuple[Any, ...] | None:
    parted = _parted(measurement)
    return None if parted is None else parted.groups


def _member(measurement: Measurement) -> Measurement:
    """The measurement of each group; of one list, itself."""
    parted = _parted(measurement)
    return measurement if parted is None else parted.plan.members[0]


def _draft(measurement: Measurement, d_in: Any, alpha: float, data: Any) -> ReleaseRecord:
    """The record before there is a release, with as many items as there will be."""
    known, metric, measure = parameters_of(measurement), measurement.input_metric, measurement.output_measure
    groups = _groups(measurement)
    asked = quantiles_of(known)
    column = "value" if asked else "item"
    if not isinstance(metric, UserDistance) or not {"user", column, "candidates"} <= known.keys():
        raise ParameterError("measurement must start from a table of users and items, or numbers, for a record")
    last = getattr(_member(measurement).function, "then", None)
    items = last.items if isinstance(last, IndexCandidates | BestCounts) else None
    if known["candidates"] is not None and "minimum_users" in known:
        raise ParameterError(
            "measurement must not have minimum_users beside listed candidates for a record, since it does not tell the "
            "list: `opendp-topk release --candidates FILE --minimum-users M` makes one, and ledger.release releases it "
            "without"
        )
    if (known["candidates"] is None) != (items is None):
        raise ParameterError("measurement must end in index_candidates where its candidates are listed, for a record")
    if asked:
        items = None  # they follow from the bounds
    k, counted = len(asked) or known.get("k"), "count_scale" in known
    if isinstance(last, BestCounts):
        k, counted = last.k, True
    kind, length = type(data).__module__.partition(".")[0], (k or 0) * len(groups or [None])
    loss = measurement.map(d_in)
    claim = Claim(named(measure), measure.symbol, metric.neighbors, int(d_in), loss)
    return ReleaseRecord(
        time="",
        released=Released([""] * length, counts=[0] * length if counted else None),
        k=k,
        release="set"
        if known["mechanism"].endswith(("partition_selection", "quantiles", "by_gap"))
        else known.get("release", "ranking"),
        claim=claim,
        mechanism={name: plain(value) for name, value in known.items() if name != "scale"},
        scale=plain(known.get("scale")),
        promises={"accuracy": Promise("", None, float(checks.probability(alpha, "alpha")))},
        ledger=None,
        proof=proof_of(measurement),
        read=Read(
            {"name": kind, "version": str(getattr(sys.modules.get(kind), "__version__", ""))},
            candidates=None if items is None else list_digest(items),
            groups=None if groups is None else list_digest(groups),
        ),
        library={"name": "opendp_topk", "version": version()},
    )


def _written(released: Any, columns: Columns) -> Any:
    """What was released as a record writes it: a number of a grid as the very same, and not as the nearest float."""
    if not isinstance(columns, Numbers):
        return released
    places = multiples(columns.bounds, columns.step)
    return [numeral((columns.least + places.index(one)) * columns.step) for one in released]


def _finished(
    draft: ReleaseRecord, found: Rebuilt, released: Released, paid: dict[str, Any], stated: dict[str, Any]
) -> ReleaseRecord:
    return replace(draft, time=now(), released=released, promises=found.promises, ledger=paid, stated=stated)
