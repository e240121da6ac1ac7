# The commands of the project. `make run` and `make test` need only rustup (or cargo), make and a shell. They install
# everything else once: pinned versions into ~/.cache/unwind and target, the rest from the system's packages.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/unwind
TOOLS := $(CACHE)/tools
export PATH := $(HOME)/.cargo/bin:$(TOOLS)/bin:$(PATH)

NEXTEST_VERSION := 0.9.151
DENY_VERSION := 0.20.2
FUZZ_VERSION := 0.13.2
MUTANTS_VERSION := 27.1.0
nextest := $(TOOLS)/bin/cargo-nextest-$(NEXTEST_VERSION)
deny := $(TOOLS)/bin/cargo-deny-$(DENY_VERSION)
fuzz := $(TOOLS)/bin/cargo-fuzz-$(FUZZ_VERSION)
mutants := $(TOOLS)/bin/cargo-mutants-$(MUTANTS_VERSION)

## run: build everything and start the dashboard on the sandbox; prints its URL. CONTEXT=name or KUBECONFIG selects a
## cluster instead, SANDBOX=world another world of the sandbox.
.PHONY: run
run: prerequisites
	@end2end/run $(if $(CONTEXT),--context $(CONTEXT)) $(if $(SANDBOX),--sandbox $(SANDBOX))

# Cargo builds a crate once for each set of features. All commands use the same set, so that nothing is built twice.
test_features := --workspace --features teardown/fixture

## test: everything that CI runs: check, unit and e2e.
.PHONY: test
# After `unit` the programs exist with the features of the tests. The browser tests use those programs.
test: export e2e_programs = $(test_features) --bins --tests
# Rust builds leave a core idle for minutes, so the page and the control plane are built beside them. `e2e` builds again
# what failed there, and shows why.
test: prerequisites
	@mkdir -p target
	@set -m; \
	nice -n 10 bash -c 'end2end/setup && app/build && end2end/cluster/build' >target/beside.log 2>&1 & beside=$$!; \
	set +m; trap 'kill -- -$$beside 2>/dev/null || true' EXIT; \
	$(MAKE) check; $(MAKE) unit; wait $$beside || true; $(MAKE) e2e

# The fuzz targets are a workspace of their own. `check` lints them without linking, so it needs neither a C++ compiler nor
# nightly.
fuzz_manifest := server/sandbox/fuzz/Cargo.toml

## check: formatting, lints, documentation, dependencies, the rules of server/tests/tidy.
.PHONY: check
check: prerequisites $(deny)
	cargo fmt --all --check
	cargo clippy $(test_features) --all-targets -- -D warnings
	cargo clippy -p app --target wasm32-unknown-unknown --features hydrate -- -D warnings
	cargo check -p teardown --target wasm32-unknown-unknown
	cargo fmt --manifest-path $(fuzz_manifest) --check
	CUSTOM_LIBFUZZER_PATH=/nowhere/libnothing.a cargo clippy --manifest-path $(fuzz_manifest) --target-dir target --locked --no-deps -- -D warnings
	RUSTDOCFLAGS="-D warnings --cfg=erase_components" cargo doc --workspace --no-deps --document-private-items
	cargo-deny --workspace check bans licenses sources
	cargo test $(test_features) --test tidy

## unit: the tests that need neither a cluster nor a browser.
.PHONY: unit
unit: prerequisites $(nextest)
	cargo nextest run $(test_features)
	cargo test $(test_features) --doc

## simulate: run the whole server against the sandbox under random faults, commands and crashes: SEEDS=n runs; SEED=n prints one.
.PHONY: simulate
simulate: export SEEDS ?= 10000
simulate: prerequisites
	cargo test -p server --test simulation -- --nocapture $(if $(SEED),one_seed,all_seeds)

## mutants: change the engine in each small way and run its tests, for hours; results in target/mutants.out. Those that
## survive: server/teardown/tests/mutants.md.
.PHONY: mutants
mutants: prerequisites $(mutants)
	@mkdir -p target
	cargo mutants -p teardown --features fixture --output target \
		-f 'server/teardown/src/run/**' -f server/teardown/src/run.rs \
		-f 'server/teardown/src/plan/**' -f server/teardown/src/plan.rs

## fuzz: fuzz the sandbox with requests and patches, SECONDS each; crashing inputs are in server/sandbox/fuzz/artifacts.
.PHONY: fuzz
fuzz: prerequisites $(fuzz)
	@command -v c++ >/dev/null || { echo "a C++ compiler is missing. On Debian or Ubuntu: apt-get install build-essential" >&2; exit 1; }
	cd server/sandbox && for target in request patch; do \
		mkdir -p fuzz/corpus/$$target; \
		cargo fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-dict=fuzz/kubernetes.dict -max_len=8192 -timeout=20 -max_total_time=$(or $(SECONDS),60); \
	done

e2e_programs ?= -p server -p sandbox

## e2e: the end-to-end tests: a real control plane, the conformance of the sandbox, the browser.
.PHONY: e2e
e2e: prerequisites
	end2end/setup
	end2end/cluster/build
	app/build
	cargo build $(e2e_programs)
	# These measure how long a control plane takes, so they run alone. The others wait for two thirds of their time.
	node --test end2end/cluster/cluster.test.mjs
	node --test --test-concurrency=2 $(filter-out %/cluster.test.mjs,$(wildcard end2end/*.test.mjs end2end/*/*.test.mjs))
	node end2end/conformance/run.mjs sandbox
	# Tests against the sandbox mostly wait, so two at a time, and so do the cases on the real control plane beside them. The
	# browser tests on a real control plane need the machine for themselves.
	node end2end/conformance/run.mjs real --gate & gate=$$!; trap 'kill $$gate 2>/dev/null || true' EXIT; \
		(cd end2end && npx playwright test --project=sandbox --workers=2); wait $$gate
	cd end2end && npx playwright test --project=real --project='real pages'

## conformance: compare the sandbox with the real control plane, case by case; a difference fails.
.PHONY: conformance
conformance: prerequisites
	end2end/setup node
	end2end/cluster/build
	cargo build -p sandbox
	node --test end2end/conformance/*.test.mjs
	node end2end/conformance/run.mjs both

## cluster: start only a real control plane with the sample application; prints its kubeconfig, ends on Ctrl-C.
.PHONY: cluster
cluster: prerequisites
	@end2end/setup node
	@end2end/cluster/build
	@node end2end/cluster/up.mjs --sample

## bench: measure time and size on this machine.
.PHONY: bench
bench: prerequisites
	end2end/setup
	end2end/cluster/build
	app/build
	cargo build --release -p server
	UNWIND_PROGRAM=target/release/unwind node end2end/bench.mjs
	UNWIND_PROGRAM=target/release/unwind node end2end/idle.mjs
	cargo bench -p teardown --features fixture
	cargo bench -p sandbox --bench load

## alerts: check the alert rules with promtool, which takes five minutes to build the first time.
.PHONY: alerts
alerts:
	end2end/cluster/build
	server/monitoring/check

## clean: remove the build results; the cache in ~/.cache/unwind stays.
.PHONY: clean
clean:
	cargo clean

.PHONY: help
help:
	@sed -n 's/^## //p' Makefile

.PHONY: prerequisites
prerequisites:
	@command -v cargo >/dev/null || { echo "cargo is missing. Install Rust: https://rustup.rs" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C linker is missing. On Debian or Ubuntu: apt-get install build-essential" >&2; exit 1; }
	@app/toolchain

# The tools run for seconds, so an optimised build of minutes does not pay.
install := CARGO_PROFILE_DEV_DEBUG=0 cargo install --debug --root $(TOOLS)

$(nextest):
	@echo "installing cargo-nextest $(NEXTEST_VERSION), once (some minutes)"
	$(install) --version $(NEXTEST_VERSION) --locked --force cargo-nextest
	@cp $(TOOLS)/bin/cargo-nextest $@

$(deny):
	@echo "installing cargo-deny $(DENY_VERSION), once (some minutes)"
	$(install) --version $(DENY_VERSION) --locked --force cargo-deny
	@cp $(TOOLS)/bin/cargo-deny $@

$(fuzz):
	@echo "installing cargo-fuzz $(FUZZ_VERSION), once (some minutes)"
	cargo install --root $(TOOLS) --version $(FUZZ_VERSION) --locked --force cargo-fuzz
	@cp $(TOOLS)/bin/cargo-fuzz $@

$(mutants):
	@echo "installing cargo-mutants $(MUTANTS_VERSION), once (some minutes)"
	$(install) --version $(MUTANTS_VERSION) --locked --force cargo-mutants
	@cp $(TOOLS)/bin/cargo-mutants $@
