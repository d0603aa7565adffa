//! Every number that an agent tells: its name, its meaning, and where it comes from. The table in
//! `docs/metrics.md` says the same, and a test holds both together.

mod cluster;
mod crawl;
mod machine;
mod stages;
mod workbench;

use crate::observe::metrics::Reading;
use crivello_common::metrics::MetricFamily;

/// All of them, in the order of the table.
pub const FAMILIES: &[&[MetricFamily<Reading>]] =
    &[crawl::ALL, workbench::ALL, stages::ALL, machine::ALL, cluster::ALL];
