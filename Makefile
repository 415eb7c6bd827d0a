# The two commands of this house are `make demo` and `make test`. CI calls .ci/run, which calls these.
# Needed: a Rust tool chain (rustup reads rust-toolchain.toml), Python 3 with venv, npm, apt-get; for the tests Go (1.26 or newer) too.

CARGO ?= cargo
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dalsegno-lab
DENY_VERSION := 0.20.2
DENY := $(CACHE)/cargo-deny-$(DENY_VERSION)/bin/cargo-deny

.PHONY: demo test lint lab-tools corpus mutate audit deny bench-drill bench-audit help

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: ## set up real servers, then: healthy, proven, broken, found, a volume that fills; cleans up
	$(CARGO) build --locked --workspace --bins
	target/debug/demo

# One cargo call builds everything that tests need, the lab's tools with it, so that no crate is built with two sets of features.
# The feature `lab` compiles the points in at which the kill tests end the program.
test: ## install what the tests need, then run all of them
	$(CARGO) test --locked --workspace --features dalsegno/lab --no-run
	target/debug/lab-tools
	$(CARGO) test --locked --workspace --features dalsegno/lab

lint: ## format and clippy, warnings are errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets --features dalsegno/lab -- -D warnings

# Kubernetes is built from its Go module once, about ten minutes; KUBEBUILDER_ASSETS with all four programs spares it.
lab-tools: ## install the lab's servers into $(CACHE)
	$(CARGO) test --locked --workspace --features dalsegno/lab --no-run
	target/debug/lab-tools

corpus: ## how many of the recorded real faults are named; ends with CORPUS <named> <visible> <alarms on twins>
	@said=$$(mktemp) || exit 1; trap 'rm -f "$$said"' EXIT; \
	$(CARGO) test --locked --test it corpus:: -- --nocapture --test-threads=1 >"$$said"; code=$$?; \
	grep -v '^CORPUS ' "$$said"; grep '^CORPUS ' "$$said" || { echo "make corpus: nothing was counted" >&2; [ $$code -ne 0 ] || code=1; }; \
	exit $$code

mutate: ## flip the decision about each code that policy can say: at least one test must notice; ends with MUTATE <noticed> <codes>
	tests/mutate.sh

deny: $(DENY) ## licences, bans and sources of all dependencies, offline
	$(CARGO) fetch --locked
	$(DENY) --offline --locked check licenses bans sources

audit: $(DENY) ## advisories; needs the internet, and says so when there is none
	@$(DENY) --locked check advisories || { echo "make audit: FAILED: there are advisories, or their database could not be fetched: nothing is known to be fine" >&2; exit 1; }

$(DENY):
	$(CARGO) install cargo-deny --version $(DENY_VERSION) --locked --root $(CACHE)/cargo-deny-$(DENY_VERSION)

bench-drill: ## wall time of a drill against barman-cloud; ends with RATIO lines
	bench/drill.sh

bench-audit: ## audit of a million WAL objects against barman-cloud; ends with RATIO lines
	bench/audit.sh
