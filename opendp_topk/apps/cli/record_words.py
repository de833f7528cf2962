"""The record of a release in words, the same on a terminal and on a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from ...numerics.arithmetic import printed_fraction, to_fraction
from ...spaces.curves.guesses import attack_accuracy, total_variation
from ..ledger import Ledger
from ..ledger.report import budget_summary_texts, plural_noun, protected_unit_text
from ..ledger.stated import NOT_STATED, TITLES, metadata_lines
from ..planning.quantile import quantile_phrase
from ..planning.release_record import PrivacyClaim, ReleaseRecord
from ..planning.units import ROW, split_item_parts


def question_text(record: ReleaseRecord) -> str:
    """Return what was asked, as the title of the release."""
    candidates, column = record.mechanism["candidates"], record.summed_column
    if record.quantiles:
        return f"The {quantile_phrase(record.quantiles)} of {record.mechanism['value']}"
    many = "one" if record.k == 1 else str(record.k)
    most = "with most rows" if is_row_level(record) else f"that most {persons_noun(record)} have"
    ranked = most if column is None else f"with the largest sums of {column}"
    if record.k is None:
        enough = f"enough {counted_noun(record)}" if column is None else f"a large enough sum of {column}"
        return f"All items in the table with {enough}"
    if not record.has_listed_candidates:
        return f"The {many} {'item' if record.k == 1 else 'items'} in the table {ranked}"
    listed = f"{candidates:,}".replace(",", chr(0x202F))
    if record.is_chosen_by_gap:
        apart = f"numbers of {counted_noun(record)}" if column is None else f"sums of {column}"
        return f"Those of {listed} candidates that stand apart by their {apart}, {record.k} at most"
    return f"The {many} of {listed} candidates {ranked}{_groups_clause(record)}"


def _groups_clause(record: ReleaseRecord) -> str:
    """Return the clause that names the groups, or an empty string if there is one list."""
    partition = record.partition_parameters
    return "" if partition is None else f", in each group of {partition['group']} ({len(record.released.group_lists)})"


def groups_text(record: ReleaseRecord) -> str:
    """Explain which users count in which group, and that the groups are public; empty if there is one list."""
    partition = record.partition_parameters
    if partition is None:
        return ""
    most = partition.get("max_groups", 1)
    which = {
        "random": "drawn at random",
        "order": "first in alphabetical order",
        "rows": "with the most rows",
    }.get(str(partition.get("by")), "first in the list")
    groups = "1 of these groups" if most == 1 else f"{most} of these groups"
    counts = f"A {person_noun(record)} counts in at most {groups}, {which}; rows elsewhere counted nowhere."
    return (
        "The groups are a public list, each with as many items, whether anybody is in it or not. "
        f"{'Rows of other groups counted nowhere.' if is_row_level(record) else counts} The cost is that of all lists "
        "together."
    )


def score_amount(record: ReleaseRecord, steps: float) -> float:
    """Convert a score from the record, which has sums in steps of their grid, to a number of users or a sum."""
    return (
        steps
        if record.summed_column is None
        else float(to_fraction(steps) * printed_fraction(record.mechanism["granularity"]))
    )


def count_amounts(record: ReleaseRecord) -> list[float] | None:
    """Return the noisy counts or sums, or None if none were released."""
    found = record.released.counts
    return None if found is None else [score_amount(record, count) for count in found]


def method_text(record: ReleaseRecord) -> str:
    """Explain how the list was released, with which noise, and what was not released."""
    if record.quantiles:
        return _quantile_method_text(record)
    unit = counted_noun(record) if record.summed_column is None else f"in {record.summed_column}"
    unknown = record.scale is None or is_partition_selection(record)
    of_scale = "" if unknown else f" of scale {score_amount(record, record.scale or 0):.6g} {unit}"
    without = (
        "in the order of the candidates"
        if record.has_listed_candidates
        else "in alphabetical order, or that of their numbers"
    )
    order = "best first" if record.release == "ranking" else f"{without}, without ranks"
    more = ""
    if record.released.counts is not None:
        more = " Each comes with a noisy " + (
            f"count of its {counted_noun(record)}." if record.summed_column is None else "sum."
        )
    if record.released.gaps is not None:
        more = " Each comes with its noisy lead over the next."
    if record.is_chosen_by_gap:
        test = score_amount(record, record.mechanism["test_scale"])
        return (
            f"Released {order}: the best candidates, exactly; how many they are was drawn by the gaps between "
            f"consecutive {record.score_noun}s. Random noise{of_scale} took part in the choice of a gap, and of scale "
            f"{test:.6g} {unit} in a test whether it is large, so that the list depends little on any one "
            f"{person_noun(record)}; how little is said below. No exact {record.score_noun} was released."
        )
    if record.mechanism["mechanism"] == "noisy_histogram":
        kind = "Gaussian" if record.mechanism["gaussian"] else "Laplace"
        return (
            f"Released {order}. Independent {kind} noise{of_scale} was added to the {record.score_noun} of every "
            f"candidate, and the largest of these were taken, so that the list depends little on any one "
            f"{person_noun(record)}; how little is said below.{more} No exact {record.score_noun} was released."
        )
    return (
        f"Released {order}. Random noise{of_scale} took part in the choice, so that the list depends little on "
        f"any one {person_noun(record)}; how little is said below.{more} No exact {record.score_noun} was released."
    )


def _quantile_method_text(record: ReleaseRecord) -> str:
    (lower, upper, step), several = _grid_texts(record), len(record.quantiles) > 1
    drawn = (
        "one was drawn for each quantile, the middle one first and the others among the rows on both sides of it, the "
        "more likely the nearer its rank is to the quantile"
        if several
        else (
            f"one was drawn, the more likely the nearer its rank in the column is to the "
            f"{quantile_phrase(record.quantiles)}"
        )
    )
    scale = float(to_fraction(record.scale or 0) / (1 if several else record.quantiles[0].denominator))
    more = ", and up to twice as much where a quantile is not the middle of its rows," if several else ""
    return (
        f"Of the multiples of {step} from {lower} to {upper} {drawn}. Random noise of scale {scale:.6g} rows{more} "
        f"took part, so that the number{'s depend' if several else ' depends'} little on any one "
        f"{person_noun(record)}; how "
        "little is said below."
    )


def is_partition_selection(record: ReleaseRecord) -> bool:
    """Whether all items with enough users were released, without counts."""
    return record.k is None and record.released.counts is None


def other_users_rows(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return the row for the noisy number of users with an item that was not released, if it was requested."""
    number = record.released.other
    return [] if number is None else [("other", f"{number} {counted_noun(record)}, with noise, have another item")]


def loss_text(claim: PrivacyClaim) -> str:
    """Return the privacy loss without its unit."""
    if not isinstance(claim.d_out, tuple):
        return f"{claim.symbol} = {claim.d_out:.12g}"
    return f"{claim.main_symbol} = {claim.d_out[0]:.12g}, delta = {claim.d_out[1]:.6g}"


def provenance_rows(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return the rows for the condition on rows, the digest of the file list and the deadline, if recorded."""
    where, files, padded = record.read.where, record.read.files, record.read.padded
    attested = f"a list, kept as private as the table, whose digest is {files}"
    return [
        *([] if where is None else [("rows", f"those with {where}")]),
        *([] if files is None else [("files", attested)]),
        *([] if padded is None else [("deadline", f"{padded:g} seconds after the table began to be opened")]),
    ]


def item_columns(record: ReleaseRecord, head: str) -> list[tuple[str, Sequence[Any]]]:
    """Return the released items as columns: one called ``head``, or one for each of several item columns."""
    items = record.released.items
    if not any(isinstance(one, list) for one in items):
        return [(head, items)]
    return list(zip(split_item_parts(record.mechanism["item"]), zip(*items, strict=True), strict=True))


def item_ranks(record: ReleaseRecord) -> list[int]:
    """Return the rank of each item in its list."""
    return [place for _, one in record.released.group_lists for place in range(1, len(one.items) + 1)]


def group_column(record: ReleaseRecord) -> list[tuple[str, Sequence[Any]]]:
    """Return the group of each item as a column, or no column if there is one list."""
    groups = record.released.groups
    return [] if groups is None else [("group", groups)]


def csv_line(parts: Sequence[str]) -> str:
    """Return an item of several columns as a line of CSV, because its entries may contain commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(parts)
    return text.getvalue()


def is_row_level(record: ReleaseRecord) -> bool:
    """Whether every row counted as a user because no column identifies users."""
    return bool(record.mechanism["user"] == ROW)


def counted_noun(record: ReleaseRecord) -> str:
    """Return the noun for what is counted: users, or rows."""
    return "rows" if is_row_level(record) else persons_noun(record)


def person_noun(record: ReleaseRecord) -> str:
    """Return the noun for one person, "user" by default."""
    return str(record.stated.get("person", "user"))


def persons_noun(record: ReleaseRecord) -> str:
    """Return the noun for several people."""
    return plural_noun(person_noun(record))


def accuracy_texts(record: ReleaseRecord) -> dict[str, str]:
    """Return the accuracy guarantees by name, with "user" replaced by the ledger's noun for a person."""
    called = {"user": person_noun(record), "users": persons_noun(record)}
    sums = record.summed_column is not None  # nothing is replaced: the column of numbers may be called "user"
    return {
        name: one.words if sums else re.sub(r"\busers?\b", lambda found: called[found[0]], one.words)
        for name, one in record.promises.items()
    }


def protected_people(record: ReleaseRecord) -> int:
    """Return the size of the protected group in people, given the stated bound on user column values per person."""
    stated = record.stated
    values = int(stated.get("at_most", 1)) * (2 if stated.get("shared") else 1)
    return max(1, record.claim.d_in // values)


def protection_text(record: ReleaseRecord) -> str:
    """Return the protected unit, with the stated bound that it relies on, if any."""
    whom, stated = (
        protected_unit_text(record.claim.neighbors, protected_people(record), person_noun(record)),
        record.stated,
    )
    if "at_most" not in stated:
        return whom
    if is_row_level(record):
        return f"{whom}, who has at most {stated['at_most']} rows (stated, not checked)"
    shared = "which may be of several people" if stated.get("shared") else "each of which is of nobody else"
    column = record.mechanism["user"]
    return f"{whom}, who has rows with at most {stated['at_most']} values of {column}, {shared} (stated, not checked)"


def release_facts(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return rows for the protected unit, the meaning of a person, the table and the stated metadata."""
    stated, ledger = record.stated, record.ledger
    one = f"a {person_noun(record)}, told apart by the column {stated.get('column', record.mechanism['user'])}"
    if is_row_level(record):
        one = f"a {person_noun(record)}, whom no column of the table tells apart"
    return [
        ("protects", protection_text(record)),
        ("a person is", one),
        ("table", NOT_STATED if ledger is None else str(ledger["dataset"])),
        *metadata_lines(stated),
    ]


def truncation_text(record: ReleaseRecord) -> str:
    """Explain how the data were truncated before they were counted."""
    known, one, words = record.mechanism, "row" if is_row_level(record) else person_noun(record), []
    every = "Every row counted."
    if record.quantiles:
        lower, upper, step = _grid_texts(record)
        most, rows = known["max_rows"], "evenly spaced in the order of their numbers"
        kept = f"at most {most} rows counted, {rows}" if most > 1 else "one row counted, the median of their own"
        of_one = every if is_row_level(record) else f"Of one {one} {kept}."
        return (
            f"{of_one} A number counted as the multiple of {step} nearest to it, and one below {lower} "
            f"or above {upper} as the last multiple within."
        )
    if record.summed_column is not None:
        lower, upper, step = _grid_texts(record)
        words.append(
            f"What one {one} adds to one item was cut to {lower} at least and {upper} at most, in multiples of {step}."
        )
    most = known.get("max_items")
    if record.partition_parameters is not None:
        words.append(groups_text(record))
        every = "Every row of these groups counted."
    if is_row_level(record):
        return " ".join([*words, every])
    if most is None:
        counts = "counts for each item" if words else "counts once for each item, however many rows say so"
        return " ".join([*words, f"No list of items was cut: a {one} {counts}."])
    rule = {
        "random": "drawn at random",
        "rows": "those with the most rows",
        "value": "those with the largest totals",
    }.get(str(known.get("by", "order")), "the first in alphabetical order")
    cut = f"Of one {one} at most {most} items counted, {rule}: numbers of items that such people have are too low."
    return " ".join([*words, cut])


def _grid_texts(record: ReleaseRecord) -> tuple[str, str, str]:
    """Return the lower bound, the upper bound and the step of numbers."""
    lower, upper, step = (f"{float(record.mechanism[name]):.12g}" for name in ("lower", "upper", "granularity"))
    return lower, upper, step


def noise_scale_text(record: ReleaseRecord) -> str:
    """Return the scale of the noise with all digits and its unit."""
    if len(record.quantiles) > 1:
        return f"{record.scale!r} rows"
    if record.quantiles:
        return f"{record.scale!r} / {record.quantiles[0].denominator} rows"
    return f"{record.scale!r} {counted_noun(record)}"


def limitation_texts(record: ReleaseRecord) -> list[str]:
    """Return what cannot be concluded from the list."""
    noun, words = record.score_noun, []
    if record.quantiles:
        return [
            "They are not the exact quantiles: other multiples with ranks as near could as well stand here."
            if len(record.quantiles) > 1
            else "It is not the exact quantile: another multiple with a rank as near could as well stand here.",
            f"It does not tell how many rows there are, nor the number of any one {person_noun(record)}.",
        ]
    if record.is_chosen_by_gap:
        return [
            "It has no order, and does not tell how large the gap below it is.",
            "Where it ends was drawn: another gap nearly as large could as well have been taken, or none.",
            f"It names no {person_noun(record)}, and does not tell why an item is common.",
        ]
    if record.release == "ranking":
        words.append(f"Places are drawn: items whose {noun}s are close could as well stand the other way round.")
    else:
        words.append("It has no order.")
    if record.released.counts is not None and record.mechanism["mechanism"] != "noisy_histogram":
        words.append(
            f"Ranks may contradict {noun}s: places were drawn first, and each {noun} afterwards with noise of its own, "
            f"so that a lower place can have the larger number. To sort by the {noun}s costs nothing."
        )
    complete = record.has_listed_candidates and not record.can_release_fewer
    missing = "the last one that is" if complete else "one that is: it was not surely common enough"
    words.append(f"An item that is not here may be as common as {missing}.")
    words.append(f"It names no {person_noun(record)}, and does not tell why an item is common.")
    if record.partition_parameters is not None:
        words.append("It does not tell how large a group is: each has its list, also one that nobody is in.")
    return words


def signing_checklist(record: ReleaseRecord) -> list[str]:
    """Return the questions to ask before signing off the release."""
    one, column = person_noun(record), record.mechanism["user"]
    *titles, last = TITLES.values()
    public = (
        "Were bounds and step chosen without a look at the table?"
        if record.quantiles
        else "Was the list of candidates made without a look at the table?"
        if record.has_listed_candidates
        else "Were delta, limits and caps chosen without a look at the table?"
    )
    if record.partition_parameters is not None:
        public = "Were the lists of candidates and of groups made without a look at the table?"
    bound = "Is the bound above true of everybody?"
    alone = f"Has each {one} one value of the column {column}? Who has two counts as two people."
    return [
        bound if "at_most" in record.stated else alone,
        public,
        f"Are {', '.join(['table', *titles])} and {last} those that were agreed?",
        "Does `opendp-topk verify` agree line by line, with the ledger?",
        "Is so good a guess acceptable, and what is left enough for what is planned?",
    ]


def budget_rows(ledger: Ledger) -> list[tuple[str, str]]:
    """Return the rows for the spent and the remaining budget of the ledger that has paid."""
    budget, gone, left, at = budget_summary_texts(ledger)
    of = f"of {budget}{at and f', {at}'}, on {ledger.count()} {'entry' if ledger.count() == 1 else 'entries'}"
    return [("spent so far", f"{gone} {of}"), ("left", left)]


def attack_text(record: ReleaseRecord) -> str:
    """Explain the privacy loss as the accuracy of an attacker who knows all other rows."""
    claim, number = record.claim, protected_people(record)
    one = f"one particular {person_noun(record)}" if number == 1 else f"one particular group of {number} people"
    if claim.neighbors == "replace":
        what = f"{one} has this or that in the table"
    else:
        what = f"{one} is in the table" if number == 1 else f"{one} is in the table or not at all"
    return (
        f"Think of somebody who knows all other rows, and has to guess whether {what}, both being equally likely. "
        f"Without this release the guess is right 50 % of the time. With it, at most "
        f"{claim_attack_accuracy(claim):g} %."
    )


def claim_attack_accuracy(claim: PrivacyClaim) -> float:
    """Return the highest accuracy, in percent, of guessing which of two equally likely neighbouring tables was used."""
    main, delta = map(float, claim.d_out if isinstance(claim.d_out, tuple) else (claim.d_out, 0))
    return attack_accuracy(total_variation(main, delta, concentrated=claim.main_symbol == "rho"))


def payment_text(record: ReleaseRecord) -> str:
    """Return which entry of which ledger paid for the release, if any."""
    entry = record.ledger
    if entry is None:
        return "No ledger was named: this record alone tells of its cost."
    return f"Entry {entry['entry']} of the ledger of {entry['dataset']}, debited {format_time(entry['time'])}."


def format_time(time: str) -> str:
    """Return a recorded time in a readable format."""
    return time.replace("T", " ").replace("+00:00", " UTC")


def mechanism_text(record: ReleaseRecord) -> str:
    """Return the mechanism and its parameters."""
    known, hidden = record.mechanism, ("mechanism", "transformation", "partition")
    shown = [f"{name} = {value}" for name, value in known.items() if name not in hidden]
    partition = record.partition_parameters
    if partition is not None:
        shown.append(f"in each of {partition['groups']} groups of {partition['group']}")
    return f"{known['mechanism']}, with {', '.join(shown)}"


def software_text(record: ReleaseRecord) -> str:
    """Return the names and versions of the library and of the engine that counted the table."""
    library, engine = record.library, record.read.engine
    return f"{library['name']} {library['version']}; the table was counted by {engine['name']} {engine['version']}"
