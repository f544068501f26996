"""The command line, built by click from the declarations; only the command that is called is imported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from limen import __version__
from limen.commands._command import Command, Tell, load
from limen.commands._found import OLD, every, find, is_group, names, schema_of, summary
from limen.errors import BadInput, unknown
from limen.files.printable import printable, printable_json

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from limen.commands._parameter import Parameter
    from limen.core.report import Report

_ABOUT = """Find out where an attention architecture stops: what it can and cannot compute, what fools it.

Start with: limen list, limen show eva, limen decide eva linear.
"""
_FORMS = {  # of --format
    "latex": "a booktabs table",
    "theorem": "a statement with its proof, in LaTeX",
    "markdown": "a table in Markdown",
    "csv": "comma-separated values",
}
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class CommandLine(click.Group):
    """All commands, or those of a folder."""

    def __init__(self, folder: str = "") -> None:
        about = summary(names()[folder]) if folder else _ABOUT
        super().__init__(folder or "limen", help=about, context_settings=_SETTINGS)
        self.folder = folder
        self.params += [] if folder else _of_the_program()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(names(self.folder))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not self.folder and (cmd_name in OLD or cmd_name == "schema"):
            return _old(cmd_name, quiet=ctx.resilient_parsing)
        if cmd_name not in names(self.folder):
            return None
        return (
            CommandLine(cmd_name) if is_group(cmd_name) else _Typed(find(f"{self.folder} {cmd_name}".strip()))
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:  # click looks for the nearest among commands that were imported
            known = names(self.folder)
            raise click.NoSuchCommand(error.command_name, possibilities=known, ctx=ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(path)) for name, path in names(self.folder).items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        files = {name: path for name, path in names(self.folder).items() if name.startswith(incomplete)}
        words = [CompletionItem(name, help=summary(path)) for name, path in files.items()]
        return words + click.Command.shell_complete(self, ctx, incomplete)


def _of_the_program() -> list[click.Parameter]:
    """The options that stand before any command."""
    from limen.commands._shells import install, script

    copied = "Show completion for the current shell, to copy it or customize the installation."
    return [
        _printing_option("--version", "Print the version.", lambda: f"limen {__version__}"),
        _printing_option("--install-completion", "Install completion for the current shell.", install),
        _printing_option("--show-completion", copied, script),
    ]


def _printing_option(flag: str, about: str, text: Callable[[], str]) -> click.Option:
    """An option that prints a text and ends, whatever else stands on the line."""

    def prints(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(printable_lines(text().split("\n")))
            ctx.exit()

    return click.Option([flag], is_flag=True, is_eager=True, expose_value=False, help=about, callback=prints)


def _old(name: str, quiet: bool) -> click.Command:
    """The command with an old name, which runs for one release and says what it is called now."""
    if not quiet:
        now = f"`{name}` is now `limen {OLD.get(name, 'COMMAND --schema')}`"
        click.echo(printable(f"limen: {now}; the old name will go in the next release"), err=True)
    if name in OLD:
        return _Typed(find(OLD[name]))
    which = click.Argument(["name"], shell_complete=lambda ctx, one, so_far: _going_on(so_far, _one_word()))
    return click.Command("schema", params=[which], callback=_old_schema, context_settings=_SETTINGS)


def _one_word() -> list[str]:
    """What `limen schema` knew; a name of two words would be two arguments."""
    return sorted([*(name for name in every() if " " not in name), *OLD])


def _old_schema(name: str) -> None:
    now = OLD.get(name, name)
    if now not in every():
        raise unknown("schema", name, every())
    click.echo(printable_lines(_schema(now).split("\n")))


def _schema(name: str) -> str:
    return json.dumps(schema_of(name), ensure_ascii=False, indent=1)


class _Typed(click.Command):
    """A command of a declaration, which knows the old spellings of its options."""

    def __init__(self, known: Command) -> None:
        places = [_argument(parameter) for parameter in known.parameters if parameter.is_argument]
        flags = [_option(parameter) for parameter in known.parameters if not parameter.is_argument]
        super().__init__(
            known.name,
            params=[*places, *flags, *_printing(known)],
            help=f"{known.about}\n\nExample: {known.example}",
            callback=partial(_run, known),
            context_settings=_SETTINGS,
        )
        self.renamed = {p.option.old: p.flag for p in known.parameters if p.option.old}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [self._today(word) for word in args])

    def _today(self, word: str) -> str:
        """A word with today's spelling of its flag: --tokens 4k, --tokens=4k."""
        flag, equals, value = word.partition("=")
        return f"{self.renamed.get(flag, flag)}{equals}{value}"

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        places = [one for one in self.params if isinstance(one, click.Argument)]
        if places:
            with formatter.section("Arguments"):
                formatter.write_dl([one.get_help_record(ctx) for one in places])


class _Place(click.Argument):
    """An argument that the usage and errors call by its own name."""

    def make_metavar(self, ctx: click.Context) -> str:
        name = self.name + ("..." if self.nargs == -1 else "")
        return name if self.required else f"[{name}]"

    def get_error_hint(self, ctx: click.Context | None) -> str:
        return f"'{self.name}'"


def _argument(parameter: Parameter) -> click.Argument:
    many = parameter.several or parameter.option.each
    more: dict[str, Any] = {} if parameter.required or many else {"default": _default(parameter)}
    return _Place(
        [parameter.name],
        help=parameter.option.help,
        type=_type(parameter),
        nargs=-1 if many else 1,
        required=parameter.required or parameter.star,
        shell_complete=partial(_completed, parameter),
        **more,
    )


def _option(parameter: Parameter) -> click.Option:
    flag, is_flag, default = parameter.flag, parameter.kind is bool, _default(parameter)
    if is_flag and default is True:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    typed: dict[str, Any] = {"type": _type(parameter), "shell_complete": partial(_completed, parameter)}
    more = {"is_flag": True} if is_flag else typed
    return click.Option(
        [parameter.name, flag, *filter(None, [parameter.option.short])],
        help=parameter.option.help,
        show_default=default is not None and not is_flag,
        multiple=parameter.several and parameter.option.parse is None,
        **({"required": True} if parameter.required else {"default": default}),
        **more,
    )


def _default(parameter: Parameter) -> Any:
    """As people write it, where the declaration says how."""
    if parameter.option.line is not None:
        return parameter.option.line
    return None if parameter.required or parameter.default == () else parameter.default


def _range_of(kind: click.IntRange | click.FloatRange) -> str:
    """The range in words: "1 to 1,000", "1 or more", or nothing."""
    if kind.min is not None and kind.max is not None:
        return f"{kind.min:g} to {kind.max:,}"
    return "" if kind.min is None else f"{kind.min:g} or more"


class _Integer(click.IntRange):
    name = "integer"
    _describe_range = _range_of


class _Number(click.FloatRange):
    name = "number"
    _describe_range = _range_of


def _type(parameter: Parameter) -> click.ParamType[Any]:
    option = parameter.option
    if option.parse is not None:
        return click.STRING
    if parameter.kind is int:
        least, most = (None if bound is None else int(bound) for bound in (option.least, option.most))
        return _Integer(least, most)
    if parameter.kind is float:
        return _Number(option.least, option.most)
    return click.Path(path_type=Path) if parameter.kind is Path else click.STRING


def _completed(
    parameter: Parameter, ctx: click.Context, one: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return _going_on(incomplete, parameter.completed(incomplete))


def _going_on(incomplete: str, words: Iterable[str]) -> list[CompletionItem]:
    """The words that go on from an incomplete one; files where there are none."""
    from click.shell_completion import CompletionItem

    items = [CompletionItem(word) for word in words if word.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def _printing(known: Command) -> list[click.Parameter]:
    """The options that a command has beside its function's: how the answer is printed."""
    options: list[click.Parameter] = []
    if known.is_drawn:
        path = click.Path(path_type=Path)
        options.append(click.Option(["drawing", known.picture.flag], type=path, help=known.picture.help))
    if known.forms:
        about = f"Print {'; '.join(f'{form}: {_FORMS[form]}' for form in known.forms)}."
        words = lambda ctx, one, so_far: _going_on(so_far, known.forms)  # noqa: E731
        options.append(click.Option(["form", "--format"], help=about, shell_complete=words))
    as_json = click.Option(["as_json", "--json"], is_flag=True, help="Print one JSON object instead of text.")
    about = "Print the JSON Schema of what --json prints."
    return [*options, as_json, _printing_option("--schema", about, partial(_schema, known.name))]


def _run(known: Command, **values: Any) -> int:
    """Asks, prints the answer and gives the exit code."""
    as_json, form, drawing = (values.pop(name, None) for name in ("as_json", "form", "drawing"))
    if form is not None and form not in known.forms:
        raise unknown("format", form, known.forms)
    if drawing is not None:
        several = [len(values[parameter.name]) for parameter in known.parameters if parameter.option.each]
        load(known.picture.ready)(drawing, *several)
    told: list[str] = []
    result = known.answer(values, _telling(told, silent=as_json or form is not None))
    draw = known.shown(result.report).picture
    if drawing is not None and draw:
        load(known.picture.save)(drawing, load(draw)(result.report))
    if as_json:
        click.echo(printable_json(result.to_json()))
    else:
        _print(known, result.report, form, told)
    if drawing is not None and not draw:
        raise BadInput(f"{known.picture.flag}: nothing of this answer is drawn")
    return result.exit_code


def _telling(told: list[str], silent: bool) -> Tell:
    """Prints a line at once, since the next may take a while, and remembers it."""

    def tell(text: str) -> None:
        for line in () if silent else text.split("\n"):
            click.echo(printable(line))
            told.append(line)

    return tell


def _print(known: Command, report: Report, form: str | None, told: list[str]) -> None:
    """Prints a report for people, but for the lines that were told already."""
    shown = known.shown(report)
    if form is not None:
        click.echo(printable_lines(load(shown.forms[form])(report).splitlines()))
    elif shown.coloured:
        click.echo("\n".join(load(shown.lines)(report)))  # made printable by whoever draws it
    else:
        click.echo(printable_lines(load(shown.lines)(report)[len(told) :]))


def printable_lines(lines: Iterable[str]) -> str:
    """Lines for a terminal; words out of a file are shown as data."""
    return "\n".join(map(printable, lines))
