# Two commands matter: `make demo` and `make test`. Both make their own .venv; nothing is installed anywhere else.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
CORE := $(wildcard csrc/*.c csrc/*.h)

.PHONY: demo test build lint types asan bench wheel clean
.DEFAULT_GOAL := build

# The venv stands when its stamp is newer than what defines it.
$(VENV)/.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "harmony_mem needs Python >= 3.11 (set PYTHON=...)"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) has no venv module (Debian: the package python3-venv)"; exit 1; }
	$(PY) -m pip install --quiet --disable-pip-version-check 'setuptools>=77' wheel 'cython>=3.1,<4' 'msgpack>=1.0.5'
	@touch $@

$(VENV)/.built: $(VENV)/.stamp setup.py harmony_mem/_core.pyx harmony_mem/chmem.pxd $(CORE)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

build: $(VENV)/.built

$(VENV)/.tested: $(VENV)/.built
	$(PY) -m pip install --quiet --disable-pip-version-check $$($(PY) tests/extras.py test)
	@touch $@

$(VENV)/.linted: $(VENV)/.built
	$(PY) -m pip install --quiet --disable-pip-version-check $$($(PY) tests/extras.py lint)
	@touch $@

# A 120-turn conversation through the sidecar under every memory. DATA=FILE plays a conversation of yours (docs/simulation.md).
demo: build
	$(PY) -m harmony_mem demo $(if $(DATA),--data '$(DATA)')

test: $(VENV)/.tested
	$(PY) -m pytest -m 'not slow'
	$(MAKE) --no-print-directory -C tests/c test CC='$(CC)'

lint: $(VENV)/.linted
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# The C tests and the Python suite again, under AddressSanitizer and UndefinedBehaviorSanitizer.
asan: $(VENV)/.tested
	$(MAKE) --no-print-directory -C tests/c asan CC='$(CC)'
	CC='$(CC)' tests/asan.sh $(PY)

bench: $(VENV)/.tested
	$(PY) -m pytest bench --benchmark-enable --benchmark-only --benchmark-columns=median,iqr,rounds
	$(PY) bench/table.py

wheel: $(VENV)/.stamp
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir dist .

clean:
	rm -rf build dist *.egg-info $(VENV) harmony_mem/_core.c harmony_mem/*.so
	$(MAKE) --no-print-directory -C tests/c clean
