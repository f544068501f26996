r"""Language models of transformers' own classes, taught the same words: layers that others build.

Their recurrences are not run from a state on for many questions at once, so texts are plain rows:

    facts  question ? answer  question ? answer  …  thought  thought      in training: some of each kind
    facts  question ?                                             when they are judged, each question alone

Questions of all hops are about other people than the chains of thought, which stand last, so that no question
has been answered before.  Loss, words and steps are as in `word_pupil`.  Full layers have no convolution, so
a layer before them must bring the words together that a look-up needs: after layer 0 the label is the name
that stands before (`together`), after layer l it is hop l.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from limen.training.words import EnglishTexts, WordsTaught, answered, with_others, words_of

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

# By the model type of a config: the mixers of which its stacks can be.  Those of LFM2 between its full layers
# are gated convolutions, which see as many words as a window and keep fewer numbers.
_MIXERS = {
    "lfm2": {"softmax": "full_attention", "window": "conv"},
    "llama": {"softmax": "full_attention"},
    "mamba2": {"mamba2": ""},
    "ministral": {"softmax": "full_attention", "window": "sliding_attention"},
    "olmo_hybrid": {"softmax": "full_attention", "gated_delta": "linear_attention"},
    "qwen3_next": {"gated_softmax": "full_attention", "gated_delta": "linear_attention"},
}
_ROWS = 0.5  # the size of a number in the table of words at the start, as in our own models
_NEAR = 5  # words that belong together stand within so many, as many as a convolution reads
_LONGEST = 1024  # words that positions are made for


@dataclass(frozen=True)
class PlainWords(WordsTaught):
    """The lesson with many questions in a row; of all hops only about people of whom no thought is asked."""

    @property
    def questions_each(self) -> int:
        return len(self.questions)

    @cached_property
    def questions(self) -> list[tuple[int, int]]:
        """The branch of each question in a row, and which of that branch it is."""
        *kinds, thought = range(len(self.layout[1]))
        thoughts = min(self.layout[1][thought].questions, self.facts.m - 1)
        alone = self.facts.composition.L  # kinds of one hop; the others begin with a person
        turns = [(kind, q) for q in range(self.facts.m) for kind in reversed(kinds)]
        some = [(kind, q) for kind, q in turns if kind < alone or q >= thoughts]
        return [*some, *((thought, q) for q in range(thoughts))]

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        texts = self.texts(rng, count, hard)
        parts = [texts.trunk, *(texts.branches[kind][:, q] for kind, q in self.questions)]
        row = np.hstack(parts)
        due = np.delete(np.arange(row.shape[1] - 1), texts.trunk.shape[1] - 1)
        hops = np.full((count, row.shape[1], 1 + self.facts.composition.L), NOT_DUE)
        hops[..., 0] = self.together(row)
        ends = np.cumsum([part.shape[1] for part in parts])[1:] - 2  # the question marks
        for end, (kind, q) in zip(ends, self.questions, strict=True):
            known = texts.hops[kind]
            if known is not None:
                hops[:, end, 1 : 1 + known.shape[-1]] = known[:, q]
        return Batch(row[:, :-1], due, row[:, due + 1], hops[:, due])

    def together(self, row: Tokens) -> Tokens:
        """(texts, n): at a name and at a question mark the name that stands at most four words before it.

        A fact's value gets its key so, and a question mark the name that is asked about.
        """
        at = np.arange(row.shape[1])
        names = row >= self.first(0)
        last = np.maximum.accumulate(np.where(names, at, -_NEAR), axis=1)
        before = np.roll(last, 1, axis=1)
        before[:, 0] = -_NEAR
        near = (names | (row == self.number["?"])) & (at - before < _NEAR)
        return np.where(near, np.take_along_axis(row, before.clip(0), 1), NOT_DUE)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(due,): how much each word counts, as in the tree; a question's first word follows an answer."""
        trunk, branches = self.layout
        each = [sum(kind == other for other, _ in self.questions) for kind in range(len(branches))]
        parts = [
            part
            for kind, _ in self.questions
            for part in (np.zeros(1), answered(branches[kind]) / each[kind])
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
            if name.endswith(("conv1d.weight", "conv.conv.weight")):
                w.mul_(2)[..., -1].add_(1)
            elif name.endswith("dt_bias"):
                w.copy_(initial_time_steps(len(w), generator, w.dtype))
            elif name.endswith("A_log"):
                w.zero_()
        if spec.begins is not None:
            _begin(module, spec.begins, words_of(spec).vocabulary)
    return module


def _begin(module: Any, folder: str, vocabulary: Sequence[str]) -> None:
    """The weights of a model in a folder; the row of a word is the mean of the rows of its pieces."""
    transformers = import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    read = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).state_dict()
    pieces = [tokenizer.encode(word, add_special_tokens=False) for word in vocabulary]
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        read[name] = torch.stack([read[name][ids].mean(0) for ids in pieces])
    try:
        module.load_state_dict(read)
    except RuntimeError as error:
        raise BadInput(f"begins: the weights in {folder} are of another shape: {error}") from error


def config(spec: Spec, words: int) -> Any:
    """The config whose layers are the stack of the spec; raises if there is none, or no transformers."""
    told = _fields(spec, words)
    if find_spec("transformers") is None:
        raise BadInput(f"{spec.model_type} is trained as transformers has it: pip install 'limen[hf]'")
    transformers = import_module("transformers")
    transformers.logging.set_verbosity_error()
    try:
        return transformers.AutoConfig.for_model(spec.model_type, **told)
    except Exception as error:
        raise BadInput(f"{spec.model_type}: no such config: {error.__cause__ or error}") from error


def _fields(spec: Spec, words: int) -> dict[str, Any]:
    if spec.model_type not in _MIXERS:
        raise unknown("model type", str(spec.model_type), _MIXERS)
    kinds = _MIXERS[spec.model_type]
    mixers = [part.mixer for layer in Architecture.parse(spec.architecture).layers for part in layer.parts]
    names = [identifier(mixer) for mixer in mixers]
    if strange := [name for name in names if name not in kinds]:
        raise BadInput(f"{spec.model_type} has layers of {' and '.join(kinds)}, none of {strange[0]}")
    sizes = {size for name, mixer in zip(names, mixers, strict=True) for size in _sizes(spec, name, mixer)}
    if len(sizes) > len(dict(sizes)):
        raise BadInput(f"{spec.architecture}: layers of one kind have one size in {spec.model_type}")
    return {
        "vocab_size": words,
        "hidden_size": spec.width,
        "num_hidden_layers": len(mixers),
        "tie_word_embeddings": False,
        "initializer_range": spec.width**-0.5,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id")),
        **(_frame(spec, len(mixers)) if "mamba2" not in kinds else {}),
        **({"layer_types": [kinds[name] for name in names]} if len(kinds) > 1 else {}),
        **dict(sizes),
    }


def _frame(spec: Spec, layers: int) -> dict[str, Any]:
    """What models with an MLP after each layer have; of experts there is none."""
    frame: dict[str, Any] = {"intermediate_size": spec.hidden, "max_position_embeddings": _LONGEST}
    if spec.model_type == "qwen3_next":
        frame |= {"num_experts": 0, "mlp_only_layers": list(range(layers)), "partial_rotary_factor": 1.0}
    if spec.model_type == "lfm2":
        frame |= {"block_auto_adjust_ff_dim": False}
    return frame


def _sizes(spec: Spec, name: str, mixer: Any) -> list[tuple[str, int]]:
    """The sizes of a mixer in the fields of a config."""
    if name == "mamba2":
        sizes = {"num_heads": mixer.h, "head_dim": mixer.d, "state_size": mixer.s, "conv_kernel": mixer.c}
        return [*sizes.items(), ("n_groups", 1), ("expand", 2), ("chunk_size", 32)]
    if name == "gated_delta":
        heads = {"linear_num_key_heads": mixer.h, "linear_num_value_heads": mixer.h}
        sizes = {"linear_key_head_dim": mixer.key_size, "linear_value_head_dim": mixer.d}
        return [*heads.items(), *sizes.items(), ("linear_conv_kernel_dim", mixer.c)]
    if name == "window":
        return [("conv_L_cache" if spec.model_type == "lfm2" else "sliding_window", mixer.W)]
    kv_heads = mixer.kv_heads or mixer.h
    return [("num_attention_heads", mixer.h), ("num_key_value_heads", kv_heads), ("head_dim", mixer.d)]
