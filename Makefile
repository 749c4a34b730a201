# make demo | test | test-all | lint | docs | check-docs | bench | sanitize | wasm | check-wasm | clean. PYTHON chooses the interpreter that makes .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt constraints.txt $(wildcard native/*/*)

# The interpreter is not built with ASan, so its library must be loaded first, without leak checks.
SANITIZED := build/sanitize
SANITIZE_ENV = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=1 \
	UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc CUDA_VISIBLE_DEVICES=

.PHONY: demo test test-all lint docs check-docs bench sanitize wasm check-wasm clean

# One stamp per set of extras, each of which includes those of the demo. The install is editable, so
# only changes of the build need a new one.
$(VENV)/.demo-stamp: EXTRAS := lab
$(VENV)/.test-stamp: EXTRAS := test,lint
$(VENV)/.docs-stamp: EXTRAS := test,docs
$(VENV)/.%-stamp: $(SOURCES)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@touch $@ $(VENV)/.demo-stamp

# The quick suite; `test-all` adds the tests marked `full`.
test: lint
	$(BIN)/python -m pytest -n auto -m "not full"

test-all: test
	$(BIN)/python -m pytest -n auto -m full

lint: $(VENV)/.test-stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

demo: $(VENV)/.demo-stamp
	$(BIN)/python examples/demo.py

docs: $(VENV)/.docs-stamp
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Opens every page in a browser, from disk: no errors, requests or broken links.
check-docs: docs
	$(BIN)/python docs/check_site.py docs/_build/html

bench: $(VENV)/.test-stamp
	$(BIN)/python benchmarks/solver.py

# A separate environment that shares all packages except sparsewood.
$(SANITIZED)/.stamp: $(VENV)/.test-stamp
	$(BIN)/python -m venv --without-pip --clear $(SANITIZED)
	$(BIN)/python -c 'import site; print(site.getsitepackages()[0])' \
		> "$$($(SANITIZED)/bin/python -c 'import site; print(site.getsitepackages()[0])')/borrowed.pth"
	$(BIN)/python -m pip --python $(SANITIZED)/bin/python install --quiet --no-deps \
		--config-settings cmake.define.SPARSEWOOD_SANITIZE=ON \
		--config-settings build-dir=$(SANITIZED)/objects .
	@touch $@

# The structure and inference tests, and the fuzzer, on the native code under ASan and UBSan.
sanitize: $(SANITIZED)/.stamp
	$(SANITIZE_ENV) $(SANITIZED)/bin/python -m pytest -n auto -p no:cacheprovider \
		tests/structures tests/inference tests/fuzz

# The core for browsers: a build product in the repository, which depends only on the core.
$(VENV)/.zig-stamp: constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt ziglang
	@touch $@

wasm: $(VENV)/.zig-stamp
	$(BIN)/python native/web/build_wasm.py

check-wasm: $(VENV)/.zig-stamp
	$(BIN)/python native/web/build_wasm.py --check

clean:
	rm -rf $(VENV) build dist demo docs/_build docs/gallery
