//! The engines: threads, pools and tasks that drive the stages.
//!
//! An engine never imports another engine: they meet through the queues in
//! [`messages`](crate::messages) and the state in [`shared`](crate::shared).

pub mod fetchers;
pub mod heartbeat;
pub mod host_ranks;
pub mod ip_leases;
pub mod near_merger;
pub mod own_payloads;
pub mod parsers;
pub mod peer_payloads;
pub mod remote_robots;
pub mod scheduler;
pub mod seeding;
pub mod writer;
