//! The thread that merges the index of near-duplicates.

use crate::process::near::NearIndex;
use crate::shared::lifecycle::Lifecycle;
use crate::shared::panic_guard::spawn;
use crivello_common::runtime::lower_priority;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks for pages to merge.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Pause after a failure.
const PAUSE: Duration = Duration::from_secs(60);

/// Starts the thread. It ends with the run.
///
/// # Errors
/// If the system cannot start a thread.
pub fn start_near_merger(
    lifecycle: &Arc<Lifecycle>,
    near: Arc<NearIndex>,
) -> io::Result<JoinHandle<()>> {
    let run = lifecycle.clone();
    spawn(lifecycle, "near-merger", move || {
        lower_priority();
        let mut pause = LOOK_EVERY;
        while run.wait(pause).is_none() {
            pause = match near.store.merge(&|| run.is_over()) {
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    tracing::warn!(%error, "cannot merge the index of near-duplicates; trying again each minute");
                    PAUSE
                }
                _ => LOOK_EVERY,
            };
        }
    })
}
