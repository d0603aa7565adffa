//! Metric families and the text format that Prometheus scrapes.

use super::histogram::{Histogram, HistogramSnapshot};
use crate::closed_set;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// `Content-Type` of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

closed_set! {
    /// The type of a metric, with its name in Prometheus.
    pub enum MetricKind {
        /// Only increases, except that a restart resets it.
        Counter => "counter",
        /// Increases and decreases.
        Gauge => "gauge",
        /// Counts durations in buckets.
        Histogram => "histogram",
    }
}

/// Label names and values.
pub type Labels = Vec<(&'static str, String)>;

/// A metric with all its label values, read from an `R`.
pub struct MetricFamily<R: 'static> {
    /// Description of the metric.
    pub info: FamilyInfo,
    /// Function that reads the samples from the source.
    pub read: fn(&R, &mut Samples),
}

/// The description of a [`MetricFamily`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyInfo {
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
}

impl FamilyInfo {
    const fn new(name: &'static str, kind: MetricKind, unit: &'static str) -> Self {
        Self { name, kind, unit, labels: &[], help: "" }
    }

    /// Sets the names of the labels.
    #[must_use]
    pub const fn labels(self, labels: &'static [&'static str]) -> Self {
        Self { labels, ..self }
    }

    /// Sets the description.
    #[must_use]
    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Returns the metric whose samples `read` reads.
    pub const fn read<R>(self, read: fn(&R, &mut Samples)) -> MetricFamily<R> {
        MetricFamily { info: self, read }
    }
}

/// Returns the description of a counter of `unit`.
#[must_use]
pub const fn counter(name: &'static str, unit: &'static str) -> FamilyInfo {
    FamilyInfo::new(name, MetricKind::Counter, unit)
}

/// Returns the description of a gauge of `unit`.
#[must_use]
pub const fn gauge(name: &'static str, unit: &'static str) -> FamilyInfo {
    FamilyInfo::new(name, MetricKind::Gauge, unit)
}

/// Returns the description of a histogram of durations.
#[must_use]
pub const fn timing(name: &'static str) -> FamilyInfo {
    FamilyInfo::new(name, MetricKind::Histogram, "seconds")
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

/// Implements the conversion of types to a [`MetricValue`].
macro_rules! values {
    ($($Type:ty: |$from:ident| $value:expr;)+) => { $(
        impl From<$Type> for MetricValue {
            fn from($from: $Type) -> Self {
                $value
            }
        }
    )+ };
}
values! {
    u64: |n| Self::Whole(n);
    usize: |n| Self::Whole(n as u64);
    bool: |is_so| Self::Whole(is_so.into());
    f64: |x| Self::Real(x);
    Duration: |time| Self::Real(time.as_secs_f64());
    &Histogram: |times| Self::Times(times.snapshot());
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

    /// Adds samples of a family with one label, each with the value of that label.
    pub fn each<'a>(
        &mut self,
        samples: impl IntoIterator<Item = (&'a str, impl Into<MetricValue>)>,
    ) {
        samples.into_iter().for_each(|(label, value)| self.of(&[label], value));
    }

    /// Adds a sample with these label values, in the order of the family's labels.
    pub fn of(&mut self, labels: &[&str], value: impl Into<MetricValue>) {
        debug_assert_eq!(labels.len(), self.labels.len(), "{labels:?} for {:?}", self.labels);
        let own = self.labels.iter().zip(labels).map(|(&name, &value)| (name, value.to_owned()));
        self.read.push((self.base.iter().cloned().chain(own).collect(), value.into()));
    }
}

/// Renders all families as text, read from one or more sources. Its labels distinguish a source
/// from the others.
#[must_use]
pub fn render<R>(families: &[&[MetricFamily<R>]], sources: &[(Labels, R)]) -> String {
    let read = |family: &MetricFamily<R>| {
        let mut all = Vec::new();
        for (base, source) in sources {
            let (base, labels) = (base.clone(), family.info.labels);
            let mut samples = Samples { base, labels, read: Vec::new() };
            (family.read)(source, &mut samples);
            all.append(&mut samples.read);
        }
        Filled { info: family.info, samples: all }
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
    info: FamilyInfo,
    samples: Vec<(Labels, MetricValue)>,
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        for Filled { info, samples } in &self.0 {
            let (name, unit) = parts(info.name);
            let kind = match info.kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
                MetricKind::Histogram => MetricType::Histogram,
            };
            let mut one = encoder.encode_descriptor(name, info.help, unit.as_ref(), kind)?;
            for (labels, value) in samples {
                write(one.encode_family(labels)?, info.kind, value)?;
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
        counter("shop_sold_total", "cakes").labels(&["kind"]).help("Cakes sold").read(|shop, s| {
            s.of(&["\"plum\"\n"], shop.sold);
            s.of(&["\\"], 0_u64);
        }),
        gauge("shop_till_bytes", "bytes").help("In the till").read(|_, s| s.one(2_usize)),
        timing("shop_wait_seconds").help("At the counter").read(|shop, s| s.one(&shop.waits)),
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
