//! What the binaries set themselves up with.

mod files;
mod token;

pub use files::{open_files, raise_open_files};
pub use token::{BadToken, TOKEN_CHARS_MAX, TOKEN_CHARS_MIN, Token, TokenError};
