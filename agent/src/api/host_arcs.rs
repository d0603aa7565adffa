//! Host arcs of the archive, for the graph of hosts of a cluster.

use super::QueryError;
use crate::limits::HOST_ARCS_WAIT_MAX;
use crivello_common::runtime::lower_priority;
use crivello_proto::v1;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use std::sync::Arc;
use std::thread;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tonic::Status;

/// The source of host arcs.
pub trait HostArcsApi: Send + Sync + 'static {
    /// Makes the arcs of the sealed archive files, and passes them to `send` in parts until it returns false. `stopped`
    /// ends the work. Takes long.
    ///
    /// # Errors
    /// [`QueryError`] if they cannot be made.
    fn read(
        &self,
        stopped: &(dyn Fn() -> bool + Sync),
        send: &mut dyn FnMut(v1::HostArcsResponse) -> bool,
    ) -> Result<(), QueryError>;
}

/// Streams the arcs. A thread of low priority makes them, and waits while the reader takes nothing, but not for ever.
pub(super) fn stream(
    source: Arc<dyn HostArcsApi>,
    permit: OwnedSemaphorePermit,
) -> Result<BoxStream<'static, Result<v1::HostArcsResponse, Status>>, Status> {
    let (parts, received) = mpsc::channel(1);
    let runtime = Handle::current();
    let work = move || {
        lower_priority();
        let stopped = || parts.is_closed();
        let send = |part| {
            let sent = parts.send_timeout(Ok(part), HOST_ARCS_WAIT_MAX);
            runtime.block_on(sent).is_ok()
        };
        if let Err(error) = source.read(&stopped, &mut { send }) {
            let _ = runtime.block_on(parts.send_timeout(Err(error.into()), HOST_ARCS_WAIT_MAX));
        }
        drop(permit);
    };
    let spawned = thread::Builder::new().name("host-arcs".to_owned()).spawn(work);
    spawned.map_err(|error| Status::internal(format!("no thread: {error}")))?;
    Ok(unfold(received, |mut received| async { Some((received.recv().await?, received)) }).boxed())
}
