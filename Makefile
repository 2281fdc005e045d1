# Every target makes .venv/ in this checkout when it is missing or old, and uses nothing but it.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip --disable-pip-version-check
ARGS   ?=

LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --no-header --annotation-style line $(UPGRADE)
LEFT_OUT := torch llama-cpp-python llm

.DEFAULT_GOAL := help
.PHONY: help venv demo test check bench bench-repair bench-decisions bench-router bench-policy bench-agent bench-memory bench-startup bench-verifier audit soak lock completions docs picture dist models-table clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "acr needs Python 3.11, 3.12 or 3.13; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	$(PIP) install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

venv: $(STAMP)  ## the environment alone

demo: $(STAMP)  ## acr finds and fixes a failing test, without any key
	tests/demo/run.sh

test: $(STAMP)  ## every test that this machine can run; more pytest options in ARGS
	$(BIN)/python -m pytest $(ARGS)

check: $(STAMP)  ## style, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

bench: bench-repair bench-decisions  ## every benchmark

bench-repair: $(STAMP)  ## how many small defects builtin/repair fixes, and how fast; more options in ARGS
	$(BIN)/python -m tests.benchmarks.repair $(ARGS)

bench-decisions: $(STAMP)  ## milliseconds of a decision with 20,000 outcomes in memory; more options in ARGS
	$(BIN)/python -m tests.benchmarks.decisions $(ARGS)

bench-agent: $(STAMP)  ## acr beside aider and mini-swe-agent, and the repo map; more options in ARGS
	$(BIN)/python -m tests.benchmarks.agent $(ARGS)

bench-memory: $(STAMP)  ## memory under load, kills and faults, and at size; more options in ARGS
	$(BIN)/python -m tests.benchmarks.memory $(ARGS)

bench-router: $(STAMP)  ## every policy on the matrices in the folder ACR_MATRICES; more options in ARGS
	$(BIN)/python -m tests.benchmarks.router $(ARGS)

bench-startup: $(STAMP)  ## how fast acr starts, beside Typer, llm, mini and aider; more options in ARGS
	$(BIN)/python -m tests.benchmarks.startup $(ARGS)

bench-verifier: $(STAMP)  ## every patch that cheats, breaks or hangs, in every language, and what a verdict costs; more options in ARGS
	$(BIN)/python -m tests.benchmarks.verifier $(ARGS)

bench-policy: $(STAMP)  ## policy models trained on train and tried on test of ACR_MATRICES; needs torch and requirements/local.txt
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(BIN)/python -m tests.benchmarks.policy $(ARGS)

audit: $(STAMP)  ## vulnerabilities and licences of what is locked; a package that is skipped is a failure
	$(PIP) install --quiet --require-hashes -r requirements/tools.txt
	$(BIN)/pip-audit --strict --require-hashes --disable-pip \
	  $(patsubst %,--requirement requirements/%.txt,dev local tools)
	$(BIN)/python -m tests.benchmarks.audit

soak: $(STAMP)  ## faults thrown at runs, and walls taken down, for minutes; --minutes N, --seed N in ARGS
	$(BIN)/python -m tests.benchmarks.soak $(ARGS)

lock: $(STAMP)  ## the locks anew from pyproject.toml; UPGRADE=--upgrade takes the newest versions
	$(PIP) install --quiet --require-hashes -r requirements/tools.txt
	$(LOCK) --group dev --extra bench -o requirements/dev.txt >/dev/null
	$(LOCK) --extra local --group realmodel --constraint requirements/dev.txt \
	  --override requirements/left-out.txt $(LEFT_OUT:%=--no-emit-package %) -o requirements/local.txt >/dev/null
	$(subst pyproject.toml,,$(LOCK)) --group tools --constraint requirements/dev.txt \
	  -o requirements/tools.txt >/dev/null

completions: $(STAMP)  ## completions/ anew from the commands
	$(BIN)/acr completion bash > completions/acr.bash
	$(BIN)/acr completion zsh > completions/_acr
	$(BIN)/acr completion fish > completions/acr.fish

docs: $(STAMP)  ## the pages of docs/ that are made from the code
	$(BIN)/python -m acr_cli.cli.reference docs

picture: $(STAMP)  ## docs/run.svg anew, from a real run of acr fix
	$(BIN)/python -m tests.demo.picture docs/run.svg

dist: $(STAMP)  ## wheel and sdist in dist/: the same bytes from the same sources
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 1700000000)} \
	  $(BIN)/python -m build --no-isolation --outdir dist .

models-table: $(STAMP)  ## the table of current models anew from the installed litellm
	$(BIN)/python -m acr_cli.models.known

clean:  ## everything that these targets made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
