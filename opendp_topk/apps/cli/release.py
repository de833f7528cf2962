"""``opendp-topk release``: the private top-k of a table, for people and for programs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from ...errors import ParameterError, TableError
from ...tables import frames as parts
from ...tables.files import ISO, POINT
from ..ledger import Ledger
from ..ledger.journal import now
from ..ledger.stated import Stated
from ..planning.groups import InGroups
from ..planning.joined_items import parts_of
from ..planning.numbered_rows import ROW
from ..planning.others import Other
from ..planning.plan import Plan, Query, Task, promises_of
from ..planning.quantile import Numbers
from ..planning.release_record import Read, Released, ReleaseRecord, list_digest, parameters_of
from ..planning.units import Users
from . import show
from .asking import Options, met, stating
from .candidates import as_integers, as_written, read_candidates, remarked
from .engines import (
    ENGINES,
    DateFormatOption,
    DecimalOption,
    EncodingOption,
    Engine,
    EngineOption,
    MasterOption,
    Reading,
    SeparatorOption,
    TypesOption,
    WhereOption,
)
from .exit_codes import Interrupted, uninterrupted
from .kept_files import FilesOption, kept
from .kept_records import KeptRecord
from .output import STDOUT, Destination, flush, unprinted
from .padded import PadOption, held, require_fitting
from .payment import budget, drawn, require_unpaid, told
from .planned_files import one_of
from .record_file import read_fields
from .shown import show_release

_LOG = logging.getLogger(__name__)  # how far a release is, never data

MORE = "Every further release from this table adds its cost."
AGAIN = "It is the answer that was given before: nothing was drawn or paid, and the table was not looked at."
PUBLIC = (
    f"The list of candidates must be public: one that was taken from the table would itself reveal who is in it. {MORE}"
)

GRID = f"Bounds and step must be public: a look at the table before they were chosen would reveal some of it. {MORE}"


@stating
def release(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .parquet or .csv file (or .csv.gz, .csv.zst) with a row for each (user, item), or a folder or a "
            "pattern of .parquet files; - reads CSV from standard input.",
        ),
    ],
    user: Annotated[
        str | None,
        typer.Option(
            help="The column that identifies users; needed but for --rows-per-person.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            help="The column that holds items; needed but for --quantile. Several with commas between them, such as "
            "region,product, make one item together; a name with a comma stands in double quotes.",
            metavar="COLUMN",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="The items that may be released, a public list: text with one a line, or a .json list, or a "
            ".parquet or .csv file of one column (a .csv file with a header), or of those of --item. If "
            "there is no such list, give --delta.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    *,
    options: Options,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write a JSON record here, or to a name that ends in .csv a table of the items alone; - prints the "
            "record on standard output instead of the table.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file of --out if it exists.")] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="A budget to take the cost from, before the table is read; `opendp-topk ledger create` makes one.",
        ),
    ] = None,
    label: Annotated[str, typer.Option(metavar="TEXT", help="A line about the release, for people.")] = "",
    own: Stated,
    at_most: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With a --ledger whose people are told apart by another column: with how many values of --user one "
            "person has rows at most. The target is met for the person.",
            show_default=False,
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared", help="With --at-most: rows with one such value may be of several people, as of a household."
        ),
    ] = False,
    engine: EngineOption = ENGINES[0],
    master: MasterOption = None,
    separator: SeparatorOption = ",",
    encoding: EncodingOption = "utf-8",
    types: TypesOption = None,
    decimal: DecimalOption = POINT,
    date_format: DateFormatOption = ISO,
    where: WhereOption = None,
    files: FilesOption = None,
    pad: PadOption = None,
    planned_by: Annotated[
        str | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="Make one of the releases of this plan, which the entry --planned of the --ledger has paid for: what "
            "is asked, and the noise, are those of the plan. --label names which one; the next, if not given.",
            show_default=False,
        ),
    ] = None,
    planned: Annotated[
        int | None,
        typer.Option(
            metavar="ENTRY", help="With --plan: the entry that `ledger reserve --plan` has made.", show_default=False
        ),
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Pay once more for a --label and --period for which the --ledger has paid before."
        ),
    ] = False,
    from_record: Annotated[
        str | None,
        typer.Option(
            metavar="RECORD",
            help="Answer from the record of a release of the same question (measurement, candidates, unit and label) "
            "that the --ledger has paid for: nothing is drawn or paid, and the table is not looked at.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Release the k items that most users have.

    With --sum COLUMN it is those with the largest sums of a column of numbers, and with --quantile P numbers: for
    each quantile a multiple of --step within --bounds whose rank in a column is near it.
    Only the items are released, and with --counts a noisy count of each; never an exact count. The mechanism
    noisy_top_k_with_gaps adds by how much each leads the next. The noise is the least that meets the privacy
    target. A user counts once for an item, however many rows say so.

    \b
    Example:
      opendp-topk release loans.parquet --user reader --item book \\
        --candidates catalogue.txt --k 10 --epsilon 1 --out top10.json
      opendp-topk release searches.parquet --user visitor --item term --k 10 --epsilon 1 --delta 1e-8
      opendp-topk release searches.parquet --user visitor --item term --keys --max-items 50 --epsilon 1 --delta 1e-8
      opendp-topk release sales.parquet --user buyer --item book --sum paid \\
        --bounds 0,50 --step 0.01 --candidates catalogue.txt --k 10 --epsilon 1
      opendp-topk release loans.parquet --user reader --quantile 1/2 --column age --bounds 0,120 --epsilon 1
      opendp-topk release loans.parquet --user reader --item book --candidates catalogue.txt \\
        --group town --groups towns.txt --k 3 --epsilon 1
      opendp-topk release views.parquet --rows-per-person 10 --item page --candidates pages.txt --k 10 --epsilon 1
    """
    require_fitting(pad, files, from_record)
    chosen = Engine(engine, master)
    options = replace(options, user=user or "", item=item or "", at_most=at_most, shared=shared)
    _require_people(user, options, engine)
    bound = at_most if options.rows_per_person is None else options.rows_per_person
    words = {"label": label, "at_most": bound, "shared": shared, **own}
    if planned_by is not None:
        _require_planned(options, planned, ledger, words, from_record)
    elif options.quantile is not None and (item, candidates) != (None, None):
        raise ParameterError(
            "--quantile chooses among the multiples of --step within --bounds: leave --item and --candidates out"
        )
    options.require_whole(listed=candidates is not None)
    others = None if planned_by is not None else options.others
    query: Query[Any, Users] | None
    if candidates is None:
        listed, query = None, None if planned_by is not None else _without_a_list(options)
    else:
        options.require_listed()
        listed = remarked(read_candidates(candidates, options.columns.parts), *options.items)
        query = None if planned_by is not None else options.of_list(len(listed), _groups(options))
    plan: Plan[Any, Users]
    number = None if listed is None else len(listed)
    with show.working("planning"):
        plan = met(query) if query is not None else one_of(str(planned_by), number, options)
    query = plan.query
    columns = query.unit.columns
    reading = Reading.of(separator, encoding, where, types, decimal, date_format, columns.value)
    _LOG.info("planned: scale %s", parameters_of(plan.measurement).get("scale"))
    read = tuple(
        file for file in (table, candidates, options.groups, ledger, from_record, planned_by) if file is not None
    )
    listing = None if listed is None else list_digest(listed)
    grouping = list_digest(query.task.groups) if isinstance(query.task, InGroups) else None
    with Destination(out, force=force, keep=read) as destination, budget(ledger, query, words) as account:
        failure: Exception | None = None
        if from_record is not None:
            whole = plan if others is None else others.after(plan)
            question = whole, where, listing, told(words, account), grouping
            record = _again(from_record, account, question, files)
        else:
            started, store = now(), KeptRecord(account, out)
            if account is not None and planned is None:
                require_unpaid(account, words, again)

            def answered() -> tuple[ReleaseRecord, str]:
                with chosen.table(table, reading, columns.names) as source:
                    rows = columns.tables.validate(columns.read(source.frame))
                    kinds = rows.collect_schema()
                    _LOG.info("the table has the columns")
                    asked_for = plan if columns.group is None else _of_table(plan, kinds[columns.group].is_integer())
                    if isinstance(columns, Numbers):
                        asked_for = plan.on(None)
                    elif listed is not None:
                        asked_for = asked_for.on(
                            as_written(listed, columns.parts, source.frame)
                            if columns.parts
                            else as_integers(listed, columns.item)
                            if kinds[columns.item].is_integer()
                            else listed
                        )
                    promises = promises_of(asked_for)
                    whole = asked_for if others is None else others.after(asked_for)
                    source.require_readable(rows, columns.names, paid=account is not None)
                    with kept(files, source.files) as digest:
                        read_as = Read(chosen.recorded(), where, digest, listing, pad, grouping)

                        def recorded(
                            released: Any, entry: Mapping[str, Any] | None, stated: Mapping[str, Any]
                        ) -> ReleaseRecord:
                            source.require_unchanged()
                            winners = _winners(released, asked_for.query.task, others)
                            if columns.parts:
                                winners = replace(winners, items=list(map(parts_of, winners.items)))
                            made = ReleaseRecord.of(winners, whole, promises, entry, read_as, stated)
                            return made if pad is None else replace(made, time=started)

                        kept_at_once = {} if pad is not None else {"keep": store.keep}
                        return drawn(whole, rows, account, words, recorded, planned, again=again, **kept_at_once)

            with show.working("reading and counting") as seen:
                parts.watcher.set(seen.parts if pad is None else show.Working().parts)
                record, unsettled = held(pad, answered)
                if pad is not None:
                    store.keep(record)
                failure = _unkept(store, record, ledger, unsettled)
                _LOG.info("%d items were released", len(record.released.items))
        try:
            with uninterrupted():
                destination.write(record)
        except TableError as error:
            failure = error
        try:
            if out != STDOUT:
                why = [("why", plan.why)] if plan.why and from_record is None else []
                show_release(record, [*why, *_other(record.released, others)])
            flush()
        except KeyboardInterrupt:
            failure = Interrupted("interrupted while the release was printed: it was drawn and has its cost")
        except OSError as error:
            failure = unprinted(error)
        if failure is not None:
            raise failure
        last = GRID if isinstance(columns, Numbers) else PUBLIC if listed else MORE
        last = last if from_record is None else AGAIN
        if from_record is None and store.path is not None:
            last = f"Its record is {store.path}. {last}"
        show.note(f"The release was written to {out}. {last}" if destination.is_file else last)


def _unkept(store: KeptRecord, record: ReleaseRecord, ledger: str | None, unsettled: str) -> Exception | None:
    """What to say where the record of a release that was paid, or that it was released, is not kept."""
    settled = f"opendp-topk ledger settle {ledger} {record.ledger['entry']} --record" if record.ledger else ""
    told = [store.failure] if store.failure else []
    told += [f"{unsettled}: run `{settled} {store.path or 'RECORD'}` when it can be written"] if unsettled else []
    return TableError(f"the release above was drawn and has its cost, but {', and '.join(told)}") if told else None


def _groups(options: Options) -> tuple[Any, ...] | None:
    """The public list of groups."""
    if options.groups is None:
        return None
    return remarked(read_candidates(options.groups, what="groups"), str(options.group), what="groups")


def _of_table(plan: Plan[Any, Users], integers: bool) -> Plan[Any, Users]:
    """The plan whose groups are those of a table, as integers or as they are."""
    query = plan.query
    groups = as_integers(query.task.groups, str(query.unit.columns.group), "groups") if integers else query.task.groups
    return replace(plan, query=replace(query, task=replace(query.task, groups=groups)))


def _winners(released: Any, task: Task, others: Other | None) -> Released:
    """What was released, for one list or for each of several groups, and the count of all others where there is one."""
    if isinstance(task, InGroups):
        return Released.of_groups(task.groups, released)
    return Released.of(released) if others is None else others.released(released)


def _require_people(user: str | None, options: Options, engine: str) -> None:
    """Raise unless it is said who a person is: by a column, or by how many rows one has."""
    rows = options.rows_per_person
    if (user is None) == (rows is None) or user == ROW:
        raise ParameterError(
            "give --user, the column that identifies users, or, where no column does, --rows-per-person N: how many "
            "rows one person has at most"
        )
    if rows is not None and (engine != ENGINES[0] or options.at_most is not None or options.shared):
        raise ParameterError("--rows-per-person goes with --engine polars alone, and without --at-most and --shared")
    if len(options.items) > 1 and engine != ENGINES[0]:
        raise ParameterError("--item with several columns goes with --engine polars alone")


def _without_a_list(options: Options) -> Query[Any, Users]:
    """The query where no candidates are listed."""
    return options.unlisted() if options.quantile is None else options.of_quantile()


def _require_planned(
    options: Options, planned: int | None, ledger: str | None, words: Mapping[str, Any], from_record: str | None
) -> None:
    """Raise where something is asked anew that the plan says."""
    if options.group is not None:
        raise ParameterError("--plan is for one list, and does not go with --group: leave one of them out")
    if planned is None or ledger is None:
        raise ParameterError("--plan goes with --ledger and --planned ENTRY, the entry that has paid for the plan")
    asked = (
        *(options.k, options.epsilon, options.rho, options.delta, options.mechanism, options.summed),
        *(options.quantile, options.column, options.bounds, options.step, options.max_rows, options.rows_per_person),
    )
    others = (options.kind, options.users, options.neighbors, options.counts, options.other, options.by_gap)
    free = Options()
    if any(one is not None for one in asked) or others != (
        free.kind, free.users, free.neighbors, free.counts, free.other, free.by_gap,
    ):  # fmt: skip
        raise ParameterError("--plan says what is released and at what cost: leave --k, the target and the like out")
    if from_record is not None or any(word for name, word in words.items() if name != "label"):
        raise ParameterError("--plan goes with no words but --label, and not with --from-record")


def _again(path: str, account: Ledger | None, question: tuple[Any, ...], files: str | None) -> ReleaseRecord:
    """The record in the file ``path``, if it answers what ``asked`` makes of ``question``, and ``account`` has paid."""
    from ..planning.answers import answer, asked

    if account is None:
        raise ParameterError("--from-record needs --ledger: what it keeps tells whether the record is whole")
    if files is not None:
        raise ParameterError("--files lists what is read, and --from-record reads no table: leave one out")
    return answer(read_fields(path), account, asked(*question))


def _other(released: Released, count: Other | None) -> list[tuple[str, str]]:
    """The row of the count of all other users, if it was asked for."""
    if count is None:
        return []
    return [("other", f"{released.other} users, with noise, have another item {show.other(count, 'of it')}")]
