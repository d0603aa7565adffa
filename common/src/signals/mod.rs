//! Signals: what a site permits to do with its pages, in headers, pages and robots.txt.
//!
//! ```text
//!  headers, meta ─► RobotsDirectives, ContentUsage, TdmRights, Licenses ─┐
//!                                                                        ├─► PageSignals ─► fields
//!  robots.txt, tdmrep.json ─► SiteSignals (robots) ─► for the URL ───────┘
//! ```
//! All of it is hostile text: parsing never fails, takes linear time, and keeps bounded values. What
//! cannot be parsed is unknown.

mod content_signal;
mod content_usage;
mod directives;
mod http_url;
mod licenses;
mod page;
mod stricter;
mod tdm;

pub use content_signal::ContentSignal;
pub use content_usage::ContentUsage;
pub use directives::{ImagePreview, RobotsDirectives};
pub use licenses::Licenses;
pub use page::{PageSignals, SignalField};
pub use tdm::TdmRights;
