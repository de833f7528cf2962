"""The measurement of a release, built again from what its record says of it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from ...combinators.followed_by import make_followed_by
from ...core.measurement import Measurement
from ...errors import ParameterError, SpaceError, TopKError
from ...sampling.noises.standard import STANDARD
from ...spaces.measures import Approximate, MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from .above_threshold import AboveThreshold
from .by_gap import SetByGap
from .catalogue import able
from .columns import Columns, exactly
from .groups import InGroups
from .keys import Keys
from .plan import Plan, Query, promises_of
from .promises import Promise
from .quantile import Numbers, Quantile
from .release_record import Claim, ReleaseRecord, canonical, named, parameters_of, plain, proof_of, quantiles_of
from .top_k import Counts, TopK
from .units import Budget, Users
from .unknown_domain import TopKUnknownDomain

_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
_MEASURES = {named(one): one for one in (*_SCALARS, *map(Approximate, _SCALARS), PrivacyProfile())}
_MOST = 2**32  # candidates and users: more than there are, so that no forged number keeps a computer busy
_NAMES = {"loss": "utility"}  # of a parameter, as it was called in the first records of this kind


@dataclass(frozen=True)
class Rebuilt:
    """The plan of a release, whose measurement has all that was released, and what theorems promise of it."""

    plan: Plan[Any, Users]
    promises: dict[str, Promise]

    @functools.cached_property
    def claim(self) -> Claim:
        """What it costs."""
        return Claim.of(self.plan)

    @functools.cached_property
    def proof(self) -> dict[str, Any]:
        """What a record would say of its proof."""
        return proof_of(self.plan.measurement)


def rebuilt(record: ReleaseRecord) -> Rebuilt | None:
    """The measurement with exactly the parameters of the record, and its theorems; None where this library has none."""
    try:
        if max(record.mechanism["candidates"] or 0, record.claim.d_in) > _MOST or _short(record):
            return None
        wanted = canonical({_NAMES.get(name, name): value for name, value in record.mechanism.items()})
        for plan in _plans(record):
            whole = _followed(plan, record.mechanism.get("then"))
            known = {name: plain(value) for name, value in parameters_of(whole).items() if name != "scale"}
            if canonical(known) == wanted:
                return Rebuilt(replace(plan, measurement=whole), promises_of(plan))
    except (TopKError, KeyError, TypeError, ValueError, ArithmeticError):
        pass
    return None


def _short(record: ReleaseRecord) -> bool:
    """Whether another number of items was released than was asked for, of a list, or of one for each group."""
    lists = 1 if record.partition is None else record.partition["groups"]
    return record.listed and not record.may_stop and len(record.released.items) != (record.k or 0) * lists


def _plans(record: ReleaseRecord) -> Iterator[Plan[Any, Users]]:
    """What could have been planned, each with its measurement of the items."""
    claim, known = record.claim, record.mechanism
    unit = Users(claim.neighbors, claim.d_in, _columns(known))
    budget, alpha = Budget(_MEASURES[claim.measure], _stated(claim)), exactly(record.promises["accuracy"].alpha)
    if record.partition is not None and record.listed and not record.may_stop:
        for task in _listed(record):
            grouped = Query(_grouped(task, record.partition), unit, budget, alpha=alpha)
            with suppress(ParameterError, SpaceError):
                yield Plan(grouped, grouped.task.built(grouped, float(record.scale or 0)))
        return
    if record.listed and not record.may_stop:
        numbers = unit.columns if isinstance(unit.columns, Numbers) else None
        for task in _listed(record) if numbers is None else [replace(Quantile.of(numbers), release=record.release)]:
            query = Query(task, unit, budget, alpha=alpha)
            with suppress(ParameterError, SpaceError):
                yield Plan(
                    query, task.built(unit.nameless(task.n_candidates), budget.measure, float(record.scale or 0))
                )
        return
    if known["mechanism"].endswith("partition_selection"):
        keys = Keys(known.get("rounds"))
        wanted = Query(keys, unit, budget, alpha=alpha)
        yield Plan(wanted, keys.built(wanted, known.get("epsilon", record.scale), known["delta"]))
        return
    if record.by_gap and record.release == SetByGap.release:
        noise = {one.name: one for one in STANDARD}[known["noise"]]
        apart = SetByGap(record.k or 0, known["candidates"], noise, known["test_scale"])
        stated = Query(apart, unit, budget, alpha=alpha)
        yield Plan(stated, apart.built(stated, float(record.scale or 0), known["threshold"]))
        return
    above, drawn = record.k is None, known.get("gaussian") is True
    top = TopKUnknownDomain(int(record.k or 0), known["limit"], known["candidates"]) if not above else None
    unlisted = AboveThreshold(drawn) if top is None else top
    asked = Query(unlisted, unit, budget, alpha=alpha)
    if isinstance(unlisted, AboveThreshold) and "epsilon" in known:
        yield Plan(asked, unlisted.within(asked, exactly(known["epsilon"]), exactly(known["delta"])))
        return
    yield Plan(asked, unlisted.built(asked, float(record.scale or 0), known["threshold"]))


def _listed(record: ReleaseRecord) -> Iterator[TopK]:
    k, candidates, counted = record.k or 0, record.mechanism["candidates"], record.released.counts is not None
    few = record.mechanism.get("max_items") is not None
    for row in able(k, candidates, record.release, counted, few):
        yield (Counts if counted else TopK)(k, candidates, record.release, row)


def _grouped(task: TopK, partition: Mapping[str, Any]) -> InGroups:
    return InGroups(task, range(partition["groups"]), partition.get("max_groups", 1), partition.get("by"))


def _columns(known: Mapping[str, Any]) -> Columns:
    """The columns that counted."""
    if "quantile" in known or "quantiles" in known:
        return _numbers(known)
    columns = Columns(known["user"], known["item"], known.get("value"), max_items=known.get("max_items"))
    columns = replace(columns, keep=known.get("by", "order"), minimum_users=known.get("minimum_users"))
    if "partition" in known:
        columns = replace(columns, group=known["partition"]["group"])
    if columns.value is None:
        return columns
    return replace(columns, **_grid(known))


def _numbers(known: Mapping[str, Any]) -> Numbers:
    grid, asked = _grid(known), {"quantiles": quantiles_of(known), "max_rows": known["max_rows"]}
    spread = {"places": known["places"]} if "places" in known else {}
    return Numbers(known["user"], value=known["value"], **grid, **asked, **spread)


def _grid(known: Mapping[str, Any]) -> dict[str, Any]:
    lower, upper, step = (exactly(known[name]) for name in ("lower", "upper", "granularity"))
    return {"bounds": (lower, upper), "step": step}


def _stated(claim: Claim) -> Any:
    """The budget at which a curve was read: its epsilon as the decimal that it is written as."""
    if not isinstance(claim.d_out, tuple):
        return claim.d_out
    return exactly(claim.d_out[0]), claim.d_out[1]


def _followed(plan: Plan[Any, Users], loss: Any) -> Measurement:
    """The measurement with the count of all others after it, where that was released."""
    if loss is None:
        return plan.measurement
    d_out = tuple(loss) if isinstance(loss, list) else loss
    return make_followed_by(plan.measurement, follow=_nothing, d_in=plan.query.unit.d_in, d_out=d_out)


def _nothing(released: Any) -> NoReturn:
    raise ParameterError("a measurement that was rebuilt for its map releases nothing")
