//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second leaves at once. The state on
//! disk holds either way.

use crate::exit::STOPPED;
use crate::screen;
use anyhow::Context;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whether a signal has come.
#[derive(Clone, Debug)]
pub struct Signals(Arc<AtomicBool>);

impl Signals {
    /// Listens from now on, for as long as the process lives. `farewell` is run before the second
    /// signal ends the process.
    ///
    /// # Errors
    /// When the system refuses a handler or a thread.
    pub fn listen(farewell: impl FnOnce() + Send + 'static) -> anyhow::Result<Self> {
        let came = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (interrupts, terms) = {
            let _guard = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        let flag = Arc::clone(&came);
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || runtime.block_on(watch(interrupts, terms, &flag, farewell)))
            .context("no thread for the signals")?;
        Ok(Self(came))
    }

    /// Whether an orderly end was asked for.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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

async fn watch(
    mut interrupts: Signal,
    mut terms: Signal,
    came: &AtomicBool,
    farewell: impl FnOnce(),
) {
    next(&mut interrupts, &mut terms).await;
    came.store(true, Ordering::Relaxed);
    next(&mut interrupts, &mut terms).await;
    screen::restore();
    farewell();
    std::process::exit(i32::from(STOPPED));
}

async fn next(interrupts: &mut Signal, terms: &mut Signal) {
    tokio::select! {
        _ = interrupts.recv() => {}
        _ = terms.recv() => {}
    }
}
