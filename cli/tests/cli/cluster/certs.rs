//! `crivello certs` and `crivello token`: what is written, what is kept, what is refused.

use super::kit::{expect, fresh};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The files of a directory, with their modes.
fn files(dir: &Path) -> BTreeMap<String, (u32, String)> {
    let entries = fs::read_dir(dir).expect("a directory");
    let file = |entry: fs::DirEntry| {
        let mode = entry.metadata().expect("there").permissions().mode() & 0o777;
        let text = fs::read_to_string(entry.path()).expect("text");
        (entry.file_name().into_string().expect("a name"), (mode, text))
    };
    entries.map(|entry| file(entry.expect("an entry"))).collect()
}

#[test]
fn an_authority_is_made_once_and_vouches_for_more_nodes_later() {
    let dir = fresh("certs");
    let (_, said) = expect(&dir, &["certs", "--out", "c", "one,10.0.0.1", "two", "--days=30"], 0);
    for word in ["c/ca.key", "one, 10.0.0.1, localhost, 127.0.0.1", "next:", "crivello token"] {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
    let first = files(&dir.join("c"));
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(names, ["ca.key", "ca.pem", "one.key", "one.pem", "two.key", "two.pem"]);
    for (name, (mode, text)) in &first {
        let is_key = name.ends_with(".key");
        assert_eq!(*mode, if is_key { 0o600 } else { 0o644 }, "{name}");
        assert_eq!(text.contains("PRIVATE KEY"), is_key, "{name}");
        assert!(!said.contains(text.lines().nth(1).expect("lines")), "{name} is shown");
    }

    // What is there is not touched, neither by more nor by what is refused.
    let (_, said) = expect(&dir, &["certs", "--out", "c", "three,one"], 0);
    assert!(!said.contains("made c/ca.pem"), "{said}");
    let (_, said) = expect(&dir, &["certs", "--out", "c", "four", "one"], 64);
    assert!(said.contains("c/one.pem is there already: --renew"), "{said}");
    let second = files(&dir.join("c"));
    assert!(first.iter().all(|(name, file)| second[name] == *file));
    assert!(second.contains_key("three.pem") && !second.contains_key("four.pem"));

    // Renewed, a node is reached as before, unless something else is said.
    let (_, said) = expect(&dir, &["certs", "--out", "c", "--renew", "one"], 0);
    assert!(said.contains("one, localhost, 127.0.0.1, 10.0.0.1"), "{said}");
    let (_, said) = expect(&dir, &["certs", "--out", "c", "--renew", "two,10.0.0.2"], 0);
    assert!(said.contains("two, 10.0.0.2, localhost, 127.0.0.1;"), "{said}");
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
fn what_cannot_be_certified_is_refused_and_nothing_is_written() {
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
        (&["certs", "--out", "c", "--renew"], "no node's certificate to renew"),
    ] {
        let (_, said) = expect(&dir, words, 64);
        assert!(said.contains(why), "{words:?}: no {why:?} in {said}");
        assert!(!dir.join("c").exists(), "{words:?}: something was written");
    }
    expect(&dir, &["certs", "--out", "c", "one"], 0);
    expect(&dir, &["certs", "--out", "d", "one"], 0);
    let refused = |why: &str| {
        let (_, said) = expect(&dir, &["certs", "--out", "c", "two"], 64);
        assert!(said.contains(why), "no {why:?} in {said}");
        assert!(!dir.join("c/two.pem").exists());
    };
    fs::copy(dir.join("d/ca.key"), dir.join("c/ca.key")).expect("copied");
    refused("ca.key is not its key");
    fs::write(dir.join("c/ca.key"), "junk").expect("written");
    refused("holds no private key");
    fs::remove_file(dir.join("c/ca.key")).expect("removed");
    refused("c/ca.key is missing");
    fs::remove_file(dir.join("c/ca.pem")).expect("removed");
    refused("are missing, and there are nodes' certificates");
}

#[test]
fn a_token_is_made_for_its_owner_and_not_overwritten() {
    let dir = fresh("token");
    let (printed, _) = expect(&dir, &["token"], 0);
    assert_eq!(printed.trim().len(), 43, "{printed}");
    let (printed, said) = expect(&dir, &["token", "--out", "t"], 0);
    let token = fs::read_to_string(dir.join("t")).expect("written");
    assert!(printed.is_empty() && !said.contains(token.trim()), "{printed}{said}");
    let mode = fs::metadata(dir.join("t")).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    expect(&dir, &["token", "--out", "t"], 64);
    assert_eq!(fs::read_to_string(dir.join("t")).expect("there"), token);
    for (text, why) in
        [("", "is empty"), ("tooshort", "too short"), ("a blank in a long one", "blank")]
    {
        fs::write(dir.join("t"), text).expect("written");
        let words = ["agents", "--token-file", "t", "--coordinator", "http://127.0.0.1:9"];
        let (_, said) = expect(&dir, &words, 64);
        assert!(said.contains("t ") && said.contains(why), "{said}");
        assert!(text.is_empty() || !said.contains(text), "{said}");
    }
}
