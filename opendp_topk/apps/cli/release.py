"""``opendp-topk release``: make a private release from a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import ParameterError, TableError
from ..planning.options import OptionGroup, build_options
from ..planning.question import Question, ReleasePlan
from ..planning.questions import question_class
from ..planning.record_store import STDOUT, Interrupted, ignore_interrupts
from ..planning.release_record import OtherUsersCount, ReleasedItems
from ..planning.releasing import (
    PaymentOptions,
    ReleaseOptions,
    TableOptions,
    TableRelease,
    release_table,
    require_release_options,
)
from . import show
from .files import print_list_remarks, read_schedule
from .options import OutputOptions, QuestionGroup, question_command
from .output import RecordDestination, flush_stdout, unprinted_release_error
from .shown import show_release

MORE = "Every further release from this table adds its cost."
AGAIN = "This is the earlier answer: nothing was drawn or charged, and the table was not read."
PUBLIC = f"The list of candidates must be public: a list taken from the table would itself reveal private data. {MORE}"
GRID = f"Bounds and step must be public: choosing them from the table would itself reveal private data. {MORE}"

_ABOUT = """Release items or numbers from a table, with differential privacy.

Only what is asked for is released, and never an exact count. The noise is the smallest that meets the privacy target. A
user counts once for an item, even with several rows, unless --rows-per-person is given."""


@dataclass(frozen=True, kw_only=True)
class PlannedOptions(OptionGroup):
    """One release of a plan for which a ledger has paid. The columns and the list replace those of the plan.

    What is asked:
        plan (FILE): Plan of several releases. As `plan top-k --releases N --out FILE` writes it.
        item (COLUMN): Column of items.
        candidates (FILE): Public list of the items.

    Budget:
        planned (ENTRY): Entry of the ledger that paid for the plan. See `ledger reserve --plan`.
        ledger (LEDGER): Ledger that has paid for the plan.
        label (TEXT): Which of the releases. Default: the next.
        period (TEXT): Period of the data, such as 2024-W01. Repeated in the record and the ledger.

    People:
        user (COLUMN): Column that identifies users.
    """

    plan: str | None = None
    planned: int | None = None
    ledger: str | None = None
    label: str = ""
    period: str | None = None
    item: str | None = None
    candidates: str | None = None
    user: str | None = None


def release_command(kind: str) -> Any:
    """Return the command that answers the question of this kind, or makes a planned release."""
    if kind == "planned":
        groups: list[type] = [PlannedOptions, TableOptions, OutputOptions]
        example = "  opendp-topk release planned loans.parquet --user reader --item book \\\n"
        example += "    --candidates books.txt --plan plan.json --planned 1 --ledger budget.ledger"
        return question_command(kind, FURTHER[kind], example, groups, _run_planned, table=True)
    question = question_class(kind)

    def run(table: str, given: Mapping[str, Any]) -> None:
        asked, options = question.build(given), build_options(ReleaseOptions, given)
        require_release_options(options, asked)
        _print_remarks(asked)
        with show.show_progress("planning"):
            ready = asked.plan()
        run_release(ready, table, given, options)

    groups = [*question.option_groups(), TableOptions, PaymentOptions, OutputOptions]
    example = f"  opendp-topk release {kind} loans.parquet --user reader \\\n    {question.release_example}"
    return question_command(kind, question.summary, example, groups, run, table=True)


FURTHER = {"planned": "Make one release of a plan of several releases that a ledger has paid for."}
release = QuestionGroup("release", _ABOUT, release_command, FURTHER)


def _run_planned(table: str, given: Mapping[str, Any]) -> None:
    asked = build_options(PlannedOptions, given)
    if None in (asked.plan, asked.planned, asked.ledger):
        raise ParameterError("give --plan, --ledger and --planned ENTRY, the entry that paid for the plan")
    names = {"user", "item", "candidates"}
    schedule = read_schedule(asked.plan).with_options({name: given[name] for name in given if name in names})
    _print_remarks(schedule.question)
    ready = ReleasePlan(schedule.question, schedule.single_release_plan())
    options = ReleaseOptions(
        reading=build_options(TableOptions, given),
        payment=PaymentOptions(ledger=asked.ledger, label=asked.label, period=asked.period),
        planned=asked.planned,
    )
    run_release(ready, table, given, options)


def _print_remarks(question: Question) -> None:
    """Print remarks about unusual candidates and groups, which are public."""
    columns = question.columns
    if question.item_list is not None:
        print_list_remarks(question.item_list, *(columns.parts or (columns.item,)))
    groups = question.group_list
    if groups is not None:
        print_list_remarks(groups, str(columns.group), what="groups")


def run_release(ready: ReleasePlan, table: str, given: Mapping[str, Any], options: ReleaseOptions) -> None:
    """Make a release, write its record and print it."""
    question, payment, output = ready.question, options.payment, build_options(OutputOptions, given)
    named = (table, *question.read_files, payment.ledger, payment.from_record, given.get("plan"), given.get("config"))
    read = tuple(one for one in named if one is not None)
    again = payment.from_record is not None
    with (
        RecordDestination(output.out, force=output.force, keep=read) as destination,
        show.show_progress("releasing") as progress,
    ):

        def finish(found: TableRelease) -> None:
            progress.stop()
            failure: Exception | None = found.failure
            try:
                with ignore_interrupts():
                    destination.write_record(found.record)
            except TableError as error:
                failure = error
            try:
                if output.out != STDOUT:
                    why = [("why", ready.plan.why)] if ready.plan.why and not again else []
                    other = _other_users_row(found.record.released, question.other_users_count)
                    show_release(found.record, [*why, *other])
                flush_stdout()
            except KeyboardInterrupt:
                failure = Interrupted("interrupted while the release was printed: it was drawn, and its cost is spent")
            except OSError as error:
                failure = unprinted_release_error(error)
            if failure is not None:
                raise failure
            last = GRID if question.numbers else PUBLIC if question.item_list else MORE
            last = AGAIN if again else last if found.path is None else f"Its record is {found.path}. {last}"
            show.print_note(f"The release was written to {output.out}. {last}" if destination.is_file else last)

        release_table(question, ready.plan, table, options, out=output.out, report=progress.report_parts, finish=finish)


def _other_users_row(released: ReleasedItems, count: OtherUsersCount | None) -> list[tuple[str, str]]:
    if count is None:
        return []
    return [
        ("other", f"{released.other} users (a noisy count) have another item {show.other_cost_text(count, 'of it')}")
    ]
