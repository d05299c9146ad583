# Two commands do everything, each making what it needs: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv

ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif

.PHONY: demo test lint types unit compiled kernels fuzz load bench bench-scale bench-clusters bench-wide wheel test-wheel paper docs docs-fast test-floors clean

demo: $(VENV)/.plot ## look at random trees, in the terminal and as figures
	$(BIN)/sticktree demo

# Kernels are compiled first, on all cores: tests find most of them cached.
test: $(VENV)/.dev ## everything that continuous integration checks
	$(MAKE) -j2 lint types compiled
	$(MAKE) unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

compiled: $(VENV)/.dev
	$(BIN)/python -m sticktree.jit.ahead

kernels: $(VENV)/.dev ## the list of kernels that are compiled ahead, from what short fits call
	$(BIN)/python -m tests.support.kernels

# Each worker has a core to itself: what runs in it should not start threads of its own.
unit: export OMP_NUM_THREADS := 1
unit: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal

# Some of these cases are among the tests; `python -m tests.fuzz --help` says how to run one again.
fuzz: export OMP_NUM_THREADS := 1
fuzz: $(VENV)/.dev ## 11,000 damaged files and strange fits; half an hour
	$(BIN)/python -m tests.fuzz

load: $(VENV)/.dev ## many fits at once, on a cold cache, and one after the other; ten minutes
	$(BIN)/python -m tests.fuzz.load

# The data sets are not part of the project: export STICKTREE_DATA, a folder that has them.
bench: $(VENV)/.dev ## speed against peers in the same process
	$(BIN)/python -m benchmarks

bench-scale: $(VENV)/.dev ## the parallel sampler's targets, up to ten million rows; a quarter of an hour
	$(BIN)/python -m benchmarks scale

bench-clusters: $(VENV)/.dev ## clusters beside those of peers, and from 100 draws of a million rows
	$(BIN)/python -m benchmarks clusters

bench-wide: $(VENV)/.dev ## wide tables beside peers, their time and memory, and densities of rows held out
	$(BIN)/python -m benchmarks wide

# The kernels of this system and Python, compiled for a generic processor, are in the wheel.
wheel: $(VENV)/.dev ## a wheel that carries compiled kernels, in dist
	$(BIN)/python packaging/wheel.py --output dist

test-wheel: wheel ## install it into an empty environment, and see that nothing is compiled
	$(BIN)/python packaging/check_wheel.py dist/sticktree-*-none-*.whl

paper: $(VENV)/.paper ## the paper's tables and figures, beside every peer, in paper/results
	$(BIN)/sticktree reproduce all -o paper/results

docs: $(VENV)/.docs ## the documentation, in docs/_build/html; a warning is an error
	MPLBACKEND=agg $(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Links, formulas, docstrings and pages are checked; examples of the gallery are not run.
docs-fast: $(VENV)/.docs ## the documentation without its examples, in a minute; a warning is an error
	STICKTREE_DOCS=fast $(BIN)/python -m sphinx -q -W --keep-going -j 2 -b html docs docs/_build/fast

test-floors: ## the tests with the oldest dependencies that pyproject.toml admits
	$(PYTHON) -m venv $(VENV)-floors
	$(VENV)-floors/bin/python -m pip install --quiet --constraint floors.txt -e ".[test]" -e paper
	$(VENV)-floors/bin/python -m pytest

$(VENV)/.created:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'sticktree needs Python 3.11 or newer: make PYTHON=python3.12')"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Bytecode of what the demo imports is made when it does: that of all packages takes longer.
$(VENV)/.plot: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet --no-compile -e ".[plot]"
	@touch $@

$(VENV)/.paper: $(VENV)/.created pyproject.toml paper/pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[plot,data]" -e "paper[genie]"
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml paper/pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[test,lint]" -e paper
	@touch $@

$(VENV)/.docs: $(VENV)/.created pyproject.toml
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-floors build dist demo paper/results docs/_build docs/examples docs/api/generated docs/api/backreferences .pytest_cache .mypy_cache .ruff_cache
