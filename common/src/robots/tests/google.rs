//! Cases of Google's `robots_test.cc` (google/robotstxt, Apache-2.0), by its test names, as tables.
//! Deliberate differences are noted in the tables. Callers must handle invalid URLs
//! (`GoogleOnly_SystemTest` with an empty URL, `TestGetPathParamsQuery`).

use super::super::{Rules, escape, sanitize};
use super::{allowed, check};
use robotstxt::RobotsParseHandler;

#[test]
fn system_test() {
    let robots = "user-agent: FooBot\ndisallow: /\n";
    check("", &[("FooBot", "", true), ("", "", true)]);
    check(robots, &[("", "", true), ("FooBot", "", false)]);
}

#[test]
fn line_syntax() {
    let at = |robots, expected| check(robots, &[("FooBot", "/x/y", expected)]);
    at("user-agent: FooBot\ndisallow: /\n", false);
    at("foo: FooBot\nbar: /\n", true);
    at("user-agent FooBot\ndisallow /\n", false);
}

#[test]
fn groups() {
    let robots = "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\n\
        user-agent: BarBot\ndisallow: /\nallow: /y/\n\n\nallow: /w/\nuser-agent: BazBot\n\n\
        user-agent: FooBot\nallow: /z/\ndisallow: /\n";
    check(
        robots,
        &[
            ("FooBot", "/x/b", true),
            ("FooBot", "/z/d", true),
            ("FooBot", "/y/c", false),
            ("BarBot", "/y/c", true),
            ("BarBot", "/w/a", true),
            ("BarBot", "/z/d", false),
            ("BazBot", "/z/d", true),
            ("FooBot", "/foo/bar/", false),
            ("BarBot", "/foo/bar/", false),
            ("BazBot", "/foo/bar/", false),
        ],
    );
}

#[test]
fn line_names_are_case_insensitive() {
    for [agent, allow, disallow] in [
        ["USER-AGENT", "ALLOW", "DISALLOW"],
        ["user-agent", "allow", "disallow"],
        ["uSeR-aGeNt", "AlLoW", "dIsAlLoW"],
    ] {
        let robots = format!("{agent}: FooBot\n{allow}: /x/\n{disallow}: /\n");
        check(&robots, &[("FooBot", "/x/y", true), ("FooBot", "/a/b", false)]);
    }
}

#[test]
fn user_agent_values_are_case_insensitive() {
    for value in ["FOO BAR", "foo bar", "FoO bAr"] {
        let robots = format!("User-Agent: {value}\nAllow: /x/\nDisallow: /\n");
        for agent in ["Foo", "foo"] {
            check(&robots, &[(agent, "/x/y", true), (agent, "/a/b", false)]);
        }
    }
}

/// Google treats `Foo Bar` as an agent that no line can name. Here, a product token followed by
/// more text is cut at the space.
#[test]
fn user_agent_up_to_the_first_space() {
    let robots = "User-Agent: *\nDisallow: /\nUser-Agent: Foo Bar\nAllow: /x/\nDisallow: /\n";
    check(robots, &[("Foo", "/x/y", true), ("Foo Bar", "/x/y", true), ("Bar", "/x/y", false)]);
}

#[test]
fn global_groups_come_second() {
    let global = "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n";
    let specific = "user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\n\
        user-agent: BazBot\ndisallow: /\n";
    check("", &[("FooBot", "/x/y", true)]);
    check(global, &[("FooBot", "/x/y", false), ("BarBot", "/x/y", true)]);
    check(specific, &[("QuxBot", "/x/y", true)]);
}

#[test]
fn paths_are_case_sensitive() {
    check("user-agent: FooBot\ndisallow: /x/\n", &[("FooBot", "/x/y", false)]);
    check("user-agent: FooBot\ndisallow: /X/\n", &[("FooBot", "/x/y", true)]);
}

#[test]
fn longest_match() {
    for (rules, path, expected) in [
        ("disallow: /x/page.html\nallow: /x/\n", "/x/page.html", false),
        ("allow: /x/page.html\ndisallow: /x/\n", "/x/page.html", true),
        ("allow: /x/page.html\ndisallow: /x/\n", "/x/", false),
        ("disallow: \nallow: \n", "/x/page.html", true),
        ("disallow: /\nallow: /\n", "/x/page.html", true),
        ("disallow: /x\nallow: /x/\n", "/x", false),
        ("disallow: /x\nallow: /x/\n", "/x/", true),
        ("disallow: /x/page.html\nallow: /x/page.html\n", "/x/page.html", true),
        ("allow: /page\ndisallow: /*.html\n", "/page.html", false),
        ("allow: /page\ndisallow: /*.html\n", "/page", true),
        ("allow: /x/page.\ndisallow: /*.html\n", "/x/page.html", true),
        ("allow: /x/page.\ndisallow: /*.html\n", "/x/y.html", false),
    ] {
        check(&format!("user-agent: FooBot\n{rules}"), &[("FooBot", path, expected)]);
    }
    let robots = "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/\n";
    check(robots, &[("FooBot", "/x/page", true), ("FooBot", "/y/page", false)]);
}

/// Google does not normalize URLs, so a raw `ツ` and an escaped letter of a rule match nothing
/// there. RFC 9309 section 2.2.2 requires both sides to be normalized.
#[test]
fn encoding() {
    let only = |rule: &str| format!("User-agent: FooBot\nDisallow: /\nAllow: {rule}\n");
    let query = "/foo/bar?qux=taz&baz=http://foo.bar?tar&par";
    check(&only(query), &[("FooBot", query, true)]);
    for rule in ["/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"] {
        let both = [("FooBot", "/foo/bar/%E3%83%84", true), ("FooBot", "/foo/bar/ツ", true)];
        check(&only(rule), &both);
    }
    let both = [("FooBot", "/foo/bar/baz", true), ("FooBot", "/foo/bar/%62%61%7A", true)];
    check(&only("/foo/bar/%62%61%7A"), &both);
}

#[test]
fn special_characters() {
    let robots = "User-agent: FooBot\nDisallow: /foo/bar/quz\nAllow: /foo/*/qux\n";
    check(
        robots,
        &[
            ("FooBot", "/foo/bar/quz", false),
            ("FooBot", "/foo/quz", true),
            ("FooBot", "/foo//quz", true),
            ("FooBot", "/foo/bax/quz", true),
        ],
    );
    let robots = "User-agent: FooBot\nDisallow: /foo/bar$\nAllow: /foo/bar/qux\n";
    check(
        robots,
        &[
            ("FooBot", "/foo/bar", false),
            ("FooBot", "/foo/bar/qux", true),
            ("FooBot", "/foo/bar/", true),
            ("FooBot", "/foo/bar/baz", true),
        ],
    );
    let robots = "User-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n";
    check(robots, &[("FooBot", "/foo/bar", true), ("FooBot", "/foo/quz", false)]);
}

/// Google also interprets `/index.html` at the end of an `Allow` as `/`. RFC 9309 does not, and
/// neither does this crate: the directory stays disallowed.
#[test]
fn index_html_is_a_file_like_any_other() {
    let robots = "User-Agent: *\nAllow: /allowed-slash/index.html\nDisallow: /\n";
    check(
        robots,
        &[
            ("foobot", "/allowed-slash/", false),
            ("foobot", "/allowed-slash/index.htm", false),
            ("foobot", "/allowed-slash/index.html", true),
            ("foobot", "/anyother-url", false),
        ],
    );
}

#[test]
fn lines_are_cut_where_google_cuts_them() {
    const LINE_MAX: usize = 2083 * 8;
    let long = |key: &str, fill: &str| {
        format!("/x/{}", fill.repeat(LINE_MAX - 2 * "/x/".len() - key.len() + "\n".len() + 3))
    };
    let x = long("disallow: ", "a");
    let robots = format!("user-agent: FooBot\ndisallow: {x}/qux\n");
    assert!(allowed(&robots, "FooBot", "/fux"));
    assert!(!allowed(&robots, "FooBot", &format!("{x}/fux")));

    let (a, b) = (long("allow: ", "a"), long("allow: ", "b"));
    let robots = format!("user-agent: FooBot\ndisallow: /\nallow: {a}/qux\nallow: {b}/qux\n");
    assert!(!allowed(&robots, "FooBot", "/"));
    assert!(allowed(&robots, "FooBot", &format!("{a}/qux")));
    assert!(allowed(&robots, "FooBot", &format!("{b}/fux")));
}

/// Lines that the crate's parser reports.
#[derive(Default)]
struct Lines {
    known: u32,
    unknown: u32,
    last: u32,
}

impl RobotsParseHandler for Lines {
    fn handle_robots_start(&mut self) {}
    fn handle_robots_end(&mut self) {}
    fn handle_user_agent(&mut self, line: u32, _: &str) {
        self.handle_sitemap(line, "");
    }
    fn handle_allow(&mut self, line: u32, _: &str) {
        self.handle_sitemap(line, "");
    }
    fn handle_disallow(&mut self, line: u32, _: &str) {
        self.handle_sitemap(line, "");
    }
    fn handle_sitemap(&mut self, line: u32, _: &str) {
        (self.known, self.last) = (self.known + 1, line);
    }
    fn handle_unknown_action(&mut self, line: u32, _: &str, _: &str) {
        (self.unknown, self.last) = (self.unknown + 1, line);
    }
}

fn lines(body: &[u8]) -> Lines {
    let mut lines = Lines::default();
    robotstxt::parse_robotstxt(&sanitize::sanitize(body), &mut lines);
    lines
}

#[test]
fn line_numbers_are_counted_with_all_line_ends() {
    let unix = "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /\n";
    let mixed = "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /";
    let others = [unix.replace('\n', "\r\n"), unix.replace('\n', "\r"), mixed.to_owned()];
    for body in others.iter().map(String::as_str).chain([unix, unix.trim_end()]) {
        let found = lines(body.as_bytes());
        assert_eq!((found.known, found.last), (4, 6), "{body:?}");
        let by = Rules::parse(body.as_bytes(), "bar").decide("/x").by.map(|by| by.line);
        assert_eq!(by, Some(6));
    }
}

#[test]
fn byte_order_marks_are_skipped_at_the_start_only() {
    let text = b"User-Agent: foo\nAllow: /AnyValue\n";
    let mark = b"\xEF\xBB\xBF";
    for n in 0..=3 {
        let found = lines(&[&mark[..n], text].concat());
        assert_eq!((found.known, found.unknown), (2, 0), "{n} bytes of the byte order mark");
    }
    let found = lines(&[b"\xEF\x11\xBF", &text[..]].concat());
    assert_eq!((found.known, found.unknown), (1, 1));
    let found = lines(b"User-Agent: foo\n\xEF\xBB\xBFAllow: /AnyValue\n");
    assert_eq!((found.known, found.unknown), (1, 1));
}

#[test]
fn a_sitemap_may_occur_anywhere() {
    let rest = "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\n";
    let sitemap = "Sitemap: http://foo.bar/sitemap.xml\n";
    for robots in [format!("{rest}{sitemap}"), format!("{sitemap}{rest}")] {
        let rules = Rules::parse(robots.as_bytes(), "foo");
        assert_eq!(rules.sitemaps(), ["http://foo.bar/sitemap.xml".into()]);
    }
}

#[test]
fn escaping_of_patterns() {
    for (value, expected) in [
        ("http://www.example.com", "http://www.example.com"),
        ("/a/b/c", "/a/b/c"),
        ("á", "%C3%A1"),
        ("%aa", "%AA"),
    ] {
        let mut normal = Vec::new();
        escape::pattern(value, &mut normal);
        assert_eq!(normal, expected.as_bytes());
    }
}
