//! Strict parser of the OpenMetrics text format (version 1.0.0). It rejects what a lenient parser
//! would accept.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A parsed page of metrics.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Families in the order of the page.
    pub families: Vec<SampledFamily>,
}

/// A family of metrics.
#[derive(Clone, Debug, Default)]
pub struct SampledFamily {
    /// Name without `_total`.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// Unit, if there is one.
    pub unit: Option<String>,
    /// Help text.
    pub help: String,
    /// Samples in the order of the page.
    pub samples: Vec<Sample>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Full name, with its suffix.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Value.
    pub value: f64,
}

impl SampledFamily {
    /// Returns the name as in queries: the name of a counter has `_total`.
    pub fn full_name(&self) -> String {
        let suffix = if self.kind == "counter" { "_total" } else { "" };
        format!("{}{suffix}", self.name)
    }
}

impl Page {
    /// Returns the family with this [`SampledFamily::full_name`].
    pub fn family(&self, name: &str) -> Option<&SampledFamily> {
        self.families.iter().find(|family| family.full_name() == name)
    }

    /// Returns the sum of all samples with this name and these label values.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let is_meant = |sample: &&Sample| {
            let has = |(name, value): &(&str, &str)| {
                sample.labels.get(*name).map(String::as_str) == Some(*value)
            };
            sample.name == name && labels.iter().all(has)
        };
        self.samples().filter(is_meant).map(|sample| sample.value).sum()
    }

    /// Returns all samples.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.families.iter().flat_map(|family| &family.samples)
    }

    /// Returns the identities of all samples: names and labels.
    pub fn series(&self) -> BTreeSet<(String, BTreeMap<String, String>)> {
        self.samples().map(|sample| (sample.name.clone(), sample.labels.clone())).collect()
    }
}

/// Requests a page from a node. Returns status and body.
///
/// # Panics
/// Panics if the node does not answer.
#[must_use]
pub fn get(at: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(at).expect("the server accepts connections");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("set the timeout");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the server reads the request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("a response");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a response head");
    assert!(!head.contains("chunked"), "{head}");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// Parses a page.
///
/// # Errors
/// Returns the error and its line or family.
pub fn parse(text: &str) -> Result<Page, String> {
    let text = text.strip_suffix("# EOF\n").ok_or("the page does not end with # EOF")?;
    let mut page = Page::default();
    for (i, line) in text.lines().enumerate() {
        take(&mut page, line).map_err(|why| format!("line {}: {why}: {line}", i + 1))?;
    }
    let mut names = BTreeSet::new();
    for family in &page.families {
        let wrong = |why: String| format!("{}: {why}", family.name);
        if !names.insert(&family.name) {
            return Err(wrong("told twice".to_owned()));
        }
        check(family).map_err(wrong)?;
    }
    let (n, series) = (page.samples().count(), page.series().len());
    if n == series { Ok(page) } else { Err(format!("{} series occur twice", n - series)) }
}

fn take(page: &mut Page, line: &str) -> Result<(), String> {
    let Some(comment) = line.strip_prefix("# ") else {
        let sample = sample(line)?;
        let family = page.families.last_mut().ok_or("a sample before any family")?;
        if family.kind.is_empty() {
            return Err("a sample before its type".to_owned());
        }
        family.samples.push(sample);
        return Ok(());
    };
    let mut words = comment.splitn(3, ' ');
    let (what, name, rest) = (words.next(), words.next(), words.next());
    let (Some(what), Some(name), Some(rest)) = (what, name, rest) else {
        return Err("half a comment".to_owned());
    };
    if what == "HELP" {
        if !is_name(name) || rest.is_empty() {
            return Err("missing name or help".to_owned());
        }
        page.families.push(SampledFamily {
            name: name.to_owned(),
            help: rest.to_owned(),
            ..SampledFamily::default()
        });
        return Ok(());
    }
    let family = page.families.last_mut().filter(|f| f.name == name && f.samples.is_empty());
    let family = family.ok_or("the comment does not belong to the current family")?;
    match what {
        "TYPE" if family.kind.is_empty() => rest.clone_into(&mut family.kind),
        "UNIT" if family.unit.is_none() => family.unit = Some(rest.to_owned()),
        _ => return Err("an unknown or repeated comment".to_owned()),
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let begins = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parses a sample: `name{label="value",…} number`.
fn sample(line: &str) -> Result<Sample, String> {
    let at = line.find(['{', ' ']).ok_or("no number")?;
    let (name, mut rest) = line.split_at(at);
    if !is_name(name) {
        return Err("no name".to_owned());
    }
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, value) = rest.split_once("=\"").ok_or("a label without a value")?;
            let (value, behind) = quoted(value)?;
            if !is_name(label) || labels.insert(label.to_owned(), value).is_some() {
                return Err(format!("label {label:?} is invalid or repeated"));
            }
            rest = behind.strip_prefix(',').unwrap_or(behind);
            if rest.len() == behind.len() && !rest.starts_with('}') {
                return Err("missing comma between labels".to_owned());
            }
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ').ok_or("missing space before the number")?;
    let value = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    Ok(Sample { name: name.to_owned(), labels, value })
}

/// Returns the text up to the closing quote, and the rest after it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, c @ ('\\' | '"'))) => value.push(c),
                _ => return Err("an invalid escape".to_owned()),
            },
            c => value.push(c),
        }
    }
    Err("an unterminated label value".to_owned())
}

fn check(family: &SampledFamily) -> Result<(), String> {
    if family.unit.as_ref().is_some_and(|unit| !family.name.ends_with(&format!("_{unit}"))) {
        return Err("the name does not end with the unit".to_owned());
    }
    match family.kind.as_str() {
        "counter" => check_counter(family),
        "gauge" => {
            let odd = family.samples.iter().find(|s| s.name != family.name || s.value.is_nan());
            odd.map_or(Ok(()), |odd| Err(format!("{odd:?}")))
        }
        "histogram" => check_histogram(family),
        other => Err(format!("unknown type {other:?}")),
    }
}

fn check_counter(family: &SampledFamily) -> Result<(), String> {
    let name = family.full_name();
    if family.name.ends_with("_total") {
        return Err("the family of a counter must not end with _total".to_owned());
    }
    let is_fine = |s: &&Sample| s.name == name && s.value.is_finite() && s.value >= 0.0;
    let odd = family.samples.iter().find(|sample| !is_fine(sample));
    odd.map_or(Ok(()), |odd| Err(format!("{odd:?}")))
}

/// Checks each histogram: its buckets are in order and cumulative, the last one equals the count,
/// and there is a sum.
fn check_histogram(family: &SampledFamily) -> Result<(), String> {
    type Parts = (Vec<(f64, f64)>, Option<f64>, Option<f64>);
    let mut all: BTreeMap<BTreeMap<String, String>, Parts> = BTreeMap::new();
    for sample in &family.samples {
        let mut labels = sample.labels.clone();
        let end = labels.remove("le");
        let (buckets, sum, count) = all.entry(labels).or_default();
        match (sample.name.strip_prefix(&family.name), end) {
            (Some("_bucket"), Some(end)) => {
                let end = end.replace("+Inf", "inf").parse().map_err(|_| format!("le={end}"))?;
                buckets.push((end, sample.value));
            }
            (Some("_sum"), None) => *sum = Some(sample.value),
            (Some("_count"), None) => *count = Some(sample.value),
            _ => return Err(format!("{sample:?}")),
        }
    }
    for (labels, (buckets, sum, count)) in all {
        let rises = buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1);
        let last = buckets.last().copied();
        let is_whole = last.is_some_and(|(end, n)| end == f64::INFINITY && Some(n) == count);
        if !rises || !is_whole || sum.is_none_or(|sum| !sum.is_finite() || sum < 0.0) {
            return Err(format!("{labels:?}: {buckets:?}, sum {sum:?}, count {count:?}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# HELP a_seconds Long\n# TYPE a_seconds histogram\n# UNIT a_seconds seconds\n\
        a_seconds_sum{k=\"x\\\"\"} 3\na_seconds_count{k=\"x\\\"\"} 2\n\
        a_seconds_bucket{k=\"x\\\"\",le=\"1\"} 1\na_seconds_bucket{k=\"x\\\"\",le=\"+Inf\"} 2\n\
        # HELP b Some\n# TYPE b counter\nb_total 4\n# EOF\n";

    #[test]
    fn what_is_right_is_read() {
        let page = parse(GOOD).unwrap();
        assert_eq!(page.families.len(), 2);
        assert_eq!(page.sum("b_total", &[]), 4.0);
        assert_eq!(page.sum("a_seconds_bucket", &[("k", "x\""), ("le", "1")]), 1.0);
        assert!(page.family("b_total").is_some() && page.family("b").is_none());
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for (from, to) in [
            ("# EOF\n", ""),
            ("b_total 4", "b 4"),
            ("b_total 4", "b_total -4"),
            ("b_total 4", "b_total 4\nb_total 5"),
            ("b_total 4", "b_total four"),
            ("b_total 4", "b_total{x=\"y} 4"),
            ("b_total 4", "b_total{x=\"y\"z=\"\"} 4"),
            ("b_total 4", "b_total{x=\"y\",x=\"z\"} 4"),
            ("# TYPE b counter\n", ""),
            ("# TYPE b counter", "# TYPE c counter"),
            ("# TYPE b counter", "# TYPE b summary"),
            ("# HELP b Some", "# HELP a_seconds Some"),
            ("le=\"+Inf\"} 2", "le=\"+Inf\"} 3"),
            ("le=\"1\"} 1", "le=\"1\"} 3"),
            ("le=\"+Inf\"} 2", "le=\"9\"} 2"),
            ("# UNIT a_seconds seconds", "# UNIT a_seconds bytes"),
        ] {
            assert!(GOOD.contains(from));
            let wrong = GOOD.replace(from, to);
            assert!(parse(&wrong).is_err(), "{to:?} was accepted");
        }
    }
}
