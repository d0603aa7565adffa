//! Signatures of the coordinator: over views ([`ViewSigner`], [`ViewBook`]) and over tickets
//! ([`Ticket`], [`TicketVerifier`]).
//!
//! Both are Ed25519 over fixed encodings, which begin with different lines, so that a signature of
//! one is never one of the other. `docs/format.md` has the bytes.

mod key;
mod ticket;
mod view;
mod view_book;

pub use key::{COORDINATOR_KEY_FILE, CoordinatorKey, SigningKey};
pub use ticket::{CoordinatorClock, Scope, TICKET_LIFETIME, Ticket, TicketError, TicketVerifier};
pub use view::ViewSigner;
pub use view_book::{ViewBook, ViewRejected};
