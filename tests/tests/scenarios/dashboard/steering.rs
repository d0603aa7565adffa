//! Control of the crawl from the dashboard. A setting that is changed by clicking and typing takes
//! effect, as the web confirms. With a token, nothing can be seen or changed without it.

use super::browser::Browser;
use super::looks::{FAULTS, go};
use super::{cluster, open, wait_until_running};
use crivello_tests::Cluster;
use crivello_tests::cluster::COORDINATOR;
use std::collections::BTreeMap;
use std::time::Duration;

/// Final interval between visits to a host, ten times the initial one.
const SLOW: Duration = Duration::from_millis(2_500);

/// Time after which the new interval is checked, when each visit that began before the change has
/// ended.
const SETTLED: Duration = Duration::from_secs(1);

/// Returns the shortest time between two requests to one host since `since`, in microseconds, and
/// the number of such pairs.
fn shortest_gap(cluster: &Cluster, since: u64) -> (Option<u64>, usize) {
    let mut hosts: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for entry in cluster.web.log().entries().into_iter().filter(|entry| entry.end > since) {
        hosts.entry(entry.host.clone()).or_default().push(entry);
    }
    let mut gaps = Vec::new();
    for entries in hosts.values_mut() {
        entries.sort_by_key(|entry| entry.start);
        gaps.extend(entries.windows(2).map(|two| two[1].start.saturating_sub(two[0].end)));
    }
    (gaps.iter().min().copied(), gaps.len())
}

#[test]
fn a_setting_is_changed_by_typing_and_is_in_force() {
    let opened = open(|| cluster(300).start(2));
    let Some((_permits, browser, mut cluster, ours)) = opened else { return };
    cluster.seed();
    cluster.wait_for_share(0.01);
    go(&browser, &mut cluster, "settings");
    let row = "[data-key='politeness.delay']";
    cluster.until("the delay is shown", |_| browser.text(row).contains("\"250ms\""));
    cluster.until("both agents use the settings", |_| {
        browser.text("#settings-force").contains("in force with 2 agents.")
    });

    // The dialog refuses an invalid value, and nothing changes.
    browser.click(&format!("{row} button"));
    cluster.until("the dialog is open", |_| {
        browser.text("#dialog-title") == "Change politeness.delay"
    });
    browser.write("#dialog [name='value']", "seven");
    browser.click("#dialog-yes");
    cluster.until("the input is rejected", |_| {
        browser.text("#dialog-error").contains("politeness.delay")
    });
    assert_eq!(browser.eval("document.getElementById('dialog').open"), true);
    browser.write("#dialog [name='value']", "2500ms");
    let delay = |cluster: &Cluster| cluster.run_ok(&["settings", "politeness.delay"]);
    assert_eq!(delay(&cluster), "\"250ms\"\n", "changed before the confirmation");
    browser.click("#dialog-yes");
    cluster.until("the setting is changed", |_| {
        browser.text("#settings-said").starts_with("politeness.delay: changed")
    });
    cluster.until("the dialog is closed", |_| {
        browser.eval("document.getElementById('dialog').open") == false
    });
    assert_eq!(delay(&cluster), "\"2500ms\"\n");
    cluster.until("the new delay is shown", |_| browser.text(row).contains("\"2500ms\""));
    let revision = browser.eval("document.getElementById('revision').textContent");
    let revision = revision.as_str().expect("a string").to_owned();
    cluster.until("both agents use the new settings", |_| {
        browser.text("#settings-force") == format!("Revision {revision} is in force with 2 agents.")
    });

    // The web's log confirms the change.
    let since = cluster.web.log().now() + SETTLED;
    cluster.until("hosts are visited again", |cluster| shortest_gap(cluster, since.0).1 >= 20);
    let (gap, _) = shortest_gap(&cluster, since.0);
    let gap = Duration::from_micros(gap.expect("several requests to a host"));
    assert!(gap >= SLOW, "{gap:?} between two requests to a host");
    assert_eq!(browser.eval(FAULTS), "");
    // The console has one error, for the refused value.
    browser.forgive("400");
    browser.assert_quiet(&ours);
    browser.end();
}

#[test]
fn a_reader_without_the_token_sees_and_changes_nothing() {
    let opened = open(|| cluster(3).with_certs(&["a"]).start(1));
    let Some((_permits, browser, mut cluster, ours)) = opened else { return };
    let login = format!("{ours}login");
    let here = |browser: &Browser| browser.eval("location.href").as_str().map(str::to_owned);
    assert_eq!(here(&browser), Some(login.clone()), "something is shown before the login");
    assert_eq!(browser.eval(FAULTS), "");

    // Without the token, every API request is refused, even from the dashboard's own origin.
    let try_to = |browser: &Browser, path: &str, body: &str| {
        browser.eval(&format!(
            "fetch('/api/{path}', {{ method: 'POST', headers: {{ 'content-type': \
             'application/json' }}, body: '{body}' }}).then((answer) => answer.status)"
        ))
    };
    let acts = [
        ("run", r#"{"run": "paused"}"#),
        ("drain", r#"{"agent": "a"}"#),
        ("remove", r#"{"agent": "a"}"#),
        ("block", r#"{"what": "a.example", "blocked": true}"#),
        ("settings", r#"{"edits": [{"key": "politeness.delay", "value": "1ms"}]}"#),
    ];
    for (path, body) in acts {
        assert_eq!(try_to(&browser, path, body), 401, "{path}");
    }
    for path in ["cluster", "hosts", "fetches", "settings", "events"] {
        let asked = format!("fetch('/api/{path}').then((answer) => answer.status)");
        assert_eq!(browser.eval(&asked), 401, "{path}");
    }

    // A wrong token is refused with a message.
    browser.write("[name='token']", "not-the-token-of-this-crawl");
    browser.click("#login button");
    cluster.until("the input is rejected", |_| browser.text("#said") == "wrong token");
    assert_eq!(here(&browser), Some(login), "the page left the login");
    assert_eq!(try_to(&browser, "run", r#"{"run": "paused"}"#), 401, "after a wrong token");
    let listing = cluster.listing();
    assert_eq!(
        (&listing["run"], listing["agents"].as_array().map(Vec::len)),
        (&"running".into(), Some(1))
    );
    assert_eq!(cluster.state("a").as_deref(), Some("active"));
    assert_eq!(cluster.run_ok(&["settings", "politeness.delay"]), "\"250ms\"\n");
    assert_eq!(cluster.run_ok(&["settings", "links.blocked"]), "[]\n");

    // With the correct token, the dashboard opens and commands work.
    let token = std::fs::read_to_string(cluster.certs().dir().join("token")).expect("a token");
    let token = token.lines().next().expect("a line").to_owned();
    browser.write("[name='token']", &token);
    browser.click("#login button");
    wait_until_running(&mut cluster, &browser);
    assert_eq!(here(&browser), Some(ours.clone()));
    assert_eq!(browser.eval("document.cookie"), "", "scripts can read the session cookie");
    browser.click("#pause");
    cluster.until("the dialog is open", |_| browser.text("#dialog-title") == "Pause the crawl?");
    browser.click("#dialog-yes");
    cluster.until("the crawl is paused", |_| browser.text("#run") == "paused");
    assert_eq!(cluster.listing()["run"], "paused");
    browser.forgive("401");
    browser.assert_quiet(&ours);
    assert!(!cluster.log_of(COORDINATOR).contains(&token), "the token is in the log");
    browser.end();
}
