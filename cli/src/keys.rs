//! Keys that are pressed while a crawl is shown: read one by one, not shown, and without taking
//! Ctrl-C from anybody.

use crate::screen;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{IsTerminal, Read, stdin};
use std::sync::mpsc::{Receiver, sync_channel};

/// How long the terminal is waited for before it is asked whether anybody still listens.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The terminal's keyboard, while this lives.
pub struct Keys {
    pressed: Receiver<u8>,
    mode: Mode,
}

/// The terminal as it was.
#[derive(Clone)]
pub struct Mode(Termios);

impl Mode {
    /// Makes it so again.
    pub fn restore(&self) {
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

impl Keys {
    /// Listens; `None` where there is no terminal to listen to, or none to show anything on.
    pub fn listen() -> Option<Self> {
        if !stdin().is_terminal() || !screen::can_draw() {
            return None;
        }
        let pressed = read()?;
        let before = tcgetattr(stdin()).ok()?;
        let mut single = before.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        tcsetattr(stdin(), OptionalActions::Now, &single).ok()?;
        Some(Self { pressed, mode: Mode(before) })
    }

    /// The next one that was pressed, if any was.
    pub fn next(&self) -> Option<char> {
        self.pressed.try_iter().find(|&key| key != 0).map(char::from)
    }

    /// The terminal as it was before.
    pub fn mode(&self) -> Mode {
        self.mode.clone()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.mode.restore();
    }
}

/// Reads on a thread of its own, which leaves once nobody listens.
fn read() -> Option<Receiver<u8>> {
    let (press, pressed) = sync_channel(16);
    let reading = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        loop {
            let ready = {
                let stdin = stdin();
                let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
                poll(&mut asked, Some(&PATIENCE)).unwrap_or(0) > 0
            };
            // Nothing is sent: a zero byte is no key.
            let mut key = [0];
            if ready && !matches!(stdin().read(&mut key), Ok(1)) {
                return;
            }
            if let Err(std::sync::mpsc::TrySendError::Disconnected(_)) = press.try_send(key[0]) {
                return;
            }
        }
    });
    reading.ok().map(|_| pressed)
}
