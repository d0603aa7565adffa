//! Signed requests: each request over https has a signature that another program verifies, from what the site
//! received; the archive shows it; no request over http has one, and the key appears nowhere.

use crate::python;
use crivello_tests::warc::Archive;
use crivello_tests::{Scene, binary};
use serde_json::{Map, Value, json};
use simweb::{Character, Entry, JudgeLimits, Pace, Robots, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const ORIGIN: &str = "https://bot.example";
const VERIFIER: &str = include_str!("signatures.py");
const DIRECTORY: &str = "http-message-signatures-directory";

/// Runs `crivello identity`.
fn identity(dir: &Path, args: &[&str]) {
    let output = Command::new(binary()).arg("identity").args(args).current_dir(dir).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the directory of the key, as the web server of the operator would serve it.
fn directory(dir: &Path) -> Value {
    let url = format!("--url={ORIGIN}");
    identity(dir, &["directory", "--key=bot.pem", &url, "--out=."]);
    let body = fs::read_to_string(dir.join(DIRECTORY)).expect("the directory");
    let head = fs::read_to_string(dir.join(format!("{DIRECTORY}.headers"))).expect("headers");
    let headers: Map<_, _> = head
        .lines()
        .map(|line| line.split_once(": ").expect("a header"))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    json!({ "url": format!("{ORIGIN}/.well-known/{DIRECTORY}"), "headers": headers, "body": body })
}

/// Returns the number of requests that the other program verified.
fn verified(programs: &Path, given: &Value) -> usize {
    let mut python = Command::new(programs.join("python"))
        .args(["-c", VERIFIER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python starts");
    let input = python.stdin.take().expect("standard input");
    serde_json::to_writer(&input, given).expect("written");
    drop(input);
    let output = python.wait_with_output().expect("python ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

/// Checks that no file in `dir` has this text.
fn assert_absent(dir: &Path, secret: &str) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_absent(&path, secret);
        } else if path.extension().is_none_or(|extension| extension != "pem") {
            let bytes = fs::read(&path).expect("a file");
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "the key is in {}", path.display());
        }
    }
}

/// Header lines of signatures by URL, as the archive has them.
fn archived(scene: &Scene) -> BTreeMap<String, BTreeSet<String>> {
    let archive = Archive::read(&scene.out());
    let lines = |head: &str| {
        let lines = head.lines().filter(|line| line.starts_with("signature"));
        lines.map(str::to_owned).collect()
    };
    let requests = archive.of_kind("request");
    requests.map(|record| (record.url().to_owned(), lines(&record.http().0))).collect()
}

fn crawl_and_verify(form: &str, http2: bool, agent: &str, component: &str) {
    // With this seed each kind of host has some over https and some over http.
    let spec = Spec::new(7).size(6, 2, 6).ips(6).tls(0.6).robots(Robots::standard());
    let sitemaps = Character::named("sitemaps").robots(Robots::Sitemaps(3)).pages(4);
    let scene = Scene::new(spec.share(0.3, sitemaps)).delays("20ms", "0ms");
    let dir = scene.dir().to_owned();
    identity(&dir, &["keygen", "--out=bot.pem"]);
    let key = dir.join("bot.pem");
    let scene = scene
        .set(&format!("identity.signature-key-file={:?}", key.display().to_string()))
        .set(&format!("identity.signature-agent={ORIGIN}"))
        .set(&format!("identity.signature-agent-form={form}"))
        .set(&format!("fetch.http2={http2}"))
        .arg("--log=debug");
    let _ = scene.crawl().succeeded();
    let pace = Pace::delays(Duration::from_millis(20), Duration::ZERO);
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));

    let entries = scene.web.log().entries();
    let (signed, unsigned): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.tls);
    assert!(unsigned.iter().all(|entry| entry.signature.is_empty()), "http was signed");
    for what in ["/robots.txt", "/sitemap"] {
        assert!(signed.iter().any(|entry| entry.path.starts_with(what)), "no {what} over https");
    }
    assert!(!unsigned.is_empty() && signed.iter().any(|entry| entry.http2 == http2));

    // The archive has what was received.
    let archived = archived(&scene);
    for Entry { signature, .. } in &signed {
        let names: Vec<_> = signature.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["signature-agent", "signature-input", "signature"]);
        assert_eq!(signature[0].1, agent);
    }
    for entry in signed.iter().filter(|entry| entry.complete && entry.status == 200) {
        let lines = entry.signature.iter().map(|(name, value)| format!("{name}: {value}"));
        assert_eq!(archived.get(&entry.url()), Some(&lines.collect()), "{}", entry.url());
    }
    for entry in &unsigned {
        assert!(archived.get(&entry.url()).is_none_or(BTreeSet::is_empty), "{}", entry.url());
    }

    // The secret is nowhere but in its file.
    let text = fs::read_to_string(&key).expect("the key");
    let secret = text.lines().nth(1).expect("a line of Base64");
    assert_absent(&dir, secret);
    assert!(scene.log().contains("requests over https are signed"), "{}", scene.log());

    let Some(programs) = python::install("http-message-signatures==3.0.0") else { return };
    let request = |entry: &Entry| {
        let headers: Map<_, _> = entry
            .signature
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        json!({ "url": entry.url(), "headers": headers })
    };
    let given = json!({
        "directory": directory(&dir),
        "component": component,
        "requests": signed.iter().map(request).collect::<Vec<_>>(),
    });
    assert_eq!(verified(&programs, &given), signed.len());
}

#[test]
fn the_form_of_the_working_group_is_verified_from_outside() {
    let url = format!("sig1=\"{ORIGIN}/.well-known/{DIRECTORY}\"");
    crawl_and_verify("directory-url", true, &url, "\"signature-agent\";key=\"sig1\"");
}

#[test]
fn the_origin_is_verified_from_outside() {
    let origin = format!("sig1=\"{ORIGIN}\"");
    crawl_and_verify("origin", true, &origin, "\"signature-agent\";key=\"sig1\"");
}

#[test]
fn the_bare_string_is_verified_from_outside() {
    crawl_and_verify("string", false, &format!("\"{ORIGIN}\""), "signature-agent");
}
