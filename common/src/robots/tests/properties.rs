//! Properties: the matcher equals the crate's where the crate is right, no input makes it panic or
//! slow, and encoded rules are decoded unchanged.

use super::super::table::STEPS_MAX;
use super::super::{DecodeError, Rules};
use proptest::collection::vec;
use proptest::prelude::*;
use robotstxt::DefaultMatcher;

/// Generates a rule's value: ASCII, without escapes, with at most three wildcards or one at its
/// end.
fn value(wild: bool) -> BoxedStrategy<String> {
    let piece = prop::sample::select(vec!["/", "a", "b", "ab", "ba/", ".x", "?", "=", "$"]);
    let pieces = vec(piece, 0..5).prop_map(|p| p.concat());
    let parts = vec(pieces, if wild { 1..4 } else { 1..2 }).prop_map(|parts| parts.join("*"));
    let tails = if wild { vec!["", "$", "*$"] } else { vec!["", "$", "*"] };
    (prop::bool::weighted(0.9), parts, prop::sample::select(tails))
        .prop_map(|(slash, parts, tail)| format!("{}{parts}{tail}", if slash { "/" } else { "" }))
        .boxed()
}

/// Generates a group without other lines between its `User-agent` lines.
fn group(wild: bool) -> impl Strategy<Value = String> {
    let names = ["*", "FooBot", "foobot/2.1", "BarBot", "Foo", "* x", "FooBot x"];
    let name = prop::sample::select(names.to_vec()).prop_map(|n| format!("User-agent: {n}\n"));
    let key = prop::sample::select(vec!["Allow", "Disallow", "disalow", "ALLOW"]);
    let rule = (key, value(wild)).prop_map(|(key, value)| format!("{key}: {value}\n")).boxed();
    let noise = prop::sample::select(vec!["", "\n", "# c\n", "Sitemap: x\n", "Crawl-delay: 1\n"]);
    (vec(name, 1..3), rule.clone(), vec((noise, rule), 0..6)).prop_map(|(names, first, rest)| {
        let rest: String = rest.into_iter().map(|(noise, rule)| noise.to_owned() + &rule).collect();
        names.concat() + &first + &rest
    })
}

fn robots(wild: bool) -> impl Strategy<Value = String> {
    ("(Disallow: /\n)?", vec(group(wild), 0..5))
        .prop_map(|(stray, groups)| stray + &groups.concat())
}

fn path() -> impl Strategy<Value = String> {
    vec(prop::sample::select(vec!["/", "a", "b", "ab", ".x", "?", "=", "$", "*"]), 0..9)
        .prop_map(|p| format!("/{}", p.concat()))
}

/// Generates a path in which no character occurs twice.
fn path_without_repeats() -> impl Strategy<Value = String> {
    let pieces = prop::sample::subsequence(vec!["a", "b", ".x", "?", "=", "$", "*"], 0..=7);
    pieces.prop_shuffle().prop_map(|p| format!("/{}", p.concat()))
}

fn crate_allows(robots: &str, path: &str) -> bool {
    let url = format!("http://e.example{path}");
    DefaultMatcher::default().one_agent_allowed_by_robots(robots, "FooBot", &url)
}

/// Generates bytes similar enough to a robots.txt to reach every part of the parser.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        prop::sample::select(vec![
            &b"User-agent"[..],
            b"Disallow",
            b"Allow",
            b"Sitemap",
            b"Crawl-delay",
            b": ",
            b":",
            b"\n",
            b"\r",
            b"\r\n",
            b"*",
            b"$",
            b"/",
            b"%",
            b"%c3%A9",
            b"%2",
            b"#",
            b" ",
            b"\0",
            b"\xEF\xBB\xBF",
            b"\xC3",
            b"\xC2\xA0",
            b"foobot",
            b"-1",
            b"1e9",
            b"index.html",
        ])
        .prop_map(<[u8]>::to_vec),
        vec(any::<u8>(), 0..8),
    ];
    vec(token, 0..120).prop_map(|tokens| tokens.concat())
}

/// Returns the bound on the cost of a match: the length of the path for each wild rule up to
/// [`STEPS_MAX`], and a few comparisons for the others.
fn steps_max(robots: &[u8], path: &str) -> u64 {
    let wild = robots.iter().filter(|&&b| b == b'*').count() as u64;
    let (path, robots) = (3 * path.len() as u64 + 2, robots.len() as u64);
    (wild * path).min(STEPS_MAX + path) + 2 * 20 * path + 4 * robots
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_crate_without_wildcards(
        robots in robots(false),
        paths in vec(path(), 1..8),
    ) {
        let rules = Rules::parse(robots.as_bytes(), "FooBot");
        for path in paths {
            prop_assert_eq!(rules.allows(&path), crate_allows(&robots, &path), "{}", path);
        }
    }

    /// After a wildcard the crate tries only the first occurrence of the next character (`*ab` does not
    /// match `/aab`), so it is an oracle only for paths without repeats.
    #[test]
    fn equals_the_crate_with_wildcards_where_that_is_right(
        robots in robots(true),
        paths in vec(path_without_repeats(), 1..8),
    ) {
        let rules = Rules::parse(robots.as_bytes(), "FooBot");
        for path in paths {
            prop_assert_eq!(rules.allows(&path), crate_allows(&robots, &path), "{}", path);
        }
    }

    #[test]
    fn many_rules_at_once_are_found_as_one_by_one(values in vec((any::<bool>(), value(true)), 0..40),
                                                  path in path()) {
        let line = |(allow, value): &(bool, String)| {
            format!("{}: {value}\n", if *allow { "Allow" } else { "Disallow" })
        };
        let file = |lines: String| format!("User-agent: *\n{lines}");
        let all = Rules::parse(file(values.iter().map(line).collect()).as_bytes(), "x");
        let winner = values
            .iter()
            .filter(|v| Rules::parse(file(line(v)).as_bytes(), "x").decide(&path).by.is_some())
            .map(|(allow, value)| (value.len(), *allow))
            .max();
        prop_assert_eq!(all.allows(&path), winner.is_none_or(|(_, allow)| allow));
        prop_assert_eq!(all.decide(&path).by.is_some(), winner.is_some());
    }

    #[test]
    fn any_bytes_are_read_and_matched_in_bounded_steps(
        body in prop_oneof![garbage(), vec(any::<u8>(), 0..300)],
        path in prop_oneof![path(), "\\PC{0,40}", "/[a/%]{0,300}"],
        agent in "\\PC{0,10}",
    ) {
        for agent in ["foobot", &agent] {
            let rules = Rules::parse(&body, agent);
            let mut steps = 0;
            let (allowed, _) = rules.evaluate(&path, &mut steps);
            prop_assert!(steps <= steps_max(&body, &path), "{} steps", steps);
            prop_assert_eq!(rules.decide(&path).allowed, allowed);
            prop_assert!(rules.sitemaps().iter().all(|s| s.is_ascii() && !s.is_empty()));
            prop_assert_eq!(Rules::from_bytes(&rules.to_bytes()), Ok(rules));
        }
    }

    #[test]
    fn rules_survive_the_disk(robots in robots(true), cut in any::<prop::sample::Index>(),
                              flip in any::<(prop::sample::Index, u8)>()) {
        let rules = Rules::parse(robots.as_bytes(), "FooBot");
        let mut bytes = rules.to_bytes();
        prop_assert!(bytes.len() <= robots.len() + 8);
        prop_assert_eq!(Rules::from_bytes(&bytes), Ok(rules));
        prop_assert!(Rules::from_bytes(&bytes[..cut.index(bytes.len())]).is_err());
        let at = flip.0.index(bytes.len());
        bytes[at] = flip.1;
        if let Ok(other) = Rules::from_bytes(&bytes) {
            prop_assert_eq!(Rules::from_bytes(&other.to_bytes()), Ok(other));
        }
    }

    #[test]
    fn garbage_is_no_rules(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Rules::from_bytes(&bytes);
        let _ = Rules::from_bytes(&[&[1, 2][..], &bytes].concat());
    }
}

#[test]
fn an_invalid_encoding_is_rejected() {
    for (bytes, error) in [
        (&[][..], DecodeError::Length),
        (&[1, 0, 0, 0], DecodeError::Version(1)),
        (&[2, 16, 0, 0], DecodeError::Malformed),
        (&[2, 8, 0, 0], DecodeError::Length),
        (&[2, 8, 0, 0, 0], DecodeError::Malformed),
        (&[2, 8, 0, 0, 1, 0xFF], DecodeError::Malformed),
        (&[2, 4, 0, 0], DecodeError::Length),
        (&[2, 4, 0, 0, 2, 4, 0, 0], DecodeError::Malformed),
        (&[2, 0, 0, 0, 0], DecodeError::Length),
        (&[2, 0, 1, 0, 1, 1, b'a', 0], DecodeError::Malformed),
        (&[2, 0, 1, 4, 1, 1, b'/', 0], DecodeError::Malformed),
        (&[2, 0, 1, 0, 1, 2, b'/', b'\n', 0], DecodeError::Malformed),
        (&[2, 0, 255, 255, 255, 255, 255, 255, 255, 255, 127, 0], DecodeError::Length),
        (&[2, 2, 255, 255, 255, 255, 255, 255, 255, 255, 127, 0, 0], DecodeError::Malformed),
    ] {
        assert_eq!(Rules::from_bytes(bytes), Err(error), "{bytes:?}");
    }
    assert_eq!(Rules::from_bytes(&[2, 0, 0, 0]), Ok(Rules::allow_all()));
    assert_eq!(Rules::from_bytes(&Rules::disallow_all().to_bytes()), Ok(Rules::disallow_all()));
    assert_eq!(Rules::from_bytes(&vec![2; 5 << 20]), Err(DecodeError::Length));
}

/// The format is stored on disk, so these bytes must remain readable.
#[test]
fn the_encoding_is_stable() {
    let robots =
        b"User-agent: *\nDisallow: /a*b$\nAllow: /c\nCrawl-delay: 0.3\nSitemap: http://s\n";
    let rules = Rules::parse(robots, "x");
    let bytes = b"\x02\x02\xAC\x02\x02\x01\x03\x02/c\x02\x02\x04/a\0b\x01\x08http://s";
    assert_eq!(rules.to_bytes(), bytes);
    let rules = Rules::parse(b"User-agent: *\nContent-Signal: search=yes\n", "x");
    assert_eq!(rules.to_bytes(), b"\x02\x08\0\0\x1bContent-Signal: search=yes\n");
}

#[test]
fn a_thousand_rules_take_little_memory_and_few_steps() {
    let lines: String = (0..1_000).map(|i| format!("Disallow: /directory/{i}/page\n")).collect();
    let rules = Rules::parse(format!("User-agent: *\n{lines}").as_bytes(), "x");
    assert!(rules.heap_size() <= 1_000 * (20 + 16 + 8), "{} bytes", rules.heap_size());
    let mut steps = 0;
    assert!(!rules.evaluate("/directory/777/page.html", &mut steps).0);
    assert!(steps <= 11 * 24, "{steps} steps");
}

/// Returns a file of wild rules, and a path of their letters that no rule matches.
fn bombs(key: &str, more: &str) -> (String, String) {
    let letters = || (b'a'..=b'z').filter(|&letter| letter != b'q');
    let pairs = || letters().flat_map(|a| letters().map(move |b| (a, b)));
    let triples = pairs().flat_map(|(a, b)| letters().map(move |c| [a, b, c]));
    let rule = |[a, b, c]: [u8; 3]| [b"/*qqq", &[a, b, c][..]].concat();
    let line = |text| format!("{key}: {}\n", String::from_utf8_lossy(&rule(text)));
    let rules: String = triples.map(line).collect();
    let path = format!("/{}{}", "abcdefghijklmnoprstuvwxyz", "q".repeat(1_980));
    (format!("User-agent: *\n{rules}{more}"), path)
}

#[test]
fn a_file_of_bombs_is_evaluated_in_bounded_steps_and_strictly() {
    let (robots, path) = bombs("Disallow", "");
    assert!(robots.len() < super::super::SIZE_MAX, "robots.txt exceeds the size limit");
    for (key, more, path, allowed) in [
        ("Disallow", "", &*path, false),
        ("Allow", "", &path, true),
        ("Allow", "Disallow: /abc\n", &path, false),
        ("Allow", "Disallow: /*qqq*r$\n", &path, false),
        ("Disallow", "", "/short/page.html?q=1", true),
        ("Disallow", "", "/robots.txt", true),
    ] {
        let (robots, _) = bombs(key, more);
        let rules = Rules::parse(robots.as_bytes(), "x");
        let mut steps = 0;
        let (found, _) = rules.evaluate(path, &mut steps);
        assert_eq!(found, allowed, "{key} {more:?} {path:.30}");
        assert_eq!(rules.decide(path).by.is_some(), !allowed, "the deciding line is missing");
        assert!(steps <= steps_max(robots.as_bytes(), path), "{key} {more:?}: {steps} steps");
        assert!(steps < 2 * STEPS_MAX, "{key} {more:?}: {steps} steps");
    }
}

/// Below the bound all rules are tried.
#[test]
fn a_thousand_wild_rules_are_tried_in_full() {
    let rules: String = (0..1_000).map(|i| format!("Disallow: /*x{i:04}y*z\n")).collect();
    let rules = Rules::parse(format!("User-agent: *\n{rules}").as_bytes(), "x");
    let path = |end: &str| format!("/0123456789xyz/{}{end}", "p/".repeat(400));
    assert!(rules.allows(&path("x0777z/y")));
    assert!(!rules.allows(&path("x0777y/z")));
}
