# `make` lists the targets. All output is in .venv, node_modules and .build.

STACK ?= mixed-hardware
PYTEST_ARGS ?=
BENCH_ARGS ?=
CALIBRATE_ARGS ?=
MUTANTS_ARGS ?=
PROSE_ARGS ?=
TOOLS ?=

# Installs packages several times faster than pip. `make setup UV=` uses pip.
UV ?= $(shell command -v uv)

python := .venv/bin/python
demo := .venv/bin/eks-hardware demo
schema := config/strategy.schema.json

# Tests start Python hundreds of times. Without bytecode, each start compiles everything again and pytest rewrites
# every test module, which doubles the time.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo demo-stop cluster-tools charts test unit scan lint types synth golden schema schema-check docs docs-serve clean bench bench-accept calibrate facts-age price-coverage faults mutants node-versions python-versions prose

help: ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1 \2/p' Makefile | \
	  while read -r name text; do printf '  make %-14s %s\n' "$$name" "$$text"; done

# Each stamp is in the folder that it describes: deleting .venv also deletes its stamp.
setup: .venv/.installed node_modules/.installed .build/terraform/.found ## install into .venv and node_modules
	@$(if $(filter setup,$(MAKECMDGOALS)),echo 'next: source .venv/bin/activate',:)

demo: setup ## deploy STACK locally, then destroy it; CLUSTER=1 adds Kubernetes, KEEP=1 keeps it running
	@$(demo) "$(STACK)" $(if $(filter 1,$(CLUSTER)),--cluster)

demo-stop: .venv/.installed ## stop demos that KEEP=1 kept running, and remove the folders of ended ones
	@$(demo) --stop

cluster-tools: .venv/.installed ## build Kubernetes, Karpenter and OpenTofu for the tests
	@$(python) -m eks_hardware.local.cluster_tools $(TOOLS)

charts: .venv/.installed ## download the charts into the cache, so that tests install them in place of stand-ins
	@$(python) -m eks_hardware.local.cluster_tools helm
	@$(python) -m eks_hardware.local.chart_cache

# The tests that need programs of `make cluster-tools`.
cluster_tests := tests/cluster, and in tests/deploy: test_adopted_cluster.py, test_demo_cluster.py, \
  test_emulator_access.py, test_helm_provider.py, test_opentofu.py, test_private_network.py and the running cluster \
  of test_mixed_hardware.py

# More workers than processors, because deployments mostly wait for Terraform.
test: setup .venv/scan/.installed ## run all tests, including deployments
	@$(python) -m eks_hardware.local.cluster_tools --for '$(cluster_tests)'
	$(python) -m pytest -n 4 --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

# Capturing logs and file descriptors takes 7% of the time, and no unit test needs either.
unit: .venv/.installed ## run the tests that need no Node, no Terraform and no separate process
	$(python) -m pytest tests/unit -n 2 --dist loadfile --no-loadscope-reorder -p no:hypothesispytest -p no:logging \
	  --capture=sys $(PYTEST_ARGS)

scan: setup .venv/scan/.installed ## scan for insecure resources with checkov, and check every policy
	$(python) -m pytest tests/security $(PYTEST_ARGS)

node-versions: setup ## install Node 20, 22 and 24 from npm, and test the fast path on each
	@for version in 20 22 24; do \
	  mkdir -p .build/node/$$version && npm install --no-save --prefix .build/node/$$version node@$$version || exit 1; \
	done
	$(python) -m pytest tests/synth/test_node_versions.py $(PYTEST_ARGS)

python-versions: setup ## install the packages on every supported Python on the PATH, and run most tests on each
	@for version in 3.10 3.11 3.12 3.13; do \
	  python$$version --version >/dev/null 2>&1 || { echo "python$$version is not on the PATH; skipped"; continue; }; \
	  echo "Python $$version"; \
	  python$$version -m venv .build/python/$$version && \
	  .build/python/$$version/bin/python -m pip install -q -c constraints.txt -e '.[dev]' && \
	  PATH="$$PWD/.build/python/$$version/bin:$$PATH" python -m pytest tests/unit tests/processes tests/synth \
	    -n 2 --dist loadfile $(PYTEST_ARGS) || \
	    exit 1; \
	done

mutants: setup ## change the code in small ways, and count the changes that the tests detect
	$(python) tests/mutants $(MUTANTS_ARGS)

bench: setup ## measure, and fail if it got slower (about 10 minutes); docs/benchmarks.md
	@$(python) -m benchmarks $(BENCH_ARGS)

bench-accept: setup ## measure, and save the results as the new baseline
	@$(python) -m benchmarks --accept $(BENCH_ARGS)

calibrate: .venv/.installed ## compare the advisor's estimates with published measurements; docs/guides/accuracy.md
	@$(python) -m benchmarks.calibrate $(CALIBRATE_ARGS)

faults: setup ## kill and interrupt at random moments, and lose part of the state; prints its seed
	@$(python) -m eks_hardware.local.cluster_tools
	EKS_HARDWARE_FAULTS=1 $(python) -m pytest tests/deploy/test_interrupted_apply.py tests/cluster/test_random_kills.py $(PYTEST_ARGS)

facts-age: .venv/.installed ## list facts that were read more than 120 days ago, with their sources; fails if there are any
	@$(python) -m benchmarks.facts_age $(if $(DAY),--day $(DAY))

price-coverage: .venv/.installed ## count the prices of accelerated types that are unknown, and name them
	@PYTHONPATH=tests $(python) -m helpers.price_coverage

lint: .venv/.installed types ## ruff, mypy and pyright
	$(python) -m ruff check .
	$(python) -m ruff format --check .

types: .venv/.installed node_modules/.installed ## mypy in strict mode on the package and the tests, and pyright on all code
	$(python) -m mypy
	node_modules/.bin/pyright

prose: .venv/.installed ## list sentences that are too long, and phrases that are not plain English
	PYTHONPATH=tests $(python) -m helpers.prose $(PROSE_ARGS)

synth: setup ## synthesize every strategy to cdktf.out
	JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 CHECKPOINT_DISABLE=1 node_modules/.bin/cdktf synth

golden: setup ## rewrite the golden files after an intended change
	$(python) -m pytest tests/synth tests/unit tests/docs/test_generated.py tests/docs/test_rules_page.py tests/properties/test_corpus.py --update-golden $(PYTEST_ARGS)

schema: .venv/.installed ## rewrite the JSON Schemas after a change of the models
	$(python) -m eks_hardware.models.json_schema
	$(python) -m eks_hardware.adoption
	$(python) -m eks_hardware.advisor.measured.file
	$(python) -m eks_hardware.advisor.ranking.policy_file

schema-check: .venv/.installed
	@cp $(schema) .build/schema.before
	@$(python) -m eks_hardware.models.json_schema
	@cmp -s .build/schema.before $(schema) || { echo '$(schema) was out of date and has been rewritten: add it'; exit 1; }

docs: .venv/.installed ## build the documentation site to .build/site
	NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs build --strict --quiet

docs-serve: .venv/.installed ## serve the site on http://127.0.0.1:8000 while you edit pages
	NO_MKDOCS_2_WARNING=1 $(python) -m mkdocs serve

clean: ## remove everything generated except .venv and node_modules
	@if [ -x $(python) ] && [ -d .build/demo ]; then $(demo) --stop; fi
	rm -rf .build cdktf.out cdktf.log .mypy_cache .pytest_cache .ruff_cache .hypothesis

# $(call install,PYTHON,PACKAGES) installs with uv, or with pip if uv is missing or fails: pip's settings, such as
# another index, do not apply to uv. The output of pip is a line for every tenth package, and its errors.
install = { [ -n "$(UV)" ] && echo "  with $(UV)" && "$(UV)" pip install --python $(1) $(2); } || \
	{ $(1) -m pip install --disable-pip-version-check --progress-bar off $(2) 2>&1; echo "exit $$?"; } | { \
	  count=0; \
	  while read -r first second rest; do case "$$first" in \
	    Collecting) count=$$((count + 1)); [ $$((count % 10)) -ne 0 ] || echo "  $$count: $${second%%[<>=~!;[]*}" ;; \
	    Installing) [ "$$second$$count" = collected0 ] || [ "$$second" != collected ] || \
	      echo "  installing $$count packages" ;; \
	    ERROR:|WARNING:|error:|note:|hint:|*Error:) echo "  $$first $$second $$rest" >&2 ;; \
	    exit) exit "$$second" ;; \
	  esac; done; }

# The stamp has the checksum of the files, because git changes the time of a file that it checks out.
dependencies := $(shell cat pyproject.toml constraints.txt | cksum)
ifneq ($(dependencies),$(shell cat .venv/.installed 2>/dev/null))
.venv/.installed: FORCE
endif

.PHONY: FORCE
FORCE:

.venv/.installed:
	@set -e; \
	[ -x $(python) ] && $(python) -m pip --version >/dev/null 2>&1 && exit 0; \
	for candidate in python3 python3.13 python3.12 python3.11 python3.10 python; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
	    echo "creating .venv with $$("$$candidate" --version)"; \
	    rm -rf .venv; \
	    "$$candidate" -m venv .venv && exit 0; \
	    rm -rf .venv; \
	    echo "error: $$candidate cannot create virtual environments: install its venv module (python3-venv)" >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo 'error: no Python 3.10 or newer on the PATH: install it from https://www.python.org' >&2; \
	exit 1
	@echo '1/3 Python packages: 1.4 GB, a minute or two the first time'
	@$(call install,$(python),-c constraints.txt -e '.[dev]')
	@echo '$(dependencies)' > $@

# Checkov pins other versions of packages that the project uses.
.venv/scan/.installed: constraints-scan.txt | .venv/.installed
	@echo 'checkov: half a minute the first time'
	@rm -rf $(@D) && $(python) -m venv $(@D)
	@$(call install,$(@D)/bin/python,-c constraints-scan.txt checkov)
	@touch $@

node_modules/.installed: package.json package-lock.json
	@command -v npm >/dev/null || \
	  { echo 'error: npm is not on the PATH: install Node.js 20 or newer from https://nodejs.org' >&2; exit 1; }
	@echo '2/3 Node packages: 0.7 GB, up to a minute the first time'
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Prints where Terraform finds the AWS provider, and saves it for a plain `cdktf deploy`. Runs every time until a
# provider is found; only deployments need it.
.build/terraform/.found: .venv/.installed eks_hardware/local/terraform.py
	@mkdir -p $(@D)
	@echo '3/3 Terraform and the AWS provider'
	@if $(python) -m eks_hardware.local.terraform; then touch $@; fi
