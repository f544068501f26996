"""What each matrix is stored in: one scheme for all, names that are left out, names with their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from limen.errors import BadInput, shortened
from limen.hf.layer_sizes import NotCounted
from limen.hf.stored import schemes
from limen.hf.stored.matrices import QUANTISED, Matrix
from limen.hf.stored.names import ModuleNames
from limen.hf.stored.schemes import Scheme
from limen.hf.weights_table import TensorKind

Groups = tuple[tuple[ModuleNames, Scheme], ...]
_SCHEMES = 16  # that one model mixes


class Packing(Protocol):
    """How all matrices of a model are stored."""

    @property
    def name(self) -> str: ...

    def each(self, matrices: Iterable[Matrix]) -> Iterator[tuple[Matrix, Scheme]]: ...


@dataclass(frozen=True)
class Packed:
    """Matrices of some kinds in one scheme, but for those skipped and those named; the rest in `rest`."""

    name: str
    scheme: Scheme | None
    rest: Scheme = schemes.plain(2)
    kinds: tuple[TensorKind, ...] = QUANTISED
    experts: Scheme | None = None  # of experts, where it is another
    skipped: ModuleNames = ModuleNames(())
    named: Groups = ()
    unit: int = 1  # rows of numbers that do not divide by it are left as they are

    def each(self, matrices: Iterable[Matrix]) -> Iterator[tuple[Matrix, Scheme]]:
        for matrix in matrices:
            yield matrix, self.of(matrix) or (schemes.plain(4) if matrix.wide else self.rest)

    def of(self, matrix: Matrix) -> Scheme | None:
        """None: as it is."""
        if matrix.kind not in (*QUANTISED, *self.kinds, *(_NAMEABLE if self.named else ())):
            return None
        name = first(matrix)
        if name in self.skipped or matrix.columns % self.unit:
            return None
        for names, scheme in self.named:
            if name in names:
                return scheme
        if matrix.kind not in self.kinds:
            return None
        own = self.experts if matrix.kind is TensorKind.EXPERTS else None
        return own or self.scheme


def first(matrix: Matrix) -> str:
    """The name that checkpoints give it, of the first expert."""
    return matrix.name.replace(".experts.", ".experts.0.")


_NAMEABLE = (TensorKind.HEAD, TensorKind.ROUTER, TensorKind.EMBEDDING)
WITH_EMBEDDINGS = (*QUANTISED, *_NAMEABLE)
# What checkpoints in fp8 keep in 16 bits though no list says so (deepseek-ai/DeepSeek-V3, V3.2, V4).
_NEVER: tuple[str, ...] = (
    "indexer.weights_proj",
    "scorer.weights_proj",
    "compressor.kv_proj",
    "compressor.gate_proj",
    "compressor.indexer.kv_proj",
    "compressor.indexer.gate_proj",
)


def declared(config: Mapping[str, Any], model_type: str, rest: Scheme, where: str) -> Packed | None:
    """What a config says of its weights, None if it says nothing; raises NotCounted for what is not known."""
    box = _box(config, where)
    if box is None:
        return None
    where, own = box
    method, algorithm = own.get("quant_method"), own.get("quant_algo")
    if own.get("moe_quant_algo") is not None:
        return _of_deepseek_v4(own, rest, where)
    if algorithm is not None or method == "modelopt" or method == "modelopt_fp4":
        return _modelopt(own, rest, where)
    if method is None and "bits" in own and "group_size" in own:
        return _mlx(own, rest, where)
    read = _METHODS.get(str(method))
    if read is None:
        raise NotCounted(
            f"{where}.quant_method is {shortened(method)}: how it stores weights is not known here"
        )
    if method == "fp8" and model_type == "deepseek_v4":
        return _fp8_of_deepseek_v4(config, own, rest, where)
    return read(own, rest, where)


def _box(config: Mapping[str, Any], where: str) -> tuple[str, Mapping[str, Any]] | None:
    """The first object that declares a quantisation, and its name."""
    boxes = [("", config), *((f"{key}.", value) for key, value in config.items() if isinstance(value, dict))]
    for key in ("quantization_config", "compression_config", "quantization"):
        for before, box in boxes:
            if (value := box.get(key)) is not None:
                if not isinstance(value, dict):
                    raise BadInput(f"{where}: {before}{key} is {shortened(value)}; expected an object")
                if value and not (before and key == "quantization" and "bits" not in value):
                    return f"{where}: {before}{key}", value
    return None


def _integer(own: Mapping[str, Any], key: str, default: int, where: str, most: int = 2**20) -> int:
    value = own.get(key, default)
    value = default if value is None else value
    if type(value) is not int or not 1 <= value <= most:
        raise BadInput(f"{where}.{key} is {shortened(value)}; expected an integer from 1 to {most:,}")
    return value


def _group(own: Mapping[str, Any], default: int | None, where: str) -> int | None:
    """Numbers that share a scale; None: those of a row."""
    if own.get("group_size", default) in (None, -1):
        return None
    return _integer(own, "group_size", default or 1, where)


def _names(own: Mapping[str, Any], where: str, *keys: str, more: Iterable[str] = ()) -> ModuleNames:
    names = [*more]
    for key in keys:
        value = own.get(key)
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise BadInput(f"{where}.{key} is {shortened(value)}; expected a list of names")
        names += value
    return ModuleNames(names, where)


def _by_scheme(each: Iterable[tuple[str, Scheme]], where: str) -> Groups:
    """The modules of each scheme, in the order of their first."""
    groups: dict[tuple[str, int], tuple[Scheme, list[str]]] = {}
    for name, scheme in each:
        groups.setdefault((scheme.name, scheme.tensors), (scheme, []))[1].append(name)
    if len(groups) > _SCHEMES:
        raise NotCounted(f"{where}: {len(groups):,} schemes; at most {_SCHEMES} are read")
    return tuple((ModuleNames(names, where), scheme) for scheme, names in groups.values())


def _together(each: Iterable[Scheme]) -> str:
    return " and ".join(sorted({scheme.name for scheme in each}))


def _bits(own: Mapping[str, Any], key: str, where: str, known: tuple[int, ...]) -> int:
    bits = own.get(key, 4)
    if bits not in known or type(bits) is not int:
        raise NotCounted(f"{where}.{key} is {shortened(bits)}; known are {', '.join(map(str, known))}")
    return bits


def _fp8(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    skipped = _names(own, where, "modules_to_not_convert", "ignored_layers", more=_NEVER)
    scheme = _fp8_scheme(own, where)
    return Packed(scheme.name, scheme, rest, skipped=skipped)


def _fp8_scheme(own: Mapping[str, Any], where: str, scale: int = 4) -> Scheme:
    size = own.get("weight_block_size")
    if size is None:
        return schemes.fp8_tensor(own.get("activation_scheme") == "static")
    if (
        not isinstance(size, list)
        or len(size) != 2
        or not all(type(n) is int and 0 < n <= 2**16 for n in size)
    ):
        raise BadInput(f"{where}.weight_block_size is {shortened(size)}; expected two integers")
    return schemes.fp8_block(size[0], size[1], scale)


def _fp8_of_deepseek_v4(
    config: Mapping[str, Any], own: Mapping[str, Any], rest: Scheme, where: str
) -> Packed:
    """Experts in MXFP4, scales in E8M0, unless expert_dtype is fp8 (vLLM: deepseek_v4/quant_config.py)."""
    if (experts := config.get("expert_dtype")) not in ("fp4", "fp8"):
        told = "is not said" if experts is None else f"is {shortened(experts)}"
        raise NotCounted(f"{where}: expert_dtype {told}: experts of this type are stored in fp4 or in fp8")
    four = experts == "fp4"
    scheme = _fp8_scheme(own, where, 1 if four else 4)
    skipped = _names(own, where, "modules_to_not_convert", "ignored_layers", more=_NEVER)
    name = f"{scheme.name}{', experts in MXFP4' if four else ''}"
    return Packed(name, scheme, rest, experts=schemes.mxfp4() if four else None, skipped=skipped)


def _of_deepseek_v4(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    """NVIDIA's: fp8 as DeepSeek has it, but the experts."""
    algorithm = str(own["moe_quant_algo"])
    scheme, skipped = _fp8_scheme(own, where, 1), ModuleNames(_NEVER)
    return Packed(
        f"{scheme.name}, experts in {algorithm}",
        scheme,
        rest,
        experts=_algorithm(algorithm, own, where),
        skipped=skipped,
    )


def _mxfp4(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    skipped = _names(own, where, "modules_to_not_convert")
    return Packed("MXFP4 experts", schemes.mxfp4(), rest, kinds=(TensorKind.EXPERTS,), skipped=skipped)


def _awq(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    bits = _bits(own, "bits" if "bits" in own else "w_bit", where, (4, 8))
    g = _group({"group_size": own.get("group_size", own.get("q_group_size"))}, 128, where)
    scheme = schemes.awq(bits, g or 128)
    return Packed(scheme.name, scheme, rest, skipped=_names(own, where, "modules_to_not_convert"))


def _gptq(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    """`dynamic` names modules after "-:" that are left as they are, or after "+:" with bits of their own."""
    bits, g = _bits(own, "bits", where, (2, 3, 4, 8)), _group(own, 128, where)
    dynamic = own.get("dynamic") or {}
    if not isinstance(dynamic, dict):
        raise BadInput(f"{where}.dynamic is {shortened(dynamic)}; expected an object")
    if any(not name.startswith("-:") for name in dynamic):
        raise NotCounted(f"{where}.dynamic gives modules bits of their own, which is not read here")
    left = [f"re:{name[2:]}" for name in dynamic]
    skipped = _names(own, where, "modules_to_not_convert", "modules_in_block_to_not_quantize", more=left)
    scheme = schemes.gptq(bits, g)
    named: Groups = ((ModuleNames(("lm_head",)), scheme),) if own.get("lm_head") is True else ()
    return Packed(scheme.name, scheme, rest, skipped=skipped, named=named)


def _bitsandbytes(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    skipped = _names(own, where, "llm_int8_skip_modules")
    if own.get("load_in_8bit") or own.get("_load_in_8bit"):
        scheme = schemes.bnb_int8()
    elif own.get("load_in_4bit") or own.get("_load_in_4bit"):
        kind = str(own.get("bnb_4bit_quant_type", "fp4"))
        scheme = schemes.bnb_4bit(kind, own.get("bnb_4bit_use_double_quant") is True)
    else:
        raise NotCounted(f"{where} loads in neither 4 nor 8 bits")
    return Packed(scheme.name, scheme, rest, skipped=skipped)


def _mlx(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    """Bits and group size for all that has rows of whole groups; a module's own beside them, false: none."""
    scheme, g = _mlx_scheme(own, where), _integer(own, "group_size", 64, where)
    others = {key: value for key, value in own.items() if isinstance(value, dict) and "bits" in value}
    named = _by_scheme(
        ((name, _mlx_scheme(value, f"{where}.{name}")) for name, value in others.items()), where
    )
    skipped = ModuleNames((key for key, value in own.items() if value is False), where)
    return Packed(scheme.name, scheme, rest, WITH_EMBEDDINGS, skipped=skipped, named=named, unit=g)


def _mlx_scheme(own: Mapping[str, Any], where: str) -> Scheme:
    bits, mode = _bits(own, "bits", where, (2, 3, 4, 5, 6, 8)), own.get("mode") or "affine"
    if mode not in ("affine", "mxfp4", "mxfp8", "nvfp4"):
        raise NotCounted(f"{where}.mode is {shortened(mode)}, which is not known here")
    return schemes.mlx(bits, _integer(own, "group_size", 64, where), mode)


def _modelopt(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    algorithm, skipped = own.get("quant_algo"), _names(own, where, "exclude_modules", "ignore")
    if algorithm != "MIXED_PRECISION":
        scheme = _algorithm(algorithm, own, where)
        return Packed(scheme.name, scheme, rest, skipped=skipped)
    layers = own.get("quantized_layers")
    if not isinstance(layers, dict) or not all(isinstance(value, dict) for value in layers.values()):
        raise NotCounted(f"{where}.quant_algo is MIXED_PRECISION, but quantized_layers does not say of what")
    each = ((name, _algorithm(value.get("quant_algo"), value, where)) for name, value in layers.items())
    named = _by_scheme(each, where)
    return Packed(_together(s for _, s in named), None, rest, skipped=skipped, named=named)


def _algorithm(algorithm: object, own: Mapping[str, Any], where: str) -> Scheme:
    """modelopt's word for a scheme."""
    if algorithm in ("NVFP4", "W4A16_NVFP4", "NVFP4_AWQ", "NVFP4_SVD"):
        return schemes.nvfp4(_integer(own, "group_size", 16, where), algorithm != "W4A16_NVFP4")
    if algorithm == "FP8":
        return schemes.fp8_tensor(static=True)
    if algorithm in ("FP8_PER_CHANNEL_PER_TOKEN", "W8A8_FP8_PER_CHANNEL"):
        return schemes.fp8_channel()
    if algorithm in ("FP8_PB_WO", "FP8_BLOCK_SCALES"):
        return schemes.fp8_block()
    if algorithm == "MXFP8":
        return schemes.mxfp8()
    if algorithm in ("MXFP4", "W4A8_MXFP4_FP8"):
        return schemes.mxfp4()
    if algorithm in ("W4A16_AWQ", "W4A8_AWQ"):
        return schemes.packed(4, _group(own, 128, where))
    raise NotCounted(f"{where}.quant_algo is {shortened(algorithm)}: how it stores weights is not known here")


def _compressed(own: Mapping[str, Any], rest: Scheme, where: str) -> Packed:
    groups = own.get("config_groups")
    if not isinstance(groups, dict) or not groups:
        raise NotCounted(f"{where}.config_groups does not say how weights are stored")
    skipped, default, named = _names(own, where, "ignore"), None, list[tuple[str, Scheme]]()
    for key, group in groups.items():
        inside = f"{where}.config_groups.{key}"
        if not isinstance(group, dict) or not isinstance(group.get("weights"), dict):
            raise NotCounted(f"{inside} has no weights")
        form = group.get("format") or own.get("format")
        scheme = _compressed_scheme(group["weights"], group.get("input_activations"), form, inside)
        targets = _names(group, inside, "targets").names or ("Linear",)
        default = scheme if "Linear" in targets else default
        named += [(name, scheme) for name in targets if name != "Linear"]
    name = _together(one for one in (default, *(s for _, s in named)) if one is not None)
    return Packed(name, default, rest, skipped=skipped, named=_by_scheme(named, where))


def _compressed_scheme(weights: Mapping[str, Any], inputs: object, form: object, where: str) -> Scheme:
    """By type, bits, strategy and format (compressed_tensors/quantization/quant_args.py, 0.20).

    Integers whose input is quantised too have a byte each, whatever their bits; a scale of the input is
    stored where it is not found anew for each token.
    """
    kind, bits, strategy = weights.get("type", "int"), weights.get("num_bits", 8), weights.get("strategy")
    g = _group(weights, None, where)
    strategy = strategy or ("group" if g else "tensor")
    static = isinstance(inputs, dict) and inputs.get("dynamic") is not True
    if (kind, bits) == ("float", 8) and strategy == "tensor":
        return schemes.fp8_tensor(static, 2)
    if (kind, bits) == ("float", 8) and strategy == "channel":
        return schemes.fp8_channel()
    if (kind, bits) == ("float", 8) and strategy == "block":
        return _fp8_scheme({"weight_block_size": weights.get("block_structure")}, where, 2)
    if kind == "float" and g == 32 and type(bits) is int and bits in _MX:
        return _MX[bits]()
    if (kind, bits) == ("float", 4) and g:
        return schemes.nvfp4(g, static)
    if kind == "int" and type(bits) is int and 2 <= bits <= 8:
        if form == "int-quantized" or (form is None and (inputs is not None or strategy != "group")):
            return schemes.int8_channel(g)
        return schemes.packed(bits, g, weights.get("symmetric") is False, weights.get("actorder") == "group")
    raise NotCounted(f"{where}: {shortened(bits)} bits of type {shortened(kind)} are not known here")


_MX = {4: schemes.mxfp4, 6: schemes.mxfp6, 8: schemes.mxfp8}
_METHODS = {
    "fp8": _fp8,
    "mxfp4": _mxfp4,
    "awq": _awq,
    "gptq": _gptq,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "mlx": _mlx,
}
