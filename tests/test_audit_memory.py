"""Does it fit: memory as engines have it, what would fit, and the change that makes it fit."""

import json
import random
import shlex
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import limen

from limen.audits import Audit, Request, audit
from limen.audits.changes import cheapest, cheapest_on_more, more_gpus
from limen.audits.loading import load
from limen.audits.serving import by_engine, on_gpus
from limen.errors import BadInput
from limen.hf.engines import Asked, engine, engines
from limen.hf.gpus import Device, gpu, gpus
from limen.render.audit import lines_of, side_by_side

GIB, MIB = 2**30, 2**20
MOST = 2**40  # tokens that are looked at
SIZES = {"hidden_size": 2048, "intermediate_size": 6144, "vocab_size": 50_000, "num_hidden_layers": 12} | {
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
}
MODELS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SIZES},
    "fp8": {"model_type": "llama", **SIZES}
    | {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}},
    "gpt_oss": {"model_type": "gpt_oss", "num_hidden_layers": 6, "num_local_experts": 8}
    | {"quantization_config": {"quant_method": "mxfp4"}},
    "deepseek_v3": {"model_type": "deepseek_v3", "num_hidden_layers": 4, "num_nextn_predict_layers": 1}
    | {"n_routed_experts": 16, "n_group": 4, "topk_group": 2, "num_experts_per_tok": 4},
    "qwen3_next": {"model_type": "qwen3_next", "num_hidden_layers": 8, "num_experts": 16},
    "mamba2": {"model_type": "mamba2", "num_hidden_layers": 8},
    "gemma3": {"model_type": "gemma3_text", "num_hidden_layers": 12, "sliding_window": 512},
}
LLAMA_8B = {"model_type": "llama", "intermediate_size": 14336, "num_key_value_heads": 8} | {
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
}


def asked(config: dict[str, Any], **options: Any) -> Audit:
    return audit(config, "x", Request(**options))


def drawn(rng: random.Random, name: str) -> Audit:
    """A small model under a random request."""
    options: dict[str, Any] = {
        "engine": name,
        "context": rng.choice((1000, 4096, 50_000, 2**20)),
        "sequences": rng.choice((1, 3, 40)),
    }
    if rng.random() < 0.5:
        runs = [one.name for one in gpus().values() if engine(name).refuses(None, one) is None]
        options |= {"gpu": rng.choice(runs)}
    else:
        options |= {"memory": int(GIB * rng.uniform(1, 64))}
    return asked(MODELS[rng.choice([*MODELS])], **options)


# Logs of vLLM: GiB of the GPU as CUDA sees it, utilization, weights, non-torch, peak, graphs subtracted, KV.
# Sources: scripts/weight_figures.json, and index id 70682754770 for the last one.
LOGS = [
    (79.22, 0.90, 14.96, 1.79, 1.26, 0.0, 53.29),
    (22.07, 0.90, 14.9888, 0.05, 0.22, 0.0, 4.60),
    (79.19, 0.90, 14.08, 0.07, 1.97, 0.0, 55.15),
    (184.31, 0.92, 106.69, 0.95, 6.31, 4.99, 50.62),
    (31.40, 0.92, 15.03, 0.0, 1.59, 0.0, 12.26),
    (79.25, 0.92, 14.9888, 0.26, 1.44, 0.0, 56.21),
]


@pytest.mark.parametrize(("total", "util", "weights", "non_torch", "peak", "graphs", "kv"), LOGS)
def test_what_vllm_leaves_for_its_cache_is_what_it_prints(
    total: float, util: float, weights: float, non_torch: float, peak: float, graphs: float, kv: float
) -> None:
    """KV = total·utilization - weights - non-torch - peak - graphs, each printed with two decimals."""
    sizes = {"overhead": non_torch, "activation": peak, "cuda_graphs": graphs}
    found = asked(
        LLAMA_8B,
        engine="vllm",
        memory=int(total * GIB),
        weights=int(weights * GIB),
        gpu_memory_utilization=util,
        **{name: int(size * GIB) for name, size in sizes.items()},
    )
    assert found.room is not None and abs(found.room / GIB - kv) < 0.02


@pytest.mark.parametrize("name", sorted({*engines()} - {"minimal"}))
def test_what_is_proposed_fits_when_it_is_asked_for(name: str) -> None:
    """A change, a number of GPUs, and the longest context and largest batch: over random requests."""
    rng, proposals = random.Random(name), 0
    for _ in range(40):
        found = drawn(rng, name)
        for most in (found.longest_context, found.largest_batch):
            assert (most is not None and most > 0) or not found.fits
        if most := found.longest_context:
            assert found.asking(context=most).fits and found.asking(context=rng.randint(1, most)).fits
            for more in (1, rng.randint(1, 10**6)):
                assert not found.asking(context=most + more).fits or most == MOST
        if not found.fits:
            for change in (cheapest(found), more_gpus(found), cheapest_on_more(found)):
                if change is not None:
                    proposals += 1
                    assert change.of(found).fits
                    assert change.gpus in (None, change.of(found).request.ranks)
    assert proposals >= 2


@pytest.mark.parametrize("name", sorted(engines()))
def test_more_memory_never_shortens_what_fits(name: str) -> None:
    """With what engines choose by the GPU held fixed: they take larger steps on larger ones."""
    rng = random.Random(name)
    fixed = {"batched": 2048, "mem_fraction_static": 0.8, "engine": name}
    for config, sequences in product(MODELS.values(), (1, 7)):
        sizes = sorted(rng.sample(range(2 * GIB, 96 * GIB), 4))
        contexts = [
            asked(config, memory=size, sequences=sequences, **fixed).longest_context or 0 for size in sizes
        ]
        assert contexts == sorted(contexts), config


def test_more_gpus_share_more_heads_where_ranks_are_given() -> None:
    """The flags say all: put behind those that were given they are the request that fits."""
    for given, flags in (
        ({}, "--gpus 4"),
        ({"tensor_parallel": 2}, "--gpus 4 --tensor-parallel 4"),
        ({"pipeline_parallel": 2}, "--gpus 4 --tensor-parallel 2"),
    ):
        more = more_gpus(asked(LLAMA_8B, engine="vllm", gpu="RTX 3060", **given))
        assert more is not None and more.flags == flags


def test_a_block_more_than_the_longest_context_does_not_fit() -> None:
    """vLLM's last block is full at the longest context: one token more takes a block more."""
    found = asked(MODELS["llama"], engine="vllm", gpu="T4")
    most, block = found.longest_context, found.block_tokens
    assert most and block and most % block == 0
    assert found.asking(context=most - block + 1).fits and not found.asking(context=most + 1).fits


def test_the_stages_of_a_pipeline_are_the_whole_model() -> None:
    for config in MODELS.values():
        whole, halves = (asked(config, memory=64 * GIB, pipeline_parallel=P) for P in (1, 2))
        middle = len(whole.stack.layers) // 2
        kept = [
            replace(whole, stack=whole.stack.keeping(layers)).cache_bytes
            for layers in (range(middle), range(middle, 2 * middle))
        ]
        assert sum(kept) == whole.cache_bytes and halves.fullest.cache_bytes in kept
        assert 2 * (halves.fullest.weights_bytes or 0) >= (whole.weights_bytes or 0)
        assert (halves.room or 0) > (whole.room or 0)


def test_gpus_share_heads_or_layers_as_their_engine_does() -> None:
    ranks = {
        name: asked(MODELS["llama"], engine=name, gpu="L4", gpus=4).request for name in ("vllm", "llamacpp")
    }
    assert [(r.tensor_parallel, r.pipeline_parallel) for r in ranks.values()] == [(4, 1), (1, 4)]
    both = asked(MODELS["llama"], engine="vllm", gpu="L4", gpus=4, tensor_parallel=2).request
    assert (both.tensor_parallel, both.pipeline_parallel) == (2, 2)
    with pytest.raises(BadInput, match="6 GPUs cannot be 4 × 1 ranks"):
        asked(MODELS["llama"], engine="vllm", gpu="L4", gpus=6, tensor_parallel=4)


def test_what_an_engine_chooses_by_the_gpu_is_followed_and_said() -> None:
    """vLLM's steps, its kernel of MXFP4 experts, and the engine itself."""
    for name, tokens, kernel in (
        ("A100", 2048, "marlin"),
        ("H100", 8192, "triton-hopper"),
        ("B200", 16384, "trtllm"),
    ):
        found = asked(MODELS["gpt_oss"], gpu=name)
        assert found.engine.name == "vllm"
        assert (found.request.batched, found.request.moe_backend) == (tokens, kernel)
        assert (
            f"steps of {tokens:,} tokens, as a server of vLLM takes them on {name} (--batched)"
            in found.remarks
        )
        assert any(f"padded for {kernel}" in remark for remark in found.remarks)
        assert asked(MODELS["gpt_oss"], gpu=name, batched=512).request.batched == 512
    assert asked(MODELS["llama"], gpu="L4", weights_dtype="q4_k_m").engine.name == "llamacpp"
    many = asked(MODELS["llama"], gpu="L4", sequences=300).remarks
    assert any("at most 256 sequences" in remark for remark in many)
    assert asked(MODELS["llama"], memory=GIB).engine.name == "minimal"


def test_sglang_takes_the_share_that_its_own_rule_gives() -> None:
    """On an H100 with one rank: 512 + 1.5·8192 + 1024/8 + 2·256 + 8·58 graphs of prefill = 13,904 MiB."""
    total = gpu("H100").total
    stack, by = asked(MODELS["llama"]).stack, engine("sglang").of("llama")
    (outside, taken) = by.budget(gpu("H100"), Asked(), stack, 0).shares
    f = round(1 - 13_904 * MIB / total, 3)
    assert taken.size == GIB // 2 and outside.size == total - taken.size - int((total - taken.size) * f)
    assert f"SGLang takes {f:g} of such a GPU" in outside.rule
    given = by.budget(gpu("H100"), Asked(mem_fraction_static=0.5), stack, 0)
    assert not given.shares[0].rule and given.left == (total - taken.size) // 2


def test_llama_cpps_compute_buffer_grows_with_the_vocabulary_and_the_context() -> None:
    by, options = engine("llamacpp"), Asked(context=16_384)
    for name, mask in (("llama", 2 * 16_384), ("mamba2", 0)):  # the latter attends to nothing
        budget = by.of(name).budget(Device(8 * GIB), options, asked(MODELS[name]).stack, 128_256)
        buffer, margin = budget.shares
        assert buffer.size == 512 * (4 * 128_256 + mask) * 11 // 10 and margin.size == GIB
        assert budget.left == 8 * GIB - buffer.size - margin.size


def test_a_drafter_takes_memory_when_it_is_loaded() -> None:
    plain, drafting = (asked(MODELS["deepseek_v3"], gpu="H200", mtp=mtp) for mtp in (False, True))
    assert (drafting.weights_bytes or 0) > (plain.weights_bytes or 0)
    assert drafting.request.draft_layers == 1
    assert drafting.cache_bytes * 4 == plain.cache_bytes * 5  # four layers, and one that drafts


def test_the_flags_that_are_proposed_make_the_command_fit(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    question = ["audit", str(tmp_path), "--gpu", "T4", "--context", "8k", "--brief"]
    short = limen(*question)
    assert short.returncode == 1 and short.stdout.splitlines()[-1].startswith("FAILS: ")
    rows = {row["engine"]: row for row in json.loads(limen(*question, "--json").stdout)["engines"]}
    assert [*rows] == ["vllm", "sglang", "llamacpp"] and rows["vllm"]["change"] == "--weights-dtype fp8"
    for name, row in rows.items():
        fixed = limen(*question, "--engine", name, *shlex.split(row["change"]))
        assert fixed.returncode == 0 and fixed.stdout.splitlines()[-1].startswith("FITS: "), name
        more = limen(*question, "--engine", name, "--gpus", str(row["gpus"]))
        assert more.returncode == 0, name


def test_the_gpus_on_which_it_fits_are_found() -> None:
    found = asked(LLAMA_8B, find=True, context=8192)
    places = {place.device.name: place.audit for place in on_gpus(found)}
    assert "P40" not in places  # vLLM needs a newer one
    for name, there in places.items():
        assert there is not None and there.fits
        count = there.request.ranks
        assert asked(LLAMA_8B, context=8192, gpu=name, gpus=count).fits
        assert count == 1 or not asked(LLAMA_8B, context=8192, gpu=name, gpus=count // 2).fits
    assert places["T4"] is not None and places["T4"].request.ranks == 2
    nowhere = asked(LLAMA_8B, find=True, context=2**36).report
    assert nowhere.exit_code == 1 and "none of" in nowhere.failures[0]


def test_what_is_not_counted_neither_fits_nor_fails() -> None:
    strange = LLAMA_8B | {"quantization_config": {"quant_method": "quark"}}
    found = asked(strange, gpu="T4", find=True)
    assert found.fits is None and found.report.exit_code == 0 and found.report.on_gpus == ()
    rows = {row.engine: row for row in found.report.engines}
    assert rows["vllm"].fits is None and "quark" in (rows["vllm"].uncounted or "")
    assert lines_of(found.report)[-1].startswith("NOT COUNTED: ")
    given = asked(strange, gpu="T4", weights=4 * GIB, gpus=2)
    assert given.weights_bytes == 2 * GIB and given.fits is not None


def test_what_serves_is_told_without_theory() -> None:
    whole, brief = (
        "\n".join(lines_of(asked(LLAMA_8B, gpu="H100", brief=brief).report)) for brief in (False, True)
    )
    for theory in ("hop", "Limits", "No part of the cache has a fixed size"):
        assert theory in whole and theory not in brief
    for lines in (whole, brief):
        assert (
            "vLLM would print" in lines and "assumed" in lines and lines.splitlines()[-1].startswith("FITS: ")
        )


def test_weights_whose_format_no_config_names_are_said_to_be_assumed(tmp_path: Path) -> None:
    """gpt-oss is released in MXFP4; without its quantization_config it would be four times as large."""
    example = json.loads(Path("examples/configs/gpt_oss_120b.json").read_text())
    cut = {key: value for key, value in example.items() if key != "quantization_config"}

    def told(config: dict[str, Any], **options: Any) -> bool:
        found = asked(config, gpu="H100", brief=True, **options)
        return "note: weights are counted in bfloat16: the config names neither" in "\n".join(
            [*lines_of(found.report), *side_by_side([found.report])]
        )

    assert told(cut) and not told(example)
    assert asked(cut, gpu="H100").weights_bytes > 3 * asked(example, gpu="H100").weights_bytes
    assert not told(cut | {"torch_dtype": "bfloat16"}) and not told(cut, weights_dtype="mxfp4")
    assert not told(cut, weights=60 * GIB), "the size was given"
    (tmp_path / "config.json").write_text(json.dumps(cut))
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 233_653_598_208}, "weight_map": {}})
    )
    beside = audit(*load(str(tmp_path)), Request(gpu="H100"))
    assert not any("names neither" in remark for remark in beside.remarks), "the files say it"


def test_another_engine_is_asked_in_the_weights_that_it_loads() -> None:
    """gpt-oss as a GGUF file has its own type; AWQ is no file of llama.cpp, and q4_k_m none of vLLM."""
    schemes = {
        (name, row.audit.engine.name): row.audit.request.weights_dtype
        for name in ("gpt_oss", "llama")
        for row in by_engine(asked(MODELS[name], gpu="L4"))
    }
    assert schemes["gpt_oss", "llamacpp"] == "mxfp4_moe" and schemes["llama", "llamacpp"] == "f16"
    assert schemes["gpt_oss", "vllm"] is None
    for scheme, shown in (("awq", ["vllm", "sglang"]), ("q4_k_m", ["llamacpp"])):
        rows = by_engine(asked(MODELS["llama"], gpu="L4", weights_dtype=scheme))
        assert [row.audit.engine.name for row in rows] == shown
    eight = {
        row.audit.engine.name: row.audit.kv_dtype
        for row in by_engine(asked(MODELS["llama"], gpu="L4", kv_dtype="fp8"))
    }
    assert eight == {"vllm": "float8", "sglang": "float8", "llamacpp": "q8_0"}
    few = by_engine(
        asked(MODELS["deepseek_v3"], gpu="H100", gpus=8)
    )  # four layers: llama.cpp cannot share them
    assert [row.audit.engine.name for row in few] == ["vllm", "sglang"]


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("llama", {"gpus": 32}, "16 heads cannot be divided over 32 ranks"),
        ("deepseek_v3", {"gpus": 7}, "128 heads cannot be divided over 7 ranks"),
        ("llama", {"kv_dtype": "q8_0"}, "vllm has no keys in q8_0"),
        ("llama", {"engine": "llamacpp", "weights_dtype": "awq"}, "llamacpp loads no weights in awq"),
        (
            "llama",
            {"engine": "vllm", "gpu": "P40"},
            "vllm needs a GPU of compute capability 7.0; P40 has 6.1",
        ),
    ],
)
def test_what_an_engine_refuses_to_start_never_fits(model: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        asked(MODELS[model], **{"gpu": "H100", **options})


def test_blocks_of_fp8_stay_whole_on_a_rank() -> None:
    """vLLM and SGLang refuse 1536/8 = 192 rows in blocks of 128 (Qwen3-235B-A22B-FP8)."""
    eight = {"gpu": "H100", "gpus": 8, "engine": "sglang"}
    with pytest.raises(
        BadInput, match=r"gate_proj \(1,536 × 2,048, in blocks of fp8\) cannot be divided over 8"
    ):
        asked(MODELS["fp8"] | {"num_key_value_heads": 8, "intermediate_size": 1536}, **eight)
    config = MODELS["fp8"] | {"model_type": "qwen3_moe", "head_dim": 128, "moe_intermediate_size": 1536}
    torn = [line for line in asked(config, **eight).remarks if "expert parallelism" in line]
    assert torn == [
        "experts of 1,536 in blocks of fp8 cannot be divided over 8 ranks: "
        "start sglang with expert parallelism (the same bytes)"
    ]
    assert not any("expert parallelism" in line for line in asked(config, **eight | {"gpus": 4}).remarks)


def test_llamacpp_holds_a_quantised_checkpoint_as_its_own_file() -> None:
    """fp8 in 16 bits, gpt-oss in MXFP4: asked by itself as in the table beside another engine."""
    for name in ("fp8", "gpt_oss"):
        (row,) = (
            one.audit
            for one in by_engine(asked(MODELS[name], gpu="L4"))
            if one.audit.engine.name == "llamacpp"
        )
        alone = asked(MODELS[name], gpu="L4", engine="llamacpp")
        assert alone.weights_bytes == row.weights_bytes and alone.fits == row.fits
    assert asked(MODELS["llama"], gpu="P40").engine.name == "llamacpp"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpu": "H10"}, "no GPU named 'H10'"),
        ({"gpu": "H100", "memory": GIB}, "give one of them"),
        ({"gpu_memory_utilization": 0.0}, "--gpu-memory-utilization must be above 0"),
        ({"mem_fraction_static": 1.5}, "--mem-fraction-static must be above 0 and at most 1, got 1.5"),
        ({"moe_backend": "marlins"}, "did you mean 'marlin'"),
        ({"activation": -1}, "bytes of activations must be at least 0"),
        ({"gpus": 3, "engine": "vllm"}, "cannot be divided over 3 ranks"),
        ({"gpus": 64, "engine": "llamacpp"}, "32 layers cannot be divided over 64 stages"),
    ],
)
def test_a_wrong_option_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        _ = asked(LLAMA_8B, **options).report
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_a_field_that_the_weights_follow_is_not_called_ignored() -> None:
    """DeepSeek V4 says by expert_dtype how its experts are stored."""
    found = asked({"model_type": "deepseek_v4", "expert_dtype": "fp4"}, gpu="H200", gpus=4)
    assert not any("expert_dtype" in line for line in found.remarks)
