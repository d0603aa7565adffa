//! Numbers as Prometheus reads them, and queries as Grafana asks them.

mod exposition;
mod promql;

pub use exposition::{Page, Sample, Told, get, parse};
pub use promql::{Use, uses};
