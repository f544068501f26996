"""The audit: its bytes, its limits against the verdicts, what fits, the gate."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import LIMEN, limen
from fixtures.speed import loads_torch, seconds

from limen.audits import Request, architecture_of, audit, load
from limen.core.architecture import Architecture
from limen.core.quantities import in_bytes
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.decisions.families import FAMILIES
from limen.errors import BadInput
from limen.render.audit import lines_of
from limen.render.card import card_ready

CONFIGS = Path(__file__).parents[1] / "examples/configs"


GPT_OSS = str(CONFIGS / "gpt_oss_120b.json")


GIB = 2**30


def test_gpt_oss_takes_73728_bytes_a_token_until_its_windows_are_full() -> None:
    found = {n: json.loads(limen("audit", GPT_OSS, "--context", str(n), "--json").stdout) for n in (128, 129)}
    assert found[128]["schema"] == "limen/audit/1" and found[128]["kv_bytes_per_token"] == 73_728
    assert found[128]["kv_bytes"] == 128 * 73_728
    assert found[129]["kv_bytes"] == 128 * 73_728 + 73_728 // 2  # only the 18 full layers go on
    assert found[128]["full_layers"] == 18
    assert [layer["keeps_every_token"] for layer in found[128]["layers"]] == [False, True] * 18
    assert {layer["window"] for layer in found[128]["layers"][::2]} == {128}


def test_precision_and_sequences_scale_what_they_should() -> None:
    config = json.loads((CONFIGS / "qwen3_next_80b.json").read_text())
    once = audit(config, "x", Request())
    assert once.kv_dtype == "bfloat16"  # the config's own
    keys = audit(config, "x", Request(sequences=3, kv_dtype="fp8"))
    assert keys.kv_bytes * 2 == once.kv_bytes * 3
    assert keys.recurrent_bytes == once.recurrent_bytes * 3  # keys in 8 bits shrink nothing else
    assert keys.convolution_bytes == once.convolution_bytes * 3
    states = audit(config, "x", Request(state_dtype="bf16", conv_dtype="float32"))
    assert states.kv_bytes == once.kv_bytes and states.recurrent_bytes * 2 == once.recurrent_bytes
    assert states.convolution_bytes == once.convolution_bytes * 2


def test_a_precision_that_the_config_declares_is_followed_and_said() -> None:
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False}}
    config = {"model_type": "nemotron_h", "mamba_ssm_cache_dtype": "bfloat16", "quantization_config": scheme}
    plain, found = (audit(c, "x", Request()) for c in ({"model_type": "nemotron_h"}, config))
    assert (found.kv_dtype, found.state_dtype, found.conv_dtype) == ("float8", "bfloat16", "bfloat16")
    assert found.kv_bytes * 2 == plain.kv_bytes and found.recurrent_bytes * 2 == plain.recurrent_bytes
    assert found.convolution_bytes == plain.convolution_bytes
    declared = "keys and values in float8, as quantization_config.kv_cache_scheme declares"
    assert declared in found.remarks
    assert "recurrent states in bfloat16, as mamba_ssm_cache_dtype declares" in found.remarks
    plain_keys = audit(config, "x", Request(engine="transformers")).remarks
    assert (
        "keys and values in bfloat16, though quantization_config.kv_cache_scheme declares float8"
        in plain_keys
    )
    asked = audit(config, "x", Request(kv_dtype="bf16", state_dtype="float32"))
    assert asked.cache_bytes == plain.cache_bytes and not asked.remarks[1:]
    algorithm = {"model_type": "llama", "quantization_config": {"kv_cache_quant_algo": "FP8"}}
    assert audit(algorithm, "x", Request()).kv_dtype == "float8"


def test_a_field_that_the_type_has_not_is_a_remark() -> None:
    found = audit(
        {"model_type": "llama", "favourite_colour": "blue", "rope_theta": 1e4}, "x", Request(context=9)
    )
    assert found.remarks == ["ignored, because llama has no such fields: favourite_colour"]


def test_more_tokens_than_the_model_was_made_for_is_a_remark() -> None:
    within, beyond = (audit({"model_type": "llama"}, "x", Request(context=n)) for n in (2048, 2049))
    assert not within.remarks
    assert ["max_position_embeddings" in line and "2,048" in line for line in beyond.remarks] == [True]
    assert any(
        "max_position_embeddings" in line
        for line in limen("audit", GPT_OSS, "--context", "1M").stdout.splitlines()
    )


@pytest.mark.parametrize(
    "config",
    [
        {
            "model_type": "mamba2",
            "num_hidden_layers": 1,
            "num_heads": 2,
            "head_dim": 4,
            "hidden_size": 4,
            "state_size": 4,
            "n_groups": 1,
        },
        {"model_type": "recurrent_gemma", "num_hidden_layers": 3, "hidden_size": 8, "num_attention_heads": 2},
        {"model_type": "mistral", "num_hidden_layers": 2, "sliding_window": 8, "hidden_size": 64},
    ],
)
def test_the_limits_are_where_the_verdict_turns(config: dict[str, Any]) -> None:
    found = audit(config, "x", Request())
    assert {limit.name for limit in found.limits} == set(FAMILIES)
    stack = Architecture.parse(str(found.stack.architecture))
    for limit in found.limits:
        at, before = (decide(FAMILIES[limit.name](n), stack).answer for n in (limit.n, limit.n - 1))
        assert at is Answer.CANNOT and before is not Answer.CANNOT


def test_a_stack_that_keeps_every_token_has_no_limit_by_its_state() -> None:
    said = audit(*load(GPT_OSS), Request()).report
    (hops,) = said.limits
    assert hops.theorem == "composition_depth" and hops.size is None
    assert "impossible in texts that are long enough" in hops.meaning
    assert said.depth.hops == 18 and any(
        "no realistic context is ruled out" in line for line in lines_of(said)
    )


def test_decide_and_depth_take_a_config_for_an_architecture() -> None:
    text = json.loads(limen("audit", GPT_OSS, "--json").stdout)["architecture"]
    assert "kv_heads=8" in text  # 64 heads on 8 sets of keys
    for command in (("decide", "eva(n=100)"), ("depth",)):
        found = [limen(*command, stack, "--json") for stack in (GPT_OSS, text)]
        assert found[0].stdout == found[1].stdout and found[0].returncode == found[1].returncode
        assert json.loads(found[0].stdout)["architecture"] == text
    lost = limen("depth", "nowhere/config.json")
    assert lost.returncode == 2 and lost.stderr.count("\n") == 1


def test_a_config_is_the_stack_that_its_audit_speaks_about(tmp_path: Path) -> None:
    """In the precisions that it declares: windows of 8 bits, states of 16."""
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}
    for config in (
        {"model_type": "mistral", "num_hidden_layers": 2, "quantization_config": scheme},
        {"model_type": "qwen3_next", "num_hidden_layers": 4, "mamba_ssm_dtype": "bfloat16"},
        {"model_type": "kimi_linear", "num_hidden_layers": 4},
    ):
        (tmp_path / "config.json").write_text(json.dumps(config))
        found = audit(config, "x", Request()).stack.architecture
        assert str(architecture_of(str(tmp_path))) == str(found) == str(Architecture.parse(str(found)))
    assert "kda(state_bits=" in str(found)


def test_a_name_on_the_hub_is_looked_up_in_its_cache_first(tmp_path: Path) -> None:
    """No network here: the hub's own library finds what its cache on this machine holds."""
    folder = tmp_path / "models--someone--model"
    (folder / "snapshots/abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("abc")
    (folder / "snapshots/abc/config.json").write_text(Path(GPT_OSS).read_text())
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [LIMEN, "audit"]
    found = subprocess.run(
        [*command, "someone/model", "--json"], capture_output=True, text=True, env=environment
    )
    assert found.returncode == 0 and json.loads(found.stdout)["kv_bytes_per_token"] == 73_728
    lost = subprocess.run([*command, "someone/other"], capture_output=True, text=True, env=environment)
    assert (
        lost.returncode == 2
        and lost.stderr.count("\n") == 1
        and "could not be fetched from the hub" in lost.stderr
    )


def test_several_models_stand_side_by_side_and_on_one_card(tmp_path: Path) -> None:
    paths = sorted(map(str, CONFIGS.glob("*.json")))
    card = tmp_path / "card.html"
    result = limen("audit", *paths, "--card", str(card))
    assert all(Path(path).stem in result.stdout for path in paths)
    fields = json.loads(limen("audit", *paths, "--json").stdout)
    assert [model["source"] for model in fields["models"]] == paths
    page = card.read_text()
    assert (
        page.count("<polyline") == 2 * len(paths) and page.count('class="F"') == 18 + 12 + 1
    )  # and the legend
    with pytest.raises(BadInput, match=r"an \.svg, \.png, \.pdf or \.html file"):
        card_ready(tmp_path / "card.gif", len(paths))


def test_an_audit_loads_neither_torch_nor_transformers() -> None:
    assert not loads_torch("audit", GPT_OSS)
    code = f"import sys; from limen.cli import app; app(['audit', {GPT_OSS!r}], standalone_mode=False)\n"
    code += "sys.exit(any(name in sys.modules for name in ('transformers', 'huggingface_hub')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.alone
def test_an_audit_takes_few_times_the_start_of_its_libraries() -> None:
    answer, libraries = seconds("audit", str(CONFIGS / "mamba2_2.7b.json"))
    assert answer < 4 * libraries


def test_what_fits_beside_the_weights_is_the_most_that_does() -> None:
    config = {"model_type": "llama", "num_key_value_heads": 8}
    found = audit(config, "x", Request(context=4096, memory=24 * GIB, weights_dtype="bfloat16"))
    assert found.weights_bytes == 2 * (found.stack.parameters or 0)
    assert found.room == 24 * GIB - found.weights_bytes
    for name, most in (("context", found.longest_context), ("sequences", found.largest_batch)):
        assert found.asking(**{name: most}).cache_bytes <= found.room
        assert found.asking(**{name: most + 1}).cache_bytes > found.room
    assert (
        audit({"model_type": "opt", "do_layer_norm_before": False}, "x", Request(memory=GIB)).longest_context
        is None
    )
    said = audit({"model_type": "rwkv7"}, "x", Request(memory=GIB, weights=GIB // 2))
    assert said.room == GIB // 2 and said.longest_context == 2**40


@pytest.mark.parametrize("engine", ["minimal", "vllm"])
@pytest.mark.parametrize(("memory", "sequences"), [(24, 1), (150, 1), (163, 8)])
def test_what_does_not_fit_says_how_much_is_missing_and_what_would(
    memory: int, sequences: int, engine: str
) -> None:
    path = str(CONFIGS / "qwen3_next_80b.json")
    asked = Request(context=2**17, memory=memory * GIB, sequences=sequences, engine=engine)
    found = audit(*load(path), asked)
    assert found.fits is False and found.missing is not None
    enough = found.enough
    assert enough is not None and enough - memory * GIB >= found.missing
    whole = engine == "minimal"  # vLLM takes 0.92 of what is added
    assert (enough - memory * GIB == found.missing) is whole
    assert found.asking(memory=enough).fits and not found.asking(memory=enough - 1).fits
    (said,) = found.failures
    assert said.startswith(f"{in_bytes(found.missing)} short: weights of 148.4 GiB and a cache of ")
    assert f"{enough:,} bytes of memory would do" in said
    assert ("the weights alone do not" in said) is (found.weights_bytes > found.budget.left)
    if most := found.longest_context:
        together = "" if sequences == 1 else f" with {sequences} sequences"
        assert f"a context of at most {most:,} tokens{together} does" in said
        assert f"a context of at most {most:,} tokens{together};" in "\n".join(lines_of(found.report))
        assert found.asking(context=most).fits and not found.asking(context=most + 1).fits


def test_one_sequence_that_fits_is_one() -> None:
    """With 40 sequences, of one pool or not; it said "so do 1 sequence", and bytes that no pool takes."""
    for unified in (False, True):
        kept_free = {"activation": 0, "overhead": 0}
        asked = Request(
            context=2**17, memory=72 * GIB, weights=64 * GIB, sequences=40, engine="llamacpp", **kept_free
        )
        found = audit(*load(GPT_OSS), replace(asked, unified=unified, context=2**17 * (3 if unified else 1)))
        (said,) = found.failures
        assert found.largest_batch == 1 - unified and "bytes per token" not in said
        assert ("and so does 1 sequence of 131,072 tokens" in said) is not unified


@pytest.mark.parametrize("engine", ["minimal", "sglang"])
def test_what_fits_also_fits_on_the_way_there(engine: str) -> None:
    """DeepSeek V4's open blocks are emptied after 128 tokens: the last token needs less than some before."""
    config = {"model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4, 128]}
    all_of_it = {"mem_fraction_static": 1.0, "overhead": 0}
    found = audit(config, "x", Request(memory=GIB // 64, weights=1, engine=engine, **all_of_it))
    most = found.longest_context
    assert most and found.room
    sizes = [found.cache_bytes_after(n) for n in range(most - 300, most + 1)]
    assert max(sizes) == found.asking(context=most).peak_bytes <= found.room
    assert sizes != sorted(sizes) and found.asking(context=most + 1).peak_bytes > found.room


def test_a_gate_fails_with_its_reason(tmp_path: Path) -> None:
    small = str(CONFIGS / "mamba2_2.7b.json")
    held = limen("audit", small, "--context", "128k", "--max-cache", "163MiB", "--needs", "eva(n=1000)")
    assert held.returncode == 0 and "FAILS" not in held.stdout
    large = limen("audit", small, "--max-cache", "161MiB")
    assert large.returncode == 1 and "FAILS: the cache takes 169,836,544 bytes" in large.stdout
    lost = limen("audit", small, "--needs", "eva(n=60000000)", "--json")
    assert lost.returncode == 1
    assert "eva(n=60000000) is ruled out by streaming_state" in json.loads(lost.stdout)["failures"][0]
    wrong = limen("audit", small, "--max-cache", "4 parsecs")
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1
