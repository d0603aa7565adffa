//! `make bench-traces`: the cost of tracing URLs, in CPU per page of the whole crawler.
//!
//! The same web is crawled with traces off (rate 0, no collector), at the default rate and at rate
//! 1, both exported to a collector in this process, whose CPU is not counted.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 30,000), `CRIVELLO_BENCH_ROUNDS` the
//! number of runs of each (default 7).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../crawl/run.rs"]
mod run;
#[path = "../crawl/ways.rs"]
mod ways;

use crivello_tests::{Collector, env_value};

fn main() {
    let n_pages = env_value("CRIVELLO_BENCH_PAGES").unwrap_or(30_000);
    let n_rounds = env_value("CRIVELLO_BENCH_ROUNDS").unwrap_or(7).max(1);
    let dir = tempfile::tempdir().expect("a directory");
    let collector = Collector::start();
    let rate = |rate: &str| vec!["--set".to_owned(), format!("telemetry.trace-rate={rate}")];
    let export = ["--otlp".to_owned(), collector.url()];
    let ways = [
        ("off", rate("0")),
        ("default", export.to_vec()),
        ("all", [rate("1"), export.to_vec()].concat()),
    ];
    let mut before = 0;
    ways::compare(dir.path(), (n_pages, n_rounds), &ways, || {
        let n_spans = collector.spans().len();
        format!("spans {:>8}", n_spans - std::mem::replace(&mut before, n_spans))
    });
}
