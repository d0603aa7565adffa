//! Tests of usage errors: exit code 64 with a reason, before anything is started.

use crate::program::{crivello, expect, fresh};
use std::fs;
use std::path::Path;

#[track_caller]
fn rejected(dir: &Path, words: &[&str], reasons: &[&str]) {
    let (_, stderr) = expect(dir, words, 64);
    for reason in reasons {
        assert!(stderr.contains(reason), "{words:?}: no {reason:?} in {stderr}");
    }
    assert!(!dir.join("crawl").exists(), "{words:?}: a rejected crawl was started");
}

#[test]
fn help_and_version_exit_with_0() {
    let dir = fresh("help");
    for words in [&["--help"][..], &["--version"], &["crawl", "--help"]] {
        let output = crivello(&dir, words).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert!(!output.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn unparsable_arguments_are_usage_errors() {
    let dir = fresh("flags");
    rejected(&dir, &[], &["Usage"]);
    rejected(&dir, &["crawl", "--no-such-flag"], &["--no-such-flag"]);
    rejected(&dir, &["crawl", "--max-pages", "many"], &["--max-pages", "many"]);
    rejected(&dir, &["--log", "crivello=loudly", "crawl"], &["--log"]);
    rejected(&dir, &["--log", "nonsense", "crawl"], &["--log", "nonsense"]);
    rejected(
        &dir,
        &["crawl", "http://a.example/", "--set", "politeness.delay"],
        &["--set politeness.delay", "key=value"],
    );
}

#[test]
fn http_cert_conflicts_with_no_http() {
    let dir = fresh("no-page");
    let files = ["--http-cert", "a.pem", "--http-key", "a.key"];
    let mut words = vec!["coordinator", "--data", "crawl", "--no-http"];
    words.extend(files);
    rejected(&dir, &words, &["--no-http", "--http-cert", "cannot be used with"]);
}

#[test]
fn a_collector_with_invalid_tls_is_rejected() {
    let dir = fresh("collector");
    let crawl = |more: &[&'static str]| {
        let mut words = vec!["crawl", "http://a.example/", "--contact", "me@a.example"];
        words.extend(more);
        words
    };
    fs::write(dir.join("junk.pem"), "junk").expect("written");
    let with_tls = ["--otlp", "https://a.example:4317", "--otlp-ca"];
    let without = ["--otlp", "http://a.example:4317", "--otlp-ca", "junk.pem"];
    rejected(&dir, &crawl(&[&with_tls[..], &["absent.pem"]].concat()), &["--otlp-ca absent.pem"]);
    rejected(&dir, &crawl(&[&with_tls[..], &["junk.pem"]].concat()), &["no certificate"]);
    rejected(&dir, &crawl(&without), &["--otlp", "https://"]);
    rejected(&dir, &crawl(&["--otlp-ca", "junk.pem"]), &["--otlp"]);
}

#[test]
fn a_crawl_without_a_contact_is_rejected() {
    let dir = fresh("contact");
    rejected(&dir, &["crawl", "http://a.example/"], &["contact", "--contact"]);
}

#[test]
fn a_crawl_without_seeds_is_rejected() {
    let dir = fresh("seedless");
    rejected(&dir, &["crawl", "--contact", "me@a.example"], &["--seeds"]);
    rejected(&dir, &["crawl", "--out", "nothere"], &["no crawl in nothere"]);
    rejected(
        &dir,
        &["crawl", "--contact", "me@a.example", "--seeds", "absent.txt"],
        &["absent.txt", "No such file"],
    );
    rejected(
        &dir,
        &["crawl", "a.example", "--contact", "me@a.example"],
        &["no seeds", "https://a.example"],
    );
    assert!(!dir.join("crawl").exists(), "nothing was started");
}

#[test]
fn invalid_settings_are_named_with_their_file() {
    let dir = fresh("settings");
    let crawl = |more: &[&'static str]| {
        let mut words = vec!["crawl", "http://a.example/", "--contact", "me@a.example"];
        words.extend(more);
        words
    };
    fs::write(dir.join("typo.toml"), "[politeness]\ndellay = \"10s\"\n").expect("written");
    rejected(&dir, &crawl(&["--config", "typo.toml"]), &["typo.toml", "dellay"]);
    fs::write(dir.join("unit.toml"), "[politeness]\ndelay = 10\n").expect("written");
    rejected(&dir, &crawl(&["--config", "unit.toml"]), &["unit.toml", "delay", "unit"]);
    rejected(&dir, &crawl(&["--config", "absent.toml"]), &["--config absent.toml"]);
    rejected(&dir, &crawl(&["--set", "politeness.dellay=1s"]), &["politeness", "dellay"]);
    rejected(&dir, &crawl(&["--delay", "10"]), &["delay", "unit"]);
    rejected(&dir, &crawl(&["--delay", "-5s"]), &["--delay", "politeness.delay", "-5s"]);
    rejected(&dir, &crawl(&["--allow-network", ""]), &["--allow-network"]);
    rejected(
        &dir,
        &crawl(&["--report", "absent/report.json"]),
        &["--report", "absent/report.json"],
    );
    rejected(&dir, &crawl(&["--report", "."]), &["--report", "directory"]);
    rejected(&dir, &crawl(&["--dns", "not-an-address"]), &["dns", "not-an-address"]);
    rejected(&dir, &crawl(&["--allow-network", "here"]), &["allow-networks", "here"]);
}

#[test]
fn a_directory_with_other_content_is_not_changed() {
    let dir = fresh("occupied");
    fs::create_dir(dir.join("mine")).expect("made");
    fs::write(dir.join("mine/letter.txt"), "dear").expect("written");
    rejected(
        &dir,
        &["crawl", "http://a.example/", "--contact", "me@a.example", "--out", "mine"],
        &["mine", "not empty"],
    );
    let names: Vec<_> = fs::read_dir(dir.join("mine"))
        .expect("listed")
        .map(|entry| entry.expect("read").file_name())
        .collect();
    assert_eq!(names, ["letter.txt"]);
}

#[test]
fn config_prints_a_valid_settings_file() {
    let dir = fresh("config");
    let output = crivello(&dir, &["config"]).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0));
    fs::write(dir.join("all.toml"), &output.stdout).expect("written");
    // The file is valid, so only the missing seeds are reported.
    let words = ["crawl", "--config", "all.toml", "--contact", "me@a.example"];
    rejected(&dir, &words, &["--seeds"]);
}
