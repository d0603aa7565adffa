//! `make bench-traces`: the cost of tracing URLs, in CPU per page of the whole crawler.
//!
//! The same web is crawled with traces off (rate 0, no collector), at the default rate and at rate
//! 1, both exported to a collector in this process, whose CPU is not counted. The runs alternate,
//! so that a machine that becomes slower affects all of them equally. The medians are compared.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 30,000), `CRIVELLO_BENCH_ROUNDS` the
//! number of runs of each (default 7).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../crawl/run.rs"]
mod run;

use crivello_tests::{Collector, env_value};

/// Cases: name, and trace rate unless it is the default.
const WAYS: [(&str, Option<&str>); 3] = [("off", Some("0")), ("default", None), ("all", Some("1"))];

fn main() {
    let pages: u32 = env_value("CRIVELLO_BENCH_PAGES").unwrap_or(30_000);
    let rounds: u32 = env_value("CRIVELLO_BENCH_ROUNDS").unwrap_or(7).max(1);
    let dir = tempfile::tempdir().expect("a directory");
    let (mut web, ready) = run::start_web(dir.path(), &simweb::Spec::bench(pages), None);
    let collector = Collector::start();
    let mut cpu: [Vec<f64>; WAYS.len()] = Default::default();
    for round in 0..rounds {
        for (i, (name, rate)) in WAYS.into_iter().enumerate() {
            let out = dir.path().join(format!("{name}-{round}"));
            let mut args: Vec<String> = rate
                .iter()
                .flat_map(|rate| ["--set".to_owned(), format!("telemetry.trace-rate={rate}")])
                .collect();
            if name != "off" {
                args.extend(["--otlp".to_owned(), collector.url()]);
            }
            let before = collector.spans().len();
            let (_, usage) = run::measured(run::crawl(&out, dir.path(), &ready, &args));
            let per_page = usage.cpu().as_secs_f64() * 1e6 / f64::from(pages);
            let n_spans = collector.spans().len() - before;
            println!("round {round}   {name:<8} CPU µs/page {per_page:>7.1}   spans {n_spans:>8}");
            cpu[i].push(per_page);
            std::fs::remove_dir_all(&out).expect("delete the crawl");
        }
    }
    drop(web.stdin.take());
    let _ = web.wait();

    let medians = cpu.map(median);
    println!("medians of {rounds} rounds over {pages} pages");
    for ((name, _), median) in WAYS.into_iter().zip(medians) {
        let more = (median / medians[0] - 1.0) * 100.0;
        println!("{name:<8} CPU µs/page {median:>7.1}   {more:>+6.2} % beside off");
    }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    let middle = of.len() / 2;
    if of.len() % 2 == 1 { of[middle] } else { f64::midpoint(of[middle - 1], of[middle]) }
}
