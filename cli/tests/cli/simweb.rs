//! Tests of `crivello simweb`: the addresses that it serves, and the verdict of its judge.

use crate::program::{crivello, fresh};
use ::simweb::serve::Ready;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

fn run(dir: &Path, words: &[&str]) -> Output {
    crivello(dir, words).stdin(Stdio::null()).output().expect("the program starts")
}

/// Serves `web.json` in `dir`, crawls it, and writes the access log beside it.
fn crawl_it_all(dir: &Path) {
    let words =
        ["simweb", "--spec", "web.json", "--access-log", "access.log", "--until-stdin-ends"];
    let mut web = crivello(dir, &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let stdout = web.stdout.take().expect("stdout is piped");
    BufReader::new(stdout).read_line(&mut line).expect("the web prints that it is ready");
    let ready: Ready = serde_json::from_str(&line).expect("a line of JSON");
    let dns = ready.dns.to_string();
    let crawl = ["crawl", "--quiet", "--contact", "me@a.example", "--delay", "30ms"];
    let there = ["--ip-delay", "10ms", "--dns", &dns, "--allow-network", &ready.networks[0]];
    let mut words: Vec<&str> = crawl.into_iter().chain(there).collect();
    words.extend(ready.seeds.iter().map(String::as_str));
    let crawled = run(dir, &words);
    assert!(crawled.status.success(), "{}", String::from_utf8_lossy(&crawled.stderr));
    drop(web.stdin.take());
    assert!(web.wait().expect("the exit status of the web").success());
}

/// Returns the verdict on `log` for these `promises`: exit code and text.
fn judge(dir: &Path, log: &str, promises: &[&str]) -> (Option<i32>, String) {
    let mut words = vec!["simweb", "judge", log, "--spec", "web.json"];
    words.extend(promises);
    let output = run(dir, &words);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code(), text)
}

#[test]
fn a_visitor_is_judged_by_the_access_log() {
    let dir = fresh("judged");
    fs::write(dir.join("web.json"), r#"{"domains": 2, "pages_per_host": 4}"#).expect("written");
    crawl_it_all(&dir);
    let kept = ["--delay", "30ms", "--ip-delay", "10ms"];
    let (code, text) = judge(&dir, "access.log", &kept);
    assert!(code == Some(0) && text.contains("no violations"), "{text}");
    let (code, text) = judge(&dir, "access.log", &["--delay", "1m", "--ip-delay", "10ms"]);
    assert!(code == Some(1) && text.contains("x host-gap"), "{text}");

    let log = fs::read_to_string(dir.join("access.log")).expect("read");
    let lines: Vec<&str> = log.lines().collect();
    let half = lines[..lines.len() / 2].join("\n") + "\n";
    fs::write(dir.join("half.log"), half).expect("written");
    let (code, text) = judge(&dir, "half.log", &kept);
    assert!(code == Some(1) && text.contains("x missing"), "{text}");
    let (code, text) = judge(&dir, "half.log", &[&kept[..], &["--unfinished"]].concat());
    assert!(code == Some(0) && text.contains("no violations"), "{text}");

    let again = lines.iter().find(|line| line.contains(r#""path":"/""#)).expect("a first page");
    fs::write(dir.join("again.log"), format!("{log}{again}\n")).expect("written");
    let promises = ["--delay", "0s", "--ip-delay", "0s"];
    let repeated = judge(&dir, "again.log", &promises).1;
    assert!(repeated.contains("1 x repeated"), "{repeated}");
    let allowed = judge(&dir, "again.log", &[&promises[..], &["--repeats-max", "1"]].concat()).1;
    assert!(!allowed.contains("x repeated"), "{allowed}");
}

#[test]
fn addresses_beyond_loopback_require_insecure() {
    let dir = fresh("wide");
    let own = r#"{"hosts": [{"name": "own.test", "character": {"ip": "198.18.0.7"}}]}"#;
    for (spec, named) in [
        (own, "own.test at 198.18.0.7"),
        (r#"{"network": "198.18.0.0/16"}"#, "198.18.0.0/16"),
        (r#"{"dns_ip": "0.0.0.0"}"#, "0.0.0.0"),
    ] {
        fs::write(dir.join("web.json"), spec).expect("written");
        let refused = run(&dir, &["simweb", "--spec", "web.json", "--until-stdin-ends"]);
        let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(64), "{stderr}");
        assert!(stderr.contains(named) && stderr.contains("--insecure"), "{stderr}");
    }
    let words = ["simweb", "--spec", "web.json", "--insecure", "--until-stdin-ends"];
    let served = run(&dir, &words);
    assert!(served.status.success(), "{}", String::from_utf8_lossy(&served.stderr));
}

#[test]
fn errors_of_the_judge_are_reported() {
    let dir = fresh("unjudged");
    fs::write(dir.join("web.json"), "{}").expect("written");
    fs::write(dir.join("empty.log"), "").expect("written");
    let (code, text) = judge(&dir, "empty.log", &[]);
    assert!(code == Some(1) && text.contains("x missing"), "{text}");
    let (code, text) = judge(&dir, "empty.log", &["--delay", "2"]);
    assert!(code == Some(64) && text.contains("--delay 2"), "{text}");
    let (code, text) = judge(&dir, "absent.log", &[]);
    assert!(code == Some(70) && text.contains("absent.log"), "{text}");
}
