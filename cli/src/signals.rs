//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second leaves at once. The state on
//! disk holds either way.

use crate::exit::{self, STOPPED};
use crate::screen;
use anyhow::Context;
use std::sync::mpsc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Whoever leaves at once does not wait longer for a screen that takes nothing: standard error may
/// be a pipe that nobody reads.
const FAREWELL: Duration = Duration::from_millis(500);

/// Whether a signal has come.
#[derive(Clone, Debug, Default)]
pub struct Signals(CancellationToken);

impl Signals {
    /// Listens from now on, for as long as the process lives. `farewell` is run before the second
    /// signal ends the process, which does not wait long for it.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub fn listen(farewell: impl FnOnce() + Send + 'static) -> anyhow::Result<Self> {
        let signals = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (interrupts, terms) = {
            let _guard = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let heard = signals.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(both(interrupts, terms, &heard));
                leave(farewell);
            })
            .context("no thread for the signals")?;
        Ok(signals)
    }

    /// Whether an orderly end was asked for.
    pub fn came(&self) -> bool {
        self.0.is_cancelled()
    }

    /// One has come.
    pub fn come(&self) {
        self.0.cancel();
    }

    /// Cancelled when one has come.
    pub const fn token(&self) -> &CancellationToken {
        &self.0
    }
}

/// Waits for the first signal. Those after it are taken note of by nobody.
///
/// # Errors
/// When the system refuses a handler.
pub async fn first() -> std::io::Result<()> {
    let (mut interrupts, mut terms) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    next(&mut interrupts, &mut terms).await;
    Ok(())
}

/// Returns when the second signal comes.
async fn both(mut interrupts: Signal, mut terms: Signal, signals: &Signals) {
    next(&mut interrupts, &mut terms).await;
    signals.come();
    next(&mut interrupts, &mut terms).await;
}

async fn next(interrupts: &mut Signal, terms: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terms.recv() => {}
    }
}

fn leave(farewell: impl FnOnce() + Send + 'static) -> ! {
    let (done, said) = mpsc::sync_channel(1);
    let taking_leave = std::thread::Builder::new().spawn(move || {
        screen::restore();
        farewell();
        let _ = done.send(());
    });
    if taking_leave.is_ok() {
        let _ = said.recv_timeout(FAREWELL);
    }
    exit::leave(STOPPED)
}
