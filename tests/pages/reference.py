"""The two pages of the reference: all public names, from their docstrings, and all commands, from their help."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import opendp_topk as tk
from docs.site import api
from opendp_topk.apps.audit.registry import document_of

_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
_ROLE = re.compile(r":\w+:(?=`)")
_WRITTEN = "Written by `python -m tests.pages`.\n"
_NAMES = f"""# Public names

`import opendp_topk as tk` gives all names: `tk.VectorDomain`, or `tk.noise.Gumbel` in a namespace. {_WRITTEN}
What a name takes, gives, promises and raises is in its docstring: `help(tk.make_report_noisy_top_k)`, or in the API
reference of the site.
"""
_COMMANDS = f"""# Commands

What `opendp-topk` and each of its commands say with `--help`. {_WRITTEN}
[How to use them](../howto/command.md) shows them at work.
"""


def names() -> str:
    """docs/reference/names.md: each public name with the first sentence of its docstring, and where it is proved."""
    groups: dict[str, list[str]] = {name: [] for name in api.titles()}
    for page, listed in api.pages().items():
        rows = groups[api.group(page)]
        if page.startswith("make_"):
            rows.append(_named(", ".join(f"`{name.rpartition('.')[2]}`" for name in listed), page, document_of(page)))
        else:
            rows += [_named(f"`{name.partition('.')[2]}`", name.partition(".")[2], None) for name in listed]
    head = "| name | what it is | proof |\n|---|---|---|\n"
    return _NAMES + "".join(
        f"\n## {title}\n\n{head}{''.join(sorted(rows, key=_place))}" for title, rows in groups.items() if rows
    )


def _place(row: str) -> bool:
    """Constructors stand before what they share a room with."""
    return not row.startswith("| `make_")


def _named(shown: str, name: str, document: str | None) -> str:
    value: Any = tk
    for part in name.split("."):
        value = getattr(value, part)
    proof = f"[proof](../../proofs/{document}.tex)" if document else ""
    mark = " **Experimental.**" if hasattr(value, "experimental") else ""
    return f"| {shown} | {_cell(summary(value))}{mark} | {proof} |\n"


def summary(value: Any) -> str:
    """The first paragraph of a docstring, on one line.

    Raises:
        ValueError: There is none.
    """
    found = inspect.getdoc(value)
    if not found:
        raise ValueError(f"{value} has no docstring")
    return _ROLE.sub("", " ".join(found.partition("\n\n")[0].split())).replace("``", "`")


def commands() -> str:
    """docs/reference/command.md: the help of each command, with its arguments and options in a table."""
    from typer.main import get_command

    from opendp_topk.apps.cli.app import app

    return _COMMANDS + "".join(_sections("opendp-topk", get_command(app)))


def _sections(name: str, command: Any) -> Iterator[str]:
    words, _, example = command.help.partition("\b\nExample:\n")
    example = getattr(command, "example", example)
    yield f"\n## {name}\n\n{_paragraphs(words)}"
    if example:
        yield f"\n```sh\n{inspect.cleandoc(example)}\n```\n"
    if command.params:
        yield "\n| option | what it does | if not given |\n|---|---|---|\n" + "".join(map(_option, command.params))
    for inner in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from _sections(f"{name} {inner}", command.get_command(None, inner))


def _paragraphs(words: str) -> str:
    return "\n\n".join(_coded(part) for part in re.split(r"\n\n+", words.strip())) + "\n"


def _option(option: Any) -> str:
    given = f" {option.metavar}" if option.metavar and option.opts[0].startswith("-") else ""
    shown = ", ".join(option.opts) if given or option.opts[0].startswith("-") else option.metavar
    default = "needed" if option.required else f"`{option.default}`" if option.show_default and option.default else ""
    return f"| `{_cell(shown + given)}` | {_cell(_coded(option.help or ''))} | {_cell(default)} |\n"


def _coded(words: str) -> str:
    """Words on one line, with the options that they name as code."""
    pieces = " ".join(words.split()).split("`")
    return "`".join(piece if place % 2 else _OPTION.sub(r"`\1`", piece) for place, piece in enumerate(pieces))


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
