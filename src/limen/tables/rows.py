"""The rows: architectures, each at one size as models have it, and at a very small one to run a proof on."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture

_HEAD = "softmax(h=8,d=128,d_k=256,p=32)"  # one softmax layer: 1,024 channels, sums of 32 bits
_THINKS = 2**24  # steps of chain of thought: far more than any model writes


@dataclass(frozen=True)
class Row:
    """`sees` tells in plain words what it can know of the text; `small` has numbers of 4 bits."""

    id: str
    name: str
    text: str
    small_text: str
    sees: str
    steps: int = 0
    papers: bool = False  # whether it is one of the five rows of [ye2026]

    @property
    def architecture(self) -> Architecture:
        return Architecture.parse(self.text)

    @property
    def small(self) -> Architecture:
        return Architecture.parse(self.small_text)


ROWS: dict[str, Row] = {
    row.id: row
    for row in (
        Row(
            "full",
            "Full attention",
            f"3*{_HEAD}",
            "3*softmax(h=1,d=1,p=4)",
            "Every token can look at every earlier token, in each of three layers.",
            papers=True,
        ),
        Row(
            "linear",
            "Linear + CoT",
            "3*linear(h=4,d=64)",
            "linear(h=1,d=1,p=4)",
            "It reads the text once and keeps a matrix of fixed size per head; then it may think aloud.",
            steps=_THINKS,
            papers=True,
        ),
        Row(
            "log_linear",
            "Log-linear + CoT",
            "3*log_linear(h=4,d=64,levels=64)",
            "log_linear(h=1,d=1,p=4)",
            "It keeps one matrix for each of about log₂n stretches of the text, recent ones short, old ones "
            "long; then it may think aloud.",
            steps=_THINKS,
            papers=True,
        ),
        Row(
            "block_sparse",
            "Sparse (block)",
            "block_sparse(h=1,d=64,B=64,k=16)",
            "block_sparse(h=1,d=1,B=4,k=1,p=4)",
            "Each block of 64 tokens is summarised in one short message; a token reads all messages and "
            "opens the 16 most promising blocks.",
            papers=True,
        ),
        Row(
            "hybrid",
            "Hybrid",
            f"2*linear(h=8,d=64),{_HEAD},2*linear(h=8,d=64)",
            "linear(h=1,d=1,phi=relu,p=4),softmax(h=1,d=1,d_k=2,p=4),linear(h=1,d=1,phi=relu,p=4)",
            "One layer of full attention between layers of linear attention.",
            papers=True,
        ),
        Row(
            "encoder",
            "Encoder",
            "3*softmax(h=8,d=128,d_k=256,bidirectional=true,p=32)",
            "3*softmax(h=1,d=1,bidirectional=true,p=4)",
            "Every token can look at every other one, later ones too, in each of three layers.",
        ),
        Row(
            "full_1",
            "Full, one layer",
            _HEAD,
            "softmax(h=1,d=1,p=4)",
            "Every token can look at every earlier token, once: what it finds cannot be looked up further.",
        ),
        Row(
            "full_2",
            "Full, two layers",
            f"2*{_HEAD}",
            "2*softmax(h=1,d=1,p=4)",
            "Every token can look at every earlier token, and once more with what it found.",
        ),
        Row(
            "rnn",
            "RNN",
            "relu_rnn(d=1024,stages=2,inner=4096)",
            "relu_rnn(d=2,p=4)",
            "It reads the text once and keeps 1,024 numbers.",
        ),
        Row(
            "mamba2",
            "Mamba-2",
            "3*mamba2(h=4,d=64,s=64)",
            "mamba2(h=1,d=1,s=1,p=4)",
            "It reads the text once and keeps a matrix of fixed size per head, which fades.",
        ),
        Row(
            "delta",
            "Gated DeltaNet",
            "3*gated_delta(h=4,d=64)",
            "gated_delta(h=1,d=1,p=4)",
            "It reads the text once and keeps a matrix of fixed size per head, in which it can overwrite.",
        ),
        Row(
            "retrieval",
            "RNN + retrieval + CoT",
            f"relu_rnn(d=64,stages=3,inner=64,p=32)|{_HEAD},relu_rnn(d=64,stages=2,inner=512,p=32)",
            "relu_rnn(d=2,stages=3,inner=2,p=4)|softmax(h=1,d=1,p=4),relu_rnn(d=2,p=4)",
            "A small recurrence beside one layer of attention that fetches from the text; it may think "
            "aloud, and fetch again at every step.",
            steps=_THINKS,
        ),
        Row(
            "head_wise",
            "Head-wise hybrid",
            "2*(softmax(h=4,d=128,d_k=256,p=32)|linear(h=4,d=64,p=32))",
            "2*(softmax(h=1,d=1,p=4)|linear(h=1,d=1,p=4))",
            "Two layers, and in each of them half of the heads are softmax, half linear.",
        ),
        Row(
            "delta_hybrid",
            "Delta hybrid 3:1",
            f"2*(3*gated_delta(h=4,d=128,c=4),{_HEAD})",
            "gated_delta(h=1,d=1,c=2,p=4),softmax(h=1,d=1,p=4)",
            "Twice: three layers of the gated delta rule with a convolution, then one of full attention.",
        ),
        Row(
            "mamba_hybrid",
            "Mamba hybrid 7:1",
            f"2*(7*mamba2(h=4,d=64,s=64),{_HEAD})",
            "mamba2(h=1,d=1,s=1,p=4),softmax(h=1,d=1,p=4)",
            "Twice: seven layers of Mamba-2, then one layer of full attention.",
        ),
        Row(
            "window_hybrid",
            "Window hybrid 5:1",
            f"2*(5*window(h=8,d=128,W=1024),{_HEAD})",
            "window(h=1,d=1,W=2,p=4),softmax(h=1,d=1,p=4)",
            "Twice: five layers that see the last 1,024 tokens, then one layer that sees all of them.",
        ),
    )
}
