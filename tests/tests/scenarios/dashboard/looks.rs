//! Appearance and accessibility of the dashboard: on a desktop and on a phone, light and dark.
//!
//! `CRIVELLO_TEST_PICTURES=DIR` saves screenshots of all views, including those of README.md.

use super::browser::Browser;
use super::{cluster, open, wait_until_running};
use crivello_tests::Cluster;
use std::path::PathBuf;

const VIEWS: [&str; 7] = ["overview", "hosts", "errors", "fetches", "traces", "search", "settings"];
pub const DESK: (i64, i64) = (1280, 900);
pub const PHONE: (i64, i64) = (375, 812);

/// Script that returns the accessibility faults of the current page. Its rules are those that axe
/// calls serious.
pub const FAULTS: &str = r#"(() => {
  const faults = [];
  const shown = (e) => e.getClientRects().length > 0;
  const name = (e) => (e.getAttribute('aria-label') || e.innerText || e.title || e.labels?.[0]?.innerText || '').trim();
  if (!document.documentElement.lang) faults.push('no language');
  if (!document.title) faults.push('no title');
  if (document.querySelectorAll('main').length !== 1) faults.push('not one main');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one h1');
  for (const e of document.querySelectorAll('input, select, textarea')) {
    if (!e.labels?.length && !e.getAttribute('aria-label')) faults.push(`no label: ${e.outerHTML}`);
  }
  for (const e of document.querySelectorAll('button, a[href]')) {
    if (shown(e) && !name(e)) faults.push(`no name: ${e.outerHTML}`);
  }
  for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) faults.push('no alt');
  for (const e of document.querySelectorAll('svg[role=img]')) {
    if (shown(e) && !e.getAttribute('aria-label')) faults.push(`a picture without words: ${e.outerHTML.slice(0, 80)}`);
  }
  for (const e of document.querySelectorAll('table')) {
    if (!e.caption || !e.querySelector('th[scope=col]')) faults.push(`a table without heads: ${e.outerHTML.slice(0, 80)}`);
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  if (twice.length) faults.push(`ids given twice: ${twice}`);
  for (const e of document.querySelectorAll('[aria-labelledby], [aria-describedby]')) {
    const id = e.getAttribute('aria-labelledby') || e.getAttribute('aria-describedby');
    if (!document.getElementById(id)) faults.push(`named by nothing: ${id}`);
  }
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) {
    const over = [...document.querySelectorAll('main *')].filter((e) => shown(e) && e.getBoundingClientRect().right > innerWidth + 1);
    faults.push(`${wide} px too wide: ${over.slice(0, 3).map((e) => e.outerHTML.slice(0, 90))}`);
  }
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map((c) => {
      const part = c / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!/^rgba\(.*, 0\)$/.test(color)) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !shown(e) || e.closest('.hidden, :disabled, noscript')) continue;
    const pair = [getComputedStyle(e).color, ground(e)];
    if (pair.some((color) => !color.startsWith('rgb')) || seen.has(pair.join())) continue;
    seen.add(pair.join());
    const [a, b] = pair.map(light).sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)} of ${pair}: ${e.outerHTML.slice(0, 80)}`);
  }
  return faults.join('\n');
})()"#;

/// Returns the directory for screenshots, if one is set.
pub fn pictures() -> Option<PathBuf> {
    std::env::var_os("CRIVELLO_TEST_PICTURES").map(PathBuf::from)
}

/// Opens a view.
pub fn go(browser: &Browser, cluster: &mut Cluster, view: &str) {
    let _ = browser.eval(&format!("location.hash = '/{view}'"));
    cluster.until("the view is shown", |_| {
        let script = format!(
            "!document.getElementById({view:?}).hidden && document.title.toLowerCase().startsWith({view:?})"
        );
        browser.eval(&script) == true
    });
}

#[test]
fn the_page_is_fit_for_everyone() {
    let opened = open(|| cluster(300).start(3));
    let Some((_permits, browser, mut cluster, ours)) = opened else { return };
    cluster.seed();
    cluster.wait_for_share(0.01);
    wait_until_running(&mut cluster, &browser);
    let pictures = pictures();
    for (size, width) in [(DESK, "desk"), (PHONE, "phone")] {
        for (dark, scheme) in [(false, "light"), (true, "dark")] {
            for view in VIEWS {
                browser.resize(size, dark);
                go(&browser, &mut cluster, view);
                // Waits for the data of the view.
                std::thread::sleep(std::time::Duration::from_millis(700));
                assert_eq!(browser.eval("innerWidth"), size.0, "the window has another size");
                let faults = browser.eval(FAULTS);
                assert_eq!(faults, "", "{view}, {width}, {scheme}");
                if let Some(dir) = &pictures {
                    browser.picture(&dir.join(format!("{view}-{width}-{scheme}.png")), true);
                }
            }
        }
    }
    if let Some(dir) = &pictures {
        let _ = browser.eval("location.hash = '/overview'");
        for (size, dark, name) in [(DESK, false, "light"), (PHONE, true, "phone-dark")] {
            browser.resize(size, dark);
            std::thread::sleep(std::time::Duration::from_millis(1_500));
            browser.picture(&dir.join(format!("dashboard-{name}.png")), size == DESK);
        }
    }
    browser.resize(DESK, false);

    // Without a mouse: a focused button can be activated, and focus moves into the dialog.
    let _ = browser.eval("location.hash = '/settings'");
    cluster
        .until("settings are shown", |_| !browser.text("[data-key='politeness.delay']").is_empty());
    assert!(browser.text("[data-key='politeness.delay'] td:nth-child(2)").contains("250ms"));
    let _ =
        browser.eval("document.querySelector('[data-key=\"politeness.delay\"] button').focus()");
    let _ = browser.eval("document.activeElement.click()");
    cluster.until("the dialog is open", |_| {
        browser.text("#dialog-title") == "Change politeness.delay"
    });
    assert_eq!(
        browser.eval("document.querySelector('#dialog').contains(document.activeElement)"),
        true
    );
    assert_eq!(browser.eval(FAULTS), "", "the dialog");
    browser.assert_quiet(&ours);
    browser.end();
}

/// A crawl that fetches pages again has two more numbers and one more chart.
#[test]
fn pages_that_are_fetched_again_are_shown() {
    let recrawl = ["policy=fixed", "interval=2s", "interval-min=1s", "sitemaps-interval=0s"];
    let start = || {
        let all = recrawl.iter().fold(cluster(3), |all, set| all.set(&format!("recrawl.{set}")));
        all.start(2)
    };
    let Some((_permits, browser, mut cluster, ours)) = open(start) else { return };
    wait_until_running(&mut cluster, &browser);
    cluster.seed();
    cluster.until("pages that are fetched again are shown", |_| {
        let shown = |id: &str| browser.eval(&format!("document.getElementById('{id}')?.innerText"));
        let fresh = shown("total-fresh");
        let again = shown("total-again").as_str().and_then(|n| n.parse::<u64>().ok());
        fresh.as_str().is_some_and(|text| text.ends_with('%')) && again.is_some_and(|n| n > 5)
    });
    assert_eq!(browser.eval("document.querySelectorAll('.chart').length"), 5);
    for (size, dark, name) in [(DESK, false, "desk"), (PHONE, true, "phone")] {
        browser.resize(size, dark);
        std::thread::sleep(std::time::Duration::from_millis(700));
        assert_eq!(browser.eval(FAULTS), "", "{name}");
        if let Some(dir) = pictures() {
            browser.picture(&dir.join(format!("recrawl-{name}.png")), size == DESK);
        }
    }
    browser.assert_quiet(&ours);
    browser.end();
    let _ = cluster.stop();
}
