"""Releases that are fixed in advance, and paid for together: one debit, from which each is drawn once.

Proof: proofs/ledger/filters.tex
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NoReturn

from ...core.measurement import Measurement
from ...errors import ParameterError, PickleError, QueryError
from ...numerics.arithmetic import exact
from ...spaces.curves.composed import Composed, compose
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.stated import from_json, to_json, written
from .amounts import Amount, fits, from_texts, on_grid, stated, to_texts, total
from .charges import Charge, charge_in, label_key, text_of
from .filters import charged, mixed_curve
from .following import Following
from .journal import Journal
from .records import Record
from .reservation import Reservation, require_presented

PLANNED = "planned releases"


# proof-region: planned_releases
def charge_all(journal: Journal, pairs: list[tuple[Measurement, str]], d_in: Any, delta: Any, label: Any) -> Charge:
    """What releases, each with its label, cost together, and what the entry that pays for them tells."""
    account, distance = journal.account, _finite(journal.unit.distance(d_in), "d_in must be finite")
    places: list[dict[str, Any]] = []
    costs: list[Amount] = []
    curves: list[PrivacyCurve] = []
    for measurement, name in pairs:
        one = charge_in(journal, measurement, distance, None, name)
        place = {"label": one.said["label"], "measurement": one.said["measurement"]}
        if account.mixes:
            curves.append(_curve(measurement, distance))
            costs.append(charged(curves[-1], Fraction(0), account.step, account.order)[: len(account.limit)])
            places.append({**place, "curve": to_json(curves[-1])})  # [place]
        else:
            costs.append(_finite(one.cost, "a planned release must have a finite loss"))
            places.append({**place, "cost": to_texts(costs[-1])})
    cost = account.nothing
    for each in costs:
        cost = total(cost, each)  # [sums]
    if account.mixes:
        cost = _composed(journal, cost, curves, delta)
    elif delta is not None:
        raise ParameterError("delta is for a ledger with a budget under PrivacyProfile() only")
    told = {"label": text_of(label), "measurement": PLANNED, "proof": "", "claim": "", "d_in": str(exact(distance))}
    return Charge(cost, journal.shown(cost), {**told, "places": places})


def _composed(journal: Journal, cost: Amount, curves: list[PrivacyCurve], delta: Any) -> Amount:
    """The sums, or with a delta the epsilon of all together in the place of the sum of epsilons."""
    if len(cost) == 2:
        return cost  # [rho-alone]
    own, spent = journal.account.limit[1], journal.spent()[1]
    at = max(own - spent, Fraction(0)) if delta is None else stated(delta, "delta")
    epsilon = compose(curves, adaptive=True, ordered=False).epsilon(at) if at > 0 else float("inf")  # [together]
    return cost if epsilon >= cost[2] else (cost[0], on_grid(at), exact(epsilon), *cost[3:])  # [with-delta]


def _curve(measurement: Measurement, distance: Any) -> PrivacyCurve:
    """All that the library's bounds say of a release, as an entry keeps it."""
    whole = mixed_curve(measurement.output_measure, measurement.exact_map(distance))
    found = None if whole is None else written(whole)
    if found is None:
        raise ParameterError("a planned release must have a curve of the library's own bounds")
    return found


class PlannedReleases(Following):
    """Releases that were fixed in advance and paid for together by :meth:`Ledger.reserve_all`.

    Each is drawn once, in any order and from any process: :meth:`Ledger.planned` finds them again by ``number``, that
    of the entry that has paid for them. Every draw is an entry, on the disk before the release. What is not drawn stays
    spent. ``labels`` are those of all places, in the order given.
    """

    def __init__(self, journal: Journal, begun: Record, planned: Sequence[Measurement] = ()) -> None:
        self.labels: tuple[str, ...] = ()
        self._places: list[dict[str, Any]] = []
        self._drawn: set[int] = set()
        self._d_in: Fraction | int = 1
        super().__init__(journal, begun)
        self._measurements = dict(enumerate(planned))

    def reserve(self, label: str | None = None, measurement: Measurement | None = None) -> Reservation:
        """Draw the place of this label, for a release to come.

        Args:
            label: One of ``labels``; if None, the first place that is free and that ``measurement`` fits.
            measurement: What is released; in the process that has paid, the one that was planned if not given. It must
                lose no more than what was planned.

        Raises:
            ParameterError: There is no such place, or the measurement loses more or is under another measure.
            QueryError: The place was drawn before, here or elsewhere, or no place is free.
        """
        self._learn()  # what is old is read before others have to wait
        places = self._named(label)
        chosen = self._measurements.get(places[0]) if measurement is None else measurement
        if chosen is None:
            raise ParameterError("measurement must be given in another process than the one that has planned it")
        if measurement is None:
            places = [place for place in places if self._measurements[place] is chosen]
        said = charge_in(self._journal, chosen, self._d_in, None, "")
        obeys = functools.cache(lambda listed: self._obeys(json.loads(listed), chosen, said))
        fitting = [place for place in places if obeys(json.dumps(self._places[place]))]  # [obeys]
        if not fitting:
            raise ParameterError(f"measurement may lose more than what was planned as {self.labels[places[0]]!r}")

        def step() -> dict[str, Any]:
            self._learn()  # [all-draws]
            place = next((one for one in fitting if one not in self._drawn), None)
            if self._closed or place is None:  # [once]
                raise QueryError("this planned release was drawn already, or its plan was closed")
            return {"within": self.number, "place": place, "label": self.labels[place]}  # [drawn]

        nothing = self._journal.account.nothing
        made = self._journal.debit(nothing, self._journal.shown(nothing), said.said, step)  # [draw-first]
        return Reservation(self._journal, made, chosen)

    def release(self, label: str | None, data: Any, measurement: Measurement | None = None) -> Any:
        """One of the planned releases, on ``data``; otherwise as :meth:`reserve`."""
        planned = self._measurements.get(self._named(label)[0])
        require_presented(planned if measurement is None else measurement, data)  # [presented]
        return self.reserve(label, measurement).release(data)

    def _named(self, label: str | None) -> list[int]:
        """The place of a label; without one, all that are free, or else all."""
        places = range(len(self.labels))
        if label is None:
            return [place for place in places if place not in self._drawn] or list(places)
        key = label_key(text_of(label))
        found = [place for place in places if label_key(self.labels[place]) == key]
        if not found:
            raise ParameterError("label must be that of a planned release")
        return found[:1]

    def _obeys(self, listed: dict[str, Any], measurement: Measurement, charge: Charge) -> bool:
        """Whether a measurement with this charge loses no more than what was planned, as the place lists it."""
        if "curve" not in listed:
            return charge.cost is not None and fits(charge.cost, from_texts(listed["cost"]))  # [cost-obeys]
        curve, planned = _curve(measurement, self._d_in), from_json(listed["curve"])
        return Composed(((curve, 1),)).implies(Composed(((planned, 1),)))  # [curve-obeys]

    def _take(self, fields: dict[str, Any]) -> None:
        if fields["kind"] == "debit" and fields["entries"] == self.number:
            self._places = list(fields["places"])
            self.labels = tuple(one["label"] for one in self._places)
            distance = Fraction(fields["d_in"])
            self._d_in = distance if distance.denominator > 1 else int(distance)
        if fields["kind"] == "debit" and fields.get("within") == self.number:
            self._drawn.add(fields["place"])  # [those-drawn]

    # end-proof-region: planned_releases

    def left(self) -> tuple[str, ...]:
        """The labels of what was not drawn yet."""
        self._learn()
        return () if self._closed else tuple(one for n, one in enumerate(self.labels) if n not in self._drawn)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PickleError("planned releases cannot be copied or pickled: find them again with Ledger.planned(number)")


def pairs_of(planned: Any) -> list[tuple[Measurement, str]]:
    """Pairs of a measurement and a label, no label twice."""
    listed = list(planned) if isinstance(planned, Iterable) else []
    if not listed or not all(isinstance(one, tuple) and len(one) == 2 for one in listed):
        raise ParameterError("planned must be a list of one or more pairs (measurement, label)")
    if len({label_key(text_of(label)) for _, label in listed}) < len(listed):
        raise ParameterError(
            "the labels of planned releases must differ, and not by case, blanks or Unicode's forms alone"
        )
    return listed


def _finite(value: Any, message: str) -> Any:
    if value is None or value == float("inf"):
        raise ParameterError(message)
    return value
