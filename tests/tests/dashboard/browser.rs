//! A headless Chromium, and what it saw and said.

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

/// For one thing that the browser is asked.
const PATIENCE: Duration = Duration::from_secs(30);
/// Questions while it goes from one page to the next,
const TRIES: u32 = 50;
/// and between two of them.
const PAUSE: Duration = Duration::from_millis(100);
const PROGRAMS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

type PeerEvent = Arc<Mutex<Vec<String>>>;

/// See the module.
pub struct Browser {
    runtime: Runtime,
    chromium: Chromium,
    page: Page,
    /// What went wrong, as its console has it.
    wrong: PeerEvent,
    /// All it asked for.
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
    /// Starts it; `None`, said aloud, where there is none.
    pub fn start() -> Option<Self> {
        let Some(program) = program() else {
            let why = "no Chromium: `apt-get install chromium` brings one";
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
        self.within(url, self.page.goto(url)).expect("it is shown");
    }

    /// What an expression is.
    pub fn eval(&self, script: &str) -> Value {
        let mut tries = 0;
        let result = loop {
            match self.within(script, self.page.evaluate_expression(script)) {
                Ok(result) => break result,
                // One page has gone, and the next is not there yet.
                Err(error) if tries < TRIES && error.to_string().contains("context") => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(error) => panic!("{script}: {error}"),
            }
        };
        result.value().cloned().unwrap_or(Value::Null)
    }

    /// The text of an element as it is shown; empty where there is none.
    pub fn text(&self, selector: &str) -> String {
        let script = format!("document.querySelector({selector:?})?.textContent.trim() ?? ''");
        self.eval(&script).as_str().unwrap_or_default().to_owned()
    }

    /// Clicks with the mouse, where the element is.
    pub fn click(&self, selector: &str) {
        let clicked = self.within(selector, async {
            self.page.find_element(selector).await?.click().await.map(drop)
        });
        clicked.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Types over what stands in a field.
    pub fn write(&self, selector: &str, text: &str) {
        let _ = self.eval(&format!("document.querySelector({selector:?}).select()"));
        let written = self.within(selector, async {
            self.page.find_element(selector).await?.focus().await?.type_str(text).await.map(drop)
        });
        written.unwrap_or_else(|error| panic!("{selector}: {error}"));
        let shown = self.eval(&format!("document.querySelector({selector:?}).value"));
        assert_eq!(shown, text, "{selector}");
    }

    /// Makes the window as large as that of some device, light or dark.
    pub fn resize(&self, (width, height): (i64, i64), dark: bool) {
        let metrics = SetDeviceMetricsOverrideParams::new(width, height, 1.0, width < 600);
        self.within("resize", self.page.execute(metrics)).expect("it has a size");
        let scheme = if dark { "dark" } else { "light" };
        let scheme = MediaFeature::new("prefers-color-scheme", scheme);
        let media = SetEmulatedMediaParams::builder().feature(scheme).build();
        self.within("media", self.page.execute(media)).expect("it has a scheme");
    }

    /// Saves a picture of what is seen, or of all of the page.
    pub fn picture(&self, path: &Path, whole: bool) {
        let params = ScreenshotParams::builder()
            .format(CaptureScreenshotFormat::Png)
            .full_page(whole)
            .build();
        self.within("picture", self.page.save_screenshot(params, path)).expect("a picture");
    }

    /// What holds this word was expected to go wrong.
    pub fn forgive(&self, word: &str) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.retain(|said| !said.contains(word));
    }

    /// Nothing was said that is an error, and nothing was asked of anybody else than `ours`.
    pub fn assert_quiet(&self, ours: &str) {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            asked.iter().any(|url| url.ends_with("/api/events")),
            "nothing was heard: {asked:?}"
        );
        let strange = asked.iter().filter(|url| !url.starts_with(ours));
        let strange: Vec<_> = strange.filter(|url| !url.starts_with("about:")).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }

    /// Ends it in order.
    pub fn end(mut self) {
        self.runtime.block_on(async {
            let _ = timeout(PATIENCE, self.chromium.close()).await;
            let _ = timeout(PATIENCE, self.chromium.wait()).await;
        });
    }
}

/// Keeps what the page says and asks for.
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
