//! The thread that makes the sets of payloads that this agent has archived, for other agents.

use crate::process::payloads::{OwnPayloads, PayloadScan};
use crate::shared::Shared;
use crate::shared::panic_guard::spawn;
use crivello_common::runtime::lower_priority;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks for digests.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Pause between two steps of the scan.
const SCAN_PAUSE: Duration = Duration::from_millis(1);
/// Pause after a failure.
const PAUSE: Duration = Duration::from_secs(60);

/// Starts the thread. It ends with the run.
///
/// # Errors
/// If the system cannot start a thread.
pub fn start_payload_sets(shared: &Shared, own: Arc<OwnPayloads>) -> io::Result<JoinHandle<()>> {
    let Shared { lifecycle, clock, settings, measured, .. } = shared.clone();
    let interval = settings.state.digests_interval;
    spawn(&shared.lifecycle, "payload-sets", move || {
        lower_priority();
        let (mut scan, mut pause) = (Some(PayloadScan::default()), SCAN_PAUSE);
        let (mut published_at, mut is_reported) = (clock.now(), false);
        while lifecycle.wait(pause).is_none() {
            pause = LOOK_EVERY;
            if let Some(rest) = scan.take() {
                (scan, pause) = match own.scan(rest) {
                    Ok(rest) => (rest, SCAN_PAUSE),
                    Err(error) => {
                        tracing::warn!(%error, "cannot read the payloads for other agents; trying again in a minute");
                        (Some(PayloadScan::default()), PAUSE)
                    }
                };
            }
            let now = clock.now();
            if now.since(published_at) >= interval || own.is_due() {
                published_at = now;
                if let Err(error) = own.publish() {
                    tracing::error!(%error, "no set of the latest payloads: this is a bug");
                }
            }
            let (counts, sets, left_out) = (&measured.payloads, own.list(), own.left_out());
            counts.own_digests.store(sets.iter().map(|(_, n, _)| n).sum(), Relaxed);
            counts.own_bytes.store(sets.iter().map(|(_, _, bytes)| bytes).sum(), Relaxed);
            counts.own_left_out.store(left_out, Relaxed);
            if left_out > 0 && !std::mem::replace(&mut is_reported, true) {
                tracing::warn!(
                    "state.digests-memory is too small: other agents will archive some payloads again that this agent has"
                );
            }
        }
    })
}
