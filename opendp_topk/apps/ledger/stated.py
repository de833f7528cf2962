"""Privacy unit and metadata that are stated for a ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, TypedDict, get_type_hints

from ...errors import ParameterError, SpaceError, checks
from ...errors.checks import Number
from ...numerics.arithmetic import to_fraction
from ...spaces.domains import Domain
from ...spaces.metrics import Metric, UserDistance
from .amounts import parse_exact

# Privacy unit of a ledger: the data set, the user ID column, the metric of neighbouring data sets, and the distance.
#
# Proof: proofs/ledger/ledger.tex

_LONGEST = 200  # maximum characters of a name


# proof-region: units
@dataclass(frozen=True)
class LedgerPrivacyUnit:
    """Privacy unit of a budget: data sets ``dataset`` at distance at most ``d_in`` under the metric ``metric``.

    ``user`` is the user ID column, and ``person`` the word for one person. They are None if the ledger does not state
    them.
    """

    dataset: str
    metric: str
    d_in: Fraction
    user: str | None = None
    person: str | None = None

    @staticmethod
    def for_new_ledger(dataset: Any, metric: Any, d_in: Any, user: Any = None, person: Any = None) -> LedgerPrivacyUnit:
        checks.require_instance("metric", metric, Metric, "the metric of the protected unit, such as UserDistance()")
        distance = parse_exact(1 if d_in is None else d_in, "d_in")
        if distance == 0:
            raise ParameterError("d_in must be > 0: distance 0 protects no one")
        _require_distance(metric, distance)
        if not (user is None and person is None) and not isinstance(metric, UserDistance):
            raise ParameterError("user and person are only for tables: omit them, or give metric=UserDistance()")
        if user is None and person is not None:
            raise ParameterError("person names a value of a column: also give user, the column")
        column = None if user is None else validate_name("user", user)
        called = column if person is None else validate_name("person", person)
        return LedgerPrivacyUnit(validate_name("dataset", dataset), _metric_text(metric), distance, column, called)

    def require_metric(self, metric: Metric) -> None:
        """Raise SpaceError unless ``metric`` is that of this unit."""
        if _metric_text(metric) != self.metric:  # [same-metric]
            raise SpaceError(
                f"measurement must have the metric of the ledger, {self.metric}, not {_metric_text(metric)}"
            )

    def for_user_column(self, domain: Domain, at_most: Any = None, shared: Any = False) -> LedgerPrivacyUnit:
        """Return this unit as counted by a release that identifies users of ``domain`` by its own column.

        One person has rows with at most ``at_most`` values of that column. If ``shared`` is true, rows with one value
        may belong to several people; otherwise each value belongs to one person.
        """
        several, column = checks.require_boolean("shared", shared), getattr(domain, "user", None)
        if self.user is None or column == self.user:  # [same-column]
            if at_most is not None or several:
                raise ParameterError(
                    "at_most and shared are only for a release whose user column differs from the ledger's: omit them"
                )
            return self
        if at_most is None:
            raise SpaceError(
                f"in this ledger a person is {self.person_description}, but the release identifies users by "
                f"{column}: use the ledger's column, or state at_most, the maximum number of values of "
                f"{column} in the rows of one person"
            )
        times = checks.require_positive_int("at_most", at_most) * (2 if several else 1)  # [times]
        return replace(self, d_in=self.d_in * times, user=column, person=None)

    @property
    def person_description(self) -> str:
        return "not stated" if self.user is None else f"a {self.person}: the column {self.user}"

    def charged_distance(self, d_in: Any) -> Number:
        """Return the distance at which a release is charged: this unit's, or a larger ``d_in``."""
        if d_in is None:
            return checks.plain_number(self.d_in) if self.d_in.denominator > 1 else int(self.d_in)
        found = checks.require_distance(d_in, "d_in")
        if found < self.d_in:  # [not-below]
            raise ParameterError(f"d_in must be at least {self.d_in}, the distance that the ledger protects")
        return found


def _metric_text(metric: Metric) -> str:
    """Return the repr of a metric without the recursion guard of dataclasses, which Ctrl-C can leave at ``...``."""
    shown = type(metric).__repr__
    return str(getattr(shown, "__wrapped__", shown)(metric))


# end-proof-region: units


def validate_name(name: str, value: Any) -> str:
    """Return ``value`` as a name: one short line of text that is printable and not blank."""
    text = checks.plain_text(value) if isinstance(value, str) else ""
    if not text.strip() or not text.isprintable() or len(text) > _LONGEST:
        raise ParameterError(f"{name} must be one line of at most {_LONGEST} printable characters")
    return text


def _require_distance(metric: Metric, distance: Fraction) -> None:
    whole = int(distance) if distance.denominator == 1 else distance
    if to_fraction(metric.distance(whole, "d_in")) != distance:
        raise ParameterError("d_in must be a distance of the metric")


# Metadata of a ledger and of a release, in words.
#
# :class:`Metadata` is the only list of these lines. Those that a release may have of its own are also fields of an
# entry, and docs/release.schema.json describes all of them.


@dataclass(frozen=True)
class MetadataField:
    """Meaning of a line, and whether a release may have its own, which replaces that of its ledger."""

    meaning: str
    own: bool = True


class Metadata(TypedDict, total=False):
    """Lines of printable characters for people, without effect on any computation; each is an option of the command."""

    publisher: Annotated[str | None, MetadataField("Publisher of the releases.", own=False)]
    period: Annotated[str | None, MetadataField("Period of the data, as one line of text.")]
    purpose: Annotated[str | None, MetadataField("Purpose of the release, as one line of text.")]


LINES: dict[str, MetadataField] = {
    name: kind.__metadata__[0] for name, kind in get_type_hints(Metadata, include_extras=True).items()
}
OWN = tuple(name for name, line in LINES.items() if line.own)
TOLD = "label", *OWN, "at_most", "shared"  # metadata in the entry of a release
NOT_STATED = "not stated"
TITLES = {name: name.replace("_", " ") for name in sorted(LINES)}  # titles on pages, in that order


def validate_metadata(words: Mapping[str, str | None]) -> dict[str, str]:
    return {name: validate_name(name, word) for name, word in words.items() if word is not None}


def read_metadata(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(fields[name]) for name in LINES if fields.get(name) is not None}


def metadata_lines(stated: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the title and the text of every line, including those that are not stated."""
    return [(title, str(stated.get(name, NOT_STATED))) for name, title in TITLES.items()]


def release_metadata(
    user: str | None, person: str | None, words: Mapping[str, str], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the metadata in a record of a release: from its entry, and by default from its ledger."""
    whom = {} if user is None else {"person": person, "column": user}
    return {**words, **whom, **{name: entry[name] for name in TOLD if entry.get(name)}}
