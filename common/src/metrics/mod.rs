//! Metrics for Prometheus.
//!
//! A [`MetricFamily`] has a name, a description and a function that reads its values from a source
//! at the time of a scrape. So values that exist anyway cost nothing between scrapes. Durations are
//! recorded as they occur, in a [`Histogram`], by two atomic additions.

mod histogram;
mod text;

pub use histogram::{Histogram, NETWORK_BUCKETS, Timer, WORK_BUCKETS};
pub use text::{
    CONTENT_TYPE, FamilyInfo, Labels, MetricFamily, MetricKind, MetricValue, Samples, counter,
    gauge, render, timing,
};
