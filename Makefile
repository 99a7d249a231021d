# `make bench` (measure and publish) and `make test` set up everything they need.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
ENGINE := $(wildcard engine/src/* engine/*/src/* engine/Cargo.* engine/*/Cargo.toml)

# What a target needs beside Python and Rust; checked at once, before anything is built.
bench: NEEDS = mvn
check: NEEDS = ctags
test: NEEDS = ctags mvn npm chromium fio go perf valgrind git jq
nightly: NEEDS = mvn npm sysbench mmdebstrap git

.PHONY: bench bench-list check clean demo-site setup fuzz lint nightly test tools wheel

# Where it is set, pytest rewrites all assertions in each process of each run.
unexport PYTHONDONTWRITEBYTECODE

# Exit code 1 means that something regressed: here a result, not an error.
bench: $(INSTALLED)
	@$(BIN)/shootout run --profile quick $(ARGS) || [ $$? -eq 1 ]

# Build what a checkout needs, and measure nothing.
setup: $(INSTALLED)

# Build the report of recorded runs without measuring anything.
demo-site: $(INSTALLED)
	@rm -rf reports/demo
	@$(BIN)/python -m lab.showcase.record --unpack reports/demo/results
	@$(BIN)/shootout site --results reports/demo/results --out reports/demo/site --front showcase

# A test that hangs shows where, and ends. Not in pyproject.toml, with which `shootout run` measures for hours.
TESTED := $(BIN)/pytest -W error --benchmark-disable -o faulthandler_timeout=1200 -o faulthandler_exit_on_timeout=true

# As many examples of each property as a landing can wait for; nightly has more.
FEW := --hypothesis-profile quick

# Format, lint, types, imports, and tests/unit: no server, no browser.
check: lint
	$(TESTED) tests/unit --numprocesses 2 --dist loadfile $(FEW) --quiet

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	cargo fmt --manifest-path engine/Cargo.toml --all --check

# What check does, then tests/real: servers, a browser, a container engine, and what measures time by itself; and the
# engine's tests. LONG runs first: the last minutes then have short tests for all processes.
LONG := $(patsubst %,tests/real/%/,workflows end_to_end measure)
SHORT := $(filter-out $(LONG) %/timing/ %/__pycache__/,$(wildcard tests/real/*/ tests/real/test_*.py))
test: check $(BIN)/actionlint
	$(BIN)/zizmor --offline --quiet --strict-collection .github
	$(BIN)/actionlint -config-file .github/actionlint.yaml .github/workflows/*.yml
	cargo clippy --manifest-path engine/Cargo.toml --locked --workspace --exclude shootout-fuzz --all-targets --features python -- -D warnings
	cargo test --manifest-path engine/Cargo.toml --locked --workspace --exclude shootout-fuzz
	$(TESTED) tests/real/timing
	$(TESTED) $(LONG) $(SHORT) --numprocesses 4 --dist loadfile --no-loadscope-reorder $(FEW)

# tests/nightly: every server of the catalogue (about 2 GB), sysbench beside the engine, simulations, bare Debian systems
# as root; and properties with more examples. Other trees, too: make nightly TREES=DIR:DIR; and what comes from the
# vendors' hosts: make nightly VENDORS=1
nightly: wheel
	SHOOTOUT_TEST_TREES=$(TREES) SHOOTOUT_TEST_VENDORS=$(VENDORS) $(TESTED) tests/nightly tests/unit tests/real/test_hostile.py \
		--numprocesses 2 --dist loadfile

# Fuzz each of the engine's protocol parsers with INPUTS streams; stable Rust suffices. The corpus is kept in
# engine/target/fuzz/corpus, failing inputs next to it.
INPUTS ?= 10000000
FUZZED := $(patsubst engine/fuzz/targets/%.rs,%,$(wildcard engine/fuzz/targets/*.rs))
fuzz:
	@.ci/needs $(PYTHON)
	@cd engine/fuzz && cargo build --profile fuzz --locked
	@cd engine/target/fuzz && for target in $(FUZZED); do \
		mkdir -p corpus/$$target && \
		x86_64-unknown-linux-gnu/fuzz/$$target -runs=$(INPUTS) -rss_limit_mb=512 -timeout=10 \
			-print_final_stats=1 -artifact_prefix=$$target- corpus/$$target ../../fuzz/seeds/$$target || exit; \
	done

# For users without Rust: the engine, built for any recent Linux, and the files that a checkout has next to the
# package: not in .gitignore, as maturin would leave them out. Zig provides the old glibc to link with. And beside it
# the lock of what it needs, for `pip install --require-hashes --requirement requirements.txt` in dist/.
PACKED := shootout/_data
wheel: $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-release.lock
	@rm -rf $(PACKED) dist && mkdir $(PACKED)
	@cp -R conftest.py fixtures pyproject.toml suites templates $(PACKED)
	@PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --zig --compatibility manylinux_2_28 --out dist; \
		code=$$?; rm -rf $(PACKED); exit $$code
	@.ci/lock

# What docs/results.md and other pages quote: `make bench-NAME` runs benchmarks/NAME.py or the package of that
# name, `make bench-NAME-PART` a module of it; ARGS takes its options. Its docstring says what it shows, how long it
# takes, and whether it goes on after an interruption. A line `# needs: …` names the tools.
bench-%: $(INSTALLED)
	@$(BIN)/python -m benchmarks.$(subst -,.,$*) $(ARGS)

bench-list:
	@grep -oh 'make bench-[a-z-]*' benchmarks/*.py benchmarks/*/*.py | sort -u

BENCHMARK := $(subst -,/,$(patsubst bench-%,benchmarks/%,$(filter bench-%,$(MAKECMDGOALS))))
ifneq ($(BENCHMARK),)
$(MAKECMDGOALS): NEEDS = $(shell sed -n 's/^\# needs: //p' $(wildcard $(BENCHMARK:=.py) $(BENCHMARK:=/__main__.py)))
endif

$(INSTALLED): requirements.lock pyproject.toml $(ENGINE) | tools
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# Checks the workflows; Go verifies the download with its checksum database.
ACTIONLINT := 1.7.12
$(BIN)/actionlint: Makefile | $(INSTALLED)
	GOBIN="$(CURDIR)/$(BIN)" GOFLAGS= go install github.com/rhysd/actionlint/cmd/actionlint@v$(ACTIONLINT)
	@touch $@

tools:
	@.ci/needs $(PYTHON) $(NEEDS)

clean:
	rm -rf .venv engine/target shootout/_engine*.so
