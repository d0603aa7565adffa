//! Detection of inputs that never end.

use crate::failure::FuzzFailure;
use crate::target::FuzzTarget;
use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Time after which an input counts as endless. Ordinary inputs take less than 0.1 s.
const ENDLESS: Duration = Duration::from_secs(30);
/// Pause between two checks.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// The input that is being read: its name, its bytes, and the time at which it began.
type Current = Option<(String, Vec<u8>, Timestamp)>;

/// A thread that ends the process if an input takes too long.
pub struct Watchdog {
    clock: Clock,
    current: Arc<Mutex<Current>>,
}

impl Watchdog {
    /// Starts the thread. It ends some time after the watchdog is dropped.
    pub fn start(target: &FuzzTarget, clock: Clock) -> Self {
        let current = Arc::<Mutex<Current>>::default();
        let (watched, target) = (Arc::downgrade(&current), *target);
        thread::spawn(move || {
            while let Some(current) = watched.upgrade() {
                let endless =
                    current.lock().take_if(|(_, _, begun)| clock.now().since(*begun) > ENDLESS);
                if let Some((case, input, _)) = endless {
                    give_up(&target, case, &input);
                }
                drop(current);
                thread::sleep(CHECK_EVERY);
            }
        });
        Self { clock, current }
    }

    /// Notes the input that is read from now on.
    pub fn begin(&self, case: &str, input: &[u8]) {
        *self.current.lock() = Some((case.to_owned(), input.to_vec(), self.clock.now()));
    }

    /// Notes that it was read.
    pub fn end(&self) {
        *self.current.lock() = None;
    }
}

#[expect(clippy::print_stderr, reason = "the process ends here")]
fn give_up(target: &FuzzTarget, case: String, input: &[u8]) {
    let problem = format!("it did not end within {ENDLESS:?}");
    eprintln!("{}", FuzzFailure::record(target, case, &problem, input));
    std::process::exit(3);
}
