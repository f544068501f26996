"""Model files: model.json and the header of model.safetensors damaged, with the digest they then have."""

import hashlib
import json
import random
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import limen_check
from attack.certificates import Fields
from attack.damage import bytes_changed, changed
from attack.watch import Attack, Untrue
from limen.core.certificate import encode
from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.decisions.placement import Offer, files_of, solves
from limen.errors import BadInput
from limen.model.files import HEADER, WEIGHTS, load
from limen.model.run import batch_size, inputs, run

_FOLDER = tempfile.TemporaryDirectory(prefix="limen-attack-")
TASKS = ["eva(n=4)", "equality(n=3)", "two_sum(n=3,M=4)", "dyck(n=4,k=1,D=2)", "counting(n=3,S=2)"]
FITS = (
    "softmax(reply_bits=3),linear(h=1,d=1,d_k=1,phi=elu1,normalise=true,p=16)"  # the kernel has no defaults
)


@cache
def corpus() -> list[tuple[Fields, bytes, bytes]]:
    found = []
    for task in TASKS:
        offer = Offer(construct(Task.parse(task)), False, "float32")
        proof = solves(offer)
        if not isinstance(proof, str):
            header, packed = files_of(offer)
            found.append((json.loads(encode(proof)), header, packed))
    return found


def make(rng: random.Random) -> tuple[bytes, bytes, bytes]:
    c, header, packed = rng.choice(corpus())
    way = rng.random()
    if way < 0.5:
        fields = changed(json.loads(header), rng)
        if isinstance(fields, dict) and rng.random() < 0.05:
            fields["embedding"] = "table(V=4,n=5)"  # of another kind, which exists
        header = json.dumps(fields).encode()
    elif way < 0.8:
        length = int.from_bytes(packed[:8], "little")
        entries = json.dumps(changed(json.loads(packed[8 : 8 + length]), rng)).encode()
        packed = len(entries).to_bytes(8, "little") + entries + packed[8 + length :]
    elif way < 0.9:
        packed = bytes_changed(packed, rng)
    else:
        header = bytes_changed(header, rng)
    weights = hashlib.sha256(len(header).to_bytes(8, "little") + header + packed).hexdigest()
    kind = {} if rng.random() < 0.6 else {"kind": "fits", "architecture": FITS}
    return json.dumps(c | {"weights": weights} | kind).encode(), header, packed


def judge(given: tuple[bytes, bytes, bytes]) -> bool:
    """The kernel on the files; and the tool, which loads them, and runs every input of what was accepted."""
    content, header, packed = given
    valid = _valid(content, header, packed)
    folder = Path(_FOLDER.name)
    (folder / HEADER).write_bytes(header)
    (folder / WEIGHTS).write_bytes(packed)
    model = load(folder)
    if not valid:
        raise BadInput("refused")
    c = json.loads(content)
    task = Task.parse(c["task"])
    seen = run(
        model, task, Precision.parse(c["precision"]), inputs(task, None, 0, batch_size(model, task, 0)), 0
    )
    if seen.wrong or Fraction(seen.margin) < Fraction(c["margin"]):
        raise Untrue("some input is nearer, or wrong")
    return True


def _valid(content: bytes, header: bytes, packed: bytes) -> bool:
    try:
        return limen_check.derive(content, (header, packed)).valid
    except limen_check.Malformed:
        return False


ATTACK = Attack("model files", 80, make, judge)
