"""``opendp-topk ledger``: create a budget, show its balance and entries, and verify its records."""

from __future__ import annotations

import shlex
from typing import Any

import typer
from typer.core import TyperGroup

from ...errors import BudgetError, ParameterError, SpaceError
from ...numerics.arithmetic import round_up
from ...spaces.measures import MaxDivergence, PrivacyProfile, ZeroConcentratedDivergence
from ...spaces.metrics import UserDistance
from ..ledger import Entry, Ledger
from ..ledger.amounts import Filter, parse_exact
from ..ledger.planned import PLANNED
from ..ledger.report import csv_table, format_distance, json_lines, ledger_summary, release_title
from ..ledger.stated import TITLES
from ..planning.options import given_options, option_words, require_one_option
from ..planning.question import NEIGHBORS
from ..planning.record_file import read_fields
from ..planning.record_store import STDOUT
from ..planning.release_record import record_digest
from ..planning.several import format_stated_number
from . import show
from .exit_codes import DATA
from .files import read_schedule
from .ledger_page import render_ledger_page
from .options import Positive, documented_command
from .output import print_action, print_json, print_result, require_file_ending, write_text_file


class _ShowFirst(TyperGroup):
    """``ledger FILE`` is ``ledger show FILE``; of two words, the first must be a command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = args[0] in self.commands or args[0].startswith("-") or (len(args) > 1 and not args[1].startswith("-"))
        return super().resolve_command(ctx, args if known else ["show", *args])


ledger = typer.Typer(
    name="ledger",
    cls=_ShowFirst,
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Manage the privacy budget of one data set: create, show, verify and report.\n\n`ledger LEDGER` is short for "
    "`ledger show LEDGER`. `release --ledger` charges the cost of a release before the table is counted, and "
    "refuses a release that does not fit. Exit codes: 0 success; 1 input, budget or verification error; 2 usage "
    "error; 130 Ctrl-C. The message of an error after a charge reports that the budget was spent.",
)


def create(
    file: str,
    *,
    dataset: str,
    epsilon: str | None = None,
    rho: str | None = None,
    delta: str | None = None,
    own_delta: str | None = None,
    neighbors: str = NEIGHBORS[0],
    users: Positive = 1,
    user: str | None = None,
    person: str | None = None,
    publisher: str | None = None,
    period: str | None = None,
    purpose: str | None = None,
    accept_file_system: str | None = None,
    as_json: bool = False,
) -> None:
    """Create a new ledger. Its budget and its privacy unit cannot be changed later.

    \b
    Example:
      opendp-topk ledger create budget.ledger --dataset visits \\
        --epsilon 3 --user visitor
      opendp-topk release top-k visits.parquet --user visitor --item page \\
        --candidates pages.txt --k 10 --epsilon 0.1 --ledger budget.ledger

    Options:
        dataset (NAME): Name of the data set that the budget protects.
        epsilon (X): Total epsilon of the budget, an exact number. Give this or --rho.
        rho (X): Total rho of the budget, an exact number. Give this or --epsilon.
        delta (D, needs epsilon): With --epsilon: a budget (epsilon, delta), which pays for releases under --epsilon and
            under --rho.
        own_delta (D, needs delta): With --delta: the part of it for releases with a delta of their own, and for plans.
            Default: 0.
        neighbors (add_remove|replace): add_remove: a neighbouring table has one user more or fewer. replace: the rows
            of one user are replaced by those of another.
        users (D_IN): Number of users in which neighbouring data sets differ: the size of the protected group.
        user (COLUMN): The column that identifies users. A release that uses another column is refused, or needs
            --at-most.
        person (WORD): Word for one user, such as reader. Default: the name of the column --user.
        accept_file_system (KIND): Accept this kind of file system, as it is named in the error that refused it.
    """
    require_one_option("budget", {"--epsilon X": epsilon, "--rho X": rho})
    measure: Any = MaxDivergence() if rho is None else ZeroConcentratedDivergence()
    budget: Any = parse_exact(epsilon or rho, "--epsilon" if rho is None else "--rho")
    if delta is not None:
        measure, budget = PrivacyProfile(), (budget, parse_exact(delta, "--delta"))
    with Ledger.create(
        file,
        budget=budget,
        measure=measure,
        dataset=dataset,
        metric=UserDistance(neighbors),
        d_in=users,
        user=user,
        person=person,
        own_delta=own_delta,
        accept_file_system=accept_file_system,
        publisher=publisher,
        period=period,
        purpose=purpose,
    ) as account:
        _print_ledger(account, history=False, as_json=as_json)


def show_ledger(file: str, *, history: bool = False, as_json: bool = False) -> None:
    """Show the budget, the amount spent and the amount left.

    Options:
        history: List all entries.
    """
    with Ledger(file) as found:
        _print_ledger(found.at_one_moment(), history=history, as_json=as_json)


def report(file: str, *, to: str | None = None, as_json: bool = False) -> None:
    """Write an HTML page for a privacy officer: the budget over time, every entry, and the amount left.

    Options:
        to (FILE): A new .html file. Default: print a summary.
    """
    if to is None:
        show_ledger(file, history=True, as_json=as_json)
        return
    require_file_ending(to, (".html",))
    with Ledger(file) as account:
        write_text_file(to, render_ledger_page(account), as_json=as_json)


def verify(file: str, *, head: str | None = None, key: str | None = None, as_json: bool = False) -> None:
    """Recompute all digests and totals, and compare the records with a head that was kept elsewhere.

    The exit code is 1 if the ledger is inconsistent.

    Options:
        head (HEAD): A head that `ledger head` printed earlier and you kept.
    """
    with Ledger(file) as account:
        found = account.verify(head, key=key)
    whole = f"consistent{'' if head is None else ', and it continues from the head that was kept'}"
    print_result({"whole": not found, "problems": found}, *(found or [whole]), as_json=as_json)
    if found:
        raise typer.Exit(DATA)


def head(file: str, *, sign: str | None = None, as_json: bool = False) -> None:
    """Print the head, a line that commits to all records so far.

    Keep it out of reach of those who can write the ledger.

    Options:
        sign (KEY): Sign the head with the private Ed25519 key in this file, in PEM (extra sign).
    """
    with Ledger(file) as account:
        line = account.head(sign=sign)
    if as_json:
        print_json({"head": line})
    else:
        typer.echo(line)  # never wrapped, even if the terminal is narrow


def accept(file: str, kind: str, *, as_json: bool = False) -> None:
    """Accept a kind of file system that was refused, or the server to which a ledger was moved.

    The ledger records what was accepted, and `ledger show` shows it.

    Options:
        kind (KIND): The kind of file system or the server that an error named, such as overlay.
    """
    with Ledger(file, accept_file_system=kind) as account:
        kinds = list(account.accepted)
    print_result(
        {"accepted": kinds}, f"The ledger accepts {', '.join(kinds)} now, as its records show.", as_json=as_json
    )


def reserve(
    file: str,
    *,
    amount: str | None = None,
    label: str = "",
    plan: str | None = None,
    labels: str | None = None,
    as_json: bool = False,
) -> None:
    """Pay in advance: an amount for a release made elsewhere, or planned releases. The amount counts as spent.

    Options:
        amount (X): Exact amount to charge, in the measure of the ledger; X,DELTA for a pair.
        label (TEXT): One line that describes the entry.
        plan (FILE): Instead of an amount: charge all releases of this plan at once, written by `plan --releases N --out
            FILE`.
        labels (TEXT,..., needs plan): With --plan: labels of its releases in order, with commas between them, such as
            2024-W01,2024-W02. Default: release 1 of N, and so on.
    """
    require_one_option("charge", {"--amount X": amount, "--plan FILE": plan})
    if plan is not None:
        number, several = _reserve_schedule(file, plan, label, labels)
        said = f"Entry {number} has paid for {several} releases. Each: opendp-topk release ... --plan {plan} "
        print_result(
            {"entry": number, "releases": several}, f"{said}--planned {number} --ledger {file}", as_json=as_json
        )
        return
    parts = tuple(str(amount).split(","))
    with Ledger(file) as account:
        made = account.reserve(cost=parts if len(parts) > 1 else parts[0], label=label)
    said = f"Entry {made.number} is reserved. After the release: opendp-topk ledger settle {file} {made.number}"
    print_result({"entry": made.number}, said, as_json=as_json)


def _reserve_schedule(ledger: str, path: str, label: str, labels: str | None) -> tuple[int, int]:
    """Pay from a ledger for all releases of a plan file. Return the number of the entry and the number of releases.

    ``labels`` are those of the releases, with commas between them; None for the plan's own.
    """
    schedule = read_schedule(path)
    names = schedule.release_labels if labels is None else labels.split(",")
    if len(names) != schedule.releases:
        raise ParameterError(f"--labels must be one for each of the {schedule.releases} releases of the plan")
    with Ledger(ledger) as account:
        own = {} if account.user is None else {"user": account.user}
        one = schedule.with_options(own).single_release_plan()
        unit, budget = one.query.unit, one.query.budget
        try:
            pairs = [(one.measurement, name) for name in names]
            made = account.reserve_all(pairs, d_in=unit.d_in, delta=budget.delta, label=label)
            return made.number, schedule.releases
        except (SpaceError, BudgetError) as error:
            refused = error
        if isinstance(refused, BudgetError) and account.limit[1] >= float(budget.delta or 0):
            raise refused
        epsilon, delta = map(format_stated_number, schedule.question.task_budget.d_out)
        words = ["--dataset", "NAME", "--epsilon", epsilon, "--delta", delta, "--own-delta", delta]
        words += option_words({**given_options(schedule.question), **own}, {"user", "users", "neighbors"})
        create = shlex.join(["opendp-topk", "ledger", "create", "NEW.ledger", *words])
        raise type(refused)(f"{refused}. This plan needs a ledger made with: {create}")


def settle(file: str, number: int, *, failed: bool = False, record: str | None = None, as_json: bool = False) -> None:
    """Mark a reserved entry as released or failed. Nothing is refunded.

    Options:
        number (ENTRY): Number of the entry.
        failed: Mark the entry as failed and not released. Default: released.
        record (FILE, excludes failed): Record of the release. Its digest is stored in the entry, if that was not
            possible when the release was made.
    """
    state = "failed" if failed else "released"
    with Ledger(file) as account:
        account.settle(number, state, record=None if record is None else _record_file_digest(account, number, record))
    print_result({"entry": number, "state": state}, f"Entry {number} is {state}.", as_json=as_json)


def _record_file_digest(account: Ledger, number: int, path: str) -> str:
    """Return the digest of the record in a file, after checking that it is the record of entry ``number``."""
    fields = read_fields(path)
    paid, entry = fields["ledger"] or {}, account.entry(number)
    told = tuple(map(paid.get, ("entry", "dataset", "time", "claim", "head")))
    if told != (number, account.dataset, entry.time, entry.claim, account.head(number)):
        raise ParameterError(f"--record must be the record of entry {number} of this ledger")
    return record_digest(fields)


def export(file: str, *, to: str = STDOUT) -> None:
    """Export all entries for other programs, as JSON lines or CSV.

    Options:
        to (FILE): A new .jsonl or .csv file; - prints JSON lines on standard output.
    """
    require_file_ending(to, (".jsonl", ".csv"))
    with Ledger(file) as account:
        text = csv_table(account) if to.lower().endswith(".csv") else json_lines(account)
    write_text_file(to, text)


def backup(file: str, new: str, *, as_json: bool = False) -> None:
    """Copy the records to a new file, and check them.

    The copy is itself a ledger: keep it in a place from which no release is paid.

    Options:
        file (LEDGER): A file, or postgresql://user@host/database#schema/name.
        new (NEW): A new file.
    """
    with Ledger(file) as found:
        account = found.at_one_moment()
        account.backup(new)
        head = account.head()
    print_action({"written": new, "head": head}, f"Copied to {new}.", as_json=as_json)


def repair(file: str, *, charge_rest: bool = False, as_json: bool = False) -> None:
    """Repair a damaged ledger file. The amount spent is never lowered; the damaged file is kept beside it.

    Options:
        file (LEDGER): A file.
        charge_rest: Charge all of the remaining budget if records at the end are lost.
    """
    found = Ledger.repair(file, charge_rest=charge_rest)
    print_result({"repaired": found}, *(found or ["nothing to repair"]), as_json=as_json)


def _print_ledger(account: Ledger, *, history: bool, as_json: bool) -> None:
    if as_json:
        entries = {"entries": [one.as_dict() for one in account.history()]} if history else {}
        print_json({**ledger_summary(account), **entries})
        return
    count = account.count()
    mixes = account.counted != account.measure
    kinds = [kind for kind in account.accepted if " " not in kind]  # entries with a blank are servers
    room = account.room()
    limit = [("may be charged", f"{format_distance(account.limit)} (rho, deltas of releases)")] if mixes else []
    show.print_rows(
        [
            ("data set", account.dataset),
            ("protects", f"data sets at distance {account.d_in} under {account.metric}"),
            *([] if account.user is None else [("a person is", f"a {account.person}: the column {account.user}")]),
            *((TITLES[name], word) for name, word in account.stated.items()),
            ("measure", f"{type(account.measure).__name__} ({account.measure.symbol})"),
            ("budget", account.promise),
            *limit,
            *((kind.partition(" ")[0], kind.partition(" ")[2]) for kind in account.accepted if " " in kind),
            *([("file system", f"{', '.join(kinds)}: accepted, without guarantees")] if kinds else []),
            ("spent", f"{format_distance(account.spent())} on {count} {'entry' if count == 1 else 'entries'}"),
            ("left", format_distance(account.remaining())),
            *(("planned", _planned_text(account, one)) for one in account.history() if one.measurement == PLANNED),
            *((f"sum of {one.adds}", _filter_sum_text(one)) for one in account.filters()),
            *([("would fit", ", or ".join(f"{name} {most}" for name, most in room.items()))] if room else []),
        ]
    )
    if history:
        show.print_paragraphs("")
        show.print_table(
            ("no.", "cost", "time", "state", "release"),
            (
                (str(one.number), format_distance(one.cost), one.time, one.state, one.label or release_title(one))
                for one in account.history()
            ),
            right=range(2),
        )


def _planned_text(account: Ledger, entry: Entry) -> str:
    planned = account.planned(entry.number)
    return f"{len(planned.left())} of {len(planned.labels)} releases left, paid by entry {entry.number}"


def _filter_sum_text(one: Filter) -> str:
    spent, limit = (f"{round_up(part):.6g}" if part < float("inf") else "inf" for part in (one.spent, one.limit))
    return (
        f"{spent} of {limit}, at delta {round_up(one.delta):.3g}{'' if one.alive else ': accepts no further release'}"
    )


for command in (create, show_ledger, verify, head, reserve, accept, settle, export, report, backup, repair):
    ledger.command(command.__name__.removesuffix("_ledger"))(documented_command(command))
