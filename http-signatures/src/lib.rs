//! HTTP message signatures (RFC 9421) with which a crawler identifies itself: Web Bot Auth.
//!
//! ```text
//!  private key, Signature-Agent ──► request_signer ──► three headers of a request
//!                         │
//!                         └──► key_directory ──► JWKS and its signed headers, for a web server
//! ```
//!
//! Nothing here reads a clock or opens a socket.
#![forbid(unsafe_code)]

mod base;
mod key;
mod key_directory;
mod request_signer;
mod signature_agent;
#[cfg(test)]
mod vectors;

pub use key::{KeyError, PrivateKey};
pub use key_directory::{DIRECTORY_FILE, KeyDirectory};
pub use request_signer::{RequestSigner, SignatureHeaders};
pub use signature_agent::SignatureAgent;
