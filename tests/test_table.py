"""The evidence table: every cell's evidence is real, saved, checked, and wrong constants are errors."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from math import log2
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fixtures.cli import limen
from inequalities.block_labels import cosines

import limen.constructions._lookup as lookup_constants
from limen.commands.check import checked
from limen.constructions.counting_by_carry import CountingByCarry
from limen.core.architecture import Architecture
from limen.core.bits import Count
from limen.core.catalogue import lookup
from limen.core.certificate import Bound, Collision, Fits, Run, decode
from limen.core.task import Task
from limen.core.theorem import Theorem
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.mixers.softmax import Softmax
from limen.render.evidence import page_of
from limen.render.table import comma_separated, latex, lines_of, markdown
from limen.tables import evidence, formula, growth, weights
from limen.tables.build import build, write
from limen.tables.cell import EvidenceError, EvidenceTable
from limen.tables.formula import corrected
from limen.tables.papers import CLAIMS, Exempt, Fails
from limen.tables.rows import ROWS
from limen.tables.words import why
from limen.tables.workers import workers
from limen.tasks.eva import Eva
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.witness.collision import check_collision


def forget() -> None:
    """What a table keeps between its cells."""
    for kept in (evidence.test_of, formula._order, weights.ran, weights.right):
        kept.cache_clear()


def until(holds: Callable[[], bool]) -> None:
    """Looks again for some minutes, then fails."""
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never came to hold")


@pytest.mark.long
def test_every_cell_has_a_verdict_with_its_evidence(whole: EvidenceTable) -> None:
    assert len(whole.cells) == len(whole.rows) * len(whole.columns)
    for cell in whole.cells.values():
        kinds = [type(e.certificate) for e in cell.evidence]
        if cell.answer is Answer.CANNOT:
            assert kinds == [Bound, Collision], cell
        elif cell.answer is Answer.CAN:
            assert kinds[:3] == [Fits, Run, Run] and set(kinds[3:]) <= {Fits}, cell  # and a source's own head
        else:
            assert not kinds and cell.known, "an open cell says what is known"
        if cell.evidence:
            assert cell.statement and cell.why, cell
            assert cell.formula is not None, cell
            assert cell.formula.order, cell


@pytest.mark.long
def test_every_certificate_in_the_folder_is_accepted(whole: EvidenceTable, folder: Path) -> None:
    found = sorted(folder.glob("certificates/**/*.json"))
    certificates = [path for path in found if path.name != "model.json"]
    assert {str(path.relative_to(folder)) for path in certificates} == {
        e.file for cell in whole.cells.values() for e in cell.evidence
    }
    for path in certificates:
        assert checked(path, path.parent).valid, path


@pytest.mark.long
def test_every_claim_of_the_papers_is_confirmed_sharpened_or_corrected(whole: EvidenceTable) -> None:
    for (row, column), claim in CLAIMS.items():
        if (row, column) not in whole.cells:
            continue
        cell = whole[row, column]
        assert cell.answer is claim.answer
        if claim.order:
            assert cell.formula is not None and cell.formula.mark, (row, column)
    orders = {at: cell.formula.order for at, cell in whole.cells.items() if cell.formula}
    marks = {at: cell.formula.mark for at, cell in whole.cells.items() if cell.formula and cell.formula.mark}
    assert orders["linear", "eva"] == orders["linear", "two_sum"] == "Ω(n log n)"
    assert orders["block_sparse", "two_sum"] == "Ω(B log n)" and orders["full", "two_sum"] == "O(log n)"
    assert orders["log_linear", "eva"] == "Ω(n log n)" and marks["log_linear", "eva"] == "sharper"
    assert marks["linear", "two_sum"] == "corrected" and marks["hybrid", "composition"] == "confirmed"
    assert "M = O(n)" in whole["linear", "two_sum"].formula.note  # type: ignore[union-attr]
    assert marks["full", "two_sum"] == "corrected"
    assert "any pair" in whole["full", "two_sum"].formula.note  # type: ignore[union-attr]


@pytest.mark.long
def test_decide_says_of_every_cell_what_the_table_says(whole: EvidenceTable) -> None:
    for (row, _), cell in whole.cells.items():
        found = decide(Task.parse(cell.task), ROWS[row].architecture, ROWS[row].steps)
        believed = found.believed.name if found.believed else ""
        said = found.answer, bool(found.argued), believed
        assert said == (cell.answer, cell.argued, cell.believed), cell.task


@pytest.mark.long
def test_the_two_inputs_of_a_refutation_are_confused_and_differ(whole: EvidenceTable) -> None:
    for cell in whole.cells.values():
        for found in cell.evidence:
            if isinstance(found.certificate, Collision):
                assert check_collision(found.certificate, found.model) is None
                assert found.numbers["left_answer"] != found.numbers["right_answer"]


@pytest.mark.parametrize(
    ("ours", "papers", "mark"),
    [
        ("Ω(n log n)", "Ω(n)", "sharper"),
        ("Ω(n)", "Ω(n log n)", "weaker"),
        ("Ω(B log n)", "Ω(B log n)", "confirmed"),
        ("O(log n)", "O(log² n)", "sharper"),
        ("O(n)", "O(poly log n)", "weaker"),
        ("O(log² n)", "O(poly log n)", "confirmed"),
        ("Ω(n log n)", "Ω(poly n)", "confirmed"),
        ("Ω(log n)", "Ω(poly n)", "weaker"),
    ],
)
def test_an_order_is_compared_with_the_papers_in_both_directions(ours: str, papers: str, mark: str) -> None:
    assert growth.compared(ours, papers) == mark


def test_a_correction_is_computed_in_both_directions() -> None:
    """Corrected: cases that the claim rules out are done with fewer bits.  Not, if it asks for no more."""
    exempt = CLAIMS["linear", "two_sum"].exempt
    assert isinstance(exempt, Exempt)
    assert corrected("Ω(n log n)", exempt) and not corrected("Ω(n)", exempt)
    too_small = replace(exempt, stack=lambda k: f"relu_rnn(state_bits={2**k // 4})")
    with pytest.raises(EvidenceError, match="nothing shows it"):
        corrected("Ω(n log n)", too_small)


def test_a_claim_that_something_can_be_corrected_by_what_is_ruled_out_alone() -> None:
    """In the form of the slides, any pair, it is ruled out; where the last token asks it is not: an error."""
    fails = CLAIMS["full", "two_sum"].exempt
    assert isinstance(fails, Fails) and corrected("O(log n)", fails)
    with pytest.raises(EvidenceError, match="nothing shows it"):
        corrected("O(log n)", replace(fails, task=lambda k: f"two_sum(n=2^{k})"))


def test_orders_that_are_not_of_one_kind_are_not_compared() -> None:
    for ours, papers in (("Ω(n)", "O(n)"), ("Ω(n)", "Ω(B n)")):
        with pytest.raises(ValueError, match="cannot be compared"):
            growth.compared(ours, papers)


def test_orders_are_read_off_values() -> None:
    n = {float(k): 2**k for k in growth.LOWER}
    assert growth.grows_as(n) == "n"
    assert growth.grows_as({k: int(k) * v for k, v in n.items()}) == "n log n"
    assert growth.grows_as(dict.fromkeys(n, 7)) == "1"
    assert growth.grows_as({k: 3 * int(k) + 40 for k in n}) == "log n"
    assert growth.grows_no_faster_than({float(k): k * (k.bit_length() + 1) for k in growth.UPPER}) == "log² n"


def test_a_large_constant_hides_no_term_that_grows() -> None:
    """A layer of fixed size beside heads that grow: in short texts it is all that one sees."""
    assert growth.grows_no_faster_than({float(k): 10**4 + k * k for k in growth.UPPER}) == "log² n"
    assert growth.grows_no_faster_than({float(k): (64 + 2**k) * (14 + k) for k in growth.UPPER}) == "n log n"
    assert growth.grows_no_faster_than(dict.fromkeys(map(float, growth.UPPER), 7)) == "1"


def test_counting_by_a_hybrid_takes_heads_of_log_squared_bits() -> None:
    """Keys of ⌈log₂n⌉ + 1 numbers and log₂n + 3 bits each: the order of the cell, counted by hand."""
    cell = build(["hybrid"], ["counting"])["hybrid", "counting"]
    assert cell.answer is Answer.CAN and cell.formula is not None and cell.formula.order == "O(log² n)"
    for k in (4, 8, 12, 16, 20):
        way = CountingByCarry.within(Task.parse(f"counting(n=2^{k},S=2^{k})"), ROWS["hybrid"].architecture)
        keys = way.frame().architecture.layers[1].parts[0].mixer
        bits = growth._fewest_bits(way)
        assert isinstance(keys, Softmax) and keys.key_size == k + 1 and bits is not None
        assert k / 2 <= bits <= 2 * k + 4


def test_sparse_attention_needs_scores_of_so_many_bits_for_the_nearest_neighbour() -> None:
    """The fewest bits p that escape block_labels in long texts are min(B, log g) up to constants."""
    cell = build(["block_sparse"], ["nearest_neighbor"])["block_sparse", "nearest_neighbor"]
    assert cell.answer is Answer.CANNOT and cell.formula is not None
    assert cell.formula.order == "Ω(min(B, log g))" and cell.formula.source == "block_labels"
    for g, B in product((2, 8, 32, 128, 1000), (4, 8, 16, 32, 64, 256)):
        task = NearestNeighbor(2**40, 2, g)
        escapes = next(
            p for p in range(1, 99) if not _excluded(task, f"block_sparse(h=1,d=64,B={B},k=16,p={p})")
        )
        m = log2(cosines(task))
        assert min(B / 4, m - 1) <= escapes <= min(B / 2, m) + 1, (g, B)


def _excluded(task: Task, stack: str) -> bool:
    said = lookup("theorems", "block_labels", Theorem)().bound(task, Architecture.parse(stack))
    return isinstance(said, Bound) and said.excludes


def test_layer_wise_hybrids_repeat_the_ratio_of_their_name_twice() -> None:
    """Else what one of them cannot do would look like what its ratio cannot do."""
    named = [row for row in ROWS.values() if re.search(r"\d+:1$", row.name)]
    assert len(named) == 3
    for row in named:
        ratio = int(row.name.split()[-1].removesuffix(":1"))
        full = [layer.parts[0].full for layer in row.architecture.layers]
        assert full == 2 * [*ratio * [False], True], row.name


@pytest.mark.long
def test_every_cell_says_how_long_the_texts_are(whole: EvidenceTable, folder: Path) -> None:
    shown, answers = "\n".join(lines_of(whole.report, 200, colour=False)), baked(folder)
    for i, row in enumerate(whole.report.rows):
        for column, cell in zip(whole.columns, row.cells, strict=True):
            assert cell.tokens == Task.parse(cell.task).length
            drawn = answers[f'table {{"columns":["{column}"]}}']["report"]["rows"][i]
            assert (drawn["row"], drawn["cells"][0]["tokens"]) == (row.row, f"{cell.tokens:,} tokens")
    assert "678,515,321 tokens" in shown  # hybrid, L-SeqComp


def test_a_wrong_constant_of_a_construction_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores with the wrong sign: the right position gets the least weight."""
    forget()
    monkeypatch.setattr(lookup_constants, "contrast", lambda n: -lookup_constants.C)
    try:
        with pytest.raises(EvidenceError, match="eva_by_softmax"):
            build(["full"], ["eva"])
    finally:
        forget()


def test_a_wrong_constant_of_a_theorem_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """n^(t+1) prefixes that differ, where there are n^t: too many, as a count of them shows."""
    forget()
    monkeypatch.setattr(Eva, "rows", lambda self, t: Count(((self.n, t + 1),), "n^(t+1)"))
    try:
        with pytest.raises(EvidenceError, match=r"contradict|claimed|needs"):
            build(["linear"], ["eva"])
    finally:
        forget()


def test_a_claim_that_the_evidence_contradicts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = replace(CLAIMS["full_1", "index"], answer=Answer.CANNOT)
    monkeypatch.setitem(CLAIMS, ("full_1", "index"), claim)
    with pytest.raises(EvidenceError, match="the evidence says can"):
        build(["full_1"], ["index"])


@pytest.mark.long
def test_two_processes_make_the_same_table_as_one() -> None:
    asked = (["linear", "full_1"], ["equality", "two_sum"])
    alone = build(*asked)
    with workers(2) as pool:
        shared = build(*asked, pool=pool)
    assert list(alone.cells) == list(shared.cells)
    for at, cell in alone.cells.items():
        assert replace(shared[at], seconds=cell.seconds) == cell
        pairs = zip(cell.evidence, shared[at].evidence, strict=True)
        assert all(a.files == b.files for a, b in pairs), "equality leaves the weights out"


@pytest.mark.long
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_the_processes_of_a_table_end_with_the_command(tmp_path: Path, sent: signal.Signals) -> None:
    command = [sys.executable, "-m", "limen", "table", "--cores", "2", "--out", str(tmp_path / "out")]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=heard) as table:
        children = Path(f"/proc/{table.pid}/task/{table.pid}/children")
        until(lambda: len(children.read_text().split()) > 2)  # two, and the one that counts resources
        found = children.read_text().split()
        table.send_signal(sent)
    until(lambda: not any(Path(f"/proc/{child}").exists() for child in found))
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_an_error_while_writing_leaves_nothing(
    whole: EvidenceTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(sys.modules["limen.tables.build"], "model_files", full_disk)
    with pytest.raises(BadInput, match="no space"):
        write(whole, tmp_path / "report", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_json_has_the_fields_that_scripts_rely_on(whole: EvidenceTable) -> None:
    shown = json.loads(whole.to_json())
    for row in shown["rows"]:
        assert row["architecture"] == ROWS[row["row"]].text
        for cell in row["cells"]:
            assert {"task", "formula", "verdict", "evidence"} <= set(cell)
            assert Task.parse(cell["task"]).length > 0


@pytest.mark.long
@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_papers_get_their_formats(whole: EvidenceTable, form: str) -> None:
    forms = {"markdown": markdown, "latex": latex, "csv": comma_separated}
    text = forms[form](whole.report)
    assert "Linear + CoT" in text or form == "csv"
    assert len(text.splitlines()) >= len(whole.rows)
    assert "Omega(n \\log n)" in text if form == "latex" else "Ω(n log n)" in text


@pytest.mark.long
@pytest.mark.parametrize("width", [80, 200])
def test_the_terminal_table_keeps_to_its_width(whole: EvidenceTable, width: int) -> None:
    shown = lines_of(whole.report, width, colour=False)
    assert max(map(len, shown)) <= width
    assert any("Ω(n log n)" in line for line in shown)


@pytest.mark.long
def test_an_encoder_can_what_the_kernel_derives_of_it_and_runs_on_every_input(whole: EvidenceTable) -> None:
    for column in ("eva", "two_sum"):
        fits, every, *_drawn = (found.certificate for found in whole["encoder", column].evidence)
        assert isinstance(fits, Fits) and "bidirectional=true" in fits.architecture
        assert isinstance(every, Run) and every.exhaustive


def baked(folder: Path) -> dict[str, Any]:
    """The answers inside the page, by their questions."""
    page = (folder / "report.html").read_text()
    inside = re.search(r'<script type="application/json" id="answers">(.*?)</script>', page, re.S)
    assert inside is not None
    answers: dict[str, Any] = json.loads(inside[1])
    return answers


@pytest.mark.long
def test_the_page_fetches_nothing(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    own = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)[^\"]*\"", own)
    assert "@import" not in own and set(re.findall(r"url\((.{5})", own)) == {"data:"}
    assert "connect-src" not in page and "default-src 'none'" in page


@pytest.mark.long
def test_every_cell_has_its_evidence_and_its_certificates_inside(whole: EvidenceTable, folder: Path) -> None:
    answers = baked(folder)
    for column in whole.columns:
        answer = answers[f'table {{"columns":["{column}"]}}']
        assert [row["row"] for row in answer["report"]["rows"]] == list(whole.rows)
        for row in answer["report"]["rows"]:
            evidence = whole[row["row"], column].evidence
            assert [one["file"] for one in row["cells"][0]["evidence"]] == [one.file for one in evidence]
            for one in evidence:
                assert decode(answer["says"]["certificates"][one.file].encode()) == one.certificate


@pytest.mark.long
def test_a_panel_says_how_long_the_texts_of_training_were_beside_those_of_the_verdict(
    whole: EvidenceTable, folder: Path
) -> None:
    page, marks = (folder / "report.html").read_text(), [c.trained for c in whole.cells.values() if c.trained]
    assert marks and page.count('"Measured, not proved"') == len(marks)
    for mark in marks:
        assert f"on texts of {mark.tokens:,} tokens, and the verdict is about texts of" in page
        assert f"about texts of {mark.verdict_tokens:,} tokens: what is learned on short texts" in page
    for cell in whole.cells.values():
        assert cell.trained is None or cell.trained.verdict_tokens == Task.parse(cell.task).length


@pytest.mark.long
def test_a_table_is_shown_in_a_notebook(whole: EvidenceTable) -> None:
    import limen.api  # noqa: F401  (who returns tables to notebooks registers how they are drawn)

    shown = whole._repr_html_() or ""
    assert shown.count("<tr>") == 1 + len(whole.rows) and "Ω(n log n)" in shown


def test_a_proof_about_the_same_task_in_other_words_is_about_this_cell() -> None:
    """Certificates spell every size, cells those that are not defaults: recall(n=…,V=…,q=1)."""
    cell = build(["linear"], ["recall"])["linear", "recall"]
    assert cell.proof is not None and cell.proof.task != cell.task and cell.machine_checked


def test_why_ends_with_a_whole_sentence_where_there_is_one() -> None:
    """Eight cells of block_cut ended with "For each head Alice sends": the formula behind it is not shown."""
    said = why("theorems", "block_cut"), why("constructions", "dyck_by_relu_rnn")
    assert all(text.endswith(".") for text in said)


def test_the_command_that_the_page_copies_for_a_certificate_needs_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes the cell again, with the same certificates, and checks this one there."""
    made = build(["linear"], ["eva"])
    (row,) = page_of(made.report)["report"]["rows"]
    commands = [evidence["command"].split(" && ") for evidence in row["cells"][0]["evidence"]]
    assert len(commands) > 1
    monkeypatch.chdir(tmp_path)
    write(made, Path("limen-cell"), {})
    for makes, checks in commands:
        assert makes == "limen table --row linear --column eva --out limen-cell"  # what was done above
        assert limen(*checks.split()[1:]).returncode == 0, checks
    assert page_of(msgspec.structs.replace(made.report, full=True))["report"]["rows"][0]["cells"][0][
        "evidence"
    ][0]["command"].startswith("limen table --row linear --column eva --full --out limen-cell")
