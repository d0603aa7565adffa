//! Edits of settings, and the settings, on the wire.

use crate::settings::{Revised, Unchanged};
use crivello_common::config::{Edit, EditError};
use crivello_proto::v1::{self, setting_edit::Change};
use tonic::{Code, Status};

/// Edits of one request.
const EDITS_MAX: usize = 1_000;

/// Checks what arrives.
pub(super) fn read(edits: Vec<v1::SettingEdit>) -> Result<Vec<(String, Edit)>, Status> {
    if edits.is_empty() || edits.len() > EDITS_MAX {
        let n = edits.len();
        return Err(Status::invalid_argument(format!("{n} edits: 1 to {EDITS_MAX} are needed")));
    }
    let read = |v1::SettingEdit { key, change }| match change {
        Some(Change::Value(value)) => Ok((key, Edit::Set(value))),
        Some(Change::Add(entry)) => Ok((key, Edit::Add(entry))),
        Some(Change::Remove(entry)) => Ok((key, Edit::Remove(entry))),
        Some(Change::Unset(v1::Unset {})) => Ok((key, Edit::Unset)),
        None => Err(Status::invalid_argument(format!("{key}: no change is given"))),
    };
    edits.into_iter().map(read).collect()
}

pub(super) const fn code(why: &Unchanged) -> Code {
    match why {
        Unchanged::Edit(EditError::Invalid(_)) | Unchanged::TooLong(_) => Code::InvalidArgument,
        Unchanged::Edit(EditError::Fixed { .. }) => Code::FailedPrecondition,
        Unchanged::Outdated { .. } => Code::Aborted,
        Unchanged::Unwritten(_) => Code::Unavailable,
    }
}

impl From<&Revised> for v1::CrawlSettings {
    fn from(revised: &Revised) -> Self {
        Self { revision: revised.revision, toml: revised.toml.clone() }
    }
}
