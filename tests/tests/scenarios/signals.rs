//! Signals: what sites permit is in the records, indexes and tables of a crawl by two agents as they stated it, in
//! the eyes of warcio and pyarrow; `crivello policy` counts the same; `noarchive` is obeyed on demand.

mod sites;

use crate::python;
use crivello_tests::{binary, output};
use serde_json::{Value, json};
use sites::Sites;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const JUDGE: &str = include_str!("signals/judge.py");

/// Host, path, headers, body.
const PAGES: [(&str, &str, (&str, &str)); 18] = [
    // As Cloudflare writes it, with a group for another crawler; and directives of pages and headers.
    (
        "127.0.0.1",
        "/robots.txt",
        (
            "",
            "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\nUser-agent: other\n\
             Content-Signal: search=no\nDisallow: /\n",
        ),
    ),
    ("127.0.0.1", "/", ("", "<a href=/meta>m</a> <a href=/header>h</a>")),
    (
        "127.0.0.1",
        "/meta",
        (
            "",
            "<meta name=robots content='noarchive, max-snippet:20'><meta name=other content=noindex>\
             <a href=/behind>b</a>",
        ),
    ),
    (
        "127.0.0.1",
        "/header",
        (
            "X-Robots-Tag: other: noarchive\r\nX-Robots-Tag: crivello: noindex\r\n\
             X-Robots-Tag: unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT\r\n",
            "h",
        ),
    ),
    ("127.0.0.1", "/behind", ("", "b")),
    // AIPREF: the longest path, and a header.
    (
        "127.0.0.2",
        "/robots.txt",
        (
            "",
            "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open train-ai=y, search=y\n\
             Disallow: /closed\n",
        ),
    ),
    ("127.0.0.2", "/", ("", "<a href=/open/>o</a> <a href=/open/h>h</a> <a href=/closed/>c</a>")),
    ("127.0.0.2", "/open/", ("", "open")),
    ("127.0.0.2", "/open/h", ("Content-Usage: search=n, bots=y;a=\"b\"\r\n", "h")),
    ("127.0.0.2", "/closed/", ("", "closed")),
    // TDM: a header, and a page that precedes it.
    (
        "127.0.0.3",
        "/",
        (
            "TDM-Reservation: 1\r\nTDM-Policy: /policy.json\r\n",
            "<a href=/page>p</a> <a href=/other>o</a>",
        ),
    ),
    ("127.0.0.3", "/page", ("TDM-Reservation: 1\r\n", "<meta name=tdm-reservation content=0>")),
    ("127.0.0.3", "/other", ("TDM-Reservation: yes\r\n", "o")),
    // Licenses: of the site, of a header and of a page.
    (
        "127.0.0.4",
        "/robots.txt",
        ("", "License: https://a.example/site.xml\nUser-agent: *\nAllow: /\n"),
    ),
    (
        "127.0.0.4",
        "/",
        (
            "Link: <https://a.example/header.xml>; rel=license; type=application/rsl+xml\r\n",
            "<link rel=license type=application/rsl+xml href='https://a.example/page.xml'><a href=/x>x</a>",
        ),
    ),
    ("127.0.0.4", "/x", ("", "<link rel=license href='https://a.example/cc'>")),
    // Nothing.
    ("127.0.0.5", "/", ("", "<meta name=robots content='index, follow'><a href=/x>x</a>")),
    ("127.0.0.5", "/x", ("", "x")),
];

/// A host, a path, and the signals of the page there.
type PageSignals<'a> = (&'a str, &'a str, Vec<(&'static str, &'a str)>);

/// The signals of each page that is fetched.
fn expected(sites: &Sites) -> BTreeMap<String, Vec<(&'static str, String)>> {
    let of_first = [("signalSearch", "yes"), ("signalAiTrain", "no")];
    let site = ("license", "https://a.example/site.xml");
    let date = "noindex, unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT";
    let policy = sites.url("127.0.0.3", "/policy.json");
    let list: [PageSignals<'_>; 15] = [
        ("127.0.0.1", "/", of_first.to_vec()),
        (
            "127.0.0.1",
            "/meta",
            [&[("robots", "noarchive, max-snippet:20")], &of_first[..]].concat(),
        ),
        ("127.0.0.1", "/header", [&[("robots", date)], &of_first[..]].concat()),
        ("127.0.0.1", "/behind", of_first.to_vec()),
        ("127.0.0.2", "/", vec![("usageTrainAi", "disallow")]),
        ("127.0.0.2", "/open/", vec![("usageTrainAi", "allow"), ("usageSearch", "allow")]),
        ("127.0.0.2", "/open/h", vec![("usageTrainAi", "allow"), ("usageSearch", "disallow")]),
        ("127.0.0.3", "/", vec![("tdmReservation", "1"), ("tdmPolicy", &policy)]),
        ("127.0.0.3", "/page", vec![("tdmReservation", "0")]),
        ("127.0.0.3", "/other", vec![]),
        (
            "127.0.0.4",
            "/",
            vec![
                ("license", "https://a.example/header.xml"),
                ("license", "https://a.example/page.xml"),
                site,
            ],
        ),
        ("127.0.0.4", "/x", vec![site]),
        ("127.0.0.5", "/", vec![]),
        ("127.0.0.5", "/x", vec![]),
        ("127.0.0.5", "/robots.txt", vec![]),
    ];
    let owned = |fields: Vec<(&'static str, &str)>| {
        fields.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
    };
    list.into_iter().map(|(host, path, fields)| (sites.url(host, path), owned(fields))).collect()
}

fn crawl(sites: &Sites, out: &Path, settings: &[&str]) {
    let mut command = Command::new(binary());
    command.arg("crawl").args((1..=5).map(|n| sites.url(&format!("127.0.0.{n}"), "/")));
    command.arg("--out").arg(out).args(["--quiet", "--agents", "2"]);
    command.args(["--contact=https://crivello.example/bot", "--allow-network=127.0.0.0/8"]);
    for setting in ["politeness.delay=20ms", "politeness.ip-delay=0ms"].iter().chain(settings) {
        command.args(["--set", setting]);
    }
    let ended = output(&mut command);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn policy(out: &Path, options: &[&str]) -> String {
    let ended = output(Command::new(binary()).arg("policy").arg(out).args(options));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).expect("UTF-8")
}

/// Returns the lines of an export.
fn lines(crawl: &Path, out: &Path) -> Vec<Value> {
    let mut command = Command::new(binary());
    command.args(["export", "jsonl", "--compression", "none", "--out"]).arg(out).arg(crawl);
    assert!(output(&mut command).status.success());
    let parse = |line: &str| serde_json::from_str(line).expect("JSON");
    let of_file = |path| {
        let text = std::fs::read_to_string(path).expect("an export");
        text.lines().map(parse).collect::<Vec<Value>>()
    };
    let files = crivello_tests::warc::listed(&out.join("jsonl"), ".jsonl");
    files.into_iter().flat_map(of_file).collect()
}

/// Returns the counts of sites and pages by statement that the report must have.
fn counts(expected: &BTreeMap<String, Vec<(&'static str, String)>>) -> Vec<Value> {
    let mut by_statement = BTreeMap::<_, (BTreeSet<&str>, usize)>::new();
    for (url, fields) in expected {
        let host = url.split(':').nth(1).expect("a host");
        let mut statements = BTreeSet::new();
        for (name, value) in fields {
            match *name {
                "robots" => {
                    let parts =
                        value.split(", ").map(|part| part.split(':').next().expect("a name"));
                    let parts = parts.filter(|part| !part.contains(' '));
                    statements.extend(parts.map(|part| (*name, part.to_owned())));
                }
                "license" | "tdmPolicy" => drop(statements.insert((*name, String::new()))),
                _ => drop(statements.insert((*name, value.clone()))),
            }
        }
        for statement in statements {
            let (hosts, pages) = by_statement.entry(statement).or_default();
            hosts.insert(host);
            *pages += 1;
        }
    }
    let by_statement = by_statement.into_iter().map(|((name, value), (hosts, pages))| {
        let value = if value.is_empty() { Value::Null } else { value.into() };
        json!({ "signal": name, "value": value, "sites": hosts.len(), "pages": pages })
    });
    by_statement.collect()
}

#[test]
fn records_indexes_tables_and_the_report_have_what_sites_stated() {
    let (sites, dir) = (Sites::serve(&PAGES), tempfile::tempdir().expect("a directory"));
    let out = dir.path().join("crawl");
    crawl(&sites, &out, &[]);
    let expected = expected(&sites);
    assert!(!sites.requests().contains(&"127.0.0.2/closed/".to_owned()));

    let report: Value = serde_json::from_str(&policy(&out, &["--json"])).expect("JSON");
    assert_eq!(report["signals"], Value::from(counts(&expected)), "{report:#}");
    assert_eq!(report["all"], json!({ "sites": 5, "pages": 14 }), "{report:#}");
    assert_eq!(report["with_signals"], json!({ "sites": 4, "pages": 11 }), "{report:#}");
    let table = policy(&out, &[]);
    let row = table.lines().find(|line| line.starts_with("robots") && line.contains("noarchive"));
    let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(row, ["robots", "noarchive", "1", "1"], "{table}");
    let selected = policy(&out, &["--sites", "--select", "page.noindex"]);
    assert_eq!(selected.lines().count(), 1, "{selected}");
    assert!(selected.starts_with("127.0.0.1 (1 pages) robots=noindex: 1,"), "{selected}");

    for line in lines(&out, &dir.path().join("lines")) {
        let (url, empty) = (line["url"].as_str().expect("a URL"), serde_json::Map::new());
        let signals = line["signals"].as_object().unwrap_or(&empty);
        let stated = signals.iter().flat_map(|(name, values)| {
            let values = values.as_array().expect("values").iter();
            values.map(move |value| (name.as_str(), value.as_str().expect("text")))
        });
        let stated: BTreeSet<_> = stated.collect();
        let wanted = expected.get(url).map(Vec::as_slice).unwrap_or_default();
        let wanted: BTreeSet<_> =
            wanted.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(stated, wanted, "{url}");
    }

    let Some(programs) = python::install("pyarrow==26.0.1 duckdb==2.0.1 warcio==1.8.1") else {
        return;
    };
    let tables = dir.path().join("export");
    let mut export = Command::new(binary());
    export.args(["export", "parquet"]).arg(&out).arg("--out").arg(&tables);
    assert!(output(&mut export).status.success());
    let mut judge = Command::new(programs.join("python"))
        .args(["-c", JUDGE])
        .args([&out, &tables])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python runs");
    let given = serde_json::to_vec(&expected).expect("JSON");
    judge.stdin.take().expect("standard input").write_all(&given).expect("written");
    let judged = judge.wait_with_output().expect("python ends");
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
}

#[test]
fn noarchive_is_obeyed_on_demand() {
    let (sites, dir) = (Sites::serve(&PAGES), tempfile::tempdir().expect("a directory"));
    let out = dir.path().join("crawl");
    crawl(&sites, &out, &["pages.noarchive=drop"]);
    let requests = sites.requests();
    assert!(requests.contains(&"127.0.0.1/meta".to_owned()), "{requests:?}");
    assert!(requests.contains(&"127.0.0.1/behind".to_owned()), "{requests:?}");
    let report: Value = serde_json::from_str(&policy(&out, &["--json"])).expect("JSON");
    assert_eq!(report["all"], json!({ "sites": 5, "pages": 13 }), "{report:#}");
    assert!(!report["signals"].to_string().contains("noarchive"), "{report:#}");
}

#[test]
fn the_tdm_file_is_fetched_once_on_demand_and_recorded() {
    let file = r#"[{"location": "/other", "tdm-reservation": 0},
        {"location": "/", "tdm-reservation": 1, "tdm-policy": "/file.json"}]"#;
    let mut pages = PAGES.to_vec();
    pages.push(("127.0.0.3", "/.well-known/tdmrep.json", ("", file)));
    pages.push(("127.0.0.5", "/.well-known/tdmrep.json", ("", file)));
    pages.push(("127.0.0.5", "/robots.txt", ("", "User-agent: *\nDisallow: /.well-known/\n")));
    let (sites, dir) = (Sites::serve(&pages), tempfile::tempdir().expect("a directory"));
    let out = dir.path().join("crawl");
    crawl(&sites, &out, &["fetch.tdmrep=true"]);
    let requests = sites.requests();
    let n_of = |host: &str| {
        requests.iter().filter(|url| **url == format!("{host}/.well-known/tdmrep.json")).count()
    };
    assert_eq!(
        (n_of("127.0.0.1"), n_of("127.0.0.3"), n_of("127.0.0.5")),
        (1, 1, 0),
        "{requests:?}"
    );
    let report: Value = serde_json::from_str(&policy(&out, &["--json"])).expect("JSON");
    let of = |name: &str, value: Value| {
        let signals = report["signals"].as_array().expect("a list");
        let of_name = signals.iter().find(|s| s["signal"] == name && s["value"] == value);
        of_name.map_or(0, |signal| signal["pages"].as_u64().expect("a number"))
    };
    // The header precedes the file on `/`, the page on `/page`; `/other` has only the file's first rule.
    assert_eq!((of("tdmReservation", "1".into()), of("tdmReservation", "0".into())), (1, 2));
    assert_eq!(report["skipped"]["tdm-file"], 4, "{report:#}");
}
