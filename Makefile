# On a fresh Debian or Ubuntu with Rust and a C++ compiler, each of these does its own set-up.
# One profile (release) builds, tests and measures: RocksDB's C++ is compiled once, which takes
# some minutes the first time. ROCKSDB_LIB_DIR and ROCKSDB_STATIC are honored when they are set.

CARGO ?= cargo
# Of the tests: small, or full.
SIZE ?= small
DEMO ?=
BENCH ?=
# What the comparison with other crawlers builds and installs.
PEERS := target/peers

.PHONY: all demo test build dist lint doc bench bench-crawl bench-cluster bench-traces bench-connections \
	bench-sieve bench-hosts bench-delay bench-latency bench-soak bench-peers setup setup-tests help

all: build

## demo         crawl a simulated web in this terminal (DEMO="--out DIR" passes options)
demo: build
	./target/release/crivello demo $(DEMO)

## test         all tests; SIZE=full runs more schedules, kills, URLs and hosts (docs/testing.md)
# More threads than cores: most scenarios wait, and those that compute take permits.
test: export CRIVELLO_TEST_SIZE = $(SIZE)
test: export RUST_TEST_THREADS ?= 6
test: setup setup-tests
	$(CARGO) test --release --workspace --no-fail-fast

## build        the program, target/release/crivello, and nothing for tests
build: setup
	$(CARGO) build --release --package crivello

## dist         target/dist/crivello-VERSION-TARGET.tar.gz: stripped program, man pages, completions, units, licenses
dist: setup
	$(CARGO) build --release --locked --package crivello
	CARGO="$(CARGO)" ./deploy/dist.sh

## lint         formatting, spelling, licenses, alert rules, and clippy, where warnings are errors
lint: setup
	$(CARGO) fmt --all --check
	.ci/lint
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

## doc          the documentation of all crates, in target/doc
doc: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --no-deps --workspace

## bench        micro-benchmarks (BENCH="--bench robots" runs one)
bench: setup
	$(CARGO) bench --workspace --exclude crivello-tests $(if $(BENCH),$(BENCH),--bench '*')

## bench-crawl  pages a second over 100,000 simulated pages, against a floor measured in the same run
bench-crawl: build
	$(CARGO) bench -p crivello-tests --bench crawl

## bench-cluster  CPU and bytes a page of clusters of 1, 2, 4, 8 agents, beside one crawler and as many apart
bench-cluster: build
	$(CARGO) bench -p crivello-tests --bench cluster

## bench-traces  CPU a page with the traces of single URLs off, at the default rate, and of all
bench-traces: build
	$(CARGO) bench -p crivello-tests --bench traces

## bench-connections  CPU a page with kept and new connections, plain and over TLS, beside a floor of the same kind
bench-connections: build
	$(CARGO) bench -p crivello-tests --bench connections

## bench-sieve  all bodies of the sieve over the same links (CRIVELLO_BENCH_URLS; of two sizes a model of 10 billion)
bench-sieve: setup
	$(CARGO) bench -p crivello-agent --bench sieve_bodies

## bench-hosts  a million hosts known, up to 100,000 on the workbench: visits a second, bytes a host, waits
bench-hosts: setup
	$(CARGO) bench -p crivello-agent --bench hosts

## bench-delay  pages a second with delays from 0.25 to 16 s over the same hosts, judged, and how the front shrinks
bench-delay: build
	$(CARGO) bench -p crivello-tests --bench delay

## bench-latency  pages a second where hosts take 200 ms and rest a second, beside what they allow
bench-latency: build
	$(CARGO) bench -p crivello-tests --bench latency

## bench-soak   two hours at full rate (CRIVELLO_SOAK_MINUTES): whether memory, rate, queues or files drift
bench-soak: build
	$(CARGO) bench -p crivello-tests --bench soak

## bench-peers  CPU a page beside the spider crate, Scrapy and wget2, in turns on the same simulated web
bench-peers: build
	@tests/peers/setup.sh $(PEERS)/venv
	$(CARGO) build --release --target-dir $(PEERS) --manifest-path tests/peers/Cargo.toml \
		|| $(CARGO) build --release --target-dir $(PEERS) --manifest-path tests/peers/Cargo.toml -p peers
	CRIVELLO_BINARY=$(CURDIR)/target/release/crivello CRIVELLO_PEERS_PYTHON=$(CURDIR)/$(PEERS)/venv/bin/python \
		$(PEERS)/release/peers

## setup        install what is missing (libclang), or say what to type
setup:
	@./deploy/setup.sh

## setup-tests  Chromium for the tests of the dashboard, where that can be installed; else they are skipped
setup-tests:
	@./deploy/setup.sh --tests

help:
	@sed -n 's/^## //p' Makefile
