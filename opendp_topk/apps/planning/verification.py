"""Verification of release records: the measurement is rebuilt, and its numbers are recomputed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from ...combinators.partition_by import ReleaseByGroup
from ...core.candidates import BestCounts, IndexCandidates
from ...core.measurement import Measurement
from ...core.version import version
from ...errors import LedgerError, ParameterError, TableError, TopKError, checks
from ...numerics.arithmetic import to_fraction
from ...spaces.measures import without_delta
from ...spaces.metrics import UserDistance
from ...transformations.quantile_scores import multiples
from ..ledger import Entry, Ledger
from ..ledger.charges import measurement_claim
from ..ledger.journal import RELEASED, utc_timestamp
from ..ledger.planned import require_readable_data
from ..ledger.report import format_distance
from ..ledger.stated import release_metadata
from .plan import AccuracyGuarantee, Plan, parameters_of, plan_guarantees
from .quantile import NumericColumns
from .release_record import (
    SHARE,
    OtherUsersCount,
    PrivacyClaim,
    ReleasedItems,
    ReleaseRecord,
    add_salt,
    canonical_json,
    engine_fields,
    list_digest,
    measure_name,
    plain_value,
    proof_summary,
    quantiles_of,
    record_digest,
)
from .units import Budget, Columns, UserUnit, recover_fraction, serialize_grid_number

# The measurement of a release, rebuilt from its record.

_MOST = 2**32  # candidates and users: more than exist, so that a forged number cannot take up computing time


def rebuild_plan(record: ReleaseRecord) -> tuple[Plan[Any, UserUnit], dict[str, Any]] | None:
    """Return the plan whose measurement has exactly the parameters of the record, and its accuracy guarantees.

    The measurement is that of everything that was released. Return None if it cannot be rebuilt.
    """
    try:
        if max(record.mechanism["candidates"] or 0, record.claim.d_in) > _MOST or _has_wrong_item_count(record):
            return None
        wanted = canonical_json(dict(record.mechanism))
        for plan in record.asked.record_plans(record):
            others, told = _other_users_count(plan, record.mechanism.get("then")), record.other_accuracy
            whole = plan if others is None else others.append_count(plan)
            known = {name: plain_value(value) for name, value in whole.parameters.items() if name != "scale"}
            if canonical_json(known) == wanted:
                found = plan_guarantees(plan)
                if others is not None and told is not None:
                    found |= others.accuracy_guarantees(recover_fraction(told.alpha))
                return whole, found
    except (TopKError, KeyError, TypeError, ValueError, ArithmeticError):
        pass
    return None


def _has_wrong_item_count(record: ReleaseRecord) -> bool:
    """Return True if the number of released items is not k, or k for each group, although it must be."""
    lists = record.mechanism["partition"]["groups"] if "partition" in record.mechanism else 1
    return record.asked.exact_number and len(record.items) != (record.k or 0) * lists


def _other_users_count(plan: Plan[Any, UserUnit], loss: Any) -> OtherUsersCount | None:
    """Return the count of other users with this loss; None if it was not released."""
    if loss is None:
        return None
    spent = to_fraction(loss[0] if isinstance(loss, list) else loss)
    return OtherUsersCount(Budget(without_delta(plan.query.budget.measure), spent / SHARE), plan.query.unit)


# Comparison of a record with what this library computes, and with the ledger that paid.

AGREES, DISAGREES, UNKNOWN = ("agrees", "does not agree", "cannot be known")
_LATER = "the record was made by another version, or by other sources of this version: verify it with those"
_OTHER_SOURCES = "the entry was charged for this measurement, by other sources or proofs of this version"


@dataclass(frozen=True)
class RecordFinding:
    """Finding about a record: the field, the verdict and the reason, which may quote the record."""

    what: str
    verdict: str
    why: str


def verify_record(
    fields: Mapping[str, Any], ledger: Ledger | None = None, head: str | None = None, key: str | None = None
) -> list[RecordFinding]:
    """Verify a release record: report which fields agree, which do not, and which cannot be known.

    Args:
        fields: All fields of the record, as read.
        ledger: The ledger that is claimed to have paid.
        head: A head of that ledger that was kept elsewhere.
        key: A file with the public key for the signature of that head.

    Raises:
        ParameterError: ``head`` is not a head of a ledger, ``head`` or ``key`` is given without a ledger, or ``key``
            without ``head``.
        LedgerError: The ledger or the key cannot be read.
    """
    if (head is not None or key is not None) and ledger is None:
        raise ParameterError("head and key require a ledger: also give the ledger")
    record = ReleaseRecord.from_dict(fields)
    found = rebuild_plan(record)
    same = record.library == {"name": "opendp_topk", "version": version()}
    made = found[0].measurement if found is not None and same else None
    paid = list(_payment_findings(record, record_digest(fields), made, ledger))
    same = same and all(one.why != _OTHER_SOURCES for one in paid)
    held = [] if ledger is None else [_ledger_finding(ledger, head, key)]
    return [*_computed_findings(fields, record, found, same), *held, *paid, *_unverifiable_findings(paid)]


def _computed_findings(
    fields: Mapping[str, Any], record: ReleaseRecord, found: tuple[Plan[Any, UserUnit], Any] | None, same: bool
) -> Iterator[RecordFinding]:
    made = f"{record.library['name']} {record.library['version']}"
    other = f"made by {made}, from other sources than the installed ones: only those can repeat the computations"
    yield RecordFinding("library", AGREES if same else UNKNOWN, f"{made}, as installed" if same else other)
    own = canonical_json(record.as_dict()) == canonical_json(fields)
    yield _finding("fields", own, "exactly the fields of a release record", "it has fields that no release writes")
    if found is None:
        none = "this library builds no measurement with these parameters, number of items and measure"
        yield RecordFinding("measurement", DISAGREES if same else UNKNOWN, none if same else _LATER)
        return
    yield RecordFinding("measurement", AGREES, "it was rebuilt, and has exactly these parameters")
    (plan, promises), proof = found, proof_summary(found[0].measurement)
    yield _cost_finding(record.claim, PrivacyClaim.from_plan(plan), same, plan.query.unit.protected_users)
    if record.target is not None:
        yield _compare_finding("target", _meets_target(plan, record.target), same, "the map meets it")
    for name in sorted({*record.promises, *promises}):
        told, computed = record.promises.get(name), promises.get(name)
        theorem = "the theorem gives this text and this number"
        yield _compare_finding(name.replace("_", " "), told == computed, same, theorem)
    numbers = "their number and the numbers with them match the measurement"
    yield _compare_finding("items", _is_release_consistent(record, plan), same, numbers)
    state = f"{proof['status']}, as in the record"
    yield _compare_finding("proof", record.proof["status"] == proof["status"], same, state)
    told, here = record.proof["documents"], proof["documents"]
    for place in range(max(len(told), len(here))):
        one, other = (dict(enumerate(documents)).get(place, {}) for documents in (told, here))
        name = str(other.get("document", one.get("document")))
        alike = canonical_json(one) == canonical_json(other)
        yield _compare_finding(f"proof {name}", alike, same, "its digests are those of this library")


def _meets_target(plan: Plan[Any, UserUnit], target: Any) -> bool:
    exact = tuple(Fraction(str(one)) for one in target) if isinstance(target, tuple) else Fraction(str(target))
    with suppress(TopKError):  # a number instead of a pair, or the reverse, or a delta that is not a probability
        return plan.measurement.check(plan.query.unit.d_in, exact)
    return False


def _finding(what: str, agrees: bool, why: str, why_not: str) -> RecordFinding:
    return RecordFinding(what, AGREES if agrees else DISAGREES, why if agrees else why_not)


def _compare_finding(what: str, agrees: bool, same: bool, why: str) -> RecordFinding:
    if not agrees and not same:
        return RecordFinding(what, UNKNOWN, _LATER)
    edited = "the same version of the library gives a different result: the record or the library was edited"
    return _finding(what, agrees, why, edited)


def _cost_finding(told: PrivacyClaim, computed: PrivacyClaim, same: bool, whom: str) -> RecordFinding:
    """Compare the claimed cost with that of the map; another version may claim more, but not less."""
    if told == computed:
        return RecordFinding("cost", AGREES, f"the map gives the same {computed.symbol} for {whom}")
    if not same and _is_claim_sufficient(told, computed):
        return RecordFinding("cost", AGREES, f"this version computes at most this {computed.symbol} for {whom}")
    loss = f"{computed.symbol} = {format_distance(computed.d_out)}"
    return RecordFinding("cost", DISAGREES, f"the map gives {loss} for {whom}")


def _is_claim_sufficient(told: PrivacyClaim, computed: PrivacyClaim) -> bool:
    one, other = (claim.d_out if isinstance(claim.d_out, tuple) else (claim.d_out,) for claim in (told, computed))
    alike = (told.measure, told.symbol, told.neighbors, told.d_in)
    return alike == (computed.measure, computed.symbol, computed.neighbors, computed.d_in) and all(
        to_fraction(loss) >= to_fraction(least) for loss, least in zip(one, other, strict=True)
    )


def _is_release_consistent(record: ReleaseRecord, plan: Plan[Any, UserUnit]) -> bool:
    """Return True if the release has the form of a release of the measurement."""
    released, known, task = record.released, record.mechanism, plan.query.task
    led = bool(getattr(getattr(task, "mechanism", None), "led", False))
    beside = (released.counts is not None, released.gaps is not None, released.other is not None)
    whole = all(type(one) is int for one in [*(released.counts or ()), *([released.other] if beside[2] else ())])
    if (
        beside != (task.counted, led, "then" in known)
        or not whole
        or (released.groups is None) == ("partition" in known)
    ):
        return False
    columns = plan.query.unit.columns
    if released.groups is None:
        return columns.is_possible_release(released.items)
    return _has_list_per_group(record, columns)


def _has_list_per_group(record: ReleaseRecord, columns: Columns) -> bool:
    """Return True if there is one list of k items for each group, all of one type."""
    lists, items = record.released.group_lists, record.released.items
    alike = all(len({type(one) for one in values}) == 1 for values in (items, record.released.groups or ()))
    return (
        alike
        and len({group for group, _ in lists}) == len(lists) == record.mechanism.get("partition", {}).get("groups")
        and all(len(part.items) == record.k and columns.is_possible_release(part.items) for _, part in lists)
    )


def _payment_findings(
    record: ReleaseRecord, digest: str, measurement: Measurement | None, ledger: Ledger | None
) -> Iterator[RecordFinding]:
    told = record.ledger
    if ledger is None or told is None:
        unpaid = told is None and ledger is not None
        why = "the record names no ledger, so no ledger paid for it" if unpaid else "no ledger was given"
        yield RecordFinding("entry", DISAGREES if unpaid else UNKNOWN, why)
        return
    try:
        if not 0 < told["entry"] <= ledger.count():
            yield RecordFinding("entry", DISAGREES, f"the ledger has {ledger.count()} entries")
            return
        entry, at = ledger.entry(told["entry"]), ledger.head(told["entry"])
    except LedgerError:
        yield RecordFinding("entry", UNKNOWN, "the ledger cannot be read")
        return
    yield _entry_finding(record, told, entry, ledger, at)
    stated = release_metadata(ledger.user, ledger.person, ledger.stated, entry.as_dict())
    same = canonical_json(dict(record.stated)) == canonical_json(dict(stated))
    words = "the entry and its ledger contain the same metadata", "the entry or its ledger contains different metadata"
    yield _finding("words", same, *words)
    if measurement is not None:
        yield _debit_finding(measurement, entry)
    if entry.record is None:
        yield RecordFinding("digest", UNKNOWN, "the entry contains no digest: it was settled without a record")
        return
    why = "the record is, in every field, the one that was made at the release"
    yield _finding("digest", entry.record == digest, why, "the record is not the one that was made at the release")


def _entry_finding(
    record: ReleaseRecord, told: Mapping[str, Any], entry: Entry, ledger: Ledger, at: str
) -> RecordFinding:
    claim = record.claim
    expected = {
        "data set": (told["dataset"], ledger.dataset),
        "neighbours": (repr(UserDistance(claim.neighbors)), ledger.metric),
        "distance": (str(claim.d_in), entry.d_in),
        "time": (told["time"], entry.time),
        "claim": (told["claim"], entry.claim),
        "head": (told["head"], at),
        "state": (RELEASED, entry.state),
    }
    others = [name for name, (one, other) in expected.items() if one != other]
    why = f"number {entry.number} has this data set, time and claim"
    return _finding("entry", not others, why, f"different {', '.join(others)}")


def _debit_finding(measurement: Measurement, entry: Entry) -> RecordFinding:
    """Compare the measurement of the record with the one that was debited, without their proofs."""
    alike = lines_without_proofs(entry.measurement) == lines_without_proofs(repr(measurement))
    installed = "the entry was charged for this measurement, by the installed sources"
    why = installed if entry.claim == measurement_claim(measurement) else _OTHER_SOURCES
    return _finding("debit", alike, why, "the entry was charged for another measurement")


def lines_without_proofs(shown: str) -> list[str]:
    """Return the lines of a measurement's repr, without those of its proofs."""
    return [" ".join(line.split()) for line in shown.splitlines() if not line.strip().startswith("proof ")]


def _ledger_finding(ledger: Ledger, head: str | None, key: str | None) -> RecordFinding:
    """Verify the ledger: its records are consistent and continue from the head if one is given."""
    wrong = ledger.verify(head, key=key)
    if wrong:
        return RecordFinding("ledger", DISAGREES, "; ".join(wrong))
    signed = "" if key is None else " and signed"
    kept = f", and continue from the kept head{signed}"
    more = "; anyone with write access could have rewritten all of them" if head is None else kept
    return RecordFinding("ledger", AGREES, f"its records are consistent{more}")


def _unverifiable_findings(paid: list[RecordFinding]) -> Iterator[RecordFinding]:
    """Yield the findings on what cannot be checked by computation."""
    sealed = any(one.what == "digest" and one.verdict == AGREES for one in paid)
    if not sealed:
        yield RecordFinding(
            "what was released",
            UNKNOWN,
            "without a digest in a ledger, items, numbers, metadata and the list of candidates may have been edited",
        )
    yield RecordFinding("table", UNKNOWN, "a record cannot show which rows were read, and by which engine")


# A repeated question is answered from the record of its release: the same answer, at no cost.
#
# The release is public, and repeating it is post-processing. The library does not check whether the table has changed
# since, because the result of that check would be another release.


def answer_from_record(fields: Mapping[str, Any], ledger: Ledger, question: Mapping[str, Any]) -> ReleaseRecord:
    """Return the record in ``fields`` if it is intact, an entry of ``ledger`` paid for it, and it answers ``question``.

    Raises:
        TableError: The record is not intact, is not paid for by a released entry, or answers another question.
    """
    found = verify_record(fields, ledger)
    wrong = [one for one in found if one.verdict == DISAGREES]
    sealed = any(one.what == "digest" and one.verdict == AGREES for one in found)
    if wrong or not sealed:
        raise TableError(
            f"the record cannot be used as the answer: its {wrong[0].what if wrong else 'digest'} does not "
            "verify. Nothing was released; `opendp-topk verify` shows details"
        )
    record = ReleaseRecord.from_dict(fields)
    lists = record.where, record.candidate_list, record.group_list
    counted, known = record.released.counts is not None, {**record.mechanism, "scale": record.scale}
    told = _identifying_fields(record, counted, record.claim, known, lists, record.stated)
    others = [name for name in question if canonical_json(question[name]) != canonical_json(told[name])]
    if others:
        raise TableError(
            "the record cannot be used as the answer: it differs from this question in its "
            f"{', '.join(others)}. Nothing was released: ask the same question, or pay for a release"
        )
    return record


def question_fields(
    plan: Plan[Any, UserUnit],
    where: str | None,
    candidates: str | None,
    words: Mapping[str, Any],
    groups: str | None = None,
) -> dict[str, Any]:
    """Return the fields that identify a question: of ``plan``, rows, digests of lists, and metadata as in records."""
    task, lists = plan.query.task, (where, candidates, groups)
    claim, known = PrivacyClaim.from_plan(plan), plan.parameters
    return _identifying_fields(task, task.counted, claim, known, lists, words)


def _identifying_fields(
    asked: Any, counted: bool, claim: PrivacyClaim, known: Mapping[str, Any], lists: Any, words: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields that identify a question, with the names that an error shows for them."""
    where, candidates, groups = lists
    return {
        "k": asked.k,
        "counts": counted,
        "kind of release": asked.release,
        "cost": asdict(claim),
        "mechanism": {name: plain_value(value) for name, value in known.items() if name != "scale"},
        "scale": plain_value(known.get("scale")),
        "rows": where,
        "candidates": candidates,
        "groups": groups,
        "label": words.get("label"),
        "words": {name: word for name, word in words.items() if name != "label"},
    }


# A release from Python, with the record that the command writes and whose digest the ledger stores.


def release_with_record(
    ledger: Ledger, measurement: Measurement, data: Any, *, alpha: float = 0.05, d_in: Any = None, **words: Any
) -> tuple[Any, dict[str, Any]]:
    """Make a release that ``ledger`` pays for, with its record, which ``opendp-topk verify`` and ``show`` read as JSON.

    Args:
        ledger: The ledger that pays. Its entry stores the digest of the record.
        measurement: A measurement from a table to items, under epsilon or rho, with or without a delta, as
            ``opendp-topk release`` makes it: counts or sums by item, a selection and, if candidates are listed,
            ``index_candidates()`` at the end; or noise on all counts, and ``largest_counts`` with the candidates; or
            ``make_partition_by`` of one such measurement for all groups, with or without ``make_keep_groups`` before;
            or quantiles of a numeric column.
        data: A member of the measurement's input domain.
        alpha: The probability with which the accuracy theorems in the record may fail.
        d_in: As for :meth:`Ledger.release`, an integer number of users.
        words: ``label``, ``period``, ``purpose``, ``at_most`` and ``shared``, as for :meth:`Ledger.release`.

    Returns:
        The release, and the record as a dictionary for ``json.dump``.

    Raises:
        ParameterError: The measurement has another form; ``ledger.release`` releases it without a record.
        BudgetError, SpaceError, LedgerError, DataError: As :meth:`Ledger.release`.

    Example:
        >>> import tempfile, pathlib, polars as pl, opendp_topk as tk
        >>> folder, pure = tempfile.TemporaryDirectory(), tk.MaxDivergence()
        >>> pages, space = ["/", "/docs", "/blog"], (tk.FrameDomain("visitor", "page"), tk.UserDistance())
        >>> top = space >> tk.then_count_by_item(candidates=pages) >> tk.then_report_noisy_top_k(pure, k=2, scale=4.0)
        >>> given = {"dataset": "visits", "metric": space[1], "user": "visitor"}
        >>> ledger = tk.ledger.Ledger.create(pathlib.Path(folder.name, "budget"), budget=1, measure=pure, **given)
        >>> visits = pl.DataFrame({"visitor": [1, 2, 2], "page": ["/", "/", "/docs"]})
        >>> named = top >> tk.index_candidates(pages)
        >>> released, record = tk.planning.release_with_record(ledger, named, visits, label="week 1")
        >>> record["items"] == list(released), record["d_out"], ledger.history()[0].record is None
        (True, 0.5, False)
        >>> ledger.close(), folder.cleanup()
        (None, None)
    """
    checks.require_instance("ledger", ledger, Ledger, "a ledger")
    checks.require_instance("measurement", measurement, Measurement, "a measurement")
    distance = ledger.d_in if d_in is None else d_in
    times = words.get("at_most")
    if d_in is None and times is not None:
        distance *= checks.require_positive_int("at_most", times) * (2 if words.get("shared") else 1)
    draft = _draft_record(measurement, distance, alpha, data)
    found = rebuild_plan(draft)
    if found is None or lines_without_proofs(repr(found[0].measurement)) != lines_without_proofs(repr(measurement)):
        raise ParameterError(
            "measurement must be one that `opendp-topk release` makes, from a table to items, for a record: "
            "release others with ledger.release, without a record"
        )
    plan, promises = found
    require_readable_data(measurement, data)
    reserved, made = ledger.reserve(measurement, d_in=distance, **words), []

    def digest(released: Any) -> str:
        written = _release_as_written(released, plan.query.unit.columns)
        parted = _partition_function(measurement)
        listed = ReleasedItems.from_output(written, None if parted is None else parted.groups)
        own: dict[str, Any] = {"ledger": add_salt(reserved.payment_fields), "stated": reserved.metadata_fields}
        question = draft.asked.record_fields(plan)
        made.append(replace(draft, time=utc_timestamp(), question=question, **vars(listed), **promises, **own))
        return made[0].digest

    return reserved.release(data, recorded=digest), made[0].as_dict()


def _partition_function(measurement: Measurement) -> ReleaseByGroup | None:
    """Return the function that releases one list per group, with or without a choice of groups before it."""
    last = getattr(measurement.function, "then", None)
    found = getattr(last if isinstance(last, Measurement) else measurement, "function", None)
    return found if isinstance(found, ReleaseByGroup) else None


def _draft_record(measurement: Measurement, d_in: Any, alpha: float, data: Any) -> ReleaseRecord:
    """Return the record before the release, with as many empty items as there will be."""
    known, metric, measure = parameters_of(measurement), measurement.input_metric, measurement.output_measure
    parted = _partition_function(measurement)
    groups, member = (None, measurement) if parted is None else (parted.groups, parted.plan.members[0])
    asked = quantiles_of(known)
    column = "value" if asked else "item"
    if not isinstance(metric, UserDistance) or not {"user", column, "candidates"} <= known.keys():
        raise ParameterError("measurement must start from a table of users and items, or numbers, for a record")
    last = getattr(member.function, "then", None)
    items = last.items if isinstance(last, IndexCandidates | BestCounts) else None
    if known["candidates"] is not None and "minimum_users" in known:
        raise ParameterError(
            "measurement must not combine minimum_users with listed candidates for a record, because it does "
            "not contain the list: use `release unknown-domain --candidates FILE --minimum-users M`, or "
            "ledger.release without a record"
        )
    if (known["candidates"] is None) != (items is None):
        raise ParameterError("measurement must end in index_candidates if its candidates are listed, for a record")
    if asked:
        items = None  # candidates follow from the bounds
    k, counted = len(asked) or known.get("k"), "count_scale" in known
    if isinstance(last, BestCounts):
        k, counted = last.k, True
    length = (k or 0) * len(groups or [None])
    claim = PrivacyClaim(measure_name(measure), measure.symbol, metric.neighbors, int(d_in), measurement.map(d_in))
    is_set = known["mechanism"].endswith(("partition_selection", "quantiles", "by_gap"))
    return ReleaseRecord(
        time="",
        items=[""] * length,
        counts=[0] * length if counted else None,
        k=k,
        release="set" if is_set else known.get("release", "ranking"),
        **vars(claim),
        mechanism={name: plain_value(value) for name, value in known.items() if name != "scale"},
        scale=plain_value(known.get("scale")),
        accuracy=AccuracyGuarantee("", None, float(checks.require_probability(alpha, "alpha"))),
        ledger=None,
        proof=proof_summary(measurement),
        engine=engine_fields(data),
        candidate_list=None if items is None else list_digest(items),
        group_list=None if groups is None else list_digest(groups),
        library={"name": "opendp_topk", "version": version()},
    )


def _release_as_written(released: Any, columns: Columns) -> Any:
    """Return the release in the notation of records, with exact grid numbers instead of the nearest floats."""
    if not isinstance(columns, NumericColumns):
        return released
    places = multiples(columns.bounds, columns.step)
    return [serialize_grid_number((columns.least_candidate + places.index(one)) * columns.step) for one in released]
