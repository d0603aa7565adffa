//! Tests of `crivello certs` and `crivello token`: files that they create, keep and reject.

use crate::program::{expect, fresh};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Returns the files of a directory, with their modes.
fn files(dir: &Path) -> BTreeMap<String, (u32, String)> {
    let entries = fs::read_dir(dir).expect("a directory");
    let file = |entry: fs::DirEntry| {
        let mode = entry.metadata().expect("the file exists").permissions().mode() & 0o777;
        let text = fs::read_to_string(entry.path()).expect("text");
        (entry.file_name().into_string().expect("a name"), (mode, text))
    };
    entries.map(|entry| file(entry.expect("an entry"))).collect()
}

#[test]
fn an_authority_is_created_once_and_signs_more_nodes_later() {
    let dir = fresh("certs");
    let (_, stderr) = expect(&dir, &["certs", "--out", "c", "one,10.0.0.1", "two", "--days=30"], 0);
    for word in ["c/ca.key", "one, 10.0.0.1, localhost, 127.0.0.1", "next:", "crivello token"] {
        assert!(stderr.contains(word), "no {word:?} in {stderr}");
    }
    let first = files(&dir.join("c"));
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(names, ["ca.key", "ca.pem", "one.key", "one.pem", "two.key", "two.pem"]);
    for (name, (mode, text)) in &first {
        let is_key = name.ends_with(".key");
        assert_eq!(*mode, if is_key { 0o600 } else { 0o644 }, "{name}");
        assert_eq!(text.contains("PRIVATE KEY"), is_key, "{name}");
        assert!(!stderr.contains(text.lines().nth(1).expect("lines")), "{name} was printed");
    }

    // Existing files are not changed by new nodes or by errors.
    let (_, stderr) = expect(&dir, &["certs", "--out", "c", "three,one"], 0);
    assert!(!stderr.contains("created c/ca.pem"), "{stderr}");
    let (_, stderr) = expect(&dir, &["certs", "--out", "c", "four", "one"], 64);
    assert!(stderr.contains("c/one.pem exists already: --renew"), "{stderr}");
    let second = files(&dir.join("c"));
    assert!(first.iter().all(|(name, file)| second[name] == *file));
    assert!(second.contains_key("three.pem") && !second.contains_key("four.pem"));

    // A renewed node keeps its names, unless new ones are given.
    let (_, stderr) = expect(&dir, &["certs", "--out", "c", "--renew", "one"], 0);
    assert!(stderr.contains("one, localhost, 127.0.0.1, 10.0.0.1"), "{stderr}");
    let (_, stderr) = expect(&dir, &["certs", "--out", "c", "--renew", "two,10.0.0.2"], 0);
    assert!(stderr.contains("two, 10.0.0.2, localhost, 127.0.0.1;"), "{stderr}");
    let third = files(&dir.join("c"));
    for name in ["ca.key", "ca.pem", "three.key", "three.pem"] {
        assert_eq!(second[name], third[name], "{name}");
    }
    for name in ["one.key", "one.pem", "two.key", "two.pem"] {
        assert_ne!(second[name].1, third[name].1, "{name}");
    }
    expect(&dir, &["certs", "--out", "c", "--renew"], 0);
    let fourth = files(&dir.join("c"));
    assert_eq!(third["ca.pem"], fourth["ca.pem"]);
    assert!(["one.pem", "two.pem", "three.pem"].iter().all(|n| third[*n].1 != fourth[*n].1));
}

#[test]
fn invalid_nodes_are_rejected_and_nothing_is_written() {
    let dir = fresh("certs-refusals");
    for (words, why) in [
        (&["certs", "--out", "c"][..], "NAME[,SAN...]"),
        (&["certs", "one"], "--out"),
        (&["certs", "--out", "c", "one,10.0.0.1:7070"], "no port"),
        (&["certs", "--out", "c", "one", "../two"], "letters"),
        (&["certs", "--out", "c", "one", "one,x"], "named twice"),
        (&["certs", "--out", "c", "ca"], "authority"),
        (&["certs", "--out", "c", "one", "--days=0"], "--days"),
        (&["certs", "--out", "c", "one", "--days=9999"], "--days"),
        (&["certs", "--out", "c", "--renew"], "no certificate of a node to renew"),
    ] {
        let (_, stderr) = expect(&dir, words, 64);
        assert!(stderr.contains(why), "{words:?}: no {why:?} in {stderr}");
        assert!(!dir.join("c").exists(), "{words:?}: something was written");
    }
    expect(&dir, &["certs", "--out", "c", "one"], 0);
    expect(&dir, &["certs", "--out", "d", "one"], 0);
    let refused = |why: &str| {
        let (_, stderr) = expect(&dir, &["certs", "--out", "c", "two"], 64);
        assert!(stderr.contains(why), "no {why:?} in {stderr}");
        assert!(!dir.join("c/two.pem").exists());
    };
    fs::copy(dir.join("d/ca.key"), dir.join("c/ca.key")).expect("copied");
    refused("ca.key is not its private key");
    fs::write(dir.join("c/ca.key"), "junk").expect("written");
    refused("contains no private key");
    fs::remove_file(dir.join("c/ca.key")).expect("removed");
    refused("c/ca.key is missing");
    fs::remove_file(dir.join("c/ca.pem")).expect("removed");
    refused("are missing, but there are certificates of nodes");
}

#[test]
fn a_token_is_readable_only_by_its_owner_and_not_overwritten() {
    let dir = fresh("token");
    let (printed, _) = expect(&dir, &["token"], 0);
    assert_eq!(printed.trim().len(), 43, "{printed}");
    let (printed, stderr) = expect(&dir, &["token", "--out", "t"], 0);
    let token = fs::read_to_string(dir.join("t")).expect("written");
    assert!(printed.is_empty() && !stderr.contains(token.trim()), "{printed}{stderr}");
    let mode = fs::metadata(dir.join("t")).expect("the file exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    expect(&dir, &["token", "--out", "t"], 64);
    assert_eq!(fs::read_to_string(dir.join("t")).expect("the file exists"), token);
    for (text, why) in
        [("", "is empty"), ("tooshort", "too short"), ("a blank in a long one", "white space")]
    {
        fs::write(dir.join("t"), text).expect("written");
        let words = ["agents", "--token-file", "t", "--coordinator", "http://127.0.0.1:9"];
        let (_, stderr) = expect(&dir, &words, 64);
        assert!(stderr.contains("t ") && stderr.contains(why), "{stderr}");
        assert!(text.is_empty() || !stderr.contains(text), "{stderr}");
    }
}
