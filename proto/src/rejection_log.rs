//! Log messages about rejected connections, at most one per minute for each node and reason.

use crate::tls::{RejectedBy, Rejection, RejectionKind};
use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Time between two messages with the same key.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum number of keys in memory. Further keys are not logged.
const KEYS_MAX: usize = 1_024;

/// Time of the last message for each key.
#[derive(Debug)]
pub(crate) struct RejectionLog {
    clock: Clock,
    logged: Mutex<Logged>,
}

/// Messages by key: the node, the side that rejects, and the kind of reason.
type Logged = HashMap<(String, RejectedBy, RejectionKind), Timestamp>;

impl Default for RejectionLog {
    fn default() -> Self {
        Self { clock: Clock::start(), logged: Mutex::default() }
    }
}

/// Returns true if a message is due for a key. If so, records `now` as the time of its last
/// message.
fn is_due(
    logged: &mut Logged,
    node: &str,
    (by, kind): (RejectedBy, RejectionKind),
    now: Timestamp,
) -> bool {
    let key = (node.to_owned(), by, kind);
    if logged.get(&key).is_some_and(|&at| now.since(at) < LOG_INTERVAL) {
        return false;
    }
    if logged.len() >= KEYS_MAX {
        logged.retain(|_, &mut at| now.since(at) < LOG_INTERVAL);
    }
    if logged.len() >= KEYS_MAX {
        return false;
    }
    logged.insert(key, now);
    true
}

impl RejectionLog {
    /// Returns true if a message about `node` is due. If so, counts it as logged.
    pub(crate) fn is_due(&self, node: &str, by: RejectedBy, kind: RejectionKind) -> bool {
        is_due(&mut self.logged.lock(), node, (by, kind), self.clock.now())
    }

    /// Logs a rejected connection from `address`, which belongs to `node`.
    pub(crate) fn log_inbound(&self, node: &str, address: &str, rejection: &Rejection) {
        let verdicts = ("is rejected", "connected but does not trust this node");
        self.log(node, address, rejection, verdicts);
    }

    /// Logs a failed connection to `address`. Returns the message.
    pub(crate) fn log_outbound(&self, address: &str, rejection: &Rejection) -> String {
        self.log(address, address, rejection, ("is not trusted", "rejects this node"))
    }

    /// `local` and `remote` describe the address if this node or the other one rejects it.
    fn log(
        &self,
        node: &str,
        address: &str,
        Rejection { by, kind, text }: &Rejection,
        (local, remote): (&str, &str),
    ) -> String {
        let message = match by {
            RejectedBy::Local => format!("{address} {local}: {text}"),
            RejectedBy::Remote => format!("{address} {remote}: {text}"),
            RejectedBy::Neither => format!("{address}: {text}"),
        };
        match by {
            // Port scans and health checks end here.
            RejectedBy::Neither => tracing::debug!("{message}"),
            _ if self.is_due(node, *by, *kind) => tracing::warn!("{message}"),
            _ => {}
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPIRED: (RejectedBy, RejectionKind) = (RejectedBy::Local, RejectionKind::Expired);

    #[test]
    fn a_message_is_logged_once_a_minute_and_memory_is_bounded() {
        let (mut logged, begin) = (Logged::new(), Timestamp::from_secs(1_000));
        assert!(is_due(&mut logged, "a", EXPIRED, begin));
        assert!(!is_due(&mut logged, "a", EXPIRED, begin + Duration::from_secs(59)));
        assert!(is_due(&mut logged, "a", (RejectedBy::Local, RejectionKind::Authority), begin));
        assert!(is_due(&mut logged, "a", (RejectedBy::Remote, RejectionKind::Expired), begin));
        assert!(is_due(&mut logged, "b", EXPIRED, begin));
        assert!(is_due(&mut logged, "a", EXPIRED, begin + LOG_INTERVAL));
        for n in 0..2 * KEYS_MAX {
            is_due(&mut logged, &n.to_string(), EXPIRED, begin);
        }
        assert_eq!(logged.len(), KEYS_MAX);
        assert!(!is_due(&mut logged, "one more", EXPIRED, begin));
        assert!(is_due(&mut logged, "one more", EXPIRED, begin + 2 * LOG_INTERVAL));
        assert!(logged.len() <= 2, "{}", logged.len());
    }
}
