//! Link graphs of web archives, and ranks of their nodes.
//!
//! ```text
//!  WARC files ─► captures, links ─► sorted names ─► arcs ─► sorted ─► BV graph ──────────┬─► stats
//!                (`build`)          (`names`)       (`rows`)          and its transpose  ├─► distance: closeness, …
//!                                                                     (`store`)          └─► spectral: PageRank, …
//! ```
//! A [`GraphJob`] makes a graph of pages and one of hosts, in bounded memory: what is sorted is on disk, and so are
//! names. A [`LinkGraph`] is one of them, open.
//!
//! Ranks are functions of a graph: [`distance`] has those by distances, [`spectral`] those by walks. They take a
//! graph in memory ([`Adjacency`]) or, for graphs that are too large for that, any [`Successors`].
//! Threads are those of the current rayon pool.

mod adjacency;
mod build;
pub mod distance;
mod error;
mod names;
mod progress;
mod rows;
pub mod spectral;
mod stats;
mod store;
mod svg;

pub use adjacency::{Adjacency, Successors, degrees, in_degrees};
pub use build::{BuildCounts, BuildProgress, BuildStage, GraphJob, HostArcsMerge, LinkOrigin};
pub use error::GraphError;
pub use names::{NameCursor, Names};
pub use progress::RankProgress;
pub use stats::{Components, DegreeStats, GraphStats, components, strong_components};
pub use store::{FORMAT, Level, LevelNumbers, LinkGraph, Manifest, StoredGraph, directory};
pub use svg::{LogPlot, PlotSeries};
