"""``opendp-topk release``: the private top-k of a table, for people and for programs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ..core.candidates import index_candidates
from ..core.measurement import Measurement
from ..errors import TableError
from ..planning.catalogue import RELEASES
from ..spaces.domains import Domain
from ..tables import parts
from . import guarantees, show
from .above import Above, AboveOption, discovered
from .above import promise as above_promise
from .above import show_release as show_above
from .candidates import as_integers, read_candidates
from .engines import (
    ENGINES,
    EncodingOption,
    Engine,
    EngineOption,
    MasterOption,
    Reading,
    SeparatorOption,
    WhereOption,
)
from .exit_codes import Interrupted, uninterrupted
from .kept_files import FilesOption, kept
from .options import (
    NEIGHBORS,
    CountsOption,
    Delta,
    Epsilon,
    K,
    Limit,
    MaxItems,
    MechanismOption,
    NeighborsOption,
    ReleaseOption,
    Rho,
    Users,
    target,
)
from .others import OtherOption, found, relaxed, show_other, split
from .output import STDOUT, Destination, flush, unprinted
from .payment import budget, drawn
from .planning import Request
from .record import Promise, Read, Winners, record
from .scoring import BoundsOption, KeepOption, StepOption, SumOption, scoring
from .unlisted import Unlisted, given, require_unlisted
from .unlisted import promise as unlisted_promise
from .unlisted import show_release as show_unlisted

_LOG = logging.getLogger(__name__)  # how far a release is, never data

MORE = "Every further release from this table adds its cost."
PUBLIC = (
    f"The list of candidates must be public: one that was taken from the table would itself reveal who is in it. {MORE}"
)


def release(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A .parquet or .csv file (or .csv.gz, .csv.zst) with a row for each (user, item), or a folder or a "
            "pattern of .parquet files; - reads CSV from standard input.",
        ),
    ],
    user: Annotated[str, typer.Option(help="The column that identifies users.", metavar="COLUMN")],
    item: Annotated[str, typer.Option(help="The column that holds items.", metavar="COLUMN")],
    k: K = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            help="The items that may be released, a public list: text with one a line, or a .json list, or a "
            ".parquet or .csv file of one column (a .csv file with a header). If there is no such list, give --delta.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    delta: Delta = None,
    limit: Limit = None,
    max_items: MaxItems = None,
    neighbors: NeighborsOption = NEIGHBORS[0],
    users: Users = 1,
    kind: ReleaseOption = RELEASES[0],
    mechanism: MechanismOption = None,
    counts: CountsOption = False,
    summed: SumOption = None,
    bounds: BoundsOption = None,
    step: StepOption = None,
    above: AboveOption = False,
    keep: KeepOption = "order",
    other: OtherOption = False,
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
    label: Annotated[str, typer.Option(metavar="TEXT", help="A line about the release for the ledger.")] = "",
    engine: EngineOption = ENGINES[0],
    master: MasterOption = None,
    separator: SeparatorOption = ",",
    encoding: EncodingOption = "utf-8",
    where: WhereOption = None,
    files: FilesOption = None,
) -> None:
    """Release the k items that most users have.

    With --sum COLUMN it is those with the largest sums of a column of numbers.
    Only the items are released, and with --counts a noisy count of each; never an exact count. The mechanism
    noisy_top_k_with_gaps adds by how much each leads the next. The noise is the least that meets the privacy
    target. A user counts once for an item, however many rows say so.

    \b
    Example:
      opendp-topk release loans.parquet --user reader --item book \\
        --candidates catalogue.txt --k 10 --epsilon 1 --out top10.json
      opendp-topk release searches.parquet --user visitor --item term --k 10 --epsilon 1 --delta 1e-8
      opendp-topk release sales.parquet --user buyer --item book --sum paid \\
        --bounds 0,50 --step 0.01 --candidates catalogue.txt --k 10 --epsilon 1
    """
    chosen, scored = Engine(engine, master), scoring(summed, bounds, step)
    reading, columns = Reading.of(separator, encoding, where), (user, item) if summed is None else (user, item, summed)
    goal, others = split(target(epsilon, rho), users, neighbors, scored, asked=other)
    domain = scored.domain(user, item)
    request: Request | Unlisted
    if candidates is None:
        listed, wanted = None, (kind, mechanism, counts)
        request = discovered(above, k, goal, delta, users, neighbors, limit, max_items, wanted, scored, keep)
        with show.working("planning"):
            planned = request.planned(domain)
    else:
        require_unlisted(limit, max_items, above=above, keep=keep)
        listed, goal = read_candidates(candidates), relaxed(goal, delta, others)
        request = Request(given(k), len(listed), goal, users, neighbors, kind, mechanism, counts, scored)
        with show.working("planning"):
            planned = request.planned()
    _LOG.info("planned: scale %s", planned.parameters["scale"])
    read = tuple(file for file in (table, candidates, ledger) if file is not None)
    with Destination(out, force=force, keep=read) as destination, budget(ledger, request) as account:
        with show.working("reading and counting") as told, chosen.table(table, reading, columns) as source:
            parts.watcher.set(told.parts)
            rows = domain.validate(scored.read(source.frame))
            kinds = rows.collect_schema()
            _LOG.info("the table has the columns")
            if listed is None or isinstance(request, Unlisted):
                measurement = planned
            else:
                items = as_integers(listed, item) if kinds[item].is_integer() else listed
                measurement = chained(domain, items, request, planned.parameters["scale"])
            promised = promises(measurement, request)
            if others is not None:
                measurement = others.after(measurement)
            with kept(files, source.files) as digest:
                released, entry = drawn(measurement, rows, request, account, label)
                source.require_unchanged()
            winners = found(released, others)
            _LOG.info("%d items were released", len(winners.items))
        failure: Exception | None = None
        try:
            with uninterrupted():
                told_of = Read(chosen.recorded(), where, digest)
                destination.write(record(winners, measurement, request, promised, entry, told_of))
        except TableError as error:
            failure = error
        try:
            if out != STDOUT:
                show_release(winners, measurement, request, promised)
                show_other(winners, others)
            flush()
        except KeyboardInterrupt:
            failure = Interrupted("interrupted while the release was printed: it was drawn and has its cost")
        except OSError as error:
            failure = unprinted(error)
        if failure is not None:
            raise failure
        last = MORE if listed is None else PUBLIC
        show.note(f"The release was written to {out}. {last}" if destination.is_file else last)


def promises(measurement: Measurement, request: Request | Unlisted) -> dict[str, Promise]:
    """What theorems promise of the release."""
    if isinstance(request, Above):
        return {"accuracy": above_promise(measurement, request)}
    if isinstance(request, Unlisted):
        return {"accuracy": unlisted_promise(measurement, request)}
    return guarantees.promises(measurement, request)


def chained(domain: Domain, items: tuple[Any, ...], request: Request, scale: float) -> Measurement:
    """From a table to the released items."""
    return request.on(request.scoring.of(domain, request.neighbors, items), scale) >> index_candidates(items)


def show_release(
    winners: Winners, measurement: Measurement, request: Request | Unlisted, promised: Mapping[str, Promise]
) -> None:
    """Print the release for people."""
    if isinstance(request, Above):
        show_above(winners, measurement, request, promised["accuracy"])
        return
    if isinstance(request, Unlisted):
        show_unlisted(winners, measurement, request, promised["accuracy"])
        return
    ranked, counts, gaps = request.release == "ranking", winners.counts, winners.gaps
    headers = [
        *(["rank"] if ranked else []),
        *([f"noisy {request.scoring.noun}"] if counts is not None else []),
        *(["noisy lead"] if gaps is not None else []),
        "item" if ranked else "items, in the order of the candidates",
    ]
    columns = [
        *([map(str, range(1, request.k + 1))] if ranked else []),
        *([map(request.scoring.written, counts)] if counts is not None else []),
        *([(f"{gap:.6g}" for gap in gaps)] if gaps is not None else []),
        map(show.item, winners.items),
    ]
    show.table(headers, zip(*columns, strict=True), right=range(len(columns) - 1))
    show.say("")
    show.rows(
        [
            ("accuracy", promised["accuracy"].words),
            *([("counts", promised["count_accuracy"].words)] if counts is not None else []),
            ("cost", show.cost(measurement, request)),
            ("proof", show.proofs(measurement)),
        ]
    )
