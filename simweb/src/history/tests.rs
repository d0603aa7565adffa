use super::*;
use crate::spec::Spec;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ORIGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const N: u64 = 20_000;

fn between(min_secs: u64, max_secs: u64) -> Changes {
    let changes = Changes::between(Duration::from_secs(min_secs), Duration::from_secs(max_secs));
    Changes { origin_us: ORIGIN.0, ..changes }
}

fn varied() -> Changes {
    between(1, 1_000).with_variety()
}

/// Returns many histories, all of pages that may become gone.
fn histories(changes: &Changes) -> Vec<ChangeHistory> {
    (0..N).map(|i| ChangeHistory::new(changes, hash(7, &[i]), hash(8, &[i]), true)).collect()
}

fn assert_share(what: &str, found: usize, of: usize, wanted: f64) {
    let share = found as f64 / of as f64;
    assert!((share - wanted).abs() < 0.015, "{what}: {share} instead of {wanted}");
}

proptest! {
    #[test]
    fn versions_never_decrease_and_begin_at_their_times(seed: u64, at in 0..4_000_000_000_u64) {
        let history = ChangeHistory::new(&varied(), seed, seed, true);
        let now = ORIGIN + Duration::from_micros(at);
        let version = history.version(now);
        prop_assert!(version.since <= now);
        prop_assert_eq!(history.since(version.number), Some(version.since));
        prop_assert_eq!(version.number == 0, version.since <= ORIGIN);
        prop_assert_eq!(version.gone.is_some(), history.gone().is_some_and(|(at, _)| at <= now));
        match history.since(version.number + 1) {
            Some(next) => {
                prop_assert!(next > now);
                prop_assert!(history.version(next).number > version.number);
                let just_before = Timestamp(next.0 - 1);
                prop_assert_eq!(history.version(just_before).number, version.number);
            }
            None => {
                let ends = version.gone.is_some() || history.pattern() == ChangePattern::Never;
                prop_assert!(ends, "{history:?} has no next version");
                let much_later = now + Duration::from_secs(1_000_000);
                prop_assert_eq!(history.version(much_later), version);
            }
        }
        let (text, boilerplate) = (version.text, version.boilerplate);
        if history.is_boilerplate_only() {
            prop_assert_eq!((text, boilerplate), (0, version.number));
        } else {
            prop_assert_eq!((text, boilerplate), (version.number, 0));
        }
    }

    #[test]
    fn the_main_text_is_current_until_it_changes(seed: u64, at in 0..4_000_000_000_u64) {
        let history = ChangeHistory::new(&varied(), seed, seed, true);
        let now = ORIGIN + Duration::from_micros(at);
        let version = history.version(now);
        if let Some(end) = history.text_until(version.number) {
            let then = history.version(end);
            prop_assert!(end > now && (then.text != version.text || then.gone.is_some()));
            let before = history.version(Timestamp(end.0 - 1));
            prop_assert_eq!((before.text, before.gone), (version.text, None));
        } else {
            let later = history.version(now + Duration::from_secs(1_000_000));
            prop_assert_eq!((later.text, later.gone), (version.text, version.gone));
        }
    }
}

#[test]
fn version_0_begins_before_the_origin_and_lasts_until_the_first_change() {
    for history in histories(&varied()) {
        let first = history.version(ORIGIN);
        assert_eq!(first.number, 0, "{history:?}");
        assert_eq!(history.version(Timestamp::ZERO), first);
        assert!(first.since <= ORIGIN && first.since > ORIGIN - Duration::from_secs(26_000));
    }
}

/// The age of a version is distributed as at any time of a Poisson process, also at the origin.
#[test]
fn ages_at_the_origin_are_exponential() {
    let ages: Vec<f64> = histories(&between(60, 3_600))
        .iter()
        .map(|page| ORIGIN.since(page.version(ORIGIN).since).div_duration_f64(page.interval()))
        .collect();
    for limit in [0.1_f64, 0.7, 2.0] {
        let older = ages.iter().filter(|&&age| age > limit).count();
        assert_share("older than the limit", older, ages.len(), (-limit).exp());
    }
}

#[test]
fn pages_change_as_often_as_they_should() {
    let changes = Changes { gone_404: 0.0, gone_410: 0.0, never: 0.0, ..varied() };
    let time = Duration::from_secs(4_000);
    let mut sums: BTreeMap<ChangePattern, (f64, f64)> = BTreeMap::new();
    for page in histories(&changes) {
        let (found, wanted) = sums.entry(page.pattern()).or_default();
        *found += page.version(ORIGIN + time).number as f64;
        *wanted += time.div_duration_f64(page.interval());
    }
    assert_eq!(sums.len(), 3);
    for (pattern, (found, wanted)) in sums {
        assert!((found / wanted - 1.0).abs() < 0.01, "{pattern:?}: {found} of {wanted}");
    }
}

#[test]
fn shares_are_those_of_the_spec() {
    let pages = histories(&varied());
    let count = |is: &dyn Fn(&ChangeHistory) -> bool| pages.iter().filter(|page| is(page)).count();
    let share = |what: &str, is: &dyn Fn(&ChangeHistory) -> bool, wanted: f64| {
        assert_share(what, count(is), pages.len(), wanted);
    };
    share("Poisson", &|page| page.pattern() == ChangePattern::Poisson, 0.5);
    share("regular", &|page| page.pattern() == ChangePattern::Regular, 0.2);
    share("bursts", &|page| page.pattern() == ChangePattern::Bursts, 0.2);
    share("never", &|page| page.pattern() == ChangePattern::Never, 0.1);
    share("boilerplate", &ChangeHistory::is_boilerplate_only, 0.15);
    let validators = |page: &ChangeHistory| {
        (page.etag != Statement::Missing, page.last_modified != Statement::Missing)
    };
    share("ETag", &|page| validators(page) == (true, false), 0.25);
    share("Last-Modified", &|page| validators(page) == (false, true), 0.25);
    share("both", &|page| validators(page) == (true, true), 0.25);
    share("lying ETag", &|page| page.etag == Statement::False, 0.5 * 0.2);
    share("lying Last-Modified", &|page| page.last_modified == Statement::False, 0.5 * 0.2);
    share("true lastmod", &|page| page.lastmod == Statement::True, 0.4);
    share("lying lastmod", &|page| page.lastmod == Statement::False, 0.3);
    share("404", &|page| page.gone().is_some_and(|(_, status)| status == 404), 0.05);
    share("410", &|page| page.gone().is_some_and(|(_, status)| status == 410), 0.05);
    let limit = ORIGIN + Duration::from_secs(250);
    share("gone early", &|page| page.gone().is_some_and(|(at, _)| at < limit), 0.025);
    // The intervals are between 1 and 1,000 seconds.
    let faster = |limit| move |page: &ChangeHistory| page.interval() < Duration::from_secs(limit);
    share("faster than 10 s", &faster(10), 1.0 / 3.0);
    share("faster than 100 s", &faster(100), 2.0 / 3.0);
}

#[test]
fn true_validators_change_with_the_version_and_lying_ones_with_each_answer() {
    let (mut n_etags, mut n_dates) = (0, 0);
    for history in histories(&varied()).iter().take(2_000) {
        let now = ORIGIN + Duration::from_secs(500);
        let version = history.version(now);
        let moment_later = now + Duration::from_micros(1);
        let first = history.validators(&version, now, "");
        let again = history.validators(&version, moment_later, "");
        match history.etag() {
            Statement::Missing => assert_eq!(first.etag, None),
            Statement::True => assert_eq!(first.etag, again.etag),
            Statement::False => assert_ne!(first.etag, again.etag),
        }
        match history.last_modified() {
            Statement::Missing => assert_eq!(first.last_modified, None),
            Statement::True => assert_eq!(first.last_modified, Some(version.since.as_secs())),
            Statement::False => assert_eq!(first.last_modified, Some(now.as_secs())),
        }
        let Some(next) = history.since(version.number + 1) else { continue };
        let changed = history.validators(&history.version(next), next, "");
        if history.etag() != Statement::Missing {
            assert_ne!(first.etag, changed.etag);
            assert_ne!(first.etag, history.validators(&version, now, "gzip").etag);
            n_etags += 1;
        }
        if history.last_modified() == Statement::True {
            let is_same = first.last_modified == changed.last_modified;
            assert!(!is_same || !changed.is_date_exact, "{history:?}");
            n_dates += 1;
        }
    }
    assert!(n_etags > 500 && n_dates > 400, "{n_etags} {n_dates}");
}

#[test]
fn lastmod_is_missing_or_true_or_the_time_of_the_request() {
    let now = ORIGIN + Duration::from_secs(500);
    for history in histories(&varied()).iter().take(500) {
        let wanted = match history.lastmod {
            Statement::Missing => None,
            Statement::True => Some(history.version(now).since),
            Statement::False => Some(now),
        };
        assert_eq!(history.lastmod(now), wanted);
    }
}

fn place(id: u32, route: Route) -> Target {
    Target { host: crate::names::HostRef::new(id), route }
}

#[test]
fn html_pages_have_histories_and_nothing_else_has() {
    let spec = Spec::demo().changes(varied());
    let still = World::new(Spec { changes: None, ..spec.clone() });
    let world = World::new(spec);
    let mut n_pages = 0;
    for id in 0..world.names().len() {
        for page in 0..world.n_pages(id) + 1 {
            let at = place(id, Route::Page(page));
            let kind = world.kind(id, page);
            let other = PageKind::Binary == kind
                || matches!(kind, PageKind::Redirect(_) | PageKind::Status(_));
            let wanted = !other && world.exists(at) && world.has_links(id);
            assert_eq!(world.change_history(at).is_some(), wanted, "{}", world.url(at));
            assert_eq!(still.change_history(at), None);
            n_pages += u32::from(wanted);
        }
        for route in [Route::Robots, Route::SitemapIndex, Route::Sitemap(0), Route::Loop(0)] {
            assert_eq!(world.change_history(place(id, route)), None);
        }
    }
    assert!(n_pages > 1_000, "{n_pages}");
}

/// Otherwise pages could not be reached any more.
#[test]
fn pages_that_lead_to_others_never_become_gone() {
    let changes = Changes { gone_404: 0.5, gone_410: 0.5, ..between(1, 1) };
    let world = World::new(Spec::new(3).size(5, 1, 40).changes(changes));
    let gone = |id, page| world.change_history(place(id, Route::Page(page)))?.gone();
    for id in 0..5 {
        // The tree of 40 pages has 13 inner nodes.
        let pages: Vec<u32> = (0..40).filter(|&page| gone(id, page).is_some()).collect();
        assert_eq!(pages, (13..40).collect::<Vec<_>>());
    }
    let lonely = World::new(Spec::new(3).size(5, 1, 1).changes(changes));
    let first = lonely.change_history(place(0, Route::Page(0))).expect("a history");
    assert_eq!(first.gone(), None);
}

#[test]
fn specs_survive_json_and_without_changes_are_as_before() {
    let still = serde_json::to_string(&Spec::new(1)).expect("JSON");
    assert!(!still.contains("changes"), "{still}");
    let spec = Spec::new(1).changes(varied());
    let json = serde_json::to_string(&spec).expect("JSON");
    assert_eq!(serde_json::from_str::<Spec>(&json).expect("a spec"), spec);
    let short = r#"{"changes":{"never":0.5}}"#;
    let short: Spec = serde_json::from_str(short).expect("a spec");
    assert_eq!(short.changes, Some(Changes { never: 0.5, ..Changes::default() }));
}
