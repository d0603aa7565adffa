//! Traces of single URLs through the cluster: one trace, from the page with the link, on one agent,
//! to the archive of another.
//!
//! Possible failures: a trace is split between two agents; a parent span is missing; times are out
//! of order; a lost collector stops the crawl; a failure is not traced because its URL was not
//! sampled; a log line cannot be matched with its trace.

use crivello_proto::auth::BearerToken;
use crivello_proto::v1::control_client::ControlClient;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::v1::{TicketScope, TicketsRequest, TracesRequest};
use crivello_tests::collector::Seen;
use crivello_tests::{Cluster, Collector, Scene, seed};
use serde_json::Value;
use simweb::{Character, Manner, Robots, SeedChoice, Spec};
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use tonic::transport::Endpoint;

const DELAY: Duration = Duration::from_millis(100);
const IP_DELAY: Duration = Duration::from_millis(20);

fn web() -> Spec {
    let spec = Spec::new(seed()).size(16, 1, 4).ips(16).links(10).seeds(SeedChoice::First(3));
    spec.latency_ms(0, 10).robots(Robots::standard())
}

fn cluster(collector: &Collector) -> Cluster {
    Cluster::new(web())
        .delays(DELAY, IP_DELAY)
        .set("telemetry.trace-rate=1")
        .set("fetch.visits-max=4")
        .set("state.commit-interval=50ms")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
}

/// Groups spans by trace.
fn traces(spans: Vec<Seen>) -> BTreeMap<Vec<u8>, Vec<Seen>> {
    let mut traces: BTreeMap<Vec<u8>, Vec<Seen>> = BTreeMap::new();
    for seen in spans {
        traces.entry(seen.span.trace_id.clone()).or_default().push(seen);
    }
    traces
}

/// Returns the only span of a stage.
#[track_caller]
fn the<'a>(trace: &'a [Seen], stage: &str) -> &'a Seen {
    let mut of_stage = trace.iter().filter(|seen| seen.span.name == stage);
    let the = of_stage.next().unwrap_or_else(|| panic!("no {stage} in {trace:#?}"));
    assert!(of_stage.next().is_none(), "{stage} twice in {trace:#?}");
    the
}

/// Returns the span in which the sieve let the URL through.
fn sieved(trace: &[Seen]) -> Option<&Seen> {
    let new = |seen: &&Seen| seen.span.name == "sieved" && seen.attribute("crivello.new") == "true";
    let mut new = trace.iter().filter(new);
    let first = new.next();
    assert!(new.next().is_none(), "passed the sieve twice: {trace:#?}");
    first
}

fn parent<'a>(trace: &'a [Seen], of: &Seen) -> Option<&'a Seen> {
    trace.iter().find(|seen| seen.span.span_id == of.span.parent_span_id)
}

/// Checks the trace of a URL that its owner fetched.
fn check(cluster: &Cluster, trace: &[Seen], new: &Seen) {
    let owner = &new.by;
    let stages =
        ["sieved", "waited", "fetched", "parsed", "stored", "assigned"].map(|stage| match stage {
            "sieved" => new,
            stage => the(trace, stage),
        });
    for [before, after] in stages.array_windows() {
        assert_eq!(before.span.span_id, after.span.parent_span_id, "{trace:#?}");
        assert_eq!((&before.by, owner), (&after.by, owner));
        let (before, after) = (&before.span, &after.span);
        assert!(before.start_time_unix_nano <= after.start_time_unix_nano, "{trace:#?}");
    }
    let [_, waited, fetched, parsed, stored, assigned] = stages;
    let resolved = the(trace, "resolved");
    assert_eq!(resolved.span.parent_span_id, waited.span.span_id);
    assert!(waited.span.end_time_unix_nano <= fetched.span.start_time_unix_nano);
    assert!(fetched.span.end_time_unix_nano <= parsed.span.start_time_unix_nano);
    assert!(parsed.span.end_time_unix_nano <= stored.span.end_time_unix_nano);
    assert_eq!(waited.attribute("crivello.since"), "sieved");
    assert!(!waited.attribute("crivello.reason").is_empty());
    assert_eq!(fetched.attribute("http.response.status_code"), "200");
    assert_eq!(fetched.attribute("url.full"), new.attribute("url.full"));
    let file = cluster.disk(owner).join("warc").join(stored.attribute("crivello.archive.file"));
    assert!(file.is_file(), "{}", file.display());
    let owners = assigned.attribute("crivello.owners").split_whitespace();
    let links = owners.filter_map(|owner| owner.split_once(':')?.1.parse::<u64>().ok());
    assert_eq!(links.sum::<u64>().to_string(), assigned.attribute("crivello.links"));
    for seen in trace {
        assert!(seen.span.start_time_unix_nano <= seen.span.end_time_unix_nano, "{seen:?}");
    }
}

#[test]
fn one_trace_shows_a_url_found_by_one_agent_and_fetched_by_another() {
    let collector = Collector::start();
    let mut cluster = cluster(&collector).start(2);
    cluster.seed();
    cluster.wait();
    let kept = asked(&mut cluster, "a");
    let _ = cluster.stop();
    let _ = cluster.assert_clean(0);

    let (mut n_pages, mut n_crossed) = (0, 0);
    let traces = traces(collector.spans());
    for trace in traces.values() {
        let urls: HashSet<&str> = trace
            .iter()
            .map(|seen| seen.attribute("url.full"))
            .filter(|url| !url.is_empty())
            .collect();
        assert_eq!(urls.len(), 1, "several URLs in one trace: {trace:#?}");
        let Some(new) = sieved(trace) else { continue };
        let is_page = trace.iter().any(|seen| seen.attribute("http.response.status_code") == "200");
        if !is_page {
            continue;
        }
        n_pages += 1;
        check(&cluster, trace, new);
        let before = parent(trace, new).unwrap_or_else(|| panic!("no parent span: {trace:#?}"));
        if before.span.name == "sent" {
            n_crossed += 1;
            let found = parent(trace, before).expect("the parent span `found`");
            assert_eq!((&found.by, found.span.name.as_str()), (&before.by, "found"));
            assert_ne!(before.by, new.by);
            assert!(found.span.parent_span_id.is_empty());
            assert!(found.span.end_time_unix_nano <= before.span.start_time_unix_nano);
            assert!(before.span.start_time_unix_nano <= new.span.start_time_unix_nano);
            assert!(new.span.end_time_unix_nano <= before.span.end_time_unix_nano);
            // The page with the link has its own trace.
            if let Some(link) = found.span.links.first() {
                let page = &traces[&link.trace_id];
                assert_eq!(
                    the(page, "fetched").attribute("url.full"),
                    found.attribute("crivello.page")
                );
                assert_eq!(link.span_id, the(page, "assigned").span.span_id);
            }
        }
    }
    assert!(n_pages >= cluster.due().len(), "{n_pages} of {}", cluster.due().len());
    // Their number depends on which of the 16 hosts each agent owns: the key of the crawl decides.
    assert!(n_crossed > 0, "none of {n_pages} URLs came from the other agent");
    for (id, names) in kept {
        let exported = traces.get(&id).unwrap_or_else(|| panic!("{id:?} was not exported"));
        for name in names {
            assert!(exported.iter().any(|s| s.by == "a" && s.span.name == name), "{name}");
        }
    }
}

/// Returns the traces that an agent itself keeps, by their ids, from its API.
fn asked(cluster: &mut Cluster, name: &str) -> BTreeMap<Vec<u8>, Vec<String>> {
    let at = cluster.process(name).listening_address().expect("the server accepts connections");
    let listing = cluster.listing();
    let agents = listing["agents"].as_array().expect("a list");
    let agent = agents.iter().find(|agent| agent["name"] == name).expect("a member");
    let id = agent["id"].as_u64().expect("an id") as u32;
    let url = cluster.url();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let mut coordinator = CoordinatorClient::connect(url).await.expect("a coordinator");
        let read = TicketsRequest { scope: TicketScope::Read.into() };
        let tickets = coordinator.tickets(read).await.expect("tickets").into_inner().tickets;
        let ticket = tickets.iter().find(|ticket| ticket.agent == id).expect("a ticket");
        let channel = Endpoint::from_shared(format!("http://{at}")).expect("an address");
        let channel = channel.connect().await.expect("the control API accepts connections");
        let mut client = ControlClient::new(BearerToken::ticket(&ticket.ticket).wrap(channel));
        let all = TracesRequest { limit: 10_000, ..TracesRequest::default() };
        let spans = client.traces(all).await.expect("a response").into_inner().spans;
        assert!(spans.len() > 100, "{}", spans.len());
        let one = spans.iter().find(|span| span.name == "stored").expect("a span `stored`");
        let of_one = TracesRequest { trace_id: one.trace_id.clone(), limit: 0 };
        let of_one = client.traces(of_one).await.expect("a response").into_inner().spans;
        assert!(of_one.len() >= 6 && of_one.iter().all(|span| span.trace_id == one.trace_id));
        let mut kept: BTreeMap<Vec<u8>, Vec<String>> = BTreeMap::new();
        for span in spans {
            kept.entry(span.trace_id.to_vec()).or_default().push(span.name);
        }
        kept
    })
}

#[test]
fn a_collector_that_dies_takes_nothing_with_it() {
    let mut collector = Collector::start();
    let mut cluster = cluster(&collector)
        .allow_log_line("the trace collector accepts no spans")
        .start_until(2, 0.3);
    assert!(!collector.spans().is_empty());
    collector.kill();
    cluster.finish(0);
}

/// Returns a crawl by one agent in which no URL is sampled.
fn undrawn(spec: Spec, collector: &Collector) -> Scene {
    Scene::new(spec)
        .arg(format!("--otlp={}", collector.url()))
        .set("telemetry.trace-rate=0")
        .set("politeness.backoff-first=100ms")
        .arg("--delay=20ms")
        .arg("--ip-delay=0s")
}

#[test]
fn a_failed_fetch_is_traced_although_nothing_is_drawn_and_its_line_in_the_log_says_where() {
    let collector = Collector::start();
    let broken = Character::named("broken").manner(Manner::Reset).pages(2);
    let spec = Spec::new(seed()).size(4, 1, 5).ips(0).seeds(SeedChoice::Hosts);
    let spec = spec.robots(Robots::Status(404)).host("broken.test", broken);
    let scene = undrawn(spec, &collector).arg("--log=crivello=debug").arg("--log-format=json");
    let ended = scene.crawl().succeeded();

    let spans = collector.spans();
    let bad: Vec<&Seen> = spans.iter().filter(|s| s.span.name == "fetched").collect();
    assert!(!bad.is_empty());
    for seen in &bad {
        assert!(seen.is_error() && !seen.attribute("error.type").is_empty(), "{seen:?}");
        assert!(seen.attribute("url.full").contains("broken.test"), "{seen:?}");
    }
    assert!(spans.iter().all(|s| !["found", "sieved"].contains(&s.span.name.as_str())));

    let lines = ended.stderr.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> =
        lines.map(|line| serde_json::from_str(line).expect("a JSON object per line")).collect();
    for seen in bad {
        let id: String = seen.span.trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let said =
            lines.iter().any(|l| l["trace_id"] == *id && l["url"] == *seen.attribute("url.full"));
        assert!(said, "no line with {id}:\n{}", ended.stderr);
    }
}

#[test]
fn a_slow_visit_is_traced_although_nothing_is_drawn() {
    let collector = Collector::start();
    let spec = Spec::new(seed()).size(3, 1, 4).ips(0).seeds(SeedChoice::Hosts).latency_ms(120, 150);
    let _ = undrawn(spec, &collector).set("telemetry.trace-slow=60ms").crawl().succeeded();
    let traces = traces(collector.spans());
    let stages = |trace: &[Seen]| trace.iter().map(|s| s.span.name.clone()).collect::<HashSet<_>>();
    let whole = ["waited", "resolved", "fetched", "parsed", "stored", "assigned"];
    let n = traces.values().filter(|t| whole.iter().all(|&stage| stages(t).contains(stage)));
    assert!(n.count() >= 5, "{traces:#?}");
}
