//! Harness of the scenario tests: a simulated web, the real binary that crawls it in its own
//! process, and the judge.
//!
//! A scenario builds a web, crawls it, and has the web's log judged. It uses nothing internal of
//! the crawler, only a command line, an exit code, a report, and the requests that arrived.

mod agreement;
pub mod cluster;
pub mod collector;
mod environment;
pub mod etcd;
pub mod in_process;
mod measure;
pub mod metrics;
mod permits;
mod power_disk;
mod running;
mod scene;
mod skip;
mod small_disk;
pub mod warc;
mod watch;

pub use agreement::{assert_agreement, is_page};
pub use cluster::Cluster;
pub use collector::Collector;
pub use environment::{env_list, env_value};
pub use etcd::Etcd;
pub use in_process::InProcess;
pub use measure::{Usage, wait_measured};
pub use permits::{Load, Permits};
pub use power_disk::{PowerDisk, Rack};
pub use running::{DEADLINE, Running, output, output_within};
pub use scene::{Ended, Scene, binary, seed};
pub use skip::{skipped, skipped_unless_allowed};
pub use small_disk::SmallDisk;
pub use watch::{Look, Stretch, Watched, metrics_address};
