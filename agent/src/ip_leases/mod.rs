//! The turns: hosts of different groups may share an IP address, and so may their agents. Without a
//! turn nobody visits an address; the agent that owns the address's hash lends its turn to one at a
//! time.
//!
//! * *Comes in*: what the agent's workbench wants ([`LeaseRequest`]); views; what other agents say
//!   ([`LeaseBatch`]).
//! * *Goes out*: what the workbench must hear ([`LeaseNotice`]); [`LeaseBatch`]es, one at a time to each
//!   agent, for many addresses at once.
//! * *Remembers*: in memory, who has which turn; nothing on disk.
//! * *Never knows*: hosts, URLs, sockets. No two clocks are ever compared: what travels is how long,
//!   and each side counts it so that it errs on the safe side.
//! * *Goes wrong*: what is lost is said again after a while; a turn that nobody returns ends by
//!   itself.
//!
//! ```text
//!   workbench ── Ask ──► desk ──► the lender of the address (here or elsewhere)
//!       ◄── Lent ──────── desk ◄──          ┊ others ask too
//!       ◄── Wanted ────── desk ◄──          ┊
//!   workbench ── Return ► desk ──► the lender, who lends it to the next
//! ```
//! # What holds
//! 1. *One at a time.* From when a turn is lent until it is returned or has ended by the lender's
//!    clock, and has rested for `ip-delay`, nobody else gets it. The borrower counts the term from
//!    when it asked, which was before it was lent; its visits are cut off when it ends.
//! 2. *A new lender* knows nothing at first. Each agent tells it, on entering the epoch, which turns
//!    it is using; from then on it uses no other that it was lent before. The lender lends what was
//!    another's before only once all have told, and nobody who was declared dead may still be
//!    fetching by somebody's promise, and after another `ip-delay`. What it already lent in the
//!    last epoch goes on.
//! 3. *Everybody's turn comes.* Those who wait are served in order; whoever has a turn that others
//!    wait for returns it after a visit, or after a quarter of a second of them.

mod client;
mod lendable;
mod lessor;
#[cfg(test)]
mod tests;

pub use crate::messages::{
    LeaseBatch, LeaseInUse, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease,
};
pub use client::IpLeaseClient;
pub use lendable::lessor_of;

use crate::limits::{IP_LEASE_GRANT_AHEAD as LEND_AHEAD, IP_LEASE_TERM as TERM};
use std::time::Duration;

/// Who has not asked again for so long waits no more.
const FORGET_AFTER: Duration = Duration::from_secs(7);
/// The borrower is reminded that others wait no more often than this.
const REMIND: Duration = Duration::from_secs(1);
