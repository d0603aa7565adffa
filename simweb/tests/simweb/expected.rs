//! URLs that a correct visitor must, may and must not fetch, for each kind of host.

use simweb::world::World;
use simweb::{Character, Content, DnsWay, Expected, JudgeLimits, Manner, RetryAfter, Robots, Spec};

fn expected(spec: Spec) -> Expected {
    Expected::new(&World::new(spec), &JudgeLimits::default())
}

#[test]
fn all_of_a_plain_web_must_be_fetched_once() {
    let expected = expected(Spec::new(4).size(30, 2, 20));
    assert_eq!((expected.urls.len(), expected.n_must()), (1_200, 1_200));
    assert!(expected.urls.values().all(|due| !due.repeat));
    assert!(expected.urls.contains_key("http://h1.site29.test/s5/p19.html"));
}

#[test]
fn closed_directories_and_nofollow_pages_are_left_out() {
    let expected = expected(Spec::new(4).size(10, 1, 40).robots(Robots::standard()));
    assert!(!expected.urls.keys().any(|u| u.contains("nofollowed") || u.ends_with("7.html")));
    assert!(expected.urls.contains_key("http://h0.site0.test/s3/p3.html"));
    assert!(!expected.urls.keys().any(|u| u.contains("/s3/") && !u.ends_with("/p3.html")));
}

#[test]
fn each_character_has_its_due() {
    let due = |character: Character| {
        let spec = Spec::new(4).host("x.test", character.pages(3));
        let expected = expected(spec);
        expected.urls.get("http://x.test/").map(|due| (due.must, due.repeat))
    };
    let of = |manner| due(Character::named("x").manner(manner));
    let slow =
        |refusals| of(Manner::SlowDown { code: 503, retry_after: RetryAfter::Absent, refusals });
    assert_eq!(of(Manner::Well), Some((true, false)));
    assert_eq!(of(Manner::Silent), Some((false, true)));
    assert_eq!(of(Manner::Status { code: 404 }), Some((true, false)));
    assert_eq!(of(Manner::GzipBomb { bytes: 10 }), Some((true, false)));
    assert_eq!(slow(2), Some((true, false)));
    assert_eq!(slow(u32::MAX), Some((false, false)));
    assert_eq!(due(Character::named("x").dns(DnsWay::ServFail)), None);
    assert_eq!(due(Character { port: Some(81), ..Character::named("x") }), None);
    assert_eq!(due(Character::named("x").robots(Robots::Status(500))), None);
    let open = Robots::Redirects { hops: 6, to: None };
    assert_eq!(due(Character::named("x").robots(open)), Some((false, false)));
}

#[test]
fn circles_chains_segments_and_sitemaps_are_walked() {
    let only = |character| {
        let spec = Spec::new(4).size(0, 1, 1).links(0).host("x.test", character);
        let mut urls: Vec<_> = expected(spec).urls.into_keys().collect();
        urls.sort();
        urls.iter().map(|u| u.trim_start_matches("http://x.test").to_owned()).collect::<Vec<_>>()
    };
    let x = || Character::named("x").pages(2);
    assert_eq!(only(x().content(Content::Loop(2))), ["/", "/loop/0", "/loop/1", "/s1/p1.html"]);
    assert_eq!(only(x().content(Content::Chain(2)))[1..3], ["/chain/0", "/chain/1"]);
    let segments = only(x().content(Content::Segments));
    assert_eq!(segments[1..4], ["/again/", "/again/again/", "/again/again/again/"]);
    assert_eq!(segments.len(), 5);
    let mapped = only(x().robots(Robots::Sitemaps(60)));
    assert_eq!(mapped.len(), 2 + 3 + 60);
}

#[test]
fn limits_leave_the_choice_to_the_visitor() {
    let world = World::new(Spec::new(4).size(3, 1, 10));
    let limits = JudgeLimits { pages_per_host_max: Some(5), ..JudgeLimits::default() };
    assert_eq!(Expected::new(&world, &limits).n_must(), 0);
    let limits = JudgeLimits { pages_per_host_max: Some(10), ..JudgeLimits::default() };
    assert_eq!(Expected::new(&world, &limits).n_must(), 30);
    let limits = JudgeLimits { depth_max: Some(0), ..JudgeLimits::default() };
    assert_eq!(Expected::new(&world, &limits).urls.len(), 3);
}
