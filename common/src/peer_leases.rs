//! Number of peer leases that an agent needs to fetch without a lease from the coordinator. The agents'
//! fence and the coordinator's rule for declaring agents dead both follow from this number.

/// Returns the number of peer leases with which an agent may fetch while the coordinator is
/// unreachable, if its view has `others` other living agents: those of all of them. An agent without
/// others can hold no peer lease.
#[must_use]
pub const fn peer_leases_needed(others: usize) -> usize {
    others
}

/// Returns the number of those others that must grant it no peer lease, so that the rest are too few
/// for it to fetch: 1 if the leases of all are needed; 0 if there are no others.
#[must_use]
pub const fn refusals_needed(others: usize) -> usize {
    match others {
        0 => 0,
        _ => others + 1 - peer_leases_needed(others),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_refuse_leave_too_few_that_may_grant() {
        for others in 1..100 {
            let (needed, refusals) = (peer_leases_needed(others), refusals_needed(others));
            assert!(needed >= 1, "{others} others: a lease of nobody would suffice");
            assert!(others - refusals < needed, "{others} others: the rest may still suffice");
            assert_eq!(others - refusals + 1, needed, "{others} others: one refusal too many");
        }
        assert_eq!((peer_leases_needed(0), refusals_needed(0)), (0, 0));
    }
}
