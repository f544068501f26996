"""The command line.  Exit 0: it ran and the property holds; 1: the property fails; 2: bad input.

The commands are the files of `commands/`; what stands here is what all of them have in common.
"""

from __future__ import annotations

import io
import sys
from typing import NoReturn

import click

from limen.commands import line
from limen.errors import BadInput, DoesNotHold
from limen.files.missing import advice
from limen.files.printable import printable
from limen.model.memory import out_of_memory, refused, within_what_is_free

app = line()

_LONGEST = 2000  # letters of an error: a stranger's number may have more


def program() -> NoReturn:
    """The command line as a process of its own, which is refused memory before the machine runs out of it."""
    within_what_is_free()
    main()


def main() -> NoReturn:
    """Runs the command line; whatever the user got wrong is one line on standard error."""
    _forgive()
    try:
        code = app(sys.argv[1:], prog_name="limen", standalone_mode=False)
    except DoesNotHold as error:
        _fail(str(error), 1)
    except BadInput as error:
        _fail(str(error))
    except click.ClickException as error:
        _fail(_message(error))
    except click.Abort:
        sys.exit(130)
    except ModuleNotFoundError as error:
        _fail(advice(error))
    except (MemoryError, RuntimeError) as error:
        if (bytes_wanted := refused(error)) is None:
            raise
        _fail(out_of_memory(bytes_wanted))
    except BrokenPipeError:  # whoever reads has read enough
        sys.stdout = None  # nothing is left to be written at the end
        sys.exit(141)
    sys.exit(code if isinstance(code, int) else 0)


def _forgive() -> None:
    """Has the streams take what the terminal cannot show: a path or a name may hold it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _message(error: click.ClickException) -> str:
    """What was wrong with the words of the line."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message()
    near = f" (Possible options: {', '.join(sorted(error.possibilities))})" if error.possibilities else ""
    return f"No such option: {error.option_name}{near}"


def _fail(message: str, code: int = 2) -> NoReturn:
    line = printable(" ".join(message.split()))
    click.echo(f"limen: {line if len(line) <= _LONGEST else line[: _LONGEST - 1] + '…'}", err=True)
    sys.exit(code)
