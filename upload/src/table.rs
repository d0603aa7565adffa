//! The table of a WARC file, made in a thread of its own.

use crate::store::StoreError;
use crivello_common::runtime::lower_priority;
use crivello_common::uploads::{MadeTable, TableMaker, TableRequest};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::Builder;
use tokio::sync::oneshot;

/// An order of a table.
pub(crate) struct TableOrder {
    /// Path of the WARC file.
    pub(crate) warc: PathBuf,
    /// Name of its object.
    pub(crate) name: String,
    /// Directory of unnamed files.
    pub(crate) scratch: PathBuf,
    /// Counter of captures that were read.
    pub(crate) captures: Arc<AtomicU64>,
}

impl TableOrder {
    /// Makes the table. The thread ends soon after the future was dropped.
    pub(crate) async fn make(self, maker: TableMaker) -> Result<MadeTable, StoreError> {
        let (sender, made) = oneshot::channel();
        let work = move || {
            lower_priority();
            let result = maker(&TableRequest {
                warc: &self.warc,
                name: &self.name,
                scratch: &self.scratch,
                captures: &self.captures,
                stopped: &|| sender.is_closed(),
            });
            // Nobody waits any more.
            let _ = sender.send(result);
        };
        let failed = |error| StoreError::io("make the table", &error);
        Builder::new().name("table".to_owned()).spawn(work).map_err(failed)?;
        let made =
            made.await.map_err(|_| StoreError::new("make the table: its thread panicked"))?;
        made.map_err(failed)
    }
}
