//! Settings: what was typed ([`Raw`]) is not what may be relied on ([`Settings`]).
//!
//! The list in `settings.rs` is the only place where a setting is described: its key, type,
//! default, unit, meaning and bounds. From it come the struct that the rooms read, the reading of
//! TOML and `--set`, the checks, the commented file that `crivello config` prints, and the writing
//! of the settings in force.
//!
//! ```text
//! defaults < file < --set < flags ─► Raw ─► check ─► Settings
//! ```
//! Every error names the line or the argument, the key, what is wrong and what to write.

#[macro_use]
mod table;
mod blocks;
mod check;
mod choices;
mod describe;
mod edit;
mod error;
mod meaning;
mod names;
mod raw;
mod records;
mod resume;
pub mod settings;
mod suggest;
#[cfg(test)]
mod tests;
mod value;
mod write;

pub use blocks::{Block, Blocklist, HostName};
pub use choices::{AssignBy, DigestKind, PolitenessMode, SieveKind};
pub use describe::Described;
pub use edit::{Edit, EditError, Edited};
pub use error::{ConfigError, ConfigErrors, Place};
pub use meaning::Difference;
pub use names::product_token;
pub use raw::Raw;
pub use records::{DomainDelay, RobotsExemption, Rule};
pub use resume::Given;
pub use settings::*;
pub use write::{HALF_BEGUN, SETTINGS_FILE, commented_toml};
