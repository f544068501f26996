"""Which layers and heads a model needs: windows on all others."""

import re
from pathlib import Path

import pytest
import torch
from fixtures import languages
from fixtures.cli import limen
from fixtures.probing import language, layered

from limen.errors import BadInput
from limen.probes.layers import LayerProbe
from limen.probes.log import Log
from limen.probes.opening import opened
from limen.probes.saved import write_report

# Layers


def test_layers_are_windowed_one_set_at_a_time(llama: Path, tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", {})
    report = layered(llama, log)
    assert report.whole and report.layers == (0, 1) and {one.layer for one in report.ranking} == {0, 1}
    rows = {(one.chosen, one.k): one for one in report.rows}
    assert set(rows) == {("all", 2), ("none", 0), ("control", 0), ("greedy", 2), ("without the top", 0)} | {
        (chosen, 1) for chosen in ("top", "even", "first", "last", "random", "greedy")
    }
    plain = LayerProbe(opened(str(llama)), Log(None, {}), n=4, window=8, contexts=2)
    logs = [one.log for i in range(2) for one in plain.language.follow(plain._chain(1, i))]
    assert rows["all", 2].loss == pytest.approx(-sum(logs) / len(logs), abs=1e-5)
    assert rows["all", 2].loss != pytest.approx(rows["none", 0].loss, abs=1e-3)  # the window does something
    assert rows["control", 0].window == report.period + 1
    assert report.recommendation.startswith("floor: ")  # random weights copy nothing
    again = Log(tmp_path / "log.jsonl", {})
    assert layered(llama, again) == report and again.computed == 0 and report.seconds > 0


@pytest.mark.hf
def test_of_a_layer_one_head_alone_can_stay_full(llama: Path) -> None:
    """Head 1 of layer 0 says nothing: so head 0 alone is the whole layer, and head 1 alone is none of it."""
    silent = LayerProbe(opened(str(llama)), Log(None, {}), n=4, window=8, contexts=2)
    attention = silent.language.model.model.layers[0].self_attn
    with torch.no_grad():
        attention.o_proj.weight[:, attention.head_dim :] = 0
    whole, without = silent.loss((0, 1)), silent.loss((1,))
    assert whole != pytest.approx(without, abs=1e-3)
    alone = {(one.layer, one.head): one.loss for one in silent.heads_alone((0, 1))}
    assert alone[0, 0] == pytest.approx(whole, abs=1e-5) and alone[0, 1] == pytest.approx(without, abs=1e-5)
    assert list(alone) == sorted(alone, key=lambda one: (one[0], alone[one]))


def test_heads_are_measured_and_drawn(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that copies nothing, as if it copied with all its layers and with layer 1."""
    monkeypatch.setattr("limen.probes.layers._FLOOR", -1)
    report = layered(llama, Log(tmp_path / "log.jsonl", {}))
    (layer,) = {one.layer for one in report.heads}
    assert f"keep {layer}: " in report.recommendation and report.whole
    best, other = report.heads
    assert best.loss <= other.loss and report.keys == 1
    rows = {one.chosen: one for one in report.head_rows}
    assert rows["best 1 a layer"].heads == ((layer, best.head),) and rows["best 1 a layer"].full == ()
    assert rows["all but the best"].heads == ((layer, other.head),)
    write_report(tmp_path / "report.json", report)
    shown = limen("probe", str(tmp_path / "report.json")).stdout
    assert f"layer {layer}: head {best.head} ({best.loss:.2f}), head {other.head}" in shown
    assert re.search(rf"^  1 +best 1 a layer .* {layer}\.{best.head}$", shown, re.MULTILINE)
    assert "2 heads share keys and values" in shown


def test_what_cannot_be_windowed_is_refused(llama: Path) -> None:
    with pytest.raises(BadInput, match="it has no attention layers"):
        LayerProbe(language(languages.guesses), Log(None, {}), n=4).check()
    with pytest.raises(BadInput, match="a window of 100 reaches the copy"):
        LayerProbe(opened(str(llama)), Log(None, {}), n=4, window=100, contexts=2).check()
