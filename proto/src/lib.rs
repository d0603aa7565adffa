//! The wire format: Protocol Buffers over gRPC between agents and the coordinator. Also contains
//! connections ([`dial`], [`incoming`]), their security ([`tls`], [`auth`], [`signing`], [`deny`]), clients of the agents
//! ([`agents`]), and the HTTP server for browsers and Prometheus ([`http_server`]).
//!
//! Messages are validated where they are converted ([`view`]), and nowhere else. A status ([`v1::StatusResponse`]) is
//! used as it was sent; numbers of enum values that this build does not know have a text of their own.

mod admission;
pub mod agents;
pub mod auth;
pub mod bottleneck;
pub mod cluster_view;
pub mod deny;
pub mod dial;
pub mod enums;
pub mod explanation;
pub mod http_server;
pub mod incoming;
mod live_token;
pub mod obstacle;
mod rejection_log;
mod reload;
pub mod signing;
mod stream;
pub mod tls;
pub mod view;

pub use live_token::LiveToken;
pub use stream::{NodeConnectInfo, NodeStream};

use std::error::Error as _;
use std::fmt;
use std::iter::successors;

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

/// Hides the identity key.
impl fmt::Debug for v1::JoinResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id, crawl_id, lease_ms, view, settings, settings_revision, identity_key: _, ..
        } = self;
        f.debug_struct("JoinResponse")
            .field("id", id)
            .field("crawl_id", crawl_id)
            .field("lease_ms", lease_ms)
            .field("view", view)
            .field("settings", settings)
            .field("settings_revision", settings_revision)
            .finish_non_exhaustive()
    }
}

/// Returns the message of a status, followed by those of its causes that it does not contain yet.
#[must_use]
pub fn with_causes(status: &tonic::Status) -> String {
    let causes = successors(status.source(), |&cause| cause.source()).map(ToString::to_string);
    causes.fold(status.message().to_owned(), |text, cause| match text.contains(&cause) {
        true => text,
        false => format!("{text}: {cause}"),
    })
}

/// A client of a coordinator in the same process: calls its service without a network.
pub type LocalCoordinator = v1::coordinator_client::CoordinatorClient<tonic::service::Routes>;

/// File descriptors of [`v1`], for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/crivello.v1.bin"));

/// Version of the wire format and of the format on disk. All agents of a crawl have the same
/// version. It increases with every incompatible change.
pub const FORMAT_VERSION: u32 = 16;

/// Maximum size of a request to the coordinator, in bytes.
pub const REQUEST_SIZE_MAX: usize = 64 << 10;
/// Maximum size of a response of the coordinator, in bytes. A view of 1,024 agents takes 600 KiB;
/// the rest is for the settings, whose lists may have any length.
pub const RESPONSE_SIZE_MAX: usize = 16 << 20;
/// Maximum size of a packet between agents, in bytes.
pub const PACKET_SIZE_MAX: usize = 4 << 20;
/// Maximum size of the acknowledgement of a packet, in bytes. It may contain a view.
pub const ACK_SIZE_MAX: usize = 2 << 20;
/// Maximum size of a batch of seeds, in bytes.
pub const SEEDS_SIZE_MAX: usize = 1 << 20;
/// Maximum number of lines in a batch of seeds.
pub const SEED_LINES_MAX: usize = 1_000;
/// Size of the parts of a set of digests of payloads, in bytes.
pub const PAYLOAD_SET_PART_SIZE: usize = 256 << 10;
/// Size of the parts of a file of ranks of hosts, in bytes.
pub const RANKS_PART_SIZE: usize = 256 << 10;
/// Maximum size of an agent's response to a control request, in bytes.
pub const CONTROL_RESPONSE_SIZE_MAX: usize = 1 << 20;
