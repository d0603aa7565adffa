//! What is typed wrongly is refused before anything is begun, with a reason and exit code 64.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of its own for one test.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).expect("an old test's directory can be removed");
    }
    fs::create_dir_all(&path).expect("a test's directory can be made");
    path
}

fn crivello(dir: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crivello"))
        .args(words)
        .current_dir(dir)
        .env_remove("CRIVELLO_LOG")
        .output()
        .expect("the program runs")
}

/// Runs, expects `code`, and returns standard error.
#[track_caller]
fn expect(dir: &Path, words: &[&str], code: i32) -> String {
    let output = crivello(dir, words);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
    stderr
}

#[track_caller]
fn refused(dir: &Path, words: &[&str], reasons: &[&str]) {
    let stderr = expect(dir, words, 64);
    for reason in reasons {
        assert!(stderr.contains(reason), "{words:?}: no {reason:?} in {stderr}");
    }
    assert!(!dir.join("crawl").exists(), "{words:?}: a refused crawl was begun");
}

#[test]
fn help_and_version_are_no_errors() {
    let dir = fresh("help");
    for words in [&["--help"][..], &["--version"], &["crawl", "--help"]] {
        let output = crivello(&dir, words);
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert!(!output.stdout.is_empty(), "{words:?}");
    }
}

#[test]
fn what_cannot_be_parsed_is_a_usage_error() {
    let dir = fresh("flags");
    refused(&dir, &[], &["Usage"]);
    refused(&dir, &["crawl", "--no-such-flag"], &["--no-such-flag"]);
    refused(&dir, &["crawl", "--max-pages", "many"], &["--max-pages", "many"]);
    refused(&dir, &["--log", "crivello=loudly", "crawl"], &["--log"]);
    refused(&dir, &["--log", "nonsense", "crawl"], &["--log", "nonsense"]);
    refused(
        &dir,
        &["crawl", "http://a.example/", "--set", "politeness.delay"],
        &["--set politeness.delay", "key=value"],
    );
}

#[test]
fn a_certificate_for_a_page_that_is_not_served_is_refused() {
    let dir = fresh("no-page");
    let files = ["--http-cert", "a.pem", "--http-key", "a.key"];
    let mut words = vec!["coordinator", "--data", "crawl", "--no-http"];
    words.extend(files);
    refused(&dir, &words, &["--no-http", "--http-cert", "cannot be used with"]);
}

#[test]
fn a_collector_that_cannot_be_trusted_is_refused() {
    let dir = fresh("collector");
    let crawl = |more: &[&'static str]| {
        let mut words = vec!["crawl", "http://a.example/", "--contact", "me@a.example"];
        words.extend(more);
        words
    };
    fs::write(dir.join("junk.pem"), "junk").expect("written");
    let with_tls = ["--otlp", "https://a.example:4317", "--otlp-ca"];
    let without = ["--otlp", "http://a.example:4317", "--otlp-ca", "junk.pem"];
    refused(&dir, &crawl(&[&with_tls[..], &["absent.pem"]].concat()), &["--otlp-ca absent.pem"]);
    refused(&dir, &crawl(&[&with_tls[..], &["junk.pem"]].concat()), &["no certificate"]);
    refused(&dir, &crawl(&without), &["--otlp", "https://"]);
    refused(&dir, &crawl(&["--otlp-ca", "junk.pem"]), &["--otlp"]);
}

#[test]
fn a_crawl_without_a_contact_is_refused_with_the_reason() {
    let dir = fresh("contact");
    refused(&dir, &["crawl", "http://a.example/"], &["contact", "--contact"]);
}

#[test]
fn a_crawl_without_a_seed_is_refused() {
    let dir = fresh("seedless");
    refused(&dir, &["crawl", "--contact", "me@a.example"], &["--seeds"]);
    refused(&dir, &["crawl", "--out", "nothere"], &["no crawl in nothere"]);
    refused(
        &dir,
        &["crawl", "--contact", "me@a.example", "--seeds", "absent.txt"],
        &["absent.txt", "No such file"],
    );
    refused(
        &dir,
        &["crawl", "a.example", "--contact", "me@a.example"],
        &["nowhere to begin", "https://a.example"],
    );
    assert!(!dir.join("crawl").exists(), "nothing was begun");
}

#[test]
fn settings_that_are_wrong_are_named_with_their_file() {
    let dir = fresh("settings");
    let crawl = |more: &[&'static str]| {
        let mut words = vec!["crawl", "http://a.example/", "--contact", "me@a.example"];
        words.extend(more);
        words
    };
    fs::write(dir.join("typo.toml"), "[politeness]\ndellay = \"10s\"\n").expect("written");
    refused(&dir, &crawl(&["--config", "typo.toml"]), &["typo.toml", "dellay"]);
    fs::write(dir.join("unit.toml"), "[politeness]\ndelay = 10\n").expect("written");
    refused(&dir, &crawl(&["--config", "unit.toml"]), &["unit.toml", "delay", "unit"]);
    refused(&dir, &crawl(&["--config", "absent.toml"]), &["--config absent.toml"]);
    refused(&dir, &crawl(&["--set", "politeness.dellay=1s"]), &["politeness", "dellay"]);
    refused(&dir, &crawl(&["--delay", "10"]), &["delay", "unit"]);
    refused(&dir, &crawl(&["--delay", "-5s"]), &["--delay", "politeness.delay", "-5s"]);
    refused(&dir, &crawl(&["--allow-network", ""]), &["--allow-network"]);
    refused(&dir, &crawl(&["--report", "absent/report.json"]), &["--report", "absent/report.json"]);
    refused(&dir, &crawl(&["--report", "."]), &["--report", "directory"]);
    refused(&dir, &crawl(&["--dns", "not-an-address"]), &["dns", "not-an-address"]);
    refused(&dir, &crawl(&["--allow-network", "here"]), &["allow-networks", "here"]);
}

#[test]
fn a_directory_that_holds_something_else_is_left_alone() {
    let dir = fresh("occupied");
    fs::create_dir(dir.join("mine")).expect("made");
    fs::write(dir.join("mine/letter.txt"), "dear").expect("written");
    refused(
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
fn config_prints_a_file_that_is_accepted_again() {
    let dir = fresh("config");
    let output = crivello(&dir, &["config"]);
    assert_eq!(output.status.code(), Some(0));
    fs::write(dir.join("all.toml"), &output.stdout).expect("written");
    // Accepted as a settings file, it is the missing seed that is complained of.
    let words = ["crawl", "--config", "all.toml", "--contact", "me@a.example"];
    refused(&dir, &words, &["--seeds"]);
}
