//! The place of a page's record, as rows and facts carry it.

use crate::storage::{RowReader, RowWriter};

/// The place of a page's record in the archive of the agent that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// Serial number of the archive file.
    pub file: u32,
    /// Offset of the record in the file; `None` if the archive is another agent's.
    pub offset: Option<u64>,
}

impl RecordPlace {
    /// Returns the place of a record in the archive of this agent.
    #[must_use]
    pub const fn here((file, offset): (u32, u64)) -> Self {
        Self { file, offset: Some(offset) }
    }

    /// Returns it as other agents store it.
    #[must_use]
    pub const fn elsewhere(self) -> Self {
        Self { offset: None, ..self }
    }

    /// Returns file and offset if the record is in the archive of this agent.
    #[must_use]
    pub fn in_own_archive(self) -> Option<(u32, u64)> {
        self.offset.map(|offset| (self.file, offset))
    }

    /// Appends it to a row: the file, then 0 or the offset and 1.
    pub fn write(self, w: &mut RowWriter) {
        let offset = self.offset.map_or(0, |offset| offset.saturating_add(1));
        w.number(u64::from(self.file)).number(offset);
    }

    /// Reads what [`Self::write`] appended; `None` if it is malformed.
    pub fn read(r: &mut RowReader<'_>) -> Option<Self> {
        Some(Self { file: r.small()?, offset: r.number()?.checked_sub(1) })
    }
}
