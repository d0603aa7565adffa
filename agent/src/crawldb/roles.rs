//! Number of groups of this agent, by role.

use crate::messages::{GroupRole, Role};
use crate::storage::{Database, DiskError, Family, GroupState, Row};

/// Maximum number of rows that are read. A group's key is a hash, so the first rows are a fair
/// sample.
const LOOKED_AT: u64 = 10_000;

/// Number of groups by role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleCounts {
    /// Groups that this agent may fetch.
    pub authority: u64,
    /// Groups of which it holds a copy.
    pub copy: u64,
    /// Groups whose rows it receives as the owner.
    pub pending: u64,
}

/// Counts the groups that have rows, or estimates the numbers if there are very many.
///
/// # Errors
/// [`DiskError`] if the disk fails.
pub fn count_roles(disk: &Database) -> Result<RoleCounts, DiskError> {
    let (mut roles, mut n_rows) = (RoleCounts::default(), 0);
    disk.walk(Family::Groups, &[], &[0xff; 9], |_, value| {
        n_rows += 1;
        match GroupState::decode(value)?.tag {
            Some(GroupRole { role: Role::Authority { .. }, .. }) => roles.authority += 1,
            Some(GroupRole { role: Role::Replica { .. }, .. }) => roles.copy += 1,
            Some(GroupRole { role: Role::Pending { .. }, .. }) => roles.pending += 1,
            None => {}
        }
        Ok(n_rows < LOOKED_AT)
    })?;
    if n_rows < LOOKED_AT {
        return Ok(roles);
    }
    let all = disk.rows(Family::Groups).max(n_rows);
    let scaled = |n: u64| u64::try_from(u128::from(n) * u128::from(all) / u128::from(n_rows));
    let scaled = |n| scaled(n).unwrap_or(u64::MAX);
    Ok(RoleCounts {
        authority: scaled(roles.authority),
        copy: scaled(roles.copy),
        pending: scaled(roles.pending),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Batch;
    use crivello_common::config::State;
    use crivello_common::hash::GroupHash;

    #[test]
    fn few_are_counted_and_many_estimated() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Database::open(dir.path(), true, &State::default()).unwrap();
        let put = |from: u64, n: u64, role: Role| {
            let mut batch = Batch::default();
            let state = GroupState { open: true, tag: Some(GroupRole { epoch: 1, role }) }.encode();
            for i in from..from + n {
                let group = GroupHash(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                batch.put(Family::Groups, &group.to_bytes(), &state);
            }
            disk.commit(&batch).unwrap();
        };
        put(1, 30, Role::Authority { in_sync: Vec::new() });
        put(31, 20, Role::Replica { from: Vec::new() });
        put(51, 1, Role::Pending { new: true });
        assert_eq!(count_roles(&disk).unwrap(), RoleCounts { authority: 30, copy: 20, pending: 1 });
        put(100, 30_000, Role::Authority { in_sync: Vec::new() });
        put(30_100, 10_000, Role::Replica { from: Vec::new() });
        let RoleCounts { authority, copy, .. } = count_roles(&disk).unwrap();
        assert!((29_000..=31_000).contains(&authority), "{authority}");
        assert!((9_000..=11_000).contains(&copy), "{copy}");
    }
}
