"""GGUF headers with a damaged byte, length or value."""

import random
import tempfile
from pathlib import Path

from fixtures.gguf import LLAMA, QWEN35, gguf

from attack.damage import bytes_changed
from attack.watch import Attack, Untrue
from limen.audits import Request, audit, load
from limen.render.audit import lines_of

_FOLDER = tempfile.TemporaryDirectory(prefix="limen-attack-")
SHORT = {key: value for key, value in QWEN35.items() if not key.startswith("tokenizer")}
CORPUS = [gguf(LLAMA, (((64, 64), 0), ((64, 32), 12))), gguf(SHORT), gguf(QWEN35), gguf(LLAMA)]


def make(rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        metadata = dict(rng.choice([LLAMA, SHORT]))
        key = rng.choice([key for key, value in metadata.items() if isinstance(value, int)])
        metadata[key] = rng.choice([0, 1, 3, 2**16, 2**31, 2**32 - 1, "\x1b[2J", [1, 2], True])
        return gguf(metadata)
    content = rng.choice(CORPUS)
    for _ in range(rng.randrange(1, 3)):
        content = bytes_changed(content, rng)
    return content


def judge(content: bytes) -> bool:
    path = Path(_FOLDER.name) / "model.gguf"
    path.write_bytes(content)
    found = audit(*load(str(path)), Request(context=64))
    if found.cache_bytes < 0 or not lines_of(found.report):
        raise Untrue("fewer bytes than none")
    return False


ATTACK = Attack("gguf", 15, make, judge)
