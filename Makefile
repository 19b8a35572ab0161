# The project's commands. Each that needs the environment sets it up first; a second call repeats no set-up.
.DEFAULT_GOAL := help
.PHONY: help setup run test test-slow lint format docs bench soak clean

# Two test processes, each with a Spark session of its own: one alone leaves a core idle half the time.
# Files are handed out in the order of conftest.py, the longest first.
PYTEST := .venv/bin/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

REPO ?= .
# Another repository has a state of its own, named after it: a state belongs to one repository.
IS_THIS := $(filter $(CURDIR),$(abspath $(REPO)))
STATE ?= $(or $(CODEANATOMY_STATE),.codeanatomy$(if $(IS_THIS),,-$(notdir $(abspath $(REPO)))))

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: ## create .venv with everything pinned: Python packages, Java, Node, Delta jars, scip-python, test corpora
	@.ci/setup

run: setup ## build the graph of the repository in this folder, or of REPO=path
	@.venv/bin/codeanatomy build "$(REPO)" --state "$(STATE)"

test: setup ## all quick tests, linter and type checker among them
	@$(PYTEST) -m "not slow"

test-slow: setup ## the tests that take minutes: killed processes, long builds, the UI in a browser
	@$(PYTEST) -m slow

lint: setup ## linter, formatter's check and type checker alone
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy

format: setup ## let ruff rewrite what it can
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

docs: setup ## regenerate docs/datasets.md, docs/graph.md, docs/graph.svg and the snapshot of Dagster's definitions
	@.venv/bin/python -m codeanatomy_assets.catalog_docs
	@.venv/bin/python -m codeanatomy_assets.graph_docs
	@.venv/bin/python -m codeanatomy_assets_tests.orchestration.definitions_snapshot

bench: setup ## every benchmark, then the performance report over real packages, resumable; benchmarks/results
	@.venv/bin/python -m benchmarks

soak: setup ## the long proofs, hours, resumable: the waves, parity of every dataset, a hundred updates, killed builds
	@.venv/bin/python -m codeanatomy_assets_tests.parity.scip_soak
	@.venv/bin/python -m codeanatomy_assets_tests.parity.state_soak
	@.venv/bin/python -m codeanatomy_assets_tests.parity.long_history
	@.venv/bin/python -m codeanatomy_assets_tests.crashes.matrix

clean: ## remove .venv and the tools' caches; built graphs (.codeanatomy) stay
	rm -rf .venv *.egg-info .pytest_cache .ruff_cache .mypy_cache spark-warehouse
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
