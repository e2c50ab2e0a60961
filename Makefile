# make run    measure on the GPU that is here, or say that there is none and replay the recorded run
# make cpu    run all passes on the CPU, which has no kernels to compare
# make test   the checks of `make lint`, and the tests; no GPU needed
# make bench  read large captures, beside other tools; and where a GPU is, what orchestration adds to its passes
# make doctor what this machine has and lacks for measuring, and what to do
# make compare BASE=reports/a NEW=reports/b   two runs row by row; FORCE=1 compares what may not be compared
# make check-kernels  every custom kernel against float64; on a GPU also under compute-sanitizer
# make history  all runs in reports/ as one dataset, the trend of each workload, and what changed since which run
# make lint   style of Python and Snakemake, generated files up to date
#
# Each sets up what it needs in .venv, once.  Another Python: make PYTHON=python3.12 run

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip --disable-pip-version-check -q install -c requirements/constraints.txt
REQUIREMENTS := pyproject.toml requirements/constraints.txt
REFERENCE := reports/h200-reference
PEERS := tools/bench-venv

# Also what the rules start (ninja, a compiler's helpers) comes from the environment first.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: check-kernels run measure replay cpu doctor bench compare history test lint clean
.DELETE_ON_ERROR:

run: $(VENV)/core.stamp
	@if $(BIN)/python -m kernel_ledger.machine; then \
	    $(MAKE) --no-print-directory measure; \
	else \
	    printf '%s\n' \
	        '' \
	        '  *** This machine has no CUDA GPU, so NOTHING IS MEASURED here. ***' \
	        '  Instead the recorded run $(REFERENCE) is replayed: its captures, made on a real GPU,' \
	        '  are reconciled and judged again, and the table is written to reports/replay/.' \
	        '  To run all passes on the CPU instead: make cpu   (it needs nsys to end as verified)' \
	        ''; \
	    $(MAKE) --no-print-directory replay; \
	fi

measure: $(VENV)/gpu.stamp
	$(BIN)/snakemake --cores 1

replay: $(VENV)/core.stamp
	$(BIN)/snakemake --cores 1 --config replay=$(REFERENCE) run=replay

cpu: $(VENV)/gpu.stamp
	$(BIN)/snakemake --cores 1 --config device=cpu run=cpu

bench: $(VENV)/gpu.stamp $(PEERS)/stamp
	$(BIN)/python scripts/bench.py

doctor: $(VENV)/core.stamp
	@$(BIN)/python -m kernel_ledger.doctor

# make itself ends with 2 whenever a command fails; where 1 and 2 must differ, call the script.
compare: $(VENV)/core.stamp
	@test -n "$(BASE)" -a -n "$(NEW)" || { echo "error: say which runs: make compare BASE=reports/a NEW=reports/b" >&2; exit 2; }
	$(BIN)/python scripts/compare.py "$(BASE)" "$(NEW)" $(if $(FORCE),--force)

check-kernels: $(VENV)/gpu.stamp
	@device=$$($(BIN)/python -m kernel_ledger.machine >/dev/null 2>&1 && echo cuda || echo cpu); \
	$(BIN)/python scripts/build.py --device $$device --output build/$$device/kernels.so && \
	$(BIN)/python scripts/check_kernels.py --device $$device

history: $(VENV)/core.stamp
	$(BIN)/python scripts/history.py

test: $(VENV)/dev.stamp lint
	$(BIN)/python -m pytest -n 2 --dist loadscope

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/python -m kernel_ledger.config_schema --check
	$(BIN)/python -m kernel_ledger.columns_page --check
	$(BIN)/python .ci/readme-rows --check
	$(BIN)/python .ci/lint-workflow

clean:
	rm -rf .venv .snakemake .pytest_cache .ruff_cache build logs

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: $(PYTHON) is not Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { \
	    echo "error: $(PYTHON) -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 2; }

$(VENV)/core.stamp: $(REQUIREMENTS) | $(BIN)/python
	@echo "installing what replaying, reconciling and reporting need"
	@$(INSTALL) -e .
	@touch $@

$(VENV)/gpu.stamp: $(REQUIREMENTS) $(VENV)/core.stamp
	@echo "installing what measuring needs (PyTorch: this can take minutes)"
	@$(INSTALL) torch==2.13.0 -e '.[gpu]'
	@touch $@

$(VENV)/dev.stamp: $(REQUIREMENTS) $(VENV)/gpu.stamp
	@echo "installing what testing needs"
	@$(INSTALL) torch==2.13.0 -e '.[gpu,dev]'
	@touch $@

$(PEERS)/stamp: requirements/bench.txt | $(BIN)/python
	@echo "installing what make bench compares with into $(PEERS)"
	@$(BIN)/python -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip --disable-pip-version-check -q install -r requirements/bench.txt
	@touch $@
