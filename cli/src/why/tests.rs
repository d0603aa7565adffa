use super::*;
use crivello_common::view::AgentState;
use crivello_proto::v1::{FetchStory, HostStory, OriginRobots, UrlStory, WaitReason};

const NOW: u64 = 1_795_176_000_000_000;
const SECOND: u64 = 1_000_000;

fn view() -> View {
    let mut view = View::of_one("one");
    for name in ["two", "three"] {
        let mut agent = view.agents[0].clone();
        agent.name = name.to_owned();
        agent.id.0 = view.agents.len() as u32;
        agent.state = AgentState::Active;
        view.agents.push(agent);
    }
    view
}

fn answer(agent: u32, hold: HoldKind) -> WhyResponse {
    WhyResponse {
        agent,
        now: NOW,
        group: 0x9f3a_0000_0000_0001,
        group_name: "example.com".to_owned(),
        owner: Some(1),
        hold: hold.into(),
        host: Some(HostStory { name: "www.example.com".to_owned(), ..HostStory::default() }),
        ..WhyResponse::default()
    }
}

fn waiting() -> HostStory {
    let fetch = |at, path: &str, status, failure: &str| FetchStory {
        at: NOW - at * SECOND,
        url: format!("https://www.example.com{path}"),
        status,
        failure: failure.to_owned(),
        took_us: 210_000,
        bytes: 14 << 10,
        address: "192.0.2.7".to_owned(),
        agent: 1,
    };
    HostStory {
        name: "www.example.com".to_owned(),
        is_known: true,
        on_workbench: true,
        reason: WaitReason::Rule.into(),
        detail: "the delay of 10 s after the last request (politeness.delay)".to_owned(),
        next: NOW + 3_200_000,
        address: "192.0.2.7".to_owned(),
        queued: 1_231,
        in_window: 100,
        requests: 61,
        pages: 57,
        failures: [("tls".to_owned(), 2)].into_iter().collect(),
        robots: vec![OriginRobots {
            origin: "https://www.example.com".to_owned(),
            state: "rules known".to_owned(),
            fetched: NOW - 7_200 * SECOND,
            expires: NOW + 79_200 * SECOND,
            crawl_delay_ms: Some(5_000),
        }],
        fetches: vec![fetch(7, "/b.html", 200, ""), fetch(70, "/", 0, "tls")],
        ..HostStory::default()
    }
}

fn told(about: &str, known: &Known, file: Option<Result<String, String>>) -> (String, bool) {
    let (about, view) = (About::parse(about).unwrap(), view());
    let story = Story { about: &about, view: &view, known, file, is_at_rest: false };
    let json: serde_json::Value = serde_json::from_str(&story.json()).unwrap();
    assert_eq!(json["known"], story.is_known());
    (story.text(), story.is_known())
}

fn page(fate: UrlFate) -> UrlStory {
    UrlStory { fate: fate.into(), depth: 3, ..UrlStory::default() }
}

#[test]
fn a_page_that_waits_is_told_in_plain_words() {
    let url = UrlStory { ahead: Some(14), attempts: 1, ..page(UrlFate::Queued) };
    let two =
        WhyResponse { host: Some(waiting()), url: Some(url), ..answer(1, HoldKind::Authority) };
    let known = Known::from([
        (AgentId(0), Err("does not answer".to_owned())),
        (AgentId(1), Ok(two)),
        (AgentId(2), Ok(answer(2, HoldKind::Copy))),
    ]);
    let expected = "\
https://www.example.com/a.html
  agent two (id 1) has it: group example.com (9f3a000000000001), 1 copy at three
  URL      queued, depth 3, attempt 2, 14 before it in the queue
  host     www.example.com at 192.0.2.7, 1,231 queued (100 in memory), 57 pages of 61 requests
  next     in 3.2 s: the delay of 10 s after the last request (politeness.delay)
  robots   https://www.example.com: rules known, of 2 h ago, asked for anew in 22 h, Crawl-delay 5.0 s
  failures 2 tls in a row
  last     11:59:53  200  /b.html  210 ms  14.0 KiB  192.0.2.7
           11:58:50  tls  /        210 ms            192.0.2.7
  agent one (id 0) does not answer
";
    assert_eq!(told("https://www.example.com/a.html", &known, None), (expected.to_owned(), true));
}

#[test]
fn where_the_owner_cannot_be_reached_a_copy_tells_what_it_knows() {
    let copy = WhyResponse { host: Some(waiting()), ..answer(2, HoldKind::Copy) };
    let known =
        Known::from([(AgentId(1), Err("does not answer".to_owned())), (AgentId(2), Ok(copy))]);
    let (text, is_known) = told("www.example.com", &known, None);
    assert!(is_known);
    let line = "  agent two (id 1) has it, and does not answer; this is what the copy at agent \
                three (id 2) knows: group example.com (9f3a000000000001)\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn what_nobody_knows_is_said_with_whom_it_would_fall_to() {
    let mut owner = answer(1, HoldKind::None);
    owner.url = Some(page(UrlFate::Unknown));
    let known = Known::from([(AgentId(0), Ok(answer(0, HoldKind::None))), (AgentId(1), Ok(owner))]);
    let (text, is_known) = told("http://www.example.com/", &known, None);
    assert!(!is_known);
    assert!(text.contains("agent two (id 1) owns it, and has nothing of it"), "{text}");
    assert!(text.contains("  URL      never seen; it would be let in\n"), "{text}");
    assert!(text.contains("  host     www.example.com, of which nothing is known\n"), "{text}");
}

#[test]
fn a_page_that_is_archived_is_told_with_its_record_wherever_it_is() {
    let url = UrlStory {
        fetched: NOW,
        status: 200,
        archived_by: Some(2),
        file_serial: Some(4),
        offset: 1_234,
        ..page(UrlFate::Fetched)
    };
    let told_with = |file, own: &str| {
        let url = Some(UrlStory { file: own.to_owned(), ..url.clone() });
        let two = WhyResponse { url, ..answer(1, HoldKind::Authority) };
        told("http://www.example.com/", &Known::from([(AgentId(1), Ok(two))]), file).0
    };
    let text = told_with(Some(Ok("crivello-x-4.warc.gz".to_owned())), "");
    assert!(text.contains("fetched 2026-11-20T12:00:00Z with status 200, depth 3"), "{text}");
    assert!(text.contains("  archive  of agent three: warc/crivello-x-4.warc.gz, offset 1234"));
    assert!(told_with(None, "own.warc.gz").contains("warc/own.warc.gz, offset 1234"));
    let lost = told_with(Some(Err("the agent is dead".to_owned())), "");
    assert!(lost.contains("file 4 (what it is called is not known: the agent is dead)"), "{lost}");
}

#[test]
fn every_fate_of_a_url_has_words_of_its_own() {
    let words = |url: UrlStory| {
        let two = WhyResponse { url: Some(url), ..answer(1, HoldKind::Authority) };
        told("http://www.example.com/", &Known::from([(AgentId(1), Ok(two))]), None).0
    };
    let because = |fate, reason: &str, meaning: &str| UrlStory {
        reason: reason.to_owned(),
        meaning: meaning.to_owned(),
        ..page(fate)
    };
    for (url, part) in [
        (
            because(UrlFate::NotLetIn, "out-of-scope", "excluded"),
            "would not be let in: excluded (out-of-scope)",
        ),
        (
            because(UrlFate::Unknown, "robots", "it would be set aside"),
            "never seen; it would be set aside",
        ),
        (page(UrlFate::Queued), "more before it in the queue than are counted"),
        (UrlStory { ahead: Some(0), ..page(UrlFate::Queued) }, "the first in the queue"),
        (
            because(UrlFate::Queued, "robots", "robots.txt has it set aside"),
            "than are counted; robots.txt has it set aside",
        ),
        (page(UrlFate::InFlight), "being fetched, depth 3"),
        (because(UrlFate::Failed, "tls", "all attempts"), "given up: tls: all attempts"),
        (because(UrlFate::Discarded, "robots", "disallowed"), "set aside: disallowed (robots)"),
        (because(UrlFate::Unsettled, "", "fetched and archived"), "fetched and archived"),
        (page(UrlFate::Fetched), "it was not archived"),
    ] {
        let text = words(url);
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn a_pause_is_the_reason_even_where_a_delay_still_runs() {
    let mut host = waiting();
    host.reason = WaitReason::Paused.into();
    host.detail = "the crawl is paused".to_owned();
    let two = WhyResponse { host: Some(host), ..answer(1, HoldKind::Authority) };
    let (text, _) = told("www.example.com", &Known::from([(AgentId(1), Ok(two))]), None);
    assert!(
        text.contains("next     the crawl is paused (and not before 3.2 s have passed)"),
        "{text}"
    );
}
