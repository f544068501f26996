"""Growth: commands at growing sizes, each in a process of its own: CPU seconds, exponent, peak memory, humps.

The exponent is log(seconds ratio)/log(size ratio) from the first size to the last.  A hump is a size that
costs more than 2× a larger one.  It measures one round on this machine; exit 1 if there is a hump.  Two
configs with N layers and a certificate of size N are made in a folder that is removed.  `fool` is not here:
its budget is a number of seconds.
"""

import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

LIMEN = [sys.executable, "-m", "limen"]
HUMP = 2.0
REPEATED = "{N}*(3*linear(h=16,d=128),softmax(h=16,d=128))"
LAYERS, TABLES = (4, 8, 16, 32, 96), (10, 100, 1000)  # of the configs, and sizes of the certificates
ROWS = {
    'decide "eva(n={N})" "linear(h=1,d=16,p=16)"': (10**2, 10**3, 10**4, 10**5),
    'decide "eva(n=488)" "log_linear(h=1,d=16,levels={N})"': (2**4, 2**14, 2**24, 2**34),
    'decide "two_sum(n={N})" "24*mamba2(h=16,d=64,s=64)"': (10, 100, 1000, 10**4),
    'decide "counting(n={N})" "2*softmax(h=1,d=64)"': (10, 100, 1000, 10**4),
    'decide "composition(m={N},n1=16,n2=16)" "3*softmax(h=4,d=64)"': (10, 100, 1000, 10**4, 10**5),
    'decide "composition(m=4096,n1=64,n2=8,n3=8)" "{N}*softmax(h=4,d=64)"': (1, 2, 3, 4, 10, 100),
    f'depth "{REPEATED}"': (1, 2, 3, 4, 5, 6, 7, 8, 25),
    'depth "{N}*softmax(h=8,d=64)"': (1, 2, 3, 4, 5, 6, 7, 10, 100),
    'depth "{N}*(softmax(h=4,d=64)|linear(h=4,d=64))"': (1, 2, 3, 4, 5, 10, 100),
    'depth "softmax(h=8,d=64)" --steps {N}': (1, 2, 3, 4, 5, 6, 10, 100),
    f'compare "{REPEATED}" "8*linear(h=8,d=64)" --context 1M': (1, 2, 4, 8, 25),
    "compare {folder}/sparse_{N}.json {folder}/full_{N}.json": LAYERS,
    "audit {folder}/sparse_{N}.json": LAYERS,
    'bound "two_sum(n={N},M=4096)"': (10, 100, 1000, 10**4),
    "design --task eva --context 131072 --layers {N}": (12, 24, 48, 96),
    "design --task two_sum --task index --context 131072 --layers {N}": (12, 24, 48, 96),
    'solve "eva(n={N})" --check 1': (10**2, 10**3, 10**4, 10**5),
    'solve "dyck(D={N})"': (4, 6, 8, 10),
    'solve "counting(n={N})"': (10**3, 10**4, 10**5, 10**6),
    'solve "composition(m={N},n1={N})" --by "stack(stack=LFF)" --check 1': (4, 16, 64, 256),
    'solve "recall(n={N},V=65536)"': (64, 1024, 16384),
    'protocol "composition(m={N},n1=4)" "linear(h=1,d=4),softmax(h=2,d=4)"': (4, 16, 64),
    "check {folder}/eva_{N}/certificate.json": TABLES,
}
MODEL = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "hidden_size": 1024,
    "vocab_size": 1000,
}
HEADS = {"num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 3072}
REST = {"max_position_embeddings": 131072, "torch_dtype": "bfloat16", "rms_norm_eps": 1e-6}
SPARSE = {"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "full_attention_interval": 4}
STATES = {"linear_num_key_heads": 8, "linear_num_value_heads": 16, "linear_conv_kernel_dim": 4}
SIZES = {"linear_key_head_dim": 64, "linear_value_head_dim": 64}


def made(folder: Path) -> None:
    """The configs, one of full layers and one with a full layer in four, and certificates."""
    for layers in LAYERS:
        full = MODEL | HEADS | REST | {"num_hidden_layers": layers}
        for name, config in (("full", full), ("sparse", full | SPARSE | STATES | SIZES)):
            (folder / f"{name}_{layers}.json").write_text(json.dumps(config))
    for n in TABLES:
        line = ["solve", f"eva(n={n})", "--check", "1", "--save", str(folder / f"eva_{n}")]
        subprocess.run([*LIMEN, *line], stdout=subprocess.DEVNULL, check=True)


def measured(line: str) -> tuple[float, float]:
    """CPU seconds and peak MB of one command."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [*LIMEN, *shlex.split(line)]
    with (
        TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment) as process,
    ):
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        broken = "Traceback" in errors.read()
    if broken or process.returncode not in (0, 1):  # 1 says that a property fails
        raise SystemExit(f"limen {line} ended with exit code {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def humps(sizes: tuple[int, ...], seconds: list[float]) -> list[int]:
    """The sizes that cost more than 2× a larger one."""
    return [size for i, size in enumerate(sizes[:-1]) if seconds[i] > HUMP * min(seconds[i + 1 :])]


def main() -> None:
    print("| command | sizes | CPU s | exponent | MB | humps |\n|---|---|---|---|---|---|")
    some = False
    with TemporaryDirectory() as folder:
        made(Path(folder))
        for text, sizes in ROWS.items():
            lines = [text.format(N=size, folder=folder) for size in sizes]
            seconds, memory = map(list, zip(*map(measured, lines), strict=True))
            exponent = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
            high = humps(sizes, seconds)
            some = some or bool(high)
            cells = (
                f"`{text.format(N='N', folder='.')}`",
                ", ".join(f"{size:,}" for size in sizes),
                ", ".join(f"{s:.1f}" for s in seconds),
                f"{exponent:.2f}",
                f"{max(memory):.0f}",
                ", ".join(f"{size:,}" for size in high) or "none",
            )
            print(f"| {' | '.join(cells)} |", flush=True)
    raise SystemExit(int(some))


if __name__ == "__main__":
    main()
