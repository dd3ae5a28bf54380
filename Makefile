# Every target sets up what it needs first; a second run starts at once. Pass options on with ARGS="…".
PYTHON ?= $(shell command -v python3.11 || command -v python3)
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help serve test check fix bench judges clients setup lock clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

serve:  ## Serve the demo model on http://127.0.0.1:8000 (ARGS="path/to/model.gguf --port 9000")
	@$(PYTHON) scripts/setup.py serve
	@exec .venv/bin/dragoman serve $(ARGS)

test: setup  ## Run all tests (ARGS="tests/unit -k prefix")
	@scripts/test $(ARGS)

check: setup  ## Format, lint, types, import arrows, sizes, locks, generated docs
	@scripts/check

fix: setup  ## Format, mend what the linter can mend, write generated docs again
	@scripts/fix

bench: setup  ## Measure against other servers (ARGS="--help" for choices)
	@.venv/bin/python -m bench $(ARGS)

judges: setup  ## Hold the demo model's server against others' suites (ARGS="lm_eval" for one)
	@PYTHONPATH=scripts .venv/bin/python scripts/judges/run.py $(ARGS)

clients: setup  ## Let programs of others talk to the server (ARGS="codex claude_code" for heavier ones)
	@PYTHONPATH=scripts .venv/bin/python -m clients $(ARGS)

setup:  ## Make .venv ready for all of the above
	@$(PYTHON) scripts/setup.py dev

lock:  ## Resolve the dependencies again (ARGS="--upgrade" for newer ones)
	@scripts/lock $(ARGS)

clean:  ## Remove .venv and caches; built llama.cpp wheels stay in the user's cache
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .coverage.* build dist
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
