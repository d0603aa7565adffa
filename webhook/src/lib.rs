//! A webhook that receives captures as they are archived, signed as the Standard Webhooks specification has it.
//!
//! ```text
//!  indexes of the archive, up to the synced end ──► one batch ──► POST ──► place file
//!                                                      ▲          │
//!                                                      └── pause ─┘ (any other answer than 2xx)
//! ```
//!
//! Nothing is queued: the captures wait in the archive. A batch is sent until it is answered with success, so each
//! capture arrives at least once, and in order. The place after the last batch is in a file, for the next start.
#![forbid(unsafe_code)]

mod client;
mod place_file;
mod secret;
mod sender;
#[cfg(test)]
mod tests;

pub use client::WebhookError;
pub use secret::{SECRET_VARIABLE, SecretError, WebhookSecret};
pub use sender::{WebhookSender, WebhookSource};
