"""Charges of releases in the units of a ledger, and the refusal of a second payment for a label."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ...core.claims import claims_digest
from ...core.measurement import Measurement
from ...errors import ParameterError, SpaceError, checks
from ...numerics.arithmetic import to_fraction
from ...spaces.curves.curve import PrivacyCurve
from ...spaces.measures import ZeroConcentratedDivergence
from ...spaces.stated import serializable_curve
from .amounts import Amount, BudgetAccount, curve_from_loss, loss_to_amount, parse_exact, round_up_to_distance
from .journal import FAILED, Journal
from .records import Record, damaged_log_error
from .stated import LedgerPrivacyUnit

# The entry of one release in the ledger, and its charge.
#
# Proof: proofs/ledger/ledger.tex

_LONGEST = 1000  # a label is one line for human readers, not a place for data


class Charge(NamedTuple):
    """Exact cost (None: no amount is enough), cost for display, and the fields of the entry."""

    cost: Amount | None
    shown: Any
    said: dict[str, Any]


# proof-region: charges
# Its answers are proved to be allowed between other releases, as adaptive steps whose losses add up.
_ANSWERED_LATER = "measurements/continual_top_k"


def measurement_step_curve(unit: LedgerPrivacyUnit, measurement: Any) -> PrivacyCurve:
    """Return the curve of ``measurement`` at the distance of the unit, for a ledger that counts equal releases."""
    checks.require_instance("step", measurement, Measurement, "a measurement")
    unit.require_metric(measurement.input_metric)
    unit.for_user_column(measurement.input_domain, None, False)
    whole = curve_from_loss(measurement.output_measure, measurement.exact_map(unit.charged_distance(None)))  # [step]
    found = None if whole is None else serializable_curve(whole)
    if found is None:
        raise ParameterError("step must have a measure without delta, or a curve of this library's bounds")
    return found


def measurement_charge(
    unit: LedgerPrivacyUnit,
    account: BudgetAccount,
    measurement: Any,
    d_in: Any,
    delta: Any,
    label: Any,
    at_most: Any = None,
    shared: Any = False,
    begins: bool = False,
) -> Charge:
    """Return the charge of ``measurement`` at ``d_in``, which must be at least the unit's distance for its user column.

    If ``begins`` is true, the measurement may be interactive and give its answers later; they are paid for now.
    """
    checks.require_instance("measurement", measurement, Measurement, "a measurement")
    said = validate_label(label)
    unit.require_metric(measurement.input_metric)  # [same-metric]
    if measurement.interactive and not (begins and measurement.proof.name == _ANSWERED_LATER):  # [no-queryable]
        raise ParameterError(
            "measurement must not be interactive, because its queries could come after later releases: use a "
            "conversation of the ledger instead (only make_continual_top_k may be released, by `release` or "
            "`reserve` of the ledger)"
        )
    counted = unit.for_user_column(measurement.input_domain, at_most, shared)  # [by-column]
    distance = counted.charged_distance(d_in)  # [distance]
    measure, loss = measurement.output_measure, measurement.exact_map(distance)  # [map]
    cost = account.charge_for_loss(measure, loss, delta)  # [charge]
    if measurement.interactive and account.has_mixed_measures:
        cost = _interactive_rho_charge(account, measure, loss)  # [answers]
    shown = measure.distance(loss, "loss") if cost is None else round_up_to_distance(account.counted_measure, cost[:2])
    bound = {} if counted is unit else {"at_most": int(at_most), "shared": shared}
    return Charge(
        cost, shown, {"label": said, **_measurement_fields(measurement), "d_in": _distance_text(distance), **bound}
    )


def _interactive_rho_charge(account: BudgetAccount, measure: Any, loss: Any) -> Amount | None:
    """Return the charge of later answers if the account keeps several sums: their rhos are known to add up."""
    if measure != ZeroConcentratedDivergence():
        raise SpaceError(
            f"measurement must have the measure ZeroConcentratedDivergence(), not {measure!r}, because "
            "answers of an interactive measurement are charged by their rho here"
        )
    found = loss_to_amount(measure, loss)
    return None if found is None else account.extend_to_filters((*found, found[0] * 0))


# end-proof-region: charges


def charge_for_journal(journal: Journal, *told: Any) -> Charge:
    """Return :func:`measurement_charge` in the unit and the account of ``journal``."""
    return measurement_charge(journal.unit, journal.account, *told)


def delta_of_most_releases(journal: Journal, measurement: Any, d_in: Any, delta: Any, *more: Any) -> Any:
    """Return ``delta``, or None if at least as many releases of ``measurement`` still fit without a delta."""
    limits: tuple[Any, ...] = journal.account.limit
    left = [limit - spent for limit, spent in zip(limits, journal.total_spent(), strict=True)]

    def count_fitting(at: Any) -> float:
        cost = charge_for_journal(journal, measurement, d_in, at, "", *more).cost
        if cost is None:
            return -1
        rho, own, *others = (
            math.inf if part == 0 else max(rest, Fraction(0)) // part for rest, part in zip(left, cost, strict=True)
        )
        return min(own, max(rho, *others))

    return delta if count_fitting(delta) > count_fitting(None) else None


def parse_user_amount(journal: Journal, value: Any, name: str) -> Amount:
    """Parse a value written by a user as an amount of the ledger: a number, or a pair if it counts deltas."""
    parts = value if isinstance(value, tuple | list) else (value,)
    pair = len(journal.account.limit) > 1
    if len(parts) != 1 + pair:
        raise ParameterError(f"{name} must be {'a pair' if pair else 'one number'} here")
    return journal.account.extend_to_filters(tuple(parse_exact(one, name) for one in parts))


def charge_for_amount(journal: Journal, cost: Amount, label: Any, what: str) -> Charge:
    """Return the charge of an amount stated by a user, for releases that are made outside of the library or later."""
    said = {"label": validate_label(label), "measurement": what, "proof": "stated by the operator", "claim": ""}
    return Charge(cost, journal.amount_as_distance(cost), {**said, "d_in": str(journal.unit.d_in)})


def validate_label(label: Any) -> str:
    """Check that ``label`` is one line of text, and return it in the Unicode normal form NFC."""
    text = unicodedata.normalize("NFC", checks.plain_text(label)) if isinstance(label, str) else None
    if text is None or len(text) > _LONGEST or not (text.isprintable() or not text):
        raise ParameterError(f"label must be one line of at most {_LONGEST} printable characters")
    return text


def label_key(label: str) -> str:
    """Return a key that is equal for labels that differ only in case, blanks or Unicode forms."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold()).split())


def _measurement_fields(measurement: Measurement) -> dict[str, str]:
    text, proof = repr(measurement), str(measurement.proof)
    claim = hashlib.sha256("\0".join((claims_digest(), text, proof)).encode("utf-8", "replace")).hexdigest()
    return {"measurement": text, "proof": proof, "claim": f"sha256:{claim}"}


def measurement_claim(measurement: Measurement) -> str:
    """Return the claim of an entry: the digest of the measurement, of its proof, and of all sources and proofs."""
    return _measurement_fields(measurement)["claim"]


def _distance_text(distance: Any) -> str:
    return str(distance) if distance == float("inf") or isinstance(distance, float) else str(to_fraction(distance))


# Releases that are paid once: check if an entry has already paid for the same label and period.


class PriorPayments:
    """Entries that have paid for a release of this label and period, except failed ones."""

    def __init__(self, journal: Journal, label: str, period: str | None) -> None:
        self.numbers: list[int] = []
        self._journal = journal
        self._wanted = self._payment_key(validate_label(label), {} if period is None else {"period": period})
        self._seen: Record | None = None
        self.read_new_records()

    def read_new_records(self) -> None:
        try:
            for record in self._journal.log.iter_records(self._seen):
                self._apply_record(record.fields)
                self._seen = record
            return
        except (KeyError, TypeError, ValueError):
            pass
        raise damaged_log_error(self._journal.log.place)

    def _apply_record(self, fields: Mapping[str, Any]) -> None:
        if fields["kind"] == "state" and fields["state"] == FAILED and fields["of"] in self.numbers:
            self.numbers.remove(fields["of"])
        released = fields["kind"] == "debit" and fields["claim"] and "within" not in fields
        if released and self._payment_key(fields["label"], fields) == self._wanted:
            self.numbers.append(int(fields["entries"]))

    def _payment_key(self, label: str, words: Mapping[str, Any]) -> tuple[str, str]:
        return label_key(label), label_key(str(words.get("period") or self._journal.words.get("period", "")))


def pay_once_check(journal: Journal, label: str, period: str | None) -> Callable[[], dict[str, Any]]:
    """Return a step of :meth:`Journal.debit` that refuses a second payment; most of the ledger is read now."""
    paid = PriorPayments(journal, label, period)

    def refuse_second_payment() -> dict[str, Any]:
        paid.read_new_records()
        if paid.numbers:
            raise ParameterError(
                f"entry {paid.numbers[-1]} has already paid for a release with this label and period: answer "
                "from its record, choose another label or period, or omit once (add --again) to pay again"
            )
        return {}

    refuse_second_payment()
    return refuse_second_payment
