//! The peers: what travels between agents, packets of facts, rows and custody on ordered streams.
//!
//! *Comes in*: bodies of packets for an agent of the view; packets of other agents.
//! *Goes out*: what others answered ([`PeerEvent`]); what they sent, to a [`PeerHandler`].
//! *Remembers*: in memory, for each agent and [`Class`], the packets it has not acknowledged, up to
//! a bound; all of it is on disk elsewhere, and forgotten with the epoch.
//! *Never knows*: why a group belongs to a peer, what the peer does with a URL, what a fact says.
//! *Goes wrong*: [`PeerError`], for what cannot be understood, of which nothing is taken in; a
//! broken connection, which is made again; [`Rejected`], for what finds no room. Nobody ever waits
//! for a peer but its own packets.
//!
//! ```text
//!   offer ─► queue ─► link ═══ one stream a class ═══► server ─► PeerHandler
//!   PeerEvent ◄──────────── link ◄══════ replies ════════ server ◄── stored, or another epoch
//!   ping, turns, robots ═════════ one call ══════════ server ─► PeerHandler
//! ```

mod incoming;
mod link;
mod outgoing;
mod packet;
mod queue;
mod robots;
#[cfg(test)]
mod tests;
mod turns;

pub use crate::messages::{LeaseBatch, OwnershipMessage, TransferKind};
pub use incoming::{ExtraServices, PacketOrigin, PeerHandler, PeerServer, ServeError};
pub use outgoing::{Brought, Outgoing, PeerEvent, PingReply, Rejected, Why};
pub use packet::{Body, Class};

/// Why something that was sent cannot be understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PeerError {
    /// It is not what it should be.
    #[error("what was sent is malformed: {0}")]
    Malformed(String),
}
