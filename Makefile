# Every command of this repository. Each sets up what it needs: Python 3.11 or newer, make and the package index
# are enough. Where there is logic it lives in tools/, typed and linted like the rest.

.DEFAULT_GOAL := help
.PHONY: help setup check test-fast test demo bench crash docs lock

# PYTHON=... names another interpreter for the virtual environment; otherwise the first new enough one is taken.
PYTHON ?=
# JOBS=... test processes; crash and demo tests start many processes of their own, so two is right for two cores.
JOBS ?= 2
# ARGS=... is handed on to what the target runs.
ARGS ?=

BIN := .venv/bin

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

setup:  ## virtual environment with locked dependencies; repeated calls do nothing
	@PYTHON="$(PYTHON)" sh tools/python.sh tools/setup.py

check: setup  ## format, lint, types, import rules, style, generated pages
	@$(BIN)/python -m tools.check $(ARGS)

test-fast: setup  ## the tests that are fast and touch nothing outside themselves
	@$(BIN)/python -m pytest -m "not slow and not crash" $(ARGS)

test: setup  ## all tests
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

demo: setup  ## the main story: real work, killed again and again, then its evidence
	@$(BIN)/tenure demo $(ARGS)

bench: setup  ## measure this machine; figures and how they were made
	@$(BIN)/python -m bench.run $(ARGS)

crash: setup  ## the whole kill matrix with its report
	@$(BIN)/python -m tests.crash.matrix $(ARGS)

docs: setup  ## write the pages that are generated from the code
	@$(BIN)/python -m tools.docs $(ARGS)

lock:  ## renew the lock files from pyproject.toml
	@PYTHON="$(PYTHON)" sh tools/python.sh tools/lock.py $(ARGS)
