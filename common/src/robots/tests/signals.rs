//! Signals in robots.txt: `Content-Usage` (draft-ietf-aipref-attach), `Content-Signal`
//! (contentsignals.org) and `License` (RSL 1.0).

use super::super::{Rules, SIGNAL_LINES_MAX, TdmRule};
use crate::signals::PageSignals;

/// Returns the fields that hold for a path, as `name=value` with spaces between.
fn fields(robots: &str, path: &str) -> String {
    let rules = Rules::parse(robots.as_bytes(), "crivello");
    let stored = Rules::from_bytes(&rules.to_bytes()).unwrap();
    assert_eq!(stored, rules, "{robots}");
    let mut page = PageSignals::default();
    if let Some(signals) = rules.signals() {
        signals.add_to(path, &mut page);
    }
    let fields: Vec<_> = page.fields().iter().map(|(n, v)| format!("{n}={v}")).collect();
    fields.join(" ")
}

#[test]
fn usage_rules_hold_for_paths_and_the_longest_wins() {
    let robots = "User-agent: *\n\
        Content-Usage: train-ai=n\n\
        Content-Usage: /open/ train-ai=y, search=y\n\
        Content-Usage: /open/secret\ttrain-ai=n\n\
        Content-Usage: /*.pdf$ search=n\n\
        Content-Usage: /tie/a train-ai=y, search=n\n\
        Content-Usage: /tie/a train-ai=n\n\
        Content-Usage: /broken/ train-ai=\n\
        Content-Usage: /empty/\n\
        Content-Usage: /%7Euser/ train-ai=y\n\
        Allow: /\n";
    for (path, wanted) in [
        ("/", "usageTrainAi=disallow"),
        ("/other", "usageTrainAi=disallow"),
        ("/open/x", "usageTrainAi=allow usageSearch=allow"),
        // A longer rule replaces a shorter one as a whole.
        ("/open/secret/x", "usageTrainAi=disallow"),
        ("/x.pdf", "usageSearch=disallow"),
        ("/x.pdf?q", "usageTrainAi=disallow"),
        ("/open/x.pdf", "usageSearch=disallow"),
        ("/tie/a", "usageTrainAi=disallow usageSearch=disallow"),
        ("/broken/x", ""),
        ("/empty/x", ""),
        ("/~user/x", "usageTrainAi=allow"),
    ] {
        assert_eq!(fields(robots, path), wanted, "{path}");
    }
}

#[test]
fn lines_hold_for_the_agents_of_their_group() {
    let usage = "usageTrainAi=disallow";
    for (robots, wanted) in [
        ("User-agent: *\nContent-Usage: train-ai=n\n", usage),
        ("User-agent: crivello\ncontent-usage:train-ai=n\n", usage),
        ("User-agent: other\nContent-Usage: train-ai=n\n", ""),
        // Groups for all hold only if none names the crawler.
        ("User-agent: *\nContent-Usage: train-ai=n\n\nUser-agent: crivello\nDisallow: /x\n", ""),
        ("User-agent: crivello\nDisallow: /x\n\nUser-agent: *\nContent-Usage: train-ai=n\n", ""),
        // All groups with a name add up.
        (
            "User-agent: crivello\nContent-Usage: train-ai=n\n\nUser-agent: x\nAllow: /\n\n\
             User-agent: crivello\nContent-Signal: search=yes\n",
            "usageTrainAi=disallow signalSearch=yes",
        ),
        // A signal ends the lines that name its agents, like a rule.
        ("User-agent: x\nContent-Usage: train-ai=n\nUser-agent: crivello\nAllow: /\n", ""),
        ("User-agent: x\nUser-agent: crivello\nContent-Usage: train-ai=n\nAllow: /\n", usage),
        ("User-agent: *\nDisallow: /no\nContent-Usage: train-ai=n\n", usage),
        // It is a rule, so it has no meaning outside of groups.
        ("Content-Usage: train-ai=n\nUser-agent: *\nAllow: /\n", ""),
        ("Content-Usage: train-ai=n\n", ""),
    ] {
        assert_eq!(fields(robots, "/p"), wanted, "{robots}");
    }
}

#[test]
fn signals_of_a_group_precede_those_of_the_file() {
    for (robots, wanted) in [
        (
            // As Cloudflare writes it.
            "User-Agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n\n\
             User-agent: GPTBot\nDisallow: /\n",
            "signalSearch=yes signalAiTrain=no",
        ),
        (
            "User-Agent: *\nAllow: /\nContent-signal: search=yes\nContent-Signal: ai-input=no\n",
            "signalSearch=yes signalAiInput=no",
        ),
        ("Content-Signal: ai-train=no\n", "signalAiTrain=no"),
        ("Content-Signal: ai-train=no\nUser-agent: *\nAllow: /\n", "signalAiTrain=no"),
        (
            "Content-Signal: ai-train=no\nUser-agent: *\nContent-Signal: search=yes\n",
            "signalSearch=yes",
        ),
        (
            "Content-Signal: ai-train=no\nUser-agent: other\nContent-Signal: search=yes\n",
            "signalAiTrain=no",
        ),
        ("User-agent: *\nContent-Signal: \nAllow: /\n", ""),
        ("User-agent: *\nContent-Signal: use=nothing\nAllow: /\n", ""),
    ] {
        assert_eq!(fields(robots, "/p"), wanted, "{robots}");
    }
}

#[test]
fn licenses_are_of_the_whole_file() {
    for (robots, wanted) in [
        ("License: https://a.test/l.xml\nUser-agent: *\n", "license=https://a.test/l.xml"),
        ("User-agent: x\nlicense: https://a.test/l.xml\n", "license=https://a.test/l.xml"),
        (
            "User-agent: *\nLicense: https://a.test/1\nUser-agent: crivello\nContent-Usage: \
             search=y\nLicense: https://b.test/2\n",
            "usageSearch=allow license=https://a.test/1 license=https://b.test/2",
        ),
        ("License: /l.xml\nLicense: ftp://a.test/\n", ""),
    ] {
        assert_eq!(fields(robots, "/p"), wanted, "{robots}");
    }
}

#[test]
fn permission_to_fetch_does_not_depend_on_signals() {
    let with = "User-agent: a\nContent-Usage: train-ai=n\nUser-agent: crivello\nDisallow: /x\n";
    let without = "User-agent: a\nUser-agent: crivello\nDisallow: /x\n";
    for path in ["/", "/x"] {
        let allows = |text: &str| Rules::parse(text.as_bytes(), "crivello").allows(path);
        assert_eq!(allows(with), allows(without), "{path}");
    }
}

#[test]
fn lines_are_bounded() {
    let line = "Content-Usage: /some/path/of/the/site train-ai=n\n";
    let robots = format!("User-agent: *\n{}", line.repeat(10_000));
    let rules = Rules::parse(robots.as_bytes(), "crivello");
    let lines = rules.signals().unwrap().lines();
    assert!((SIGNAL_LINES_MAX - line.len()..=SIGNAL_LINES_MAX).contains(&lines.len()));
    assert!(lines.ends_with(line));
    let long = format!("User-agent: *\nContent-Usage: /{} train-ai=n\n", "x".repeat(5_000));
    assert!(Rules::parse(long.as_bytes(), "crivello").signals().is_none());
}

#[test]
fn hostile_patterns_take_bounded_time() {
    let pattern = "*a".repeat(1_000);
    let robots = format!("User-agent: *\nContent-Usage: /{pattern}b train-ai=n\n");
    let rules = Rules::parse(robots.as_bytes(), "crivello");
    let mut page = PageSignals::default();
    rules.signals().unwrap().add_to(&format!("/{}", "a".repeat(60_000)), &mut page);
    assert_eq!(page, PageSignals::default());
}

#[test]
fn rules_that_apply_as_well_lend_their_signals_only_to_rules_without() {
    let of = |text: &str| Rules::parse(text.as_bytes(), "crivello");
    let (first, second) = (
        of("License: https://a.test/1\n"),
        of("License: https://a.test/2\nUser-agent: *\nDisallow: /\n"),
    );
    let lines = |rules: &Rules| rules.signals().map(|signals| signals.lines().to_owned());
    assert_eq!(lines(&first.and(&second)), lines(&first));
    assert_eq!(lines(&Rules::allow_all().and(&second)), lines(&second));
    let stored = Rules::from_bytes(&first.and(&second).to_bytes()).unwrap();
    assert_eq!(stored, first.and(&second));
    // Signals alone are no rules that apply as well.
    let both = Rules::allow_all().and(&first);
    assert_eq!(lines(&both), lines(&first));
    assert_eq!(both.heap_size(), first.heap_size());
}

#[test]
fn the_first_rule_of_the_tdm_file_that_matches_wins_and_the_page_precedes_it() {
    let policy = Some("https://a.test/p.json");
    let rule = |location, reservation, policy| TdmRule { location, reservation, policy };
    let list = [
        rule("/open/*.html$", false, None),
        rule("", true, policy),
        rule("/two words", true, policy),
        rule("/open/", true, policy),
        rule("/", true, Some("no url")),
        rule("/never", false, None),
    ];
    let robots = Rules::parse(b"User-agent: *\nContent-Signal: search=yes\nDisallow: /x\n", "c");
    let rules = robots.with_tdm_rules(list.into_iter());
    assert_eq!(Rules::from_bytes(&rules.to_bytes()).unwrap(), rules);
    assert!(!rules.allows("/x"));
    let of = |path: &str, mut page: PageSignals| {
        rules.signals().unwrap().add_to(path, &mut page);
        let fields: Vec<_> = page.fields().iter().map(|(n, v)| format!("{n}={v}")).collect();
        fields.join(" ")
    };
    let of_file = |path| of(path, PageSignals::default());
    assert_eq!(of_file("/open/a.html"), "signalSearch=yes tdmReservation=0");
    let with_policy = "signalSearch=yes tdmReservation=1 tdmPolicy=https://a.test/p.json";
    assert_eq!(of_file("/open/a.html?q"), with_policy);
    assert_eq!(of_file("/never"), "signalSearch=yes tdmReservation=1");
    let mut page = PageSignals::default();
    page.tdm.set_reservation("0");
    assert_eq!(of("/open/x", page), "signalSearch=yes tdmReservation=0");
    let many = (0..1_000).map(|_| rule("/some/path/of/the/site", true, policy));
    let lines = robots.with_tdm_rules(many).signals().unwrap().lines().len();
    assert!((SIGNAL_LINES_MAX - 100..=SIGNAL_LINES_MAX).contains(&lines), "{lines}");
    assert_eq!(robots.with_tdm_rules(std::iter::empty()), robots);
}
