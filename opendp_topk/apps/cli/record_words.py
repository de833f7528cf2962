"""The record of a release in words, the same on a terminal and on a page."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

from ...numerics.arithmetic import printed_fraction, to_fraction
from ...spaces.curves.closed_forms import attack_accuracy, total_variation
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
        return f"The best of {listed} candidates, at most {record.k}, above a large gap between their {apart}"
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
    counts = f"A {person_noun(record)} counts in at most {groups}, {which}; rows in other groups were not counted."
    return (
        "The groups are a public list. Each has the same number of items, even if no user is in it. "
        f"{'Rows of other groups were not counted.' if is_row_level(record) else counts} The cost covers all lists."
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
    without = "in the order of the candidates" if record.has_listed_candidates else "in alphabetical or numerical order"
    order = "best first" if record.release == "ranking" else f"{without}, without ranks"
    more = ""
    if record.released.counts is not None:
        more = " Each has a noisy " + (
            f"count of its {counted_noun(record)}." if record.summed_column is None else "sum."
        )
    if record.released.gaps is not None:
        more = " Each has its noisy lead over the next."
    if record.is_chosen_by_gap:
        test = score_amount(record, record.mechanism["test_scale"])
        return (
            f"Released {order}: exactly the best candidates; their number was chosen by the gaps between "
            f"consecutive {record.score_noun}s. The choice of a gap used random noise{of_scale}, and the test "
            f"of its size noise of scale {test:.6g} {unit}, so that the list depends little on any one "
            f"{person_noun(record)}: see below. No exact {record.score_noun} was released."
        )
    if record.mechanism["mechanism"] == "noisy_histogram":
        kind = "Gaussian" if record.mechanism["gaussian"] else "Laplace"
        return (
            f"Released {order}. Independent {kind} noise{of_scale} was added to the {record.score_noun} of every "
            "candidate, and the candidates with the largest sums were released, so that the list depends little on any "
            f"one {person_noun(record)}: see below.{more} No exact {record.score_noun} was released."
        )
    return (
        f"Released {order}. The choice used random noise{of_scale}, so that the list depends little on any "
        f"one {person_noun(record)}: see below.{more} No exact {record.score_noun} was released."
    )


def _quantile_method_text(record: ReleaseRecord) -> str:
    (lower, upper, step), several = _grid_texts(record), len(record.quantiles) > 1
    drawn = (
        "one was drawn for each quantile, first the middle one and then the others among the rows on either "
        "side of it, with a higher probability if its rank is closer to the quantile"
        if several
        else (
            "one was drawn, with a higher probability if its rank in the column is closer to the "
            f"{quantile_phrase(record.quantiles)}"
        )
    )
    scale = float(to_fraction(record.scale or 0) / (1 if several else record.quantiles[0].denominator))
    more = ", or up to twice this scale if a quantile is not the middle of its rows," if several else ""
    return (
        f"Of the multiples of {step} from {lower} to {upper} {drawn}. The choice used random noise of scale "
        f"{scale:.6g} rows{more} so that the number{'s depend' if several else ' depends'} little on any one "
        f"{person_noun(record)}: see below."
    )


def is_partition_selection(record: ReleaseRecord) -> bool:
    """Whether all items with enough users were released, without counts."""
    return record.k is None and record.released.counts is None


def other_users_rows(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return the row for the noisy number of users with an item that was not released, if it was requested."""
    number = record.released.other
    return [] if number is None else [("other", f"{number} {counted_noun(record)} (a noisy count) have another item")]


def loss_text(claim: PrivacyClaim) -> str:
    """Return the privacy loss without its unit."""
    if not isinstance(claim.d_out, tuple):
        return f"{claim.symbol} = {claim.d_out:.12g}"
    return f"{claim.main_symbol} = {claim.d_out[0]:.12g}, delta = {claim.d_out[1]:.6g}"


def provenance_rows(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return the rows for the condition on rows, the digest of the file list and the deadline, if recorded."""
    where, files, padded = record.read.where, record.read.files, record.read.padded
    attested = f"a list as private as the table, with the digest {files}"
    return [
        *([] if where is None else [("rows", f"only those with {where}")]),
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
    shared = "which several people may share" if stated.get("shared") else "each of which belongs to no one else"
    column = record.mechanism["user"]
    return f"{whom}, who has rows with at most {stated['at_most']} values of {column}, {shared} (stated, not checked)"


def release_facts(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return rows for the protected unit, the meaning of a person, the table and the stated metadata."""
    stated, ledger = record.stated, record.ledger
    one = f"a {person_noun(record)}, identified by the column {stated.get('column', record.mechanism['user'])}"
    if is_row_level(record):
        one = f"a {person_noun(record)}, whom no column of the table identifies"
    return [
        ("protects", protection_text(record)),
        ("a person is", one),
        ("table", NOT_STATED if ledger is None else str(ledger["dataset"])),
        *metadata_lines(stated),
    ]


def truncation_text(record: ReleaseRecord) -> str:
    """Explain how the data were truncated before they were counted."""
    known, one, words = record.mechanism, "row" if is_row_level(record) else person_noun(record), []
    every = "Every row was counted."
    if record.quantiles:
        lower, upper, step = _grid_texts(record)
        most, rows = known["max_rows"], "evenly spaced in the order of their numbers"
        kept = f"at most {most} rows were counted, {rows}" if most > 1 else "one row was counted, the median"
        of_one = every if is_row_level(record) else f"Of one {one} {kept}."
        return (
            f"{of_one} Each number was rounded to the nearest multiple of {step}, and numbers below {lower} "
            f"or above {upper} to the last multiple within these bounds."
        )
    if record.summed_column is not None:
        lower, upper, step = _grid_texts(record)
        words.append(
            f"The total of one {one} for one item was clamped to the interval from {lower} to {upper} and "
            f"rounded to multiples of {step}."
        )
    most = known.get("max_items")
    if record.partition_parameters is not None:
        words.append(groups_text(record))
        every = "Every row of these groups was counted."
    if is_row_level(record):
        return " ".join([*words, every])
    if most is None:
        counts = "counts for each item" if words else "counts once for each item, regardless of the number of rows"
        return " ".join([*words, f"Nothing was truncated: a {one} {counts}."])
    rule = {
        "random": "drawn at random",
        "rows": "those with the most rows",
        "value": "those with the largest totals",
    }.get(str(known.get("by", "order")), "the first in alphabetical order")
    cut = (
        f"Of one {one} at most {most} items were counted, {rule}: the counts of items of people with more items "
        "are too low."
    )
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
            "They are not the exact quantiles: other multiples with similar ranks could have been released."
            if len(record.quantiles) > 1
            else "It is not the exact quantile: another multiple with a similar rank could have been released.",
            f"It does not show the number of rows, or the number of any one {person_noun(record)}.",
        ]
    if record.is_chosen_by_gap:
        return [
            "It has no order, and does not show the size of the gap below it.",
            "Its end was drawn at random: another gap of nearly the same size could have been chosen, or none.",
            f"It does not name any {person_noun(record)}, and does not explain why an item is common.",
        ]
    if record.release == "ranking":
        words.append(f"The order is random: items with similar {noun}s could have been released in the reverse order.")
    else:
        words.append("It has no order.")
    if record.released.counts is not None and record.mechanism["mechanism"] != "noisy_histogram":
        words.append(
            f"Ranks may contradict the {noun}s: the ranking was drawn first, and then each {noun} with separate noise, "
            f"so that an item of lower rank can have the larger {noun}. You can sort by the {noun}s at no cost."
        )
    complete = record.has_listed_candidates and not record.can_release_fewer
    missing = "the last item in the list" if complete else "one in the list: it was not certain to be common enough"
    words.append(f"An item that is not in the list may be as common as {missing}.")
    words.append(f"It does not name any {person_noun(record)}, and does not explain why an item is common.")
    if record.partition_parameters is not None:
        words.append("It does not show the size of a group: each group has a list, even if it is empty.")
    return words


def signing_checklist(record: ReleaseRecord) -> list[str]:
    """Return the questions to ask before signing off the release."""
    one, column = person_noun(record), record.mechanism["user"]
    *titles, last = TITLES.values()
    public = (
        "Were bounds and step chosen without looking at the table?"
        if record.quantiles
        else "Was the list of candidates made without looking at the table?"
        if record.has_listed_candidates
        else "Were delta, limits and contribution bounds chosen without looking at the table?"
    )
    if record.partition_parameters is not None:
        public = "Were the lists of candidates and of groups made without looking at the table?"
    bound = "Is the stated bound correct for every person?"
    alone = f"Does each {one} have one value of the column {column}? A person with two values counts as two people."
    return [
        bound if "at_most" in record.stated else alone,
        public,
        f"Are {', '.join(['table', *titles])} and {last} as agreed?",
        "Does `opendp-topk verify` with the ledger report that every line agrees?",
        "Is this accuracy of an attacker acceptable, and is the remaining budget enough for all planned releases?",
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
        what = f"which of two sets of rows {one} has in the table"
    else:
        what = f"whether {one} is in the table{'' if number == 1 else ', completely or not at all'}"
    return (
        f"An attacker who knows all other rows guesses {what}; both are equally likely. Without this release the "
        f"guess is right 50 % of the time. With it, at most {claim_attack_accuracy(claim):g} %."
    )


def claim_attack_accuracy(claim: PrivacyClaim) -> float:
    """Return the highest accuracy, in percent, of guessing which of two equally likely neighbouring tables was used."""
    main, delta = map(float, claim.d_out if isinstance(claim.d_out, tuple) else (claim.d_out, 0))
    return attack_accuracy(total_variation(main, delta, concentrated=claim.main_symbol == "rho"))


def payment_text(record: ReleaseRecord) -> str:
    """Return which entry of which ledger paid for the release, if any."""
    entry = record.ledger
    if entry is None:
        return "No ledger was named: only this record documents the cost."
    return f"Entry {entry['entry']} of the ledger of {entry['dataset']}, charged {format_time(entry['time'])}."


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
