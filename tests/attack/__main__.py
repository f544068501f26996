"""`PYTHONPATH=tests python -m attack [--inputs 100000] [--seed 0] [--kind NAME [--only I]]`.

Exit 0: every input ended in a value or in one line, and nothing untrue was accepted.
"""

import argparse
import sys
import time
import warnings

from attack.kinds import ATTACKS, split
from attack.watch import Tally, run

HEAD = ("inputs", "accepted", "again", "faults", "s", "longest s", "of input", "MB")


def table(tallies: list[Tally]) -> str:
    """A line a kind, and all of them; `again`: so many of those accepted were computed in another way."""
    lines = [f"{'kind':18}" + "".join(f"{word:>10}" for word in HEAD)]
    for t in tallies:
        longest, at = t.longest
        cells = (
            t.inputs,
            t.accepted,
            t.again,
            len(t.faults),
            f"{t.seconds:.1f}",
            f"{longest:.2f}",
            at,
            t.memory[0],
        )
        lines.append(f"{t.name:18}" + "".join(f"{cell:>10}" for cell in cells))
    inputs, faults = sum(t.inputs for t in tallies), sum(len(t.faults) for t in tallies)
    longest, memory = max(t.longest[0] for t in tallies), max(t.memory[0] for t in tallies)
    seconds = f"{sum(t.seconds for t in tallies):.0f} s ({time.process_time():.0f} CPU s)"
    last = f"{inputs:,} inputs in {seconds}: {faults} tracebacks or untruths, the longest {longest:.2f} s"
    return "\n".join([*lines, f"{last}, the largest {memory:,} MB more than was held before"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=[attack.name for attack in ATTACKS])
    parser.add_argument("--only", type=int, help="run this input of the kind alone")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of arithmetic on damaged weights: what comes out is what counts
    tallies = []
    for attack, count in split(asked.inputs):
        if asked.kind in (None, attack.name):
            single = asked.only is not None
            tallies.append(run(attack, 1 if single else count, asked.seed, asked.only or 0))
            sys.stderr.write(f"{attack.name}: {tallies[-1].inputs:,} inputs, {tallies[-1].seconds:.1f} s\n")
    sys.stdout.write(f"{table(tallies)}\n")
    return int(any(t.faults for t in tallies))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
