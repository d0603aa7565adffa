//! Metric families and the text format that Prometheus scrapes.

use super::histogram::{Histogram, HistogramSnapshot};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// `Content-Type` of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only increases, except that a restart resets it.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts durations in buckets.
    Histogram,
}

impl MetricKind {
    /// Returns the name in Prometheus.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Label names and values.
pub type Labels = Vec<(&'static str, String)>;

/// A metric with all its label values, read from an `R`.
pub struct MetricFamily<R: 'static> {
    /// Name including the unit. The name of a counter ends with `_total`.
    pub name: &'static str,
    /// Type of the metric.
    pub kind: MetricKind,
    /// Unit, in the plural.
    pub unit: &'static str,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// Description: a sentence without full stop.
    pub help: &'static str,
    /// Function that reads the samples from the source.
    pub read: fn(&R, &mut Samples),
}

/// The description of a [`MetricFamily`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "see MetricFamily")]
pub struct FamilyInfo {
    pub name: &'static str,
    pub kind: MetricKind,
    pub unit: &'static str,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl<R> From<&MetricFamily<R>> for FamilyInfo {
    fn from(family: &MetricFamily<R>) -> Self {
        let &MetricFamily { name, kind, unit, labels, help, .. } = family;
        Self { name, kind, unit, labels, help }
    }
}

/// The value of a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricValue {
    /// A count.
    Whole(u64),
    /// A measured quantity.
    Real(f64),
    /// A histogram of durations.
    Times(HistogramSnapshot),
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
impl MetricValue {
    const fn as_f64(&self) -> f64 {
        match self {
            Self::Whole(n) => *n as f64,
            Self::Real(x) => *x,
            Self::Times(snapshot) => snapshot.sum,
        }
    }
}

impl From<u64> for MetricValue {
    fn from(n: u64) -> Self {
        Self::Whole(n)
    }
}

impl From<usize> for MetricValue {
    fn from(n: usize) -> Self {
        Self::Whole(n as u64)
    }
}

impl From<f64> for MetricValue {
    fn from(x: f64) -> Self {
        Self::Real(x)
    }
}

impl From<bool> for MetricValue {
    fn from(is_so: bool) -> Self {
        Self::Whole(is_so.into())
    }
}

impl From<Duration> for MetricValue {
    fn from(time: Duration) -> Self {
        Self::Real(time.as_secs_f64())
    }
}

impl From<&Histogram> for MetricValue {
    fn from(times: &Histogram) -> Self {
        Self::Times(times.snapshot())
    }
}

/// The samples of a family, collected by [`MetricFamily::read`].
#[derive(Debug)]
pub struct Samples {
    base: Labels,
    labels: &'static [&'static str],
    read: Vec<(Labels, MetricValue)>,
}

impl Samples {
    /// Adds the only sample of a family without labels.
    pub fn one(&mut self, value: impl Into<MetricValue>) {
        self.of(&[], value);
    }

    /// Adds a sample with these label values, in the order of the family's labels.
    pub fn of(&mut self, labels: &[&str], value: impl Into<MetricValue>) {
        debug_assert_eq!(labels.len(), self.labels.len(), "{labels:?} for {:?}", self.labels);
        let own = self.labels.iter().zip(labels).map(|(&name, &value)| (name, value.to_owned()));
        self.read.push((self.base.iter().cloned().chain(own).collect(), value.into()));
    }
}

/// Returns a counter of `unit`.
#[must_use]
pub const fn counter<R>(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&R, &mut Samples),
) -> MetricFamily<R> {
    MetricFamily { name, kind: MetricKind::Counter, unit, labels, help, read }
}

/// Returns a gauge of `unit`.
#[must_use]
pub const fn gauge<R>(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&R, &mut Samples),
) -> MetricFamily<R> {
    MetricFamily { name, kind: MetricKind::Gauge, unit, labels, help, read }
}

/// Returns a histogram of durations.
#[must_use]
pub const fn timing<R>(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&R, &mut Samples),
) -> MetricFamily<R> {
    MetricFamily { name, kind: MetricKind::Histogram, unit: "seconds", labels, help, read }
}

/// Renders all families as text, read from one or more sources. Its labels distinguish a source
/// from the others.
#[must_use]
pub fn render<R>(families: &[&[MetricFamily<R>]], sources: &[(Labels, R)]) -> String {
    let read = |family: &MetricFamily<R>| {
        let mut all = Vec::new();
        for (base, source) in sources {
            let (base, labels) = (base.clone(), family.labels);
            let mut samples = Samples { base, labels, read: Vec::new() };
            (family.read)(source, &mut samples);
            all.append(&mut samples.read);
        }
        let &MetricFamily { name, kind, help, .. } = family;
        Filled { name, kind, help, samples: all }
    };
    let all = families.iter().copied().flatten().map(read).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(all)));
    let mut page = String::new();
    // Writing to a String cannot fail.
    let _ = text::encode(&mut page, &registry);
    page
}

/// Families with their samples.
#[derive(Debug)]
struct Page(Vec<Filled>);

#[derive(Debug)]
struct Filled {
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    samples: Vec<(Labels, MetricValue)>,
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        for family in &self.0 {
            let (name, unit) = parts(family.name);
            let kind = match family.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Histogram => MetricType::Histogram,
            };
            let mut one = encoder.encode_descriptor(name, family.help, unit.as_ref(), kind)?;
            for (labels, value) in &family.samples {
                write(one.encode_family(labels)?, family.kind, value)?;
            }
        }
        Ok(())
    }
}

fn write(
    mut encoder: MetricEncoder<'_>,
    kind: MetricKind,
    value: &MetricValue,
) -> std::fmt::Result {
    match (kind, value) {
        (MetricKind::Histogram, MetricValue::Times(snapshot)) => {
            let count = snapshot.buckets.iter().map(|&(_, n)| n).sum();
            encoder.encode_histogram::<[(&str, &str); 0]>(
                snapshot.sum,
                count,
                &snapshot.buckets,
                None,
            )
        }
        (MetricKind::Counter, MetricValue::Whole(n)) => {
            encoder.encode_counter::<[(&str, &str); 0], _, u64>(n, None)
        }
        (MetricKind::Counter, value) => {
            encoder.encode_counter::<[(&str, &str); 0], _, u64>(&value.as_f64(), None)
        }
        (_, value) => encoder.encode_gauge(&value.as_f64()),
    }
}

/// Splits a name into the part before the suffixes that the format appends, and its unit.
fn parts(name: &'static str) -> (&'static str, Option<Unit>) {
    let name = name.strip_suffix("_total").unwrap_or(name);
    if let Some(rest) = name.strip_suffix("_seconds") {
        (rest, Some(Unit::Seconds))
    } else if let Some(rest) = name.strip_suffix("_bytes") {
        (rest, Some(Unit::Bytes))
    } else {
        (name, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::WORK_BUCKETS;
    use super::*;

    struct Shop {
        sold: u64,
        waits: Histogram,
    }

    const FAMILIES: &[MetricFamily<Shop>] = &[
        counter("shop_sold_total", "cakes", &["kind"], "Cakes sold", |shop, s| {
            s.of(&["\"plum\"\n"], shop.sold);
            s.of(&["\\"], 0_u64);
        }),
        gauge("shop_till_bytes", "bytes", &[], "In the till", |_, s| s.one(2_usize)),
        timing("shop_wait_seconds", &[], "At the counter", |shop, s| s.one(&shop.waits)),
    ];

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let shop = Shop { sold: 3, waits: Histogram::new(&WORK_BUCKETS[..2]) };
        shop.waits.observe(Duration::from_micros(200));
        shop.waits.observe(Duration::from_secs(1));
        let text = render(&[FAMILIES], &[(vec![("town", "Ulm".to_owned())], shop)]);
        let wanted = r#"# HELP shop_sold Cakes sold
# TYPE shop_sold counter
shop_sold_total{town="Ulm",kind="\"plum\"\n"} 3
shop_sold_total{town="Ulm",kind="\\"} 0
# HELP shop_till_bytes In the till
# TYPE shop_till_bytes gauge
# UNIT shop_till_bytes bytes
shop_till_bytes{town="Ulm"} 2.0
# HELP shop_wait_seconds At the counter
# TYPE shop_wait_seconds histogram
# UNIT shop_wait_seconds seconds
shop_wait_seconds_sum{town="Ulm"} 1.0002
shop_wait_seconds_count{town="Ulm"} 2
shop_wait_seconds_bucket{le="0.00005",town="Ulm"} 0
shop_wait_seconds_bucket{le="0.00025",town="Ulm"} 1
shop_wait_seconds_bucket{le="+Inf",town="Ulm"} 2
# EOF
"#;
        assert_eq!(text, wanted);
    }
}
