# `make` prints the targets. They need Python and Go; those of kind need Docker.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The number of test files that run at a time: more than CPUs, because most of a test is waiting. Each starts its own
# Kubernetes, of about 700 MB.
JOBS ?= 3
# The files start in the given order. By default those with the most tests start first, and few tests may take longest.
PARALLEL := --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder
# The factor for the waits of the fault suite and the timeouts of its operator. 1 is as in docs/faults.md.
SCALE ?= 0.1
# The operator under test of the fault suite and of the simulation: webapp, or scheduled-task (operator/example).
WORKLOAD ?= webapp
export PYTHONPATH := operator:tests/harness:tests
FAULTS := $(BIN)/pytest tests/faults --timeout 1500 --numprocesses $(JOBS) --dist worksteal --time-scale $(SCALE) --workload $(WORKLOAD)
# Only results of WebApps are written to docs/faults.md.
IS_WEBAPP := $(filter webapp,$(WORKLOAD))

.DEFAULT_GOAL := help

$(VENV)/.ready: pyproject.toml constraints.txt
	@echo "making the environment in $(VENV) (from pyproject.toml and constraints.txt)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

# network-config-analyzer, in an environment of its own: it pins another PyYAML.
NCA := .nca
$(NCA)/.ready: tests/network/requirements.txt
	@echo "making the environment in $(NCA) (from tests/network/requirements.txt)"
	@$(PYTHON) -m venv $(NCA)
	@$(NCA)/bin/pip install --quiet --disable-pip-version-check --requirement tests/network/requirements.txt
	@touch $@

##@ Development

.PHONY: help
help: ## Print this list.
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make TARGET [VARIABLE=value]"} \
		/^##@ / {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-16s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: check
check: $(VENV)/.ready ## Check formatting, lint, types, import layers and the links of the docs.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy tests/conftest.py tests/unit tests/integration tests/gateway tests/kind tests/faults
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict

.PHONY: format
format: $(VENV)/.ready ## Format the code and sort its imports.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: dev
dev: $(VENV)/.ready ## Run the operator on a throwaway cluster, and restart it after each change. ARGS="--log-level debug"
	@$(BIN)/python -m demo.dev $(if $(ARGS),-- $(ARGS))

.PHONY: demo
demo: $(VENV)/.ready ## Show the operator and two WebApps on a throwaway cluster. ARGS=--gateway: get Contour and Envoy for a third
	@$(BIN)/python -m demo $(ARGS)

.PHONY: cluster-up
cluster-up: $(VENV)/.ready ## Start a throwaway cluster and leave it running.
	@$(BIN)/python -m cluster up

.PHONY: cluster-down
cluster-down: $(VENV)/.ready ## Stop that cluster and remove its data.
	@$(BIN)/python -m cluster down

.PHONY: programs
programs: $(VENV)/.ready ## Find, download or build the programs of the throwaway cluster.
	@$(BIN)/python -m cluster programs

.PHONY: image
image: $(VENV)/.ready ## Build the image of the operator with Docker.
	@$(BIN)/python -m cluster.kind image

.PHONY: manifests
manifests: $(VENV)/.ready ## Render manifests/coxswain.yaml.
	@$(BIN)/python -m demo.render

.PHONY: plugin
plugin: $(VENV)/.ready ## Build the kubectl plugin in dist/: a zipapp, an archive and a manifest for krew.
	@$(BIN)/python -m demo.plugin

.PHONY: constraints
constraints: $(VENV)/.ready ## Pin the installed packages in constraints.txt.
	@{ head -n 1 constraints.txt; $(BIN)/pip freeze --exclude-editable; } > $(VENV)/constraints.txt
	@mv $(VENV)/constraints.txt constraints.txt

.PHONY: clean
clean: ## Remove the environment, the caches of the tools and build/. The cache of programs stays.
	rm -rf $(VENV) $(NCA) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

##@ Tests

# Without cached bytecode each worker compiles all tests again, in 5 s. Some environments turn the cache off.
unit test slow: export PYTHONDONTWRITEBYTECODE :=
unit test slow: export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache

# The unit tests of the harness, of the simulation and of other tools for tests: `make test` runs them.
TOOLS := bench cluster conflict_lab deadlines faults harness kind mutation network_reach parsing selection simulation website workflows
# One process more than cores: a fifth of the time is waiting.
.PHONY: unit
unit: $(VENV)/.ready ## Run the quick unit tests of the operator and the plugin. They need no Kubernetes.
	$(BIN)/pytest tests/unit --numprocesses $$(($$(nproc) + 1)) --dist worksteal -m "not thorough and not slow and not model" --hypothesis-profile quick $(TOOLS:%=--ignore-glob="*/test_%*.py")

.PHONY: network
network: $(VENV)/.ready $(NCA)/.ready ## Judge the NetworkPolicies with network-config-analyzer.
	$(BIN)/pytest -q tests/unit/test_network_reach.py

.PHONY: test
test: $(VENV)/.ready $(NCA)/.ready programs ## Run unit tests, integration tests and a short simulation.
	$(BIN)/pytest tests/integration tests/unit $(PARALLEL) -m "not semantics and not large and not walk and not slow and not thorough and not long"
	$(BIN)/python -m simulation --seeds 100
	$(BIN)/python -m simulation --workload scheduled-task --first 200 --seeds 60 --floor 1

.PHONY: slow
slow: $(VENV)/.ready programs ## Run the tests that `make test` leaves out because they wait, take many steps or simulate long. PART=2/6
	$(BIN)/pytest tests/integration tests/unit $(PARALLEL) -m "slow or thorough" $(if $(PART),--part $(PART))

.PHONY: gateway-test
gateway-test: $(VENV)/.ready ## Test routes and Ingresses with Contour and Envoy. Getting these takes minutes, the first time.
	@$(BIN)/python -m cluster programs --with gateway
	$(BIN)/python -m cluster.network_namespace $(BIN)/pytest tests/gateway

.PHONY: golden
golden: $(VENV)/.ready ## Write the golden files again. Review the change with git diff.
	UPDATE_GOLDEN=1 $(BIN)/pytest -q tests/unit/test_children.py -k golden

.PHONY: semantics
semantics: $(VENV)/.ready programs ## Test how the API server treats versions, watches and concurrent writes; test large objects. PART=1/6
	$(BIN)/pytest tests/integration --numprocesses $(JOBS) --dist loadfile -m "semantics or large" $(if $(PART),--part $(PART))

.PHONY: plan-walk
plan-walk: $(VENV)/.ready programs ## Compare the verdicts of `kubectl coxswain plan` with real rollouts, for each field of the spec.
	$(BIN)/pytest tests/integration --numprocesses $(JOBS) -m walk -rP

.PHONY: long
long: $(VENV)/.ready programs ## Run the test that takes more than ten minutes: 200 WebApps restart after a change of one Secret.
	$(BIN)/pytest tests/integration -m long -rP

.PHONY: faults
faults: $(VENV)/.ready programs ## Run the fault suite. ONLY="F7", WORKLOAD=scheduled-task; SCALE=1 ONLY="F18" for the waits of docs/faults.md.
	$(FAULTS) $(if $(ONLY),-k "$(ONLY)") $(if $(IS_WEBAPP),--results docs/faults-survived.json)
	$(if $(IS_WEBAPP),$(BIN)/python -m faults.render)

.PHONY: faults-proof
faults-proof: $(VENV)/.ready programs ## Run the fault suite on operators broken on purpose. Each test must fail. ONLY="F7"
	$(FAULTS) $(if $(ONLY),-k "$(ONLY)") --prove $(if $(IS_WEBAPP),--results docs/faults-proved.json)
	$(if $(IS_WEBAPP),$(BIN)/python -m faults.render)

.PHONY: faults-ci
faults-ci: $(VENV)/.ready programs ## Run the fault tests of CI, and a few on the example operator. About fifteen minutes. PART=1/3
	$(FAULTS) -m "ci or quick" $(if $(PART),--part $(PART))
	$(FAULTS) -m quick --workload scheduled-task

.PHONY: replay
replay: $(VENV)/.ready programs ## Replay the script of a failed fault test. SCRIPT=.faults/NAME/script.json ORACLES=O1,O3 RESYNC=1
	$(BIN)/python -m faults.replay $(SCRIPT) $(if $(ORACLES),--oracles $(ORACLES)) $(if $(RESYNC),--resync) --time-scale $(SCALE) --workload $(WORKLOAD)

.PHONY: simulate
simulate: $(VENV)/.ready ## Run random scripts in virtual time for a minute. SECONDS=600, SEEDS=950, FIRST=100, FLOOR=1, SEED=7, SCRIPT=file.json; WORKLOAD=scheduled-task, REPLICAS=3, SLOTS=4
	$(BIN)/python -m simulation --workload $(WORKLOAD) $(if $(SEED),--seed $(SEED)) $(if $(SCRIPT),--script $(SCRIPT)) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(FIRST),--first $(FIRST)) $(if $(FLOOR),--floor $(FLOOR)) $(if $(REPLICAS),--replicas $(REPLICAS)) $(if $(SLOTS),--slots $(SLOTS))

.PHONY: simulate-proof
simulate-proof: $(VENV)/.ready ## Run the simulation on operators with known defects. ONLY="K1 K33", WORKLOAD=scheduled-task
	$(BIN)/python -m simulation.prove --workload $(WORKLOAD) $(ONLY)

.PHONY: mutants
mutants: $(VENV)/.ready ## Make small changes to the source, one at a time. A test must notice each. ONLY=words
	$(BIN)/python -m mutation $(ONLY)

##@ Kind

.PHONY: kind-up
kind-up: $(VENV)/.ready ## Start a kind cluster of three nodes and leave it running.
	@$(BIN)/python -m cluster.kind up

.PHONY: kind-down
kind-down: $(VENV)/.ready ## Delete that cluster.
	@$(BIN)/python -m cluster.kind down

.PHONY: kind-demo
kind-demo: $(VENV)/.ready ## Install the operator and the samples on that cluster.
	@$(BIN)/python -m kind.demo

.PHONY: kind-test
kind-test: $(VENV)/.ready ## Test the image and the manifests on a kind cluster: rollouts, drains, crashes. About 35 minutes.
	$(BIN)/pytest tests/kind --durations 25

.PHONY: kind-ci
kind-ci: $(VENV)/.ready ## Run the kind tests of CI: all but four of the six orders of removal. PART=1/2
	$(BIN)/pytest tests/kind --durations 25 -m "not full" $(if $(PART),--part $(PART))

.PHONY: docker-engine
docker-engine: $(VENV)/.ready ## Install and start Docker. On Debian, as root.
	@$(BIN)/python -m cluster.kind engine

##@ Benchmarks and documentation

.PHONY: bench
bench: $(VENV)/.ready programs ## Run the benchmarks next to other operators, for hours. BENCH="--only B6 --rounds 1"
	$(BIN)/python -m bench $(BENCH)

.PHONY: bench-quick
bench-quick: $(VENV)/.ready programs ## Compare 50 WebApps with a bare writer, in two minutes.
	$(BIN)/python -m bench --quick

.PHONY: figures
figures: $(VENV)/.ready programs ## Count the requests of the operator, for docs/costs.md.
	$(BIN)/pytest --capture=no --quiet tests/integration/test_requests.py tests/integration/test_restart.py

.PHONY: conflict-lab
conflict-lab: $(VENV)/.ready programs ## Compare ways of concurrent writing, for docs/conflicts.md.
	$(BIN)/python -m conflict_lab

.PHONY: sequence
sequence: $(VENV)/.ready ## Draw docs/sequence.md from the audit log of one WebApp.
	@$(BIN)/python -m demo.sequence_page

.PHONY: docs
docs: $(VENV)/.ready ## Build the docs as a website in build/docs.
	$(BIN)/mkdocs build --strict
