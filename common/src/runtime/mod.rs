//! Process setup for the binaries: file limits, log filter, token, directories and files.

mod files;
mod identity_key;
mod log_level;
mod low_priority;
mod private_dir;
mod replace_file;
mod secret_file;
mod token;

pub use files::{open_files, raise_open_files};
pub use identity_key::IdentityKeyError;
pub use log_level::{parse_log_filter, register_log, set_log_filter};
pub use low_priority::lower_priority;
pub use private_dir::create_private_dir;
pub use replace_file::{Replacement, replace_file, replacement_path};
pub use secret_file::{
    SecretFileError, read_secret, warn_if_exposed, write_new_secret, write_secret,
};
pub use token::{TOKEN_CHARS_MAX, TOKEN_CHARS_MIN, Token, TokenError, TokenFormatError};
