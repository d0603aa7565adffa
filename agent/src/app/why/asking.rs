//! Asking the scheduler how hosts stand on the workbench, without ever keeping it.

use crate::app::scheduler::Desk;
use crate::messages::OnBench;
use crivello_common::hash::HostKey;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The scheduler looks up ten times a second; one that does not answer has left.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the scheduler is asked.
#[derive(Debug)]
pub struct Question {
    /// Which hosts.
    pub hosts: Vec<HostKey>,
    /// Whether all is wanted that takes a walk through their windows.
    pub thorough: bool,
    /// One answer for each host: `None` for one that is not in memory.
    pub answer: oneshot::Sender<Vec<Option<OnBench>>>,
}

/// Asks; `None` when there is no answer.
pub async fn ask(desk: &Desk, hosts: Vec<HostKey>, thorough: bool) -> Option<Vec<Option<OnBench>>> {
    let (answer, answered) = oneshot::channel();
    desk.questions.push(Question { hosts, thorough, answer }).ok()?;
    desk.ring();
    timeout(PATIENCE, answered).await.ok()?.ok()
}
