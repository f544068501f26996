"""What a mixer that keeps every token says of its replies: so many numbers from each group are enough."""

from collections.abc import Callable

import pytest
import torch

from limen.core.mixer import Mixer
from limen.laws.mixer import generic, inputs
from limen.mixers.hard import Hard
from limen.mixers.softmax import Softmax
from limen.mixers.top_k import TopK

Group = slice  # tokens of one player, in a row
Reply = list[torch.Tensor]  # what it sends, tensor by tensor

N = 40
GROUPS = [Group(0, 1), Group(1, 17), Group(17, 18), Group(18, 31), Group(31, N)]  # the last holds the asker


def projected(
    mixer: Softmax | Hard | TopK, w: dict[str, torch.Tensor], x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The last token's scores, (h, n), and the values, (h, n, d)."""
    shared = getattr(mixer, "kv_sets", mixer.h)
    sets = zip("QKV", (mixer.h, shared, shared), strict=True)
    q, k, v = ((x @ w[name]).unflatten(-1, (h, -1)).transpose(0, 1) for name, h in sets)  # (h, n, d)
    k, v = (part.repeat_interleave(mixer.h // shared, 0) for part in (k, v))
    return (k @ q[:, -1:].mT).squeeze(-1), v


def softmax(w: dict[str, torch.Tensor], x: torch.Tensor, mixer: Softmax) -> tuple[list[Reply], torch.Tensor]:
    """The largest score of each group, and Σ e^(s-max)v and Σ e^(s-max): rescaled they add up."""
    scores, v = projected(mixer, w, x)
    replies = []
    for g in GROUPS:
        top = scores[:, g].amax(1)
        e = (scores[:, g] - top[:, None]).exp()
        replies.append([top, (e[..., None] * v[:, g]).sum(1), e.sum(1)])
    highest = torch.stack([top for top, _, _ in replies]).amax(0)
    scales = [(top - highest).exp() for top, _, _ in replies]
    above = sum(scale[:, None] * reply[1] for scale, reply in zip(scales, replies, strict=True))
    below = sum(scale * reply[2] for scale, reply in zip(scales, replies, strict=True))
    return replies, above / below[:, None]


def hard(w: dict[str, torch.Tensor], x: torch.Tensor, mixer: Hard) -> tuple[list[Reply], torch.Tensor]:
    """The best score of each group and its value; on ties the leftmost, in a group and among groups."""
    scores, v = projected(mixer, w, x)
    best = [scores[:, g].sort(descending=True, stable=True).indices[:, :1] for g in GROUPS]
    replies = [
        [scores[:, g].gather(1, j).squeeze(1), v[:, g].take_along_dim(j[..., None], 1).squeeze(1)]
        for g, j in zip(GROUPS, best, strict=True)
    ]
    top, value = replies[0]
    for score, other in replies[1:]:
        value = torch.where((score > top)[:, None], other, value)
        top = torch.maximum(score, top)
    return replies, value


def top_k(w: dict[str, torch.Tensor], x: torch.Tensor, mixer: TopK) -> tuple[list[Reply], torch.Tensor]:
    """Of the k best by index of each group: index score, scores, values.  The k best of those are read."""
    scores, v = projected(mixer, w, x)
    q = (x[-1] @ w["IQ"]).unflatten(-1, (mixer.h_i, -1))  # (h_i, d_i)
    index = ((x[-1] @ w["IW"]) @ (q @ (x @ w["IK"]).mT).relu()).squeeze()  # (n,)
    replies = []
    for g in GROUPS:
        chosen = index[g].sort(descending=True, stable=True).indices[: mixer.k].sort().values  # left to right
        replies.append([index[g][chosen], scores[:, g][:, chosen], v[:, g][:, chosen]])
    index, scores, v = (torch.cat([reply[i] for reply in replies], -2 if i == 2 else -1) for i in range(3))
    read = index.sort(descending=True, stable=True).indices[: mixer.k]
    return replies, (scores[:, read].softmax(-1)[:, None] @ v[:, read]).squeeze(1)


CASES: list[tuple[Mixer, Callable[..., tuple[list[Reply], torch.Tensor]]]] = [
    *((mixer, softmax) for mixer in Softmax.examples() if not mixer.sees_future),
    *((mixer, hard) for mixer in Hard.examples()),
    *((mixer, top_k) for mixer in TopK.examples()),
]


@pytest.mark.parametrize(
    ("mixer", "converse"), CASES, ids=lambda part: str(part) if isinstance(part, Mixer) else part.__name__
)
@pytest.mark.parametrize("seed", range(3))
def test_replies_of_the_declared_size_give_the_last_token_its_output(
    mixer: Mixer, converse: Callable[..., tuple[list[Reply], torch.Tensor]], seed: int
) -> None:
    w, x, p = generic(mixer, seed), inputs(N, seed=seed), 11
    replies, heads = converse(w, x, mixer)  # heads: (h, d)
    torch.testing.assert_close(heads.flatten() @ w["O"], mixer.mix(w, x)[-1], rtol=0, atol=1e-10)
    sent = [sum(numbers.numel() for numbers in reply) * p for reply in replies]
    assert max(sent) == mixer.reply_bits(p), "none sends more; a group of fewer than k tokens sends less"


def test_the_leftmost_of_equals_needs_no_more_than_its_score_and_value() -> None:
    """All scores are 0: each group sends its first value, and the first group's is what counts."""
    mixer, x = Hard(h=2, d=3), inputs(N)
    w = generic(mixer)
    w["Q"] = torch.zeros_like(w["Q"])
    _, heads = hard(w, x, mixer)
    torch.testing.assert_close(heads.flatten() @ w["O"], mixer.mix(w, x)[-1], rtol=0, atol=1e-10)
