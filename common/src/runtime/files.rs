//! The limit on open files and sockets of this process.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Returns the soft limit in force (`RLIMIT_NOFILE`); `u64::MAX` if there is none.
#[must_use]
pub fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the soft limit to the hard limit, for this process and its children.
///
/// # Errors
/// Fails if the system call fails. The limit is then unchanged.
pub fn raise_open_files() -> Result<(), Errno> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return Ok(());
    }
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
}
