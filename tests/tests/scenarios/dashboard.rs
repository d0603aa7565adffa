//! The dashboard in a real browser (headless Chromium). Its numbers are those of the API; a killed
//! agent is shown as dead; what keeps the crawl open is shown; clicking drains an agent; typing
//! changes a setting; nothing is accessible without the token; and a lost coordinator is shown as
//! lost. It loads nothing from elsewhere, and works on a phone, without a mouse, and with a screen
//! reader.

pub mod browser;
mod looks;
mod steering;
mod stories;

use browser::Browser;
use crivello_tests::cluster::COORDINATOR;
use crivello_tests::{Cluster, Load, Permits, seed};
use looks::FAULTS;
use serde_json::Value;
use simweb::{PageKind, Robots, Spec};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use test_size::sized;

const LEASE: Duration = Duration::from_secs(3);

/// Returns a cluster and a web with this many pages on each of thirty hosts.
fn cluster(pages: u32) -> Cluster {
    let web = Spec::new(seed())
        .size(30, 1, pages)
        .ips(15)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.05, PageKind::Status(404));
    Cluster::new(web)
        .delays(Duration::from_millis(250), Duration::from_millis(40))
        .set(&format!("cluster.lease={}s", LEASE.as_secs()))
        .with_dashboard()
}

/// Waits for the permits of a cluster and a browser.
fn browser_permits() -> Permits {
    Permits::take(sized(Load::Half, Load::All))
}

/// Opens the dashboard of a new cluster in a browser, and returns both with the dashboard's URL.
/// Returns `None` if there is no browser.
fn open(start: impl FnOnce() -> Cluster) -> Option<(Permits, Browser, Cluster, String)> {
    let permits = browser_permits();
    let mut browser = Browser::start()?;
    let cluster = start();
    let ours = format!("http://{}/", cluster.dashboard());
    browser.open(&ours);
    Some((permits, browser, cluster, ours))
}

fn wait_until_running(cluster: &mut Cluster, browser: &Browser) {
    cluster.until("the page shows the state of the crawl", |_| browser.text("#run") == "running");
}

/// Returns an answer of the API.
fn api(at: SocketAddr, path: &str) -> Value {
    let mut stream = TcpStream::connect(at).expect("the dashboard listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("the dashboard reads the request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("a response");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(body).expect("JSON")
}

/// Formats a number like the page.
fn grouped(n: &Value) -> String {
    let digits = n.as_u64().expect("a number").to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the cells of an agent's row, by their headings.
fn cells(browser: &Browser, name: &str) -> Value {
    let script = format!(
        "(() => {{ const row = document.querySelector('[data-agent=\"{name}\"]'); \
         return row && Object.fromEntries([...row.cells].map((c) => [c.dataset.label, c.innerText])); }})()"
    );
    browser.eval(&script)
}

/// Waits until the page and the API have the same numbers. Both change during the crawl.
fn assert_same_numbers(cluster: &mut Cluster, browser: &Browser) {
    let at = cluster.dashboard();
    let mut last = String::new();
    let mut tries = 0;
    cluster.until("page and API show the same numbers", |_| {
        let api = api(at, "/api/cluster");
        let totals = &api["totals"];
        let mut wrong = Vec::new();
        for (id, key) in [
            ("pages", "pages"),
            ("queued", "urls_queued"),
            ("errors", "errors"),
            ("agents", "agents_active"),
        ] {
            let (shown, told) = (browser.text(&format!("#total-{id}")), grouped(&totals[key]));
            if shown != told {
                wrong.push(format!("{id}: page {shown}, API {told}"));
            }
        }
        for agent in api["agents"].as_array().expect("a list") {
            let shown = cells(browser, agent["name"].as_str().expect("a name"));
            for (label, key) in
                [("Pages", "pages"), ("Queued", "urls_queued"), ("Outbox", "outbox")]
            {
                let told = agent[key].as_u64().map_or("–".to_owned(), |_| grouped(&agent[key]));
                if shown[label] != told {
                    wrong.push(format!(
                        "{}: {label}: page {}, API {told}",
                        agent["name"], shown[label]
                    ));
                }
            }
        }
        last = wrong.join("\n");
        tries += 1;
        assert!(tries < 300, "{last}");
        wrong.is_empty()
    });
}

#[test]
fn the_page_shows_what_is_so() {
    let opened = open(|| cluster(30).start(3));
    let Some((_permits, browser, mut cluster, ours)) = opened else { return };
    let at = cluster.dashboard();
    wait_until_running(&mut cluster, &browser);
    cluster.seed();
    cluster.wait_for_share(0.2);
    assert_same_numbers(&mut cluster, &browser);

    // An agent dies.
    cluster.kill9("b");
    let killed = cluster.web.log().now();
    cluster.until("b is shown as dead", |_| {
        cells(&browser, "b")["State"].as_str().is_some_and(|state| state.contains("dead"))
    });
    let took = cluster.web.log().now().since(killed);
    // Detection takes the lease plus a check by the coordinator and an update of the page.
    assert!(took < LEASE + Duration::from_secs(4), "the page took {took:?}");
    assert!(browser.text("#events").contains("b is dead"), "{}", browser.text("#events"));
    assert!(
        browser.text("#announce").contains("b is dead"),
        "the death of b is not announced to screen readers"
    );

    // An agent is drained by clicking.
    browser.click("[data-agent='c'] [data-act='drain']");
    cluster.until("the dialog is open", |_| browser.text("#dialog-title") == "Drain c?");
    assert_eq!(cluster.state("c").as_deref(), Some("active"), "changed before the confirmation");
    browser.click("#dialog-yes");
    cluster.until("c has left", |cluster| cluster.process("c").has_ended());
    assert_eq!(cluster.end("c").status.code(), Some(0), "{}", cluster.account());
    cluster.until("c is removed from the page", |_| cells(&browser, "c").is_null());
    assert!(browser.text("#events").contains("c handed over all groups and left"));

    // One agent is left, so each URL is on one disk.
    cluster.until("the page and the command say that agents are missing", |cluster| {
        let few = "on fewer disks than";
        browser.text("#obstacles").contains(few) && cluster.run_ok(&["status"]).contains(few)
    });
    assert_same_numbers(&mut cluster, &browser);
    browser.assert_quiet(&ours);

    // The coordinator is killed and restarted.
    cluster.kill9(COORDINATOR);
    cluster.until("the page shows that the coordinator does not respond", |_| {
        browser.text("#lost").contains("last update at")
    });
    assert!(browser.eval("document.body.classList.contains('lost')") == true);
    cluster.start_coordinator();
    assert_eq!(cluster.dashboard(), at, "the address of the dashboard changed");
    cluster.until("the page shows current numbers", |_| {
        browser.eval("document.getElementById('lost').hidden") == true
    });
    assert_same_numbers(&mut cluster, &browser);
    browser.end();
}

#[test]
fn a_frozen_coordinator_is_shown_as_lost() {
    let opened = open(|| cluster(30).start(1));
    let Some((_permits, browser, mut cluster, _)) = opened else { return };
    wait_until_running(&mut cluster, &browser);
    cluster.freeze(COORDINATOR);
    cluster.until("the page shows that the coordinator does not respond", |_| {
        browser.text("#lost").contains("last update at")
    });
    cluster.thaw(COORDINATOR);
    cluster.until("the page is connected again", |_| {
        browser.eval("document.getElementById('lost').hidden") == true
    });
    browser.end();
}

/// Without replicas, the crawl cannot end while a dead agent is a member. The page says so in the
/// words of `status`, until a person decides.
#[test]
fn what_keeps_the_crawl_open_is_shown() {
    let opened = open(|| cluster(30).set("cluster.replication=1").start(3));
    let Some((_permits, browser, mut cluster, ours)) = opened else { return };
    let is_shown = |browser: &Browser| {
        browser.eval("document.getElementById('obstacles').getClientRects().length > 0") == true
    };
    wait_until_running(&mut cluster, &browser);
    cluster.seed();
    cluster.wait_for_share(0.1);
    cluster.until("no obstacle is shown", |_| !is_shown(&browser));
    for (killed, dead) in [("b", "b are dead"), ("c", "b, c are dead")] {
        cluster.kill9(killed);
        cluster.delete_disk(killed);
        cluster.until("the page shows what `status` says", |cluster| {
            let status = cluster.run_ok(&["status", "--json"]);
            let status: Value = serde_json::from_str(&status).expect("JSON");
            let obstacles = status["obstacles"].as_array().expect("a list").iter();
            let told: Vec<Value> = obstacles.map(|obstacle| obstacle["text"].clone()).collect();
            let shown = browser.eval(
                "[...document.querySelectorAll('#obstacles li')].map((item) => item.textContent)",
            );
            let text = browser.text("#obstacles");
            let is_said = [dead, "crivello remove b --force"].iter().all(|s| text.contains(s));
            is_said && is_shown(&browser) && shown == Value::Array(told)
        });
    }
    assert_eq!(browser.eval(FAULTS), "");
    for name in ["b", "c"] {
        cluster.until("it is removed", |cluster| {
            let (code, _, _) = cluster.ask(&["remove", name, "--force", "--give-up"]);
            code == Some(0)
        });
    }
    cluster.until("the obstacle is gone", |_| !is_shown(&browser));
    assert_eq!(browser.text("#obstacles"), "");
    browser.assert_quiet(&ours);
    browser.end();
}
