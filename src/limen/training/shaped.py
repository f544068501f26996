r"""Language models of transformers' own classes, taught the same words: layers that others build.

Their recurrences are not run from a state on for many questions at once, so texts are plain rows:

    facts  all hops ?  …  one hop ?  thought       in training: one question of each kind behind the facts
    facts  question ?                              when they are judged, each question alone

The question of all hops stands first, so that no answer before it helps; the chain of thought stands last and
is about another person.  Loss, words, the hop that is a label and the steps are as in `word_pupil`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.task import Tokens
from limen.errors import BadInput, unknown
from limen.mixers.recurrence.decay import initial_time_steps
from limen.training.lesson import NOT_DUE, Batch
from limen.training.spec import Spec
from limen.training.word_pupil import WordPupil
from limen.training.words import EnglishTexts, WordsTaught, answered, with_others

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_MIXERS = {  # by the model type of a config: the mixers of which its stacks can be
    "llama": {"softmax": "full_attention"},
    "mamba2": {"mamba2": ""},
    "olmo_hybrid": {"softmax": "full_attention", "gated_delta": "linear_attention"},
    "qwen3_next": {"gated_softmax": "full_attention", "gated_delta": "linear_attention"},
}
_ROWS = 0.5  # the size of a number in the table of words at the start, as in our own models
_LONGEST = 1024  # words that positions are made for


@dataclass(frozen=True)
class PlainWords(WordsTaught):
    """The lesson with one question of each kind in a row, the longest first."""

    @property
    def questions_each(self) -> int:
        return len(self.layout[1])

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        texts = self.texts(rng, count, hard)
        parts = [texts.trunk, *(branch[:, 0] for branch in texts.branches[-2::-1]), texts.branches[-1][:, -1]]
        row = np.hstack(parts)
        due = np.delete(np.arange(row.shape[1] - 1), texts.trunk.shape[1] - 1)
        hops = np.full((count, row.shape[1], self.facts.composition.L), NOT_DUE)
        ends = np.cumsum([part.shape[1] for part in parts])[1:-1] - 2  # the question marks
        for end, known in zip(ends, texts.hops[-2::-1], strict=True):
            if known is not None:
                hops[:, end, : known.shape[-1]] = known[:, 0]
        return Batch(row[:, :-1], due, row[:, due + 1], hops[:, due])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(due,): how much each word counts, as in the tree; a question's first word follows an answer."""
        trunk, (*questions, thought) = self.layout
        parts = [
            part for branch in (*reversed(questions), thought) for part in (np.zeros(1), answered(branch))
        ]
        return with_others([np.zeros(trunk - 1), *parts[1:]])


@dataclass
class ShapedPupil(WordPupil):
    """A word pupil whose layers are those of a class of transformers."""

    model: Any  # the module

    @property
    def weights(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *self.heads.values()]

    def _along(self, batch: Batch) -> tuple[torch.Tensor, list[torch.Tensor]]:
        due = torch.as_tensor(batch.due)
        read = self.model(torch.as_tensor(batch.tokens), use_cache=False, output_hidden_states=True)
        after = [read.hidden_states[layer + 1].index_select(1, due) for layer in self.heads]
        return read.logits.index_select(1, due), after

    def replies(self, texts: EnglishTexts) -> list[Tokens]:
        """The likeliest of all words after each question, each behind the facts alone."""
        replies = []
        for branch in texts.branches:
            rows = torch.as_tensor(_rows(texts, branch[..., :-1]))
            replies.append(self._next(rows).reshape(branch.shape[:2]).numpy())
        return replies

    def write(self, texts: EnglishTexts, steps: int) -> Tokens:
        *_, branch = self.words.layout[1]
        questions = texts.branches[-1][..., : branch.question]
        rows = torch.as_tensor(_rows(texts, questions))
        read = rows.shape[1]
        for _ in range(steps):
            rows = torch.cat([rows, self._next(rows)[:, None]], 1)
        return np.asarray(rows[:, read:].reshape(*questions.shape[:2], steps).numpy())

    def _next(self, rows: torch.Tensor) -> torch.Tensor:
        """(rows,): the likeliest next word."""
        with torch.no_grad():
            logits: torch.Tensor = self.model(rows, use_cache=False).logits
        return logits[:, -1].argmax(-1)


def _rows(texts: EnglishTexts, questions: Tokens) -> Tokens:
    """(texts · questions, words): each question behind its facts."""
    rows, Q, _ = questions.shape
    facts = np.broadcast_to(texts.trunk[:, None], (rows, Q, texts.trunk.shape[1]))
    return np.concatenate([facts, questions], -1).reshape(rows * Q, -1)


def network(spec: Spec, words: int) -> Any:
    """The module of a spec before its first step, with what our own recurrences start with.

    Drawn as theirs are, convolutions hardly pass a token on, and qwen3_next forgets all within a few tokens.
    """
    made = config(spec, words)
    generator = torch.Generator().manual_seed(spec.seed)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(spec.seed)  # the one that transformers draws from
        module = import_module("transformers").AutoModelForCausalLM.from_config(made)
        module.get_input_embeddings().weight.normal_(std=_ROWS, generator=generator)
        for name, w in module.named_parameters():
            if name.endswith("conv1d.weight"):
                w.mul_(2)[..., -1].add_(1)
            elif name.endswith("dt_bias"):
                w.copy_(initial_time_steps(len(w), generator, w.dtype))
    return module


def config(spec: Spec, words: int) -> Any:
    """The config whose layers are the stack of the spec; raises if there is none, or no transformers."""
    told = _fields(spec, words)
    if find_spec("transformers") is None:
        raise BadInput(f"{spec.model_type} is trained as transformers has it: pip install 'limen[hf]'")
    transformers = import_module("transformers")
    transformers.logging.set_verbosity_error()
    return transformers.AutoConfig.for_model(spec.model_type, **told)


def _fields(spec: Spec, words: int) -> dict[str, Any]:
    if spec.model_type not in _MIXERS:
        raise unknown("model type", str(spec.model_type), _MIXERS)
    kinds = _MIXERS[spec.model_type]
    mixers = [part.mixer for layer in Architecture.parse(spec.architecture).layers for part in layer.parts]
    names = [identifier(mixer) for mixer in mixers]
    if strange := [name for name in names if name not in kinds]:
        raise BadInput(f"{spec.model_type} has layers of {' and '.join(kinds)}, none of {strange[0]}")
    return {
        "vocab_size": words,
        "hidden_size": spec.width,
        "num_hidden_layers": len(mixers),
        "tie_word_embeddings": False,
        "initializer_range": spec.width**-0.5,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id")),
        **(_frame(spec, len(mixers)) if "mamba2" not in kinds else {}),
        **({"layer_types": [kinds[name] for name in names]} if "gated_delta" in kinds else {}),
        **{
            key: value
            for name, mixer in zip(names, mixers, strict=True)
            for key, value in _sizes(name, mixer)
        },
    }


def _frame(spec: Spec, layers: int) -> dict[str, Any]:
    """What models with an MLP after each layer have; of experts there is none."""
    frame = {"intermediate_size": spec.hidden, "max_position_embeddings": _LONGEST}
    experts = {"num_experts": 0, "mlp_only_layers": list(range(layers)), "partial_rotary_factor": 1.0}
    return frame | (experts if spec.model_type == "qwen3_next" else {})


def _sizes(name: str, mixer: Any) -> list[tuple[str, int]]:
    """The sizes of a mixer in the fields of a config."""
    if name == "mamba2":
        sizes = {"num_heads": mixer.h, "head_dim": mixer.d, "state_size": mixer.s, "conv_kernel": mixer.c}
        return [*sizes.items(), ("n_groups", 1), ("expand", 2), ("chunk_size", 32)]
    if name == "gated_delta":
        heads = {"linear_num_key_heads": mixer.h, "linear_num_value_heads": mixer.h}
        sizes = {"linear_key_head_dim": mixer.key_size, "linear_value_head_dim": mixer.d}
        return [*heads.items(), *sizes.items(), ("linear_conv_kernel_dim", mixer.c)]
    return [("num_attention_heads", mixer.h), ("num_key_value_heads", mixer.h), ("head_dim", mixer.d)]
