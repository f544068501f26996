# Two commands do everything: `make run` and `make test`. Both install what they need into .venv, once.
PYTHON ?= python3
BIN := .venv/bin
export OMP_NUM_THREADS = 1

run: .venv/installed  ## the main job
	$(BIN)/limen list
	$(BIN)/limen decide "eva(n=488)" "linear(h=1,d=16,p=16)"
	$(BIN)/limen depth "12*(3*gated_delta(h=16,d=128),softmax(h=16,d=256))"
	$(BIN)/limen protocol "composition(m=4,n1=2)" "linear(h=1,d=2),softmax(h=1,d=2)"
	$(BIN)/limen show "composition(m=4,n1=2)" --hard
	$(BIN)/limen show "12*(3*gated_delta(h=16,d=128),softmax(h=16,d=256))" --tokens 131072
	$(BIN)/limen solve "composition(m=2,n1=2)" --by "stack(stack=LFF)" --precision bf16
	$(BIN)/limen solve "two_sum(n=1024,M=2^20)" --precision bf16
	$(BIN)/python examples/eva_by_hand.py

test: .venv/installed  ## lint, types, import rules, laws
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell src tests docs examples README.md
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 -m "not alone"
	$(BIN)/pytest -m alone tests

fix: .venv/installed  ## what a tool can repair
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/installed  ## the speeds that docs/ quotes, side by side
	$(BIN)/python benchmarks/mixers.py
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/constructions.py
	$(BIN)/python benchmarks/decompositions.py

# Reinstalled only when what is to be installed has changed. Torch comes first and pinned: any looser
# requirement would fetch gigabytes of GPU packages.
.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m compileall -q src
	touch $@

.PHONY: run test fix bench
