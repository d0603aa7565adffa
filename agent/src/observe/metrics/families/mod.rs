//! Every number that an agent tells: its name, its meaning, and where it comes from. The table in
//! `docs/metrics.md` says the same, and a test holds both together.

mod bench;
mod cluster;
mod crawl;
mod machine;
mod stages;

use crate::observe::metrics::Reading;
use crivello_common::metrics::MetricFamily;

/// All of them, in the order of the table.
pub const FAMILIES: &[&[MetricFamily<Reading>]] =
    &[crawl::ALL, bench::ALL, stages::ALL, machine::ALL, cluster::ALL];
