"""Asks a question or two, so that workers which are forked afterwards have loaded what answers most."""

from limen.commands import drawn

_STACK = '"architecture":"linear(h=1,d=4),softmax(h=1,d=4)"'
drawn("where", f'{{"task":"eva",{_STACK}}}'.encode())
drawn("depth", f"{{{_STACK}}}".encode())
