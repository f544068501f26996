"""llama.cpp's file types: which type llama-quantize gives each matrix.

Read in src/llama-quant.cpp at b21e4de (August 2026): llama_tensor_get_type_impl, tensor_type_fallback.

A line of the table is the type of most matrices, then those of some kinds, each with where it applies:
`more` layers (i < n/8, i ≥ 7n/8 or every third between), an `eighth` or a `sixteenth` of the layers, the
first `two` or `four`, the `middle` six eighths, `grouped` keys (at least four heads share one). `v` are
values, a fused matrix of queries, keys and values, or what makes keys and values of latents. Where a row
does not divide into blocks, a type of smaller blocks is taken. Files are taken to be made with an
importance matrix where llama-quantize demands one (IQ1, IQ2, IQ3_XXS), and else without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from limen.hf.stored import schemes
from limen.hf.stored.matrices import Matrix
from limen.hf.stored.schemes import BLOCKS, Scheme
from limen.hf.weights_table import TensorKind

_TABLE = """
q4_0     q4_0
q4_1     q4_1
q5_0     q5_0
q5_1     q5_1
q8_0     q8_0
q2_k     q2_K     v=q4_K:grouped,q3_K   down=q3_K                  o=q3_K
q2_k_s   q2_K     v=q4_K:grouped        down=q4_K:eighth
q3_k_s   q3_K
q3_k_m   q3_K     v=q5_K:two,q4_K       down=q5_K:sixteenth,q4_K   o=q4_K
q3_k_l   q3_K     v=q5_K                down=q5_K                  o=q5_K
q4_k_s   q4_K     v=q5_K:four           down=q5_K:eighth
q4_k_m   q4_K     v=q6_K:more           down=q6_K:more
q5_k_s   q5_K
q5_k_m   q5_K     v=q6_K:more           down=q6_K:more
q6_k     q6_K
iq4_nl   iq4_nl   v=q5_K:grouped        down=q5_K:eighth
iq4_xs   iq4_xs   v=q5_K:grouped        down=q5_K:eighth
iq3_m    iq3_s    v=q4_K                down=q4_K:eighth           o=q4_K
iq3_s    iq3_s    v=q4_K:grouped
iq3_xs  iq3_s  v=q4_K:grouped  q=iq3_xxs  k=iq3_xxs  gate=iq3_xxs:middle  up=iq3_xxs:middle
iq3_xxs  iq3_xxs  v=q4_K:grouped  q=iq2_s  k=iq2_s  o=iq3_s  embedding=iq3_s  head=q5_K
iq2_m    iq2_s    v=q4_K:grouped,iq3_s  down=iq3_s:eighth          o=iq3_s     embedding=iq3_s   head=q5_K
iq2_s    iq2_xs   v=q4_K:grouped,iq3_s  down=iq3_s:eighth          o=iq3_s     embedding=iq3_s   head=q5_K
iq2_xs   iq2_xs   v=q4_K:grouped,q2_K   down=q2_K:eighth           embedding=q2_K   head=q5_K
iq2_xxs  iq2_xxs  v=q4_K:grouped,q2_K   down=q2_K:eighth           embedding=q2_K   head=q5_K
iq1_m    iq1_m    v=q4_K:grouped,q2_K   down=q2_K:eighth           o=iq2_xxs   embedding=q2_K   head=q5_K
iq1_s    iq1_s    v=q4_K:grouped,q2_K   down=q2_K:eighth           o=iq2_xxs   embedding=q2_K   head=q5_K
mxfp4_moe  q8_0   experts=mxfp4         head=q8_0
"""
_PLAIN = {"f16": "f16", "bf16": "bf16", "f32": "f32"}
_FALLBACK = {"q4_K": "q5_0", "q5_K": "q5_1", "q6_K": "q8_0", "q2_K": "q4_0", "q3_K": "q4_0"}
_SMALL = (
    "iq1_s",
    "iq1_m",
    "iq2_xxs",
    "iq2_xs",
    "iq2_s",
    "iq2_m",
)  # file types with rules of their own for values
_LEAVES = {
    "v": ("v_proj", "kv_b_proj", "query_key_value", "qkv_proj", "c_attn", "Wqkv", "W_pack", "in_proj_qkv"),
    "k": ("k_proj",),
    "q": ("q_proj", "q_b_proj"),
    "o": ("o_proj", "out_proj", "dense", "wo"),
    "down": ("down_proj", "w2", "fc2", "dense_4h_to_h", "fc_out"),
    "gate": ("gate_proj", "w1"),
    "up": ("up_proj", "w3", "fc1", "dense_h_to_4h", "fc_in", "c_fc"),
}
_ROLES = {leaf: role for role, leaves in _LEAVES.items() for leaf in leaves}
# What stays in float32: llama.cpp's conversions write it so, and llama-quantize leaves it.
_WIDE = ("per_layer_model_projection", "embed_positions", "wpe")


@dataclass(frozen=True)
class MatrixPlace:
    """Where a matrix stands: it is number i of n such, in a model of these sizes."""

    i: int
    n: int
    grouped: bool


_WHERE: Mapping[str, Callable[[MatrixPlace], bool]] = {
    "": lambda at: True,
    "grouped": lambda at: at.grouped,
    "two": lambda at: at.i < 2,
    "four": lambda at: at.i < 4,
    "eighth": lambda at: at.i < at.n // 8,
    "sixteenth": lambda at: at.i < at.n // 16,
    "middle": lambda at: at.n // 8 <= at.i < 7 * at.n // 8,
    "more": lambda at: at.i < at.n // 8 or at.i >= 7 * at.n // 8 or (at.i - at.n // 8) % 3 == 2,
}


def _parsed(line: str) -> tuple[str, tuple[str, dict[str, tuple[tuple[str, str], ...]]]]:
    name, most, *others = line.split()
    rules = {}
    for role, _, types in (word.partition("=") for word in others):
        pairs = (one.partition(":") for one in types.split(","))
        rules[role] = tuple((kind, where) for kind, _, where in pairs)
    return name, (most, rules)


_MIXTURES = dict(_parsed(line) for line in _TABLE.strip().splitlines())
FILE_TYPES = (*_MIXTURES, *_PLAIN)


@dataclass(frozen=True)
class Mixture:
    """A file type for a model of so many layers, experts, and heads that share a key."""

    name: str
    layers: int
    experts: int
    sharing: int
    tied: bool
    seventy: bool = False  # a Llama of 80 layers with grouped keys, whose values get more bits

    def each(self, matrices: Iterable[Matrix]) -> Iterator[tuple[Matrix, Scheme]]:
        matrices = list(matrices)
        values = [m.name for m in matrices if _role(m) == "v" and not m.piece]
        at = {name: i for i, name in enumerate(values)}
        for matrix in matrices:
            yield matrix, schemes.blocks(self._type(matrix, at, len(values)))

    def _type(self, matrix: Matrix, at: Mapping[str, int], values: int) -> str:
        if matrix.kind not in _WIDTH or matrix.leaf in _WIDE:
            return "f32"
        if (plain := _PLAIN.get(self.name)) is not None:
            return plain
        most, rules = _MIXTURES[self.name]
        if matrix.kind is TensorKind.HEAD or (matrix.kind is TensorKind.EMBEDDING and self.tied):
            own = most if most == "q8_0" else "q6_K"
            own = rules.get("head", ((own, ""),))[0][0]
            return _fitting("q8_0" if matrix.columns % BLOCKS[most][0] else own, matrix.columns)
        role = _role(matrix)
        if role == "v":
            place = MatrixPlace(at.get(matrix.name, 0), values, self._grouped)
        else:
            place = MatrixPlace(matrix.layer or 0, self.layers, self._grouped)
        if matrix.kind is TensorKind.EXPERTS and "experts" in rules:
            role = "experts"
        own = next((kind for kind, where in rules.get(role, ()) if _WHERE[where](place)), most)
        return _fitting(self._raised(role, own, place), matrix.columns)

    @property
    def _grouped(self) -> bool:
        return self.sharing >= 4 or (self.name in _SMALL and self.experts >= 4)

    def _raised(self, role: str, own: str, place: MatrixPlace) -> str:
        """Values of a 70B, and attention of eight experts, get more bits."""
        small = self.name in _SMALL
        if role == "v" and self.seventy and not small and own in ("q3_K", "q4_K"):
            own = "q5_K"
        if self.experts != 8 or self.name == "mxfp4_moe":
            return own
        if role in ("k", "v") and not small:
            return "q8_0"
        if role == "k":
            return "q4_K"
        if role == "o" and (small or self.name in _EIGHT):
            return "q5_K"
        if role == "down" and self.name == "iq3_m" and _WHERE["more"](place):
            return "q4_K"
        return own


_EIGHT = (
    "q2_k",
    "q3_k_s",
    "q3_k_m",
    "q4_k_s",
    "q4_k_m",
    "iq3_xs",
    "iq3_xxs",
    "iq3_s",
    "iq3_m",
    "iq4_nl",
    "iq4_xs",
)
_WIDTH = (TensorKind.LINEAR, TensorKind.EXPERTS, TensorKind.HEAD, TensorKind.EMBEDDING)


def _role(matrix: Matrix) -> str:
    """What llama.cpp's name for it says: by the last word, in a layer; in an MLP, c_proj is `down`."""
    if matrix.kind is TensorKind.EMBEDDING:
        return "embedding"
    if matrix.leaf == "c_proj":
        return "down" if ".mlp." in matrix.name else "o"
    if ".indexer." in matrix.name or (".linear_attn." in matrix.name and matrix.leaf == "out_proj"):
        return ""
    return _ROLES.get(matrix.leaf, "")


def _fitting(kind: str, columns: int) -> str:
    """The type itself where rows divide into its blocks."""
    if columns % BLOCKS[kind][0] == 0:
        return kind
    kind = _FALLBACK.get(kind, "iq4_nl")
    return kind if columns % BLOCKS[kind][0] == 0 else "f16"
