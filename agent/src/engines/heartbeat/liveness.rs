//! Liveness reported in heartbeats: progress of the engines, and other agents that this agent cannot
//! reach.

use crate::shared::pipeline::PipelineBudget;
use crate::shared::status::CrawlStatus;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, View};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Pause between two checks of the engines. They make several rounds in it, even when they are idle.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Time without progress from which on it is reported. Shorter pauses are usual.
pub const REPORTED_FROM: Duration = Duration::from_secs(2);

/// Observations of this process.
#[derive(Debug, Default)]
pub struct Liveness {
    /// Milliseconds since the engines made progress.
    stalled_ms: AtomicU64,
    /// Time of the last answer of each other agent in the view.
    answered: Mutex<BTreeMap<AgentId, Timestamp>>,
}

impl Liveness {
    /// Observes the engines. Never returns. On a full disk none of them makes progress.
    pub async fn watch(&self, status: &CrawlStatus, pipeline: &PipelineBudget, clock: Clock) {
        let rounds = || [&status.writer_rounds, &status.scheduler_rounds, &status.results];
        let mut seen = rounds().map(|rounds| rounds.load(Relaxed));
        let mut still = [Duration::ZERO; 3];
        let mut checked_at = clock.now();
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let now = clock.now();
            // While the whole process is suspended, its engines are not stuck.
            let passed = now.since(checked_at).min(2 * CHECK_INTERVAL);
            checked_at = now;
            let disk_full = status.disk_full.load(Relaxed);
            // The parsers have nothing to do, or wait for the writer.
            let is_parsed = pipeline.pages().0 == 0 || !pipeline.has_room();
            let may_rest = [false, false, is_parsed];
            for (i, rounds) in rounds().iter().enumerate() {
                let n = rounds.load(Relaxed);
                let makes_progress = n != seen[i] || may_rest[i];
                let is_still = disk_full || !makes_progress;
                still[i] = if is_still { still[i] + passed } else { Duration::ZERO };
                seen[i] = n;
            }
            let longest = still.into_iter().max().unwrap_or_default();
            let before = Duration::from_millis(self.stalled_ms.load(Relaxed));
            self.stalled_ms.store(longest.as_millis() as u64, Relaxed);
            match (before >= REPORTED_FROM, longest >= REPORTED_FROM) {
                (false, true) => tracing::warn!("this agent makes no progress"),
                (true, false) => tracing::info!("this agent makes progress again"),
                _ => {}
            }
        }
    }

    /// Returns the time since the engines made progress; zero if they do.
    pub fn stalled(&self) -> Duration {
        let stalled = Duration::from_millis(self.stalled_ms.load(Relaxed));
        if stalled < REPORTED_FROM { Duration::ZERO } else { stalled }
    }

    /// Records an answer of another agent.
    pub fn answered(&self, by: AgentId, now: Timestamp) {
        self.answered.lock().insert(by, now);
    }

    /// Returns the living agents of the view that have not answered for `timeout`, and forgets those
    /// that are not in it. An agent counts from when it was first seen in a view.
    pub fn unreachable(
        &self,
        me: AgentId,
        view: Option<&View>,
        timeout: Duration,
        now: Timestamp,
    ) -> Vec<AgentId> {
        let mut answered = self.answered.lock();
        answered.retain(|id, _| view.is_some_and(|view| view.is_alive(*id)));
        let others = view.into_iter().flat_map(View::living).map(|agent| agent.id);
        let silent = |id: &AgentId| {
            let last = *answered.entry(*id).or_insert(now);
            now.since(last) >= timeout
        };
        others.filter(|&id| id != me).filter(silent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[tokio::test]
    async fn engines_that_stand_still_are_noticed_and_idle_ones_are_not() {
        let clock = Clock::start();
        let status = Arc::<CrawlStatus>::default();
        let pipeline = Arc::<PipelineBudget>::default();
        let liveness = Arc::new(Liveness::default());
        liveness.stalled_ms.store(1_999, Relaxed);
        assert_eq!(liveness.stalled(), Duration::ZERO, "a short pause is reported");
        liveness.stalled_ms.store(2_000, Relaxed);
        assert_eq!(liveness.stalled(), Duration::from_secs(2));
        // One engine makes rounds, as it does ten times a second when it is idle; the other none.
        let (watched, of, pages) = (liveness.clone(), status.clone(), pipeline.clone());
        let watch = tokio::spawn(async move { watched.watch(&of, &pages, clock).await });
        let run = |engines: usize, of: Duration| {
            let status = status.clone();
            async move {
                let begun = clock.now();
                while clock.now().since(begun) < of {
                    let all = [&status.writer_rounds, &status.scheduler_rounds, &status.results];
                    for rounds in &all[..engines] {
                        rounds.fetch_add(1, Relaxed);
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        };
        run(1, REPORTED_FROM + 8 * CHECK_INTERVAL).await;
        assert!(liveness.stalled() >= REPORTED_FROM, "an engine that stands still is not noticed");
        run(2, 4 * CHECK_INTERVAL).await;
        assert_eq!(liveness.stalled(), Duration::ZERO, "an idle agent counts as stuck");
        // A page waits for the parsers, and none of them makes progress.
        pipeline.enter(1);
        run(2, REPORTED_FROM + 8 * CHECK_INTERVAL).await;
        assert!(liveness.stalled() >= REPORTED_FROM, "parsers that are stuck are not noticed");
        run(3, 4 * CHECK_INTERVAL).await;
        assert_eq!(liveness.stalled(), Duration::ZERO, "busy parsers count as stuck");
        status.disk_full.store(true, Relaxed);
        run(3, REPORTED_FROM + 8 * CHECK_INTERVAL).await;
        assert!(liveness.stalled() >= REPORTED_FROM, "a full disk is not noticed");
        watch.abort();
    }

    #[test]
    fn a_peer_that_has_not_answered_for_a_while_is_unreachable() {
        let at = Timestamp::from_secs;
        let mut view = View::of_one("a");
        let mut other = view.agents[0].clone();
        (other.id, other.name, other.slot) = (AgentId(2), "b".to_owned(), 1);
        view.agents.push(other);
        let liveness = Liveness::default();
        let (me, timeout) = (AgentId(0), Duration::from_secs(5));
        let unreachable = |now| liveness.unreachable(me, Some(&view), timeout, at(now));
        assert_eq!(unreachable(100), []);
        assert_eq!(unreachable(104), []);
        assert_eq!(unreachable(105), [AgentId(2)]);
        liveness.answered(AgentId(2), at(105));
        assert_eq!(unreachable(109), []);
        assert_eq!(liveness.unreachable(me, None, timeout, at(200)), []);
        assert_eq!(unreachable(200), [], "an agent that is new in the view counts from then on");
    }
}
