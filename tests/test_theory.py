"""The page of the theory is made of the catalogue: what it says of theorems and constructions is so."""

import ast
import re
from pathlib import Path

import pytest

from limen.commands.list import HowProved, formal_line, how_proved
from limen.core.catalogue import beside, docstring, ids, lookup, summary
from limen.core.differences import DIFFERENCES, STACKS
from limen.core.theorem import Theorem
from limen_check.cannot.bound import THEOREMS
from limen_check.cannot.exact import EXACT

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/theory.md"
KEY = re.compile(r"\[([a-z]+\d{4}[a-z0-9]*)\]")

# Where the numbers of a theorem are counted again, over all inputs, protocols or networks of a small size.
BRUTE_FORCE = {
    "biased_read": ["test_counted_reads.py::test_a_norm_and_a_bias_answer_in_no_more_ways_than_are_counted"],
    "block_cut": ["test_block_theorems.py::test_there_are_as_many_rows_as_the_inequality_counts"],
    "block_labels": ["test_block_theorems.py::test_cosines_are_counted_by_brute_force"],
    "block_messages": ["test_sparse_theorems.py::test_no_protocol_beats_the_bound_with_positions"],
    "composition_depth": [
        "test_sharp_networks.py::test_what_a4_fixes_decides_the_output",
        "test_sharp_protocols.py::test_protocols_are_never_excluded_whatever_the_free_sizes",
        "test_graph.py::test_four_computations_agree_on_all_1092_stacks",
    ],
    "hidden_tokens": [
        "test_hidden_tokens.py::test_every_order_of_scores_confuses_two_texts_if_fewer_are_read_than_needed"
    ],
    "last_read": ["test_last_read.py::test_no_more_words_are_answered_than_are_counted"],
    "linear_read": ["test_linear_read.py::test_every_word_is_answered_by_some_prefix"],
    "log_linear_state": [
        "test_rows.py::test_the_closed_form_counts_what_all_inputs_show",
        "test_recurrent_theorems.py::test_after_a_power_of_two_all_that_is_read_later_is_one_matrix",
    ],
    "one_sum": ["test_softmax_read.py::test_four_texts_cross"],
    "one_layer_cut": [
        "test_one_layer_theorems.py::test_so_many_cases_are_told_apart_with_the_last_token_fixed",
        "test_one_layer_theorems.py::test_sets_are_told_apart_by_one_token_that_makes_a_triple",
        "test_one_layer_theorems.py::test_pairs_with_one_answer_cross_to_another",
    ],
    "relu_read": [
        "test_counted_reads.py::test_relus_of_few_numbers_are_answered_in_no_more_ways_than_are_counted"
    ],
    "separate_tokens": [
        "test_one_layer_theorems.py::test_the_values_of_one_player_are_told_apart_by_the_keys_of_the_other"
    ],
    "softmax_read": ["test_softmax_read.py::test_every_word_is_answered_before_one_token"],
    "sparse_average_width": [
        "test_one_layer_theorems.py::test_so_many_cases_are_told_apart_with_the_last_token_fixed"
    ],
    "streaming_state": ["test_rows.py::test_the_closed_form_counts_what_all_inputs_show"],
    "three_sum_one_layer": [
        "test_one_layer_theorems.py::test_so_many_cases_are_told_apart_with_the_last_token_fixed"
    ],
    "token_index": ["test_sparse_theorems.py::test_no_index_beats_the_bound_and_some_meet_it"],
    "window_global": ["test_rows.py::test_the_closed_form_counts_what_all_inputs_show"],
}

# A proof that is run by something else than `refute`.
EXECUTED = {"composition_depth": "[decomposition](../src/limen/adversary/strategies/decomposition.py)"}


def text_of(kind: str, name: str) -> str:
    return beside(kind, name, "proof.md").read_text() if kind == "theorems" else docstring(kind, name)


def sources(kind: str, name: str) -> str:
    keys = list(dict.fromkeys(KEY.findall(text_of(kind, name))))
    return " ".join(f"[{key}]" for key in keys) or "ours"


def link(kind: str, name: str) -> str:
    file = f"{name}/proof.md" if kind == "theorems" else f"{name}.py"
    return f"[{name}](../src/limen/{kind}/{file})"


def theorems() -> str:
    """Theorem × (executable bound, executed proof, brute force, machine-checked)."""
    lines = [
        "| theorem | sources | executable bound | executed proof | brute force | machine-checked |",
        "|---|---|---|---|---|---|",
    ]
    for name in ids("theorems"):
        theorem = lookup("theorems", name, Theorem)
        counted = [test.split("::") for test in BRUTE_FORCE[name]]
        cells = [
            link("theorems", name),
            sources("theorems", name),
            _evaluated(name),
            "`refute`" if beside("theorems", name, "refute.py").is_file() else EXECUTED.get(name, "–"),
            ", ".join(f"[{i}](../tests/{file})" for i, (file, _) in enumerate(counted, 1)),
            f"[{len(theorem.formal)} of it](#{name}-in-coq)" if theorem.formal else str(how_proved(name)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _evaluated(name: str) -> str:
    """The kernel's function, which evaluates the inequality."""
    function = (THEOREMS | EXACT)[name]
    return f"[`{function.__name__}`](../src/{function.__module__.replace('.', '/')}.py)"


def statements() -> str:
    """What Coq has checked, statement by statement."""
    lines = []
    for name in ids("theorems"):
        parts = lookup("theorems", name, Theorem).formal
        if parts:
            lines += [f"#### {name} in Coq", ""]
            lines += [f"* [{part.theorem}](../proofs/{part.file}): {part.covers}" for part in parts]
            lines.append("")
    return "\n".join(lines).rstrip()


def constructions() -> str:
    lines = ["| construction | sources | what it does |", "|---|---|---|"]
    for name in ids("constructions"):
        says = summary("constructions", name).replace("|", "\\|")
        lines.append(f"| {link('constructions', name)} | {sources('constructions', name)} | {says} |")
    return "\n".join(lines)


def differences() -> str:
    """Every entry of `core/differences.py`."""
    lines = ["| source | place | it says | of | here |", "|---|---|---|---|---|"]
    for d in DIFFERENCES:
        tasks = ", ".join(d.tasks)
        cells = f"[{d.source}]", d.place, f"“{d.says}”", f"{tasks}; {d.stacks}", f"**{d.kind}**: {d.here}"
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def test_a_difference_quotes_few_words_and_speaks_of_what_there_is() -> None:
    for d in DIFFERENCES:
        assert len(d.says.split()) <= 10 and set(d.tasks) <= set(ids("tasks")) and d.stacks in STACKS


@pytest.mark.parametrize(
    "block", [theorems, statements, constructions, differences], ids=lambda f: f.__name__
)
def test_the_page_says_what_the_catalogue_has(block) -> None:  # type: ignore[no-untyped-def]
    found = re.search(rf"<!-- {block.__name__} -->\n(.*?)\n<!-- end -->", PAGE.read_text(), re.S)
    assert found is not None and found.group(1) == block()


@pytest.mark.parametrize("name", ids("theorems"))
def test_what_is_counted_by_brute_force_is_a_test(name: str) -> None:
    for file, function in (test.split("::") for test in BRUTE_FORCE[name]):
        tree = ast.parse((ROOT / "tests" / file).read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", ids("theorems"))
def test_every_theorem_has_a_section_and_is_proved_at_least_in_prose(name: str) -> None:
    assert re.search(rf"^### {name}$", PAGE.read_text(), re.M)
    assert how_proved(name) in {HowProved.CHECKED, HowProved.PROSE}
    assert formal_line(name).startswith(how_proved(name))
