//! What only agents know, hosts, reasons, fetches and traces, is shown as they tell it, here by
//! agents that are made up: they know every question, but for one that is of an older version.

use super::browser::Browser;
use super::fake::{Fake, Kind, Life};
use super::looks::{FAULTS, PHONE, go, pictures};
use super::{alone, api, cells, cluster};
use crivello_proto::v1::control_server::ControlServer;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{FORMAT_VERSION, v1};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tonic::transport::server::{Server, TcpIncoming};

/// Has an agent join that lives for as long as the runtime does.
fn join(runtime: &Runtime, url: &str, (name, number, kind): (&str, u64, Kind), life: &Arc<Life>) {
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let mut client = CoordinatorClient::connect(url.to_owned()).await.expect("a connection");
        let join = v1::JoinRequest {
            format_version: FORMAT_VERSION,
            process: number,
            name: name.to_owned(),
            weight: 1,
            address,
            disk: number,
            ..v1::JoinRequest::default()
        };
        let joined = client.join(join).await.expect("it is let in").into_inner();
        if kind == Kind::Slow {
            let life = Arc::clone(life);
            tokio::spawn(async move { life.beat(client, (joined.id, number)).await });
        }
        let (name, life) = (name.to_owned(), Arc::clone(life));
        let fake = Fake { id: joined.id, crawl: joined.crawl_id, name, kind, life };
        let service = ControlServer::new(fake);
        let incoming = TcpIncoming::from(listener);
        tokio::spawn(Server::builder().add_service(service).serve_with_incoming(incoming));
    });
}

#[test]
fn what_agents_know_is_shown() {
    let _alone = alone();
    let Some(mut browser) = Browser::start() else { return };
    let mut cluster = cluster(1).set("cluster.lease=600s").start(0);
    let agents = Runtime::new().expect("a runtime");
    for agent in [("holder", 1, Kind::Holder), ("owner", 2, Kind::Owner), ("old", 3, Kind::Old)] {
        join(&agents, &cluster.url(), agent, &Arc::default());
    }
    let ours = format!("http://{}/", cluster.dashboard());
    browser.open(&ours);
    cluster.until("all are heard of", |_| browser.text("#agents-line").contains("3 heard"));
    cluster
        .until("its memory is shown", |_| browser.text("[data-agent='owner']").contains("1 MiB"));

    go(&browser, &mut cluster, "hosts");
    cluster.until("there are hosts", |_| browser.text("#hosts-list").contains("www.a.test"));
    assert!(browser.text("#hosts-list").contains("Without old"), "who is silent is not named");
    let _ = browser.eval(
        "{ const box = document.forms['hosts-form'].elements.contains; box.value = 'host7'; \
         box.dispatchEvent(new Event('input', { bubbles: true })); }",
    );
    cluster.until("others are not shown", |_| !browser.text("#hosts-list").contains("www.a.test"));
    assert!(browser.text("#hosts-list").contains("host7.shop.b.test"));
    let _ = browser.eval("document.forms['hosts-form'].elements.contains.value = ''");
    cluster.until("all are back", |_| browser.text("#hosts-list").contains("www.a.test"));
    browser.click("#hosts-list button.link");
    cluster.until("it is told why", |_| browser.text("#why").contains("Crawl-delay of robots.txt"));
    let story = browser.text("#why-body");
    for word in ["a.test (0000000000000abc)", "owner: authority", "https://www.a.test", "503"] {
        assert!(story.contains(word), "no {word:?}: {story}");
    }
    let _ = browser.eval(
        "{ const form = document.forms['why-form']; form.elements.text.value = '!'; form.requestSubmit(); }",
    );
    cluster.until("nonsense is refused", |_| browser.text("#why-body").contains("neither a host"));
    let _ = browser.eval(
        "{ const form = document.forms['why-form']; form.elements.text.value = 'https://www.a.test/x'; form.requestSubmit(); }",
    );
    cluster.until("a URL is told", |_| browser.text("#why-body").contains("not let in, robots"));
    let _ = browser.eval(
        "{ const form = document.forms['why-form']; form.elements.text.value = 'https://www.a.test/stored'; form.requestSubmit(); }",
    );
    cluster.until("its record is told", |_| {
        browser.text("#why-body").contains("holder, crivello-four.warc.gz at byte 77")
    });
    look(&browser, "hosts");

    go(&browser, &mut cluster, "errors");
    cluster.until("there are errors", |_| browser.text("#errors-body").contains("connect refused"));
    assert!(browser.text("#errors-body").contains("disallowed by robots.txt"));
    look(&browser, "errors");
    go(&browser, &mut cluster, "fetches");
    // As text, whatever stands in it.
    cluster.until("there are fetches", |_| {
        browser.text("#fetches-list").contains("https://www.a.test/<owner>")
    });
    look(&browser, "fetches");
    go(&browser, &mut cluster, "traces");
    cluster.until("there are traces", |_| browser.text("#traces-list").contains("/way"));
    let _ = browser.eval("document.querySelectorAll('.trace').forEach((t) => { t.open = true; })");
    assert_eq!(browser.eval("document.querySelectorAll('.trace').length"), 2);
    assert!(browser.text("#traces-list").contains("fetched · holder · error"));
    look(&browser, "traces");
    // That nonsense was refused is in the console, and nothing else.
    browser.forgive("400");
    browser.assert_quiet(&ours);
    browser.end();
}

#[test]
fn what_is_lost_with_an_agent_is_counted_while_somebody_waits() {
    let _alone = alone();
    let Some(mut browser) = Browser::start() else { return };
    let mut cluster = cluster(1).start(0);
    let (agents, life) = (Runtime::new().expect("a runtime"), Arc::<Life>::default());
    for agent in [("slow", 1, Kind::Slow), ("gone", 2, Kind::Holder)] {
        join(&agents, &cluster.url(), agent, &life);
    }
    let ours = format!("http://{}/", cluster.dashboard());
    browser.open(&ours);
    cluster.until("gone is dead", |cluster| {
        let dead = cells(&browser, "gone")["State"].as_str().is_some_and(|s| s.contains("dead"));
        let epoch = &api(cluster.dashboard(), "/api/cluster")["epoch"];
        dead && epoch.as_u64() == Some(life.epoch.load(Relaxed))
    });
    let remove = "[data-agent='gone'] [data-act='remove']";

    browser.click(remove);
    browser.click("#dialog-yes");
    cluster.until("it is counted", |_| {
        browser.text("#dialog-progress").starts_with("still counting, 2 s")
    });
    browser.click("#dialog-no");
    cluster.until("nobody waits for it", |_| life.counting.load(Relaxed) == 0);
    assert!(!cells(&browser, "gone").is_null(), "it was removed although that was cancelled");

    browser.click(remove);
    browser.click("#dialog-yes");
    cluster.until("it is counted anew", |_| browser.text("#dialog-progress").contains("counting"));
    life.finish.notify_one();
    cluster.until("it is told", |_| browser.text("#dialog-error").contains("3 pages are only in"));
    assert_eq!(browser.text("#dialog-progress"), "");
    let _ = browser.eval("document.querySelector('#dialog [name=lost]').value = 'give-up'");
    browser.click("#dialog-yes");
    cluster.until("it is gone", |_| cells(&browser, "gone").is_null());
    browser.assert_quiet(&ours);
    browser.end();
}

/// On a desk and on a phone.
fn look(browser: &Browser, view: &str) {
    for (size, name) in [(super::looks::DESK, "desk"), (PHONE, "phone")] {
        browser.resize(size, name == "phone");
        assert_eq!(browser.eval(FAULTS), "", "{view}, {name}");
        if let Some(dir) = pictures() {
            browser.picture(&dir.join(format!("{view}-{name}-told.png")), true);
            browser.resize(size, name == "phone");
        }
    }
    browser.resize(super::looks::DESK, false);
}
