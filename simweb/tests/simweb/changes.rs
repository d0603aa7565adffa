//! Pages that change, seen on the wire: validators and 304 over both versions of HTTP, and what the
//! log and the report on freshness say about it.

use crivello_common::time::Timestamp;
use reqwest::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use reqwest::{RequestBuilder, StatusCode, Version};
use simweb::{ChangePattern, Changes, Entry, FreshnessReport, PageFreshness, SimWeb, Spec};
use std::time::Duration;

const PATH: &str = "/s1/p1.html";

/// Returns pages that change so seldom that a test sees no change.
fn slow() -> Changes {
    let year = Duration::from_secs(365 * 86_400);
    Changes::between(year, 2 * year)
}

async fn start(changes: Changes) -> SimWeb {
    // Another test of this process may have installed the provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    SimWeb::start(Spec::new(3).tls(1.0).changes(changes)).await.expect("a web")
}

/// Sends a request and returns status, version, Content-Length, validators and body.
async fn send(
    request: RequestBuilder,
) -> (StatusCode, Version, Option<u64>, [Option<String>; 2], Vec<u8>) {
    let mut response = request.send().await.expect("an answer");
    let (status, version) = (response.status(), response.version());
    let header = |name| response.headers().get(name).map(|v| v.to_str().expect("text").to_owned());
    let length = header(reqwest::header::CONTENT_LENGTH).map(|l| l.parse().expect("a length"));
    let validators = [header(ETAG), header(LAST_MODIFIED)];
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.expect("a chunk") {
        body.extend_from_slice(&chunk);
    }
    (status, version, length, validators, body)
}

/// Panics unless the log has the versions that follow from the spec.
fn assert_versions(web: &SimWeb, log: &[Entry]) {
    for entry in log {
        let at = web.world().find(&entry.url()).expect("a place");
        let history = web.world().change_history(at);
        let version = history.map(|history| history.version(Timestamp(entry.start)).number);
        assert_eq!(entry.version, version, "{entry:?}");
    }
}

#[tokio::test]
async fn conditions_are_answered_with_304_over_both_versions_of_http() {
    let web = start(slow()).await;
    let url = format!("https://h0.site0.test:{}{PATH}", web.port());
    for (http2, version) in [(true, Version::HTTP_2), (false, Version::HTTP_11)] {
        let client = crate::tls::client(&web, http2);
        let (status, _, length, validators, body) = send(client.get(&url)).await;
        assert_eq!((status, length), (StatusCode::OK, Some(body.len() as u64)));
        let [etag, date] = validators.clone().map(|value| value.expect("a validator"));
        for (name, value) in [(IF_NONE_MATCH, &etag), (IF_MODIFIED_SINCE, &date)] {
            let (status, over, length, again, body) =
                send(client.get(&url).header(name, value)).await;
            assert_eq!((status, over, length), (StatusCode::NOT_MODIFIED, version, None));
            assert_eq!((again, body.len()), (validators.clone(), 0));
        }
        // The connection is still in order.
        let other = client.get(&url).header(IF_NONE_MATCH, "\"other\"");
        let (status, _, _, _, full) = send(other.header(IF_MODIFIED_SINCE, &date)).await;
        assert_eq!((status, full), (StatusCode::OK, body));
    }
    let log = web.log().entries();
    let seen: Vec<_> = log.iter().map(|e| (e.status, e.conditional, e.complete)).collect();
    let once = [(200, false, true), (304, true, true), (304, true, true), (200, true, true)];
    assert_eq!(seen, [once, once].concat());
    assert_eq!(log.iter().filter(|entry| entry.is_not_modified()).count(), 4);
    let connections: Vec<u64> = log.iter().map(|entry| entry.connection).collect();
    assert!(connections[..4].iter().all(|&connection| connection == connections[0]));
    assert_versions(&web, &log);
    let report = web.freshness();
    let page = &report.pages[&url];
    assert_eq!((page.n_visits(), page.n_not_modified(), page.n_unchanged), (8, 4, 3));
    assert_eq!(report.fresh_share(), 1.0);
}

/// The versions that a visitor finds are those that follow from the spec of the running web and the
/// times in the log, whatever these times are.
#[tokio::test]
async fn the_log_and_the_spec_agree_on_versions() {
    let fast = Changes::between(Duration::from_millis(1), Duration::from_millis(200));
    let web = start(fast.with_variety()).await;
    assert!(web.spec().changes.expect("changes").origin_us > 0);
    let client = crate::tls::client(&web, false);
    let mut etags = vec![None; 10];
    for _ in 0..12 {
        for (page, etag) in (0..10).zip(&mut etags) {
            let path = simweb::route::Route::Page(page);
            let url = format!("https://h0.site0.test:{}{path}", web.port());
            let request = client.get(url);
            let request = match etag.take() {
                Some(etag) => request.header(IF_NONE_MATCH, etag),
                None => request,
            };
            let (_, _, _, validators, _) = send(request).await;
            *etag = validators[0].clone();
        }
    }
    let log = web.log().entries();
    assert_versions(&web, &log);
    assert_eq!(log.len(), 120);
    // Another process has only the spec and the log.
    let spec = serde_json::to_string(web.spec()).expect("JSON");
    let spec: Spec = serde_json::from_str(&spec).expect("a spec");
    let report = FreshnessReport::new(&simweb::world::World::new(spec), &log);
    assert_eq!(report, web.freshness());
    assert_eq!(report.count(PageFreshness::n_visits), 120);
    let seen = report.count(|page| page.n_changes_seen);
    assert!(seen > 0 && seen <= report.count(|page| page.n_changes), "{report}");
    let still = report.of_pattern(ChangePattern::Never).pages;
    assert!(still.values().all(|page| page.history.gone().is_some() || page.n_changes == 0));
}

#[tokio::test]
async fn an_origin_in_the_spec_is_kept() {
    let web = start(Changes { origin_us: 1_700_000_000_000_000, ..slow() }).await;
    assert_eq!(web.spec().changes.expect("changes").origin(), Timestamp::from_secs(1_700_000_000));
}
