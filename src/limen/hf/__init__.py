"""Real models' configs and engines: one small file a family, transformers' defaults as data.

`read` turns a config.json into a `Stack` with neither torch nor transformers.  Names are found when they are
first asked for, so that a module of this package is loaded without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.hf.configs import decoder as decoder
    from limen.hf.configs import families as families
    from limen.hf.configs import read as read
    from limen.hf.configs import reader_of as reader_of
    from limen.hf.configs import type_of as type_of
    from limen.hf.fields import Fields as Fields
    from limen.hf.fields import defaults as defaults
    from limen.hf.stack import Stack as Stack

_NAMES = {"Fields": "fields", "defaults": "fields", "Stack": "stack"} | dict.fromkeys(
    ("decoder", "families", "read", "reader_of", "type_of"), "configs"
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_NAMES]
