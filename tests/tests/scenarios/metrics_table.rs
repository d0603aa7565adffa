//! Agreement of docs/metrics.md, the metrics that nodes serve, and the queries of dashboards.
//!
//! Possible failures: a metric is not documented; a documented one is no longer served; a name
//! lacks its unit; a panel stays empty because a metric was renamed, or because its query selects
//! by a label that does not exist.

use crivello_agent::Crawl;
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::metrics::{FamilyInfo, MetricKind};
use crivello_coordinator::{Coordinator, Listen};
use crivello_proto::auth::NodeAuth;
use crivello_tests::metrics::{Page, parse, uses};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Labels that Prometheus adds to all metrics, and agents to theirs.
const OTHER_LABELS: &[&str] = &["instance", "job", "agent", "le"];
/// Metrics of Prometheus itself and of its blackbox exporter.
const OTHER_METRICS: &[&str] = &["up", "probe_ssl_earliest_cert_expiry"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the root of the workspace")
}

fn all() -> Vec<FamilyInfo> {
    crivello_agent::metrics::described().chain(crivello_coordinator::metrics::described()).collect()
}

/// Returns the row of a metric in the table.
fn line(metric: &FamilyInfo) -> String {
    let FamilyInfo { name, kind, unit, labels, help } = metric;
    let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
    format!("| `{name}` | {} | {unit} | {} | {help} |", kind.name(), labels.join(", "))
}

/// Returns the differences between the table and the code.
fn differences(document: &str, metrics: &[FamilyInfo]) -> Vec<String> {
    let told: BTreeSet<String> = metrics.iter().map(line).collect();
    let rows = document.lines().filter(|line| line.starts_with("| `crivello_"));
    let written: BTreeSet<String> = rows.map(str::to_owned).collect();
    let absent = told.difference(&written).map(|line| format!("not in the table: {line}"));
    let made_up = written.difference(&told).map(|line| format!("not in the code:  {line}"));
    absent.chain(made_up).collect()
}

#[test]
fn the_table_says_what_the_code_does() {
    let path = root().join("docs/metrics.md");
    let document = fs::read_to_string(&path).expect("a readable table");
    let wrong = differences(&document, &all());
    assert!(wrong.is_empty(), "{}:\n{}", path.display(), wrong.join("\n"));
}

#[test]
fn a_row_too_many_and_a_row_too_few_are_noticed() {
    let metrics = all();
    let lines: Vec<String> = metrics.iter().map(line).collect();
    assert_eq!(differences(&lines.join("\n"), &metrics), [""; 0]);
    let wrong = differences(&lines[1..].join("\n"), &metrics);
    assert!(wrong.len() == 1 && wrong[0].contains("crivello_build_info"), "{wrong:?}");
    let made_up = "| `crivello_made_up_total` | counter | pages |  | Nothing |";
    let wrong = differences(&format!("{}\n{made_up}", lines.join("\n")), &metrics);
    assert!(wrong.len() == 1 && wrong[0].contains("crivello_made_up_total"), "{wrong:?}");
    let other = lines.join("\n").replace("| seconds |", "| minutes |");
    assert!(!differences(&other, &metrics).is_empty(), "a wrong unit was not found");
}

#[test]
fn names_say_their_unit_and_come_once() {
    let (mut names, mut problems) = (BTreeSet::new(), Vec::new());
    for FamilyInfo { name, kind, unit, labels, help } in all() {
        let base = name.strip_suffix("_total").unwrap_or(name);
        let by_name = ["seconds", "bytes"].into_iter().find(|u| base.ends_with(&format!("_{u}")));
        let by_unit = ["seconds", "bytes"].into_iter().find(|u| *u == unit);
        if by_name != by_unit {
            problems.push(format!("{name}: the unit is {unit}"));
        }
        let ends = name.ends_with("_total");
        if ends != (kind == MetricKind::Counter) {
            problems.push(format!("{name}: a {}", kind.name()));
        }
        if !names.insert(name) {
            problems.push(format!("{name}: twice"));
        }
        if labels.iter().any(|label| OTHER_LABELS.contains(label)) || help.ends_with('.') {
            problems.push(format!("{name}: {labels:?}, {help}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Returns the differences between a page of metrics and their descriptions.
fn misfits(page: &Page, described: &[FamilyInfo]) -> Vec<String> {
    let mut problems = Vec::new();
    for metric in described {
        let Some(told) = page.family(metric.name) else {
            problems.push(format!("{} is not exported", metric.name));
            continue;
        };
        if told.kind != metric.kind.name() || told.help != metric.help {
            problems.push(format!("{}: {} that is {}", metric.name, told.kind, told.help));
        }
        let known = |label: &String| {
            metric.labels.contains(&label.as_str()) || OTHER_LABELS.contains(&label.as_str())
        };
        let mut labels = told.samples.iter().flat_map(|sample| sample.labels.keys());
        if let Some(odd) = labels.find(|label| !known(label)) {
            problems.push(format!("{}: the label {odd} is not described", metric.name));
        }
    }
    let is_described = |name: &str| described.iter().any(|metric| metric.name == name);
    let names = page.families.iter().map(|family| family.full_name());
    problems.extend(names.filter(|n| !is_described(n)).map(|n| format!("{n} is not described")));
    problems
}

fn settings() -> Settings {
    let text = "[identity]\ncontact = \"https://crivello.example/bot\"\n";
    Settings::from_toml("test", text).expect("valid settings")
}

#[test]
fn agent_serves_the_described_metrics() {
    let dir = tempfile::tempdir().expect("a directory");
    let crawl = Crawl::open(settings(), dir.path(), &mut std::iter::empty(), None)
        .expect("the crawl opens");
    let meter = crawl.meter().clone();
    let text = crivello_agent::metrics::render(std::slice::from_ref(&meter));
    let page = parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let described: Vec<FamilyInfo> = crivello_agent::metrics::described().collect();
    let wrong = misfits(&page, &described);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let made_up = FamilyInfo { name: "crivello_made_up", ..described[0] };
    assert_eq!(misfits(&page, &[&described[..], &[made_up]].concat()).len(), 1);
    assert_eq!(misfits(&page, &described[1..]).len(), 1, "an undescribed metric was not found");
    crawl.seed(std::iter::empty());
    while crawl.wait(Duration::from_millis(100)).is_none() {}
    let _ = crawl.finish();
    let after = parse(&crivello_agent::metrics::render(&[meter])).expect("a page");
    assert_eq!(after.samples().count(), 0, "a closed crawl still exports samples");
}

#[test]
fn coordinator_serves_the_described_metrics() {
    let dir = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listen = Listen { at, auth: NodeAuth::default(), token: None };
    let settings = settings();
    let begun = Coordinator::start(dir.path(), &settings, TypedSettings::new(), listen);
    let coordinator = runtime.block_on(begun).expect("the coordinator starts");
    let text = crivello_coordinator::metrics::render(coordinator.meter());
    let page = parse(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let described: Vec<FamilyInfo> = crivello_coordinator::metrics::described().collect();
    let wrong = misfits(&page, &described);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(page.sum("crivello_coordinator_run", &[("run", "running")]), 1.0);
    runtime.block_on(coordinator.stop()).expect("the coordinator stops");
}

fn dashboards() -> Vec<(PathBuf, Value)> {
    let dir = root().join("deploy/grafana/dashboards");
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|e| e == "json"));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable dashboard");
        let json = serde_json::from_str(&text);
        let json = json.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, json)
    };
    paths.map(read).collect()
}

/// Collects the queries of a dashboard: all values of `expr` and `query`.
fn queries(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == "expr" || name == "query" => found.push(text.to_owned()),
                    _ => queries(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| queries(item, found)),
        _ => {}
    }
}

/// Returns the problems of a query.
fn faults(query: &str, metrics: &[FamilyInfo]) -> Vec<String> {
    // `label_values(METRIC, LABEL)` is a function of Grafana.
    let listed = query.strip_prefix("label_values(").and_then(|rest| rest.rsplit_once(','));
    let used = match uses(listed.map_or(query, |(metric, _)| metric)) {
        Ok(used) => used,
        Err(why) => return vec![why],
    };
    let mut problems = Vec::new();
    for one in used.iter().filter(|one| !OTHER_METRICS.contains(&one.name.as_str())) {
        let is_meant = |metric: &&FamilyInfo| match metric.kind {
            MetricKind::Histogram => ["_bucket", "_sum", "_count"]
                .iter()
                .any(|suffix| one.name.strip_suffix(suffix) == Some(metric.name)),
            _ => one.name == metric.name,
        };
        let Some(metric) = metrics.iter().find(is_meant) else {
            problems.push(format!("there is no metric {}: {query}", one.name));
            continue;
        };
        for label in &one.labels {
            let label = label.as_str();
            if !metric.labels.contains(&label) && !OTHER_LABELS.contains(&label) {
                problems.push(format!("{} has no label {label}: {query}", one.name));
            }
        }
    }
    problems
}

#[test]
fn every_panel_asks_for_what_is_there() {
    let (metrics, mut problems, mut n_queries) = (all(), Vec::new(), 0);
    for (path, dashboard) in dashboards() {
        let mut found = Vec::new();
        queries(&dashboard, &mut found);
        assert!(!found.is_empty(), "{} has no queries", path.display());
        n_queries += found.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let faults = found.iter().flat_map(|query| faults(query, &metrics));
        problems.extend(faults.map(|why| format!("{name}: {why}")));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(n_queries > 40, "{n_queries} queries: is this test looking in the right place?");
}

#[test]
fn every_alert_asks_for_what_is_there() {
    let path = root().join("deploy/prometheus-alerts.yml");
    let text = fs::read_to_string(&path).expect("readable alert rules");
    let queries = text.lines().filter_map(|line| line.trim_start().strip_prefix("expr: "));
    let queries: Vec<&str> = queries.collect();
    let metrics = all();
    let problems: Vec<String> = queries.iter().flat_map(|query| faults(query, &metrics)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let n_rules = text.matches("- alert: ").count();
    assert!(n_rules > 15 && queries.len() == n_rules, "{} of {n_rules} rules", queries.len());
}

#[test]
fn a_panel_that_asks_for_what_is_not_there_is_noticed() {
    let metrics = all();
    for (query, n) in [
        ("rate(crivello_pages_fetched_total{agent=~\"$agent\"}[5m])", 0),
        ("rate(crivello_pages_fetched[5m])", 1),
        ("sum(crivello_made_up_total)", 1),
        ("crivello_commit_duration_seconds", 1),
        ("rate(crivello_commit_duration_seconds_sum[1m])", 0),
        ("crivello_commit_duration_seconds_total", 1),
        ("crivello_failures_total{kind=\"tls\"} / crivello_failures_total{reason=\"tls\"}", 1),
        ("label_values(crivello_uptime_seconds, agent)", 0),
        ("label_values(crivello_made_up_seconds, agent)", 1),
        ("sum by (agent", 1),
    ] {
        assert_eq!(faults(query, &metrics).len(), n, "{query}");
    }
}
