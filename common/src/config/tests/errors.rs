//! Rejected settings and their error messages.

use super::*;

#[test]
fn every_error_of_a_file_is_told_with_its_line_and_what_to_write() {
    let text = r#"delay = "1s"
[politness]
delay = "1s"
[politeness]
dealy = "1s"
delay = 10
ip-delay = "2"
burst = "3"
mode = "relatve"
domains = [
  { suffix = "example.com", delay = "5s" },
  { suffix = "example.com", delay = 5 },
]
[[politeness.robots-exempt]]
host = "a b"
reason = "x"
[[links.exclude]]
regex = "a("
[[links.include]]
regexp = "a"
[fetch]
head-size-max = 65536
visits-max = -1
allow-networks = ["127.0.0.0/8", "10.0.0/8"]
[dns]
servers = ["127.0.0.1"]
[limits]
pages-max = "all"
"#;
    let errors = Settings::from_toml("c.toml", text).unwrap_err().to_string();
    let wanted = [
        "c.toml:1: delay: there is no such setting; did you mean politeness.delay?",
        "c.toml:2: politness: there is no such section; did you mean [politeness]?",
        "c.toml:5: politeness.dealy: there is no such setting; did you mean politeness.delay?",
        "c.toml:6: politeness.delay: \"10\" has no unit; write \"10s\"",
        "c.toml:7: politeness.ip-delay: \"2\" has no unit; write \"2s\"",
        "c.toml:8: politeness.burst: the text \"3\" is not expected here; write a whole number",
        "c.toml:9: politeness.mode: the text \"relatve\" is not expected here; write \"absolute\" or",
        "c.toml:12: politeness.domains: entry 2: delay: \"5\" has no unit; write \"5s\"",
        "c.toml:15: politeness.robots-exempt: entry 1: host: \"a b\" is not a host name",
        "c.toml:18: links.exclude: entry 1: regex: \"a(\" is not a regular expression: unclosed group",
        "c.toml:20: links.include: entry 1: there is no part \"regexp\"; did you mean \"regex\"?",
        "c.toml:22: fetch.head-size-max: \"65536\" has no unit; write \"65536B\"",
        "c.toml:23: fetch.visits-max: -1 is not a whole number from 0 to 4294967295",
        "c.toml:24: fetch.allow-networks: entry 2: \"10.0.0/8\" is not a network; write",
        "c.toml:26: dns.servers: entry 1: \"127.0.0.1\" has no port; write \"127.0.0.1:53\"",
        "c.toml:28: limits.pages-max: the text \"all\" is not expected here; write a whole number, or",
    ];
    for (line, wanted) in errors.lines().zip(wanted) {
        assert!(line.starts_with(wanted), "{line}\nwanted\n{wanted}");
    }
    assert_eq!(errors.lines().count(), wanted.len(), "{errors}");
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    for (text, wanted) in [
        ("[politeness]\ndelay = 10s\n", "c.toml:2: "),
        ("\n\n[politeness\n", "c.toml:3: "),
        ("[dns]\nipv6 = true\nipv6 = true\n", "c.toml:3: "),
        ("politeness = 3\n", "c.toml:1: politeness: this is a section; write [politeness]"),
    ] {
        let error = Settings::from_toml("c.toml", text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text}: {error}");
    }
}

#[test]
fn a_wrong_argument_is_named_and_changes_nothing() {
    for (argument, wanted) in [
        ("politeness.delay=10", "politeness.delay: \"10\" has no unit; write \"10s\""),
        ("politeness.delay", "write section.key=value"),
        ("politeness.dealy=1s", "politeness.dealy: there is no such setting; did you mean"),
        ("fetch.http2=yes", "fetch.http2: the text \"yes\" is not expected here; write true or"),
        ("limits.pages-max=-1", "limits.pages-max: -1 is not a whole number"),
        ("dns.servers=[", "dns.servers: "),
        ("links.exclude={}", "links.exclude: an empty rule; set"),
    ] {
        let mut settings = reachable();
        let error = settings.apply_set(argument).unwrap_err().to_string();
        assert!(error.starts_with(&format!("--set {argument}: {wanted}")), "{error}");
        assert_eq!(settings, reachable());
    }
}

#[test]
fn each_bound_and_relation_is_checked() {
    for (argument, key) in [
        ("identity.contact=nobody", "identity.contact"),
        ("identity.contact=me@localhost", "identity.contact"),
        ("identity.contact=ftp://example.com/", "identity.contact"),
        ("identity.contact=http://", "identity.contact"),
        ("identity.contact=https://example.com/a(b", "identity.contact"),
        ("identity.user-agent-name=bot/1.0", "identity.user-agent-name"),
        ("identity.user-agent-name=*", "identity.user-agent-name"),
        ("identity.user-agent-name=", "identity.user-agent-name"),
        ("identity.signature-key-file=bot.pem", "identity.signature-agent"),
        ("identity.signature-agent=https://bot.example", "identity.signature-key-file"),
        ("identity.signature-agent=http://bot.example", "identity.signature-agent"),
        ("identity.signature-agent=https://me@bot.example", "identity.signature-agent"),
        ("identity.signature-agent=https://bot.example/?a", "identity.signature-agent"),
        ("identity.signature-agent=bot.example", "identity.signature-agent"),
        ("webhook.url=ftp://example.com/", "webhook.url"),
        ("webhook.url=https://me:secret@example.com/", "webhook.url"),
        ("upload.url=bucket/prefix", "upload.url"),
        ("upload.url=s3://me:secret@bucket/", "upload.url"),
        ("upload.url=s3://bucket/a b", "upload.url"),
        ("upload.url=file://host/dir", "upload.url"),
        ("upload.endpoint=s3.example.com", "upload.endpoint"),
        ("upload.region=eu central", "upload.region"),
        ("upload.part-size=1KiB", "upload.part-size"),
        ("upload.parts-at-once=0", "upload.parts-at-once"),
        ("limits.pages-max=0", "limits.pages-max"),
        ("politeness.burst=0", "politeness.burst"),
        ("politeness.relative-factor=nan", "politeness.relative-factor"),
        ("politeness.relative-delay-min=6min", "politeness.relative-delay-min"),
        ("politeness.backoff-max=59s", "politeness.backoff-first"),
        ("politeness.robots-age-max=25h", "politeness.robots-age-max"),
        (
            "politeness.domains=[{suffix='a.b',delay='1s'},{suffix='.A.b',delay='2s'}]",
            "politeness.domains",
        ),
        ("fetch.visits-max=0", "fetch.visits-max"),
        ("fetch.connect-timeout=3min", "fetch.connect-timeout"),
        ("fetch.total-timeout=15s", "fetch.first-byte-timeout"),
        ("fetch.decoded-size-max=1MiB", "fetch.body-size-max"),
        ("fetch.accept-language=\"a\\nb\"", "fetch.accept-language"),
        ("dns.ttl-min=2d", "dns.ttl-min"),
        ("links.url-length-max=70000", "links.url-length-max"),
        ("store.gzip-level=0", "store.gzip-level"),
        ("store.gzip-level=10", "store.gzip-level"),
        ("state.commit-interval=0s", "state.commit-interval"),
    ] {
        let mut raw = RawSettings::default();
        raw.set("identity.contact=you@example.com").unwrap();
        raw.set(argument).unwrap();
        let error = raw.check().expect_err(argument);
        assert_eq!(error.0[0].key.as_deref(), Some(key), "{error}");
        if argument.starts_with(key) {
            assert!(
                error.to_string().starts_with(&format!("--set {argument}: {key}: ")),
                "{error}"
            );
        }
        assert!(Setting::find(key).is_some());
    }
}

#[test]
fn revisits_of_other_agents_need_archives_that_are_kept() {
    let problem = |arguments: &[&str]| {
        let mut raw = RawSettings::default();
        let peers = ["identity.contact=you@example.com", "store.peer-revisits=true"];
        peers.iter().chain(arguments).for_each(|argument| raw.set(argument).unwrap());
        raw.check().err().map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(problem(&[]), "");
    for arguments in [&["archive.keep-age=30d"][..], &["archive.keep-size=1GiB"]] {
        let text = problem(arguments);
        assert!(
            text.contains("store.peer-revisits: cannot be used with archive.keep-age"),
            "{text}"
        );
    }
    let text = problem(&["store.revisits=false"]);
    assert!(text.contains("store.peer-revisits: needs store.revisits"), "{text}");
}

#[test]
fn a_limit_per_domain_needs_domains() {
    let problems = |arguments: &[&str]| {
        let mut raw = RawSettings::default();
        for argument in ["identity.contact=you@example.com"].iter().chain(arguments) {
            raw.set(argument).unwrap();
        }
        raw.check().err().map_or_else(String::new, |error| error.to_string())
    };
    let (by_host, by_domain) = ("identity.assign-by=host", "identity.assign-by=domain");
    let (hosts, pages) = ("limits.hosts-per-domain-max", "limits.pages-per-domain-max");
    let none = "limits.hosts-per-domain-max=none";
    for (arguments, keys) in [
        (&[by_host, none][..], &[][..]),
        // The default applies only to domains.
        (&[by_host], &[]),
        (&[by_host, "limits.hosts-per-domain-max=7"], &[hosts]),
        (&[by_host, none, "limits.pages-per-domain-max=7"], &[pages]),
        (&[by_host, "limits.pages-per-domain-max=7"], &[pages]),
        (&[by_domain, "limits.pages-per-domain-max=7"], &[]),
    ] {
        let messages = problems(arguments);
        assert_eq!(messages.lines().count(), keys.len(), "{arguments:?}: {messages}");
        for (line, key) in messages.lines().zip(keys) {
            let wanted = format!("{key}: cannot be enforced while identity.assign-by is \"host\"");
            assert!(line.contains(&wanted) && line.contains("write \"none\""), "{line}");
        }
    }
}

#[test]
fn entries_set_by_a_program_are_checked_too() {
    let rule = |host_suffix: &str| LinkRule {
        host_suffix: Some(host_suffix.into()),
        ..LinkRule::default()
    };
    for (rule, wanted) in [
        (LinkRule::default(), "entry 2: an empty rule"),
        (rule("*.Example.com"), "entry 2: host-suffix: write \"example.com\""),
        (rule("a..b"), "entry 2: host-suffix: \"a..b\" is not a host suffix"),
        (LinkRule { regex: Some("(".into()), ..LinkRule::default() }, "entry 2: regex: "),
        (
            LinkRule { path_prefix: Some("docs".into()), ..LinkRule::default() },
            "entry 2: path-prefix: ",
        ),
    ] {
        let mut settings = reachable();
        settings.live.links.include =
            vec![LinkRule { regex: Some("a".into()), ..LinkRule::default() }, rule];
        let error = settings.check().unwrap_err().to_string();
        assert!(error.starts_with(&format!("links.include: {wanted}")), "{error}");
    }
}

#[test]
fn a_sieve_for_one_agent_is_rejected_in_a_cluster() {
    let mut settings = reachable();
    assert_eq!(settings.check_shared(), Ok(()));
    for sieve in ["memory", "bloom", "blocked-bloom"] {
        settings.apply_set(&format!("state.sieve={sieve}")).unwrap();
        assert_eq!(settings.check(), Ok(()), "rejected for a single agent");
        let error = settings.check_shared().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("state.sieve: \"{sieve}\" is for a single agent")),
            "{error}"
        );
        assert!(error.ends_with("write \"rocksdb\" or \"quotient\""), "{error}");
    }
    for sieve in ["rocksdb", "quotient"] {
        settings.apply_set(&format!("state.sieve={sieve}")).unwrap();
        assert_eq!(settings.check_shared(), Ok(()), "{sieve}");
    }
    assert!(settings.apply_set("state.sieve=offline").is_err(), "`offline` was accepted");
    settings.apply_set("state.sieve-memory=1023KiB").unwrap();
    assert!(settings.check().unwrap_err().to_string().contains("at least \"1MiB\""));
}
