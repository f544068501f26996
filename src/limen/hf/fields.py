"""The fields of a config.json: its own, and what transformers' class would say where it is silent.

`defaults.json` holds those facts, made by `scripts/config_defaults.py` from the classes themselves; in
`own.json` are those of types that transformers has not, from the code that their authors published:

    family  the file of this package that reads the type
    names   what the class calls a field, where that is not its usual name (hidden_size: n_embd)
    fields  the default values, null where the class works them out from others
    layers  the kinds of layers where no list is given: `first`, then `cycle` over and over; `last` replaces
            the last one; a field named in `period`, if given, sets how often the odd kind of the cycle comes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

from limen.errors import BadInput, shortened, unknown

_LAYERS = 1024  # of a model: the deepest have some hundreds
_LARGEST = 2**48  # of a size: nobody means more
Value = int | float | bool | str | list[str | int] | dict[str, int | list[int]] | None


class Rule(msgspec.Struct, frozen=True):
    """The kinds of layers of a type whose config lists none."""

    cycle: tuple[str, ...]
    first: tuple[str, ...] = ()
    last: str | None = None
    period: str | None = None

    def kinds(self, count: int, every: int | None) -> tuple[str, ...]:
        cycle = self.cycle if every is None else self._cycle(min(every, count + 1))
        kinds = [*self.first, *cycle * count][:count]
        return (*kinds[:-1], self.last) if self.last and kinds else tuple(kinds)

    def _cycle(self, every: int) -> tuple[str, ...]:
        """The odd kind, at the end of the cycle or at its beginning, once in so many layers."""
        odd, *others = self.cycle if self.cycle[1] == self.cycle[-1] else reversed(self.cycle)
        most = tuple(others[:1]) * (every - 1)
        return (odd, *most) if self.cycle[0] == odd else (*most, odd)


class Defaults(msgspec.Struct, frozen=True):
    """What transformers' class of one model type says."""

    family: str
    fields: dict[str, Value]
    names: dict[str, str] = {}
    layers: Rule | None = None


@cache
def defaults() -> dict[str, Defaults]:
    """By model type."""
    read = msgspec.json.Decoder(dict[str, Defaults]).decode
    return read(_data("defaults.json")) | read(_data("own.json"))


class Names(msgspec.Struct, frozen=True):
    """By what else a type may be known: by that of the model around it, or by a class in `architectures`."""

    boxes: dict[str, str]
    architectures: dict[str, str]


@cache
def other_names() -> Names:
    return msgspec.json.decode(_data("names.json"), type=Names)


@cache
def _known() -> dict[str, frozenset[str]]:
    """Every field that a type's class takes; "" has those of all types."""
    return msgspec.json.decode(_data("known.json"), type=dict[str, frozenset[str]])


def _data(name: str) -> bytes:
    return files("limen.hf").joinpath(name).read_bytes()


# What older configs call the kinds of layers.
_OLD = {
    "attention": "full_attention",
    "mamba": "linear_attention",
    "recurrent": "linear_attention",
    "deepseek_sparse_attention": "indexed_attention",
}
# Keys that every file may have, whatever its class: of the weights, of tokens, of dtypes.
_USUAL = {"auto_map", "quantization_config", "mamba_ssm_dtype", "mamba_ssm_cache_dtype", "torch_dtype"} | {
    "expert_dtype"
}
_USUAL |= {"bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings", "tokenizer_class"}
_NEAR = 0.9  # how alike a misspelled field is
_LISTS = ("layer_types", "layers_block_type")


def no_misspelling(
    config: Mapping[str, Any], others: Iterable[str], deciding: Iterable[str], where: str
) -> None:
    """No key of the others may be nearly one that decides something and is not there."""
    missing = [name for name in deciding if name not in config]
    for key in others:
        if near := get_close_matches(key, missing, n=1, cutoff=_NEAR):
            raise BadInput(f"{where} has no field {key!r}; did you mean {near[0]!r}?")


@dataclass(frozen=True)
class Fields:
    """Reading is strict: whatever is missing, contradictory or no number is an error that names the field."""

    config: Mapping[str, Any]
    model_type: str
    where: str

    def __getitem__(self, name: str) -> Any:
        """The config's value, under either name, or the class's default where it says nothing.

        A null is a value: "no window", not "the default window".
        """
        known = defaults()[self.model_type]
        keys = [key for key in dict.fromkeys((known.names.get(name, name), name)) if key in self.config]
        if len(keys) == 2 and self.config[keys[0]] != self.config[keys[1]]:
            raise self.contradiction(*(f"{key} is {self.config[key]!r}" for key in keys))
        return self.config[keys[0]] if keys else known.fields.get(name)

    def says(self, name: str) -> bool:
        """Whether the config itself has the field, be it null, or the class has it."""
        known = defaults()[self.model_type]
        return name in self.config or known.names.get(name, name) in self.config or name in known.fields

    def takes(self, name: str) -> bool:
        """Whether the type's class has the field at all."""
        known = _known()
        return name in known.get(self.model_type, ()) or name in known[""]

    def heeds(self, name: str) -> bool:
        """Whether what the config says of the field counts: not if the type's class has no such field."""
        return self.takes(name) or self.model_type not in _known() or name == "tie_word_embeddings"

    def contradiction(self, one: str, other: str) -> BadInput:
        """The error about two things that the config says and that cannot both hold."""
        return BadInput(f"{self.where}: {self.model_type}: {one}, but {other}")

    def wrong(self, name: str, expected: str) -> BadInput:
        got = self[name]
        none = "is null" if name in self.config else "is missing"
        state = none if got is None else f"is {shortened(got)}"
        return BadInput(f"{self.where}: {self.model_type}: {name} {state}; expected {expected}")

    def integer(self, name: str, least: int = 1) -> int:
        value, most = self[name], _LAYERS if name == "num_hidden_layers" else _LARGEST
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"an integer from {least} to {most}")
        return value

    def maybe(self, name: str) -> int | None:
        """None where neither the config nor the class says, or where they say 0: no such layers."""
        return None if self[name] is None else self.integer(name, 0) or None

    def either(self, name: str, otherwise: int) -> int:
        return self.maybe(name) or otherwise

    def size(self, name: str) -> int | None:
        """None where neither the config nor the class says; 0 is no size."""
        return None if self[name] is None else self.integer(name)

    def size_or(self, name: str, otherwise: int) -> int:
        return self.size(name) or otherwise

    def number(self, name: str) -> float:
        value = self[name]
        if type(value) not in (int, float) or not 0 < value <= _LARGEST:
            raise self.wrong(name, f"a number > 0 and at most {_LARGEST}")
        return float(value)

    def share(self, name: str, of: str) -> int:
        """`of` divided by `name`, which must divide it."""
        whole, parts = self.integer(of), self.integer(name)
        if whole % parts:
            raise self.wrong(name, f"a divisor of {of} = {whole}")
        return whole // parts

    def share_of(self, of: str, parts: int) -> int:
        """`of` divided by a number that must divide it."""
        if (whole := self.integer(of)) % parts:
            raise self.wrong(of, f"a multiple of {parts}")
        return whole // parts

    def integers(self, name: str) -> list[int]:
        value = self[name]
        if not isinstance(value, list) or not all(
            type(item) is int and abs(item) <= _LARGEST for item in value
        ):
            raise self.wrong(name, f"a list of integers up to {_LARGEST}")
        return value

    def nested(self, name: str, read: tuple[str, ...] = ()) -> Fields:
        """The fields inside a field, which may be absent; one that is nearly one of `read` is an error."""
        inner = self[name] or {}
        if not isinstance(inner, dict):
            raise self.wrong(name, "an object")
        where = f"{self.where}: {name}"
        no_misspelling(inner, [key for key in inner if key not in read], read, where)
        return Fields(inner, self.model_type, where)

    def of_layer(self, i: int) -> Fields:
        """With what the config says of this layer alone."""
        own = self.nested("per_layer_config").config.get(str(i), {})
        if not isinstance(own, dict):
            raise self.wrong("per_layer_config", "an object for each layer")
        return replace(self, config={**self.config, **own}) if own else self

    def strange(self, read: tuple[str, ...]) -> list[str]:
        """Fields that the type has not; an error where one is nearly one that decides what is kept.

        `read` are the fields that the family reads.
        """
        facts, known = defaults()[self.model_type], _known()
        taken = known[""] | known.get(self.model_type, frozenset())
        period = (facts.layers.period,) if facts.layers and facts.layers.period else ()
        deciding = {*facts.fields, *facts.names.values(), *period, *_LISTS, "num_hidden_layers"}
        deciding |= {name for name in read if name in taken or self.model_type not in known}
        usual = taken | deciding | _USUAL | set(read)
        others = [key for key in self.config if key not in usual and not key.startswith("_")]
        no_misspelling(self.config, others, deciding, f"{self.where}: {self.model_type}")
        return others if self.model_type in known else []

    @property
    def listed(self) -> bool:
        """Whether the config lists the kind of each layer."""
        return any(self.config.get(name) is not None for name in _LISTS)

    @property
    def ruled(self) -> bool:
        """Whether the type has a rule for the kinds of its layers."""
        return defaults()[self.model_type].layers is not None

    @property
    def kinds_of_class(self) -> tuple[str, ...]:
        """The cycle of the type's rule."""
        rule = defaults()[self.model_type].layers
        return rule.cycle if rule else ()

    def kinds(self) -> tuple[str, ...]:
        """The kind of each layer, as listed or by the type's rule."""
        for name in _LISTS:
            if self.config.get(name) is not None:
                counted = self.config.get("num_hidden_layers") is not None
                return self._kinds_in(name, self.integer("num_hidden_layers") if counted else None)
        rule = defaults()[self.model_type].layers
        if rule is None:
            raise self.wrong("layer_types", "a list with the kind of each layer")
        every = self.size(rule.period) if rule.period else None
        return rule.kinds(self.integer("num_hidden_layers"), every)

    def cycled(self, name: str, count: int) -> tuple[str, ...]:
        """So many kinds, the list over and over."""
        kinds = self._kinds_in(name, None)
        return (kinds * count)[:count]

    def _kinds_in(self, name: str, count: int | None) -> tuple[str, ...]:
        kinds = self[name]
        if not isinstance(kinds, list) or not kinds or not all(isinstance(kind, str) for kind in kinds):
            raise self.wrong(name, "a list with the kind of each layer")
        if len(kinds) > _LAYERS:
            raise BadInput(f"{self.where}: {name} lists {len(kinds)} layers, at most {_LAYERS} are read")
        if count is not None and count != len(kinds):
            raise self.contradiction(f"num_hidden_layers is {shortened(count)}", f"{name} lists {len(kinds)}")
        return tuple(str(_OLD.get(kind, kind)) for kind in kinds)

    def unknown_kind(self, i: int, kind: str, works: tuple[str, ...]) -> BadInput:
        """Lists all that work, by their older words as well."""
        known = [*works, *(old for old, new in _OLD.items() if new in works)]
        return unknown(f"kind of layer for {self.model_type} ({self.where}, layer {i})", kind, known)
