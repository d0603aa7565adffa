//! The wire: what agents and the coordinator say to each other, as Protocol Buffers over gRPC, and
//! how connections between them are made and guarded ([`tls`], [`dial`], [`incoming`], [`guard`]),
//! how people ask agents ([`crowd`]), and how browsers are served ([`web`]).
//!
//! Only the rooms that speak to peers know these types. Everything that arrives is checked where
//! it is converted ([`view`]), never later.

pub mod crowd;
pub mod dial;
pub mod explanation;
mod fresh;
pub mod guard;
pub mod incoming;
mod io;
mod live_token;
pub mod pace;
mod sayings;
pub mod tls;
pub mod view;
pub mod web;

pub use io::Io;
pub use live_token::LiveToken;

/// Version 1 of the wire format.
#[expect(
    missing_docs,
    clippy::all,
    unused_qualifications,
    reason = "generated from proto/crivello/v1"
)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/crivello.v1.rs"));
}

/// A client of a coordinator in the same process: its service, without a network in between.
pub type LocalCoordinator = v1::coordinator_client::CoordinatorClient<tonic::service::Routes>;

/// The descriptors of [`v1`], for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/crivello.v1.bin"));

/// The version of what agents say to each other and keep on disk. Agents of one crawl have the
/// same; raised with every change that others could not follow.
pub const FORMAT_VERSION: u32 = 2;

/// The longest request to the coordinator, in bytes.
pub const REQUEST_SIZE_MAX: usize = 64 << 10;
/// The longest answer of the coordinator, in bytes: a view of 1,024 agents takes 600 KiB, the
/// rest is for the settings, whose lists have no bound of their own.
pub const RESPONSE_SIZE_MAX: usize = 16 << 20;
/// The longest packet from one agent to another, in bytes.
pub const PACKET_SIZE_MAX: usize = 4 << 20;
/// The longest answer to one, in bytes: it may hold a view.
pub const REPLY_SIZE_MAX: usize = 2 << 20;
/// The longest batch of seeds, in bytes.
pub const SEEDS_SIZE_MAX: usize = 1 << 20;
/// The most lines of one.
pub const SEED_LINES_MAX: usize = 1_000;
/// The longest answer to people, in bytes: a word on each line.
pub const ANSWER_SIZE_MAX: usize = 1 << 20;
