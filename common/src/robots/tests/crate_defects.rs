//! Cases that the matcher of the `robotstxt` crate gets wrong.

use super::super::{Rules, SIZE_MAX};
use super::check;

#[test]
fn a_byte_order_mark() {
    check("\u{FEFF}User-agent: *\nDisallow: /\n", &[("bot", "/", false)]);
}

#[test]
fn lines_between_user_agent_lines() {
    for between in ["Sitemap: http://e.example/s.xml", "Crawl-delay: 3"] {
        let robots = format!("User-agent: bot\n{between}\nUser-agent: other\nDisallow: /\n");
        check(&robots, &[("bot", "/", false)]);
    }
}

#[test]
fn a_long_line_with_letters_beyond_ascii() {
    for pad in 0..4 {
        let line = format!("{}{}", "a".repeat(pad), "é".repeat(9_000));
        let robots = format!("User-agent: *\nDisallow: /{line}\nDisallow: /x\n");
        check(&robots, &[("bot", "/x", false), ("bot", "/y", true)]);
    }
}

#[test]
fn escapes_in_lower_case_and_of_letters() {
    check("User-agent: *\nDisallow: /%c3%a9\n", &[("bot", "/%c3%a9", false)]);
    check("User-agent: *\nDisallow: /%66oo\n", &[("bot", "/foo", false)]);
}

/// The crate drops `%zz` from a value that also has an escape in lower case.
#[test]
fn malformed_escapes_stay() {
    check(
        "User-agent: *\nDisallow: /a%zz%c3\n",
        &[("bot", "/a%zz%C3", false), ("bot", "/a%C3", true)],
    );
}

#[test]
fn the_robots_file_under_a_general_disallow() {
    check("User-agent: *\nDisallow: /\n", &[("bot", "/robots.txt", true)]);
}

/// The crate tries only the first occurrence of the character after a wildcard.
#[test]
fn a_literal_after_a_wildcard_that_begins_twice() {
    check("User-agent: *\nDisallow: /*ab\n", &[("bot", "/aab", false), ("bot", "/aa", true)]);
    check("User-agent: *\nDisallow: *b$\n", &[("bot", "/bb", false), ("bot", "/bba", true)]);
}

#[test]
fn a_bomb_of_wildcards_is_cheap() {
    let bomb = format!("User-agent: *\nDisallow: /{}b\n", "*a".repeat(30));
    let rules = Rules::parse(bomb.as_bytes(), "bot");
    for path in [format!("/{}", "a".repeat(2_000)), format!("/b{}", "a".repeat(2_000))] {
        let mut steps = 0;
        assert!(rules.evaluate(&path, &mut steps).0);
        assert!(steps <= 2_200, "{steps} steps");
    }
}

#[test]
fn a_body_of_any_size_and_kind() {
    let rule = b"User-agent: *\nDisallow: /x\n".to_vec();
    let filler = b"Disallow: /some/path/or/other\n".repeat(40_000);
    let rules = Rules::parse(&[rule, filler, b"Disallow: /late\n".to_vec()].concat(), "bot");
    assert!(!rules.allows("/x") && rules.allows("/late"));
    for byte in [0, b'\n', b'%', b'*', b'#', b':', 0xC3, 0xFF] {
        assert!(Rules::parse(&vec![byte; SIZE_MAX + 9], "bot").allows("/"));
    }
}

#[test]
fn nul_and_no_break_spaces_are_white_space() {
    let robots = b"User-agent:\xC2\xA0*\0\nDisallow:\xC2\xA0/x\0\n";
    assert!(!Rules::parse(robots, "bot").allows("/x"));
}
