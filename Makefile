# Two commands do everything on a machine with Python 3.11 or later and make: `make run` and `make test`.
# Needs no GPU, no Graphviz, no torch. A second run finds the environment ready and starts at once.

PYTHON ?= python3
VENV := .venv
TORCH_VENV := .venv-torch
# Of its own: where CuPy is installed, cuda is the GPU, and `make test` expects it emulated.
GPU_VENV := .venv-gpu
BIN := $(VENV)/bin
# Where pip finds torch is pip's own configuration (PIP_INDEX_URL and friends); a CPU build is all that is needed. On the
# registry of most machines it is a build with CUDA, which works without a GPU.
TORCH := torch==2.14.1
MODEL := $(patsubst torch==%,%,$(TORCH))
CUDA ?= 12
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile

# The release before the model's, a part of whose tests `make conformance` runs, in an environment of its own.
OTHER := 2.13.0
OTHER_VENV := .venv-torch-other
OTHER_TESTS := tests/live/test_quiet.py tests/live/test_installed_registrations.py tests/live/test_installed_torch.py \
  tests/live/test_other_releases.py tests/live/test_release_differences.py tests/live/test_live_views.py \
  tests/live/test_snapshots.py

# Releases of which `make test-releases` only compares the stored registrations.
STORED := 2.7.1 2.11.0
STORED_VENVS := $(STORED:%=.venv-releases-%)
STORED_TESTS := tests/live/test_past_releases.py

# All releases that `make test-releases` records, each in an environment of its own, and what it runs there.
RELEASES := 2.6.0 2.8.0 2.9.0 2.10.0 2.12.1 $(OTHER) $(MODEL)
RELEASES_TESTS := $(OTHER_TESTS) $(STORED_TESTS) tests/live/test_import_of_pytorch.py tests/live/test_stack_live.py
RELEASE_VENVS := $(RELEASES:%=.venv-releases-%)

# The Pythons that `make bounds` tries; those that a machine does not have are skipped.
PYTHONS ?= python3.11 python3.12 python3.13
BOUNDS_TESTS := tests/core tests/outputs tests/cli tests/tui tests/running/test_recording.py tests/test_imports.py

# What the code that a build generates follows from: an install generates it again when one of these has changed.
GENERATOR := hatch_build.py $(wildcard dispatchviz/core/codegen/*.py) $(wildcard dispatchviz/core/native/*.yaml)

.PHONY: run quick test docs bounds conformance conformance-model conformance-other test-releases check-release thorough gpu lint types format generate bench build release clean help

help:
	@echo "make run          opens the stepper on examples/forum.py (no terminal: prints its log)"
	@echo "make quick        under a minute: lint, types, import contract and the nearest tests of what changed since main"
	@echo "make test         lint, types, import contract, tests (of some folders a part in turn)"
	@echo "make docs         the documentation as a site: build/site/index.html"
	@echo "make bounds       a part of the tests with the lowest and the newest dependencies, on each of $(PYTHONS)"
	@echo "make conformance  the tests marked torch, live against $(TORCH), and those of the recorder against $(OTHER)"
	@echo "make test-releases  the tests of the recorder, live against PyTorch $(RELEASES); registrations also $(STORED)"
	@echo "make check-release RELEASE=$(MODEL)  dispatchviz check for all stored programs on that release"
	@echo "make thorough     test and conformance with two to three times as many random programs and samples"
	@echo "make gpu          tests and times with CuPy on this machine's GPU, written to docs/gpu.md (CUDA=13 for CUDA 13)"
	@echo "make gpu GPU_PYTHON=python3  the same in a Python that has CuPy; installs nothing"
	@echo "make generate     writes dispatchviz/core/generated again from the yaml files"
	@echo "make bench        all benchmarks beside PyTorch and HIPS autograd, written to docs/performance.md (an hour)"
	@echo "make release      builds the release, installs and tries it, and lists what remains for a person to do"

.DEFAULT_GOAL := help

run: $(VENV)/.installed
	@$(BIN)/dispatchviz run examples/forum.py

quick: $(VENV)/.installed-dev
	@$(BIN)/python -m scripts.quick

test: lint types
	$(BIN)/python -m pytest -q -n auto --dist worksteal --turns -m "not torch and not gpu"

bounds: $(VENV)/.installed-dev
	@PIP_INSTALL="$(PIP_INSTALL)" BIN=$(BIN) scripts/bounds.sh "$(PYTHONS)" $(BOUNDS_TESTS)

docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -q -W --keep-going -c docs/site -d build/doctrees . build/site
	@echo "open build/site/index.html"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/python -m scripts.plain_english

types: $(VENV)/.installed-dev
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Two targets, so that make installs one PyTorch while tests run on the other.
conformance: conformance-model conformance-other

conformance-model: $(TORCH_VENV)/.installed
	$(TORCH_VENV)/bin/python -m pytest -q -n auto --dist worksteal --turns -m "torch and not gpu"

conformance-other: $(OTHER_VENV)/.installed
	$(OTHER_VENV)/bin/python -m pytest -q -n 2 --dist worksteal --turns -m "torch and not gpu" $(OTHER_TESTS)

test-releases: $(RELEASE_VENVS:%=%/.installed) $(STORED_VENVS:%=%/.installed)
	@for venv in $(RELEASE_VENVS); do echo "$$venv"; \
	  DISPATCHVIZ_THOROUGH=1 $$venv/bin/python -m pytest -q -n auto --dist worksteal $(RELEASES_TESTS) || exit 1; done
	@for venv in $(STORED_VENVS); do echo "$$venv"; \
	  DISPATCHVIZ_THOROUGH=1 $$venv/bin/python -m pytest -q $(STORED_TESTS) || exit 1; done

RELEASE ?= $(MODEL)
check-release: .venv-releases-$(RELEASE)/.installed
	.venv-releases-$(RELEASE)/bin/python -m scripts.check_stored build/check-$(RELEASE)

thorough: export DISPATCHVIZ_THOROUGH := 1
thorough: test conformance

ifdef GPU_PYTHON
gpu:
	@$(GPU_PYTHON) -m scripts.gpu_report
else
gpu: $(GPU_VENV)/.installed
	@$(GPU_VENV)/bin/python -m scripts.gpu_report
endif

# Environments are ready then: an install would do no more.
generate: | $(VENV)/bin/python
	@$(BIN)/python -c 'import yaml, numpy' 2> /dev/null || $(MAKE) $(VENV)/.installed
	$(BIN)/python -m dispatchviz.core.codegen
	@for ready in $(VENV)/.installed $(VENV)/.installed-dev $(TORCH_VENV)/.installed \
	  $(OTHER_VENV)/.installed; do test ! -e $$ready || touch $$ready; done

bench: $(TORCH_VENV)/.installed
	$(TORCH_VENV)/bin/python $(PIP_INSTALL) -e '.[bench]'
	$(TORCH_VENV)/bin/python -m benchmarks --keep

build: $(VENV)/.installed-dev
	$(BIN)/python $(PIP_INSTALL) build
	$(BIN)/python -m build

release: $(VENV)/.installed-dev
	$(BIN)/python $(PIP_INSTALL) -e '.[release]'
	@$(BIN)/python -m scripts.release

clean:
	rm -rf $(VENV) $(TORCH_VENV) $(OTHER_VENV) $(GPU_VENV) .venv-bounds-* .venv-releases-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is " \
	  + sys.version.split()[0] + "; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml $(GENERATOR) | $(VENV)/bin/python
	@echo "installing dispatchviz into $(VENV) (once)"
	$(BIN)/python $(PIP_INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(GENERATOR) | $(VENV)/bin/python
	@echo "installing dispatchviz and its checks into $(VENV) (once)"
	$(BIN)/python $(PIP_INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.installed

$(TORCH_VENV)/.installed: pyproject.toml $(GENERATOR)
	@echo "installing $(TORCH) beside dispatchviz into $(TORCH_VENV) (once)"
	$(PYTHON) -m venv $(TORCH_VENV)
	$(TORCH_VENV)/bin/python $(PIP_INSTALL) -e '.[conformance]' $(TORCH)
	@touch $@

$(OTHER_VENV)/.installed: pyproject.toml $(GENERATOR)
	@echo "installing torch==$(OTHER) beside dispatchviz into $(OTHER_VENV) (once)"
	$(PYTHON) -m venv $(OTHER_VENV)
	$(OTHER_VENV)/bin/python $(PIP_INSTALL) -e '.[conformance]' torch==$(OTHER)
	@touch $@

.venv-releases-%/.installed: pyproject.toml $(GENERATOR)
	@echo "installing torch==$* beside dispatchviz into .venv-releases-$* (once)"
	$(PYTHON) -m venv .venv-releases-$*
	.venv-releases-$*/bin/python $(PIP_INSTALL) -e '.[conformance]' torch==$*
	@touch $@

$(GPU_VENV)/.installed: pyproject.toml $(GENERATOR)
	@echo "installing CuPy beside dispatchviz into $(GPU_VENV) (once)"
	$(PYTHON) -m venv $(GPU_VENV)
	$(GPU_VENV)/bin/python $(PIP_INSTALL) -e '.[test,cuda$(CUDA)]'
	@touch $@
