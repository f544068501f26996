"""config.json of every kind that the audit reads, with one to three fields changed."""

import json
import random
from functools import cache
from typing import Any

from attack.damage import changed
from attack.watch import Attack, Untrue
from limen.audits import Request, audit
from limen.files.printable import printable
from limen.files.strict_json import read_object
from limen.hf.fields import defaults
from limen.render.audit import lines_of

COMMON = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "layer_types",
    "sliding_window",
    "head_dim",
)


@cache
def corpus() -> list[dict[str, Any]]:
    return [
        dict(defaults()[kind].fields) | {"model_type": kind, "num_hidden_layers": 4}
        for kind in sorted(defaults())
    ]


def make(rng: random.Random) -> bytes:
    config = rng.choice(corpus())
    for _ in range(rng.randrange(1, 4)):
        key = rng.choice(COMMON) if rng.random() < 0.3 else rng.choice([*config])
        config = config | {key: changed(config.get(key), rng)}
    return json.dumps(config).encode()


def judge(content: bytes) -> bool:
    found = audit(read_object(content, "config"), "config", Request(context=64))
    lines = [printable(line) for line in lines_of(found.report)]
    if found.cache_bytes < 0 or not lines or not json.loads(found.to_json()):
        raise Untrue("fewer bytes than none")
    return False


ATTACK = Attack("configs", 30, make, judge)
