# Every command of this repository. `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: browser clients docs help setup demo demo-swap test test-build test-rust test-valkey test-contracts test-api test-explorer explorer dist test-packaging fuzz-long symbolic contracts bench bench-gas soak load fuzz audit lint deny fmt tools

CONTRACTS := contracts
# npm writes this file last: it is there and newer than the lock file when the install is complete.
NPM := $(CONTRACTS)/node_modules/.package-lock.json
CLIENTS_NPM := clients/js/node_modules/.package-lock.json
EXPLORER_NPM := explorer/node_modules/.package-lock.json
TARGET := $(if $(CARGO_TARGET_DIR),$(CARGO_TARGET_DIR),target)
DEVNET := $(TARGET)/demo/braid-devnet
# the site's builder, without its web server; one installation for every checkout of this machine
MDBOOK_VERSION := 0.5.4
MDBOOK_HOME := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/braid/mdbook-$(MDBOOK_VERSION)
MDBOOK := $(MDBOOK_HOME)/bin/mdbook

help: ## Lists these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

setup: tools $(NPM) ## Installs the pinned npm packages: real contracts, compilers, the local chain

demo: tools $(NPM) ## Starts a local chain and the service on it (DEMO_NODE_PORT, BRAID_PORT change the ports); Ctrl-C ends both
	@echo "Building (several minutes the first time, seconds afterwards)."
	@cargo build --profile demo --bins -p braid -p braid-devnet
	@exec $(DEVNET) demo --end-with-parent

demo-swap: tools ## Swaps on the running demo and compares the amounts to the wei (SWAP_FROM, SWAP_TO, SWAP_AMOUNT, SWAP_PROTOCOL)
	@cargo build --quiet --profile demo --bins -p braid -p braid-devnet
	@exec $(DEVNET) swap

# The contracts' suite runs beside the compiler. The last step meets the binaries that the Rust tests left: built by itself, test-api would
# compile the dependencies once more, with the fewer features that they have without the tests' own.
test: browser $(NPM) $(CLIENTS_NPM) $(EXPLORER_NPM) ## Runs every test: contracts, unit, property, end to end, clients, documentation, generated requests
	@mkdir -p $(TARGET)/test-output
	@echo "The contracts' suite runs while the Rust tests are built; what it says follows."
	@$(MAKE) --no-print-directory test-contracts >$(TARGET)/test-output/contracts.txt 2>&1 & suite=$$!; \
	$(MAKE) --no-print-directory test-packaging test-explorer test-build || { kill $$suite; exit 1; }; \
	wait $$suite; ended=$$?; cat $(TARGET)/test-output/contracts.txt; exit $$ended
	@$(MAKE) --no-print-directory test-rust
	@[ ! -x $(MDBOOK) ] || $(MAKE) --no-print-directory docs
	scripts/test-api.sh

test-build: tools
	cargo test --workspace --no-run

test-contracts: tools $(NPM)
	$(CONTRACTS)/test.sh

fuzz-long: tools $(NPM) ## Runs the contract tests with more than two million fuzzed calls (half an hour of one core)
	LONG=1 $(CONTRACTS)/test.sh

symbolic: tools $(NPM) ## Proves the decoder's bounds and the callback guard for every input, with halmos (Python 3)
	$(CONTRACTS)/symbolic.sh

test-rust: tools $(NPM) ## Runs the Rust tests, their binaries side by side (JOBS at a time)
	@scripts/check-tools.sh python3 redis-server nginx
	scripts/test-rust.py
	@if command -v valkey-server >/dev/null; then $(MAKE) --no-print-directory test-valkey; fi

test-valkey: ## Runs the tests of shared services on Valkey (VALKEY names the server binary)
	BRAID_TEST_REDIS_SERVER=$(VALKEY) cargo test --workspace --test http -- stream:: replicas::

test-api: tools browser $(NPM) $(CLIENTS_NPM) $(EXPLORER_NPM) ## Runs the clients, the documentation's examples, the explorer in Chromium and 5,000 generated requests (CASES, SEED) against a demo
	cargo build --bins --examples -p braid -p braid-devnet -p braid-swap
	scripts/test-api.sh

test-explorer: tools $(EXPLORER_NPM) ## Tests the explorer, and that explorer/dist matches its sources
	node --test explorer/test/unit/*.test.mjs
	explorer/build.sh --check

explorer: tools $(EXPLORER_NPM) ## Builds the page that the binary embeds, explorer/dist, from explorer/
	explorer/build.sh

contracts: tools $(NPM) ## Builds contracts/artifacts/ExecutionProxy.json from its source
	$(CONTRACTS)/build.sh

dist: tools ## Builds the release files into TARGET/dist: the stripped binary, a Debian package (needs dpkg-deb), and checksums
	cargo build --locked --profile dist -p braid
	@if command -v dpkg-deb >/dev/null; then packaging/debian/build.sh $(TARGET)/dist/braid $(TARGET)/dist; fi
	@cd $(TARGET)/dist && sha256sum braid $$(ls *.deb 2>/dev/null) | tee SHA256SUMS

test-packaging: tools ## Checks the alert rules, the compose files, the unit and the Debian package's scripts with the installed tools
	packaging/check.sh

bench: tools $(NPM) ## Measures exact quotes, solving (plots in TARGET/bench), disturbed markets, quotes per second over HTTP, simulations, applying a block, restarting
	cargo bench -p braid-protocols --bench quote --bench curve --bench vaults
	cargo run --release -p braid-lab -- bench --plots $(TARGET)/bench
	cargo run --release -p braid-lab -- zoo
	cargo run --release -p braid-lab -- bench-http
	cargo bench -p braid-server --bench simulation
	cargo run --release -p braid-ethereum --example apply_block
	cargo run --release -p braid-lab -- bench-restart

VALKEY ?= valkey-server
SOAK_S ?= 3600
LOAD_S ?= 60
KILLS ?= 50

soak: tools $(NPM) ## Loads a service on a local chain for an hour (SOAK_S seconds; BLOCK_TIME_S between blocks) at 70% of its capacity; reports latency and memory
	cargo build --release --bins -p braid -p braid-devnet -p braid-lab
	PROFILE=release scripts/soak.sh soak $(SOAK_S)

load: tools $(NPM) ## Sends sequential quotes, then 70% and five times the capacity, LOAD_S seconds each, without and with simulations; then KILLS times kill -9 under load
	cargo build --release --bins -p braid -p braid-devnet -p braid-lab
	PROFILE=release scripts/soak.sh load $(LOAD_S)
	PROFILE=release scripts/soak.sh load $(LOAD_S) --simulate
	BRAID_TEST_KILLS=$(KILLS) cargo test -p braid-server --test http kills_under_load -- --nocapture

FUZZ_S ?= 600

fuzz: tools ## Runs each decoder of outside bytes under libFuzzer for FUZZ_S seconds; needs nightly Rust and cargo-fuzz
	FUZZ_S=$(FUZZ_S) scripts/fuzz.sh

audit: tools ## Compares the dependencies with the RustSec database (without network: RUSTSEC_DB names a checkout)
	@scripts/dependencies.sh audit

bench-gas: tools $(NPM) ## Measures the gas of whole transactions next to single-purpose routers
	$(CONTRACTS)/bench-gas.sh

lint: tools deny $(NPM) ## Checks formatting, lints, licences, and that the proxy's artifact matches its source
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(CONTRACTS)/build.sh --check

deny: tools ## Checks licences, sources and bans of the dependencies
	@scripts/dependencies.sh deny

fmt: tools ## Formats the Rust code
	cargo fmt --all

browser:
	@scripts/check-tools.sh chromium curl jq

tools:
	@scripts/check-tools.sh cargo cc node npm

$(NPM): $(CONTRACTS)/package-lock.json
	@scripts/check-tools.sh linux-x86_64
	@echo "Installing the pinned npm packages of $(CONTRACTS)/."
	@cd $(CONTRACTS) && npm ci --ignore-scripts --silent
	@touch $@

$(EXPLORER_NPM): explorer/package-lock.json
	@echo "Installing the pinned npm packages of explorer/."
	@cd explorer && npm ci --ignore-scripts --silent
	@touch $@

docs: $(MDBOOK) ## Builds the documentation site into TARGET/docs; needs no network once mdbook is installed
	scripts/docs.sh $(MDBOOK) $(TARGET)/docs

$(MDBOOK): | tools
	@echo "Installing mdbook $(MDBOOK_VERSION) into $(MDBOOK_HOME)."
	@cargo install mdbook --quiet --locked --version $(MDBOOK_VERSION) --no-default-features --features search --root $(MDBOOK_HOME)

clients: tools $(CLIENTS_NPM) ## Builds the TypeScript client, clients/js/dist
	clients/js/build.sh

$(CLIENTS_NPM): clients/js/package-lock.json
	@echo "Installing the pinned npm packages of clients/js/."
	@cd clients/js && npm ci --ignore-scripts --silent
	@touch $@
