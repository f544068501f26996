"""All kinds, and how many inputs each of them gets."""

from attack import certificates, configs, gguf, models, proofs, texts, weights
from attack.watch import Attack

ATTACKS = [
    texts.ATTACK, certificates.ATTACK, certificates.RUNS, models.ATTACK, weights.ATTACK, configs.ATTACK,
    gguf.ATTACK, proofs.ATTACK,
]  # fmt: skip


def split(inputs: int) -> list[tuple[Attack, int]]:
    """By their shares, at least one each."""
    whole = sum(attack.share for attack in ATTACKS)
    return [(attack, max(1, inputs * attack.share // whole)) for attack in ATTACKS]
