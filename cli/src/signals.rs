//! Ctrl-C and SIGTERM: the first signal requests an orderly stop, the second ends the process at
//! once. The state on disk is consistent either way.

use crate::exit::{self, STOPPED};
use crate::screen;
use anyhow::Context;
use std::sync::mpsc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Maximum time for `before_exit`: standard error may be a pipe without a reader.
const BEFORE_EXIT_MAX: Duration = Duration::from_millis(500);

/// State of the stop request: set once a signal is received.
#[derive(Clone, Debug, Default)]
pub struct Signals(CancellationToken);

impl Signals {
    /// Listens for signals for the life of the process. `before_exit` runs before the second signal
    /// ends the process.
    ///
    /// # Errors
    /// Fails if a signal handler or a thread cannot be installed.
    pub fn listen(before_exit: impl FnOnce() + Send + 'static) -> anyhow::Result<Self> {
        let signals = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (mut interrupts, mut terms) = {
            let _guard = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let first = signals.clone();
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(next(&mut interrupts, &mut terms));
                first.set();
                runtime.block_on(next(&mut interrupts, &mut terms));
                exit_after(before_exit);
            })
            .context("cannot start the signal thread")?;
        Ok(signals)
    }

    /// Returns true if an orderly stop was requested.
    pub fn received(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Requests an orderly stop.
    pub fn set(&self) {
        self.0.cancel();
    }

    /// Returns the token that is cancelled by the first signal.
    pub const fn token(&self) -> &CancellationToken {
        &self.0
    }
}

/// Waits for the first signal. Later signals are ignored.
///
/// # Errors
/// Fails if a signal handler cannot be installed.
pub async fn first() -> std::io::Result<()> {
    let (mut interrupts, mut terms) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    next(&mut interrupts, &mut terms).await;
    Ok(())
}

async fn next(interrupts: &mut Signal, terms: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terms.recv() => {}
    }
}

fn exit_after(before_exit: impl FnOnce() + Send + 'static) -> ! {
    let (done, finished) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().spawn(move || {
        screen::restore();
        before_exit();
        let _ = done.send(());
    });
    if thread.is_ok() {
        let _ = finished.recv_timeout(BEFORE_EXIT_MAX);
    }
    exit::exit_now(STOPPED)
}
