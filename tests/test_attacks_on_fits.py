"""Attacks on `fits`: architectures that do not exist, or do not hold the model as it is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, by, carried, eva, wider
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen_check import files
from limen_check.can.fits import check_fits
from limen_check.files import Malformed, Refused


@pytest.mark.parametrize(
    "more",
    [
        "banana(x=1),{}",
        "{},softmax(h=3,d=9,d_k=9,kv_heads=2,bidirectional=false,p=16)",
        "{}|window(kv=7)",
    ],
)
def test_an_architecture_that_does_not_exist_can(more: str) -> None:
    """Layers that hold nothing of the model have to exist, too (`check_fits`)."""
    f = Forged.of("eva(n=4)", "softmax")
    model = files.model(*f.files())
    c = {
        "schema": "limen/certificate/2", "kind": "fits", "task": f.task, "precision": "bfloat16", "steps": 0,
        "weights": model.digest, "margin": "2", "hints": f.hints,
        "architecture": more.format("softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=16)"),
    }  # fmt: skip
    with pytest.raises((Refused, Malformed)):
        check_fits(c, model)


@pytest.mark.parametrize(
    "architecture",
    [
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=true,p=16)",
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=15)",
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=32)",
        "softmax(h=1,d=1,d_k=2,kv_heads=1,bidirectional=false,p=16)",
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=16,kv=0)",
        "softmax(reply_bits=1000000)",
        "window(h=1,d=2,d_k=2,kv_heads=1,W=5,p=16)",
        "mla(h=1,d=2,d_k=2,r=3,d_r=0,p=16)",  # a latent of 3 for keys and values of 2
        "mla(h=1,d=1,d_k=2,r=4,d_r=0,p=16)",
        "mla(h=1,d=2,d_k=2,r=4,d_r=1,p=16)",  # a key of 1, and 1 that is not the latent's
        "mla(h=1,d=2,d_k=2,r=4,d_r=2,p=16)",
        "mla(h=1,d=2,d_k=3,r=3,d_r=1,p=16)",
        "mla(h=1,d=2,d_k=2,r=4,d_r=0,p=15)",
        "mla(h=1,d=2,d_k=2,r=4,p=16)",
        "mla(h=1,d=2,d_k=2,r=4,d_r=0,p=16,kv=0)",
        "mla(h=1,d=2,d_k=2,r=4,d_r=0,p=16,bidirectional=true)",
        "mla(h=1,d=2,d_k=2,r=4,d_r=0,p=16,kv_heads=1)",
        "mla(h=1,d=2,d_k=2,r=true,d_r=0,p=16)",
        "mla(reply_bits=1000000)",
        "gated_softmax(h=1,d=1,d_k=2,kv_heads=1,p=16)",
        "gated_softmax(h=1,d=2,d_k=1,kv_heads=1,p=16)",
        "gated_softmax(h=1,d=2,d_k=2,kv_heads=1,p=15)",
        "softmax(h=1,d=1,d_k=1,kv_heads=1,bidirectional=false,p=16),gated_softmax(h=1,d=2,d_k=2,kv_heads=1,p=16,kv=0)",
        "gated_softmax(h=1,d=2,d_k=2,kv_heads=1,p=16,r=4)",
        "gated_softmax(reply_bits=1000000)",
    ],
)
def test_refused_an_architecture_that_does_not_hold_the_model(architecture: str) -> None:
    f = Forged.of("eva(n=4)", "softmax")
    model = files.model(*f.files())
    c = {
        "schema": "limen/certificate/2", "kind": "fits", "task": f.task, "precision": "bfloat16", "steps": 0,
        "weights": model.digest, "margin": "2", "hints": f.hints, "architecture": architecture,
    }  # fmt: skip
    with pytest.raises((Refused, Malformed)):
        check_fits(c, model)


PART = "softmax(h={0},d={1},d_k=2,kv_heads={0},bidirectional=false{2})"


def side_by_side() -> Forged:
    """The small model for eva(n=2) behind two parts: 512 and, of whoever has a 1, 0.95; and -512.

    In bfloat16 512.95 is 512, so the two parts add nothing to the answer, if each is rounded by itself.
    """
    f = eva()
    f.header["architecture"] = "|".join(PART.format(h, d, "") for h, d in ((2, 1), (1, 2), (1, 1)))
    f.w |= {f"0.2.{name}": f.w[f"0.0.{name}"] for name in "QKVO"}
    for i, (keys, values) in enumerate(((4, 2), (2, 2))):
        f.w |= {f"0.{i}.Q": np.zeros((6, keys)), f"0.{i}.K": np.zeros((6, keys))}
        f.w |= {f"0.{i}.V": np.zeros((6, values)), f"0.{i}.O": np.zeros((values, 6))}
        f.w[f"0.{i}.Q"][4, 0], f.w[f"0.{i}.K"][4, 0] = 64, 1
        f.w[f"0.{i}.V"][4, 0], f.w[f"0.{i}.O"][0, 5] = 1, (512, -512)[i]
    f.w["0.0.Q"][4, 2], f.w["0.0.K"][0, 2], f.w["0.0.V"][0, 1], f.w["0.0.O"][1, 5] = 64, 1, 0.95, 1
    f.hints["looks"] = [[0, i, 0, "query", "one", ("query", "query", "data")[i]] for i in range(3)]
    return f


def fits(f: Forged, architecture: str, precision: str = "bfloat16") -> str:
    model = files.model(*f.files())
    c = {
        "schema": "limen/certificate/2", "kind": "fits", "task": f.task, "precision": precision, "steps": 0,
        "weights": model.digest, "margin": "1", "hints": f.hints, "architecture": architecture,
    }  # fmt: skip
    return check_fits(c, model)


def test_parts_that_are_put_into_one_are_added_without_roundings_between(tmp_path: Any) -> None:
    """As heads of one part they are rounded once, after all is added: 0.95 stays, and the model is wrong."""
    f, p = side_by_side(), ",p=16"
    assert f.least("bfloat16", tmp_path) > 1
    assert fits(f, "|".join((PART.format(2, 1, p), PART.format(1, 2, p), PART.format(1, 1, p))))
    one, w = side_by_side(), {}
    one.header["architecture"] = PART.format(4, 2, "")
    for name in "QKV":
        w[name] = np.hstack([one.w.pop(f"0.{i}.{name}") for i in range(3)])
    O = np.vstack([one.w.pop(f"0.{i}.O") for i in range(3)])
    columns = [0, 2, 4, 5, 6]  # heads have one value, one, two, one: of four heads with two each
    V, wide = np.zeros((6, 8)), np.zeros((8, 6))
    V[:, columns], wide[columns] = w["V"], O
    one.w |= {"0.0.Q": w["Q"], "0.0.K": w["K"], "0.0.V": V, "0.0.O": wide}
    assert one.least("bfloat16", tmp_path) <= 0
    with pytest.raises(Refused):
        fits(f, PART.format(4, 2, p))


def test_parts_in_another_order_are_added_in_another_order() -> None:
    """Of three parts the order tells which two are added first, and rounded."""
    f, p = side_by_side(), ",p=16"
    with pytest.raises(Refused):
        fits(f, "|".join((PART.format(1, 1, p), PART.format(1, 2, p), PART.format(2, 1, p))))


def test_a_part_that_is_not_used_reads_the_text_too() -> None:
    f = by("eva(n=8)", "softmax")
    m = files.model(*f.files())
    own = f.header["architecture"].replace(")", ",p=16)")
    for levels, reads in ((5, True), (1, False)):
        extra = f"log_linear(h=1,d=1,d_k=1,over=linear,levels={levels},p=16)"
        c = {
            "task": f.task, "precision": "bfloat16", "steps": 0, "weights": m.digest, "margin": "1",
            "hints": f.hints, "architecture": f"{extra},{own}",
        }  # fmt: skip
        if reads:
            assert "can" in check_fits(c, m)
        else:
            with pytest.raises(Refused):
                check_fits(c, m)


@pytest.mark.parametrize(
    "architecture",
    [
        "mla(h=1,d=2,d_k=2,r=4,d_r=0,p=16)",
        "mla(h=9,d=5,d_k=4,r=4,d_r=2,p=16)",
        "gated_softmax(h=1,d=2,d_k=2,kv_heads=1,p=16)",
        "gated_softmax(h=4,d=3,d_k=2,kv_heads=2,p=16)",
    ],
)
def test_softmax_heads_stand_in_an_mla_with_room_and_behind_gates(architecture: str) -> None:
    assert "can" in fits(Forged.of("eva(n=4)", "softmax"), architecture)


def test_the_heads_of_an_encoder_do_not_stand_in_a_causal_mixer() -> None:
    f = Forged.of("eva(n=4)", "softmax")
    f.header["architecture"] = "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=true)"
    assert "can" in fits(f, "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=true,p=16)")
    for other in ("mla(h=1,d=2,d_k=2,r=4,d_r=0,p=16)", "gated_softmax(h=1,d=2,d_k=2,kv_heads=1,p=16)"):
        with pytest.raises(Refused):
            fits(f, other)


def test_hard_heads_are_no_softmax_heads() -> None:
    f = Forged.of("eva(n=4)", "hard")
    assert "can" in fits(f, "hard(h=1,d=2,d_k=2,kv_heads=1,p=16)")
    for other in ("mla(h=1,d=2,d_k=2,r=4,d_r=0,p=16)", "gated_softmax(h=1,d=2,d_k=2,kv_heads=1,p=16)"):
        with pytest.raises(Refused):
            fits(f, other)


def test_a_latent_that_several_parts_use_is_used_up() -> None:
    """`side_by_side` has keys and values of 2·3, 4 and 3 numbers, in parts that must not be put together."""
    f = side_by_side()
    f.w["0.1.O"][:, 5] = 0  # then no column is written by two, and one part may hold all
    f.w["0.0.O"][:, 5] = 0
    assert "can" in fits(f, "mla(h=4,d=2,d_k=2,r=13,d_r=0,p=16)")
    with pytest.raises(Refused):
        fits(f, "mla(h=4,d=2,d_k=2,r=12,d_r=0,p=16)")
    with pytest.raises(Refused):
        fits(f, "mla(h=3,d=2,d_k=2,r=13,d_r=0,p=16)")


def two_indexes() -> Forged:
    """Each of two parts looks for one of the two partners of q, by an index of its own."""
    f = Forged.of("two_sum(n=3,M=7)", "top_k")
    column, d_i = wider(f, 1), f.w["0.0.IK"].shape[1]
    for name in ("IQ", "IK", "IW"):
        f.w[f"0.0.{name}"] = np.pad(f.w[f"0.0.{name}"], ((0, 1), (0, 0)))
    queries, weights = f.w["0.0.IQ"], f.w["0.0.IW"]
    first, second = queries[:, :d_i].copy(), queries[:, d_i:].copy()
    second[np.nonzero(first[:, d_i - 1])[0][0], d_i - 1] = 1  # the second one asks as well
    f.w |= {f"0.1.{name}": f.w[f"0.0.{name}"].copy() for name in ("Q", "K", "V", "O", "IK")}
    f.w |= {"0.0.IQ": first, "0.1.IQ": second, "0.0.IW": weights[:, :1], "0.1.IW": weights[:, 1:]}
    ((_, read),) = np.argwhere(f.w["0.0.O"])
    f.w["0.1.O"][:, [read, column]] = f.w["0.1.O"][:, [column, read]]
    f.w["readout.U"][column] = f.w["readout.U"][read]
    part = f.header["architecture"].replace("h_i=2", "h_i=1")
    f.header["architecture"] = f"{part}|{part}"
    f.hints["looks"] = [[0, i, 0, "q", "either", "x", "q"] for i in (0, 1)]
    return f


def test_parts_that_choose_by_indexes_of_their_own_do_not_stand_in_one(tmp_path: Any) -> None:
    f = two_indexes()
    assert f.least("bfloat16", tmp_path) > 0
    part = f.header["architecture"].partition("|")[0].replace(")", ",p=16)")
    assert "can" in fits(f, f"{part}|{part}")
    one = part.replace("h=1", "h=2")
    for other in (one, one.replace("top_k", "dsa").replace(")", ",r=4,d_r=0)")):
        with pytest.raises(Refused):
            fits(f, other)


def faded(parts: int) -> Forged:
    """z_0 is carried by a second head of retention, in a part of its own or in one with the first.

    Values 64 and 66 are there 62 and 63.9 if they fade by 31/32, and 63 and 65 by 63/64; 62.97 is between.
    """
    f = carried("retnet(h=2,d=4)")
    f.w["embedding.v"], f.w["embedding.w"] = np.array([[64.0], [66.0]]), f.w["embedding.w"].copy()
    f.header["embedding"]["tables"].append(["v", 2, 1])
    f.header["embedding"]["segments"][2]["codes"][-1]["table"] = "v"
    ((_, column),) = np.argwhere(f.w["0.0.O"])
    f.w["embedding.w"][0, column] -= 62.96875 * f.w["0.0.O"][0, column]
    first, more = "retnet(h=1,d=1,d_k=1)", f.header["architecture"].partition("),")[2]
    f.header["architecture"] = f"{first}|{first},{more}" if parts == 2 else f"retnet(h=2,d=1,d_k=1),{more}"
    for name, axis in (("Q", 1), ("K", 1), ("V", 1), ("O", 0)):
        w = f.w[f"0.0.{name}"]
        both = {f"0.0.{name}": 0 * w, f"0.1.{name}": w}
        f.w |= both if parts == 2 else {f"0.0.{name}": np.concatenate([*both.values()], axis)}
    return f


def test_the_heads_of_retention_fade_at_rates_of_their_own(tmp_path: Any) -> None:
    f, one = faded(2), faded(1)
    assert f.least("float32", tmp_path) > 1 and one.least("float32", tmp_path) <= 0
    own = f.header["architecture"].replace(")", ",p=32)")
    assert "can" in fits(f, own, "float32")
    with pytest.raises(Refused):
        fits(f, one.header["architecture"].replace(")", ",p=32)"), "float32")
