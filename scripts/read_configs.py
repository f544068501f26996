"""Reads every config.json of a folder, and compares it with transformers where that knows the type.

    make configs FOLDER=…

Compared are the bytes that transformers' own model holds after 20 tokens, in bfloat16, on the meta device at
full size, and the windows of its cache's layers.  The exit code is 1 if anything differs.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import transformers
from tiny_models import bytes_on_meta
from transformers import DynamicCache, PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from limen.audits import Request, audit
from limen.core.errors import BadInput
from limen.hf import decoder
from limen.hf.stack import LastTokens, Stack

N = 20
DROPPED = ("quantization_config", "auto_map", "_attn_implementation")  # of no weight here


def theirs(config: dict[str, Any], where: str) -> PreTrainedConfig | None:
    """The decoder's config as transformers reads it; None if it has no such type."""
    inner, model_type = decoder(config, where)
    if config.get("model_type") in CONFIG_MAPPING and inner is not config:
        whole = CONFIG_MAPPING[config["model_type"]].from_dict(_plain(config))
        return whole.get_text_config(decoder=True)
    if model_type not in CONFIG_MAPPING or "fuse_norm" in config:  # flash-linear-attention's own
        return None
    return CONFIG_MAPPING[model_type].from_dict({**_plain(inner), "model_type": model_type})


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
        return "read"
    try:
        held = bytes_on_meta(known, N)
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
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("*.json")):
        try:
            result = compare(json.loads(path.read_text()), path.name)
        except BadInput as error:
            result = f"refused: {error}"
        counts[result.split(":")[0]] += 1
        print(f"{path.stem}: {result}", flush=True)  # noqa: T201 - its output
    total = sum(counts.values())
    read = total - counts["refused"]
    print(f"\n{total} configs: {read} read, {counts['refused']} refused")  # noqa: T201
    print(f"of those read {counts['compared']} equal to transformers, {counts['WRONG']} not")  # noqa: T201
    print(f"{counts['read']} of types that transformers has not, {counts['not run']} not run")  # noqa: T201
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
