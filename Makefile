# Each target makes its own environment if need be: nothing is assumed but a Python >= 3.10 with venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test test-bounds test-anndata check methods bench papers accuracy peers fuzz soak coverage clean
.DELETE_ON_ERROR:

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

demo: $(STAMP)      ## a retailer's customers, segmented four ways with gaps, made one
	$(BIN)/quorate demo --output demo --force

test: $(STAMP)      ## all tests, doctests and README blocks included
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-bounds: $(STAMP)  ## the tests once with the bounds checks of numba on: slower, in a cache of their own
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba-bounds $(BIN)/python -m pytest -n 2 $(ARGS)

test-anndata:       ## what needs anndata, which asks for pandas < 3: in an environment of its own
	test -d .venv-anndata || $(PYTHON) -m venv .venv-anndata
	.venv-anndata/bin/python -m pip install --quiet --disable-pip-version-check -e ".[anndata,plot]" "pytest>=8" "hypothesis>=6.100"
	.venv-anndata/bin/python -m pytest tests/test_anndata.py tests/test_examples.py

check: $(STAMP)     ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

methods: $(STAMP)   ## the table of docs/methods.md, written anew from the register
	$(BIN)/python docs/make_methods.py

bench: $(STAMP)     ## speed as ratios against named peers, in one run
	$(BIN)/python -m benchmarks.speed $(ARGS)

papers: $(STAMP)    ## the five papers' tables and figures beside ours: make papers DATA=folder [ARGS="--quick linear_eac"]
	$(BIN)/python -m benchmarks.papers $(if $(DATA),--data $(DATA)) $(ARGS)

accuracy: $(STAMP)  ## default Quorate beside scikit-learn's clusterers on labelled data: make accuracy DATA=folder [ARGS=--quick]
	$(BIN)/python -m benchmarks.accuracy $(if $(DATA),--data $(DATA)) $(ARGS)

peers:              ## Quorate beside other packages, which get an environment of their own: make peers [ARGS=--quick]
	test -d .venv-peers || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps sc3s==0.1.1 OpenEnsembles==2.0.0
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check ".[dev]"
	.venv-peers/bin/python -m benchmarks.peers $(ARGS)

fuzz: $(STAMP)      ## mutate files of every format; what breaks is kept as a case: make fuzz [ARGS="--minutes 10"]
	$(BIN)/python -m benchmarks.reliability fuzz $(ARGS)

soak: $(STAMP)      ## faults of the system, signals, little memory, load; about half an hour: make soak [ARGS="kills memory"]
	$(BIN)/python -m benchmarks.reliability soak $(ARGS)

coverage: $(STAMP)  ## which lines the tests reach, kernels included: slow, they run as plain Python
	PYTHONWARNINGS=ignore::RuntimeWarning NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest $(ARGS)
	$(BIN)/python -m coverage report --skip-covered --show-missing

clean:
	rm -rf $(VENV) .numba-bounds .venv-peers .venv-anndata .pytest_cache .mypy_cache .ruff_cache demo
