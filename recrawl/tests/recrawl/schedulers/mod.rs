//! The policy of this crate, and those that it is compared with.

mod adaptive;
mod nutch;
mod periodic;
mod stormcrawler;

pub use adaptive::Adaptive;
pub use nutch::Nutch;
pub use periodic::Periodic;
pub use stormcrawler::StormCrawler;
