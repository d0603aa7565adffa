//! Exit codes, and the error line on standard error.

use crivello_agent::AgentError;
use crivello_coordinator::CoordinatorError;
use std::fmt;
use std::io::Write;

/// An end without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Finished,
    /// `crivello robots`: some URL is not allowed. `crivello check-expression`: some URL is not admitted.
    Disallowed,
    /// `crivello why`: no agent knows the subject.
    Unknown,
    /// `crivello simweb judge`: the visitor broke a promise.
    Impolite,
    /// `crivello archive`: a file is damaged.
    Damaged,
    /// Stopped by a signal; the state is saved.
    Stopped,
    /// `crivello wait`: timed out. `crivello set` and similar: not yet in force at all agents.
    NotYet,
}

/// Exit code of a stopped run, as shells report Ctrl-C.
pub const STOPPED: u8 = 130;
/// Exit code of a usage error (`EX_USAGE` of sysexits.h).
pub const USAGE: u8 = 64;
/// Exit code of a temporary failure (`EX_TEMPFAIL`).
pub const NOT_YET: u8 = 75;
/// Exit code of all other errors (`EX_SOFTWARE`).
pub const INTERNAL: u8 = 70;

/// An end with an error.
#[derive(Debug)]
pub enum CliError {
    /// Wrong arguments, settings or files: another command line would succeed.
    Usage(anyhow::Error),
    /// Any other failure.
    Internal(anyhow::Error),
    /// Stopped by a signal before anything was started.
    Stopped(anyhow::Error),
}

/// Creates a usage error from a format string and its arguments.
macro_rules! usage {
    ($($text:tt)*) => { $crate::exit::CliError::usage(format!($($text)*)) };
}
pub(crate) use usage;

impl CliError {
    /// Creates a usage error.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(anyhow::Error::msg(message.to_string()))
    }

    const fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Internal(_) => INTERNAL,
            Self::Stopped(_) => STOPPED,
        }
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(error) | Self::Internal(error) | Self::Stopped(error)) = self;
        write!(f, "{error:#}")
    }
}

impl From<anyhow::Error> for CliError {
    fn from(error: anyhow::Error) -> Self {
        Self::Internal(error)
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<AgentError> for CliError {
    fn from(error: AgentError) -> Self {
        if error.is_usage() { Self::Usage(error.into()) } else { Self::Internal(error.into()) }
    }
}

impl From<CoordinatorError> for CliError {
    fn from(error: CoordinatorError) -> Self {
        if error.is_usage() { Self::Usage(error.into()) } else { Self::Internal(error.into()) }
    }
}

/// Prints an error, help or version of clap, and returns the exit code: 0 for help and version.
pub fn print_clap_error(error: &clap::Error) -> u8 {
    // A closed pipe does not change the exit code.
    let _ = error.print();
    if error.use_stderr() { USAGE } else { 0 }
}

/// Prints an error on one line, and returns the exit code.
pub fn print_result(result: Result<Exit, CliError>) -> u8 {
    match result {
        Ok(Exit::Finished) => 0,
        Ok(Exit::Disallowed | Exit::Unknown | Exit::Impolite | Exit::Damaged) => 1,
        Ok(Exit::Stopped) => STOPPED,
        Ok(Exit::NotYet) => NOT_YET,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "crivello: {error}");
            error.code()
        }
    }
}

/// Ends the process without running destructors of static data. Destructors of RocksDB abort if a
/// thread that was asked to end still uses a database. All durable data is already saved.
pub fn exit_now(code: u8) -> ! {
    let _ = std::io::stdout().flush();
    // SAFETY: it reads nothing but its argument and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}
