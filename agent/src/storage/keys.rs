//! Keys of the column families; see the table in [`super`].

use super::{DiskError, Family, RowReader};
use crate::messages::{HostClass, QueueKey, QueueKind, SchedulePlace};
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};

/// Length of a key of `seen` and of `hosts`.
pub const PAIR: usize = 16;
/// Length of a key of `due`.
pub const DUE: usize = 24;
/// Length of a key of `schedule`.
pub const SCHEDULE: usize = 25;

/// Joins a group's hash with another one.
fn pair(group: GroupHash, hash: u64) -> [u8; PAIR] {
    (u128::from(group.0) << 64 | u128::from(hash)).to_be_bytes()
}

/// Joins parts of `N` bytes in all.
fn join<const A: usize, const B: usize, const N: usize>(a: [u8; A], b: [u8; B]) -> [u8; N] {
    const { assert!(A + B == N) };
    let mut key = [0; N];
    key[..A].copy_from_slice(&a);
    key[A..].copy_from_slice(&b);
    key
}

/// Returns a part that was read from a key of `family`, or an error if there is none.
fn part<T>(family: Family, part: Option<T>) -> Result<T, DiskError> {
    part.ok_or(DiskError::Row { family: family.name(), what: "its key is malformed" })
}

/// Returns a bound above all keys of `group`.
#[must_use]
pub fn end_of_group(group: GroupHash) -> [u8; 9] {
    let mut end = join(group.to_bytes(), [0xff]);
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
    pair(key.group, key.url.0)
}

/// Returns a key of `hosts`, which is also the prefix of a host's keys in `frontier` and `robots`.
#[must_use]
pub fn host(key: HostKey) -> [u8; PAIR] {
    pair(key.group, key.host.0)
}

/// Returns the key in `hosts` of a group's own row.
#[must_use]
pub fn group(group: GroupHash) -> [u8; PAIR] {
    pair(group, 0)
}

/// Returns the URL in a key of [`seen`].
///
/// # Errors
/// [`DiskError::Row`] if the key is malformed.
pub fn read_seen(key: &[u8]) -> Result<UrlKey, DiskError> {
    let mut r = RowReader(key);
    let (group, url) = part(Family::Seen, r.array().zip(r.array()))?;
    Ok(UrlKey { group: GroupHash::from_bytes(group), url: UrlHash::from_bytes(url) })
}

/// Returns the host in a key of [`host`], or in a longer key that begins with one.
#[must_use]
pub fn read_host(key: &[u8]) -> Option<HostKey> {
    let mut r = RowReader(key);
    let group = GroupHash::from_bytes(r.array()?);
    Some(HostKey { group, host: HostHash::from_bytes(r.array()?) })
}

/// Returns the host in a key of `hosts`; `None` in that of a group's own row.
///
/// # Errors
/// [`DiskError::Row`] if the key is malformed.
pub fn read_hosts(key: &[u8]) -> Result<Option<HostKey>, DiskError> {
    Ok(Some(part(Family::Hosts, read_host(key))?).filter(|host| host.host.0 != 0))
}

/// Returns a key of `frontier`.
#[must_use]
pub fn frontier(of: HostKey, queue_key: QueueKey) -> [u8; 26] {
    let QueueKey { queue, priority, seq } = queue_key;
    let place: [u8; 10] = join([queue as u8, priority], seq.to_be_bytes());
    join(host(of), place)
}

/// Returns the host and the queue key in a key of [`frontier`].
///
/// # Errors
/// [`DiskError::Row`] if the key is malformed.
pub fn read_frontier(key: &[u8]) -> Result<(HostKey, QueueKey), DiskError> {
    let queue_key = || {
        let mut r = RowReader(key.get(PAIR..)?);
        let (queue, priority) = (QueueKind::from_code(r.byte()?)?, r.byte()?);
        Some(QueueKey { queue, priority, seq: u64::from_be_bytes(r.array()?) })
    };
    part(Family::Frontier, read_host(key).zip(queue_key()))
}

/// Returns a key of `schedule`.
#[must_use]
pub fn schedule(place: SchedulePlace, of: HostKey) -> [u8; SCHEDULE] {
    let place_bytes: [u8; 9] = join([place.class.code()], place.at.0.to_be_bytes());
    join(place_bytes, host(of))
}

/// Returns a bound below all keys of [`schedule`] with this class.
#[must_use]
pub fn start_of_class(class: HostClass) -> [u8; SCHEDULE] {
    join([class.code()], [0; SCHEDULE - 1])
}

/// Returns a bound above all keys of [`schedule`] with this class.
#[must_use]
pub const fn end_of_class(class: HostClass) -> [u8; 1] {
    [class.code() + 1]
}

/// Returns the place and the host in a key of [`schedule`].
///
/// # Errors
/// [`DiskError::Row`] if the key is malformed.
pub fn read_schedule(key: &[u8]) -> Result<(SchedulePlace, HostKey), DiskError> {
    let mut r = RowReader(key);
    let class = r.byte().and_then(HostClass::from_code);
    let at = r.array().map(|at| Timestamp(u64::from_be_bytes(at)));
    let place = class.zip(at).map(|(class, at)| SchedulePlace { class, at });
    part(Family::Schedule, place.zip(read_host(r.rest())))
}

/// Returns a key of `due`.
#[must_use]
pub fn due(at: Timestamp, of: UrlKey) -> [u8; DUE] {
    join(at.0.to_be_bytes(), seen(of))
}

/// Returns the time and URL in a key of [`due`].
///
/// # Errors
/// [`DiskError::Row`] if the key is malformed.
pub fn read_due(key: &[u8]) -> Result<(Timestamp, UrlKey), DiskError> {
    let mut r = RowReader(key);
    let at = part(Family::Due, r.array())?;
    Ok((Timestamp(u64::from_be_bytes(at)), read_seen(r.rest())?))
}

/// Returns a key of `robots`.
#[must_use]
pub fn robots(of: HostKey, origin: Origin) -> [u8; 19] {
    let origin: [u8; 3] = join([origin.scheme as u8], origin.port.to_be_bytes());
    join(host(of), origin)
}

/// Returns the host and the origin in a key of [`robots`].
///
/// # Errors
/// [`DiskError::Row`] if the key is malformed.
pub fn read_robots(key: &[u8]) -> Result<(HostKey, Origin), DiskError> {
    let origin = || {
        let mut r = RowReader(key.get(PAIR..)?);
        let scheme = Scheme::from_code(r.byte()?)?;
        Some(Origin { scheme, port: u16::from_be_bytes(r.array()?) })
    };
    part(Family::Robots, read_host(key).zip(origin()))
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
        fn frontier_keys_order_by_host_then_place(
            a: (u64, u64, u8, u8, u64),
            b: (u64, u64, u8, u8, u64),
        ) {
            let place = |(group, host, queue, priority, seq): (u64, u64, u8, u8, u64)| {
                let queue = QueueKind::from_code(queue % 3).unwrap();
                (host_key(group, host), QueueKey { queue, priority, seq })
            };
            let key = |(host, queue_key)| frontier(host, queue_key);
            let (a, b) = (place(a), place(b));
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
            prop_assert_eq!(read_frontier(&key(a)).unwrap(), a);
            prop_assert_eq!(read_host(&key(a)), Some(a.0));
        }

        #[test]
        fn schedule_keys_order_by_class_and_time(
            a: (u8, u64, u64, u64),
            b: (u8, u64, u64, u64),
        ) {
            let row = |(class, at, group, host): (u8, u64, u64, u64)| {
                let class = HostClass::from_code(class % 4).unwrap();
                (SchedulePlace { class, at: Timestamp(at) }, host_key(group, host))
            };
            let key = |(place, host)| schedule(place, host);
            let (a, b) = (row(a), row(b));
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
            prop_assert_eq!(read_schedule(&key(a)).unwrap(), a);
            let class = a.0.class;
            prop_assert!(key(a)[..] >= start_of_class(class)[..]);
            prop_assert!(key(a)[..] < end_of_class(class)[..]);
        }

        #[test]
        fn garbage_keys_are_refused_quietly(bytes: Vec<u8>) {
            let _ = (read_seen(&bytes), read_host(&bytes), read_frontier(&bytes));
            let _ = (read_schedule(&bytes), read_robots(&bytes));
        }
    }
}
