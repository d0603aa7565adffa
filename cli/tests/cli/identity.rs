//! Tests of `crivello identity`, and of crawls whose key cannot be used.

use crate::program::{expect, fresh};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

const BODY: &str = "http-message-signatures-directory";

#[test]
fn a_key_is_made_once_and_published_without_its_secret() {
    let dir = fresh("identity");
    let (stdout, stderr) = expect(&dir, &["identity", "keygen", "--out", "bot.pem"], 0);
    let mode = fs::metadata(dir.join("bot.pem")).expect("the key").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let key = fs::read_to_string(dir.join("bot.pem")).expect("the key");
    let secret = key.lines().nth(1).expect("the key has a line of Base64");
    assert!(!stdout.contains(secret) && !stderr.contains(secret), "{stderr}");
    let (_, again) = expect(&dir, &["identity", "keygen", "--out", "bot.pem"], 64);
    assert!(again.contains("not overwritten"), "{again}");
    assert_eq!(fs::read_to_string(dir.join("bot.pem")).expect("the key"), key);

    let args = ["identity", "directory", "--key=bot.pem", "--url=https://bot.example", "--out=d"];
    let (_, stderr) = expect(&dir, &args, 0);
    assert!(stderr.contains("expire in 30 days"), "{stderr}");
    let body = fs::read_to_string(dir.join("d").join(BODY)).expect("the directory");
    let head = fs::read_to_string(dir.join("d").join(format!("{BODY}.headers"))).expect("headers");
    assert!(body.starts_with(r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":""#), "{body}");
    let names: Vec<_> = head.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(names, ["Content-Type", "Content-Digest", "Signature-Input", "Signature"]);
    assert!(!body.contains(secret) && !head.contains(secret));

    // A change of keys: both are listed, and both sign.
    expect(&dir, &["identity", "keygen", "--out", "next.pem"], 0);
    let (_, stderr) = expect(&dir, &[&args[..], &["--key=next.pem", "--days=366"]].concat(), 0);
    assert!(stderr.contains("expire in 366 days"), "{stderr}");
    let body = fs::read_to_string(dir.join("d").join(BODY)).expect("the directory");
    let head = fs::read_to_string(dir.join("d").join(format!("{BODY}.headers"))).expect("headers");
    assert_eq!((body.matches("kid").count(), head.matches("sig2=").count()), (2, 2), "{head}");
}

#[test]
fn a_key_or_a_url_that_cannot_be_used_is_refused() {
    let dir = fresh("identity-refused");
    expect(&dir, &["identity", "keygen", "--out", "bot.pem"], 0);
    let directory = ["identity", "directory", "--key=bot.pem", "--out=d"];
    let url = "--url=http://bot.example";
    let (_, stderr) = expect(&dir, &[&directory[..], &[url]].concat(), 64);
    assert!(stderr.contains("not an https URL"), "{stderr}");

    let crawl = [
        "crawl",
        "http://127.0.0.1/",
        "--contact=you@example.com",
        "--set=identity.signature-key-file=bot.pem",
    ];
    let (_, stderr) = expect(&dir, &crawl, 64);
    assert!(stderr.contains("identity.signature-agent: missing"), "{stderr}");
    let crawl = [&crawl[..], &["--set=identity.signature-agent=https://bot.example"]].concat();
    fs::set_permissions(dir.join("bot.pem"), Permissions::from_mode(0o644)).expect("a mode");
    let (_, stderr) = expect(&dir, &crawl, 64);
    assert!(stderr.contains("identity.signature-key-file: bot.pem is a secret"), "{stderr}");
    let (_, stderr) = expect(&dir, &[&directory[..], &["--url=https://a.example"]].concat(), 64);
    assert!(stderr.contains("chmod 600 bot.pem"), "{stderr}");
    fs::write(dir.join("bot.pem"), "no key").expect("written");
    fs::set_permissions(dir.join("bot.pem"), Permissions::from_mode(0o600)).expect("a mode");
    let (_, stderr) = expect(&dir, &crawl, 64);
    assert!(stderr.contains("is not a private Ed25519 key"), "{stderr}");
    assert!(!dir.join("d").exists());
}
