//! The fetchers: an asynchronous runtime in which each visit is a task.

use super::scheduler::{Desk, Done};
use super::shared::Shared;
use crate::fetch::{self, Dns, FetchContext, Sink};
use crate::flow::{Fetched, Verdict};
use crossbeam::channel::Sender;
use std::sync::Arc;

/// Takes what the visits bring to the queues behind them.
pub struct Outlet {
    shared: Arc<Shared>,
    desk: Arc<Desk>,
    results: Sender<Box<Fetched>>,
}

impl Outlet {
    /// Between the visits and the queues.
    #[must_use]
    pub const fn new(shared: Arc<Shared>, desk: Arc<Desk>, results: Sender<Box<Fetched>>) -> Self {
        Self { shared, desk, results }
    }
}

impl Sink for Outlet {
    fn fetched(&self, fetched: Fetched) {
        let body = fetched.body_len();
        self.shared.pipeline.enter(body);
        // There is room for all that the visits in flight may bring; fails only once the parsers
        // have left because the crawl is over.
        if self.results.try_send(Box::new(fetched)).is_err() && !self.shared.is_over() {
            tracing::error!("the parsers' queue is full");
        }
    }

    fn verdict(&self, verdict: Verdict) {
        self.desk.hand_back(Done::Verdict(verdict));
    }

    fn has_room(&self) -> bool {
        self.shared.pipeline.has_room()
    }
}

/// Starts a task for each visit and each name, until the crawl is over.
pub async fn run(shared: Arc<Shared>, desk: Arc<Desk>, context: Arc<FetchContext>, dns: Arc<Dns>) {
    while !shared.is_over() {
        while let Some(visit) = desk.todo.pop() {
            tokio::spawn(fetch::run(visit, context.clone(), shared.stop.clone()));
        }
        while let Some((host, name)) = desk.names.pop() {
            let (shared, desk, dns) = (shared.clone(), desk.clone(), dns.clone());
            tokio::spawn(async move {
                let resolution = dns.resolve(host, &name, shared.clock.now()).await;
                desk.hand_back(Done::Resolved(resolution));
            });
        }
        desk.fetchers.notified().await;
    }
}
