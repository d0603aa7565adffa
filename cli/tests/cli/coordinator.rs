//! Tests of `crivello coordinator`, and of errors of the cluster commands.

use crate::program::{Coordinator, crivello, expect, fresh};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::process::Signal;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

#[test]
fn a_killed_coordinator_resumes_its_crawl() {
    let dir = fresh("coordinator");
    let first = Coordinator::start(&dir, &["--contact", "me@a.example"]);
    let at = ["--coordinator", &first.url];
    let (table, _) = expect(&dir, &["agents", at[0], at[1]], 0);
    assert!(table.contains("running, epoch 1\nNAME"), "{table}");
    let crawl = table.split_whitespace().nth(1).expect("an id").trim_end_matches(',').to_owned();
    assert!(
        first.start_log.contains(&format!("crawl {crawl} started in coordinator")),
        "{}",
        first.start_log
    );
    let (_, stderr) = expect(&dir, &["pause", at[0], at[1]], 0);
    assert!(stderr.contains("crivello resume"), "{stderr}");
    let (_, unknown) = expect(&dir, &["drain", "a", at[0], at[1]], 64);
    assert!(unknown.contains("there is no such agent"), "{unknown}");
    expect(&dir, &["remove", "7", at[0], at[1]], 64);
    let (code, _) = first.end(Signal::KILL);
    assert_eq!(code, None);

    // The contact is stored with the crawl; the environment names the coordinator.
    let second = Coordinator::start(&dir, &[]);
    assert!(second.start_log.contains(&format!("crawl {crawl} resumed")), "{}", second.start_log);
    let output = crivello(&dir, &["agents", "--json"])
        .env("CRIVELLO_COORDINATOR", &second.url)
        .output()
        .expect("the program starts");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["crawl"], crawl);
    assert_eq!((&json["epoch"], &json["run"]), (&3.into(), &"paused".into()));
    let other =
        expect(&dir, &["coordinator", "--data", "coordinator", "--listen", "127.0.0.1:0"], 64);
    assert!(other.1.contains("another coordinator"), "{}", other.1);
    let (code, stderr) = second.end(Signal::INT);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("the crawl is paused") && stderr.contains("saved"), "{stderr}");
}

#[test]
fn invalid_arguments_are_usage_errors() {
    let dir = fresh("coordinator-refusals");
    let coordinator =
        |more: &[&'static str]| [&["coordinator", "--data", "coordinator"][..], more].concat();
    let agent = |more: &[&'static str]| [&["agent", "--data", "coordinator"][..], more].concat();
    let contact = "--contact=me@a.example";
    let strategy = "--set=cluster.strategy=\"ring\"";
    for (words, reason) in [
        (coordinator(&[]), "--contact"),
        (coordinator(&[contact, "--listen", "here"]), "--listen"),
        (coordinator(&[contact, "--listen", "0.0.0.0:0"]), "--insecure"),
        (coordinator(&[contact, "--tls-cert", "a.pem"]), "--tls-key"),
        (
            coordinator(&[contact, "--tls-cert", "a", "--tls-key", "b", "--tls-ca", "c"]),
            "--tls-cert a: No such file",
        ),
        (coordinator(&[contact, strategy]), "permutation"),
        (coordinator(&[contact, "--set=cluster.replication=0"]), "cluster.replication"),
        (vec!["agents", "--coordinator", "coordinator"], "http://127.0.0.1:7070"),
        (vec!["agents", "--coordinator", "https://127.0.0.1:1"], "--tls-ca"),
        (vec!["drain"], "AGENT"),
        (agent(&["--listen", "here"]), "--listen"),
        (agent(&["--listen", "0.0.0.0:0"]), "--insecure"),
        (agent(&["--listen", "0.0.0.0:0", "--insecure"]), "--advertise"),
        (agent(&["--advertise", "here"]), "a host, a colon and a port"),
        (agent(&["--weight", "0"]), "--weight"),
        (agent(&["--weight", "65"]), "64"),
        (agent(&["--name", "a b"]), "--name a b: it contains white space"),
        (agent(&["--name", ""]), "1 to 255 bytes"),
        (agent(&["--name", "\u{1b}[2J"]), "--name \\u{1b}[2J"),
        (agent(&["--coordinator", "coordinator"]), "http://127.0.0.1:7070"),
        (agent(&["--coordinator", "https://127.0.0.1:1"]), "--tls-ca"),
        (agent(&["--tls-cert", "a.pem"]), "--tls-key"),
        (agent(&["--report", "absent/report.json"]), "--report absent/report.json"),
        (vec!["agent"], "--data"),
        (vec!["seed"], "FILE|-|URL"),
        (vec!["seed", "urls.txt"], "no file of that name"),
        (vec!["seed", "a.example"], "https://a.example"),
        (vec!["seed", ".", "-"], ".: "),
        (
            vec!["seed", "http://a.example/", "--coordinator", "coordinator"],
            "http://127.0.0.1:7070",
        ),
        (vec!["wait", "--timeout", "10"], "--timeout"),
        (vec!["status", "--coordinator", "coordinator"], "http://127.0.0.1:7070"),
        (vec!["crawl", "http://a.example/", contact, "--agents", "0"], "--agents"),
        (vec!["crawl", contact, "--agents", "2"], "no seeds"),
    ] {
        let (_, stderr) = expect(&dir, &words, 64);
        assert!(stderr.contains(reason), "{words:?}: no {reason:?} in {stderr}");
        assert!(!dir.join("coordinator").exists(), "{words:?}: something was started");
    }
    let absent = ["--coordinator", "http://127.0.0.1:9"];
    for words in [&["agents"][..], &["status"], &["wait"], &["seed", "http://a.example/"]] {
        let (_, stderr) = expect(&dir, &[words, &absent].concat(), 70);
        assert!(stderr.contains("cannot be reached") && stderr.contains("refused"), "{stderr}");
    }
    fs::create_dir(dir.join("mine")).expect("made");
    fs::write(dir.join("mine/letter.txt"), "dear").expect("written");
    let (_, stderr) = expect(&dir, &["coordinator", "--data", "mine", contact], 64);
    assert!(stderr.contains("mine is not empty") && stderr.contains("--data"), "{stderr}");
}

#[test]
fn insecure_allows_an_address_that_is_not_loopback() {
    let dir = fresh("coordinator-insecure");
    let more = ["--contact=me@a.example", "--listen=0.0.0.0:0", "--insecure", "--no-http"];
    let words = [&["coordinator", "--data", "coordinator"][..], &more].concat();
    let mut child =
        crivello(&dir, &words).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut stderr = String::new();
    BufReader::new(child.stderr.take().expect("piped")).read_line(&mut stderr).expect("text");
    child.kill().expect("killed");
    child.wait().expect("the exit status of the child");
    assert!(stderr.contains("listening on http://0.0.0.0:"), "{stderr}");
}

/// Writes `NAME-ca.pem`, and a certificate of it for 127.0.0.1 as `NAME.pem` and `NAME.key`.
fn certificates(dir: &Path, name: &str) {
    let mut params = CertificateParams::new(Vec::new()).expect("a certificate without names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let ca = CertifiedIssuer::self_signed(params, key).expect("signed");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &ca).expect("signed");
    let write = |end: &str, text: String| {
        fs::write(dir.join(format!("{name}{end}")), text).expect("written");
    };
    write("-ca.pem", ca.pem());
    write(".pem", certificate.pem());
    write(".key", key.serialize_pem());
}

fn tls<'a>(cert: &'a str, key: &'a str, ca: &'a str) -> [&'a str; 6] {
    ["--tls-cert", cert, "--tls-key", key, "--tls-ca", ca]
}

#[test]
fn with_tls_both_sides_present_a_certificate() {
    let dir = fresh("coordinator-tls");
    certificates(&dir, "ours");
    certificates(&dir, "strange");
    let ours = tls("ours.pem", "ours.key", "ours-ca.pem");
    let coordinator =
        Coordinator::start(&dir, &[&["--contact", "me@a.example"][..], &ours].concat());
    assert!(coordinator.url.starts_with("https://"), "{}", coordinator.url);
    let ask = ["agents", "--coordinator", &coordinator.url];
    expect(&dir, &[&ask[..], &ours].concat(), 0);
    // Three failures: a client of another authority, a coordinator of another authority, and no
    // TLS.
    expect(&dir, &[&ask[..], &tls("strange.pem", "strange.key", "ours-ca.pem")].concat(), 70);
    expect(&dir, &[&ask[..], &tls("ours.pem", "ours.key", "strange-ca.pem")].concat(), 70);
    let plain = coordinator.url.replace("https", "http");
    expect(&dir, &["agents", "--coordinator", &plain], 70);
    let (_, stderr) = expect(&dir, &[&["agents", "--coordinator", &plain][..], &ours].concat(), 64);
    assert!(stderr.contains("must begin with https://"), "{stderr}");
    assert_eq!(coordinator.end(Signal::TERM).0, Some(0));
}
