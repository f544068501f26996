"""Counts the parameters of every config.json of a folder, beside those of transformers' model.

    make parameters FOLDER=…

The model is made on the meta device, at full size and without memory, and each tensor is compared by its name
and sizes.  Of a model of more than text it is the decoder that is counted, without a head where transformers
has none.  The exit code is 1 if any differs.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import transformers
from fixtures.tiny_models import model_of, plain, tensors_of_words, weights_of_words
from read_configs import theirs

from limen.errors import BadInput
from limen.hf import decoder, read
from limen.hf.fields import Fields
from limen.hf.weights import NotCounted, parameters, tensors


def counted(config: dict[str, Any], where: str) -> str:
    """What came of one config."""
    inner, model_type = decoder(config, where)
    layers = read(config, where).layers
    if isinstance(why := parameters(Fields(inner, model_type, where), layers), NotCounted):
        return f"not counted: {model_type}: {why}"
    if (known := theirs(config, where)) is None:
        return f"not compared: transformers has no {model_type}"
    try:
        with torch.device("meta"):
            model = model_of(known)
    except (RuntimeError, ImportError, ValueError, KeyError) as error:  # a part that transformers has not
        return f"not built: {type(error).__name__}: {str(error).splitlines()[0]}"
    head = model.get_output_embeddings() is not None
    ours = tensors(Fields(_tied(inner, known), model_type, where), layers, head)
    count, theirs_count = sum(tensor.numbers for tensor in ours), weights_of_words(model)
    sums = f"{count:,} ours, {theirs_count:,} theirs, {count - theirs_count:+,}"
    other = {tensor.name: plain(tensor.shape) for tensor in ours}.items() ^ tensors_of_words(model).items()
    return f"WRONG: {sums}; {sorted(other)[0]}" if other else f"equal: {sums}"


def _tied(inner: Any, known: Any) -> dict[str, Any]:
    """Whether the head is the embedding: of a decoder inside, the model around it may say."""
    return {**inner, "tie_word_embeddings": bool(getattr(known, "tie_word_embeddings", False))}


def main(folder: Path) -> int:
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("*.json")):
        try:
            result = counted(json.loads(path.read_text()), path.name)
        except BadInput as error:
            result = f"refused: {error}"
        counts[result.split(":")[0]] += 1
        print(f"{path.stem}: {result}", flush=True)  # noqa: T201 - its output
    print("\n" + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))  # noqa: T201
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
