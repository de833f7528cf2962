"""``opendp-topk demo``: a real release, offline, from a table that every Python carries."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from ..spaces.domains import FrameDomain
from . import show
from .options import target
from .plan import show_plan
from .planning import Request
from .record import Winners
from .release import chained, promises, show_release
from .stdlib import import_table, public_modules
from .unlisted import Unlisted, promise
from .unlisted import show_release as show_unlisted

_MODULE, _IMPORTS = "module", "imports"
_DELTA = 1e-6  # far below one over the number of modules


def demo(
    k: Annotated[int, typer.Option("--k", "-k", help="How many items to release.")] = 5,
    epsilon: Annotated[float, typer.Option(help="Epsilon of pure differential privacy.", metavar="E")] = 1.0,
) -> None:
    """Make a real release, offline, step by step.

    The table says which standard modules the modules of Python's standard library import.
    """
    items = public_modules()
    request = Request(k, len(items), target(epsilon, None))
    show.say("1. The table", style="bold")
    show.say(
        "The modules of this Python's standard library stand for people. A row (module, name) says that the module "
        "imports the name: the module is the user, the name is the item. They were parsed just now, not run. Which "
        "modules there are, and what any of them imports, is treated as secret: nothing of it is shown.",
        f"The candidates are {len(items)} names of standard modules, a public list that comes with the package.",
        "",
    )
    show.say("2. The plan, before the table is touched", style="bold")
    show_plan(request)
    with show.working("parsing the standard library"):
        table = import_table()
    domain = FrameDomain(user=_MODULE, item=_IMPORTS)
    measurement = chained(domain, items, request, request.planned().parameters["scale"])
    winners = Winners.of(measurement(table))
    show.say("", f"3. The release: the {k} names that most modules import", style="bold")
    show_release(winners, measurement, request, promises(measurement, request))
    show.say("", "4. The same as if nobody had a list of candidates", style="bold")
    _without_a_list(k, epsilon, domain, table)
    show.say("", "5. How to read it", style="bold")
    show.say(*_reading(measurement.map(1)), "")
    show.say("Your own table:", style="bold")
    show.say(
        "opendp-topk release TABLE.parquet --user COLUMN --item COLUMN \\",
        "  --candidates LIST.txt --k 10 --epsilon 1",
        "and with --delta 1e-8 in place of --candidates where nobody can list the items.",
    )


def _without_a_list(k: int, epsilon: float, domain: FrameDomain, table: Any) -> None:
    """The names come from the table itself, and those of few modules stay unseen."""
    show.say(
        "Now any name that a module imports may come out, of the standard library or not, and the names come from the "
        "secret table itself. So one that few modules import must stay unseen, but for the probability delta.",
        "",
    )
    asked = Unlisted(k, target(epsilon, None), _DELTA)
    planned = asked.planned(domain)
    show_unlisted(Winners.of(planned(table)), planned, asked, promise(planned, asked))


def _reading(epsilon: float) -> list[str]:
    factor = f"by a factor of more than e^{epsilon:g} = {math.exp(epsilon):.3g}" if epsilon < 500 else "(in theory)"
    return [
        f"- With any one module added to the table or taken away, no list becomes more or less likely {factor}: so "
        "the list says little about any single module.",
        "- The second list adds its own cost, and the delta: who makes both pays for both.",
        "- It is a random draw. Run the demo again and close competitors change places, and each further draw from the "
        "same table would add its cost.",
        "- No count and no score was shown. Names far ahead of the others nearly always win; the line 'accuracy' "
        "above says how far is enough.",
    ]
