//! Archives that the crawler did not write: of a real wget, of WARC/1.0, and broken ones. Each is read, or
//! what is wrong is named, by `archive check` and by all exports.

use crivello_tests::{binary, output, skipped};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

const FORMATS: [&str; 8] = ["jsonl", "markdown", "text", "wet", "wat", "parquet", "cdxj", "wacz"];

fn page(name: &str) -> String {
    let text =
        "The committee will publish its report about the harbor in the coming week. ".repeat(5);
    let links = ["/a.html", "/b.html", "/chunked.html", "/missing.html"]
        .map(|url| format!("<a href={url}>link</a> "))
        .concat();
    format!("<title>Page {name}</title><h1>{name}</h1><p>{text}</p><p>{links}</p>")
}

/// Answers requests of wget, until the test ends.
fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    });
    port
}

fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let path = request.split(' ').nth(1)?;
    let body = page(path.trim_matches('/'));
    let head = "content-type: text/html\r\nconnection: close\r\n";
    let n = body.len();
    let answer = match path {
        "/chunked.html" => format!(
            "HTTP/1.1 200 OK\r\n{head}transfer-encoding: chunked\r\n\r\n{n:x}\r\n{body}\r\n0\r\n\r\n"
        ),
        "/missing.html" | "/robots.txt" => {
            format!("HTTP/1.1 404 Not Found\r\n{head}content-length: 0\r\n\r\n")
        }
        _ => format!("HTTP/1.1 200 OK\r\n{head}content-length: {n}\r\n\r\n{body}"),
    };
    stream.write_all(answer.as_bytes()).ok()
}

fn crivello(args: &[&str], path: &Path) -> Output {
    output(Command::new(binary()).args(args).arg(path))
}

/// Exports files in each format, and returns the exit codes and what was said.
fn exports(files: &Path, out: &Path) -> Vec<(&'static str, Option<i32>, String)> {
    let out = out.to_str().expect("UTF-8");
    let export = |format| {
        let ended = crivello(&["export", format, "--out", out], files);
        let said = [ended.stdout, ended.stderr].concat();
        (format, ended.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    FORMATS.into_iter().map(export).collect()
}

/// Returns the lines of an export as JSON Lines.
fn pages(files: &Path, out: &Path) -> Vec<Value> {
    let out = out.join("pages");
    let args = ["export", "jsonl", "--compression", "none", "--out", out.to_str().expect("UTF-8")];
    crivello(&args, files);
    let mut lines = Vec::new();
    for entry in fs::read_dir(out.join("jsonl")).expect("outputs").flatten() {
        if entry.path().extension().is_some_and(|end| end == "jsonl") {
            let text = fs::read_to_string(entry.path()).expect("text");
            lines.extend(
                text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")),
            );
        }
    }
    lines
}

fn titles(lines: &[Value]) -> Vec<&str> {
    let mut titles: Vec<&str> = lines.iter().filter_map(|line| line["title"].as_str()).collect();
    titles.sort_unstable();
    titles
}

#[test]
fn archives_of_wget_are_read_whole() {
    let Ok(version) = Command::new("wget").arg("--version").output() else {
        return skipped("no wget");
    };
    assert!(version.status.success());
    let (dir, port) = (tempfile::tempdir().expect("a directory"), serve());
    for (name, options) in [("compressed", &[][..]), ("plain", &["--no-warc-compression"][..])] {
        let files = dir.path().join(name);
        fs::create_dir(&files).expect("created");
        let crawled = Command::new("wget")
            .args(["-q", "--no-proxy", "-r", "-l", "3", "-t", "1", "-P", "mirror", "--warc-cdx"])
            .arg(format!("--warc-file={}", files.join("site").display()))
            .args(options)
            .arg(format!("http://127.0.0.1:{port}/"))
            .current_dir(dir.path())
            .output()
            .expect("wget runs");
        // 8: a page was missing.
        assert_eq!(crawled.status.code(), Some(8), "{crawled:?}");
        let checked = crivello(&["archive", "check"], &files);
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.success() && said.contains(", 0 problems"), "{checked:?}");
        for (format, code, said) in exports(&files, &dir.path().join(format!("{name}-out"))) {
            assert_eq!(code, Some(0), "{format}: {said}");
            assert!(said.contains(" 1 files") || said.contains("in "), "{format}: {said}");
        }
        let lines = pages(&files, dir.path().join(format!("{name}-out")).as_path());
        let expected = ["Page", "Page a.html", "Page b.html", "Page chunked.html"];
        assert_eq!(titles(&lines), expected, "{name}");
        assert!(lines.iter().any(|line| line["status"] == 404), "{name}");
    }
}

fn response(version: &str, url: &str, length: Option<u64>) -> Vec<u8> {
    let body = page(url);
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
    let length = length.unwrap_or(http.len() as u64);
    let head = format!(
        "{version}\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{url}>\r\n\
         WARC-Date: 2011-02-03T04:05:06Z\r\nWARC-Target-URI: http://example.com/{url}\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {length}\r\n\r\n"
    );
    [head, http, "\r\n\r\n".to_owned()].concat().into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes).expect("memory");
    gzip.finish().expect("memory")
}

#[test]
fn archives_of_the_first_version_are_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = dir.path().join("files");
    fs::create_dir(&files).expect("created");
    let records = [response("WARC/1.0", "one", None), response("WARC/1.0", "two", None)];
    fs::write(files.join("plain.warc"), records.concat()).expect("written");
    let members = records.map(|record| gzip(&record));
    fs::write(files.join("members.warc.gz"), members.concat()).expect("written");
    let checked = crivello(&["archive", "check"], &files);
    assert!(String::from_utf8_lossy(&checked.stdout).contains("4 records"), "{checked:?}");
    assert!(checked.status.success(), "{checked:?}");
    for (format, code, said) in exports(&files, &dir.path().join("out")) {
        assert_eq!(code, Some(0), "{format}: {said}");
    }
    let lines = pages(&files, dir.path());
    assert_eq!(titles(&lines), ["Page one", "Page one", "Page two", "Page two"]);
}

/// The records before and after what is broken are exported, the place is named, and the exit code is 1.
#[test]
fn what_is_broken_is_named_and_the_rest_is_exported() {
    let good = |url| gzip(&response("WARC/1.1", url, None));
    let mut flipped = good("flipped");
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    let length = |length| gzip(&response("WARC/1.1", "lying", Some(length)));
    let cases = [
        ("a wrong member", flipped, "compressed data are invalid"),
        ("a length that is too small", length(100), "longer than its Content-Length"),
        ("a length that is too large", length(20_000), "shorter than its Content-Length"),
        ("100 GB", length(100_000_000_000), "shorter than its Content-Length"),
        ("no gzip", b"these are no members".to_vec(), "begin no gzip member"),
    ];
    for (name, broken, problem) in cases {
        let dir = tempfile::tempdir().expect("a directory");
        let files = dir.path().join("files");
        fs::create_dir(&files).expect("created");
        let offset = good("before").len();
        let file = [good("before"), broken, good("after")].concat();
        fs::write(files.join("x.warc.gz"), file).expect("written");
        let place = format!("x.warc.gz: offset {offset}: ");
        let checked = crivello(&["archive", "check"], &files);
        let said = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert_eq!(checked.status.code(), Some(1), "{name}: {checked:?}");
        assert!(said.contains(&place) && said.contains(problem), "{name}: {said}");
        for (format, code, said) in exports(&files, &dir.path().join("out")) {
            assert_eq!(code, Some(1), "{name}, {format}: {said}");
            assert!(said.contains(&place) && said.contains(problem), "{name}, {format}: {said}");
            assert!(said.contains("1 damaged places"), "{name}, {format}: {said}");
        }
        let lines = pages(&files, dir.path());
        let found = titles(&lines);
        assert!(
            found.contains(&"Page before") && found.contains(&"Page after"),
            "{name}: {found:?}"
        );
        // No export has the damaged record as if it were whole.
        assert!(!found.contains(&"Page flipped"), "{name}: {found:?}");
    }
}
