# make demo | test | lint | docs | bench | clean. PYTHON chooses the interpreter that makes .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt constraints.txt $(wildcard native/*.* native/families/*)

.PHONY: demo test lint docs bench clean

# One stamp per set of extras. The install is editable: only a change of the build needs another.
$(VENV)/.test-stamp: EXTRAS := test,lint
$(VENV)/.docs-stamp: EXTRAS := test,docs
$(VENV)/.%-stamp: $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@

test: lint
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.test-stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

demo: $(VENV)/.test-stamp
	$(BIN)/python examples/demo.py

docs: $(VENV)/.docs-stamp
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.test-stamp
	$(BIN)/python benchmarks/solver.py

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/gallery
