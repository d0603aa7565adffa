//! Tests of `crivello robots`: its answers, its exit codes, and the fetch of a robots.txt.

use crate::program::{crivello, fresh};
use simweb::{Character, DnsWay, Entry, Robots, SimWeb, Spec};
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use tokio::runtime::Runtime;

const ROBOTS: &str = "\
User-agent: *
Disallow: /private
Allow: /private/open
Crawl-delay: 7
Sitemap: http://a.example/sitemap.xml

User-agent: banned
Disallow: /
";

/// Output of the program.
struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(dir: &Path, words: &[&str]) -> Answer {
    let output = crivello(dir, words).output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Answer {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

/// Checks `urls` against the file [`ROBOTS`], or against a file that is absent.
fn ask(file: &str, agent: &str, urls: &[&str]) -> Answer {
    let dir = fresh(&format!("robots-{file}"));
    if file != "absent" {
        fs::write(dir.join("robots.txt"), ROBOTS).expect("written");
    }
    run(&dir, &[&["robots", "robots.txt", "--agent", agent][..], urls].concat())
}

#[test]
fn the_deciding_line_is_printed_for_each_url() {
    let urls = ["http://a.example/", "http://a.example/private/x", "/private/open"];
    let Answer { code, stdout, stderr } = ask("lines", "crivello", &urls);
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
    assert_eq!(ask("allowed", "crivello", &["/"]).code, Some(0));
    assert_eq!(ask("banned", "banned", &["/"]).code, Some(1));
}

#[test]
fn invalid_input_is_a_usage_error() {
    let Answer { code, stderr, .. } = ask("absent", "crivello", &["/"]);
    assert_eq!(code, Some(64), "{stderr}");
    let Answer { code, stderr, .. } = ask("no-url", "crivello", &["not a url"]);
    assert_eq!(code, Some(64), "{stderr}");
    assert!(stderr.contains("not a url"), "{stderr}");
    for agent in ["", "Googlebot/2.1"] {
        let Answer { code, stderr, .. } = ask("agent", agent, &["/"]);
        assert_eq!(code, Some(64), "{stderr}");
        assert!(stderr.contains("--agent") && stderr.contains("product token"), "{stderr}");
    }
}

struct RobotsWeb {
    _runtime: Runtime,
    web: SimWeb,
}

fn robots_web() -> RobotsWeb {
    let host = |robots| Character::default().robots(robots);
    let hops = |hops, to: Option<&str>| Robots::Redirects { hops, to: to.map(str::to_owned) };
    let inside = DnsWay::Address(Ipv4Addr::LOCALHOST);
    let spec = Spec::new(1)
        .host("plain.test", host(Robots::standard()))
        .host("five.test", host(hops(5, None)))
        .host("six.test", host(hops(6, None)))
        .host("other.test", host(hops(1, Some("plain.test"))))
        .host("none.test", host(Robots::Status(404)))
        .host("broken.test", host(Robots::Status(503)))
        .host("mark.test", host(Robots::ByteOrderMark))
        .host("huge.test", host(Robots::Huge))
        .host("inside.test", Character::default().dns(inside))
        .host("leads-inside.test", host(hops(1, Some("inside.test"))));
    let runtime = Runtime::new().expect("a runtime");
    let web = runtime.block_on(SimWeb::start(spec)).expect("the web starts");
    RobotsWeb { _runtime: runtime, web }
}

impl RobotsWeb {
    /// Checks whether the robots.txt of `host` allows `path`.
    fn ask(&self, host: &str, path: &str) -> Answer {
        self.run(&format!("http://{host}:{}/robots.txt", self.web.port()), path, true)
    }

    fn run(&self, robots: &str, path: &str, contact: bool) -> Answer {
        let dns = format!("--dns={}", self.web.dns());
        let networks = self.web.networks();
        let networks: Vec<String> =
            networks.iter().map(|n| format!("--allow-network={n}")).collect();
        let mut words = vec!["robots", robots, "--agent=crivello", path, &dns];
        words.extend(networks.iter().map(String::as_str));
        if contact {
            words.push("--contact=https://crivello.example/bot");
        }
        run(Path::new("."), &words)
    }

    fn requests(&self) -> Vec<Entry> {
        self.web.log().entries()
    }
}

#[track_caller]
fn expect(answer: &Answer, code: i32, part: &str) {
    let Answer { stdout, stderr, .. } = answer;
    assert_eq!(answer.code, Some(code), "{stdout}{stderr}");
    assert!(stdout.contains(part), "no {part:?} in {stdout}{stderr}");
}

#[test]
fn a_fetched_file_is_matched_by_line() {
    let web = robots_web();
    expect(&web.ask("plain.test", "/s3/p3.html"), 0, "line 4: ");
    expect(&web.ask("plain.test", "/s3/p10.html"), 1, "line 3: ");
    expect(&web.ask("mark.test", "/s3/p10.html"), 1, "line 3: ");
    expect(&web.ask("huge.test", "/s3/p10.html"), 1, "line 3: ");
    // The URL of a site stands for its robots.txt.
    let site = format!("http://plain.test:{}", web.web.port());
    expect(&web.run(&site, "/s3/p10.html", true), 1, "line 3: ");
    let entries = web.requests();
    assert_eq!(entries.len(), 5, "expected one request per run");
    for entry in entries {
        let agent = &entry.user_agent;
        assert!(agent.starts_with("crivello/"), "{agent}");
        assert!(agent.contains("https://crivello.example/bot"), "{agent}");
        assert_eq!(entry.path, "/robots.txt");
    }
}

#[test]
fn at_most_five_redirects_are_followed_also_to_another_host() {
    let web = robots_web();
    expect(&web.ask("five.test", "/s3/p10.html"), 1, "line 3: ");
    assert_eq!(web.requests().len(), 6);
    expect(&web.ask("other.test", "/s3/p10.html"), 1, "line 3: ");
    assert!(web.requests().iter().any(|entry| entry.host == "plain.test"));
    let before = web.requests().len();
    expect(&web.ask("six.test", "/s3/p10.html"), 0, "more than 5 redirects");
    assert_eq!(web.requests().len() - before, 6);
}

#[test]
fn a_missing_file_allows_and_an_unreachable_one_forbids() {
    let web = robots_web();
    expect(&web.ask("none.test", "/s3/p10.html"), 0, "HTTP 404");
    expect(&web.ask("broken.test", "/"), 1, "HTTP 503");
    expect(&web.ask("no-such-host.test", "/"), 1, "no such name");
}

#[test]
fn private_addresses_are_not_contacted_by_name_literal_or_redirect() {
    let web = robots_web();
    for host in ["inside.test", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"]
    {
        expect(&web.ask(host, "/"), 1, "may not be visited");
        assert_eq!(web.requests(), [], "{host}");
    }
    expect(&web.ask("leads-inside.test", "/"), 1, "may not be visited");
    let hosts: Vec<String> = web.requests().into_iter().map(|entry| entry.host).collect();
    assert_eq!(hosts, ["leads-inside.test"]);
}

#[test]
fn nothing_is_sent_without_a_contact() {
    let web = robots_web();
    let url = format!("http://plain.test:{}/robots.txt", web.web.port());
    let answer = web.run(&url, "/", false);
    assert_eq!(answer.code, Some(64), "{}", answer.stderr);
    assert!(answer.stderr.contains("--contact"), "{}", answer.stderr);
    for (url, word) in [(url.replacen("http", "HTTP", 1), "--contact"), ("ftp://a/".into(), "http")]
    {
        let answer = web.run(&url, "/", false);
        assert_eq!(answer.code, Some(64), "{}", answer.stderr);
        assert!(answer.stderr.contains(word), "{}", answer.stderr);
    }
    assert_eq!(web.requests(), []);
}
