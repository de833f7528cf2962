"""Fields of release records, declared once: pydantic reads them, and docs/release.schema.json is made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal


class Rule:
    """Rule for a value: ``limits`` as in pydantic's ``Field``, or the ``shape`` of a mapping, which stays a mapping.

    Values of other types are never converted. pydantic is imported when a record is read, so none is needed to write.
    """

    def __init__(self, shape: Any = None, **limits: Any) -> None:
        self.shape, self.limits = shape, limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import Field
        from pydantic_core.core_schema import no_info_wrap_validator_function

        if self.shape is None:
            return handler.generate_schema(Annotated[source, Field(strict=True, **self.limits)])
        return no_info_wrap_validator_function(_keep_mapping, handler.generate_schema(self.shape))


def _keep_mapping(value: Any, validate: Callable[[Any], Any]) -> Any:
    validate(value)
    return value


_FINITE: dict[str, Any] = {"allow_inf_nan": False}
Text = Annotated[str, Rule()]
Whole = Annotated[int, Rule()]
Positive = Annotated[int, Rule(ge=1)]
NotNegative = Annotated[int, Rule(ge=0)]
Number = Annotated[int, Rule()] | Annotated[float, Rule(**_FINITE)]
Amount = Annotated[int, Rule(ge=0)] | Annotated[float, Rule(ge=0, **_FINITE)]
Probability = Annotated[float, Rule(gt=0, lt=1)]
Seconds = Annotated[int, Rule(gt=0)] | Annotated[float, Rule(gt=0, **_FINITE)]
Target = Seconds | Annotated[str, Rule(pattern="^[1-9][0-9]{0,1999}(/[1-9][0-9]{0,1999})?$")]
Moment = Annotated[str, Rule(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$")]
Digest = Annotated[str, Rule(pattern="^sha256:[0-9a-f]{64}$")]
Share = Annotated[str, Rule(pattern="^[1-9][0-9]{0,2}/[1-9][0-9]{0,3}$")]
Status = Literal["current", "stale", "missing", "unproven"]

# Mappings in a record. Defaults mark optional fields.


class OnlyFields:
    """Base class of mappings without further fields."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}


class SomeFields:
    """Base class of mappings with further fields."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "ignore"}


@dataclass
class QuestionFields(OnlyFields):
    """Question that was asked, and its version.

    Args:
        kind: Kind of the question.
        version: Version of the question.
        mechanism: Mechanism that was chosen, for listed candidates.
        question: Question in each group, for groups.
    """

    kind: Text
    version: Positive
    mechanism: Text = ""
    question: Annotated[Mapping[str, Any], Rule(QuestionFields)] = field(default_factory=dict)


@dataclass
class PartitionFields(SomeFields):
    """Grouping of a release with a list for each group.

    Args:
        group: Column of groups.
        groups: Number of groups.
        max_groups: Most groups in which a user counts. Default: 1.
        by: Rule that chooses these groups.
    """

    group: Text
    groups: Positive
    max_groups: Positive = 1
    by: Literal["random", "order", "rows"] = "random"


@dataclass(kw_only=True)
class MechanismFields(SomeFields):
    """Parameters of a mechanism that are read; there are others.

    Args:
        mechanism: Name of the mechanism.
        user: Column that identifies users.
        candidates: Number of listed candidates; null if none were listed.
        partition: Grouping, for groups.
    """

    mechanism: Text
    user: Text
    candidates: NotNegative | None
    partition: Annotated[Mapping[str, Any], Rule(PartitionFields)] = field(default_factory=dict)


@dataclass(kw_only=True)
class ItemMechanism(MechanismFields):
    """Parameters of a mechanism that releases items.

    Args:
        item: Column of items.
        value: Column of numbers, for sums.
        lower: Lower bound of a user's total.
        upper: Upper bound of a user's total.
        granularity: Step of totals.
        test_scale: Scale of the noise of the test, for gaps.
        max_items: Most items of a user that count.
        by: Rule that chooses these items.
        minimum_users: Users below which an item is never released.
        limit: Items of the table that take part.
    """

    item: Text
    value: Text = ""
    lower: Number = 0
    upper: Number = 0
    granularity: Amount = 0
    test_scale: Amount = 0
    max_items: Positive | None = None
    by: Literal["random", "order", "rows", "value"] = "order"
    minimum_users: Positive | None = None
    limit: Positive | None = None


@dataclass(kw_only=True)
class GridMechanism(MechanismFields):
    """Parameters of a mechanism that releases numbers.

    Args:
        value: Column of numbers.
        lower: Least number that may be released.
        upper: Largest number that may be released.
        granularity: Step of numbers.
    """

    value: Text
    lower: Number
    upper: Number
    granularity: Amount


@dataclass(kw_only=True)
class NumberMechanism(GridMechanism):
    """Parameters of a mechanism that releases a quantile.

    Args:
        quantile: The quantile.
        max_rows: Most rows of a user that count.
    """

    quantile: Share
    max_rows: Positive


@dataclass(kw_only=True)
class NumbersMechanism(GridMechanism):
    """Parameters of a mechanism that releases several quantiles.

    Args:
        quantiles: The quantiles.
        places: Most rows that count with the same number.
        max_rows: Most rows of a user that count.
    """

    quantiles: Annotated[list[Share], Rule(min_length=1)]
    places: Positive
    max_rows: Positive


@dataclass
class PaymentFields(OnlyFields):
    """Entry of the ledger that paid.

    Args:
        dataset: Data set of the ledger.
        entry: Number of the entry.
        time: Time of the entry.
        claim: Digest of the claim that was charged.
        head: Head of the ledger after this entry, which `opendp-topk ledger verify --head` takes.
        salt: Random digits, so that the record cannot be guessed from its digest.
    """

    dataset: Text
    entry: Positive
    time: Text
    claim: Digest
    head: Annotated[str, Rule(pattern=r"^[0-9]{1,18}-[0-9a-f]{64}$")]
    salt: Annotated[str, Rule(pattern="^[0-9a-f]{64}$")]


@dataclass
class DocumentFields(OnlyFields):
    """Proof document.

    Args:
        document: File below proofs/, without .tex.
        status: Status of the proof when the record was made.
        digest: Digest of the document.
        claim: Digest of the document, the code that it covers, and everything on which they rely.
    """

    document: Text | None
    status: Status
    digest: Digest | None
    claim: Annotated[str, Rule(pattern="^[0-9a-f]{16}$")] | None


@dataclass
class ProofFields(OnlyFields):
    """Proof of the cost.

    Args:
        status: Status of all documents together.
        documents: Documents in the order of the chain, the chain rules last.
    """

    status: Status
    documents: list[Annotated[Mapping[str, Any], Rule(DocumentFields)]]


@dataclass
class StatedFields(OnlyFields):
    """Metadata that people state, and nothing computes.

    Args:
        label: Description of the release.
        publisher: Publisher of the release.
        period: Period of the data.
        purpose: Purpose of the release.
        person: Noun for one person.
        column: Column that identifies users, as the ledger has it.
        at_most: Stated bound on the values of the user column, or on the rows, of one person.
        shared: Whether several people may share such a value.
    """

    label: Text = ""
    publisher: Text = ""
    period: Text = ""
    purpose: Text = ""
    person: Text = ""
    column: Text = ""
    at_most: Positive = 1
    shared: Literal[True] = True


@dataclass
class SoftwareFields(OnlyFields):
    """Software by name and version.

    Args:
        name: Name of the software.
        version: Version of the software.
    """

    name: Text
    version: Text
