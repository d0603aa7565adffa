//! Access to a cluster: only its nodes take part, and only holders of the token can give commands.
//! A refused party can read the reason, as can the cluster. Certificates can change while the
//! cluster runs.
//!
//! Possible failures: a stranger is admitted; a refusal has no visible reason; a command without a
//! token is executed; a certificate is read once and never again; a connection breaks because a
//! file changed; a secret is in a log, in a status or in a process list.

use crivello_tests::cluster::{Certs, Process};
use crivello_tests::{Cluster, DEADLINE, binary, output_within, seed};
use rcgen::{CertificateParams, Issuer, KeyPair};
use rustix::process::Signal;
use simweb::Spec;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use time::OffsetDateTime;

/// Returns a cluster with a long lease, so that no agent is declared dead on a busy machine.
fn cluster(hosts: u32, pages: u32, delay_ms: u64) -> Cluster {
    let web = Spec::new(seed()).size(hosts, 1, pages).latency_ms(0, 20);
    Cluster::new(web)
        .delays(Duration::from_millis(delay_ms), Duration::from_millis(40))
        .set("cluster.lease=15s")
}

/// Starts an agent that is not part of the cluster and tries to join it.
fn stranger(cluster: &Cluster, name: &str, url: &str, tls: &[String]) -> Process {
    let mut command = Command::new(binary());
    let disk = cluster.dir().join(name);
    command.args(["agent", "--listen=127.0.0.1:0", "--coordinator", url, "--name", name]);
    command.arg("--data").arg(disk).args(tls).env("NO_COLOR", "1");
    Process::start(&mut command, cluster.dir().join(format!("{name}.txt")), DEADLINE)
}

/// Makes a certificate of the cluster's own authority for a node, which has expired.
fn expired(certs: &Certs) {
    let read = |file: &str| fs::read_to_string(certs.dir().join(file)).expect("read");
    let authority = KeyPair::from_pem(&read("ca.key")).expect("a key");
    let authority = Issuer::from_ca_cert_pem(&read("ca.pem"), authority).expect("a certificate");
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    params.not_before = OffsetDateTime::from_unix_timestamp(1_577_836_800).expect("a time");
    params.not_after = OffsetDateTime::from_unix_timestamp(1_609_459_200).expect("a time");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    fs::write(certs.dir().join("late.pem"), certificate.pem()).expect("written");
    fs::write(certs.dir().join("late.key"), key.serialize_pem()).expect("written");
}

#[test]
fn strangers_are_turned_away_and_both_sides_say_why_while_the_cluster_works() {
    let mut cluster = cluster(16, 6, 250).with_certs(&["a", "b"]).start(2);
    let certs = cluster.certs().clone();
    cluster.seed();

    let theirs = Certs::make(&cluster.dir().join("theirs"), &["x"]);
    expired(&certs);
    // The stranger trusts the cluster, but its certificate is from another authority.
    fs::copy(certs.dir().join("ca.pem"), theirs.dir().join("ca.pem")).expect("copied");
    let url = cluster.url();
    let plain = url.replace("https", "http");
    let strangers = [
        ("none", stranger(&cluster, "none", &plain, &[]), "does not use TLS", "it requires TLS"),
        (
            "late",
            stranger(&cluster, "late", &url, &certs.tls_of("late")),
            "its certificate expired on 2021-01-01 00:00:00Z",
            "our certificate has expired",
        ),
        (
            "x",
            stranger(&cluster, "x", &url, &theirs.tls_of("x")),
            "its certificate is from another authority",
            "our certificate is from another authority",
        ),
    ];
    for (name, process, by_us, by_them) in strangers {
        cluster.until(&format!("{name} logs the reason"), |_| process.log().contains(by_them));
        cluster.until(&format!("the other side logs why {name} is rejected"), |cluster| {
            let said = cluster.log_of("coordinator");
            said.lines().any(|line| line.contains("127.0.0.1:") && line.contains(by_us))
        });
        assert_eq!(cluster.state(name), None, "{name} was accepted");
        let _ = process.kill();
    }
    let said = cluster.log_of("coordinator");
    let lines = said.lines().filter(|line| line.contains("from another authority")).count();
    assert_eq!(lines, 1, "more than one line per minute:\n{said}");

    orders_need_the_token(&cluster, &certs, &theirs);
    let secrets = secrets(&certs);
    let status = cluster.run_ok(&["status", "--json"]);
    for name in ["coordinator", "a", "b"] {
        let id = cluster.process(name).id();
        let words = fs::read(format!("/proc/{id}/cmdline")).expect("read");
        let words = String::from_utf8_lossy(&words);
        assert!(words.contains("node-secret"), "{words}");
        assert_eq!(shown(&secrets, &words), None::<&str>, "{name}'s command line");
    }
    cluster.finish(0);
    assert_eq!(shown(&secrets, &status), None, "{status}");
    for name in ["coordinator", "a", "b"] {
        assert_eq!(shown(&secrets, &cluster.log_of(name)), None, "{name}'s log");
    }
}

/// Returns the secrets, and the lines of all keys.
fn secrets(certs: &Certs) -> Vec<String> {
    let read = |file: &str| fs::read_to_string(certs.dir().join(file)).expect("read");
    let files = ["token", "node-secret", "coordinator.key", "a.key", "b.key", "people.key"];
    let text: String = files.map(read).concat();
    let secrets = text.lines().filter(|line| !line.starts_with("-----"));
    let secrets: Vec<String> = secrets.map(str::to_owned).collect();
    assert!(secrets.len() > 5 && secrets.iter().all(|secret| secret.len() > 15), "{secrets:?}");
    secrets
}

fn shown<'a>(secrets: &'a [String], text: &str) -> Option<&'a str> {
    secrets.iter().map(String::as_str).find(|secret| text.contains(*secret))
}

fn orders_need_the_token(cluster: &Cluster, certs: &Certs, theirs: &Certs) {
    let url = cluster.url();
    let wrong = theirs.dir().join("token").display().to_string();
    let ask = |words: &[&str], token: &[&str]| {
        let mut command = Command::new(binary());
        command.args(words).args(["--coordinator", &url]).args(certs.tls_of("people"));
        command.args(token).env_remove("CRIVELLO_TOKEN_FILE");
        let output = output_within(&mut command, DEADLINE);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let orders = [
        &["agents"][..],
        &["status"],
        &["pause"],
        &["stop"],
        &["drain", "a"],
        &["remove", "a", "--give-up"],
        &["seed", "http://a.example/"],
        &["wait", "--timeout", "1s"],
    ];
    for words in orders {
        for (token, why) in [
            (&[][..], "needs the token of the cluster: give --token-file"),
            (&["--token-file", &wrong], "not that of this cluster: give --token-file"),
        ] {
            let (code, said) = ask(words, token);
            assert_eq!(code, Some(64), "{words:?} {token:?}: {said}");
            assert!(said.contains(why), "{words:?}: {said}");
        }
    }
    let listing = cluster.listing();
    assert_eq!(listing["run"], "running", "a rejected command was executed: {listing}");
    assert!(listing["agents"].as_array().expect("a list").iter().all(|a| a["state"] == "active"));
    let right = certs.dir().join("token").display().to_string();
    let (code, said) = ask(&["pause"], &["--token-file", &right]);
    assert_eq!(code, Some(0), "{said}");
    // The token may also come from the environment.
    let mut command = Command::new(binary());
    command.args(["resume", "--coordinator", &url]).args(certs.tls_of("people"));
    let output = output_within(command.env("CRIVELLO_TOKEN_FILE", &right), DEADLINE);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = cluster.log_of("coordinator");
    assert!(said.contains("is rejected: ListAgents: it sent no token"), "{said}");
}

#[test]
fn certificates_and_their_authority_change_under_a_cluster_that_works_on() {
    let nodes = ["a", "b", "c"];
    let mut cluster = cluster(16, 32, 1_000).with_certs(&nodes).start_until(2, 0.05);
    let certs = cluster.certs().clone();
    let old = cluster.dir().join("old");
    let new = Certs::make(&cluster.dir().join("new"), &nodes);
    copy(certs.dir(), &old, "");
    let connections = cluster.connections();

    // First both authorities are trusted, then the nodes change their certificates, then only the
    // new authority is trusted.
    let read = |dir: &Path| fs::read_to_string(dir.join("ca.pem")).expect("read");
    let both = format!("{}{}", read(&old), read(new.dir()));
    fs::write(certs.dir().join("ca.pem"), both).expect("written");
    wait_for_change(&mut cluster, 1);
    for node in ["coordinator", "people", "a", "b", "c"] {
        copy(new.dir(), certs.dir(), &format!("{node}."));
    }
    wait_for_change(&mut cluster, 2);
    fs::copy(new.dir().join("ca.pem"), certs.dir().join("ca.pem")).expect("copied");
    wait_for_change(&mut cluster, 3);

    assert_eq!(cluster.connections(), connections, "existing connections were closed");
    // A client with the old certificates is a stranger now; one with the new certificates is not.
    let with_old = certs.clone().moved_to(&old);
    let mut command = Command::new(binary());
    command.args(["agents", "--coordinator", &cluster.url()]).args(with_old.of("people"));
    let output = output_within(&mut command, DEADLINE);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(70), "{said}");
    assert!(said.contains("is from another authority"), "{said}");
    cluster.add("c");
    cluster.until("c fetches", |cluster| !cluster.requests_of("c").is_empty());

    // An invalid file changes nothing.
    fs::write(certs.dir().join("a.pem"), "-----BEGIN CERT").expect("written");
    cluster.until("a logs it", |cluster| cluster.log_of("a").contains("stay in force"));
    cluster.drain("b");
    cluster.finish(0);
}

#[test]
fn the_secrets_change_under_a_cluster_that_works_on() {
    let mut cluster = cluster(8, 12, 500).with_certs(&["a", "b"]).start_until(2, 0.05);
    let (certs, connections) = (cluster.certs().clone(), cluster.connections());
    let old = cluster.dir().join("old");
    copy(certs.dir(), &old, "");

    // An invalid file changes nothing.
    let [token, secret] = ["token", "node-secret"].map(|file| certs.dir().join(file));
    fs::write(&token, "short\n").expect("written");
    fs::write(&secret, "short\n").expect("written");
    for node in ["coordinator", "a"] {
        cluster.until("the node logs it", |cluster| cluster.log_of(node).contains("is too short"));
    }
    let with_old = certs.clone().moved_to(&old);
    let url = cluster.url();
    let ask = |certs: &Certs| {
        let mut command = Command::new(binary());
        command.args(["status", "--coordinator", &url]).args(certs.of("people"));
        let output = output_within(&mut command, DEADLINE);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(ask(&with_old).0, Some(0));

    let new = Certs::make(&cluster.dir().join("new"), &[]);
    fs::copy(new.dir().join("token"), &token).expect("copied");
    fs::copy(new.dir().join("node-secret"), &secret).expect("copied");
    for (node, file) in
        [("coordinator", &token), ("coordinator", &secret), ("a", &secret), ("b", &secret)]
    {
        let line = format!("from now on, calls need the secret in {}", file.display());
        cluster.until(&format!("{node} uses the new file"), |cluster| {
            cluster.log_of(node).contains(&line)
        });
    }
    let (code, said) = ask(&with_old);
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("not that of this cluster"), "{said}");
    assert_eq!(cluster.connections(), connections, "existing connections were closed");
    // `wait` calls the agents, too.
    cluster.finish(0);
    for node in ["coordinator", "a", "b"] {
        assert_eq!(shown(&secrets(&certs), &cluster.log_of(node)), None, "{node}'s log");
    }
}

/// An agent requests its own drain. It has no token of people.
#[test]
fn an_agent_that_is_told_to_drain_when_it_stops_may_ask_for_it() {
    let mut cluster = cluster(2, 1, 250).with_certs(&["a", "b"]).start(1);
    let words = [cluster.certs().of("b"), vec!["--drain-on-stop".to_owned()]].concat();
    let mut process = stranger(&cluster, "b", &cluster.url(), &words);
    cluster.until("b is a member", |cluster| cluster.state("b").as_deref() == Some("active"));
    process.signal(Signal::TERM);
    cluster.until("b has ended", |_| process.has_ended());
    let said = process.log();
    assert_eq!(process.wait().status.code(), Some(0), "{said}");
    assert_eq!(cluster.state("b"), None, "{said}");
    let _ = cluster.stop();
}

/// Copies the files with this prefix.
fn copy(from: &Path, to: &Path, prefix: &str) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("listed") {
        let entry = entry.expect("listed");
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
        }
    }
}

/// Waits until all nodes have logged this many changes of files.
fn wait_for_change(cluster: &mut Cluster, times: usize) {
    for node in ["coordinator", "a", "b"] {
        cluster.until(&format!("{node} uses the new files"), |cluster| {
            let said = cluster.log_of(node);
            said.matches("new connections use").count() >= times
        });
    }
}

#[test]
fn nobody_listens_to_other_machines_without_certificates_and_secrets() {
    const TLS: &str = "--tls-cert, --tls-key and --tls-ca";
    let dir = tempfile::tempdir().expect("a directory");
    let certs = Certs::make(&dir.path().join("certificates"), &["a"]);
    let file = |name: &str| certs.dir().join(name).display().to_string();
    let token = vec!["--token-file".to_owned(), file("token")];
    let secret = vec!["--node-secret-file".to_owned(), file("node-secret")];
    let tls = certs.tls_of("a");
    let data = dir.path().join("data").display().to_string();
    let coordinator = ["coordinator", "--contact=me@a.example"];
    let (https, http) = (
        ["agent", "--coordinator=https://127.0.0.1:1"],
        ["agent", "--coordinator=http://127.0.0.1:1"],
    );
    let (no_token, no_secret) = ("--token-file (", "--node-secret-file (");
    let wide = "--listen=0.0.0.0:0";
    for (words, at, given, missing) in [
        (coordinator, wide, vec![], &[TLS, no_token, no_secret][..]),
        (coordinator, wide, [&token[..], &secret].concat(), &[TLS]),
        (coordinator, wide, [&tls[..], &secret].concat(), &[no_token]),
        (coordinator, wide, [&tls[..], &token].concat(), &[no_secret]),
        (coordinator, "--listen=127.0.0.1:0", token, &[no_secret]),
        (coordinator, "--listen=127.0.0.1:0", secret.clone(), &[no_token]),
        (http, wide, vec![], &[TLS, no_secret]),
        (http, wide, secret, &[TLS]),
        (https, wide, tls, &[no_secret]),
    ] {
        let mut command = Command::new(binary());
        command.args(words).args([at, "--data", &data]).args(&given);
        command.env_remove("CRIVELLO_TOKEN_FILE").env_remove("CRIVELLO_NODE_SECRET_FILE");
        let output = output_within(&mut command, DEADLINE);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{words:?} {given:?}: {said}");
        assert!(said.contains("--insecure"), "{said}");
        for what in [TLS, no_token, no_secret] {
            let is_missing = missing.contains(&what);
            assert_eq!(said.contains(what), is_missing, "{words:?} {given:?}: {what}: {said}");
        }
        assert!(!Path::new(&data).exists(), "a crawl was started");
    }
}
