# Everything below runs in a private environment, .venv, which holds tox; tox
# keeps its own under .tox. Needed on the machine: Python 3.11 or newer, git
# and make.

NEW_ENOUGH = import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
    $$python -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$python && break; done)
TOX = .venv/bin/tox
YAML_LANGUAGE_SERVER = .tox/npm/node_modules/.bin/yaml-language-server

# Where "make machine" has put it.
ifneq ($(wildcard $(YAML_LANGUAGE_SERVER)),)
export IR_YAML_LANGUAGE_SERVER ?= $(abspath $(YAML_LANGUAGE_SERVER))
endif

.DEFAULT_GOAL := help
.PHONY: help demo picture test gate machine test-all test-matrix test-newest test-upstream test-tempest simulate fuzz lint docs constraints clean

help: ## Say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 15

demo: $(TOX) ## Inspect two machines by rules on a stock Ironic (ARGS=--keep, --this-machine)
	@$(PYTHON) tools/prepare $(TOX) demo
	@$(if $(findstring --this-machine,$(ARGS)),echo 'Fetching \
	    ironic-python-agent'; $(TOX) -qq -e venv --skip-pkg-install -- \
	    pip install -qq -c constraints/ironic-39.0.0.txt \
	    'ironic-inspection-rules[collect]')
	@$(TOX) -qq -e demo --skip-pkg-install -- $(ARGS)

picture: $(TOX) ## Draw the pictures anew: a plan, and pages
	$(TOX) -qq -e venv -- python tools/draw_pages.py

test: $(TOX) ## Run the tests that need no service: units, and HTTP and commands in process
	@$(PYTHON) tools/prepare $(TOX) py3
	@$(TOX) -qq -e py3,functional --skip-pkg-install

gate: $(TOX) ## Run the share of databases and of real Ironics that each change must pass
	@$(PYTHON) tools/prepare $(TOX) py3 smoke-35.0.1
	$(TOX) -q --skip-pkg-install -m gate

machine: $(TOX) ## Install the servers and programs of test-all (Debian, as root)
	tools/prepare_machine
	$(TOX) -qq -e venv -- python tools/prepare_databases.py

test-all: $(TOX) ## Run all tests on the newest Ironic, the oldest and 36.0.0
	IR_FLEETS=50 $(TOX) -q -m all

test-newest: $(TOX) ## Run units and functional tests with the newest of everything
	$(TOX) -q -e newest

test-matrix: $(TOX) ## Run fewer tests on each Ironic that is supported
	$(TOX) -q -m matrix

test-upstream: $(TOX) ## Run Ironic's own unit tests with the plugin loaded
	$(TOX) -q -e upstream

test-tempest: $(TOX) ## Run ironic-tempest-plugin on a real Ironic with Keystone
	$(TOX) -q -e tempest

simulate: $(TOX) ## Try many schedules of queue and doors (COUNT=100000 FIRST=1)
	IR_SCHEDULES=$(or $(COUNT),100000) IR_FIRST_SCHEDULE=$(or $(FIRST),1) \
	    $(TOX) -q -e simulation -- ScheduleTestCase

fuzz: $(TOX) ## Try 100,000 hostile requests (SEED=1 gives the same again)
	IR_FUZZ_CASES=$(or $(CASES),100000) IR_FUZZ_SEED=$(or $(SEED),$$$$) \
	    $(TOX) -q -e servers -- functional.fuzz

.PHONY: histories
histories: $(TOX) ## Ask many histories who set a value, and rules what ran (COUNT=10000)
	IR_ORIGINS=$(or $(COUNT),10000) IR_COUNTED=$(or $(COUNT),10000) \
	    $(TOX) -q -e py3 -- 'test_(origins|what_ran)'

.PHONY: swaps
swaps: $(TOX) ## Follow parts of many generated machines (COUNT=2000 SEED=0)
	IR_SWAPS=$(or $(COUNT),2000) IR_SWAPS_SEED=$(or $(SEED),0) \
	    $(TOX) -q -e py3 -- "test_part_difference|test_part_history"

.PHONY: plantings
plantings: $(TOX) ## Search anonymous machines for planted identifiers (COUNT=20000 SEED=1)
	IR_PLANTINGS=$(or $(COUNT),20000) IR_PLANTINGS_SEED=$(or $(SEED),1) \
	    $(TOX) -q -e py3 -- test_plantings

.PHONY: odd-fleets
odd-fleets: $(TOX) ## Look for planted faults in generated fleets (MACHINES=2000 SEED=1)
	$(TOX) -qq -e venv -- python tools/odd_fleet.py --details \
	    --machines $(or $(MACHINES),2000) $(if $(SEED),--seed $(SEED))

.PHONY: proofs
proofs: $(TOX) ## Refute proofs about many generated rules (COUNT=5000 FIRST=0)
	IR_PROOFS=$(or $(COUNT),5000) IR_FIRST_PROOF=$(or $(FIRST),0) \
	    $(TOX) -q -e simulation -- VerdictTestCase

.PHONY: outages
outages: $(TOX) ## Let what durable inspection stands on be away for two minutes
	IR_OUTAGE_SECONDS=120 $(TOX) -q -e integration -- "test_outages|LostDatabase|TwoHosts|Announcement"

.PHONY: iron
iron: $(TOX) ## Boot machines of QEMU and inspect them, as root (CASE=discovery)
	@$(PYTHON) tools/prepare $(TOX) iron
	@$(TOX) -qq -e iron --skip-pkg-install -- $(CASE)

.PHONY: mutants
mutants: $(TOX) ## See which mistakes no unit test notices (ROOM=runs COUNT=20)
	$(TOX) -q -e mutants -- $(ROOM) --count $(or $(COUNT),20) \
	    $(if $(SEED),--seed $(SEED))

.PHONY: bench
bench: $(TOX) ## Measure, mostly beside stock Ironic (NAME=fleet ARGS="--peer 100")
	@$(PYTHON) tools/prepare $(TOX) bench $(if $(filter engine,$(NAME)),inspector)
	@$(TOX) -qq -e bench --skip-pkg-install -- $(or $(NAME),--help) $(ARGS)

lint: $(TOX) ## Check style, types, and build all documents
	@$(PYTHON) tools/prepare $(TOX) pep8 mypy
	$(TOX) run-parallel -q --parallel 2 --parallel-no-spinner --skip-pkg-install -m lint

constraints: $(TOX) ## Write anew what tests install (ARGS=--upgrade)
	$(TOX) -q -e constraints -- $(ARGS)

docs: $(TOX) ## Build the documents: doc/, api-ref/, releasenotes/ build/html
	$(TOX) -q -e docs,api-ref,releasenotes

.PHONY: dist
dist: $(TOX) ## Build and check what is published: dist/
	$(TOX) -q -e dist

.PHONY: release
release: $(TOX) ## Build and install all that is published: dist/ (IRONIC=39.0.0)
	rm -rf dist
	$(TOX) -q -e dist,docs,api-ref,releasenotes
	$(PYTHON) tools/release.py $(if $(IRONIC),--ironic $(IRONIC))

clean: ## Remove all that was built or installed here
	rm -rf .venv .tox .stestr .mypy_cache .ruff_cache .coverage* .hypothesis cover \
	    build dist *.egg-info doc/build api-ref/build releasenotes/build

.venv/bin/tox: constraints/tools.txt
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' || { echo 'Python 3.11 or newer,' \
	    'with its venv module (Debian: python3-venv), is needed; name it' \
	    'with PYTHON=/path/to/python.' >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	.venv/bin/pip install -q --disable-pip-version-check -c constraints/tools.txt tox
	@touch $@
