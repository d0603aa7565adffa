//! `crivello robots` says what is allowed, by which line, and tells it by its exit code.

use std::fs;
use std::path::Path;
use std::process::Command;

const ROBOTS: &str = "\
User-agent: *
Disallow: /private
Allow: /private/open
Crawl-delay: 7
Sitemap: http://a.example/sitemap.xml

User-agent: banned
Disallow: /
";

fn ask(file: &str, agent: &str, urls: &[&str]) -> (Option<i32>, String, String) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = dir.join(format!("robots-{}-{file}", std::process::id()));
    if file != "absent" {
        fs::write(&path, ROBOTS).expect("written");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_crivello"))
        .arg("robots")
        .arg(&path)
        .args(["--agent", agent])
        .args(urls)
        .output()
        .expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn each_url_is_judged_by_the_line_that_decides() {
    let urls = ["http://a.example/", "http://a.example/private/x", "/private/open"];
    let (code, stdout, stderr) = ask("lines", "crivello", &urls);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("allowed"), "{stdout}");
    assert!(lines[1].starts_with("disallowed") && lines[1].contains("line 2"), "{stdout}");
    assert!(lines[2].starts_with("allowed") && lines[2].contains("line 3"), "{stdout}");
    assert!(stdout.contains("7"), "{stdout}");
    assert!(stdout.contains("http://a.example/sitemap.xml"), "{stdout}");
}

#[test]
fn the_exit_code_tells_allowed_from_disallowed() {
    assert_eq!(ask("allowed", "crivello", &["/"]).0, Some(0));
    assert_eq!(ask("banned", "banned", &["/"]).0, Some(1));
}

#[test]
fn what_cannot_be_read_is_a_usage_error() {
    let (code, _, stderr) = ask("absent", "crivello", &["/"]);
    assert_eq!(code, Some(64), "{stderr}");
    let (code, _, stderr) = ask("no-url", "crivello", &["not a url"]);
    assert_eq!(code, Some(64), "{stderr}");
    assert!(stderr.contains("not a url"), "{stderr}");
    for agent in ["", "Googlebot/2.1"] {
        let (code, _, stderr) = ask("agent", agent, &["/"]);
        assert_eq!(code, Some(64), "{stderr}");
        assert!(stderr.contains("--agent") && stderr.contains("product token"), "{stderr}");
    }
}
