//! A headless Chromium, with its console and requests.

use chromiumoxide::browser::{Browser as Chromium, BrowserConfig};
use chromiumoxide::cdp::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use chromiumoxide::cdp::browser_protocol::emulation::{MediaFeature, SetEmulatedMediaParams};
use chromiumoxide::cdp::browser_protocol::log::{EventEntryAdded, LogEntryLevel};
use chromiumoxide::cdp::browser_protocol::network::EventRequestWillBeSent;
use chromiumoxide::cdp::browser_protocol::page::CaptureScreenshotFormat;
use chromiumoxide::cdp::js_protocol::runtime::{EventConsoleApiCalled, EventExceptionThrown};
use chromiumoxide::page::{Page, ScreenshotParams};
use crivello_tests::skipped_unless_allowed;
use futures_util::StreamExt;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Time limit of one request to the browser.
const PATIENCE: Duration = Duration::from_secs(30);
/// Number of attempts while the browser navigates.
const TRIES: u32 = 50;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
const PROGRAMS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

type PeerEvent = Arc<Mutex<Vec<String>>>;

/// A browser with one page.
pub struct Browser {
    runtime: Runtime,
    chromium: Chromium,
    page: Page,
    /// Errors and warnings of the console.
    wrong: PeerEvent,
    /// All URLs that the browser requested.
    asked: PeerEvent,
    _profile: TempDir,
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = PROGRAMS.iter().flat_map(|name| places.iter().map(move |place| place.join(name)));
    named.into_iter().find(|path| path.is_file())
}

fn add(list: &PeerEvent, what: String) {
    list.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

impl Browser {
    /// Starts a browser. Returns `None` and reports a skipped test if none is installed.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            let why = "no Chromium: install it with `apt-get install chromium`";
            skipped_unless_allowed("CRIVELLO_TEST_NO_BROWSER", why);
            return None;
        };
        let profile = tempfile::tempdir().expect("a directory");
        let config = BrowserConfig::builder()
            .chrome_executable(program)
            .user_data_dir(profile.path())
            .no_sandbox()
            .new_headless_mode()
            .viewport(None)
            .window_size(1280, 900)
            .launch_timeout(2 * PATIENCE)
            .request_timeout(PATIENCE)
            .args(["disable-gpu", "disable-dev-shm-usage", "no-first-run"])
            .build()
            .expect("a configuration");
        let runtime = Runtime::new().expect("a runtime");
        let (wrong, asked) = (PeerEvent::default(), PeerEvent::default());
        let (chromium, page) = runtime.block_on(async {
            let (chromium, mut handler) = Chromium::launch(config).await.expect("Chromium starts");
            tokio::spawn(async move { while handler.next().await.is_some() {} });
            let page = chromium.new_page("about:blank").await.expect("a page");
            listen(&page, &wrong, &asked).await;
            (chromium, page)
        });
        Some(Self { runtime, chromium, page, wrong, asked, _profile: profile })
    }

    fn within<T>(&self, what: &str, asked: impl Future<Output = T>) -> T {
        let answered = self.runtime.block_on(async { timeout(PATIENCE, asked).await });
        answered.unwrap_or_else(|_| panic!("{what}: the browser does not answer"))
    }

    /// Opens a page.
    pub fn open(&mut self, url: &str) {
        self.within(url, self.page.goto(url)).expect("the page loads");
    }

    /// Evaluates an expression.
    pub fn eval(&self, script: &str) -> Value {
        let mut tries = 0;
        let result = loop {
            match self.within(script, self.page.evaluate_expression(script)) {
                Ok(result) => break result,
                // The old page is gone and the next one has not loaded yet.
                Err(error) if tries < TRIES && error.to_string().contains("context") => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => panic!("{script}: {error}"),
            }
        };
        result.value().cloned().unwrap_or(Value::Null)
    }

    /// Returns the text of an element; empty if there is none.
    pub fn text(&self, selector: &str) -> String {
        let script = format!("document.querySelector({selector:?})?.textContent.trim() ?? ''");
        self.eval(&script).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks on an element with the mouse.
    pub fn click(&self, selector: &str) {
        let clicked = self.within(selector, async {
            self.page.find_element(selector).await?.click().await.map(drop)
        });
        clicked.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Replaces the text of a field by typing.
    pub fn write(&self, selector: &str, text: &str) {
        let _ = self.eval(&format!("document.querySelector({selector:?}).select()"));
        let written = self.within(selector, async {
            self.page.find_element(selector).await?.focus().await?.type_str(text).await.map(drop)
        });
        written.unwrap_or_else(|error| panic!("{selector}: {error}"));
        let shown = self.eval(&format!("document.querySelector({selector:?}).value"));
        assert_eq!(shown, text, "{selector}");
    }

    /// Sets the window size and the color scheme.
    pub fn resize(&self, (width, height): (i64, i64), dark: bool) {
        let metrics = SetDeviceMetricsOverrideParams::new(width, height, 1.0, width < 600);
        self.within("resize", self.page.execute(metrics)).expect("the window size is set");
        let scheme = if dark { "dark" } else { "light" };
        let scheme = MediaFeature::new("prefers-color-scheme", scheme);
        let media = SetEmulatedMediaParams::builder().feature(scheme).build();
        self.within("media", self.page.execute(media)).expect("the color scheme is set");
    }

    /// Saves a screenshot of the viewport or of the whole page.
    pub fn picture(&self, path: &Path, whole: bool) {
        let params = ScreenshotParams::builder()
            .format(CaptureScreenshotFormat::Png)
            .full_page(whole)
            .build();
        self.within("picture", self.page.save_screenshot(params, path)).expect("a picture");
    }

    /// Removes expected errors that contain this text.
    pub fn forgive(&self, word: &str) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.retain(|said| !said.contains(word));
    }

    /// Checks that there were no errors, and no requests to anything but `ours`.
    pub fn assert_quiet(&self, ours: &str) {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            asked.iter().any(|url| url.ends_with("/api/events")),
            "the page did not request /api/events: {asked:?}"
        );
        drop(asked);
        self.assert_only_requests(ours);
    }

    /// Checks that there were requests to `ours`, and to nothing else.
    pub fn assert_only_requests(&self, ours: &str) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(asked.iter().any(|url| url.starts_with(ours)), "no request: {asked:?}");
        let strange = asked.iter().filter(|url| !url.starts_with(ours));
        let strange: Vec<_> = strange.filter(|url| !url.starts_with("about:")).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }

    /// Closes the browser.
    pub fn end(mut self) {
        self.runtime.block_on(async {
            let _ = timeout(PATIENCE, self.chromium.close()).await;
            let _ = timeout(PATIENCE, self.chromium.wait()).await;
        });
    }
}

/// Records errors, warnings and requests of a page.
async fn listen(page: &Page, wrong: &PeerEvent, asked: &PeerEvent) {
    page.enable_log().await.expect("a log");
    page.enable_runtime().await.expect("a console");
    let mut thrown = page.event_listener::<EventExceptionThrown>().await.expect("exceptions");
    let mut called = page.event_listener::<EventConsoleApiCalled>().await.expect("a console");
    let mut logged = page.event_listener::<EventEntryAdded>().await.expect("a log");
    let mut sent = page.event_listener::<EventRequestWillBeSent>().await.expect("requests");
    let list = wrong.clone();
    tokio::spawn(async move {
        while let Some(event) = thrown.next().await {
            add(&list, format!("thrown: {:?}", event.exception_details));
        }
    });
    let list = wrong.clone();
    tokio::spawn(async move {
        while let Some(event) = called.next().await {
            let kind = event.r#type.as_ref();
            if kind == "error" || kind == "warning" {
                add(&list, format!("{kind}: {:?}", event.args));
            }
        }
    });
    let list = wrong.clone();
    tokio::spawn(async move {
        while let Some(event) = logged.next().await {
            if event.entry.level == LogEntryLevel::Error {
                add(&list, format!("{}: {:?}", event.entry.text, event.entry.url));
            }
        }
    });
    let list = asked.clone();
    tokio::spawn(async move {
        while let Some(event) = sent.next().await {
            add(&list, event.request.url.clone());
        }
    });
}
