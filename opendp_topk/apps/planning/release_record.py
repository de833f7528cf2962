"""Release records: the question, the release and its cost."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from fractions import Fraction
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from ...combinators.conversions import make_approximate
from ...combinators.followed_by import make_followed_by
from ...core.binary_search import binary_search_param
from ...core.measurement import Measurement
from ...core.releases import Release
from ...core.version import version
from ...errors import ProofError, TableError
from ...errors.extras import import_extra
from ...markup.foreign import json_text
from ...measurements.additive_noise import then_gaussian, then_laplace
from ...numerics.arithmetic import printed_fraction, round_down, to_fraction
from ...proof import Proof, claim_digest
from ...sampling.distributions.discrete import largest_noise
from ...spaces.domains import FrameDomain
from ...spaces.measures import (
    Approximate,
    MaxDivergence,
    Measure,
    PrivacyProfile,
    ZeroConcentratedDivergence,
    is_pure,
    without_delta,
)
from ...spaces.metrics import L1Distance, L2Distance, UserDistance
from ...transformations.count_outside import make_count_outside
from ..ledger.files import write_report
from ..ledger.journal import utc_timestamp
from ..ledger.logs import resolve_path
from ..ledger.report import plural_noun
from .plan import AccuracyGuarantee, Plan, T_co, U_co, confidence_text, finite_bound
from .questions import record_question
from .record_fields import (
    Amount,
    Digest,
    ItemMechanism,
    Moment,
    NumberMechanism,
    NumbersMechanism,
    OnlyFields,
    PaymentFields,
    Positive,
    ProofFields,
    QuestionFields,
    Rule,
    Seconds,
    SoftwareFields,
    StatedFields,
    Target,
    Text,
    Whole,
)
from .units import ROW, Budget, UserUnit, count_with_noun, describe_neighbors, split_item_parts

# A record contains everything public about a release: items, plan and privacy claim. It has no exact count or score.

FORMAT = "opendp_topk.release.v1"  # the only format that is read and written


@dataclass(frozen=True)
class ReleasedItems:
    """Released items, in order, with a noisy count or a noisy lead of each if the release has these.

    ``other`` is the noisy number of users who have another item; None if it was not released. ``groups`` is the group
    of each item's list; None if there is only one list.
    """

    items: list[Any]
    counts: list[int] | None = None
    gaps: list[float] | None = None
    other: int | None = None
    groups: list[Any] | None = None

    @classmethod
    def from_output(cls, released: Any, groups: Sequence[Any] | None = None) -> ReleasedItems:
        """Return the items of a release: a :class:`Release`, a list or a tuple of items, or one item.

        With ``groups``, the release has one of these for each of them, which become one list after the other.
        """
        if groups is not None:
            return cls._from_group_outputs(groups, released)
        if not isinstance(released, Release):
            return cls(list(released) if isinstance(released, list | tuple) else [released])
        counts, gaps = released.counts, released.gaps
        return cls(
            list(released),
            None if counts is None else list(map(int, counts)),
            None if gaps is None else [min(float(gap), sys.float_info.max) for gap in gaps],
        )

    @classmethod
    def _from_group_outputs(cls, groups: Sequence[Any], released: Sequence[Any]) -> ReleasedItems:
        lists = list(map(cls.from_output, released))

        def concatenate_field(name: str) -> Any:
            return [value for one in lists for value in getattr(one, name)] if getattr(lists[0], name) else None

        owners = [group for group, one in zip(groups, lists, strict=True) for _ in one.items]
        return cls(concatenate_field("items"), concatenate_field("counts"), concatenate_field("gaps"), groups=owners)

    @property
    def group_lists(self) -> list[tuple[Any, ReleasedItems]]:
        """Pairs of a group and its list; without groups, the only pair is (None, self)."""
        if self.groups is None:
            return [(None, self)]
        runs = itertools.groupby(range(len(self.groups)), self.groups.__getitem__)
        return [(group, self._select_places(list(places))) for group, places in runs]

    @property
    def ranks(self) -> list[int]:
        return [place for _, one in self.group_lists for place in range(1, len(one.items) + 1)]

    def _select_places(self, places: Sequence[int]) -> ReleasedItems:
        columns: Any = self.items, self.counts, self.gaps
        chosen: Any = [None if values is None else [values[at] for at in places] for values in columns]
        return ReleasedItems(*chosen)


@dataclass(frozen=True)
class PrivacyClaim:
    """Privacy claim of a release: a loss of at most ``d_out`` under a measure, for neighbours at distance ``d_in``.

    ``d_out`` is a number, or a pair with a delta.
    """

    measure: str
    symbol: str
    neighbors: str
    d_in: int
    d_out: Any

    # proof-region: record_claim
    @classmethod
    def from_plan(cls, plan: Plan[Any, UserUnit]) -> PrivacyClaim:
        """Return the claim of a plan; the epsilon of a pair is never rounded down."""
        measure, unit, loss = plan.measurement.output_measure, plan.query.unit, plan.loss
        profile = measure == PrivacyProfile()
        symbol = "(epsilon, delta)" if profile else measure.symbol
        d_out = (round_up_epsilon(loss[0]), loss[1]) if profile else loss  # [d-out]
        return cls(measure_name(measure), symbol, unit.neighbors, unit.d_in, d_out)  # [for-whom]

    # end-proof-region: record_claim

    @property
    def main_symbol(self) -> str:
        """Symbol of the loss without its delta: epsilon or rho."""
        return self.symbol.strip("()").partition(",")[0]

    @property
    def protected_users(self) -> str:
        return describe_neighbors(self.neighbors, self.d_in)


@dataclass(frozen=True, kw_only=True)
class ReleaseRecord(OnlyFields):
    """Record of one release, for people, pages and programs: what was asked, what was released, and its cost.

    Everything in a record is public. A field with a default is missing in JSON if it has this value.

    Args:
        question: Question that was asked. The question of a record of an earlier version is looked up by its mechanism.
        time: Time of the release, in UTC.
        items: Released items, in the order of their ranks, or for a set in the order of the candidates or of the
            alphabet. Quantiles are numbers: integers, or texts such as "-0.25" and "37/3". An item of several columns
            is a list of texts.
        groups: Group of each item, if there is a list for each group.
        counts: Noisy count of each item, in steps of the granularity for sums.
        gaps: Noisy lead of each item over the next.
        other: Noisy number of users with another item.
        k: Number of items that were asked for; null for all items above a threshold.
        release: ranking, or set.
        measure: Privacy measure.
        symbol: Symbol of d_out.
        neighbors: Neighbouring tables: users are added or removed, or the rows of users are replaced.
        d_in: Number of users by which neighbouring tables differ.
        d_out: Privacy loss, rounded up; a pair with delta.
        target: Privacy target that was requested; numbers that no float equals are texts, such as 1/3.
        mechanism: Parameters of the chain from the table to the items, by name; for groups, those within each group.
        scale: Scale of the noise, in users, in steps of the granularity for sums, in 1/q rows for a quantile p/q, and
            in rows for several quantiles. Null if there is no single scale.
        accuracy: Accuracy guarantee of the items.
        count_accuracy: Accuracy guarantee of the counts.
        other_accuracy: Accuracy guarantee of the number of users with an item that was not released.
        ledger: Entry that paid; null if none did.
        proof: Proof of the cost.
        where: Condition on the rows of the table.
        files: Digest of the private list of the files that were read.
        candidate_list: Digest of the list of candidates.
        padded: Seconds between the time and the answer; without it, the answer was given when it was ready.
        group_list: Digest of the list of groups.
        stated: Metadata that people stated.
        engine: Software that counted the table.
        library: Library that made the release.
    """

    question: Annotated[Mapping[str, Any], Rule(QuestionFields)] | None = None
    time: Moment
    items: list[Text | Whole | Annotated[list[Text], Rule(min_length=2)]]
    groups: list[Text | Whole] | None = None
    counts: list[Whole] | None = None
    gaps: list[Amount] | None = None
    other: Whole | None = None
    k: Positive | None
    release: Literal["ranking", "set"]
    measure: Literal[
        "MaxDivergence",
        "ZeroConcentratedDivergence",
        "PrivacyProfile",
        "Approximate(MaxDivergence)",
        "Approximate(ZeroConcentratedDivergence)",
    ]
    symbol: Literal["epsilon", "rho", "(epsilon, delta)", "(rho, delta)"]
    neighbors: Literal["add_remove", "replace"]
    d_in: Positive
    d_out: Amount | tuple[Amount, Amount]
    target: Target | tuple[Target, Target] | None = None
    mechanism: Annotated[Mapping[str, Any], Rule(ItemMechanism | NumberMechanism | NumbersMechanism)]
    scale: Amount | None
    accuracy: AccuracyGuarantee
    count_accuracy: AccuracyGuarantee | None = None
    other_accuracy: AccuracyGuarantee | None = None
    ledger: Annotated[Mapping[str, Any], Rule(PaymentFields)] | None
    proof: Annotated[Mapping[str, Any], Rule(ProofFields)]
    where: Text | None = None
    files: Digest | None = None
    candidate_list: Digest | None = None
    padded: Seconds | None = None
    group_list: Digest | None = None
    stated: Annotated[Mapping[str, Any], Rule(StatedFields)] = field(default_factory=dict)
    engine: Annotated[Mapping[str, str], Rule(SoftwareFields)]
    library: Annotated[Mapping[str, str], Rule(SoftwareFields)]

    @classmethod
    def from_release(
        cls,
        released: ReleasedItems,
        plan: Plan[Any, UserUnit],
        promises: Mapping[str, Any],
        entry: Mapping[str, Any] | None,
        **more: Any,
    ) -> ReleaseRecord:
        """Return the record of a release by the measurement of ``plan`` now, paid for by ``entry``.

        ``more`` are the fields that come from the table and the question, such as ``engine``.
        """
        measurement, task, parameters = plan.measurement, plan.query.task, plan.parameters
        return cls(
            time=utc_timestamp(),
            k=task.k,
            release=task.release,
            mechanism={name: value for name, value in parameters.items() if name != "scale"},
            scale=plain_value(parameters.get("scale")),
            ledger=None if entry is None else add_salt(entry),
            proof=proof_summary(measurement),
            library={"name": "opendp_topk", "version": version()},
            **vars(released),
            **vars(PrivacyClaim.from_plan(plan)),
            **promises,
            **more,
        )

    @cached_property
    def asked(self) -> Any:
        """Class of the question that was asked, a subclass of ``Question``.

        Raises:
            TableError: The question is unknown, or is not that of the mechanism.
        """
        return record_question(self.question, self.mechanism)

    @cached_property
    def released(self) -> ReleasedItems:
        """Released items, with their counts or leads."""
        return ReleasedItems(self.items, self.counts, self.gaps, self.other, self.groups)

    @cached_property
    def claim(self) -> PrivacyClaim:
        return PrivacyClaim(self.measure, self.symbol, self.neighbors, self.d_in, self.d_out)

    @property
    def promises(self) -> dict[str, AccuracyGuarantee]:
        """Accuracy guarantees by name."""
        more = {"count_accuracy": self.count_accuracy, "other_accuracy": self.other_accuracy}
        return {"accuracy": self.accuracy, **{name: one for name, one in more.items() if one is not None}}

    @property
    def digest(self) -> str:
        """Digest of all fields, as a ledger stores it."""
        return record_digest(self.as_dict())

    def save(self, path: str | Path) -> None:
        """Write the record as JSON to a new file, as `opendp-topk release --out` does; LedgerError if that fails."""
        write_report(resolve_path(path, "path"), (json_text(self.as_dict()) + "\n").encode("utf-8"))

    @property
    def summed_column(self) -> str | None:
        """Column whose sums rank the items; None if items are ranked by their users, or numbers are released."""
        column = self.mechanism.get("value")
        return None if column is None or "item" not in self.mechanism else str(column)

    @property
    def score_noun(self) -> str:
        """``"count"`` or ``"sum"``."""
        return "count" if self.summed_column is None else "sum"

    @property
    def has_listed_candidates(self) -> bool:
        return self.mechanism["candidates"] is not None

    @property
    def is_row_level(self) -> bool:
        """Whether every row counted as a user because no column identifies users."""
        return bool(self.mechanism["user"] == ROW)

    @property
    def person(self) -> str:
        """Noun for one person, "user" by default."""
        return str(self.stated.get("person", "user"))

    @property
    def people(self) -> str:
        return plural_noun(self.person)

    @property
    def counted_noun(self) -> str:
        """Noun for what is counted: users, or rows."""
        return "rows" if self.is_row_level else self.people

    def score_amount(self, steps: float) -> float:
        """Convert a score from the record, which has sums in steps of their grid, to a number of users or a sum."""
        if self.summed_column is None:
            return steps
        return float(to_fraction(steps) * printed_fraction(self.mechanism["granularity"]))

    def item_columns(self, head: str) -> list[tuple[str, Sequence[Any]]]:
        """Return the released items as columns: one called ``head``, or one for each of several item columns."""
        items = self.released.items
        if not any(isinstance(one, list) for one in items):
            return [(head, items)]
        return list(zip(split_item_parts(self.mechanism["item"]), zip(*items, strict=True), strict=True))

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> ReleaseRecord:
        """Return the record that :meth:`as_dict` wrote, as read from JSON; unknown fields are ignored.

        Raises:
            TableError: A field is missing or invalid.
            MissingExtraError: pydantic is not installed.
        """
        adapter, invalid = record_reader()
        names = {one.name: one for one in fields(cls)}
        own = {name: value for name, value in found.items() if name in names}
        wrong = [name for name, value in own.items() if value is None and names[name].default is None]
        try:
            if not wrong:
                record: ReleaseRecord = adapter.validate_python(own)
                return record
        except invalid as error:
            wrong = [error.errors()[0]["loc"][0]]
        raise TableError(f"the record must have a valid field {wrong[0]}: it was removed or changed")

    def as_dict(self) -> dict[str, Any]:
        written: dict[str, Any] = {"format": FORMAT}
        for one in fields(self):
            value = getattr(self, one.name)
            if value not in (None, {}) or (one.default, one.default_factory) == (MISSING, MISSING):
                written[one.name] = plain_value(value.as_dict() if isinstance(value, AccuracyGuarantee) else value)
        return written


@cache
def record_reader() -> tuple[Any, Any]:
    pydantic = import_extra("pydantic", "reading a record requires pydantic", "opendp_topk[cli]")
    return pydantic.TypeAdapter(ReleaseRecord), pydantic.ValidationError


# proof-region: written_epsilon
def round_up_epsilon(number: Any) -> float:
    """Return a float64 whose shortest decimal, which a record contains, is at least ``number``."""
    near = float(number)
    while Fraction(repr(near)) < to_fraction(number):  # [no-less]
        near = math.nextafter(near, math.inf)
    return near


# end-proof-region: written_epsilon


def quantiles_of(known: Mapping[str, Any]) -> tuple[Fraction, ...]:
    """Return the quantiles among the parameters of a mechanism: one, several, or none."""
    return tuple(map(Fraction, known.get("quantiles", [known["quantile"]] if "quantile" in known else [])))


def engine_fields(frame: Any) -> dict[str, str]:
    """Return the name and the version of the library of a frame, for a record."""
    kind = type(frame).__module__.partition(".")[0]
    return {"name": kind, "version": str(getattr(sys.modules.get(kind), "__version__", ""))}


def measure_name(measure: Measure) -> str:
    inner = without_delta(measure)
    return type(inner).__name__ if inner is measure else f"Approximate({type(inner).__name__})"


_SCALARS = MaxDivergence(), ZeroConcentratedDivergence()
MEASURES = {measure_name(one): one for one in (*_SCALARS, *map(Approximate, _SCALARS), PrivacyProfile())}
"""Measures of records, by their names."""


def linked_proofs(proof: Proof) -> list[Proof]:
    """Return the proof documents of a chain: those of its links, and the chain rules."""
    below = [one for part in proof.parts for one in linked_proofs(part)]
    return list(dict.fromkeys([*below, Proof(proof.name, assumption=proof.assumption)]))


def plain_value(value: Any) -> Any:
    """Return fractions as floats, or as integers if they are beyond all floats; other values are unchanged."""
    if isinstance(value, Mapping):
        return {name: plain_value(one) for name, one in value.items()}
    if not isinstance(value, Fraction):
        return value
    return float(value) if abs(value) <= sys.float_info.max else int(value)


def canonical_json(value: Any) -> str:
    """Return JSON that writes equal values alike: names are sorted, and whole numbers have no decimal point."""
    return json.dumps(
        json.loads(json.dumps(value), parse_float=_parse_json_number), sort_keys=True, separators=(",", ":")
    )


def _parse_json_number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


def record_digest(record: Mapping[str, Any]) -> str:
    """Return the digest of a record's canonical JSON, salt included; it does not depend on how numbers are written."""
    return "sha256:" + hashlib.sha256(canonical_json(record).encode("ascii")).hexdigest()


def add_salt(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ledger fields with a random salt, so that the record cannot be guessed from its digest."""
    return {**entry, "salt": uuid.uuid4().hex + uuid.uuid4().hex}


def list_digest(items: Iterable[Any]) -> str:
    """Return the digest of a list of candidates or groups, as texts in their order."""
    return "sha256:" + hashlib.sha256(canonical_json([str(item) for item in items]).encode("ascii")).hexdigest()


def proof_summary(measurement: Measurement) -> dict[str, Any]:
    """Return the proof fields of a record: the status, and each document with its digests."""
    documents = [_document_summary(proof) for proof in linked_proofs(measurement.proof)]
    return {"status": measurement.proof.status, "documents": documents}


def _document_summary(proof: Proof) -> dict[str, Any]:
    name, path, claim = proof.name, proof.path, None
    digest = None if path is None else "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    with suppress(ProofError):
        claim = None if name is None else claim_digest(name)  # the digest that a reviewer of this claim signs
    return {"document": name, "status": proof.status, "digest": digest, "claim": claim}


# The noisy number of users who have an item that was not released, for a tenth of the budget.

SHARE = Fraction(1, 10)  # share of the budget: one count needs little, and the items need most of it


@dataclass(frozen=True)
class OtherUsersCount:
    """Noisy count of the users with an item that was not released. It takes a share of the ``whole`` budget."""

    whole: Budget
    unit: UserUnit

    @property
    def count_loss(self) -> float:
        return round_down(to_fraction(self.whole.d_out) * SHARE)

    @property
    def release_budget(self) -> Budget:
        return Budget(self.whole.measure, round_down(to_fraction(self.whole.d_out) - to_fraction(self.count_loss)))

    @property
    def scale(self) -> float:
        domain = FrameDomain("user", "item")
        made = partial(self._count_measurement, domain, ())
        return float(binary_search_param(made, self.unit.d_in, self.count_loss))

    def append_count(self, plan: Plan[T_co, U_co]) -> Plan[T_co, U_co]:
        measurement = plan.measurement
        domain, measure, scale = measurement.input_domain, measurement.output_measure, self.scale
        assert isinstance(domain, FrameDomain)

        def follow(released: Any) -> Measurement:
            counted = self._count_measurement(domain, ReleasedItems.from_output(released).items, scale)
            return counted if measure == counted.output_measure else make_approximate(counted)

        d_out = self.count_loss if measure == self.whole.measure else (self.count_loss, 0.0)
        followed = make_followed_by(measurement, follow=follow, d_in=self.unit.d_in, d_out=d_out)
        return replace(plan, measurement=followed)

    def released_with_count(self, both: Any) -> ReleasedItems:
        return replace(ReleasedItems.from_output(both[0]), other=int(both[1][0]))

    def accuracy_guarantees(self, alpha: Fraction) -> dict[str, AccuracyGuarantee]:
        """Return the accuracy guarantee of the count by its name in a record."""
        users = largest_noise(to_fraction(self.scale), 1, alpha, gaussian=not is_pure(self.whole.measure))
        words = f"with probability at least {confidence_text(alpha)}, the noisy number of users with another item is"
        near = f"{words} within {count_with_noun(users, 'user')} of the true number"
        return {"other_accuracy": AccuracyGuarantee(near, finite_bound(users), float(alpha))}

    def _count_measurement(self, domain: FrameDomain, items: Any, scale: float) -> Measurement:
        pure = is_pure(self.whole.measure)
        metric = L1Distance() if pure else L2Distance()
        outside = make_count_outside(domain, UserDistance(self.unit.neighbors), items=items, output_metric=metric)
        then, measure = (then_laplace, MaxDivergence()) if pure else (then_gaussian, ZeroConcentratedDivergence())
        return outside >> then(measure, scale=scale)
