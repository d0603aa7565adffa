//! Input that may be long in coming: a pipe, a terminal, or a file, which never waits.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// How long input is waited for before whoever asks is told that there is none just now.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Bytes to read of which one can know whether there are any.
pub trait Input: BufRead {
    /// Waits a little for bytes, or the end of them, that can be read without waiting; `false`
    /// when there was nothing.
    ///
    /// # Errors
    /// Of the system.
    fn is_ready(&mut self) -> io::Result<bool>;
}

impl Input for BufReader<File> {
    fn is_ready(&mut self) -> io::Result<bool> {
        if !self.buffer().is_empty() {
            return Ok(true);
        }
        let mut asked = [PollFd::new(self.get_ref(), PollFlags::IN)];
        match poll(&mut asked, Some(&PATIENCE)) {
            Ok(n) => Ok(n > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
