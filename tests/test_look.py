"""`limen look`: what a construction answers to an input that is typed, and where it looks."""

import numpy as np
import pytest
from fixtures.cli import limen

import limen as package
from limen.errors import BadInput


def test_it_answers_the_typed_input_and_its_weights_are_averages() -> None:
    seen = package.look("eva(n=4)", "1 0 3 2 | 2")
    assert (seen.tokens, seen.right, seen.given, seen.correct) == ((1, 0, 3, 2, 2), "3", "3", True)
    (head,) = seen.maps
    weights = np.array(head.weights)
    assert weights.shape == (5, 5) and np.allclose(weights.sum(1), 1)
    assert weights[-1].argmax() == 2 and "layer 1, head 1: 2 (3) 1.00" in "\n".join(_lines(seen))


def _lines(report: object) -> list[str]:
    from limen.render.look import lines_of

    return lines_of(report)  # type: ignore[arg-type]


def test_what_it_writes_itself_is_drawn_and_no_part_of_the_input() -> None:
    seen = package.look("cgram(n=8)", by="chain_of_thought")
    n = len(seen.tokens) + len(seen.thoughts)
    assert seen.thoughts and seen.correct and all(len(one.weights) == n for one in seen.maps)
    again = package.look("cgram(n=8)", " ".join(map(str, seen.tokens)), by="chain_of_thought")
    assert again == seen


def test_a_recurrence_has_no_weights_to_show_and_says_so() -> None:
    seen = package.look("dyck(n=8,k=2,D=2)", by="gated_delta")
    assert seen.maps == () and "no layer of it is softmax attention" in _lines(seen)[-1]


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("1 0 9 2 2", "outside 0..3"),
        ("1 0", "shape"),
        ("1 -2 3", "token ids"),
        ("", "token ids"),
        ("9" * 40, "token ids"),
    ],
)
def test_an_input_that_is_none_is_one_line(typed: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        package.look("eva(n=4)", typed)


def test_too_many_tokens_to_show_are_refused_before_anything_runs() -> None:
    run = limen("look", "eva(n=4096)")
    assert run.returncode == 2 and run.stderr.startswith("limen: a picture shows at most 96 tokens")
