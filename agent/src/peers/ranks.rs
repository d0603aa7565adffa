//! A file of ranks of hosts, on the wire.

use crivello_proto::{RANKS_PART_SIZE, v1};
use futures_util::stream::{self, Stream};
use std::io;
use std::path::Path;
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tonic::Status;

/// Streams a file: its length, then its bytes.
pub(super) async fn stream(
    path: &Path,
) -> Result<impl Stream<Item = Result<v1::HostRanksResponse, Status>> + use<>, Status> {
    let (file, length) = open(path).await.map_err(|error| failed(&error))?;
    let begin = v1::HostRanksResponse { length, ..v1::HostRanksResponse::default() };
    let parts = stream::unfold(Some(file), |file| async {
        let mut file = file?;
        match next_part(&mut file).await {
            Ok(bytes) if bytes.is_empty() => None,
            Ok(bytes) => {
                let bytes = bytes.into();
                Some((Ok(v1::HostRanksResponse { length: 0, bytes }), Some(file)))
            }
            Err(error) => Some((Err(failed(&error)), None)),
        }
    });
    Ok(stream::StreamExt::chain(stream::iter([Ok(begin)]), parts))
}

async fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path).await?;
    let length = file.metadata().await?.len();
    Ok((file, length))
}

async fn next_part(file: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(RANKS_PART_SIZE);
    file.take(RANKS_PART_SIZE as u64).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

fn failed(error: &io::Error) -> Status {
    Status::internal(format!("the ranks cannot be read: {error}"))
}
