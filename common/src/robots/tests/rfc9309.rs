//! Examples and rules of RFC 9309.

use super::super::{CRAWL_DELAY_MAX, Rules};
use super::check;
use std::time::Duration;

/// Section 5.1.
#[test]
fn simple_example() {
    let robots = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
        User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
        User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n\
        User-Agent: quxbot\n\nEOF\n";
    check(
        robots,
        &[
            ("otherbot", "/a.gif", false),
            ("otherbot", "/a.gif?x", true),
            ("otherbot", "/example/page.html", false),
            ("otherbot", "/publications/", true),
            ("otherbot", "/publications/a.gif", true),
            ("otherbot", "/", true),
            ("foobot", "/", false),
            ("foobot", "/publications/", false),
            ("foobot", "/example/page.html", true),
            ("foobot", "/example/allowed.gif", true),
            ("barbot", "/example/page.html", false),
            ("bazbot", "/example/page.html", false),
            ("bazbot", "/a.gif", true),
            ("quxbot", "/example/page.html", true),
            ("quxbot", "/a.gif", true),
        ],
    );
}

/// Section 5.2.
#[test]
fn longest_match_example() {
    let robots =
        "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    check(
        robots,
        &[("foobot", "/example/page/disallowed.gif", false), ("foobot", "/example/page/", true)],
    );
}

/// Section 2.2.1: the examples of the user-agent line.
#[test]
fn groups_of_one_agent_are_merged_and_star_is_the_last_resort() {
    let robots = "User-Agent: ExampleBot\nDisallow: /foo\nDisallow: /bar\n\n\
        User-Agent: ExampleBot\nDisallow: /baz\n\nUser-Agent: *\nDisallow: /qux\n\n\
        User-Agent: *\nDisallow: /quux\n";
    for path in ["/foo", "/bar", "/baz"] {
        check(robots, &[("examplebot", path, false), ("OTHER", path, true)]);
    }
    for path in ["/qux", "/quux"] {
        check(robots, &[("ExampleBot", path, true), ("OTHER", path, false)]);
    }
    check("User-Agent: ExampleBot\nDisallow: /\n", &[("OtherBot", "/", true)]);
    check(
        "User-Agent: ExampleBot/2.1 (+https://e.example)\nDisallow: /\n",
        &[("ExampleBot", "/", false), ("Example", "/", true), ("ExampleBotX", "/", true)],
    );
}

#[test]
fn a_star_and_our_name_in_one_group() {
    let robots = "User-agent: *\nUser-agent: Foo\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n";
    check(robots, &[("Foo", "/a", false), ("Foo", "/b", true), ("Bar", "/b", false)]);
}

#[test]
fn names_with_digits_are_compared_as_words() {
    let robots = "User-agent: Bot2/1.0\nDisallow: /\n\nUser-agent: Bot3\nDisallow: /a\n";
    check(robots, &[("bot2", "/a", false), ("Bot3/7", "/b", true), ("Bot3", "/a", false)]);
}

/// Section 2.2.2: the table of encodings, each rule against the path it must match.
#[test]
fn the_table_of_encodings() {
    for (rule, path) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar?baz=https%3A%2F%2Ffoo.bar", "/foo/bar?baz=https%3a%2f%2ffoo.bar"),
        ("/foo/bar/\u{30C4}", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
    ] {
        check(&format!("User-agent: *\nDisallow: {rule}\n"), &[("x", path, false)]);
    }
    check("User-agent: *\nDisallow: /a%2Fb\n", &[("x", "/a/b", true), ("x", "/a%2fb", false)]);
    check("User-agent: *\nDisallow: /{a}|b\n", &[("x", "/%7Ba%7D|b", false)]);
    check("User-agent: *\nDisallow: /?q='a'\n", &[("x", "/?q=%27a%27", false)]);
    let latin = Rules::parse(b"User-agent: *\nDisallow: /caf\xE9\n", "x");
    assert!(!latin.allows("/caf%e9") && latin.allows("/caf%C3%A9"));
}

/// Section 2.2.2: the equivalent rules win for `Allow`, `/robots.txt` is always allowed.
#[test]
fn ties_and_the_robots_file_itself() {
    let robots = "User-agent: *\nDisallow: /%66oo\nAllow: /foo\nDisallow: /\n";
    check(
        robots,
        &[
            ("x", "/foo", true),
            ("x", "/robots.txt", true),
            ("x", "/robots%2Etxt", true),
            ("x", "/robots.txt?", false),
            ("x", "/robots.txt2", false),
            ("x", "/a/robots.txt", false),
        ],
    );
}

/// Section 2.2.3: the special characters and their literal forms.
#[test]
fn special_characters() {
    for (rule, matched, other) in [
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", "/path/file-with-a-b.html"),
        ("/path/foo-%24", "/path/foo-$bar", "/path/foo-"),
        ("/this/path/exactly$", "/this/path/exactly", "/this/path/exactly/"),
        ("/this/*/exactly", "/this/is/exactly/it", "/this/exactly"),
        ("/a$b", "/a$b", "/a"),
        ("/*$", "/anything", "/robots.txt"),
        ("/a*$", "/a/b", "/b"),
        ("/*a*a$", "/aba", "/ba"),
    ] {
        let robots = format!("User-agent: *\nDisallow: {rule} # a comment\n");
        check(&robots, &[("x", matched, false), ("x", other, true)]);
    }
}

/// Rules that match no path.
#[test]
fn empty_and_impossible_rules() {
    for rule in ["", "$", "foo", "%2Ffoo", "http://e.example/foo"] {
        let robots = format!("User-agent: *\nDisallow: {rule}\n");
        check(&robots, &[("x", "/", true), ("x", "/foo", true)]);
    }
}

/// Section 2.2.4: other records do not end a group.
#[test]
fn other_records_do_not_interfere() {
    for noise in ["Sitemap: https://e.example/s.xml", "Crawl-delay: 5", "Host: e.example", "junk"] {
        let robots = format!("User-agent: bot\n{noise}\nUser-agent: other\nDisallow: /\n");
        check(&robots, &[("bot", "/", false), ("other", "/", false), ("third", "/", true)]);
    }
}

#[test]
fn crawl_delays_belong_to_their_groups() {
    let delay = |robots: &str| Rules::parse(robots.as_bytes(), "Foo").crawl_delay();
    let secs = |s| Some(Duration::from_secs(s));
    assert_eq!(delay("Crawl-delay: 5\n"), None);
    assert_eq!(delay("User-agent: *\nCrawl-delay: 5\n"), secs(5));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 0.5\n"), Some(Duration::from_millis(500)));
    assert_eq!(
        delay("User-agent: Foo\nCRAWL-DELAY: 7\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 5\n"),
        secs(7)
    );
    assert_eq!(
        delay("User-agent: *\nCrawl-delay: 5\nDisallow:\nUser-agent: Foo\nAllow: /\n"),
        None
    );
    assert_eq!(delay("User-agent: Bar\nDisallow: /\nCrawl-delay: 5\n"), None);
    assert_eq!(delay("User-agent: *\nCrawl-delay: 2\nCrawl-delay: x\nCrawl-delay: 1\n"), secs(2));
    assert_eq!(delay("User-agent: *\nCrawl-delay: 999999999999999999999\n"), Some(CRAWL_DELAY_MAX));
}

#[test]
fn a_crawl_delay_belongs_to_the_agents_directly_above_it() {
    let delay = |robots: &str, agent: &str| {
        Rules::parse(robots.as_bytes(), agent).crawl_delay().map(|delay| delay.as_millis())
    };
    let own = "User-agent: crivello\nCrawl-delay: 1\nUser-agent: *\nCrawl-delay: 240\n";
    assert_eq!(delay(own, "crivello"), Some(1_000));
    assert_eq!(delay(own, "other"), Some(240_000));
    let turned = "User-agent: *\nCrawl-delay: 240\nUser-agent: crivello\nCrawl-delay: 1\n";
    assert_eq!(delay(turned, "crivello"), Some(1_000));
    assert_eq!(delay(turned, "other"), Some(240_000));
    let shared = "User-agent: a\nUser-agent: b\nCrawl-delay: 7\nDisallow: /\n";
    assert_eq!(delay(shared, "a"), Some(7_000));
    assert_eq!(delay(shared, "b"), Some(7_000));
    // The rules still belong to the whole group (RFC 9309 section 2.2.4).
    let group = "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /\nCrawl-delay: 9\n";
    assert_eq!(delay(group, "a"), Some(1_000));
    assert_eq!(delay(group, "b"), Some(9_000));
    check(group, &[("a", "/", false), ("b", "/", false)]);
    let after_rules = "User-agent: a\nDisallow: /x\nCrawl-delay: 3\n";
    assert_eq!(delay(after_rules, "a"), Some(3_000));
    for key in ["crawldelay", "Crawl-Delay", "CRAWL_DELAY", "crawl delay"] {
        assert_eq!(delay(&format!("User-agent: a\n{key}: 10.5\n"), "a"), Some(10_500), "{key}");
    }
    assert_eq!(delay("User-agent: a\ncrawl-delays: 5\n", "a"), None);
}

#[test]
fn a_file_in_utf16_is_read() {
    let text = "User-agent: *\r\nDisallow: /a\r\nCrawl-delay: 2\r\n";
    for (mark, bytes) in [
        ([0xFF, 0xFE], text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        ([0xFE, 0xFF], text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ] {
        let rules = Rules::parse(&[&mark[..], &bytes].concat(), "x");
        assert_eq!(rules, Rules::parse(text.as_bytes(), "x"));
        assert!(!rules.allows("/a") && rules.allows("/b"));
    }
}

#[test]
fn two_files_together_allow_what_both_allow() {
    let rules = |text: &str| Rules::parse(text.as_bytes(), "x");
    let first = rules("User-agent: *\nDisallow: /a\nCrawl-delay: 2\n");
    let second = rules("User-agent: *\nDisallow: /b\nAllow: /a\nCrawl-delay: 5\nSitemap: /s\n");
    let both = first.and(&second);
    for (path, allowed) in [("/", true), ("/a", false), ("/b", false), ("/c", true)] {
        assert_eq!(both.allows(path), allowed, "{path}");
        assert_eq!(both.decide(path).allowed, allowed, "{path}");
    }
    assert_eq!(both.decide("/b").by.unwrap().text, "Disallow: /b");
    assert_eq!(both.crawl_delay(), Some(Duration::from_secs(5)));
    assert_eq!(Rules::from_bytes(&both.to_bytes()), Ok(both.clone()));
    assert!(
        both.heap_size() > first.heap_size() + second.with_foreign_sitemaps("a.test").heap_size()
    );
    // Later rules replace those added before, and never the first ones.
    let third = rules("User-agent: *\nDisallow: /c\n");
    let replaced = both.and(&third);
    assert!(!replaced.allows("/a") && replaced.allows("/b") && !replaced.allows("/c"));
    assert_eq!(both.and(&Rules::allow_all()), first);
    assert_eq!(first.and(&first), first);
    assert!(!first.and(&Rules::disallow_all()).allows("/c"));
    // Nesting is not decoded.
    let mut nested = both.to_bytes();
    nested.extend(both.to_bytes());
    assert!(Rules::from_bytes(&nested).is_err());
}

#[test]
fn the_deciding_rule_is_returned() {
    let robots = b"User-agent: *\nDisallow: /a\nAllow: /a*/b$ # yes\n";
    let rules = Rules::parse(robots, "x");
    let by = |path| rules.decide(path).by.map(|by| (by.line, by.text));
    assert_eq!(by("/a/x"), Some((2, "Disallow: /a".to_owned())));
    assert_eq!(by("/a/x/b"), Some((3, "Allow: /a*/b$".to_owned())));
    assert_eq!(by("/x"), None);
    assert_eq!(by("/robots.txt"), None);
}

#[test]
fn all_and_nothing() {
    assert_eq!(Rules::allow_all(), Rules::default());
    assert!(Rules::allow_all().allows("/x"));
    assert!(!Rules::disallow_all().allows("/x") && Rules::disallow_all().allows("/robots.txt"));
    assert_eq!(Rules::disallow_all().decide("/").by, None);
}
