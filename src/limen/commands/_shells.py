"""Completion in bash, zsh and fish: the lines for a shell's start-up file, and where they are installed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from limen.errors import BadInput
from limen.files.printable import printable

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

_ASK = "_LIMEN_COMPLETE"
_QUOTES = "\"'"
# bash splits words at = : | ( as well, so it hands over the line as it was typed, and those signs.
_BASH = r"""
_limen_completion() {
    local IFS=$'\n'
    COMPREPLY=( $( env COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_BREAKS="$COMP_WORDBREAKS" \
                   _LIMEN_COMPLETE=bash_complete $1 ) )
    return 0
}

complete -o default -F _limen_completion limen
"""
_INSTALLED = {
    "bash": ".bash_completions/limen.sh",
    "zsh": ".zfunc/_limen",
    "fish": ".config/fish/completions/limen.fish",
}
_STARTED = {  # the line of a start-up file that loads it
    "bash": (".bashrc", "source '{}'"),
    "zsh": (".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}


def prepare() -> None:
    """Has click answer a shell that asks for completions."""
    if _ASK not in os.environ:
        return
    register()
    if os.environ[_ASK] == "complete_bash":  # by a script that an earlier release installed
        os.environ[_ASK] = "bash_complete"
    if os.environ[_ASK] in ("complete_zsh", "complete_fish"):  # such a script reads other words than click's
        advice = "completion is of an earlier release: run limen --install-completion once"
        sys.stderr.write(f"\n{printable(f'limen: {advice}')}\n")
        sys.exit(2)


def register() -> None:
    """Has click complete for bash by the script above; its own for zsh and fish stay as they are."""
    from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

    class Bash(BashComplete):
        source_template = _BASH

        def source(self) -> str:
            return _BASH.strip()

        def get_completion_args(self) -> tuple[list[str], str]:
            if "COMP_LINE" not in os.environ:  # a script of an earlier release
                return super().get_completion_args()
            line = os.environ["COMP_LINE"]
            words = split_arg_string(line)
            return (words[1:], "") if line[-1:].isspace() and _closed(line) else (words[1:-1], words[-1])

        def complete(self) -> str:
            args, incomplete = self.get_completion_args()
            words = [one.value for one in self.get_completions(args, incomplete) if one.type == "plain"]
            value = re.sub(r"^--[a-z-]+=", "", incomplete)  # click completes what stands behind it
            return "\n".join(word[_kept(value) :] for word in words)

        def format_completion(self, item: CompletionItem) -> str:
            return str(item.value)

    add_completion_class(Bash)


def _closed(line: str) -> bool:
    """Whether no quote is open at the end of a line."""
    return not any(line.count(quote) % 2 for quote in _QUOTES)


def _kept(incomplete: str) -> int:
    """How many letters of a word bash keeps by itself: up to the last sign at which it splits words."""
    line = os.environ.get("COMP_LINE", "'")
    breaks = os.environ.get("COMP_BREAKS", "") if _closed(line) else ""
    return 1 + max((incomplete.rfind(sign) for sign in breaks if sign not in _QUOTES), default=-1)


def script() -> str:
    """The lines for the start-up file of the shell that runs this."""
    return _completion().source()


def install() -> str:
    """Writes them where that shell looks, and says where."""
    shell = _shell()
    path = Path.home() / _INSTALLED[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_completion().source() + "\n")
    if shell in _STARTED:
        _add(Path.home() / _STARTED[shell][0], _STARTED[shell][1].format(path))
    then = "Completion will take effect once you restart the terminal"
    return f"{shell} completion installed in {path}\n{then}"


def _add(start: Path, line: str) -> None:
    """Appends a line to a shell's start-up file unless it stands there."""
    text = start.read_text() if start.is_file() else ""
    if line not in text:
        start.write_text(f"{text}\n{line}\n")


def _completion() -> ShellComplete:
    from click.shell_completion import get_completion_class

    from limen.commands._line import CommandLine

    register()
    kind = get_completion_class(_shell())
    assert kind is not None
    return kind(CommandLine(), {}, "limen", _ASK)


def _shell() -> str:
    """The name of the shell that runs this process, by its parents, or else of the user's own."""
    names = [*_parents(os.getppid()), Path(os.environ.get("SHELL", "")).name]
    for name in names:
        if name in _INSTALLED:
            return name
    raise BadInput(f"no shell is known here; completion works in {', '.join(_INSTALLED)}")


def _parents(process: int) -> list[str]:
    """The names of a process and of those that started it, where /proc tells."""
    names: list[str] = []
    while process > 1:
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            break
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        names.append(fields["Name"])
        process = int(fields["PPid"])
    return names
