//! Tests of the whole table: round trips, layers, fingerprints.

mod errors;

use super::settings::TABLE;
use super::table::Setting;
use super::*;
use crate::units::ByteSize;
use proptest::prelude::*;
use std::net::SocketAddr;
use std::time::Duration;

/// Draws random values from a seed (SplitMix64).
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    pub(super) fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    pub(super) fn text(&mut self) -> String {
        let odd = ['"', '\'', '\\', '\n', '\r', '\t', '#', '=', '[', 'é', '\u{7f}', '\0', 'a', ' '];
        (0..self.below(9)).map(|_| self.one_of(&odd)).collect()
    }

    pub(super) fn network(&mut self) -> ipnet::IpNet {
        self.one_of(&["127.0.0.0/8", "0.0.0.0/0", "fd00::/8", "10.1.2.3/32"]).parse().unwrap()
    }

    pub(super) fn socket(&mut self) -> SocketAddr {
        self.one_of(&["127.0.0.1:53", "[::1]:5353"]).parse().unwrap()
    }
}

fn drawn(seed: u64) -> Settings {
    let (mut settings, mut draw) = (Settings::default(), Draw(seed));
    for setting in TABLE {
        (setting.draw)(&mut settings, &mut draw);
    }
    settings
}

/// Returns defaults that pass the check.
fn reachable() -> Settings {
    let mut settings = Settings::default();
    settings.fixed.identity.contact = "you@example.com".to_owned();
    settings
}

#[test]
fn the_commented_file_names_every_setting_and_parses_back_to_the_defaults() {
    let text = commented_toml();
    assert_eq!(Settings::from_toml("x", &text).as_ref(), Ok(&Settings::default()), "{text}");
    let parsed: toml::Table = text.parse().unwrap();
    for setting in TABLE {
        assert!(parsed[setting.section].get(setting.name()).is_some(), "{}", setting.key());
    }
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
    for part in [
        "\n# Delay from the end of one request to a host to the start of the next.\n",
        " Value: a duration. Default: \"10s\". Live: can be changed while the crawl runs.\n\
         delay = \"10s\"\n",
        " Value: a duration. Default: \"5s\". A change takes effect at the next start.\n\
         timeout = \"5s\"\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn the_defaults_need_only_a_contact() {
    assert_eq!(reachable().check(), Ok(()));
    let error = Settings::default().check().unwrap_err();
    assert_eq!(error.0.len(), 1, "{error}");
    assert_eq!(error.0[0].key.as_deref(), Some("identity.contact"));
    assert!(error.to_string().contains("owners of the sites visited must be able to reach you"));
}

#[test]
fn later_layers_win() {
    let file = "identity.contact = \"a@example.com\"\n[politeness]\ndelay = \"1s\"\n\
                ip-delay = \"1s\"\nburst = 2\n";
    let sets = ["politeness.delay=2s".to_owned(), "politeness.ip-delay=2s".to_owned()];
    let flags = [("--delay", "politeness.delay", "3s".to_owned())];
    let settings = RawSettings::merge(&[("c.toml", file)], &sets, &flags).unwrap();
    let Politeness { delay, ip_delay, burst, .. } = settings.live.politeness;
    assert_eq!((delay.as_secs(), ip_delay.as_secs(), burst), (3, 2, 2));
    assert_eq!(settings.fixed.fetch, Fetch::default());
}

#[test]
fn of_several_files_the_later_is_laid_over_the_earlier() {
    let mut kept = reachable();
    kept.live.politeness.burst = 7;
    let kept = kept.to_toml();
    let files = [("kept", kept.as_str()), ("given", "[politeness]\ndelay = \"1s\"\n")];
    let settings = RawSettings::merge(&files, &[], &[]).unwrap();
    assert_eq!((settings.live.politeness.burst, settings.live.politeness.delay.as_secs()), (7, 1));
    assert_eq!(settings.fixed.identity, reachable().fixed.identity);
}

#[test]
fn a_truncated_file_is_detected_by_missing_keys() {
    let text = reachable().to_toml();
    let mut raw = RawSettings::default();
    raw.file("whole", &text).unwrap();
    assert_eq!(raw.missing(), [""; 0]);
    let lines: Vec<&str> = text.lines().collect();
    for n in 0..lines.len() {
        let mut raw = RawSettings::default();
        raw.file("cut", &lines[..n].join("\n")).unwrap();
        assert!(!raw.missing().is_empty(), "{n} lines");
    }
}

#[test]
fn arguments_are_read_like_a_file_but_need_no_quotes() {
    let mut settings = Settings::default();
    for argument in [
        "politeness.delay=5s",
        "identity.contact=https://example.com/a=b",
        "identity.user-agent-name = \"other\"",
        "limits.depth-max=3",
        "limits.hosts-per-domain-max=none",
        "fetch.http2=false",
        "fetch.body-size-max=1MiB",
        "fetch.allow-networks=127.0.0.1/8, ::1",
        "dns.servers=[\"127.0.0.1:53\"]",
        "politeness.mode=relative",
        "politeness.relative-factor=3",
        "politeness.domains={suffix='*.Example.COM.', delay='1s'}",
        "links.exclude=[{path-prefix='/%7ea'}, {regex='x'}]",
    ] {
        settings.apply_set(argument).unwrap();
    }
    assert_eq!(settings.live.politeness.delay, Duration::from_secs(5));
    assert_eq!(settings.fixed.identity.contact, "https://example.com/a=b");
    assert_eq!(settings.fixed.identity.user_agent_name, "other");
    assert_eq!(settings.live.limits.depth_max, Some(3));
    assert_eq!(settings.live.limits.hosts_per_domain_max, None);
    assert!(!settings.fixed.fetch.http2);
    assert_eq!(settings.fixed.fetch.body_size_max, ByteSize::mib(1));
    let networks: Vec<_> =
        settings.fixed.fetch.allow_networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["127.0.0.0/8", "::1/128"]);
    assert_eq!(settings.fixed.dns.servers, ["127.0.0.1:53".parse().unwrap()]);
    assert_eq!(settings.live.politeness.mode, PolitenessMode::Relative);
    assert_eq!(settings.live.politeness.domains[0].suffix, "example.com");
    assert_eq!(settings.live.links.exclude[0].path_prefix.as_deref(), Some("/~a"));
    assert_eq!(settings.check(), Ok(()));
}

#[test]
fn only_permanent_settings_change_the_fingerprint() {
    let settings = reachable();
    // Only a function of the lease is fixed; see below.
    for setting in TABLE.iter().filter(|setting| setting.key() != "cluster.lease") {
        let mut other = settings.clone();
        let mut draw = Draw(1);
        while (setting.write)(&other) == (setting.write)(&settings) {
            (setting.draw)(&mut other, &mut draw);
        }
        let key = setting.key();
        let same = other.fingerprint() == settings.fingerprint();
        assert_eq!(same, !setting.permanent, "{key}");
        assert_eq!(settings.differences(&other), std::slice::from_ref(&key));
        let differences = other.fingerprint_differences(&settings.fingerprint_text());
        assert_eq!(
            differences.iter().map(|d| &d.key).collect::<Vec<_>>(),
            vec![&key; usize::from(!same)]
        );
    }
    let fixed: Vec<_> = TABLE.iter().filter(|s| s.permanent).map(Setting::key).collect();
    let all = [
        "identity.assign-by",
        "store.digest",
        "cluster.strategy",
        "cluster.replication",
        "state.near-tables",
    ];
    assert_eq!(fixed, all);
    let messages =
        settings.fingerprint_differences("identity.assign-by = \"host\"\nurl normal form = 1\n");
    let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "cluster.replication: the stored crawl has not set, now it is 2",
            "cluster.strategy: the stored crawl has not set, now it is \"permutation\"",
            "half of cluster.lease, at most 5s: the stored crawl has not set, now it is 5s",
            "identity.assign-by: the stored crawl has \"host\", now it is \"domain\"",
            "state.near-tables: the stored crawl has not set, now it is 4",
            "store.digest: the stored crawl has not set, now it is \"sha1\"",
        ]
    );
}

#[test]
fn a_lease_may_change_as_long_as_agents_grant_each_other_the_same() {
    let with = |lease| {
        let mut settings = reachable();
        settings.fixed.cluster.lease = Duration::from_secs(lease);
        settings
    };
    for (lease, other, may_change) in
        [(10, 300, true), (30, 10, true), (10, 9, false), (2, 30, false)]
    {
        let differences = with(other).fingerprint_differences(&with(lease).fingerprint_text());
        assert_eq!(differences.is_empty(), may_change, "{lease}s, then {other}s: {differences:?}");
    }
    assert_eq!(with(3).fixed.cluster.peer_lease(), Duration::from_millis(1_500));
    assert_eq!(with(30).fixed.cluster.peer_lease(), Duration::from_secs(5));
}

proptest! {
    #[test]
    fn settings_round_trip(seed: u64) {
        let settings = drawn(seed);
        let text = settings.to_toml();
        prop_assert_eq!(Settings::from_toml("x", &text), Ok(settings), "{}", text);
    }

    #[test]
    fn no_text_panics(
        text in "(\\[?(politeness|links|fetch)\\]?|\\n|[a-z-]{1,9}|=|\\.|\"[^\"]{0,5}\"|[0-9]{1,3}|[{}\\[\\],é ]){0,20}",
    ) {
        let _ = Settings::from_toml("x", &text);
        let _ = Settings::default().apply_set(&text);
    }
}
