//! Robots.txt: records, requests for the files, and the files of other hosts.

mod cache;
mod pending;
mod queue;
mod record;
mod remote;

pub(super) use cache::RobotsCache;
pub(super) use pending::PendingRobots;
pub(super) use queue::{PendingRedirect, RobotsQueue, first_hop, next_hop, tdm_request};
pub use record::asked_again;
pub(super) use record::{Freshness, freshness, learn, set_record};
pub(super) use remote::request_of_agent;
