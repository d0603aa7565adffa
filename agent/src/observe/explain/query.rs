//! Queries of the scheduler about hosts on the workbench. The scheduler never waits for them.

use crate::messages::{HostQuery, HostSnapshot, SchedulerQueues};
use crivello_common::hash::HostKey;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Time after which the scheduler counts as ended: it reads its queues ten times a second.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Queries the scheduler. Returns `None` if there is no answer.
pub async fn query_workbench(
    queues: &SchedulerQueues,
    hosts: Vec<HostKey>,
    thorough: bool,
) -> Option<Vec<Option<HostSnapshot>>> {
    let (reply, answered) = oneshot::channel();
    queues.queries.push(HostQuery { hosts, thorough, reply }).ok()?;
    queues.wake();
    timeout(TIMEOUT, answered).await.ok()?.ok()
}
