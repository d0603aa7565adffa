//! Tickets: permission of the coordinator to call one agent for a short time.
//!
//! Numbers are big-endian:
//!
//! ```text
//! "crivello ticket 1\n"  crawl id (length 2, bytes)  agent id (4)  scope (1: read, 2: order)
//! expiry (8, microseconds since 1970 by the coordinator's clock)  Ed25519 signature (64)
//! ```

use super::key::{CoordinatorKey, SIGNATURE_LEN, SigningKey};
use super::view::text;
use super::view_book::ViewBook;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::AgentId;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello ticket 1\n";
/// Number of bytes after the crawl id.
const REST_LEN: usize = 4 + 1 + 8 + SIGNATURE_LEN;
/// Time for which a ticket is valid.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(60);
/// Difference that is tolerated between the coordinator's clock and the agent's estimate of it, which
/// is late by at most the way of a message.
const TOLERANCE: Duration = Duration::from_secs(5);

/// Calls that a ticket permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Calls that change nothing.
    Read = 1,
    /// All calls of people.
    Order = 2,
}

/// The reason why a ticket is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The bytes are not those of a ticket, or the signature is wrong.
    #[error("the ticket is not one of the coordinator of this crawl")]
    Invalid,
    /// The ticket is for another agent.
    #[error("the ticket is for agent {0}")]
    OtherAgent(AgentId),
    /// The ticket permits only calls that read.
    #[error("the ticket permits no orders")]
    ReadOnly,
    /// The ticket is no longer valid.
    #[error("the ticket has expired")]
    Expired,
}

/// A ticket: agent, scope, expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The agent that accepts it.
    pub agent: AgentId,
    /// Calls that it permits.
    pub scope: Scope,
    /// Time of its end by the coordinator's clock.
    pub expiry: Timestamp,
}

impl Ticket {
    /// Returns the signed bytes, for the crawl with this id.
    pub fn sign(self, key: &SigningKey, crawl_id: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        text(&mut bytes, crawl_id);
        bytes.extend(self.agent.0.to_be_bytes());
        bytes.push(self.scope as u8);
        bytes.extend(self.expiry.0.to_be_bytes());
        let signature = key.sign(&bytes);
        bytes.extend(signature);
        bytes
    }

    /// Reads signed bytes. `None` if they are malformed, of another crawl, or of another key.
    fn verify(bytes: &[u8], key: CoordinatorKey, crawl_id: &str) -> Option<Self> {
        let mut head = MAGIC.to_vec();
        text(&mut head, crawl_id);
        let rest: &[u8; REST_LEN] = bytes.strip_prefix(head.as_slice())?.try_into().ok()?;
        let (signed, signature) = bytes.split_at_checked(bytes.len() - SIGNATURE_LEN)?;
        let (agent, rest) = rest.split_first_chunk::<4>()?;
        let (scope, rest) = rest.split_first()?;
        let expiry = rest.first_chunk::<8>()?;
        let scope = match scope {
            1 => Scope::Read,
            2 => Scope::Order,
            _ => return None,
        };
        let (agent, expiry) = (u32::from_be_bytes(*agent), u64::from_be_bytes(*expiry));
        let ticket = Self { agent: AgentId(agent), scope, expiry: Timestamp(expiry) };
        key.verifies(signed, signature).then_some(ticket)
    }
}

/// The coordinator's clock, as an agent knows it from the coordinator's responses.
#[derive(Debug)]
pub struct CoordinatorClock {
    clock: Clock,
    /// Coordinator's time minus ours, in microseconds.
    ahead_us: AtomicI64,
}

impl CoordinatorClock {
    /// Creates a clock that is not ahead of `clock`.
    #[must_use]
    pub const fn new(clock: Clock) -> Self {
        Self { clock, ahead_us: AtomicI64::new(0) }
    }

    /// Sets the time: `theirs` was in a response that has just arrived.
    pub fn set(&self, theirs: Timestamp) {
        let ahead = theirs.0.wrapping_sub(self.clock.now().0).cast_signed();
        self.ahead_us.store(ahead, Ordering::Relaxed);
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        let ahead = self.ahead_us.load(Ordering::Relaxed);
        Timestamp(self.clock.now().0.saturating_add_signed(ahead))
    }
}

/// Checks the tickets that an agent receives.
#[derive(Debug)]
pub struct TicketVerifier {
    /// Has the key of the coordinator, and the id of the crawl.
    pub book: Arc<ViewBook>,
    /// The agent.
    pub agent: AgentId,
}

impl TicketVerifier {
    /// Checks that the signed bytes permit a call of this scope at `now` by the coordinator's clock.
    ///
    /// # Errors
    /// [`TicketError`] if they do not.
    pub fn check(&self, bytes: &[u8], scope: Scope, now: Timestamp) -> Result<(), TicketError> {
        let pinned = self.book.pinned();
        let ticket = pinned.and_then(|(key, crawl_id)| Ticket::verify(bytes, key, &crawl_id));
        let ticket = ticket.ok_or(TicketError::Invalid)?;
        if ticket.agent != self.agent {
            return Err(TicketError::OtherAgent(ticket.agent));
        }
        if now > ticket.expiry + TOLERANCE {
            return Err(TicketError::Expired);
        }
        if ticket.scope < scope { Err(TicketError::ReadOnly) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn ticket(agent: u32, scope: Scope) -> Ticket {
        Ticket { agent: AgentId(agent), scope, expiry: NOW + TICKET_LIFETIME }
    }

    #[test]
    fn a_ticket_works_at_one_agent_for_one_scope_until_it_expires() {
        let (ours, theirs) = (SigningKey::draw().unwrap(), SigningKey::draw().unwrap());
        let at = |agent, crawl_id: &str| {
            let book = Arc::<ViewBook>::default();
            book.pin(ours.public(), crawl_id);
            TicketVerifier { book, agent: AgentId(agent) }
        };
        let read = ticket(3, Scope::Read).sign(&ours, "c");
        let order = ticket(3, Scope::Order).sign(&ours, "c");
        let check = |bytes: &[u8], scope, now| at(3, "c").check(bytes, scope, now);
        assert_eq!(check(&read, Scope::Read, NOW), Ok(()));
        assert_eq!(check(&order, Scope::Read, NOW), Ok(()));
        assert_eq!(check(&order, Scope::Order, NOW), Ok(()));
        assert_eq!(check(&read, Scope::Order, NOW), Err(TicketError::ReadOnly));
        let other = at(4, "c").check(&order, Scope::Read, NOW);
        assert_eq!(other, Err(TicketError::OtherAgent(AgentId(3))));
        assert_eq!(at(3, "d").check(&order, Scope::Read, NOW), Err(TicketError::Invalid));
        let last = NOW + TICKET_LIFETIME + TOLERANCE;
        assert_eq!(check(&order, Scope::Order, last), Ok(()));
        let late = last + Duration::from_micros(1);
        assert_eq!(check(&order, Scope::Order, late), Err(TicketError::Expired));
        let forged = ticket(3, Scope::Order).sign(&theirs, "c");
        assert_eq!(check(&forged, Scope::Read, NOW), Err(TicketError::Invalid));
        for at in 0..order.len() {
            let mut changed = order.clone();
            changed[at] ^= 1;
            assert_eq!(check(&changed, Scope::Read, NOW), Err(TicketError::Invalid), "byte {at}");
            assert_eq!(check(&order[..at], Scope::Read, NOW), Err(TicketError::Invalid));
        }
        let longer = [&order[..], b"x"].concat();
        assert_eq!(check(&longer, Scope::Read, NOW), Err(TicketError::Invalid));
    }

    #[test]
    fn the_coordinators_clock_counts() {
        let clock = Clock::start();
        for ahead in [-3_600_000_000_i64, 0, 3_600_000_000] {
            let theirs = CoordinatorClock::new(clock);
            theirs.set(Timestamp(clock.now().0.saturating_add_signed(ahead)));
            let difference = theirs.now().0.wrapping_sub(clock.now().0).cast_signed();
            assert!((difference - ahead).abs() < 1_000_000, "{difference}");
        }
    }
}
