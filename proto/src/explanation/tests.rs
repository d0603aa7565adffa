//! Tests of explanations as text and as JSON.

use super::*;
use crate::v1::wait::{self, Reason};
use crate::v1::{
    DueReason, DueStep, HostClass, RobotsFirst, RobotsNeed, RobotsRule, ScopeRule, Wait, url_status,
};
use crivello_common::view::{AgentId, View};
use serde_json::{Value, json};

const NOW: u64 = 1_795_176_000_000_000;
const SECOND: u64 = 1_000_000;

type Answers = Vec<(u32, Result<ExplainResponse, String>)>;

fn explanation(subject: &str, answers: &Answers) -> Explanation {
    let agent = |&(id, _): &(u32, _)| {
        let mut agent = View::of_one(["one", "two", "three"][id as usize]).agents.remove(0);
        agent.id = AgentId(id);
        agent
    };
    let agents: Vec<Agent> = answers.iter().map(agent).collect();
    let answers = agents.iter().zip(answers.iter().map(|(_, answer)| answer.clone()));
    Explanation::new(subject, false, answers)
}

fn text(subject: &str, answers: &Answers) -> (String, bool) {
    let explanation = explanation(subject, answers);
    (explanation.text(), explanation.known)
}

fn answer(agent: u32, holding: HoldKind) -> ExplainResponse {
    ExplainResponse {
        agent,
        now: NOW,
        group: 0x9f3a_0000_0000_0001,
        group_name: "example.com".to_owned(),
        owner: Some(1),
        holding: holding.into(),
        host: Some(HostStatus { name: "www.example.com".to_owned(), ..HostStatus::default() }),
        ..ExplainResponse::default()
    }
}

fn waiting() -> HostStatus {
    let fetch = |at, path: &str, status, failure: &str| FetchSummary {
        at: NOW - at * SECOND,
        url: format!("https://www.example.com{path}"),
        status,
        failure: failure.to_owned(),
        took_us: 210_000,
        bytes: 14 << 10,
        address: "192.0.2.7".to_owned(),
        agent: 1,
    };
    let delay = wait::Delay { delay_ms: 10_000, of_domain: false };
    HostStatus {
        name: "www.example.com".to_owned(),
        on_disk: true,
        in_memory: true,
        wait: Some(Wait {
            next: NOW + 3_200_000,
            reason: Some(Reason::Delay(delay)),
            ..Wait::default()
        }),
        address: "192.0.2.7".to_owned(),
        queued: 1_231,
        queued_in_memory: 100,
        requests: 61,
        pages: 57,
        failures: [("tls".to_owned(), 2)].into(),
        robots: vec![RobotsStatus {
            origin: "https://www.example.com".to_owned(),
            state: RobotsState::Rules.into(),
            fetched: NOW - 7_200 * SECOND,
            expires: NOW + 79_200 * SECOND,
            crawl_delay_ms: Some(5_000),
            ..RobotsStatus::default()
        }],
        fetches: vec![fetch(7, "/b.html", 200, ""), fetch(70, "/", 0, "tls")],
        ..HostStatus::default()
    }
}

fn page(fate: UrlFate) -> UrlStatus {
    UrlStatus { fate: fate.into(), depth: 3, ..UrlStatus::default() }
}

#[test]
fn later_visits_of_a_page_and_its_next_one_are_explained() {
    let recrawl = url_status::Recrawl {
        fetches: 6,
        visits: 5,
        changes: 2,
        changes_per_day: 0.251,
        due: NOW + 60 * SECOND,
        due_reason: DueReason::ChangeRate.into(),
        ..url_status::Recrawl::default()
    };
    let failing = url_status::Recrawl {
        failures: 3,
        gone: true,
        due_reason: DueReason::Failures.into(),
        ..recrawl
    };
    let never = url_status::Recrawl { due: 0, ..recrawl };
    let visits = "; 2 of 5 later visits found a change (about 0.25 a day)";
    let due = "; due 2026-11-20T12:01:00Z";
    for (recrawl, end) in [
        (recrawl, format!("{visits}{due} (by its weight and changes)")),
        (
            failing,
            format!(
                "{visits}; failed 3 times in a row (gone: 404 or 410){due} (recrawl.errors-interval)"
            ),
        ),
        (never, format!("{visits}; not fetched again")),
    ] {
        let url = UrlStatus { status: 200, recrawl: Some(recrawl), ..page(UrlFate::Fetched) };
        assert!(url.text().ends_with(&end), "{}", url.text());
    }
}

#[test]
fn a_queued_page_is_explained_in_plain_english() {
    let url = UrlStatus { ahead: Some(14), attempts: 1, ..page(UrlFate::Queued) };
    let two =
        ExplainResponse { host: Some(waiting()), url: Some(url), ..answer(1, HoldKind::Authority) };
    let answers = vec![
        (0, Err("does not answer".to_owned())),
        (1, Ok(two)),
        (2, Ok(answer(2, HoldKind::Replica))),
    ];
    let expected = "\
https://www.example.com/a.html
  group    example.com (9f3a000000000001), fetched by agent two (id 1), 1 replica at three
  URL      queued, depth 3, attempt 2, 14 before it in the queue
  host     www.example.com at 192.0.2.7, 1,231 queued (100 in memory), 57 pages of 61 requests
  next     in 3.2 s: the delay of 10 s after the last request (politeness.delay)
  robots   https://www.example.com: rules known, fetched 2 h ago, requested again in 22 h, Crawl-delay 5 s
  failures 2 tls in a row
  agent    one (id 0) does not answer
  last     11:59:53  200  /b.html  210 ms  14.0 KiB  192.0.2.7
           11:58:50  tls  /        210 ms            192.0.2.7
";
    assert_eq!(text("https://www.example.com/a.html", &answers), (expected.to_owned(), true));
}

#[test]
fn a_replica_explains_what_it_knows_if_the_owner_cannot_be_reached() {
    let replica = ExplainResponse { host: Some(waiting()), ..answer(2, HoldKind::Replica) };
    let answers = vec![(1, Err("does not answer".to_owned())), (2, Ok(replica))];
    let (text, is_known) = text("www.example.com", &answers);
    assert!(is_known);
    let line = "example.com (9f3a000000000001), fetched by agent two (id 1), which does not \
                answer; this is what the replica at agent three (id 2) knows\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn an_unknown_subject_is_explained_by_its_owner() {
    let mut owner = answer(1, HoldKind::None);
    owner.url = Some(page(UrlFate::Unknown));
    let answers = vec![(0, Ok(answer(0, HoldKind::None))), (1, Ok(owner))];
    let (text, is_known) = text("http://www.example.com/", &answers);
    assert!(!is_known);
    assert!(text.contains("owned by agent two (id 1), which has nothing of it"), "{text}");
    assert!(text.contains("  URL      never seen; as a seed it would be accepted\n"), "{text}");
    assert!(text.contains("  host     www.example.com, not known\n"), "{text}");
}

#[test]
fn an_archived_page_is_explained_with_the_place_of_its_record() {
    let url = UrlStatus {
        fetched: NOW,
        status: 200,
        archived_by: Some(2),
        file_serial: Some(4),
        offset: 1_234,
        near_duplicate: Some(url_status::NearDuplicate {
            url: "http://www.example.com/print".to_owned(),
            date: "2026-11-20T11:00:00Z".to_owned(),
            distance: 2,
        }),
        ..page(UrlFate::Fetched)
    };
    let text_with = |file, own: &str| {
        let url = Some(UrlStatus { file: own.to_owned(), ..url.clone() });
        let two = ExplainResponse { url, ..answer(1, HoldKind::Authority) };
        let three = Ok(answer(2, HoldKind::None));
        let mut it = explanation("http://www.example.com/", &vec![(1, Ok(two)), (2, three)]);
        it.archive_file = it.archive_file.or(file);
        it.text()
    };
    let name = explanation::ArchiveFile::FileName("crivello-x-4.warc.gz".to_owned());
    let text = text_with(Some(name), "");
    assert!(text.contains("fetched 2026-11-20T12:00:00Z with status 200, depth 3"), "{text}");
    let near = "depth 3, near-duplicate of http://www.example.com/print (2 bits differ)";
    assert!(text.contains(near), "{text}");
    let place = "  archive  agent three (id 2): warc/crivello-x-4.warc.gz, offset 1234";
    assert!(text.contains(place), "{text}");
    assert!(text_with(None, "own.warc.gz").contains("warc/own.warc.gz, offset 1234"));
    let dead = explanation::ArchiveFile::FileError("the agent is dead".to_owned());
    let text = text_with(Some(dead), "");
    assert!(text.contains("file 4 (its name is not known: the agent is dead)"), "{text}");
}

#[test]
fn every_fate_of_a_url_has_its_sentence() {
    let text = |url: UrlStatus| {
        let two = ExplainResponse { url: Some(url), ..answer(1, HoldKind::Authority) };
        text("http://www.example.com/", &vec![(1, Ok(two))]).0
    };
    let because =
        |fate, discard: &str, rule| UrlStatus { discard: discard.to_owned(), rule, ..page(fate) };
    let robots = |line, text: &str| {
        Some(url_status::Rule::RobotsRule(RobotsRule { line, text: text.to_owned() }))
    };
    let scope = |setting: &str, rules, number, text: &str| {
        let (setting, text) = (setting.to_owned(), text.to_owned());
        Some(url_status::Rule::ScopeRule(ScopeRule { setting, rules, number, text }))
    };
    let failed = UrlStatus { failure: "tls".to_owned(), ..page(UrlFate::Failed) };
    for (url, part) in [
        (
            because(UrlFate::Rejected, "out-of-scope", scope("links.exclude", 3, 2, "regex \"x\"")),
            "never seen; as a seed it would be rejected: not included, or excluded, by the links rules, rule 2 \
             of links.exclude matches: regex \"x\" (out-of-scope)",
        ),
        (
            because(UrlFate::Rejected, "out-of-scope", scope("links.include", 1, 1, "regex \"x\"")),
            "the rule of links.include does not match: regex \"x\"",
        ),
        (
            because(UrlFate::Rejected, "out-of-scope", scope("links.include", 3, 0, "")),
            "none of the 3 rules of links.include matches",
        ),
        (because(UrlFate::Rejected, "of-a-newer-build", None), "rejected: of-a-newer-build"),
        (
            because(UrlFate::Unknown, "robots", robots(2, "Disallow: /x")),
            "never seen; it will be discarded when its turn comes: disallowed by robots.txt, line 2: \
             Disallow: /x",
        ),
        (page(UrlFate::Queued), "too many before it in the queue to count"),
        (UrlStatus { ahead: Some(0), ..page(UrlFate::Queued) }, "the first in the queue"),
        (
            because(UrlFate::Queued, "robots", robots(0, "")),
            "to count; it will be discarded when its turn comes: disallowed by robots.txt, nothing \
             is allowed",
        ),
        (page(UrlFate::InFlight), "being fetched, depth 3"),
        (
            UrlStatus { status: 200, ..page(UrlFate::InFlight) },
            "fetched with status 200, not archived yet, depth 3",
        ),
        (failed, "given up: all attempts failed, the last with tls"),
        (
            because(UrlFate::Discarded, "robots", None),
            "discarded: disallowed by robots.txt (robots)",
        ),
        (page(UrlFate::LinksPending), "fetched and archived; it counts as queued until"),
        (UrlStatus { status: 200, ..page(UrlFate::LinksPending) }, "them (status 200), depth 3"),
        (page(UrlFate::Fetched), "not archived (pages.keep)"),
        (
            UrlStatus { archived_by: Some(2), ..page(UrlFate::Fetched) },
            "archive  agent 2, if pages.keep kept it",
        ),
        (page(UrlFate::Unspecified), "URL      not known"),
    ] {
        let text = text(url);
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

fn wait_text(reason: Reason) -> String {
    let wait = Wait { next: NOW + 3 * SECOND, reason: Some(reason), ..Wait::default() };
    let host = HostStatus { wait: Some(wait), pages: 57, ..waiting() };
    host.wait_text(Timestamp(NOW), |id| format!("agent {id}"))
}

#[test]
fn a_pause_is_the_reason_even_if_a_delay_still_runs() {
    let text = wait_text(Reason::CrawlPaused(wait::CrawlPaused {}));
    let expected = "the crawl is paused; `crivello resume` continues it (and not before 3 s have \
                    passed)";
    assert_eq!(text, expected);
    let reserved = wait_text(Reason::DomainReserved(wait::DomainReserved {}));
    assert!(reserved.starts_with("in 3 s: the last pages of its domain"), "{reserved}");
}

#[test]
fn reasons_with_missing_parameters_are_still_sentences() {
    for (reason, text) in [
        (
            Reason::UnknownHost(wait::UnknownHost { owner: Some(2) }),
            "agent 2 owns its group: ask it",
        ),
        (Reason::InFlight(wait::InFlight::default()), "a visit is in flight"),
        (
            Reason::OtherAgent(wait::OtherAgent::default()),
            "another agent fetches it (and not before 3 s have passed)",
        ),
        (
            Reason::RobotsUnreachable(wait::RobotsUnreachable::default()),
            "in 3 s: its robots.txt is unreachable: nothing is fetched without it",
        ),
        (
            Reason::CrawlDelay(wait::CrawlDelay { asked_ms: None, kept_ms: 7_000 }),
            "in 3 s: Crawl-delay: its robots.txt asked for 7 s between requests",
        ),
        (
            Reason::AddressQueue(wait::AddressQueue { address: "192.0.2.7".to_owned(), hosts: 1 }),
            "in 3 s: 1 other host at its address 192.0.2.7 comes first, one at a time \
             (politeness.ip-delay)",
        ),
        (Reason::Due(wait::Due::default()), "in 3 s: due for 0 s"),
    ] {
        assert_eq!(wait_text(reason), text);
    }
    assert_eq!(HostStatus::default().wait_text(Timestamp(NOW), |id| id.to_string()), "not known");
}

#[test]
fn the_json_of_an_explanation_has_names_and_readable_times() {
    let mut host = waiting();
    let due = wait::Due {
        step: DueStep::Memory.into(),
        hosts_in_memory: 7,
        host_class: HostClass::First.into(),
        visits_max: 9,
    };
    host.wait = Some(Wait {
        next: 0,
        robots_first: Some(RobotsFirst {
            origin: "https://www.example.com".to_owned(),
            need: RobotsNeed::Expired.into(),
        }),
        reason: Some(Reason::Due(due)),
        ..Wait::default()
    });
    let url = because_robots();
    let two =
        ExplainResponse { host: Some(host), url: Some(url), ..answer(1, HoldKind::Authority) };
    let answers = vec![(0, Err("does not answer".to_owned())), (1, Ok(two))];
    let value: Value = serde_json::to_value(explanation("https://a.test/x", &answers)).unwrap();
    assert_eq!((&value["source"], &value["known"]), (&json!(1), &json!(true)));
    assert_eq!(value["agents"][0], json!({ "id": 0, "name": "one", "error": "does not answer" }));
    let answer = &value["agents"][1]["answer"];
    assert_eq!(answer["now"], "2026-11-20T12:00:00.000000Z");
    assert_eq!(
        (&answer["group"], &answer["holding"]),
        (&json!("9f3a000000000001"), &json!("authority"))
    );
    let wait = json!({
        "next": null,
        "crawl_stopped": false,
        "robots_first": { "origin": "https://www.example.com", "need": "expired" },
        "reason": "due",
        "step": "memory",
        "hosts_in_memory": 7,
        "host_class": "first",
        "visits_max": 9,
    });
    assert_eq!(answer["host"]["wait"], wait);
    assert_eq!(answer["host"]["failures"], json!({ "tls": 2 }));
    assert_eq!(answer["url"]["fate"], "queued");
    assert_eq!(
        answer["url"]["rule"],
        json!({ "robots_rule": { "line": 2, "text": "Disallow: /" } })
    );
}

fn because_robots() -> UrlStatus {
    let rule = RobotsRule { line: 2, text: "Disallow: /".to_owned() };
    UrlStatus { rule: Some(url_status::Rule::RobotsRule(rule)), ..page(UrlFate::Queued) }
}
