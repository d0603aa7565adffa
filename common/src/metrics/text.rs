//! Families of numbers, and the text that Prometheus takes them from.

use super::histogram::{Counted, Histogram};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::time::Duration;

/// What the text is, for the header of an answer that carries it.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only rises, but for a restart.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts durations by their length.
    Histogram,
}

impl Kind {
    /// As Prometheus calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// Names and values of labels.
pub type Labels = Vec<(&'static str, String)>;

/// Numbers of one name and meaning, read from an `R`.
pub struct Family<R: 'static> {
    /// With its unit; that of a counter ends with `_total`.
    pub name: &'static str,
    /// What it does.
    pub kind: Kind,
    /// What is counted, in the plural.
    pub unit: &'static str,
    /// What tells its numbers apart.
    pub labels: &'static [&'static str],
    /// What it means, in a sentence without its full stop.
    pub help: &'static str,
    /// Takes the numbers from where they are.
    pub read: fn(&R, &mut Samples),
}

/// A [`Family`] in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "see Family")]
pub struct Described {
    pub name: &'static str,
    pub kind: Kind,
    pub unit: &'static str,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl<R> From<&Family<R>> for Described {
    fn from(family: &Family<R>) -> Self {
        let &Family { name, kind, unit, labels, help, .. } = family;
        Self { name, kind, unit, labels, help }
    }
}

/// One number, or one histogram.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A count.
    Whole(u64),
    /// A measure.
    Real(f64),
    /// Durations.
    Times(Counted),
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
impl Value {
    const fn as_f64(&self) -> f64 {
        match self {
            Self::Whole(n) => *n as f64,
            Self::Real(x) => *x,
            Self::Times(counted) => counted.sum,
        }
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Self::Whole(n)
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Self {
        Self::Whole(n as u64)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Self::Real(x)
    }
}

impl From<bool> for Value {
    fn from(is_so: bool) -> Self {
        Self::Whole(is_so.into())
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Self::Real(time.as_secs_f64())
    }
}

impl From<&Histogram> for Value {
    fn from(times: &Histogram) -> Self {
        Self::Times(times.counted())
    }
}

/// The numbers of a family as they are read.
#[derive(Debug)]
pub struct Samples {
    base: Labels,
    labels: &'static [&'static str],
    read: Vec<(Labels, Value)>,
}

impl Samples {
    /// The only one: that of a family without labels.
    pub fn one(&mut self, value: impl Into<Value>) {
        self.of(&[], value);
    }

    /// One of several, with the values of the family's labels in their order.
    pub fn of(&mut self, labels: &[&str], value: impl Into<Value>) {
        debug_assert_eq!(labels.len(), self.labels.len(), "{labels:?} for {:?}", self.labels);
        let own = self.labels.iter().zip(labels).map(|(&name, &value)| (name, value.to_owned()));
        self.read.push((self.base.iter().cloned().chain(own).collect(), value.into()));
    }
}

/// A count of `unit`.
#[must_use]
pub const fn counter<R>(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&R, &mut Samples),
) -> Family<R> {
    Family { name, kind: Kind::Counter, unit, labels, help, read }
}

/// A number of `unit` at the moment.
#[must_use]
pub const fn gauge<R>(
    name: &'static str,
    unit: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&R, &mut Samples),
) -> Family<R> {
    Family { name, kind: Kind::Gauge, unit, labels, help, read }
}

/// Durations.
#[must_use]
pub const fn timing<R>(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
    read: fn(&R, &mut Samples),
) -> Family<R> {
    Family { name, kind: Kind::Histogram, unit: "seconds", labels, help, read }
}

/// All families as text, read from one or several sources, each with labels that tell it from the
/// others.
#[must_use]
pub fn render<R>(families: &[&[Family<R>]], sources: &[(Labels, R)]) -> String {
    let read = |family: &Family<R>| {
        let mut all = Vec::new();
        for (base, source) in sources {
            let (base, labels) = (base.clone(), family.labels);
            let mut samples = Samples { base, labels, read: Vec::new() };
            (family.read)(source, &mut samples);
            all.append(&mut samples.read);
        }
        let &Family { name, kind, help, .. } = family;
        Filled { name, kind, help, samples: all }
    };
    let all = families.iter().copied().flatten().map(read).collect();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page(all)));
    let mut page = String::new();
    // A String takes whatever is written to it.
    let _ = text::encode(&mut page, &registry);
    page
}

/// Families with their numbers.
#[derive(Debug)]
struct Page(Vec<Filled>);

#[derive(Debug)]
struct Filled {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: Vec<(Labels, Value)>,
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        for family in &self.0 {
            let (name, unit) = parts(family.name);
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            let mut one = encoder.encode_descriptor(name, family.help, unit.as_ref(), kind)?;
            for (labels, value) in &family.samples {
                write(one.encode_family(labels)?, family.kind, value)?;
            }
        }
        Ok(())
    }
}

fn write(mut encoder: MetricEncoder<'_>, kind: Kind, value: &Value) -> std::fmt::Result {
    match (kind, value) {
        (Kind::Histogram, Value::Times(counted)) => {
            let count = counted.buckets.iter().map(|&(_, n)| n).sum();
            encoder.encode_histogram::<[(&str, &str); 0]>(
                counted.sum,
                count,
                &counted.buckets,
                None,
            )
        }
        (Kind::Counter, Value::Whole(n)) => {
            encoder.encode_counter::<[(&str, &str); 0], _, u64>(n, None)
        }
        (Kind::Counter, value) => {
            encoder.encode_counter::<[(&str, &str); 0], _, u64>(&value.as_f64(), None)
        }
        (_, value) => encoder.encode_gauge(&value.as_f64()),
    }
}

/// A name without what the format puts behind it, and its unit.
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
    use super::super::WORK;
    use super::*;

    struct Shop {
        sold: u64,
        waits: Histogram,
    }

    const FAMILIES: &[Family<Shop>] = &[
        counter("shop_sold_total", "cakes", &["kind"], "Cakes sold", |shop, s| {
            s.of(&["\"plum\"\n"], shop.sold);
            s.of(&["\\"], 0_u64);
        }),
        gauge("shop_till_bytes", "bytes", &[], "In the till", |_, s| s.one(2_usize)),
        timing("shop_wait_seconds", &[], "At the counter", |shop, s| s.one(&shop.waits)),
    ];

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let shop = Shop { sold: 3, waits: Histogram::new(&WORK[..2]) };
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
