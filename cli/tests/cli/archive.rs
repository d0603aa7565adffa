//! Tests of `crivello archive` on a file as other programs write it.

use crate::program::{crivello, fresh};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a record of WARC/1.0, without compression.
fn record(kind: &str, url: &str, date: &str, fields: &str, block: &str) -> String {
    let length = block.len();
    format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{kind}-{date}>\r\n\
         WARC-Target-URI: <{url}>\r\nWARC-Date: {date}\r\n{fields}\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {length}\r\n\r\n\
         {block}\r\n\r\n"
    )
}

const PAGE: &str = "http://a.example/page";
/// SHA-1 of `hello`.
const HELLO: &str = "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N";

fn file(digest: &str) -> String {
    let response = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello";
    let revisit = format!(
        "WARC-Refers-To-Target-URI: {PAGE}\r\nWARC-Refers-To-Date: 2026-01-01T00:00:00Z\r\n\
         WARC-Payload-Digest: {HELLO}\r\n"
    );
    let digest = format!("WARC-Payload-Digest: {digest}\r\n");
    [
        record("response", PAGE, "2026-01-01T00:00:00Z", &digest, response),
        record(
            "response",
            "http://a.example/\u{1b}[31m",
            "2026-01-02T00:00:00Z",
            "",
            "HTTP/1.1 404 No\r\n\r\n",
        ),
        record("revisit", PAGE, "2026-01-03T00:00:00Z", &revisit, "HTTP/1.1 200 OK\r\n\r\n"),
    ]
    .concat()
}

fn run(dir: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let output = crivello(dir, &[&["archive"], words].concat()).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn records_are_listed_shown_checked_and_extracted() {
    let dir = fresh("archive-good");
    fs::create_dir(dir.join("warc")).expect("created");
    fs::write(dir.join("warc/x.warc"), file(HELLO)).expect("written");
    let (code, list, errors) = run(&dir, &["ls", "."]);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = list.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert_eq!(lines[0][2..], ["2026-01-01T00:00:00Z", "response", "200", "50", PAGE]);
    assert_eq!(lines[1][4], "404");
    assert!(!list.contains('\u{1b}'), "a terminal would obey it");

    let (code, text, _) = run(&dir, &["cat", "warc/x.warc", lines[0][1]]);
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with("WARC/1.0\r\nWARC-Type: response\r\n")
            && text.ends_with("\r\n\r\nhello\r\n\r\n")
    );
    let (_, payload, _) = run(&dir, &["cat", "--payload", "warc/x.warc", lines[0][1]]);
    assert_eq!(payload, "hello");
    let (code, _, errors) = run(&dir, &["cat", "warc/x.warc", "1"]);
    assert!(code == Some(64) && errors.contains("no record at offset 1"), "{code:?} {errors}");

    let (code, report, errors) = run(&dir, &["check", "warc"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(report, "1 files, 0 indexes, 3 records, 5 digests not checked, 0 problems\n");

    // The last capture is a revisit of the first.
    for at in [&[][..], &["--at", "2026-01-02"]] {
        let (code, payload, errors) = run(&dir, &[&["extract", PAGE, "."], at].concat());
        assert_eq!((code, payload.as_str()), (Some(0), "hello"), "{errors}");
    }
    for at in ["20260102", "tomorrow", "2026-1-2", "02.01.2026"] {
        let (code, _, errors) = run(&dir, &["extract", PAGE, ".", "--at", at]);
        assert!(code == Some(64) && errors.contains("is no date"), "{at}: {code:?} {errors}");
    }
    let (code, _, errors) = run(&dir, &["extract", PAGE, ".", "--at", "2025"]);
    assert!(code == Some(1) && errors.contains("no capture until 2025"), "{code:?} {errors}");
}

/// `script` of util-linux runs a command at a terminal of its own.
#[test]
fn a_terminal_does_not_get_control_characters_of_records() {
    let dir = fresh("archive-terminal");
    let body = "HTTP/1.1 200 OK\r\n\r\nred \u{1b}[31mtitle\u{1b}]0;x\u{7}\u{9b}2J\tend\nlast";
    let text = record("response", PAGE, "2026-01-01T00:00:00Z", "", body);
    fs::write(dir.join("x.warc"), text).expect("written");
    for words in [
        &["cat", "x.warc", "0"][..],
        &["cat", "--payload", "x.warc", "0"],
        &["extract", PAGE, "x.warc"],
    ] {
        let (_, piped, _) = run(&dir, words);
        assert!(
            piped.contains("red \u{1b}[31mtitle\u{1b}]0;x\u{7}\u{9b}2J\tend\nlast"),
            "{piped:?}"
        );
        let shown = at_terminal(&dir, &[&["archive"], words].concat());
        assert!(shown.contains("title") && shown.contains("\tend\r\nlast"), "{shown:?}");
        let is_obeyed = |c: char| c.is_control() && !matches!(c, '\r' | '\n' | '\t');
        assert!(!shown.contains(is_obeyed), "{shown:?}");
    }
}

/// Returns what a command writes to a terminal.
fn at_terminal(dir: &Path, words: &[&str]) -> String {
    let program = crivello(dir, words).get_program().to_string_lossy().into_owned();
    let line = [&[program.as_str()], words].concat().join("' '");
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &format!("'{line}'"), "/dev/null"]).current_dir(dir);
    let output = script.stdin(Stdio::null()).output().expect("script of util-linux");
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_is_wrong_is_named() {
    let dir = fresh("archive-bad");
    let wrong = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
    let mut text = file(wrong);
    text.truncate(text.len() - 10);
    fs::write(dir.join("x.warc"), &text).expect("written");
    let line = |url: &str| {
        format!(
            "a 20260101000000 {{\"url\": \"{url}\", \"status\": \"200\", \"digest\": \"{wrong}\", \"offset\": \"0\"}}\n"
        )
    };
    fs::write(dir.join("x.cdxj"), line("http://other.example/")).expect("written");
    let (code, report, errors) = run(&dir, &["check", "x.warc"]);
    assert_eq!(code, Some(1));
    assert!(report.starts_with("1 files, 1 indexes, 3 records, "), "{report}");
    for problem in [
        "offset 0: the digest of the payload is sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
        "the file ends inside a record",
        "index: url is \"http://other.example/\"",
        "index: no line for the record at offset",
    ] {
        assert!(errors.contains(problem), "no {problem:?} in {errors}");
    }
    let (code, _, errors) = run(&dir, &["ls", "absent.warc"]);
    assert!(code == Some(64) && errors.contains("absent.warc"), "{code:?} {errors}");
    let empty = dir.join("empty");
    fs::create_dir(&empty).expect("created");
    let (code, _, errors) = run(&dir, &["ls", "empty"]);
    assert!(code == Some(64) && errors.contains("no WARC file in it"), "{code:?} {errors}");
}
