"""One thread a process; hypothesis without a deadline, since the machine is shared."""

import os
from collections import Counter
from pathlib import Path

import hypothesis
import jaxtyping
import pytest
import torch
from fixtures import languages, probing
from fixtures.collected import MARKS

from limen.tables.cell import EvidenceTable

_ROWS = ("full", "linear", "log_linear", "block_sparse", "hybrid", "encoder", "full_1", "retrieval")
_COLUMNS = ("eva", "two_sum", "composition", "dyck", "equality")

_LONGEST = (
    "kernel_weights", "kernel_shares", "table", "construction_laws", "docs", "audit_types", "kernel_memories",
    "truth_by_brute_force", "attacks_on_shares", "kernel_bounds", "reports", "ceilings_by_brute_force",
    "design", "depth", "mixer_laws", "proofs", "fool", "light", "kernel_worst", "kernel_long_texts", "tiers",
)  # fmt: skip

torch.set_num_threads(1)
hypothesis.settings.register_profile("limen", deadline=None, max_examples=25, print_blob=True)
hypothesis.settings.load_profile("limen")


@pytest.fixture(scope="session")
def whole() -> EvidenceTable:
    """The evidence table, built once for all tests: the papers' own and a few more; `make look` takes all."""
    from limen.tables.build import build

    return build() if os.environ.get("LIMEN_WHOLE") else build(_ROWS, _COLUMNS)


@pytest.fixture(scope="session")
def folder(whole: EvidenceTable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as `limen table` writes it."""
    from limen.commands._baked import answers_of, asked_beside
    from limen.page.assemble import one_file
    from limen.page.start import SMALL, start
    from limen.tables.build import write

    out = tmp_path_factory.mktemp("table") / "report"
    stacks = SMALL["Linear"], SMALL["Hybrid 2 : 1"]
    answers = answers_of(whole.report) | asked_beside(whole.columns[:2], None, stacks)()
    shown = one_file(start(whole.rows, whole.columns, whole.columns[:2], ["Small stacks"]), answers)
    write(whole, out, {"report.html": shown, "report.json": whole.to_json().encode()})
    return out


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a tiny random Llama; no test writes into it."""
    return languages.llama(tmp_path_factory.mktemp("llama"))


@pytest.fixture(scope="session")
def factories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose functions make models that are broken, each in its own way."""
    path = tmp_path_factory.mktemp("own") / "models.py"
    path.write_text(probing.FACTORIES)
    return path


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Shapes are checked in the tests marked so: together they call all that is annotated, and few times.

    Everywhere else a check would cost three times as much as the operation that it checks.
    """
    jaxtyping.config.update("jaxtyping_disable", item.get_closest_marker("shapes") is None)


@pytest.hookimpl(tryfirst=True)  # before `-m` deselects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(k)` every k-th case is in `make test`; the others are `long`.

    A file is one worker's (`--dist loadfile`): the longest begin first, so that none is waited for.
    """
    cases: Counter[str] = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        test = item.nodeid.partition("[")[0]
        if sampled and cases[test] % sampled.args[0]:
            item.add_marker("long")
        cases[test] += 1
    config.stash[MARKS] = {item.nodeid: [mark.name for mark in item.iter_markers()] for item in items}
    order = {f"test_{name}.py": i for i, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
