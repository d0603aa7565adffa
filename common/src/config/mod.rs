//! Settings: the typed form ([`RawSettings`]) and the checked form ([`Settings`]).
//!
//! The table in `settings.rs` is the only place that describes a setting: its key, type, default,
//! unit, description and bounds. The structs, the parser for TOML and `--set`, the checks, the
//! commented file of `crivello config` and the output of settings in force are derived from it.
//!
//! ```text
//! defaults < file < --set < flags ─► RawSettings ─► check ─► Settings
//! ```
//! Every error names the line or argument, the key, the problem and a valid form.

#[macro_use]
mod table;
mod blocks;
mod bounds;
mod check;
mod choices;
mod describe;
mod edit;
mod error;
mod fingerprint;
mod host_scope;
mod key;
mod names;
mod raw;
mod records;
mod resume;
mod revisit_rate;
pub mod settings;
mod suggest;
#[cfg(test)]
mod tests;
mod value;
mod write;

pub use blocks::{BlockEntry, Blocklist, HostName};
pub use choices::{
    ArchiveCompression, AssignBy, DigestKind, NearDuplicates, NoArchive, PolitenessMode,
    RecrawlObjective, RecrawlPolicy, SearchIndex, SieveKind, SignatureAgentForm, StoreSurvival,
    UrlRewrite,
};
pub use describe::SettingInfo;
pub use edit::{Edit, EditError, EditedSettings};
pub use error::{ConfigError, ConfigErrors, SettingOrigin};
pub use fingerprint::SettingDifference;
pub use names::{directory_url, product_token, upload_url};
pub use raw::RawSettings;
pub use records::{DomainDelay, LinkRule, RobotsExemption};
pub use resume::TypedSettings;
pub use revisit_rate::RevisitRate;
pub use settings::*;
pub use write::{NEW_SETTINGS_FILE, SETTINGS_FILE, commented_toml};
