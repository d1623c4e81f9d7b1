# `make` alone lists the targets. Python and Go are all that they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Test files run so many at a time, each on a Kubernetes of its own (about 700 MB).
JOBS ?= 2
# The fault suite's waits (and the operator's timeouts with them), in parts of what docs/faults.md says.
SCALE ?= 0.1
export PYTHONPATH := operator:tests
FAULTS := $(BIN)/pytest tests/faults --timeout 1500 --numprocesses $(JOBS) --dist loadfile --time-scale $(SCALE)

.DEFAULT_GOAL := help
.PHONY: help check format golden test figures unit demo cluster-up cluster-down programs constraints clean sequence
.PHONY: simulate simulate-proof bench bench-quick mutants conflict-lab semantics faults faults-proof faults-ci replay docker-engine image manifests kind-up kind-down kind-demo kind-test

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "making the environment in $(VENV) (from pyproject.toml and constraints.txt)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

check: $(VENV)/.ready ## formatting, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests/conftest.py tests/unit tests/integration tests/kind tests/faults
	$(BIN)/lint-imports

format: $(VENV)/.ready ## format the code, sort its imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: $(VENV)/.ready ## the tests that need no Kubernetes
	$(BIN)/pytest tests/unit

golden: $(VENV)/.ready ## write the golden files anew, for `git diff` to judge
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/unit/test_children.py -k golden

test: $(VENV)/.ready programs ## pure parts, a real API server, the quick ones of the fault suite
	$(BIN)/pytest --numprocesses $(JOBS) --dist loadfile -m "not semantics and not large"
	$(FAULTS) -m quick
	$(BIN)/python -m simulation --seeds 400 --floor 3

semantics: $(VENV)/.ready programs ## what the API server does with versions, watches and concurrent writes; large objects
	$(BIN)/pytest tests/integration --numprocesses $(JOBS) --dist loadfile -m "semantics or large"

faults: $(VENV)/.ready programs ## all faults; ONLY=words chooses, SCALE=1 waits as long as the table says; docs/faults.md
	$(FAULTS) $(if $(ONLY),-k "$(ONLY)") --results .faults/survived.json
	$(BIN)/python -m faults.render

faults-proof: $(VENV)/.ready programs ## all faults on operators broken on purpose: each must be caught; docs/faults.md
	$(FAULTS) $(if $(ONLY),-k "$(ONLY)") --prove --results .faults/proved.json
	$(BIN)/python -m faults.render

faults-ci: $(VENV)/.ready programs ## what .ci/run tries of them: about ten minutes
	$(FAULTS) -m "ci and not quick"

replay: $(VENV)/.ready programs ## play the script of a failed run again: SCRIPT=.faults/NAME/script.json ORACLES=O1,O3
	$(BIN)/python -m faults.replay $(SCRIPT) $(if $(ORACLES),--oracles $(ORACLES)) $(if $(RESYNC),--resync) --time-scale $(SCALE)

mutants: $(VENV)/.ready ## small changes to the kernel, one at a time: each must be noticed by a test; ONLY=words chooses
	$(BIN)/python -m mutation $(ONLY)

simulate: $(VENV)/.ready ## a minute of random scripts in virtual time; SECONDS=600, SEEDS=n, SEED=n or SCRIPT=file; docs/simulation.md
	$(BIN)/python -m simulation $(if $(SEED),--seed $(SEED)) $(if $(SCRIPT),--script $(SCRIPT)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEEDS),--seeds $(SEEDS))

simulate-proof: $(VENV)/.ready ## operators with known defects: how many seeds until each is found; ONLY="K1 K33"; docs/simulation.md
	$(BIN)/python -m simulation.prove $(ONLY)

conflict-lab: $(VENV)/.ready programs ## what is lost when many write to one object, by each way of writing; docs/conflicts.md
	$(BIN)/python -m conflict_lab

bench: $(VENV)/.ready programs ## hours: beside what users would pick instead; BENCH="--only B6 --rounds 1"; docs/benchmarks.md
	$(BIN)/python -m bench $(BENCH)

bench-quick: $(VENV)/.ready programs ## what a change of the loop did, in two minutes: 50 WebApps, beside the bare writer
	$(BIN)/python -m bench --quick

figures: $(VENV)/.ready programs ## what things cost, in requests, measured now
	$(BIN)/pytest --capture=no --quiet tests/integration/test_requests.py tests/integration/test_restart.py

programs: $(VENV)/.ready ## find, download or build what the throwaway Kubernetes consists of
	@$(BIN)/python -m cluster programs

cluster-up: $(VENV)/.ready ## start a throwaway Kubernetes and leave it running
	@$(BIN)/python -m cluster up

cluster-down: $(VENV)/.ready ## stop it again
	@$(BIN)/python -m cluster down

demo: $(VENV)/.ready ## a Kubernetes, the operator and a WebApp, in one command
	@$(BIN)/python -m cluster.demo

sequence: $(VENV)/.ready ## docs/sequence.md anew: from kubectl apply to Ready, drawn from an audit log
	@$(BIN)/python -m cluster.sequence_page

image: $(VENV)/.ready ## the operator's image, in Docker
	@$(BIN)/python -m cluster.kind image

manifests: $(VENV)/.ready ## render manifests/coxswain.yaml anew
	@$(BIN)/python -m cluster.render

docker-engine: $(VENV)/.ready ## a running Docker engine: on Debian, as root, one is installed and started
	@$(BIN)/python -m cluster.kind engine

kind-up: $(VENV)/.ready ## a kind cluster of three nodes, left running
	@$(BIN)/python -m cluster.kind up

kind-down: $(VENV)/.ready ## delete it
	@$(BIN)/python -m cluster.kind down

kind-demo: $(VENV)/.ready ## the operator's image and the samples on that cluster
	@$(BIN)/python -m kind.demo

kind-test: $(VENV)/.ready ## the operator as users install it, on real nodes: rollouts, drains, crashes
	$(BIN)/pytest tests/kind

constraints: $(VENV)/.ready ## pin what is installed now
	@{ head -n 1 constraints.txt; $(BIN)/pip freeze --exclude-editable; } > $(VENV)/constraints.txt
	@mv $(VENV)/constraints.txt constraints.txt

clean: ## remove the environment and the caches of the tools (not the per-user cache of programs)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
