//! The record in etcd.

use super::ActiveUntil;
use super::api::{Condition, EtcdApi, TxnOutcome};
use crate::error::CoordinatorError;
use crate::state::{Record, RecordStore};
use crivello_proto::with_causes;
use std::io;
use tokio::runtime::Handle;

/// Maximum number of attempts to write behind a write of this process whose result was unknown.
const ATTEMPTS_MAX: usize = 3;

/// A record that only the active coordinator may write.
#[derive(Clone, Debug)]
pub(crate) struct EtcdRecord {
    pub(super) api: EtcdApi,
    pub(super) runtime: Handle,
    pub(super) active: ActiveUntil,
    /// Key of the active coordinator, and the revision in which this one created it.
    pub(super) active_key: String,
    pub(super) created: i64,
    pub(super) key: String,
    /// Revision of the last write of the record; 0 if there is none.
    pub(super) written: i64,
}

impl RecordStore for EtcdRecord {
    fn name(&self) -> String {
        format!("{} in etcd", self.key)
    }

    fn read(&mut self) -> Result<Option<Record>, CoordinatorError> {
        let broken = |what: String| {
            CoordinatorError::Broken(format!("{} in etcd {what}; nothing was changed", self.key))
        };
        let found = self.runtime.block_on(self.api.get(&self.key));
        let found =
            found.map_err(|status| broken(format!("cannot be read: {}", with_causes(&status))))?;
        let Some(found) = found else { return Ok(None) };
        let record = Record::decode(&found.value).map_err(|what| broken(format!("is {what}")))?;
        self.written = found.mod_revision;
        Ok(Some(record))
    }

    fn save(&mut self, record: &Record) -> io::Result<()> {
        // A call that fails takes its whole time.
        if !self.active.is_active() {
            return Err(io::Error::other("another coordinator may be active"));
        }
        let encoded = record.encode()?;
        for _ in 0..ATTEMPTS_MAX {
            let conditions = [
                Condition::Created(&self.active_key, self.created),
                Condition::Written(&self.key, self.written),
            ];
            let written = self.api.write(&conditions, vec![(&self.key, encoded.clone(), 0)]);
            match self.runtime.block_on(written) {
                Ok(TxnOutcome::Written(revision)) => {
                    self.written = revision;
                    return Ok(());
                }
                Ok(TxnOutcome::Refused(found)) => {
                    let mut found = found.into_iter();
                    let active = found.next().flatten().map_or(0, |key| key.create_revision);
                    if active != self.created {
                        self.active.end();
                        return Err(io::Error::other("another coordinator is active"));
                    }
                    // Only this process writes while its key exists, so this is a write whose result did not arrive.
                    self.written = found.next().flatten().map_or(0, |key| key.mod_revision);
                }
                Err(status) => return Err(io::Error::other(with_causes(&status))),
            }
        }
        Err(io::Error::other("the record in etcd changes all the time"))
    }
}
