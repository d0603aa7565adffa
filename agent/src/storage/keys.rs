//! Keys of the column families; see the table in [`super`].

use crate::messages::QueueKey;
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};

/// Length of a key of `seen` and of `hosts`.
pub const PAIR: usize = 16;
/// Length of a key of `frontier`.
pub const FRONTIER: usize = 25;
/// Length of a key of `schedule`.
pub const SCHEDULE: usize = 24;
/// Length of a key of `robots`.
pub const ROBOTS: usize = 19;

fn pair(a: [u8; 8], b: [u8; 8]) -> [u8; PAIR] {
    let mut key = [0; PAIR];
    key[..8].copy_from_slice(&a);
    key[8..].copy_from_slice(&b);
    key
}

fn eight(bytes: &[u8]) -> Option<[u8; 8]> {
    bytes.first_chunk::<8>().copied()
}

/// Returns a bound above all keys of `group`.
#[must_use]
pub fn end_of_group(group: GroupHash) -> [u8; 9] {
    let mut end = [0xff; 9];
    end[..8].copy_from_slice(&group.to_bytes());
    increment(&mut end);
    end
}

/// Returns a bound above all keys of `host` in `frontier` and `robots`.
#[must_use]
pub fn end_of_host(host_key: HostKey) -> [u8; PAIR] {
    let mut end = host(host_key);
    increment(&mut end);
    end
}

/// Increments a big-endian number; the largest stays.
pub fn increment(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
    bytes.fill(0xff);
}

/// Returns a key of `seen`.
#[must_use]
pub fn seen(key: UrlKey) -> [u8; PAIR] {
    pair(key.group.to_bytes(), key.url.to_bytes())
}

/// Returns a key of `hosts`, which is also the prefix of a host's keys in `frontier` and `robots`.
#[must_use]
pub fn host(key: HostKey) -> [u8; PAIR] {
    pair(key.group.to_bytes(), key.host.to_bytes())
}

/// Returns the key in `hosts` of a group's own row.
#[must_use]
pub fn group(group: GroupHash) -> [u8; PAIR] {
    pair(group.to_bytes(), [0; 8])
}

/// Returns the host in a key of [`host`], or in a longer key that begins with one.
#[must_use]
pub fn read_host(key: &[u8]) -> Option<HostKey> {
    Some(HostKey {
        group: GroupHash::from_bytes(eight(key)?),
        host: HostHash::from_bytes(eight(key.get(8..)?)?),
    })
}

/// Returns a key of `frontier`.
#[must_use]
pub fn frontier(of: HostKey, queue_key: QueueKey) -> [u8; FRONTIER] {
    let mut key = [0; FRONTIER];
    key[..16].copy_from_slice(&host(of));
    key[16] = queue_key.priority;
    key[17..].copy_from_slice(&queue_key.seq.to_be_bytes());
    key
}

/// Returns the queue key in a key of `frontier`.
#[must_use]
pub fn read_queue_key(key: &[u8]) -> Option<QueueKey> {
    let seq = eight(key.get(17..FRONTIER)?)?;
    Some(QueueKey { priority: key[16], seq: u64::from_be_bytes(seq) })
}

/// Returns a key of `schedule`.
#[must_use]
pub fn schedule(at: Timestamp, of: HostKey) -> [u8; SCHEDULE] {
    let mut key = [0; SCHEDULE];
    key[..8].copy_from_slice(&at.0.to_be_bytes());
    key[8..].copy_from_slice(&host(of));
    key
}

/// Returns the time and host in a key of [`schedule`].
#[must_use]
pub fn read_schedule(key: &[u8]) -> Option<(Timestamp, HostKey)> {
    Some((Timestamp(u64::from_be_bytes(eight(key)?)), read_host(key.get(8..)?)?))
}

/// Returns a key of `robots`.
#[must_use]
pub fn robots(of: HostKey, origin: Origin) -> [u8; ROBOTS] {
    let mut key = [0; ROBOTS];
    key[..16].copy_from_slice(&host(of));
    key[16] = origin.scheme as u8;
    key[17..].copy_from_slice(&origin.port.to_be_bytes());
    key
}

/// Returns the origin in a key of `robots`.
#[must_use]
pub fn read_origin(key: &[u8]) -> Option<Origin> {
    let tail: [u8; 3] = key.get(16..ROBOTS)?.try_into().ok()?;
    Some(Origin {
        scheme: Scheme::from_code(tail[0])?,
        port: u16::from_be_bytes([tail[1], tail[2]]),
    })
}

/// Returns the group at the start of a key of `seen`.
#[must_use]
pub fn read_group(key: &[u8]) -> Option<GroupHash> {
    key.get(..8)?.try_into().ok().map(GroupHash::from_bytes)
}

/// Returns the URL's hash in a key of `seen`.
#[must_use]
pub fn read_url_hash(key: &[u8]) -> Option<UrlHash> {
    Some(UrlHash::from_bytes(eight(key.get(8..PAIR)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn host_key(group: u64, host: u64) -> HostKey {
        HostKey { group: GroupHash(group), host: HostHash(host) }
    }

    proptest! {
        #[test]
        fn frontier_keys_order_by_host_then_place(a: (u64, u64, u8, u64), b: (u64, u64, u8, u64)) {
            let key = |t: (u64, u64, u8, u64)| {
                frontier(host_key(t.0, t.1), QueueKey { priority: t.2, seq: t.3 })
            };
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
            prop_assert_eq!(read_queue_key(&key(a)), Some(QueueKey { priority: a.2, seq: a.3 }));
            prop_assert_eq!(read_host(&key(a)), Some(host_key(a.0, a.1)));
        }

        #[test]
        fn schedule_keys_order_by_time(a: (u64, u64, u64), b: (u64, u64, u64)) {
            let key = |t: (u64, u64, u64)| schedule(Timestamp(t.0), host_key(t.1, t.2));
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
            prop_assert_eq!(read_schedule(&key(a)), Some((Timestamp(a.0), host_key(a.1, a.2))));
        }

        #[test]
        fn garbage_keys_are_refused_quietly(bytes: Vec<u8>) {
            let _ = (read_host(&bytes), read_queue_key(&bytes), read_schedule(&bytes), read_origin(&bytes));
        }
    }
}
