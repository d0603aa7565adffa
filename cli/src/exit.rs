//! How the program ends: its exit codes, and what is said on standard error.

use crivello_agent::AgentError;
use crivello_coordinator::CoordinatorError;
use std::fmt;
use std::io::Write;

/// An end that is not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Finished,
    /// `crivello robots`: some URL is not allowed.
    Disallowed,
    /// `crivello why`: nobody knows of it.
    Unknown,
    /// `crivello simweb judge`: the visitor broke a promise.
    Impolite,
    /// Stopped by a signal; the state is saved.
    Stopped,
    /// `crivello wait`: not done in the time it had; `crivello set` and the like: not yet in force at
    /// every agent.
    NotYet,
}

/// The code of a stopped run, as shells give it to what Ctrl-C ended.
pub const STOPPED: u8 = 130;
/// The code of a mistake in what was typed (`EX_USAGE` of sysexits.h).
pub const USAGE: u8 = 64;
/// The code of what may be tried again (`EX_TEMPFAIL`).
pub const NOT_YET: u8 = 75;
/// The code of everything else that went wrong (`EX_SOFTWARE`).
pub const INTERNAL: u8 = 70;

/// An end that is an error.
#[derive(Debug)]
pub enum Trouble {
    /// Mended by typing something else.
    Usage(anyhow::Error),
    /// Not so.
    Internal(anyhow::Error),
    /// A signal came before anything was begun.
    Stopped(anyhow::Error),
}

impl Trouble {
    /// A mistake in what was typed.
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

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(error) | Self::Internal(error) | Self::Stopped(error)) = self;
        write!(f, "{error:#}")
    }
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Internal(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Self::Internal(error.into())
    }
}

impl From<AgentError> for Trouble {
    fn from(error: AgentError) -> Self {
        let is_usage = error.is_usage();
        let error = anyhow::Error::new(error);
        if is_usage { Self::Usage(error) } else { Self::Internal(error) }
    }
}

impl From<CoordinatorError> for Trouble {
    fn from(error: CoordinatorError) -> Self {
        let is_usage = error.is_usage();
        let error = anyhow::Error::new(error);
        if is_usage { Self::Usage(error) } else { Self::Internal(error) }
    }
}

/// Says what clap says: help and versions are no errors, all else is a usage error.
pub fn refuse(refusal: &clap::Error) -> u8 {
    let code = if refusal.use_stderr() { USAGE } else { 0 };
    // A closed pipe is no reason for another code.
    let _ = refusal.print();
    code
}

/// Says what went wrong, on one line, and chooses the code.
pub fn report(end: Result<Exit, Trouble>) -> u8 {
    match end {
        Ok(Exit::Finished) => 0,
        Ok(Exit::Disallowed | Exit::Unknown | Exit::Impolite) => 1,
        Ok(Exit::Stopped) => STOPPED,
        Ok(Exit::NotYet) => NOT_YET,
        Err(trouble) => {
            let code = trouble.code();
            let _ = writeln!(std::io::stderr(), "crivello: {trouble}");
            code
        }
    }
}

/// Ends the process, and runs no destructors of static data: those of RocksDB abort while one of our
/// threads that was told to end still has a database in its hands. Whatever is to last was saved before.
pub fn leave(code: u8) -> ! {
    let _ = std::io::stdout().flush();
    // SAFETY: it reads nothing but its argument and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}
