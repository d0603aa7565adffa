//! What the binaries set themselves up with.

mod files;
mod log_level;
mod token;

pub use files::{open_files, raise_open_files};
pub use log_level::{log_began, log_filter, set_log_filter};
pub use token::{BadToken, TOKEN_CHARS_MAX, TOKEN_CHARS_MIN, Token, TokenError};
