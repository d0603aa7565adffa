use super::*;
use crivello_common::config::Settings;
use crivello_common::config::{AssignBy, LinkRule};
use crivello_common::identity::{IdentityKey, KeyedHasher};
use crivello_common::units::ByteSize;
use proptest::prelude::*;
use std::sync::LazyLock;

fn rules(change: impl FnOnce(&mut Settings)) -> LinkRules {
    let mut settings = Settings::default();
    change(&mut settings);
    let hasher = hasher(settings.fixed.identity.assign_by);
    LinkRules::compile(&settings.live, &settings.fixed, hasher).unwrap()
}

fn hasher(by: AssignBy) -> KeyedHasher {
    KeyedHasher::new(IdentityKey::from_bytes([7; 16]), by)
}

fn rule(host_suffix: &str, path_prefix: &str, regex: &str) -> LinkRule {
    let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    LinkRule { host_suffix: part(host_suffix), path_prefix: part(path_prefix), regex: part(regex) }
}

fn parent(kind: LinkKind, depth: u16) -> Parent<'static> {
    static URL: LazyLock<CrawlUrl> =
        LazyLock::new(|| CrawlUrl::parse("http://example.com/").unwrap());
    let page = ParentRecord {
        url: &URL,
        status: 200,
        bytes: 1,
        n_links: 1,
        text_length: 0,
        language: "und",
    };
    let group = KeyedHasher::with_public_key().group("example.com");
    Parent { page, group, kind, depth, redirects: 0, is_redirect: false }
}

const fn anchor(href: &str, nofollow: bool) -> ExtractedLink<'_> {
    ExtractedLink { href, kind: LinkKind::Page, source: LinkSource::Anchor, nofollow }
}

fn verdict(rules: &LinkRules, url: &str, depth: u16) -> Option<Discard> {
    rules.admit(CrawlUrl::parse(url).unwrap(), depth, LinkKind::Page).err()
}

#[test]
fn a_url_that_is_let_through_is_named_and_keyed() {
    for by in [AssignBy::Domain, AssignBy::Host] {
        let rules = rules(|s| s.fixed.identity.assign_by = by);
        let url = CrawlUrl::parse("https://www.example.com/a?b").unwrap();
        let found = rules.admit(url.clone(), 3, LinkKind::Sitemap).unwrap();
        let hasher = hasher(by);
        assert_eq!(found.host, hasher.host_key(url.host()));
        assert_eq!((found.hash, found.depth, found.kind), (hasher.url(&url), 3, LinkKind::Sitemap));
        assert_eq!(found.url, url);
    }
}

#[test]
fn include_and_exclude_rules_bound_the_scope() {
    let docs = || vec![rule("example.com", "/docs/", ""), rule("", "", r"\.pdf$")];
    for (include, exclude, url, within) in [
        (vec![], vec![], "http://anywhere.example/", true),
        (docs(), vec![], "http://example.com/docs/a", true),
        (docs(), vec![], "http://www.example.com/docs/", true),
        (docs(), vec![], "http://example.com/docs", false),
        (docs(), vec![], "http://notexample.com/docs/", false),
        (docs(), vec![], "http://example.com.evil.example/docs/", false),
        (docs(), vec![], "http://other.example/paper.pdf", true),
        (docs(), vec![], "http://other.example/paper.pdf?x", false),
        (docs(), docs(), "http://example.com/docs/a", false),
        (vec![], docs(), "http://example.com/docs/a", false),
        (vec![], docs(), "http://example.com/", true),
        (vec![], vec![rule("", "", "^https:")], "http://example.com/", true),
        (vec![], vec![rule("", "", "^https:")], "https://example.com/", false),
    ] {
        let rules = rules(|s| (s.live.links.include, s.live.links.exclude) = (include, exclude));
        let wanted = (!within).then_some(Discard::OutOfScope);
        assert_eq!(verdict(&rules, url, 0), wanted, "{url} under {rules:?}");
    }
}

/// Rules see the rewritten URL, and pages that link to several URLs of one page link to one.
#[test]
fn urls_are_rewritten_before_they_are_judged() {
    use crivello_common::config::UrlRewrite::{ForceHttps, Tracking};
    let rules = rules(|s| {
        s.live.links.rewrite = vec![Tracking, ForceHttps];
        s.live.links.drop_parameters = vec!["ref".to_owned()];
        s.live.links.include = vec![rule("", "", "^https:")];
        s.live.links.exclude = vec![rule("", "", "utm_")];
    });
    let base = url::Url::parse("http://example.com/").unwrap();
    let hrefs = ["/a?utm_source=x", "https://example.com/a?ref=1", "/a", "/b?id=2"];
    let hrefs = hrefs.into_iter().map(|href| anchor(href, false));
    let (links, discards) = rules.collect(&base, hrefs, parent(LinkKind::Page, 0));
    let urls: Vec<&str> = links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, ["https://example.com/a", "https://example.com/b?id=2"]);
    assert_eq!(discards, DiscardTally::default());
    // Links with very many parameters use up the budget of their page.
    let costly = format!("/?{}", "&".repeat(1_500));
    let hrefs = std::iter::repeat_n(anchor(&costly, false), 1_000);
    let (_, discards) = rules.collect(&base, hrefs, parent(LinkKind::Page, 0));
    assert!(discards.get(Discard::TooMuchWork) > 100, "{discards:?}");
    let seed = CrawlUrl::parse("http://example.com/?utm_source=x").unwrap();
    let seed = rules.admit(seed, 0, LinkKind::Page).unwrap();
    let whole = CrawlUrl::parse("https://example.com/").unwrap();
    let identity = hasher(AssignBy::Domain);
    assert_eq!((seed.hash, seed.host), (identity.url(&whole), identity.host_key("example.com")));
    assert_eq!(seed.url, whole);
}

#[test]
fn a_condition_judges_links_last() {
    let rules = rules(|s| {
        s.live.links.exclude = vec![rule("", "/never", "")];
        s.live.links.admit =
            "link.same_domain && link.depth < 3 && 10 / url.path_depth > 2".to_owned();
    });
    let base = url::Url::parse("http://example.com/").unwrap();
    let hrefs = ["/a", "/a/b/c/d", "http://other.example/a", "/never", "/"];
    let hrefs = hrefs.into_iter().map(|href| anchor(href, false));
    let (links, discards) = rules.collect(&base, hrefs, parent(LinkKind::Page, 1));
    let urls: Vec<&str> = links.iter().map(|link| link.url.as_str()).collect();
    assert_eq!(urls, ["http://example.com/a"]);
    let counted = [Discard::NotAdmitted, Discard::OutOfScope, Discard::ConditionFailed];
    assert_eq!(counted.map(|reason| discards.get(reason)), [2, 1, 1]);
    let url = |text| CrawlUrl::parse(text).unwrap();
    for (text, reason) in [
        ("http://example.com/a/b/c/d", Some("`10 / url.path_depth > 2` is false")),
        ("http://example.com/", Some("column 39: division by zero")),
        ("http://example.com/a", None),
    ] {
        assert_eq!(rules.refusing_condition(&url(text)).as_deref(), reason, "{text}");
    }
}

/// A list of seeds with `limits.depth-max = 0` is crawled whole, although some of them have moved.
#[test]
fn redirects_of_a_seed_keep_its_depth_for_a_few_hops() {
    let rules = rules(|s| s.live.limits.depth_max = Some(0));
    let base = url::Url::parse("http://example.com/").unwrap();
    let target = |parent: Parent<'_>| {
        let hrefs = [anchor("https://www.example.com/", false)].into_iter();
        let (links, discards) = rules.collect(&base, hrefs, parent);
        let found = links.first().map(|link| (link.depth, link.redirects));
        assert_eq!(discards.get(Discard::Depth), u64::from(found.is_none()));
        found
    };
    let seed = parent(LinkKind::Page, 0);
    assert_eq!(target(seed), None, "a link of a seed");
    let mut redirect = Parent { is_redirect: true, ..seed };
    for hop in 1..=SEED_REDIRECTS_MAX {
        assert_eq!(target(redirect), Some((0, hop)));
        redirect.redirects = hop;
    }
    assert_eq!(target(redirect), None, "a chain without an end");
    assert_eq!(target(Parent { is_redirect: true, ..parent(LinkKind::Page, 1) }), None);
}

#[test]
fn traps_are_known_by_their_shape() {
    let rules = rules(|s| {
        s.live.links.url_length_max = 60;
        s.live.links.repeated_segments_max = 2;
        s.live.links.path_depth_max = 5;
        s.live.limits.depth_max = Some(4);
    });
    let exactly = format!("http://example.com/{}", "a".repeat(60 - 19));
    for (url, depth, wanted) in [
        (exactly.as_str(), 0, None),
        (&format!("{exactly}a"), 0, Some(Discard::TooLong)),
        ("http://e.com/1/2/3/4/5", 0, None),
        ("http://e.com/1/2/3/4/5/", 0, None),
        ("http://e.com/1/2/3/4/5/6", 0, Some(Discard::PathDepth)),
        ("http://e.com/1/2/3/?/4/5/6/7/8", 0, None),
        ("http://e.com/a/b/a/b/", 0, None),
        ("http://e.com/a/b/a/b/a", 0, Some(Discard::RepeatedSegments)),
        ("http://e.com/a/a/a", 0, Some(Discard::RepeatedSegments)),
        ("http://e.com/a/aa/aaa", 0, None),
        ("http://e.com////x", 0, None),
        ("http://e.com/?a/a/a/a/a", 0, None),
        ("http://e.com/", 4, None),
        ("http://e.com/", 5, Some(Discard::Depth)),
    ] {
        assert_eq!(verdict(&rules, url, depth), wanted, "{url}");
    }
}

#[test]
fn a_rule_that_does_not_compile_is_named() {
    let mut settings = Settings::default();
    settings.live.links.exclude = vec![rule("", "", "a("), rule("", "", "b")];
    let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher(AssignBy::Domain));
    let error = rules.unwrap_err().to_string();
    assert!(error.contains("\"a(\" in links.exclude"), "{error}");
}

/// Returns the URLs that `collect` admits, and the count of the others.
fn collected(rules: &LinkRules, hrefs: &[(&str, bool)], depth: u16) -> (Vec<String>, DiscardTally) {
    let base = url::Url::parse("http://www.example.com/dir/page").unwrap();
    let hrefs = hrefs.iter().map(|&(href, nofollow)| anchor(href, nofollow));
    let (links, tally) = rules.collect(&base, hrefs, parent(LinkKind::Page, depth));
    (links.into_iter().map(|l| l.url.to_string()).collect(), tally)
}

#[test]
fn a_page_gives_each_link_once_in_its_order() {
    let hrefs = [
        ("b", false),
        ("/a#x", false),
        ("./b#y", false),
        ("http://other.example", false),
        ("", false),
        ("HTTP://OTHER.example/", false),
        ("javascript:void(0)", false),
        ("mailto:a@b.example", false),
        ("http://user@other.example/", false),
        ("http://[", false),
        ("secret", true),
        ("secret2", true),
        ("b", true),
    ];
    let (links, tally) = collected(&rules(|_| {}), &hrefs, 0);
    let page = "http://www.example.com/dir/page";
    let wanted =
        ["http://www.example.com/dir/b", "http://www.example.com/a", "http://other.example/", page];
    assert_eq!(links, wanted);
    let tally: Vec<_> = tally.iter().collect();
    assert_eq!(
        tally,
        [
            (Discard::Unparsable, 1),
            (Discard::Scheme, 2),
            (Discard::Authority, 1),
            (Discard::Nofollow, 3),
        ]
    );
}

#[test]
fn nofollow_does_not_hide_the_same_link_without_it() {
    let hrefs = [("a", true), ("a", false)];
    assert_eq!(collected(&rules(|_| {}), &hrefs, 0).0.len(), 1);
    let hrefs = [("a", true), ("b", true)];
    assert_eq!(collected(&rules(|_| {}), &hrefs, 0).0.len(), 0);
    let rules = rules(|s| s.live.links.respect_nofollow = false);
    assert_eq!(collected(&rules, &hrefs, 0).0.len(), 2);
}

#[test]
fn a_page_gives_no_more_than_its_share() {
    let rules = rules(|s| s.live.links.per_page_max = 2);
    let hrefs = [("ftp://x/", false), ("a", false), ("a", false), ("b", false), ("c", false)];
    let (links, tally) = collected(&rules, &hrefs, 0);
    assert_eq!(links.len(), 2);
    assert_eq!((tally.get(Discard::Scheme), tally.get(Discard::TooManyLinks)), (1, 1));
}

#[test]
fn a_sitemap_gives_as_many_as_it_may_hold() {
    let rules = rules(|s| s.live.links.per_page_max = 2);
    let base = url::Url::parse("http://x.example/sitemap.xml").unwrap();
    let hrefs: Vec<String> = (0..=SITEMAP_LINKS_MAX).map(|i| i.to_string()).collect();
    let hrefs = hrefs.iter().map(|href| anchor(href, false));
    let (links, tally) = rules.collect(&base, hrefs, parent(LinkKind::Sitemap, 0));
    assert_eq!((links.len(), tally.get(Discard::TooManyLinks)), (100_000, 1));
}

/// The rules come first, because a look-up of permissions costs more.
#[test]
fn links_that_a_sitemap_lists_of_other_hosts_name_it() {
    let rules = rules(|s| s.live.links.exclude = vec![rule("", "/never", "")]);
    let base = url::Url::parse("http://example.com/").unwrap();
    let sitemap = Some("http://example.com/");
    let hrefs = [
        ("http://example.com/1", true, None),
        ("https://example.com:8443/2", true, None),
        ("http://www.example.com/3", true, sitemap),
        ("http://friend.test/4", true, sitemap),
        ("http://friend.test/never", true, None),
        ("http://other.test/5", false, None),
        ("http://friend.test/4", true, None),
    ];
    let mut taken = Vec::new();
    let given = hrefs.into_iter().map(|(href, is_listed, _)| {
        let source = if is_listed { LinkSource::Sitemap } else { LinkSource::SitemapImage };
        ExtractedLink { source, ..anchor(href, false) }
    });
    let parent = parent(LinkKind::Sitemap, 0);
    let (links, tally) = rules.collect_list(&base, given, parent, |index| taken.push(index));
    assert_eq!(taken, [0, 1, 2, 3, 5]);
    for (link, index) in links.iter().zip(taken) {
        let (href, _, listed_by) = hrefs[index];
        assert_eq!((link.url.as_str(), link.listed_by.as_deref()), (href, listed_by));
        assert_eq!(link.host, hasher(AssignBy::Domain).host_key(link.url.host()));
    }
    assert_eq!(tally.iter().collect::<Vec<_>>(), [(Discard::OutOfScope, 1)]);
}

#[test]
fn the_other_origins_of_a_sitemap_are_bounded() {
    let rules = rules(|_| {});
    let base = url::Url::parse("http://example.com/").unwrap();
    let hrefs = |path| {
        (0..=listed::ORIGINS_MAX).map(move |n| format!("http://h.test:{}/{path}", 8_000 + n))
    };
    let hrefs: Vec<String> = hrefs(1).chain(hrefs(2)).collect();
    let given = hrefs
        .iter()
        .map(|href| ExtractedLink { source: LinkSource::Sitemap, ..anchor(href, false) });
    let (links, tally) = rules.collect(&base, given, parent(LinkKind::Sitemap, 0));
    assert_eq!((links.len(), tally.get(Discard::ForeignInSitemap)), (2 * listed::ORIGINS_MAX, 2));
}

#[test]
fn conditions_see_the_place_of_a_link_and_the_links_of_its_page() {
    let (first, second) = ("/1", "/2");
    let base = url::Url::parse("http://example.com/").unwrap();
    let given = [
        ExtractedLink { source: LinkSource::Image, ..anchor(first, false) },
        anchor(first, false),
        anchor(second, false),
    ];
    for (admit, n) in [
        ("link.kind == \"anchor\"", 1),
        ("link.kind == \"image\"", 1),
        ("link.kind in [\"anchor\", \"image\"] && parent.links == 1", 2),
        ("parent.links == 3", 0),
    ] {
        let rules = rules(|s| s.live.links.admit = admit.into());
        let (links, _) = rules.collect(&base, given.into_iter(), parent(LinkKind::Page, 0));
        assert_eq!(links.len(), n, "{admit}");
    }
    let is_seed = rules(|s| s.live.links.admit = "link.kind == \"seed\"".into());
    assert_eq!(verdict(&is_seed, "http://example.com/", 0), None);
}

#[test]
fn the_depth_of_a_link_is_one_more_than_its_page() {
    let rules = rules(|s| s.live.limits.depth_max = Some(7));
    assert_eq!(collected(&rules, &[("a", false)], 6).0.len(), 1);
    let (links, tally) = collected(&rules, &[("a", false), ("#x", false), ("a", false)], 7);
    assert_eq!((links.len(), tally.get(Discard::Depth)), (0, 2));
    assert_eq!(collected(&rules, &[("a", false)], u16::MAX).0.len(), 0);
}

#[test]
fn more_hosts_than_are_remembered_keep_their_own_keys() {
    let hrefs: Vec<String> =
        (0..40).map(|i| format!("http://h{}.d{}.example/{i}", i % 7, i % 3)).collect();
    let base = url::Url::parse("http://x.example/").unwrap();
    let hrefs = hrefs.iter().map(|h| anchor(h, false));
    let (links, _) = rules(|_| {}).collect(&base, hrefs, parent(LinkKind::Page, 0));
    assert_eq!(links.len(), 40);
    assert!(links.iter().all(|l| l.host == hasher(AssignBy::Domain).host_key(l.url.host())));
}

proptest! {
    /// Every link that comes out passes the rules, and every href is accounted for.
    #[test]
    fn nothing_gets_out_that_the_rules_forbid(
        hrefs in prop::collection::vec(
            ("(https?://[ab](\\.example)?)?(/[abc]?){0,6}|[a-z:/?#.%@ ]{0,12}|\\PC{0,6}", any::<bool>()),
            0..30,
        ),
        length_max in 20..60_u32,
        repeats_max in 1..4_u32,
        segments_max in 1..6_u32,
        per_page_max in 1..20_u32,
        depth_max in prop::option::of(0..4_u16),
        depth in 0..4_u16,
    ) {
        let mut settings = Settings::default();
        settings.live.links.exclude = vec![rule("b.example", "/a", ""), rule("", "", "/c/c")];
        settings.live.links.url_length_max = length_max;
        settings.live.links.repeated_segments_max = repeats_max;
        settings.live.links.path_depth_max = segments_max;
        settings.live.links.per_page_max = per_page_max;
        settings.live.limits.depth_max = depth_max;
        let by_domain = hasher(AssignBy::Domain);
        let rules = LinkRules::compile(&settings.live, &settings.fixed, by_domain).unwrap();
        let base = url::Url::parse("http://a.example/a/b").unwrap();
        let given = hrefs.iter().map(|(h, nofollow)| anchor(h, *nofollow));
        let (links, tally) = rules.collect(&base, given, parent(LinkKind::Page, depth));

        let mut texts: Vec<&str> = links.iter().map(|l| l.url.as_str()).collect();
        let followed: Vec<_> = hrefs.iter().filter(|h| !h.1).collect();
        let n_discarded: u64 = tally.iter().map(|(_, n)| n).sum();
        prop_assert!(links.len() as u64 + n_discarded <= hrefs.len() as u64);
        prop_assert!(links.len() <= per_page_max as usize);
        prop_assert!(depth_max.is_none_or(|max| depth < max) || links.is_empty());
        for link in &links {
            let url = link.url.as_str();
            prop_assert!(url.len() <= length_max as usize);
            let path = &link.url.path()[1..];
            let path = path.strip_suffix('/').unwrap_or(path);
            prop_assert!(path.split('/').count() <= segments_max as usize);
            for segment in path.split('/').filter(|segment| !segment.is_empty()) {
                let n = path.split('/').filter(|s| *s == segment).count();
                prop_assert!(n <= repeats_max as usize, "{}", url);
            }
            prop_assert!(!(link.url.host().ends_with("b.example") && link.url.path().starts_with("/a")));
            prop_assert!(!url.contains("/c/c"));
            prop_assert!(followed.iter().any(|h| CrawlUrl::join(&base, &h.0).as_ref() == Ok(&link.url)));
            prop_assert_eq!(link.hash, hasher(AssignBy::Domain).url(&link.url));
            prop_assert_eq!(link.host, hasher(AssignBy::Domain).host_key(link.url.host()));
            prop_assert_eq!(link.depth, depth + 1);
            let admitted = rules.admit(link.url.clone(), link.depth, link.kind);
            prop_assert_eq!(admitted, Ok(Found { finder: Finder::SEED, ..link.clone() }));
        }
        texts.sort_unstable();
        texts.dedup();
        prop_assert_eq!(texts.len(), links.len(), "a link occurs twice");
    }
}

/// Each class of costly links is refused before it is parsed, or is charged to the budget.
#[test]
fn the_work_of_a_page_is_bounded_and_counted() {
    let work_max = 100_000;
    let rules = rules(|s| s.live.links.work_per_page_max = work_max);
    let base = url::Url::parse("http://example.com/").unwrap();
    let collect = |hrefs: &[String]| {
        let hrefs = hrefs.iter().map(|href| anchor(href, false));
        rules.collect(&base, hrefs, parent(LinkKind::Page, 0))
    };
    let letters = |n: usize| (0..n).map(|n| char::from_u32(0x4e00 + n as u32).unwrap());
    let label = letters(30).collect::<String>();
    let costly = |n: usize| format!("//{label}.{label}.{label}.{label}.test/{n}");
    let too_long = vec![format!("//{}.test/", letters(1_000).collect::<String>()); 50];
    assert_eq!(collect(&too_long).1.get(Discard::Authority), 50);
    let long_label = vec![format!("//{}.test/", letters(64).collect::<String>()); 50];
    assert_eq!(collect(&long_label).1.get(Discard::Authority), 50);
    let path = vec![format!("/{}", "a/../".repeat(2_000)); 50];
    assert_eq!(collect(&path).1.get(Discard::TooLong), 50);
    let data = vec![format!("data:text/plain,{}", "x".repeat(10_000)); 50];
    assert_eq!(collect(&data).1.get(Discard::Scheme), 50);
    let many: Vec<String> = (0..200).map(costly).collect();
    let (links, tally) = collect(&many);
    let cost = |href: &str| crivello_common::url::parse_cost(href).unwrap() + 19;
    let mut left = work_max;
    let fits = many.iter().take_while(|href| {
        left = left.saturating_sub(cost(href));
        left > 0
    });
    let n_fits = fits.count();
    assert!((1..200).contains(&n_fits), "{n_fits}");
    assert_eq!(links.len(), n_fits);
    assert_eq!(tally.get(Discard::TooMuchWork), 200 - links.len() as u64);
}

#[test]
fn the_bytes_of_the_links_of_a_page_are_bounded() {
    let rules = rules(|s| s.live.links.bytes_per_page_max = ByteSize::kib(64));
    let base = url::Url::parse("http://example.com/").unwrap();
    let hrefs: Vec<String> = (0..400).map(|n| format!("/{n:04}{}", "x".repeat(976))).collect();
    for (kind, n) in [(LinkKind::Page, 65), (LinkKind::Sitemap, 328)] {
        let given = hrefs.iter().map(|href| anchor(href, false));
        let (links, tally) = rules.collect(&base, given, parent(kind, 0));
        assert_eq!(links.len(), n, "{kind:?}");
        assert_eq!(tally.get(Discard::TooManyLinkBytes), 400 - n as u64);
    }
}

#[test]
fn a_link_names_the_class_of_its_finder() {
    let base = url::Url::parse("http://example.com/").unwrap();
    let given = ["/own", "http://www.example.com/", "http://other.test/"];
    let given = given.into_iter().map(|href| anchor(href, false));
    let (links, _) = rules(|_| {}).collect(&base, given, parent(LinkKind::Page, 0));
    let own: Vec<bool> = links.iter().map(|link| link.finder == Finder::OWN).collect();
    assert_eq!(own, [true, true, false]);
    let hasher = KeyedHasher::with_public_key();
    let other = Finder::of_link(hasher.group("example.com"), hasher.group("other.test"));
    assert_eq!(links[2].finder, other);
}
