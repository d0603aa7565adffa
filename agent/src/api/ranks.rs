//! Files of ranks of hosts that people send.

use crate::storage::ranks::{RankStore, RankStoreError};
use crivello_proto::v1;
use futures_util::{Stream, TryStreamExt as _};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tonic::Status;

/// Time after which a sender that sends nothing is disconnected.
const PART_TIMEOUT: Duration = Duration::from_secs(30);

/// Receives a file in parts, and stores it.
pub(super) async fn receive(
    store: RankStore,
    mut parts: impl Stream<Item = Result<v1::PutHostRanksRequest, Status>> + Unpin,
) -> Result<(), Status> {
    let begin = next(&mut parts).await?;
    let begin = begin.ok_or_else(|| Status::invalid_argument("there is no file"))?;
    let mut incoming =
        store.receive(&begin.digest, begin.length).map_err(|error| refused(&error))?;
    incoming.add(&begin.bytes).map_err(|error| refused(&error))?;
    while let Some(part) = next(&mut parts).await? {
        incoming.add(&part.bytes).map_err(|error| refused(&error))?;
    }
    let stored = spawn_blocking(move || incoming.finish()).await;
    stored.map_err(|error| Status::internal(error.to_string()))?.map_err(|error| refused(&error))
}

async fn next(
    parts: &mut (impl Stream<Item = Result<v1::PutHostRanksRequest, Status>> + Unpin),
) -> Result<Option<v1::PutHostRanksRequest>, Status> {
    let next = timeout(PART_TIMEOUT, parts.try_next()).await;
    next.map_err(|_| Status::deadline_exceeded("the sender sends nothing"))?
}

fn refused(error: &RankStoreError) -> Status {
    let message = error.to_string();
    match error {
        RankStoreError::Disk { .. } => Status::internal(message),
        _ => Status::invalid_argument(message),
    }
}
