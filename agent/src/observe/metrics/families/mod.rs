//! All metrics of an agent, with name, meaning and source. The table in `docs/metrics.md` lists the
//! same metrics, and a test compares them.

mod cluster;
mod crawl;
mod machine;
mod stages;
mod workbench;

use crate::observe::metrics::reading::Reading;
use crivello_common::metrics::MetricFamily;

/// All metric families, in the order of the table.
pub const FAMILIES: &[&[MetricFamily<Reading>]] =
    &[crawl::ALL, workbench::ALL, stages::ALL, machine::ALL, cluster::ALL];
