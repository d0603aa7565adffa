//! Ctrl-C and SIGTERM: the first signal requests an orderly stop, the second ends the process at
//! once. The state on disk is consistent either way.

use crate::exit::{self, STOPPED};
use crate::screen;
use anyhow::Context;
use std::io;
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Maximum time for `before_exit`: standard error may be a pipe without a reader.
const BEFORE_EXIT_MAX: Duration = Duration::from_millis(500);

/// Listens for signals for the life of the process. Returns the token that the first signal
/// cancels. `before_exit` runs before the second signal ends the process.
///
/// # Errors
/// Fails if a signal handler or a thread cannot be installed.
pub fn listen(before_exit: impl FnOnce() + Send + 'static) -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        // The caller may be within another runtime, where `block_on` would panic.
        let _guard = runtime.enter();
        handlers()?
    };
    let first = stop.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(next(&mut signals));
            first.cancel();
            runtime.block_on(next(&mut signals));
            exit_after(before_exit);
        })
        .context("cannot start the signal thread")?;
    Ok(stop)
}

/// Waits for the first signal. Later signals are ignored.
///
/// # Errors
/// Fails if a signal handler cannot be installed.
pub async fn first() -> io::Result<()> {
    next(&mut handlers()?).await;
    Ok(())
}

/// Installs the handlers of both signals. Must be called within a runtime.
fn handlers() -> io::Result<(Signal, Signal)> {
    Ok((signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
}

async fn next((interrupts, terms): &mut (Signal, Signal)) {
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
