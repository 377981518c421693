# Two commands do everything on a machine with Python 3.11+, pip and make:  make demo  and  make test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUR_PACKAGES := -e core -e plugins/memory_core -e plugins/embed_providers -e plugins/memory_lancedb -e .
TOOLS := "build>=1.2" "hatchling>=1.27" "hypothesis>=6.100" "mypy>=1.15" "pytest>=8.3" "pytest-timeout>=2.3" "ruff>=0.9"

.PHONY: help demo test test-local lint format docs bench clean

help:
	@echo "make demo        set up, then show a host with a memory in its slot"
	@echo "make test        set up, then run every test that needs nothing compiled"
	@echo "make test-local  the tests that need llama.cpp compiled"
	@echo "make lint        ruff and mypy"
	@echo "make format      let ruff rewrite the code"
	@echo "make docs        write the generated docs and schemas anew"
	@echo "make bench       measure, as ratios"

# What is needed to run memslot: the host and its default plugins, from this checkout.
$(VENV)/.ready: pyproject.toml core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memslot needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e core -e plugins/memory_core -e plugins/embed_providers -e .
	@touch $@

# What is needed to work on it: also the plugins of the extras, and the tools.
$(VENV)/.ready-dev: $(VENV)/.ready Makefile
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(OUR_PACKAGES) $(TOOLS)
	@touch $@

demo: $(VENV)/.ready
	@PATH="$(abspath $(BIN)):$$PATH" sh examples/demo.sh

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest

test-local:
	@echo "No test needs llama.cpp compiled yet: nothing to do."

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.ready-dev
	$(BIN)/python docs/generate.py

bench: $(VENV)/.ready-dev
	$(BIN)/python benchmarks/startup.py

clean:
	rm -rf $(VENV) .build .mypy_cache .ruff_cache .pytest_cache .hypothesis
