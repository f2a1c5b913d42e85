# Everything below runs in a private environment, .venv, which holds tox; tox
# keeps its own under .tox. Needed on the machine: Python 3.11 or newer, git
# and make.

NEW_ENOUGH = import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
    $$python -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$python && break; done)
TOX = .venv/bin/tox

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint docs clean

help: ## Say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12

demo: $(TOX) ## Start a stock Ironic and inspect a node by rules (ARGS="--keep")
	$(TOX) -qq -e demo -- $(ARGS)

test: $(TOX) ## Run the tests that need no service: units, and HTTP in process
	$(TOX) -q -e py3
	$(TOX) -q -e functional -- functional.api

test-all: $(TOX) ## Run all tests, on the newest and the oldest Ironic
	$(TOX) -q -e py3,functional,integration,py3-oldest,functional-oldest,integration-oldest

lint: $(TOX) ## Check style, types, imports, and build all documents
	$(TOX) -q -e pep8,mypy,imports,docs,api-ref,releasenotes

docs: $(TOX) ## Build the documents: doc/, api-ref/, releasenotes/ build/html
	$(TOX) -q -e docs,api-ref,releasenotes

clean: ## Remove all that was built or installed here
	rm -rf .venv .tox .stestr .mypy_cache .ruff_cache .coverage* .hypothesis cover \
	    build dist *.egg-info doc/build api-ref/build releasenotes/build

.venv/bin/tox:
	@$(or $(PYTHON),false) -c '$(NEW_ENOUGH)' || { echo 'Python 3.11 or newer,' \
	    'with its venv module (Debian: python3-venv), is needed; name it' \
	    'with PYTHON=/path/to/python.' >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
	.venv/bin/pip install -q --disable-pip-version-check 'tox>=4.20,<5'
