"""Draws docs/house.svg: the floors and rooms of the import rules in pyproject.toml."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WIDTH, LEFT, GAP, HEIGHT = 744, 96, 10, 52
WHAT = {
    "__main__": "python -m limen",
    "cli": "the command line",
    "web": "the page",
    "api": "from Python",
    "render": "text, HTML, SVG, LaTeX",
    "comparisons": "stacks side by side",
    "stacks": "text or config",
    "schemas": "JSON Schemas",
    "completions": "for shells",
    "glances": "list and show",
    "laws": "of the catalogue",
    "audits": "a real model's config",
    "designs": "stacks not ruled out",
    "tables": "evidence in every cell",
    "experiments": "the papers' runs",
    "training": "measurements",
    "decisions": "verdicts",
    "depths": "hops",
    "separations": "five stacks",
    "concentrations": "weights of a head",
    "orthogonals": "vectors that fit",
    "bounds": "needs",
    "hierarchies": "who thinks",
    "capacities": "messages",
    "simulations": "machines run",
    "averages": "all ask",
    "solutions": "weights, run",
    "decompositions": "the proof, run",
    "attacks": "a model, fooled",
    "checks.reader": "any certificate",
    "checks.certified": "what was found, certified",
    "checks.fooled": "wrong answers, run again",
    "checks.coq": "proofs, run by Coq",
    "placement": "constructions in stacks",
    "machines": "by counting",
    "conjectures": "what is believed, not proved",
    "forms": "verdicts in Coq",
    "constructions": "weights written down",
    "theorems": "proofs and inequalities",
    "adversary": "inputs that fool a model, one file a strategy",
    "checks.collision": "two inputs confused",
    "checks.transcript": "a conversation, said again",
    "checks.tried": "a model, run again",
    "hf": "configs and engines",
    "conversation": "a model in parts",
    "protocols": "who holds which tokens",
    "families": "tasks at every length",
    "model": "embedding, layers, readout, files; the one pass, which can be observed",
    "tasks": "what is computed",
    "mixers": "how positions exchange information",
    "recurrence": "the rule of matrix memories, by torch or in C",
    "core": "the words: task, mixer, architecture, numbers, certificate, verdict, report, text form",
}
STYLE = (
    ".room{fill:#eef3fb;stroke:#3b5b92;stroke-width:1.5}"
    ".later{fill:none;stroke:#8a94a6;stroke-dasharray:5 4}"
    ".name{font-size:15px;font-weight:600;fill:#1d2b45}.what{font-size:11.5px;fill:#4a5670}"
    ".many.name{font-size:13px}.many.what{font-size:10px}.note{font-size:12px;fill:#6b7488}"
    "@media(prefers-color-scheme:dark){.room{fill:#1b2740;stroke:#7ea3e6}.later{stroke:#6b7690}"
    ".name{fill:#e6ecf8}.what{fill:#b3bfd6}.note{fill:#98a3ba}}"
)


def floors() -> list[list[str]]:
    """The rooms of each floor, from the roof down; one that may be missing stands in parentheses."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip() for room in floor.split("|")] for floor in layers]


def floor(rooms: list[str], y: int) -> Iterator[str]:
    width = (WIDTH - GAP * (len(rooms) - 1)) / len(rooms)
    many = "many " if len(rooms) > 4 else ""
    for i, room in enumerate(rooms):
        name, x = room.strip("()"), LEFT + i * (width + GAP)
        there = (ROOT / "src/limen" / name.partition(".")[0]).with_suffix(".py").is_file()
        there |= (ROOT / "src/limen" / name.partition(".")[0]).is_dir()
        drawn = "room" if there else "later"
        middle = f'x="{x + width / 2:.0f}" text-anchor="middle"'
        yield f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{HEIGHT}" rx="5" class="{drawn}"/>'
        yield f'<text {middle} y="{y + 22}" class="{many}name">{name}</text>'
        yield f'<text {middle} y="{y + 40}" class="{many}what">{WHAT[name]}</text>'


def house() -> str:
    """As SVG."""
    body = ['<path d="M86 50 L468 10 L850 50 Z" class="room"/>']
    body.append('<text x="468" y="40" text-anchor="middle" class="name">limen</text>')
    y = 56
    for rooms in floors():
        body += floor(rooms, y)
        y += HEIGHT + GAP
    note = "A floor imports only from floors below it; rooms on one floor never import each other."
    body.append(f'<text x="{LEFT}" y="{y + 24}" class="note">{note}  Dashed: planned.</text>')
    title = '<title id="t">The house: every floor imports only from floors below it</title>'
    size = f'viewBox="76 0 784 {y + 38}" font-family="system-ui, sans-serif" role="img" aria-labelledby="t"'
    drawn = "\n".join([title, f"<style>{STYLE}</style>", *body])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{drawn}\n</svg>\n'


if __name__ == "__main__":
    (ROOT / "docs/house.svg").write_text(house())
