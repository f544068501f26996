"""A per-position function of two hidden layers, written unit by unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from limen.core.weights import Weights
from limen.model.local import Mlp


@dataclass
class Net:
    """`unit` adds a ReLU of columns, `gate` a ReLU of units that adds to columns; `constant` adds to one."""

    units: list[tuple[Mapping[int, float], float]] = field(default_factory=list)
    gates: list[tuple[Mapping[int, float], float, Mapping[int, float]]] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)

    def unit(self, of: Mapping[int, float], bias: float = 0) -> int:
        """relu(Σ factor·column + bias): its number."""
        self.units.append((of, bias))
        return len(self.units) - 1

    def gate(self, of: Mapping[int, float], to: Mapping[int, float], bias: float = 0) -> None:
        """relu(Σ factor·unit + bias), times a factor for each column that it is added to."""
        self.gates.append((of, bias, to))

    @property
    def mlp(self) -> Mlp:
        return Mlp(len(self.units), hidden2=len(self.gates))

    def write(self, w: Weights, layer: int) -> None:
        W1, b1, W2, b2, W3, b3 = (w[f"{layer}.local.{name}{i}"] for i in (1, 2, 3) for name in "Wb")
        assert (len(b1), len(b2)) == (len(self.units), len(self.gates)), "a frame of another size"
        for u, (of, bias) in enumerate(self.units):
            b1[u] = bias
            for column, factor in of.items():
                W1[column, u] = factor
        for g, (of, bias, to) in enumerate(self.gates):
            b2[g] = bias
            for unit, factor in of.items():
                W2[unit, g] = factor
            for column, factor in to.items():
                W3[g, column] += factor
        for column, value in self.constants.items():
            b3[column] = value
