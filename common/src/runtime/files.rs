//! How many files and sockets the system lets this process open.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit in force (`RLIMIT_NOFILE`, soft); `u64::MAX` without one.
#[must_use]
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the limit as far as the system allows, for this process and its children.
///
/// # Errors
/// When the system refuses; the limit is then what it was.
pub fn raise_open_files() -> Result<(), Errno> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return Ok(());
    }
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
}
