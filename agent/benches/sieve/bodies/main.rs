//! All bodies of the sieve over the same stream of links, each alone, with and without the table
//! of recent URLs in front: one table in Markdown.
//!
//! The links are those of the bench `sieve`, as keys that are made up on a thread of their own, so
//! that neither parsing nor hashing of URLs is measured. `CRIVELLO_BENCH_URLS` says how many
//! different URLs, by default two million, or several sizes with commas between, of which the two
//! largest, to come last, make a model of ten billion;
//! `CRIVELLO_BENCH_MEMORY` what the filters and the accumulator of `offline` have (by default
//! `256MiB`), `CRIVELLO_BENCH_DIR` where files are. Names of bodies as arguments run only these.
//!
//! Each row is a process of its own, whose CPU time is counted with all of its threads but the
//! stream's, and whose memory is its own. `rocksdb` writes the rows of `seen` that a crawl writes
//! with every body: that is what it costs to keep them at all.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../../memory.rs"]
mod memory;
mod model;
mod offline;
mod run;
#[path = "../stream.rs"]
mod stream;
mod subject;
#[path = "../usage.rs"]
mod usage;
mod written;

use crivello_common::units::ByteSize;
use run::{Figures, Order};
use std::process::{Command, Stdio};
use subject::Kind;

/// Environment variable with the task of a process that measures one row.
const ROW: &str = "CRIVELLO_BENCH_ROW";

fn main() {
    if let Ok(row) = std::env::var(ROW) {
        let order = serde_json::from_str(&row).expect("the order from the parent process");
        println!("{}", serde_json::to_string(&run::run(&order)).expect("figures"));
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let sizes = std::env::var("CRIVELLO_BENCH_URLS").unwrap_or_else(|_| "2000000".to_owned());
    let memory = std::env::var("CRIVELLO_BENCH_MEMORY").unwrap_or_else(|_| "256MiB".to_owned());
    let memory: ByteSize = memory.parse().expect("CRIVELLO_BENCH_MEMORY, such as 256MiB");
    let mut measured = Vec::new();
    println!("{}", Figures::HEAD);
    for n_urls in sizes.split(',') {
        let n_urls = n_urls.trim().parse().expect("CRIVELLO_BENCH_URLS, numbers with commas");
        for kind in Kind::ALL {
            if !wanted.is_empty() && !wanted.iter().any(|name| name == kind.name()) {
                continue;
            }
            for recent in [true, false] {
                let order = Order { kind, n_urls, recent, memory: memory.0 };
                let figures = in_a_process(&order);
                println!("{}", figures.row(&order));
                measured.push((order, figures));
            }
        }
    }
    let rows = model::rows(&measured);
    if !rows.is_empty() {
        println!(
            "\nBy the two largest sizes (see model.rs):\n\n{}\n{}",
            model::HEAD,
            rows.join("\n")
        );
    }
}

/// This program once more.
fn in_a_process(order: &Order) -> Figures {
    let program = std::env::current_exe().expect("the path of this program");
    let mut child = Command::new(program);
    child.env(ROW, serde_json::to_string(order).expect("an order")).stderr(Stdio::inherit());
    let output = child.output().expect("the child process runs");
    assert!(output.status.success(), "{order:?}: {}", output.status);
    serde_json::from_slice(&output.stdout).expect("the figures of the child process")
}
