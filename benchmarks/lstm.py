"""torch's LSTM as anybody would use it: `limen fool benchmarks/lstm.py:trained "TASK"`."""

from pathlib import Path

import torch
from safetensors.torch import load_file

WEIGHTS = Path(__file__).parent / "models/lstm/lstm.safetensors"


class Lstm(torch.nn.Module):
    """Tokens (batch, n) -> logits (batch, n, vocab)."""

    def __init__(self, vocab: int, width: int) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(vocab, width)
        self.lstm = torch.nn.LSTM(width, width, batch_first=True)
        self.head = torch.nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.lstm(self.table(tokens))[0])
        return out


def trained() -> Lstm:
    """With the weights that are shipped."""
    weights = load_file(WEIGHTS)
    model = Lstm(*weights["table.weight"].shape)
    model.load_state_dict(weights)
    return model.eval()
