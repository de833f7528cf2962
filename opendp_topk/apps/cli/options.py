"""Commands about questions: options as the questions declare them, from the command line and from a file."""

from __future__ import annotations

import contextlib
import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ...errors import ParameterError, TableError
from ...errors.files import quote_path, read_regular_file
from ...markup.foreign import json_text
from ..ledger.stated import LINES
from ..planning.options import (
    OUTPUT,
    PANELS,
    TABLE,
    Option,
    OptionGroup,
    described_options,
    option_name,
    options_of,
    require_compatible,
)
from ..planning.questions import WRAPPED, question_class, question_kinds
from .exit_codes import with_exit_codes
from .log import LogFormat, log_as_json

_MOST = 2**20  # most bytes of a configuration file or a plan; a typical one has a few hundred
_WIDEST = 22  # columns of the names of options in the short help
_CONFIG = Option(
    "Read options from this file; those given here win.",
    metavar="FILE.toml",
    panel=OUTPUT,
    more="A TOML file with the names of options, such as max_items = 3. `show RECORD --config` prints one.",
)
_LOG = (
    "Each has an event (start, end, note or error), the seconds since the start, and the step or the message, never "
    "data. Times depend on the table, so with --pad no step before the deadline is logged."
)
_ALL = "Explain all options."
_PLACE = "A file, or postgresql://user@host/database#schema/name (extra postgres)."
_KEY = "With --head: a file with the public Ed25519 key, in PEM, that must verify the signature of the head."
# Options of several commands.
_SHARED = {
    "as_json": Option("Print JSON for programs."),
    "file": Option(_PLACE, metavar="LEDGER"),
    "key": Option(_KEY, metavar="PUB"),
    **{name: Option(line.meaning, metavar="TEXT") for name, line in LINES.items()},
}

Run = Callable[[str, Mapping[str, Any]], None]
Positive = int  # parameter of a command that must be >= 1
_KINDS = {"str": str, "int": int, "float": float, "bool": bool, "Positive": int, "typer.Context": typer.Context}


def documented_command(function: Callable[..., None]) -> Any:
    """Return ``function`` as typer calls it, with errors that end in exit codes.

    Its positional parameters are arguments, the others options. The section ``Options`` of its docstring, which is not
    part of the help, describes them as a group of options does.
    """
    text = inspect.getdoc(function) or ""
    described = {**_SHARED, **described_options(text, ("Options",))}
    signature = inspect.signature(function).parameters
    declared = {name: described.get(name, Option()) for name in signature}

    def call(**given: Any) -> None:
        require_compatible({name: value for name, value in given.items() if value not in (None, False)}, declared)
        function(**given)

    call.__name__, call.__doc__ = function.__name__, text.partition("\n\nOptions:\n")[0]
    return _typer_callback(call, [_typer_parameter(one, declared[one.name]) for one in signature.values()])


def _typer_parameter(parameter: inspect.Parameter, one: Option) -> inspect.Parameter:
    word, _, optional = str(parameter.annotation).partition(" ")
    kind: Any = _KINDS[word] | None if optional else _KINDS[word]
    if parameter.kind is parameter.KEYWORD_ONLY:
        kind = _typer_option(parameter.name.removeprefix("as_"), one, kind, min=1 if word == "Positive" else None)
    elif word != "typer.Context":
        kind = Annotated[kind, typer.Argument(metavar=one.metavar, help=_whole_text(one))]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind)


def _typer_callback(call: Callable[..., None], parameters: list[inspect.Parameter]) -> Any:
    """Return ``call`` with these parameters for typer, and with errors that end in exit codes."""
    wrapped: Any = with_exit_codes(call)
    wrapped.__signature__ = inspect.Signature(parameters)
    wrapped.__annotations__ = {one.name: one.annotation for one in parameters}
    return wrapped


def single_command(name: str, callback: Callable[..., None], **settings: Any) -> Any:
    """Return the command that calls ``callback``."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    made.command(name, **settings)(callback)
    return typer.main.get_command(made)


@dataclass(frozen=True, kw_only=True)
class OutputOptions(OptionGroup):
    """Where the record of a release is written.

    Output:
        out (FILE): Write the record, as .json, or its items, as .csv. - prints the record on standard output instead of
            the table.
        force: Replace the file of --out if it exists.
    """

    out: str | None = None
    force: bool = False


class QuestionCommand(TyperCommand):
    """Command whose options are in panels: ``--help`` has a line for each common one, ``--help-all`` the whole text."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the options. The error about an unknown one names those that begin with it, rather than similar ones."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            wanted: Any = getattr(error, "option_name", None)
            if begun := [name for one in self.params for name in one.opts if wanted and name.startswith(wanted)]:
                error.possibilities = begun  # type: ignore[attr-defined]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        whole = ctx.meta.get("opendp_topk.help_all", False)
        named: dict[Any, Any] = {one.name: one for one in self.get_params(ctx)}
        for panel in PANELS:
            declared = [(name, one) for name, one in self.declared.items() if one.panel == panel]
            rows = [
                (_flag_text(named[name], one), _whole_text(one) if whole else one.words)
                for name, one in declared
                if whole or not one.rare
            ]
            if whole and panel == TABLE and "table" in named:
                rows.insert(0, ("TABLE", named["table"].help))
            rare = ", ".join(option_name(name) for name, one in declared if one.rare)
            if not declared:
                continue
            with formatter.section(panel):
                if rows:
                    formatter.write_dl(rows, col_max=_WIDEST)
                if rare and not whole:
                    formatter.write_text(f"Also: {rare}")

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example, with ``--help-all`` before it."""
        if not ctx.meta.get("opendp_topk.help_all", False):
            formatter.write_paragraph()
            formatter.write_text(f"--help-all: {_ALL[0].lower()}{_ALL[1:]}")
        formatter.write(f"\nExample:\n{self.example}\n")

    declared: Mapping[str, Option]
    example: str


class QuestionGroup(TyperGroup):
    """Commands by the kind of question, each loaded when it is first called."""

    def __init__(
        self, name: str, about: str, made: Callable[[str], Any], further: Mapping[str, str] | None = None
    ) -> None:
        """Make a group of one command for each question, which ``made`` returns, and of ``further`` ones."""
        settings = {"help_option_names": ["-h", "--help"]}
        super().__init__(name=name, help=about, no_args_is_help=True, rich_markup_mode=None, context_settings=settings)
        self.made, self.further = made, further or {}

    def list_commands(self, _: Any) -> list[str]:
        return [*(kind for kind in question_kinds() if kind != WRAPPED), *self.further]

    def get_command(self, ctx: Any, name: str) -> Any:
        if name in self.list_commands(ctx) and name not in self.commands:
            self.commands[name] = self.made(name)
        return self.commands.get(name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        summaries = {name: self.further.get(name) or question_class(name).summary for name in self.list_commands(ctx)}
        with formatter.section("Questions"):
            formatter.write_dl(list(summaries.items()))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the example of the first question."""
        formatter.write(f"\nExample:\n{self.made(question_kinds()[0]).example}\n")

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in (*self.list_commands(ctx), "--help", "-h") and not ctx.resilient_parsing:
            ctx.fail(f"the first word must be a question: {', '.join(self.list_commands(ctx))}")
        return super().parse_args(ctx, args)


def question_command(
    name: str, about: str, example: str, groups: Iterable[type], run: Run, *, table: bool
) -> QuestionCommand:
    """Return the command ``name`` with the options of these ``groups``.

    ``run`` is called with the table, if there is one, and with the options that are given on the command line or in the
    file of --config.
    """
    options = {name: one for group in groups for name, one in options_of(group).items()} | {
        "config": _CONFIG,
        "log": Option("Log to standard error: json, one object a line.", _LOG, "json", OUTPUT, True, kind=LogFormat),
    }

    def call(context: typer.Context, **given: Any) -> None:
        named = {key: value for key, value in given.items() if _is_given(context, key)}
        if named.pop("log", None):
            context.with_resource(log_as_json())
        config = named.pop("config", None)
        stored = {} if config is None else read_config(config, name, options.keys() - {"config", "log"})
        found = {**stored, **{key: value for key, value in named.items() if key != "table"}}
        require_compatible({key: value for key, value in found.items() if value != options[key].default}, options)
        run(given.get("table", ""), found)

    only = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", only, annotation=typer.Context),
        inspect.Parameter("help_all", only, default=False, annotation=_HELP_ALL),
    ]
    if table:
        parameters.append(inspect.Parameter("table", only, annotation=_TABLE))
    for key, one in options.items():
        unset, kind = (False, bool) if one.kind is bool else (None, one.kind | None)
        parameters.append(inspect.Parameter(key, only, default=unset, annotation=_typer_option(key, one, kind)))
    settings = {"help_option_names": ["-h", "--help"]}
    callback = _typer_callback(call, parameters)
    command: QuestionCommand = single_command(
        name, callback, cls=QuestionCommand, help=about, context_settings=settings
    )
    command.declared, command.example = options, example
    return command


_TABLE = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A .parquet or .csv file (or .csv.gz, .csv.zst) with a row for each (user, item), or a folder or pattern "
        "of .parquet files; - reads CSV from standard input.",
    ),
]


def _typer_option(key: str, one: Option, kind: Any, **limits: Any) -> Any:
    shown = "" if one.default in (None, "", False) else f" Default: {one.default}."
    flags = [option_name(key), *([one.short] if one.short else [])]
    text = _whole_text(one) + shown
    words = [word for word in one.metavar.split("|") if word.islower()]
    offered = (lambda incomplete: [word for word in words if word.startswith(incomplete)]) if words[1:] else None
    return Annotated[
        kind, typer.Option(*flags, metavar=one.metavar or None, help=text, autocompletion=offered, **limits)
    ]


def _print_whole_help(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta["opendp_topk.help_all"] = True
        typer.echo(context.get_help())
        raise typer.Exit


_HELP_ALL = Annotated[bool, typer.Option("--help-all", callback=_print_whole_help, is_eager=True, help=_ALL)]


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _whole_text(one: Option) -> str:
    return f"{one.words} {one.more}".strip()


def _flag_text(parameter: Any, one: Option) -> str:
    flags = ", ".join(sorted(parameter.opts, key=len))
    return flags if one.kind is bool else f"{flags} {one.metavar}"


# Configuration files.


def read_mapping(path: str, option: str, parse: Callable[[str], Any]) -> dict[str, Any] | None:
    """Return the mapping in the file of an option; None if the file has another content.

    Raises:
        TableError: The file cannot be read.
    """
    content = read_regular_file(path, f"the file of {option}", TableError, at_most=_MOST)
    with contextlib.suppress(ValueError, RecursionError):
        found = parse(content.decode("utf-8"))
        return found if isinstance(found, dict) else None
    return None


def read_config(path: str, question: str, known: Iterable[str]) -> dict[str, Any]:
    """Return the options in a TOML file, by name.

    Raises:
        TableError: The file cannot be read, or is not TOML.
        ParameterError: It is for another question, or has an unknown option.
    """
    found = read_mapping(path, "--config", tomllib.loads)
    if found is None:
        raise TableError(f"the file of --config {quote_path(path)} is not TOML")
    if found.pop("question", question) != question:
        raise ParameterError(f"the file of --config is for another question than {question}")
    unknown = [name for name in found if name not in known]
    if unknown:
        raise ParameterError(f"the file of --config has an unknown option, {quote_path(unknown[0])}: remove it")
    return found


def config_text(options: Mapping[str, Any]) -> str:
    """Return options as TOML, one a line."""
    return "".join(f"{name} = {json_text(value, indent=None)}\n" for name, value in options.items())
