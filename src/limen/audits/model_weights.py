"""The weights of one model: its matrices listed once, and each scheme counted once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from limen.hf.dtypes import declared as dtypes_declared
from limen.hf.layer_sizes import NotCounted
from limen.hf.stored.checkpoint import Checkpoint, Config
from limen.hf.stored.matrices import Matrix
from limen.hf.stored.ranks import Ranks
from limen.hf.stored.wanted import PLAIN
from limen.hf.stored.weights import HeldWeights, ListedModel, held, listed, torn
from limen.hf.weights_table import TensorKind

Counted = HeldWeights | NotCounted


class ModelWeights:
    """A config, and the bytes of its weights under every scheme that was asked for."""

    def __init__(self, config: Mapping[str, Any], source: str) -> None:
        self.config, self.source = config, source
        self._counted: dict[tuple[str | None, Ranks, bool, bool], Counted] = {}
        self._torn: dict[tuple[str | None, Ranks], tuple[Matrix, ...]] = {}

    @cached_property
    def model(self) -> ListedModel | NotCounted:
        """The matrices, or why they are not known."""
        try:
            return listed(self.config, self.source)
        except NotCounted as reason:
            return reason

    @property
    def checkpoint(self) -> Checkpoint:
        """What the files beside the config say."""
        return self.config.checkpoint if isinstance(self.config, Config) else Checkpoint()

    @property
    def stored(self) -> int | None:
        """The bytes of the tensors in a GGUF file, where its header was read."""
        size: int | None = getattr(self.config, "weights", None)
        return size

    @property
    def own(self) -> Counted:
        """The weights on one rank as the checkpoint has them, or why they are not counted."""
        return self.held(None, Ranks(), mtp=False, tables=False)

    @property
    def plain(self) -> bool:
        """Whether the checkpoint is not quantised."""
        return isinstance(self.own, HeldWeights) and self.own.scheme in PLAIN

    @property
    def unnamed(self) -> bool:
        """Whether neither the config nor a file beside it says in what the weights are stored."""
        named = dtypes_declared(self.config, self.source).model is not None or self.stored is not None
        return not named and self.checkpoint.total is None and self.plain

    def held(self, scheme: str | None, ranks: Ranks, mtp: bool, tables: bool) -> Counted:
        """The weights in a scheme (None: as declared) on ranks, or why they are not counted."""
        key = (scheme, ranks, mtp, tables)
        if key not in self._counted:
            self._counted[key] = self._held(*key)
        return self._counted[key]

    def _held(self, scheme: str | None, ranks: Ranks, mtp: bool, tables: bool) -> Counted:
        if isinstance(self.model, NotCounted):
            return self.model
        beside = self.checkpoint if scheme is None else Checkpoint()
        try:
            return held(self.model, self.model.packing(scheme), ranks, beside, mtp, tables)
        except NotCounted as reason:
            return reason

    def torn(self, scheme: str | None, ranks: Ranks) -> tuple[Matrix, ...]:
        """The matrices that so many ranks divide inside a block of fp8; none if they are not counted."""
        if isinstance(self.model, NotCounted):
            return ()
        if (key := (scheme, ranks)) not in self._torn:
            try:
                self._torn[key] = tuple(torn(self.model, self.model.packing(scheme), ranks))
            except NotCounted:
                self._torn[key] = ()
        return self._torn[key]

    @cached_property
    def vocabulary(self) -> int:
        """The number of tokens that there are; 0 if that is not known."""
        if isinstance(self.model, NotCounted):
            size = self.config.get("vocab_size")
            return size if type(size) is int else 0
        return max((m.out for m in self.model.matrices if m.kind is TensorKind.EMBEDDING), default=0)

    @cached_property
    def draft_layers(self) -> int:
        """The number of layers that draft tokens (MTP)."""
        if isinstance(self.model, NotCounted):
            return 0
        return len({matrix.layer for matrix in self.model.drafter} - {None})
