use super::*;
use crate::changes::Changes;
use crate::names::HostRef;
use crate::route::Route;
use crate::spec::Spec;
use crate::world::Target;

const ORIGIN: Timestamp = Timestamp::from_secs(1_700_000_000);
const MINUTE: Duration = Duration::from_secs(60);

/// Returns a web whose pages change once a minute, and when its first page changes next after the
/// origin.
fn regular(changes: Changes) -> (World, Timestamp) {
    let changes = Changes {
        origin_us: ORIGIN.0,
        interval_min: MINUTE,
        interval_max: MINUTE,
        regular: 1.0,
        ..changes
    };
    let world = World::new(Spec::new(4).changes(changes));
    let first = history(&world, 0).since(1).expect("a change");
    (world, first)
}

fn history(world: &World, page: u32) -> ChangeHistory {
    world.change_history(place(page)).expect("a history")
}

fn place(page: u32) -> Target {
    Target { host: HostRef::new(0), route: Route::Page(page) }
}

/// Returns a complete request, with the version that was current.
fn visit(world: &World, page: u32, at: Timestamp, status: u16) -> Entry {
    let version = history(world, page).version(at).number;
    Entry {
        start: at.0,
        end: at.0,
        host: world.names().name(HostRef::new(0)).to_string(),
        port: 80,
        path: Route::Page(page).to_string(),
        status,
        complete: true,
        version: Some(version),
        conditional: status == 304,
        ..Entry::default()
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn only_page(report: &FreshnessReport) -> &PageFreshness {
    assert_eq!(report.pages.len(), 1);
    report.pages.values().next().expect("a page")
}

#[test]
fn a_copy_is_fresh_until_the_page_changes() {
    let (world, change) = regular(Changes::default());
    // Fresh for 20 of 50 seconds; not modified, and fresh for all 10; fresh for 30 of 100.
    let log = [
        visit(&world, 0, change + seconds(40), 200),
        visit(&world, 0, change + seconds(90), 200),
        visit(&world, 0, change + seconds(100), 304),
        visit(&world, 0, change + seconds(110), 200),
    ];
    let report = FreshnessReport::until(&world, &log, change + seconds(200));
    let page = only_page(&report);
    assert_eq!(page.observed, seconds(160));
    assert_eq!(page.fresh, seconds(20 + 10 + 10 + 10));
    assert_eq!(page.text_fresh, page.fresh);
    assert_eq!(page.gap_max, seconds(90));
    let versions: Vec<u64> = page.visits.iter().map(|visit| visit.version).collect();
    assert_eq!(versions, [1, 2, 2, 2]);
    assert_eq!((page.n_changes, page.n_changes_seen), (3, 1));
    assert_eq!((page.n_not_modified(), page.n_unchanged, page.n_visits()), (1, 1, 4));
    assert_eq!(report.fresh_share(), 50.0 / 160.0);
    assert_eq!(report.fresh_share_mean(), 50.0 / 160.0);
    let text = report.to_string();
    assert!(text.starts_with("1 pages, 4 visits: 1 not modified, 1 unchanged"), "{text}");
}

#[test]
fn the_end_is_that_of_the_last_request_and_the_order_does_not_matter() {
    let (world, change) = regular(Changes::default());
    let mut log = vec![
        visit(&world, 0, change + seconds(70), 200),
        visit(&world, 0, change + seconds(10), 200),
    ];
    log[0].end = (change + seconds(75)).0;
    let report = FreshnessReport::new(&world, &log);
    assert_eq!((only_page(&report).observed, only_page(&report).fresh), (seconds(65), seconds(55)));
    let earlier = FreshnessReport::until(&world, &log, change + seconds(20));
    assert_eq!(only_page(&earlier).observed, seconds(10));
    assert_eq!(only_page(&earlier).fresh_share(), 1.0);
}

#[test]
fn pages_weigh_by_time_in_the_share_and_equally_in_the_mean() {
    let (world, _) = regular(Changes { never: 1.0, regular: 0.0, ..Changes::default() });
    let world = World::new(Spec {
        changes: world.spec().changes.map(|c| Changes { regular: 0.5, never: 0.5, ..c }),
        ..world.spec().clone()
    });
    let of = |pattern| (0..10).find(|&page| history(&world, page).pattern() == pattern);
    let never = of(ChangePattern::Never).expect("a page that never changes");
    let regular = of(ChangePattern::Regular).expect("a page that changes");
    let change = history(&world, regular).since(2).expect("a change");
    let log = [
        visit(&world, never, change - seconds(300), 200),
        visit(&world, regular, change - seconds(30), 200),
    ];
    let report = FreshnessReport::until(&world, &log, change + seconds(70));
    assert_eq!(report.fresh_share(), (370.0 + 30.0) / (370.0 + 100.0));
    assert_eq!(report.fresh_share_mean(), (1.0 + 0.3) / 2.0);
    assert_eq!(report.of_pattern(ChangePattern::Regular).fresh_share(), 0.3);
    assert_eq!(report.gap_max(), seconds(370));
    assert_eq!(report.count(|page| page.n_changes), 2);
}

#[test]
fn changes_of_boilerplate_leave_the_main_text_fresh() {
    let (world, change) = regular(Changes { boilerplate: 1.0, ..Changes::default() });
    let log = [visit(&world, 0, change + seconds(45), 200)];
    let report = FreshnessReport::until(&world, &log, change + seconds(105));
    assert_eq!((report.fresh_share(), report.text_fresh_share()), (0.25, 1.0));
}

#[test]
fn a_visitor_that_knows_that_a_page_is_gone_is_up_to_date() {
    let (world, _) =
        regular(Changes { gone_410: 1.0, gone_within: seconds(600), ..Changes::default() });
    let (gone_at, status) = history(&world, 9).gone().expect("a page that becomes gone");
    assert_eq!(status, 410);
    let before = history(&world, 9).version(gone_at - Duration::from_micros(1)).since;
    let log = [visit(&world, 9, before, 200), visit(&world, 9, gone_at + seconds(10), 410)];
    let report = FreshnessReport::until(&world, &log, gone_at + seconds(1_000));
    let page = only_page(&report);
    assert_eq!(page.fresh, gone_at.since(before) + seconds(990));
    assert_eq!((page.n_changes, page.n_changes_seen, page.n_unchanged), (1, 1, 0));
    assert!(page.is_known_gone());
    assert_eq!(report.gap_max(), Duration::ZERO);
}

#[test]
fn other_requests_do_not_count() {
    let (world, change) = regular(Changes::default());
    let good = visit(&world, 0, change, 200);
    let log = [
        Entry { complete: false, ..good.clone() },
        Entry { version: None, status: 503, ..good.clone() },
        Entry { host: "elsewhere.test".to_owned(), ..good.clone() },
        Entry { path: "/robots.txt".to_owned(), version: None, ..good.clone() },
    ];
    assert_eq!(FreshnessReport::new(&world, &log), FreshnessReport::default());
    let still = World::new(Spec { changes: None, ..world.spec().clone() });
    assert_eq!(FreshnessReport::new(&still, &[good]), FreshnessReport::default());
    let nothing = FreshnessReport::new(&world, &[]);
    assert_eq!((nothing.fresh_share(), nothing.fresh_share_mean()), (1.0, 1.0));
}
