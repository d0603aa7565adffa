# On Debian or Ubuntu with Rust, each target installs the other packages that it needs.
# Builds, tests and benchmarks share one profile (release), so that RocksDB's C++ code is compiled only
# once; the first build takes some minutes. ROCKSDB_LIB_DIR and ROCKSDB_STATIC are used if they are set.

CARGO ?= cargo
# Size of the tests: small or full.
SIZE ?= small
DEMO ?=
BENCH ?=
# Seconds for each target of the fuzzing, or all its options.
FUZZ_SECONDS ?= 60
FUZZ ?=
# Directory for everything that the comparison with other crawlers builds and installs.
PEERS := target/peers

.PHONY: all demo test fuzz nightly build dist lint doc bench bench-crawl bench-cluster bench-traces bench-expressions bench-connections \
	bench-groups bench-recrawl bench-sieve bench-near bench-hosts bench-admission bench-delay bench-latency bench-soak bench-peers bench-export bench-search setup setup-tests help

all: build

## demo         crawl a simulated web in this terminal (DEMO="--out DIR" passes options)
# Without exports, whose dependencies take long to compile, unless `make build` has compiled them already.
demo: setup
	$(CARGO) build --release --package crivello $(if $(wildcard target/release/deps/libcrivello_export-*.rlib),,--no-default-features)
	./target/release/crivello demo $(DEMO)

## test         all tests; SIZE=full runs more schedules, kills, URLs and hosts (docs/testing.md)
test: export CRIVELLO_TEST_SIZE = $(SIZE)
test: setup setup-tests
	CARGO="$(CARGO)" ./tests/run.sh

## fuzz         mutated inputs for each target in fuzz/, FUZZ_SECONDS each (60); FUZZ="..." passes options (fuzz/README.md)
# Our own crates are built again, with checks of integer overflow and with debug assertions. Dependencies
# are those of `make test`, which has the same features.
FUZZ_CRATES := crivello-codes crivello-filters crivello-expressions crivello-recrawl crivello-common crivello-proto crivello-html crivello-archive crivello-export crivello-agent crivello-coordinator fuzz
FUZZ_CHECKS := $(foreach crate,$(FUZZ_CRATES),$(foreach check,overflow-checks debug-assertions,\
	--config profile.release.package.$(crate).$(check)=true))
fuzz: setup
	$(CARGO) test --release --workspace --test short --no-run $(FUZZ_CHECKS)
	./target/release/fuzz $(or $(FUZZ),--seconds $(FUZZ_SECONDS))

## nightly      tests that take hours: 10,000 simulated schedules, replay, an hour of faults, an hour of fuzzing
# There are nine kinds of schedules.
nightly: setup
	CRIVELLO_TEST_SCHEDULES=1112 $(CARGO) test --release -p crivello-tests --test scenarios cluster_schedules
	$(CARGO) test --release -p crivello-tests --test scenarios replay -- --ignored
	CRIVELLO_TEST_CHAOS_MINUTES=60 $(CARGO) test --release -p crivello-tests --test scenarios chaos_processes
	$(MAKE) fuzz FUZZ_SECONDS=300

## build        the program, target/release/crivello, without the tests
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

# The whole workspace, because its crates are then built with the same features as for `make test`.
## bench-crawl  CPU per page over 100,000 simulated pages, compared with a floor measured in the same run
bench-crawl: build
	$(CARGO) bench --workspace --bench crawl

## bench-cluster  CPU and bytes per page with 1, 2, 4, 8 agents, compared with as many independent crawlers
bench-cluster: build
	$(CARGO) bench --workspace --bench cluster

## bench-traces  CPU per page with tracing of URLs off, at the default rate, and of all URLs
bench-traces: build
	$(CARGO) bench --workspace --bench traces

## bench-expressions  CPU per page without expressions, with three, and with three that need the main text
bench-expressions: build
	$(CARGO) bench --workspace --bench expressions

## bench-connections  CPU per page with kept-alive and new connections, plain and TLS, each compared with a floor
bench-connections: build
	$(CARGO) bench --workspace --bench connections

## bench-sieve  all implementations of the sieve over the same links (CRIVELLO_BENCH_URLS sets the number of URLs)
bench-sieve: setup
	$(CARGO) bench --workspace --bench sieve_bodies

## bench-near   look-ups, bytes and memory of the index of near-duplicates (CRIVELLO_BENCH_PAGES sets the number of pages)
bench-near: setup
	$(CARGO) bench --workspace --bench near

## bench-hosts  visits per second, bytes per host and waits with 1,000,000 hosts, up to 100,000 on the workbench
bench-hosts: setup
	$(CARGO) bench --workspace --bench hosts

## bench-admission  instructions for each link, from the page to the commit, counted by callgrind (needs valgrind)
bench-admission: setup
	$(CARGO) bench --workspace --bench admission

## bench-groups  take-over and copying of the groups of a dead agent (CRIVELLO_BENCH_GROUPS sets the number)
bench-groups: setup
	$(CARGO) bench --workspace --bench groups

## bench-recrawl  bytes on disk, memory and passes of pages that are fetched again (CRIVELLO_BENCH_PAGES sets the number)
bench-recrawl: setup
	$(CARGO) bench --workspace --bench recrawl

## bench-delay  pages per second with delays from 0.25 to 16 s over the same hosts, and shrinking of the front
bench-delay: build
	$(CARGO) bench --workspace --bench delay

## bench-latency  pages per second with hosts that take 200 ms and rest a second, compared with the possible maximum
bench-latency: build
	$(CARGO) bench --workspace --bench latency

## bench-soak   two hours at full rate (CRIVELLO_SOAK_MINUTES): checks that memory, rate, queues and files do not drift
bench-soak: build
	$(CARGO) bench --workspace --bench soak

## bench-export  CPU time of WET and other exports, compared with a bare decompressing read of the same files
bench-export: setup
	$(CARGO) bench -p crivello-export --bench exports

## bench-search  size, queries and building of an index, compared with tantivy and xapian on the same words (CRIVELLO_BENCH_DOCUMENTS)
bench-search: setup
	$(CARGO) bench -p crivello-search --bench search

## bench-peers  CPU per page compared with the spider crate, Scrapy and wget2 on the same simulated web
bench-peers: build
	@tests/peers/setup.sh $(PEERS)/venv
	$(CARGO) build --release --target-dir $(PEERS) --manifest-path tests/peers/Cargo.toml \
		|| $(CARGO) build --release --target-dir $(PEERS) --manifest-path tests/peers/Cargo.toml -p peers
	CRIVELLO_BINARY=$(CURDIR)/target/release/crivello CRIVELLO_PEERS_PYTHON=$(CURDIR)/$(PEERS)/venv/bin/python \
		$(PEERS)/release/peers

## setup        installs missing packages (C++ compiler, libclang), or prints the command that does
setup:
	@./deploy/setup.sh

## setup-tests  installs Chromium for the tests of the dashboard; if that fails, they are skipped
setup-tests:
	@./deploy/setup.sh --tests

help:
	@sed -n 's/^## //p' Makefile
