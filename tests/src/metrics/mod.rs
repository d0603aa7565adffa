//! Metrics as Prometheus parses them, and queries as Grafana sends them.

mod exposition;
mod promql;

pub use exposition::{Page, Sample, SampledFamily, get, parse};
pub use promql::{Use, uses};
