//! Exports of web archives, for programs that do not read WARC.
//!
//! ```text
//!  WARC files ─► source ─► selection ─► page ─┬─► article ─┬─► format ─► output
//!                (captures,             facts, └────────────┘  (jsonl, markdown,
//!                 revisits               markup                 text, wet, wat)
//!                 resolved)
//! ```
//! An [`ExportJob`] writes one file for each WARC file, in parallel. A file is written under a temporary
//! name and renamed when it is whole; `export.json` notes which ones are done. So a run that was killed goes
//! on after them, and the same archives give the same bytes.
//!
//! A [`TableJob`] writes one table over all files (`table`): rows of captures, sorted (`lines`), as Parquet;
//! [`table_of_file`] makes that of one file. A [`PolicyJob`] counts sites and pages by what they permit (`policy`).
//!
//! A [`NearJob`] finds near-duplicates among all pages (`near`).
//!
//! An [`IndexJob`] writes CDXJ indexes (`index`), for each file or over all of them.
//! A [`PackageJob`] puts files, index and lists of pages into a WACZ file (`wacz`).
//!
//! A [`PageWalk`] returns the pages of archives to other crates (`walk`).
//! A [`CaptureReader`], a [`LinkReader`] and a [`LineSorter`] are the parts from which other crates make
//! structures over archives.
//!
//! Archives are hostile: they have what sites sent. Memory is bounded by the longest payload for each
//! thread, and time by the bounds of `article`. What is not exported is counted by reason ([`Skip`]).

mod article;
mod counts;
mod file_names;
mod forget;
mod format;
mod index;
mod lines;
mod near;
mod output;
mod page;
mod policy;
mod run;
mod selection;
mod source;
mod table;
mod wacz;
mod walk;

pub use article::NoArticle;
pub use counts::{ExportCounts, Skip};
pub use file_names::package_name;
pub use forget::{forget_outputs, outputs_of};
pub use format::ExportFormat;
pub use index::IndexJob;
pub use lines::{LineSorter, LineSource, SortedLines};
pub use near::{NearJob, NearReport};
pub use output::OutputCompression;
pub use page::{LinkReader, PageFacts};
pub use policy::{PolicyCount, PolicyCounts, PolicyJob, PolicyReport, SitePolicy};
pub use run::{ExportJob, ExportProgress, ExportReport, each_file};
pub use selection::Selection;
pub use source::{ArchivedCapture, CaptureReader, Originals, Payload};
pub use table::{TableJob, TableReport, table_of_file};
pub use wacz::PackageJob;
pub use walk::{PageArchives, PageWalk, WalkedCapture, WalkedLink, WalkedPage};
