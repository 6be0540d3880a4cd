# Each target makes its own environment if need be: nothing is assumed but a Python >= 3.10 with venv.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: demo test test-gpu test-bounds test-anndata test-r test-floors audit check methods bench scale papers accuracy judge trust peers fuzz fuzz-guided soak mutants coverage docs docs-check docs-look docs-serve dist sbom paper clean
.DELETE_ON_ERROR:

# Tests start many processes. Where the environment forbids Python to keep compiled modules, each of them compiles NumPy, SciPy and
# the package anew, which took up to four seconds of each start; an empty value allows it.
export PYTHONDONTWRITEBYTECODE :=

# the version that an installation states comes from __init__.py
$(STAMP): pyproject.toml src/quorate/__init__.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

demo: $(STAMP)      ## a retailer's customers, segmented four ways with gaps, made one
	$(BIN)/quorate demo --output demo --force

# each worker begins with a part of its own, so that seldom two compile the same kernel or make the same fixture, and takes
# tests from the others at the end; a third worker uses the cores while tests wait for processes and browsers
PARALLEL := -n 3 --dist worksteal
# threads of OpenMP that wait keep a core busy by default, which the other worker needs
test test-bounds test-anndata test-floors: export OMP_WAIT_POLICY ?= passive

test: $(STAMP)      ## all tests, doctests and README blocks included
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

test-bounds: $(STAMP)  ## the tests once with the bounds checks of numba on: slower, in a cache of their own
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.numba-bounds $(BIN)/python -m pytest $(PARALLEL) $(ARGS)

test-gpu:           ## what needs a CUDA card, with the python that has CuPy: make test-gpu [PYTHON=python3]
	PYTHONPATH=src $(PYTHON) -m pytest tests/gpu tests/test_device*.py $(ARGS)

# tutorials need anndata, and so do some tests
DOCS_STAMP := .venv-docs/.installed
$(DOCS_STAMP): pyproject.toml src/quorate/__init__.py
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -e ".[docs]" "pytest>=8" "hypothesis>=6.100"
	@touch $@

test-anndata: $(DOCS_STAMP)  ## what needs anndata, which asks for pandas < 3: in the environment of the site
	.venv-docs/bin/python -m pytest tests/test_anndata.py tests/test_examples.py -k "anndata or single_cell"

# the example blocks of the page for R users run, too
test-r: $(STAMP)    ## the R package by R CMD check, where R and reticulate are; says so where they are not
	@if Rscript -e 'stopifnot(all(c("reticulate", "testthat", "knitr", "rmarkdown") %in% rownames(installed.packages())))' >/dev/null 2>&1; then \
	  export RETICULATE_PYTHON=$(abspath $(BIN))/python _R_CHECK_FORCE_SUGGESTS_=false && rm -rf build/r && mkdir -p build/r/library && cd build/r && \
	  R CMD build $(CURDIR)/r && R CMD check --no-manual quorate_*.tar.gz && ! tail -1 quorate.Rcheck/00check.log | grep -E "ERROR|WARNING" && \
	  R CMD INSTALL --library=library quorate_*.tar.gz && sed -n '/^```r$$/,/^```$$/p' $(CURDIR)/docs/coming-from/r.md | grep -v '^```' > page.R && \
	  R_LIBS=library Rscript page.R; \
	else echo "NOT CHECKED: R with reticulate, testthat, knitr and rmarkdown is not here, so that the R package was not tested"; fi

# the oldest Python that can be had; the shims of pyenv exist also where they do not work
FLOOR_PYTHON ?= $(or $(shell python3.10 --version >/dev/null 2>&1 && echo python3.10),$\
	$(lastword $(wildcard $(shell pyenv root 2>/dev/null)/versions/3.10.*/bin/python3.10)),$(PYTHON))
FLOOR_TESTS := $(patsubst %,tests/test_%.py,compiling eigen golden io_damaged io_formats io_zarr_store partition soft tables_files)

FLOOR_STAMP := .venv-floors/.installed
$(FLOOR_STAMP): pyproject.toml src/quorate/__init__.py .ci/floors.py
	$(FLOOR_PYTHON) -m venv .venv-floors
	$(PYTHON) .ci/floors.py > .venv-floors/constraints.txt
	.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-floors/constraints.txt -e ".[test]"
	@touch $@

test-floors: $(FLOOR_STAMP)  ## the lowest versions that pyproject.toml declares, in an environment of their own
	.venv-floors/bin/python -m pytest $(PARALLEL) -W ignore::DeprecationWarning $(or $(ARGS),$(FLOOR_TESTS))

audit: $(STAMP)     ## known advisories of the lowest and the newest versions of all dependencies; says so where they cannot be looked up
	test -d .venv-audit || $(PYTHON) -m venv .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit || true
	$(PYTHON) .ci/floors.py > .venv-audit/floors.txt
	$(BIN)/python -m pip list --format freeze --exclude-editable --exclude pip --exclude setuptools > .venv-audit/newest.txt
	$(PYTHON) .ci/audit.py .venv-audit/bin/pip-audit .venv-audit/floors.txt .venv-audit/newest.txt

check: $(STAMP)     ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

methods: $(STAMP)   ## the table of docs/methods.md, written anew from the register
	$(BIN)/python docs/make_methods.py

bench: $(STAMP)     ## speed as ratios against named peers, in one run
	$(BIN)/python -m benchmarks.speed $(ARGS)
	$(BIN)/python -m benchmarks.scale --page-only

scale: $(STAMP)     ## time and memory for 10^4 to 10^8 objects, and the page docs/scale.md [ARGS="--largest 1000000"]
	$(BIN)/python -m benchmarks.scale $(ARGS)

papers: $(STAMP)    ## the five papers' tables and figures beside ours: make papers DATA=folder [ARGS="--quick linear_eac"]
	$(BIN)/python -m benchmarks.papers $(if $(DATA),--data $(DATA)) $(ARGS)

accuracy: $(STAMP)  ## default Quorate beside scikit-learn's clusterers on labelled data: make accuracy DATA=folder [ARGS=--quick]
	$(BIN)/python -m benchmarks.accuracy $(if $(DATA),--data $(DATA)) $(ARGS)

judge: $(STAMP)     ## how often the judge of labellings is right: make judge DATA=folder [ARGS="--page --fit"]
	$(BIN)/python -m benchmarks.judge $(if $(DATA),--data $(DATA)) $(ARGS)

trust: $(STAMP)     ## how far results can be believed: make trust DATA=folder [ARGS=--quick]
	$(BIN)/python -m benchmarks.trust $(if $(DATA),--data $(DATA)) $(ARGS)

peers:              ## Quorate beside other packages, which get an environment of their own: make peers [ARGS=--quick]
	test -d .venv-peers || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/peers/requirements.txt
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps sc3s==0.1.1 OpenEnsembles==2.0.0
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check ".[dev]"
	.venv-peers/bin/python -m benchmarks.peers $(ARGS)

fuzz: $(STAMP)      ## mutate files of every format; what breaks is kept as a case: make fuzz [ARGS="--minutes 10"]
	$(BIN)/python -m benchmarks.reliability fuzz $(ARGS)

GUIDED_READERS := csv parquet xlsx npy npz zarr consensus manifest member
FUZZ_BIN := .venv-fuzz/bin
SITE := import sysconfig; print(sysconfig.get_paths()["purelib"])
# the packages of the tests' environment are used, not installed once more
.venv-fuzz/.installed: $(STAMP)
	$(PYTHON) -m venv .venv-fuzz
	echo "import site; site.addsitedir('$$($(BIN)/python -c '$(SITE)')')" > "$$($(FUZZ_BIN)/python -c '$(SITE)')/project.pth"
	$(FUZZ_BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps atheris || true
	@! $(FUZZ_BIN)/python -c "import atheris" 2>/dev/null || touch $@

fuzz-guided: .venv-fuzz/.installed  ## readers under atheris, which keeps inputs that reach new lines, with bounds checks: make fuzz-guided [SECONDS=60]
	@$(FUZZ_BIN)/python -c "import atheris" 2>/dev/null || echo "NOT FUZZED: atheris cannot be had for this Python"
	@! $(FUZZ_BIN)/python -c "import atheris" 2>/dev/null || for reader in $(GUIDED_READERS); do \
	  echo "$$reader"; $(FUZZ_BIN)/python -m benchmarks.reliability.guided $$reader $(or $(SECONDS),60) 2>.venv-fuzz/said || { cat .venv-fuzz/said; exit 1; }; \
	  grep "DONE" .venv-fuzz/said; done

soak: $(STAMP)      ## faults of the system, signals, little memory, load; about half an hour: make soak [ARGS="kills memory"]
	$(BIN)/python -m benchmarks.reliability soak $(ARGS)

mutants: $(STAMP)   ## small changes of decisions that no test notices: make mutants [ARGS="--number 60 --seed 0 _choose_k"]
	$(BIN)/python -m benchmarks.mutants $(ARGS)

coverage: $(STAMP)  ## which lines the tests reach, kernels included: slow, they run as plain Python
	PYTHONWARNINGS=ignore::RuntimeWarning NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest $(ARGS)
	$(BIN)/python -m coverage report --skip-covered --show-missing

docs: $(DOCS_STAMP)  ## the documentation site, in docs/_build/html; warnings are errors, and the tutorials are executed
	.venv-docs/bin/python -m sphinx -b html -j 2 -W --keep-going -d docs/_build/doctrees $(ARGS) docs docs/_build/html

docs-check: $(STAMP)  ## the site without executing tutorials, in the environment of the tests: warnings are errors, links are checked
	$(BIN)/python -m sphinx -q -b dummy -W --keep-going -D nb_execution_mode=off -d docs/_build/check-doctrees docs docs/_build/check

docs-look: docs     ## every page of the site in Chromium: two widths, light and dark, console, pictures, search, keyboard
	.venv-docs/bin/python docs/look.py $(LOOK)

docs-serve: docs    ## the same, served on this machine: make docs-serve [PORT=8000]
	.venv-docs/bin/python -m http.server --bind 127.0.0.1 --directory docs/_build/html $(or $(PORT),8000)

dist:               ## source archive and wheel, checked; the tests run against the installed wheel: make dist [ARGS="-n 2"]
	rm -rf dist .venv-dist
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check "build>=1.2" "twine>=6" "py-rattler-build>=0.70"
	.venv-dist/bin/python -m build --outdir dist .
	.venv-dist/bin/python -m twine check --strict dist/*
	.venv-dist/bin/python release/check_dist.py dist
	.venv-dist/bin/python release/conda_recipe.py dist
	rm -rf .venv-wheel && $(PYTHON) -m venv .venv-wheel
	.venv-wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[test]"
	.venv-wheel/bin/python -c "import quorate; assert 'site-packages' in quorate.__file__, quorate.__file__"
	.venv-wheel/bin/python -m pytest tests README.md $(or $(ARGS),$(PARALLEL))

paper:              ## the paper as build/paper.pdf, by pandoc and XeLaTeX; JOSS builds its own from the same files
	mkdir -p build
	cd paper && pandoc paper.md --citeproc --pdf-engine=xelatex -V geometry:margin=2.5cm -o ../build/paper.pdf

sbom:               ## the packages that an installation of the built wheel brings, as CycloneDX: build/sbom/quorate.cdx.json
	rm -rf build/sbom && mkdir -p build/sbom
	$(PYTHON) -m venv build/sbom/installed && $(PYTHON) -m venv build/sbom/tool
	build/sbom/installed/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/*.whl)[all]"
	build/sbom/tool/bin/python -m pip install --quiet --disable-pip-version-check "cyclonedx-bom>=6"
	build/sbom/tool/bin/cyclonedx-py environment --mc-type library --pyproject pyproject.toml --validate -o build/sbom/quorate.cdx.json build/sbom/installed/bin/python
	rm -rf build/sbom/installed build/sbom/tool

clean:
	rm -rf $(VENV) dist .venv-dist .venv-wheel .venv-docs docs/_build docs/reference/generated .numba-bounds .venv-peers .venv-floors .venv-audit .venv-fuzz .pytest_cache .mypy_cache .ruff_cache demo
