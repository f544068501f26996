"""Reads every config.json of a folder, and compares it with transformers where that knows the type.

    make configs FOLDER=…

Compared are the bytes that transformers' own model holds after 20 tokens, in bfloat16, on the meta device at
full size, and the windows of its cache's layers; a model that needs values to run is run on the processor
with a narrow stream, since no cache depends on that.  What is not compared says why.  The exit code is 1 if
anything differs.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers
from fixtures.tiny_models import bytes_on_meta, cached_bytes
from transformers import DynamicCache, PreTrainedConfig
from transformers.activations import ACT2FN
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from limen.audits import Request, audit
from limen.errors import BadInput
from limen.hf import decoder, defaults
from limen.hf.stack import LastTokens, Stack

N = 20
DROPPED = ("quantization_config", "auto_map", "_attn_implementation")  # of no weight here
ALIKE = {"mimo": "qwen2"}  # types whose published code is that of another, which transformers has
NARROW = {
    "hidden_size": 64,
    "vocab_size": 64,
    "vocab_size_per_layer_input": 64,
    "hidden_size_per_layer_input": 8,
}
NARROW |= {"laurel_rank": 4, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def theirs(config: dict[str, Any], where: str) -> PreTrainedConfig | None:
    """The decoder's config as transformers reads it; None if it has no such type."""
    inner, model_type = decoder(config, where)
    if config.get("model_type") in CONFIG_MAPPING and inner is not config:
        whole = CONFIG_MAPPING[config["model_type"]].from_dict(_plain(config))
        return whole.get_text_config(decoder=True)
    model_type = ALIKE.get(model_type, model_type)
    if model_type not in CONFIG_MAPPING or theirs_of_fla(config):
        return None
    return CONFIG_MAPPING[model_type].from_dict({**_plain(inner), "model_type": model_type})


def theirs_of_fla(config: dict[str, Any]) -> bool:
    return "fuse_norm" in config or "fuse_cross_entropy" in config


def why(config: dict[str, Any], where: str) -> str:
    """Why transformers has nothing to compare with."""
    model_type = decoder(config, where)[1]
    if theirs_of_fla(config) or defaults()[model_type].family == "fla":
        return f"{model_type} is flash-linear-attention's own, which needs triton"
    if "auto_map" in config:
        return f"transformers has no {model_type}: it is remote code (auto_map)"
    return f"transformers has no {model_type}"


def held_by(config: PreTrainedConfig) -> int:
    """Bytes that transformers' model holds after N tokens; its activation is of no weight here."""
    if getattr(config, "hidden_act", "silu") not in ACT2FN:
        config.hidden_act = "silu"
    try:
        return bytes_on_meta(config, N)
    except RuntimeError as error:
        if "meta" not in str(error):
            raise
    for name, value in NARROW.items():
        if hasattr(config, name):
            setattr(config, name, value)
    sizes = getattr(config, "intermediate_size", 64)
    config.intermediate_size = [64] * len(sizes) if isinstance(sizes, list) else 64
    return cached_bytes(config, N, 1)


def _plain(config: Any) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in DROPPED}


def windows(config: PreTrainedConfig) -> list[int | None]:
    """Of each layer of the cache that keeps keys."""
    config.allow_global_per_layer_attribute_access = True
    layers = DynamicCache(config=config).layers
    return [getattr(layer, "sliding_window", None) for layer in layers]


def our_windows(stack: Stack) -> list[int | None]:
    found = []
    for layer in stack.layers:
        kept = [k.rows for block in layer.blocks for k in block.kept if isinstance(k.rows, LastTokens)]
        found.append(kept[0].W if kept else None)
    return found


def compare(config: dict[str, Any], where: str) -> str:
    request = Request(context=N, kv_dtype="bfloat16", conv_dtype=None, engine="transformers")
    named = {**config, "dtype": "bfloat16", "torch_dtype": "bfloat16"}
    found = audit(
        {**named, **{k: _sixteen(v) for k, v in config.items() if isinstance(v, dict)}}, where, request
    )
    known = theirs(config, where)
    if known is None:
        return f"read: {why(config, where)}"
    try:
        held = held_by(known)
    except (RuntimeError, NotImplementedError, KeyError, ImportError) as error:  # no values, or no such part
        return f"not run: {type(error).__name__}: {str(error).splitlines()[0]}"
    if held != found.cache_bytes:
        return f"WRONG: transformers holds {held:,} bytes, the audit says {found.cache_bytes:,}"
    try:
        seen = [w for w in windows(known) if w is not None]
    except (AttributeError, KeyError, ValueError):
        seen = None  # types whose cache is made another way
    ours = [w for w in our_windows(found.stack) if w is not None]
    if known.model_type == "recurrent_gemma":  # its cache has a window for every layer, used or not
        seen = ours[: len(seen or [])] if set(seen or []) == set(ours) else seen
    if seen and seen != ours:
        return f"WRONG: windows {sorted(set(seen))} in transformers, {sorted(set(ours))} in the audit"
    return "compared"


def _sixteen(inner: dict[str, Any]) -> dict[str, Any]:
    return {**inner, "dtype": "bfloat16", "torch_dtype": "bfloat16"} if "hidden_size" in inner else inner


def main(folder: Path) -> int:
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    torch.fx.experimental._config.meta_nonzero_assume_all_nonzero = True  # a router's choices: no cache's
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for path in sorted(folder.glob("*.json")):
        try:
            result = compare(json.loads(path.read_text()), path.name)
        except BadInput as error:
            result = f"refused: {error}"
        counts[result.split(":")[0]] += 1
        if result.startswith("read: "):
            reasons["flash-linear-attention" if "flash" in result else result.removeprefix("read: ")] += 1
        print(f"{path.stem}: {result}", flush=True)  # noqa: T201 - its output
    total = sum(counts.values())
    read = total - counts["refused"]
    print(f"\n{total} configs: {read} read, {counts['refused']} refused")  # noqa: T201
    print(f"of those read {counts['compared']} equal to transformers, {counts['WRONG']} not")  # noqa: T201
    print(f"{counts['read']} of types that transformers has not, {counts['not run']} not run")  # noqa: T201
    for reason, count in sorted(reasons.items()):
        print(f"    {count} {reason}")  # noqa: T201
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
