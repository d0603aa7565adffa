//! Asking the scheduler how hosts stand on the workbench, without ever keeping it.

use crate::messages::{HostQuery, HostSnapshot, SchedulerQueues};
use crivello_common::hash::HostKey;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The scheduler looks up ten times a second; one that does not answer has left.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks; `None` when there is no answer.
pub async fn ask(
    desk: &SchedulerQueues,
    hosts: Vec<HostKey>,
    thorough: bool,
) -> Option<Vec<Option<HostSnapshot>>> {
    let (reply, answered) = oneshot::channel();
    desk.queries.push(HostQuery { hosts, thorough, reply }).ok()?;
    desk.wake();
    timeout(PATIENCE, answered).await.ok()?.ok()
}
