//! A thread that runs `dom_smoothie`.

use super::form::{ArticleForm, NoArticle};
use dom_smoothie::{Config, Readability, ReadabilityError, TextMode};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Maximum number of threads that are left behind at a time. Each of them may fill a processor and the
/// memory of one page.
const ABANDONED_MAX: usize = 4;
/// Stack of a thread in bytes, for functions that recurse into elements.
const STACK_BYTES: usize = 32 << 20;

/// Threads that did not end in time. A thread cannot be stopped from outside.
#[derive(Debug, Default)]
pub struct AbandonedWorkers(Arc<AtomicUsize>);

impl AbandonedWorkers {
    /// Starts a worker, unless too many are left behind.
    pub(super) fn start_worker(&self, form: ArticleForm) -> Result<Worker, NoArticle> {
        if self.0.load(SeqCst) >= ABANDONED_MAX {
            return Err(NoArticle::Busy);
        }
        Worker::start(form).ok_or(NoArticle::Busy)
    }
}

/// The markup of a page, and its URL.
type Job = (String, String);
type Article = Result<String, NoArticle>;

pub(super) struct Worker {
    jobs: SyncSender<Job>,
    articles: Receiver<Article>,
    /// Receives the counter in which the thread is counted once it is left behind.
    counter: SyncSender<Arc<AtomicUsize>>,
}

impl Worker {
    fn start(form: ArticleForm) -> Option<Self> {
        // One page at a time.
        let (jobs, pages) = sync_channel::<Job>(1);
        let (done, articles) = sync_channel(1);
        let (counter, counters) = sync_channel::<Arc<AtomicUsize>>(1);
        let run = move || {
            for (page, url) in pages {
                let article = catch_unwind(AssertUnwindSafe(|| read(page, &url, form)));
                if done.send(article.unwrap_or(Err(NoArticle::Failed))).is_err() {
                    break;
                }
            }
            if let Ok(counter) = counters.try_recv() {
                counter.fetch_sub(1, SeqCst);
            }
        };
        let builder = thread::Builder::new().name("article".to_owned()).stack_size(STACK_BYTES);
        builder.spawn(run).ok().map(|_| Self { jobs, articles, counter })
    }

    /// Returns the article of a page, or that there is none; an error if the worker cannot be used again.
    pub(super) fn article(
        &self,
        page: String,
        url: &str,
        time_max: Duration,
    ) -> Result<Article, NoArticle> {
        self.jobs.send((page, url.to_owned())).map_err(|_| NoArticle::Failed)?;
        self.articles.recv_timeout(time_max).map_err(|error| match error {
            RecvTimeoutError::Timeout => NoArticle::Time,
            RecvTimeoutError::Disconnected => NoArticle::Failed,
        })
    }

    /// Leaves the thread behind. It ends after its page.
    pub(super) fn abandon(self, abandoned: &AbandonedWorkers) {
        abandoned.0.fetch_add(1, SeqCst);
        if self.counter.send(abandoned.0.clone()).is_err() {
            // The thread has ended.
            abandoned.0.fetch_sub(1, SeqCst);
        }
    }
}

fn read(page: String, url: &str, form: ArticleForm) -> Article {
    let text_mode = match form {
        ArticleForm::Text => TextMode::Formatted,
        ArticleForm::Markdown => TextMode::Markdown,
    };
    // JSON-LD is read elsewhere.
    let config = Config { text_mode, disable_json_ld: true, ..Config::default() };
    let not_found = |_: ReadabilityError| NoArticle::NotFound;
    let mut readability = Readability::new(page, Some(url), Some(config)).map_err(not_found)?;
    let article = readability.parse().map_err(not_found)?;
    Ok(article.text_content.to_string())
}
