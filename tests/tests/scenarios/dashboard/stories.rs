//! Display of data that only agents have: hosts, reasons, fetches and traces. The agents here are
//! fakes that answer every request, except one of an older version.

use super::browser::Browser;
use super::looks::{FAULTS, PHONE, go, pictures};
use super::{api, browser_permits, cells, cluster};
use fake_agent::{FakeKind, FakeState};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Joins fake agents that serve as long as the runtime and the set exist.
fn join(
    runtime: &Runtime,
    url: &str,
    agents: &[(&str, FakeKind)],
    state: &Arc<FakeState>,
) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for &(name, kind) in agents {
        runtime.block_on(fake_agent::join(&mut tasks, url, name, kind, state));
    }
    tasks
}

#[test]
fn what_agents_know_is_shown() {
    let _permits = browser_permits();
    let Some(mut browser) = Browser::start() else { return };
    let mut cluster = cluster(1).set("cluster.lease=600s").start(0);
    let runtime = Runtime::new().expect("a runtime");
    let kinds = [("holder", FakeKind::Holder), ("owner", FakeKind::Owner), ("old", FakeKind::Old)];
    let _agents = join(&runtime, &cluster.url(), &kinds, &Arc::default());
    let ours = format!("http://{}/", cluster.dashboard());
    browser.open(&ours);
    cluster.until("all agents respond", |_| browser.text("#agents-line").contains("3 responding"));
    cluster.until("the memory of an agent is shown", |_| {
        browser.text("[data-agent='owner']").contains("1 MiB")
    });

    go(&browser, &mut cluster, "hosts");
    cluster.until("hosts are listed", |_| browser.text("#hosts-list").contains("www.a.test"));
    assert!(
        browser.text("#hosts-list").contains("No data from old"),
        "the agent without data is not named"
    );
    let _ = browser.eval(
        "{ const box = document.forms['hosts-form'].elements.contains; box.value = 'host7'; \
         box.dispatchEvent(new Event('input', { bubbles: true })); }",
    );
    cluster.until("other hosts are filtered out", |_| {
        !browser.text("#hosts-list").contains("www.a.test")
    });
    assert!(browser.text("#hosts-list").contains("host7.shop.b.test"));
    let _ = browser.eval("document.forms['hosts-form'].elements.contains.value = ''");
    cluster.until("all hosts are listed again", |_| {
        browser.text("#hosts-list").contains("www.a.test")
    });
    browser.click("#hosts-list button.link");
    cluster.until("the host is explained", |_| {
        browser.text("#why").contains("Crawl-delay: its robots.txt asks for 7 s")
    });
    let story = browser.text("#why-body");
    for word in
        ["a.test (0000000000000abc)", "fetched by agent owner (id 2)", "https://www.a.test", "503"]
    {
        assert!(story.contains(word), "no {word:?}: {story}");
    }
    let _ = browser.eval(
        "{ const form = document.forms['why-form']; form.elements.text.value = '!'; form.requestSubmit(); }",
    );
    cluster.until("an invalid subject is rejected", |_| {
        browser.text("#why-body").contains("neither a host")
    });
    let _ = browser.eval(
        "{ const form = document.forms['why-form']; form.elements.text.value = 'https://www.a.test/x'; form.requestSubmit(); }",
    );
    cluster.until("a URL is explained", |_| {
        browser
            .text("#why-body")
            .contains("as a seed it would be rejected: disallowed by robots.txt (robots)")
    });
    let _ = browser.eval(
        "{ const form = document.forms['why-form']; form.elements.text.value = 'https://www.a.test/stored'; form.requestSubmit(); }",
    );
    cluster.until("the location of the record is shown", |_| {
        browser
            .text("#why-body")
            .contains("agent holder (id 1): warc/crivello-four.warc.gz, offset 77")
    });
    look(&browser, "hosts");

    go(&browser, &mut cluster, "errors");
    cluster
        .until("errors are listed", |_| browser.text("#errors-body").contains("connect refused"));
    assert!(browser.text("#errors-body").contains("disallowed by robots.txt"));
    look(&browser, "errors");
    go(&browser, &mut cluster, "fetches");
    // Markup in a URL is shown as text.
    cluster.until("fetches are listed", |_| {
        browser.text("#fetches-list").contains("https://www.a.test/<owner>")
    });
    look(&browser, "fetches");
    go(&browser, &mut cluster, "traces");
    cluster.until("traces are listed", |_| browser.text("#traces-list").contains("/way"));
    let _ = browser.eval("document.querySelectorAll('.trace').forEach((t) => { t.open = true; })");
    assert_eq!(browser.eval("document.querySelectorAll('.trace').length"), 2);
    assert!(browser.text("#traces-list").contains("fetched · holder · error"));
    look(&browser, "traces");

    go(&browser, &mut cluster, "search");
    let ask = |text: &str| {
        let _ = browser.eval(&format!(
            "{{ const form = document.forms['search-form']; form.elements.text.value = '{text}'; form.requestSubmit(); }}"
        ));
    };
    ask("sieve");
    cluster.until("pages are found", |_| browser.text("#search-note").starts_with("3 found"));
    assert!(browser.text("#search-note").contains("No data from old"));
    assert_eq!(browser.eval("document.querySelectorAll('#search-list mark').length"), 2);
    assert!(browser.text("#search-list").contains("The <b>sieve</b> lets"), "not as text");
    // Only http and https are links, and markup is text.
    let links = "[...document.querySelectorAll('#search-list h3 a')].map((a) => a.protocol).join()";
    assert_eq!(browser.eval(links), "https:,https:");
    assert_eq!(browser.eval("document.querySelectorAll('#search-list img').length"), 0);
    let page = "fetch(document.querySelector('#search-list a[href^=\"/api/page\"]').href).then((page) => \
                [page.status, page.headers.get('content-type'), page.headers.get('x-content-type-options'), \
                page.headers.get('content-security-policy')].join(' | '))";
    let wanted = "200 | text/plain; charset=utf-8 | nosniff | sandbox; default-src 'none'";
    assert_eq!(browser.eval(page), wanted);
    look(&browser, "search");
    ask("(");
    cluster.until("a wrong query is refused", |_| {
        browser.text("#search-note").contains("a parenthesis is open")
    });
    assert_ne!(browser.eval("document.title"), "attacked");
    // The console has an error for the refused subject, and one for the query.
    browser.forgive("400");
    browser.assert_quiet(&ours);
    browser.end();
}

#[test]
fn what_is_lost_with_an_agent_is_counted_while_somebody_waits() {
    let _permits = browser_permits();
    let Some(mut browser) = Browser::start() else { return };
    let mut cluster = cluster(1).start(0);
    let (runtime, state) = (Runtime::new().expect("a runtime"), Arc::<FakeState>::default());
    let kinds = [("slow", FakeKind::Slow), ("gone", FakeKind::Holder)];
    let _agents = join(&runtime, &cluster.url(), &kinds, &state);
    let ours = format!("http://{}/", cluster.dashboard());
    browser.open(&ours);
    cluster.until("gone is dead", |cluster| {
        let dead = cells(&browser, "gone")["State"].as_str().is_some_and(|s| s.contains("dead"));
        let epoch = &api(cluster.dashboard(), "/api/cluster")["epoch"];
        dead && epoch.as_u64() == Some(state.epoch.load(Relaxed))
    });
    let remove = "[data-agent='gone'] [data-act='remove']";

    browser.click(remove);
    browser.click("#dialog-yes");
    cluster.until("the progress of the count is shown", |_| {
        browser.text("#dialog-progress").starts_with("still counting, 2 s")
    });
    browser.click("#dialog-no");
    cluster.until("the count is cancelled", |_| state.counting.load(Relaxed) == 0);
    assert!(
        !cells(&browser, "gone").is_null(),
        "the agent was removed although the dialog was cancelled"
    );

    browser.click(remove);
    browser.click("#dialog-yes");
    cluster
        .until("the count starts again", |_| browser.text("#dialog-progress").contains("counting"));
    state.finish.notify_one();
    cluster.until("the result of the count is shown", |_| {
        browser.text("#dialog-error").contains("3 pages are only in")
    });
    assert_eq!(browser.text("#dialog-progress"), "");
    let _ = browser.eval("document.querySelector('#dialog [name=lost]').value = 'give-up'");
    browser.click("#dialog-yes");
    cluster.until("the agent is removed from the page", |_| cells(&browser, "gone").is_null());
    browser.assert_quiet(&ours);
    browser.end();
}

/// Checks a view on a desktop and on a phone.
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
