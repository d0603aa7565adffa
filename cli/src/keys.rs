//! Keys pressed while a crawl is shown, read one by one without echo. Ctrl-C still sends a signal.

use crate::screen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Read, stdin};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};

/// Time to wait for a key before checking whether [`Keys`] was dropped.
const POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Reader of keys from the terminal, until dropped.
pub struct Keys {
    pressed: Receiver<u8>,
    /// Original mode of the terminal.
    pub mode: Termios,
}

/// Restores the mode of the terminal.
pub fn restore(mode: &Termios) {
    let _ = tcsetattr(stdin(), OptionalActions::Now, mode);
}

impl Keys {
    /// Starts to read keys. Returns `None` if standard input or standard error is not a terminal.
    pub fn listen() -> Option<Self> {
        if !stdin().is_terminal() || !screen::can_draw() {
            return None;
        }
        let pressed = read()?;
        let mode = tcgetattr(stdin()).ok()?;
        let mut single = mode.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(stdin(), OptionalActions::Now, &single).ok()?;
        Some(Self { pressed, mode })
    }

    /// Returns the next pressed key, if any.
    pub fn next(&self) -> Option<char> {
        self.pressed.try_iter().find(|&key| key != 0).map(char::from)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore(&self.mode);
    }
}

/// Starts a thread that reads keys and ends once the receiver is dropped.
fn read() -> Option<Receiver<u8>> {
    let (press, pressed) = sync_channel(16);
    let reading = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        loop {
            let ready = {
                let stdin = stdin();
                let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
                poll(&mut asked, Some(&POLL_TIMEOUT)).unwrap_or(0) > 0
            };
            // A zero byte is not a key: it only detects a dropped receiver.
            let mut key = [0];
            if ready && !matches!(stdin().read(&mut key), Ok(1)) {
                return;
            }
            if let Err(TrySendError::Disconnected(_)) = press.try_send(key[0]) {
                return;
            }
        }
    });
    reading.ok().map(|_| pressed)
}
