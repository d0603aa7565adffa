//! Rows of the outbox in the database.

use super::{Batch, Database, DiskError, Family};
use crate::messages::{OutboxChange, OutboxRows, RowVisitor};

impl OutboxRows for Database {
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.get(Family::Outbox, key)?.map(|value| value.to_vec()))
    }

    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError> {
        self.walk(Family::Outbox, &[], &[0xff], visit)
    }

    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError> {
        let mut batch = Batch::default();
        batch.change_outbox(changes);
        self.commit(&batch)
    }
}

impl Batch {
    /// Adds changes of the outbox.
    pub fn change_outbox(&mut self, changes: &[OutboxChange]) {
        for (key, value) in changes {
            self.change(Family::Outbox, key, value.as_deref());
        }
    }
}
