# The commands of the project. `make run` and `make test` need nothing but rustup (or cargo), make and a shell; what else
# they need they install themselves, once: pinned into ~/.cache/unwind and target, or from the system's packages where they
# must.

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
nextest := $(TOOLS)/bin/cargo-nextest-$(NEXTEST_VERSION)
deny := $(TOOLS)/bin/cargo-deny-$(DENY_VERSION)
fuzz := $(TOOLS)/bin/cargo-fuzz-$(FUZZ_VERSION)

## run: build everything and start the dashboard on the sandbox; prints its URL. CONTEXT=name or KUBECONFIG serves that
## cluster, SANDBOX=world another sandbox.
.PHONY: run
run: prerequisites
	@end2end/run $(if $(CONTEXT),--context $(CONTEXT)) $(if $(SANDBOX),--sandbox $(SANDBOX))

# Cargo builds what depends on features once for each set of them, and some of that is built to be fast: one set for all.
as_tested := --workspace --features teardown/fixture

## test: everything that has to hold: checks, tests, a real control plane, a sandbox that is like it, a real browser.
.PHONY: test
# The journeys play with the programs that the tests were built with.
test: played = $(as_tested) --bins --tests
test: check unit e2e

# A workspace of its own, which nothing else here compiles. It is not linked, so that neither a C++ compiler nor nightly is
# needed.
fuzzed := server/sandbox/fuzz/Cargo.toml

## check: formatting, lints, documentation, dependencies, the rules of the house.
.PHONY: check
check: prerequisites $(deny)
	cargo fmt --all --check
	cargo clippy $(as_tested) --all-targets -- -D warnings
	cargo clippy -p app --target wasm32-unknown-unknown --features hydrate -- -D warnings
	cargo check -p teardown --target wasm32-unknown-unknown
	cargo fmt --manifest-path $(fuzzed) --check
	CUSTOM_LIBFUZZER_PATH=/nowhere/libnothing.a cargo clippy --manifest-path $(fuzzed) --target-dir target --locked --no-deps -- -D warnings
	RUSTDOCFLAGS="-D warnings --cfg=erase_components" cargo doc --workspace --no-deps --document-private-items
	cargo-deny --workspace check bans licenses sources
	cargo test $(as_tested) --test tidy

## unit: the tests that need neither a cluster nor a browser.
.PHONY: unit
unit: prerequisites $(nextest)
	cargo nextest run $(as_tested)
	cargo test $(as_tested) --doc

## simulate: simulate the whole server against the sandbox: SEEDS=n random runs with faults, commands and crashes; SEED=n prints one.
.PHONY: simulate
simulate: export SEEDS ?= 10000
simulate: prerequisites
	cargo test -p server --test simulation -- --nocapture $(if $(SEED),one_seed,all_seeds)

## fuzz: requests and patches that nobody should send, for SECONDS each; what was found lies in server/sandbox/fuzz/artifacts.
.PHONY: fuzz
fuzz: prerequisites $(fuzz)
	@command -v c++ >/dev/null || { echo "a C++ compiler is missing. On Debian or Ubuntu: apt-get install build-essential" >&2; exit 1; }
	cd server/sandbox && for target in request patch; do \
		mkdir -p fuzz/corpus/$$target; \
		cargo fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
			-dict=fuzz/kubernetes.dict -max_len=8192 -timeout=20 -max_total_time=$(or $(SECONDS),60); \
	done

played = -p server -p sandbox

## e2e: the real control plane, the sandbox held against it, and the real browser.
.PHONY: e2e
e2e: prerequisites
	end2end/setup
	end2end/cluster/build
	app/build
	cargo build $(played)
	node --test --test-concurrency=1 end2end/cluster/*.test.mjs end2end/judge/*.test.mjs end2end/conformance/*.test.mjs
	node end2end/conformance/run.mjs sandbox
	cd end2end && npx playwright test

## conformance: the sandbox against the real control plane, case by case; a difference fails.
.PHONY: conformance
conformance: prerequisites
	end2end/setup node
	end2end/cluster/build
	cargo build -p sandbox
	node --test end2end/conformance/*.test.mjs
	node end2end/conformance/run.mjs both

## cluster: a real control plane alone, with the sample application in it; prints its kubeconfig, ends on Ctrl-C.
.PHONY: cluster
cluster: prerequisites
	@end2end/setup node
	@end2end/cluster/build
	@node end2end/cluster/up.mjs --sample

## bench: what it costs and how long it takes, on this machine.
.PHONY: bench
bench: prerequisites
	end2end/setup
	end2end/cluster/build
	app/build
	cargo build --release -p server
	UNWIND_PROGRAM=target/release/unwind node end2end/bench.mjs
	cargo bench -p teardown --features fixture
	cargo bench -p sandbox --bench load

## clean: remove what was built here; the cache in ~/.cache/unwind stays.
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

# What is used for seconds is not worth the minutes that an optimiser takes.
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
