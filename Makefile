# Everything on a fresh machine with Python >= 3.11 and make: virtual environment, pinned install, run.
PYTHON ?= python3
VENV ?= .venv
# Where pip finds a CPU build of torch, which `make test` installs (see docs/installation.md).
TORCH_INDEX ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

.PHONY: help demo test test-slow lint types imports docs bench browser clean

help:
	@echo "make demo       gauge ten known memories and write runs/demo/report.html (about a minute after the install)"
	@echo "make test       lint, types, import rules, docs, tests"
	@echo "make test-slow  the tests that take minutes"
	@echo "make bench      benchmarks, as ratios against the plain versions"
	@echo "make docs       build the documentation into site/"

# The stamps are removed first and touched last, so that an install that was killed is done again.
$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "memgauge needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	@rm -f $@
	@echo "installing memgauge into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core requirements/dev.txt requirements/no-deps.txt
	@rm -f $@
	@echo "installing what the tests need into $(VENV)"
	@$(PIP) -e '.[models,histories,rollouts,backbones,inspect]' -r requirements/dev.txt
	@$(PIP) --no-deps -r requirements/no-deps.txt
	@touch $@

demo: $(VENV)/.core
	@$(BIN)/memgauge demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

imports: $(VENV)/.dev
	$(BIN)/lint-imports

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The page of the report is tested in a real browser. As root on Debian it is installed; elsewhere the tests say that
# they were skipped, unless MEMGAUGE_REQUIRE_BROWSER is set.
browser:
	@if [ -z "$(CHROMIUM)" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing chromium"; apt-get update -qq >/dev/null && apt-get install -y -qq chromium fonts-dejavu-core >/dev/null; \
	  else echo "no chromium found: the browser tests will be skipped"; fi; fi

test: $(VENV)/.dev browser lint types imports docs
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow"

test-slow: $(VENV)/.dev browser
	$(BIN)/pytest -n 2 --dist worksteal -m slow

bench: $(VENV)/.dev
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
