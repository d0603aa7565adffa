//! Looks whether the files have changed.

use super::files::{Files, Pem, Set};
use super::{Inner, TlsError};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What was read, or why nothing was.
type Read = Result<Pem, String>;

/// Which of what is read is to be judged: what two looks in a row have shown, because files are
/// written one after the other, and once only.
#[derive(Debug)]
pub(super) struct Looks {
    last: Read,
    judged: Read,
}

impl Looks {
    pub(super) fn new(in_force: Pem) -> Self {
        Self { last: Ok(in_force.clone()), judged: Ok(in_force) }
    }

    /// Whether this is to be judged now.
    pub(super) fn is_due(&mut self, read: &Read) -> bool {
        let rests = self.last == *read;
        let is_new = self.judged != *read;
        if !rests {
            self.last = read.clone();
        } else if is_new {
            self.judged = read.clone();
        }
        rests && is_new
    }
}

/// Until nobody needs them.
pub(super) async fn watch(of: Weak<Inner>, files: Files) {
    let Some(inner) = of.upgrade() else { return };
    let mut looks = Looks::new(inner.set.load().pem.clone());
    drop(inner);
    loop {
        sleep(LOOK_EVERY).await;
        let reads = files.clone();
        let read = spawn_blocking(move || reads.read().map_err(|e: TlsError| e.to_string())).await;
        let Ok(read) = read else { continue };
        let Some(inner) = of.upgrade() else { return };
        if looks.is_due(&read) {
            inner.judge(read, &files);
        }
    }
}

impl Inner {
    /// Puts what was read in force, if it can be used.
    pub(super) fn judge(&self, read: Read, files: &Files) {
        if read.as_ref().is_ok_and(|pem| *pem == self.set.load().pem) {
            tracing::info!("the TLS files are again those in force");
            return;
        }
        let set = read.and_then(|pem| Set::try_from(pem).map_err(|error| error.to_string()));
        match set {
            Ok(set) => {
                set.warn();
                self.set.store(Arc::new(set));
                tracing::info!(
                    "the TLS files have changed: new connections use {}, those that are there go on",
                    files.cert.display()
                );
            }
            Err(why) => tracing::warn!(
                "the TLS files have changed and are not used, those read before stay in force: {why}"
            ),
        }
    }
}
