//! The transport between agents: packets of facts, rows and ownership messages on ordered streams,
//! and single calls for peer leases, IP leases, robots.txt files, files of ranks and archived payloads.
//!
//! - *Input:* bodies of packets for an agent of the view; packets of other agents.
//! - *Output:* acknowledgements ([`PeerEvent`]); the packets of others, to a [`PeerHandler`].
//! - *State:* the unacknowledged packets of each agent and [`Lane`], in memory and bounded. All of
//!   them are on disk elsewhere, and dropped when the epoch ends.
//! - *Does not know:* ownership of groups, the meaning of facts, the crawl database.
//! - *Errors:* [`PeerError`] for malformed messages, which have no effect; [`Rejected`] for packets
//!   that do not fit; a broken connection is opened again. A slow agent delays only its own packets.
//!
//! ```text
//!   offer ─► Queue ─► PeerStream ══ one stream a lane ══► PeerService ─► PeerHandler
//!   PeerEvent ◄────── PeerStream ◄═══ acknowledgements ══ PeerService ◄─ Ack
//!   peer lease, IP leases, robots ═════════ calls ══════► PeerService ─► PeerHandler
//! ```
//!
//! Every request begins with one `Envelope` (sender, epoch, id); every packet and
//! batch is answered by one `Acknowledgement`.

mod envelope;
mod event;
mod incoming;
mod ip_leases;
mod outgoing;
mod packet;
mod payloads;
mod peer_stream;
mod queue;
mod ranks;
mod robots;
#[cfg(test)]
mod tests;
mod trust;

pub use crate::messages::{LeaseBatch, OwnershipMessage, TransferKind};
pub use envelope::PeerError;
pub use event::PeerEvent;
pub use incoming::{ExtraServices, PacketOrigin, PeerHandler, PeerServer, ServeError};
pub use outgoing::{Outgoing, PeerReply, RejectReason, Rejected};
pub use packet::{Body, Lane};
pub use payloads::PublishedSet;
pub use trust::PeerTrust;
