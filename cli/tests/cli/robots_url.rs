//! `crivello robots URL`: fetched as the crawler would, from where the crawler would go, and from
//! nowhere else.

use simweb::{Character, DnsWay, Entry, Robots, SimWeb, Spec};
use std::net::Ipv4Addr;
use std::process::Command;
use tokio::runtime::Runtime;

struct Scene {
    _runtime: Runtime,
    web: SimWeb,
}

/// What the program did.
struct Asked {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn scene() -> Scene {
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
    Scene { _runtime: runtime, web }
}

impl Scene {
    /// Asks for the robots.txt of `host`, and whether `path` is allowed by it.
    fn ask(&self, host: &str, path: &str) -> Asked {
        self.run(&format!("http://{host}:{}/robots.txt", self.web.port()), path, true)
    }

    fn run(&self, robots: &str, path: &str, contact: bool) -> Asked {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crivello"));
        command
            .args(["robots", robots, "--agent=crivello", path])
            .arg(format!("--dns={}", self.web.dns()))
            .args(self.web.networks().iter().map(|n| format!("--allow-network={n}")));
        if contact {
            command.arg("--contact=https://crivello.example/bot");
        }
        let output = command.output().expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Asked {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    fn requests(&self) -> Vec<Entry> {
        self.web.log().entries()
    }
}

#[track_caller]
fn expect(asked: &Asked, code: i32, part: &str) {
    let Asked { stdout, stderr, .. } = asked;
    assert_eq!(asked.code, Some(code), "{stdout}{stderr}");
    assert!(stdout.contains(part), "no {part:?} in {stdout}{stderr}");
}

#[test]
fn a_fetched_file_is_judged_by_its_lines() {
    let scene = scene();
    expect(&scene.ask("plain.test", "/s3/p3.html"), 0, "line 4: ");
    expect(&scene.ask("plain.test", "/s3/p10.html"), 1, "line 3: ");
    expect(&scene.ask("mark.test", "/s3/p10.html"), 1, "line 3: ");
    expect(&scene.ask("huge.test", "/s3/p10.html"), 1, "line 3: ");
    // A site's own URL stands for its robots.txt.
    let site = format!("http://plain.test:{}", scene.web.port());
    expect(&scene.run(&site, "/s3/p10.html", true), 1, "line 3: ");
    let entries = scene.requests();
    assert_eq!(entries.len(), 5, "one request each");
    for entry in entries {
        let agent = &entry.user_agent;
        assert!(agent.starts_with("crivello/"), "{agent}");
        assert!(agent.contains("https://crivello.example/bot"), "{agent}");
        assert_eq!(entry.path, "/robots.txt");
    }
}

#[test]
fn at_most_five_redirects_are_followed_also_to_another_host() {
    let scene = scene();
    expect(&scene.ask("five.test", "/s3/p10.html"), 1, "line 3: ");
    assert_eq!(scene.requests().len(), 6);
    expect(&scene.ask("other.test", "/s3/p10.html"), 1, "line 3: ");
    assert!(scene.requests().iter().any(|entry| entry.host == "plain.test"));
    let before = scene.requests().len();
    expect(&scene.ask("six.test", "/s3/p10.html"), 0, "more than 5 redirects");
    assert_eq!(scene.requests().len() - before, 6);
}

#[test]
fn what_is_missing_allows_and_what_does_not_answer_forbids() {
    let scene = scene();
    expect(&scene.ask("none.test", "/s3/p10.html"), 0, "HTTP 404");
    expect(&scene.ask("broken.test", "/"), 1, "HTTP 503");
    expect(&scene.ask("no-such-host.test", "/"), 1, "no such name");
}

#[test]
fn private_addresses_are_not_asked_by_name_by_literal_or_by_redirect() {
    let scene = scene();
    for host in ["inside.test", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"]
    {
        expect(&scene.ask(host, "/"), 1, "may not be visited");
        assert_eq!(scene.requests(), [], "{host}");
    }
    expect(&scene.ask("leads-inside.test", "/"), 1, "may not be visited");
    let hosts: Vec<String> = scene.requests().into_iter().map(|entry| entry.host).collect();
    assert_eq!(hosts, ["leads-inside.test"]);
}

#[test]
fn nothing_is_sent_without_a_contact() {
    let scene = scene();
    let url = format!("http://plain.test:{}/robots.txt", scene.web.port());
    let asked = scene.run(&url, "/", false);
    assert_eq!(asked.code, Some(64), "{}", asked.stderr);
    assert!(asked.stderr.contains("--contact"), "{}", asked.stderr);
    for (url, word) in [(url.replacen("http", "HTTP", 1), "--contact"), ("ftp://a/".into(), "http")]
    {
        let asked = scene.run(&url, "/", false);
        assert_eq!(asked.code, Some(64), "{}", asked.stderr);
        assert!(asked.stderr.contains(word), "{}", asked.stderr);
    }
    assert_eq!(scene.requests(), []);
}
