//! The parser threads, for CPU work. Each receives results from the fetchers, processes them, and
//! sends them to the writer.

use crate::messages::{FetchOutcome, Fetched, Page, PageEnd, PayloadQuestion, WriterMsg};
use crate::process::duplicates::First;
use crate::process::near::NearClaim;
use crate::process::{Processed, ResponseProcessor};
use crate::shared::Shared;
use crate::shared::measurements::PayloadCounts;
use crate::url_tracing::{Span, Stage, TraceId};
use crivello_common::failure::Failure;
use crivello_common::hash::UrlKey;
use crivello_common::time::Timestamp;
use crossbeam::channel::{Receiver, Sender};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// Pause between two checks whether the crawl is over, while a parser waits for room.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// A page; its character set; and the claims by which other threads know it.
type PageParts = (Page, Option<&'static str>, (Option<First>, Option<NearClaim>));

/// One parser thread.
pub struct ParserThread {
    shared: Shared,
    results: Receiver<Box<Fetched>>,
    writer: Sender<WriterMsg>,
    processor: ResponseProcessor,
    /// Queue to the task that asks other agents for payloads; `None` if pages do not refer to their captures.
    questions: Option<mpsc::Sender<PayloadQuestion>>,
    /// The revision of the settings that the processor has.
    revision: u64,
}

impl ParserThread {
    /// Creates a thread with a processor of its own, which has the current settings.
    #[must_use]
    pub fn new(
        shared: Shared,
        results: Receiver<Box<Fetched>>,
        writer: Sender<WriterMsg>,
        processor: ResponseProcessor,
    ) -> Self {
        let revision = shared.live.revision();
        Self { shared, results, writer, processor, questions: None, revision }
    }

    /// Returns it with a queue to the task that asks other agents for payloads.
    #[must_use]
    pub fn asking(self, questions: Option<mpsc::Sender<PayloadQuestion>>) -> Self {
        Self { questions, ..self }
    }

    /// Runs until the fetchers or the writer have ended.
    pub fn run(mut self) {
        while let Ok(mut fetched) = self.results.recv() {
            if let Some(questions) = &self.questions {
                match ask(questions, &self.processor, &self.shared.measured.payloads, fetched) {
                    Some(back) => fetched = back,
                    None => continue,
                }
            }
            while !self.shared.pipeline.wait_for_room(CHECK_EVERY)
                && !self.shared.lifecycle.is_over()
            {}
            self.apply_settings();
            let body = fetched.body_len();
            let trace = self.trace(&fetched);
            let began = self.shared.clock.now();
            self.shared.measured.parser_wait.observe(began.since(fetched.at + fetched.took));
            let is_response = matches!(fetched.outcome, FetchOutcome::Response(_));
            let (page, charset, (first, near)) = self.page(*fetched, ResponseProcessor::process);
            if is_response {
                self.shared.measured.parse.observe(self.shared.clock.now().since(began));
            }
            if let Some(trace) = trace {
                self.record_span(trace, &page, charset, began);
            }
            self.shared.pipeline.parsed(body, page.held_bytes());
            self.shared.status.results.fetch_add(1, Relaxed);
            if self.writer.send(WriterMsg::Page(Box::new(page))).is_err() {
                return;
            }
            if let Some(first) = first {
                first.handed_over();
            }
            if let Some(mut near) = near {
                near.handed_over();
            }
        }
    }

    /// Applies new settings, before the next page.
    fn apply_settings(&mut self) {
        let live = &self.shared.live;
        if live.revision() != self.revision {
            let latest = live.latest();
            self.revision = latest.revision;
            self.processor.reconfigure(&latest.live);
        }
    }

    /// Returns the page of a result. A panic is a bug of the processor that this page triggers: the
    /// page counts as failed, and the crawl continues.
    fn page(
        &mut self,
        fetched: Fetched,
        process: impl FnOnce(&mut ResponseProcessor, &Fetched) -> Processed,
    ) -> PageParts {
        let processed = catch_unwind(AssertUnwindSafe(|| process(&mut self.processor, &fetched)));
        let processed = processed.unwrap_or_else(|_| {
            let trace_id = self.trace(&fetched).map(|trace| trace.to_string());
            let url = fetched.url.as_str();
            tracing::error!(url, trace_id, "a parser panicked on a page: this is a bug");
            // The panic may have left the processor's buffers in any state.
            self.processor.reconfigure(&self.shared.live.latest().live);
            Processed::without_response(PageEnd::Failed(Failure::Unreadable))
        });
        let Processed {
            end,
            records,
            links,
            signals,
            discards,
            charset,
            original,
            revisit_data,
            first,
            near,
            ..
        } = processed;
        let page = Page {
            host: fetched.host,
            name: fetched.name,
            row: fetched.row,
            at: fetched.at,
            took: fetched.took,
            end,
            records,
            links,
            signals,
            discards,
            traced: fetched.traced,
            original,
            fingerprint: near.as_ref().map(|near| near.fingerprint),
            revisit_data,
        };
        (page, charset, (first, near))
    }

    /// Returns the trace of a result that is traced.
    fn trace(&self, fetched: &Fetched) -> Option<TraceId> {
        let url = fetched.traced?;
        Some(self.shared.tracer.trace(UrlKey { group: fetched.host.group, url }))
    }

    /// Records the span of a processed page.
    fn record_span(
        &self,
        trace: TraceId,
        page: &Page,
        charset: Option<&'static str>,
        began: Timestamp,
    ) {
        if !matches!(page.end, PageEnd::Response { .. }) {
            return;
        }
        let (parent, times) =
            (trace.span(Stage::Fetched, page.at.0), (began, self.shared.clock.now()));
        self.shared.tracer.record(
            Span::new(trace, (Stage::Parsed, page.at.0), Some(parent), times)
                .with("crivello.links", page.links.len() as u64)
                .with("crivello.links.refused", page.discards.iter().map(|(_, n)| n).sum::<u64>())
                .with("crivello.charset", charset.unwrap_or("none")),
        );
    }
}

/// Looks up the payload of a result, and sends the result to the task that asks other agents for it, if one may have it.
/// That sends it back. Returns it if nobody is asked.
fn ask(
    questions: &mpsc::Sender<PayloadQuestion>,
    processor: &ResponseProcessor,
    counts: &PayloadCounts,
    mut fetched: Box<Fetched>,
) -> Option<Box<Fetched>> {
    let holders = processor.look_up(&mut fetched);
    if holders.is_empty() {
        return Some(fetched);
    }
    let question = PayloadQuestion { fetched, holders };
    let Err(TrySendError::Full(question) | TrySendError::Closed(question)) =
        questions.try_send(question)
    else {
        return None;
    };
    counts.failed.fetch_add(1, Relaxed);
    Some(question.fetched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crate::messages::HandedOut;
    use crate::process::EarlierPages;
    use crate::process::duplicates::{Claim, Duplicates};
    use crate::process::links::LinkRules;
    use crate::process::near::NearIndex;
    use crate::storage::Database;
    use arc_swap::ArcSwap;
    use crivello_common::config::Settings;
    use crivello_common::discard::Discard;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::time::Clock;
    use crivello_common::url::CrawlUrl;
    use crossbeam::channel::bounded;
    use std::sync::Arc;

    #[test]
    fn a_page_that_makes_its_parser_panic_is_a_failure_and_the_next_one_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let disk = Database::open(dir.path(), true, &settings.fixed.state).unwrap();
        let hasher = KeyedHasher::with_public_key();
        let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher).unwrap();
        let rules = Arc::new(ArcSwap::from_pointee(rules));
        let disk = Arc::new(disk);
        let duplicates = Arc::new(Duplicates::new(disk.clone()));
        let near = Arc::new(NearIndex::open(disk, 4, dir.path().join("warc")).unwrap());
        let shared = Shared::new(
            &settings,
            Clock::start(),
            ("crawl", KeyedHasher::with_public_key()),
            Totals::default(),
            None,
        );
        let (_fetchers, results) = bounded(1);
        let (to_writer, _inbox) = bounded(1);
        let processor = ResponseProcessor::new(
            shared.settings.clone(),
            &settings.live,
            KeyedHasher::with_public_key(),
            rules,
            EarlierPages { duplicates: duplicates.clone(), near },
        );
        let mut parser = ParserThread::new(shared, results, to_writer, processor);
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let fetched = || Fetched {
            host: KeyedHasher::with_public_key().host_key(url.host()),
            name: url.host().into(),
            row: None,
            url: url.clone(),
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            at: Timestamp::from_secs(5),
            took: Duration::ZERO,
            outcome: FetchOutcome::Discarded(Discard::Robots),
            handed_out: HandedOut::default(),
            signals: None,
            traced: None,
            payload: None,
        };
        let (page, ..) = parser.page(fetched(), |_, fetched| {
            let claim = duplicates.claim([7; 16], fetched.at, fetched.url.as_str());
            assert!(matches!(claim, Ok(Claim::First(_))), "expected the first claim");
            panic!("simulated bug");
        });
        assert_eq!(page.end, PageEnd::Failed(Failure::Unreadable));
        let next = duplicates.claim([7; 16], Timestamp::from_secs(6), "http://b.test/");
        assert!(
            matches!(next, Ok(Claim::First(_))),
            "the claim of a page that was not archived was kept"
        );
        let (page, ..) = parser.page(fetched(), ResponseProcessor::process);
        assert_eq!(page.end, PageEnd::Discarded(Discard::Robots));
    }
}
