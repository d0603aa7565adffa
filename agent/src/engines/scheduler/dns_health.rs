//! Detection of silent name servers: if no name can be resolved, they are wrong or down, not the
//! hosts. Pure; NXDOMAIN counts as an answer.

use crate::messages::{ResolveError, Resolved};

/// Number of unanswered look-ups in a row from which the name servers count as silent.
const ENOUGH: u32 = 8;

/// Health of the name servers.
#[derive(Debug, Default)]
pub struct DnsHealth {
    answered: bool,
    unanswered: u32,
    warned: bool,
}

impl DnsHealth {
    /// Records the result of a look-up; `pending` others are in flight or waiting.
    pub fn resolved(&mut self, answer: &Result<Resolved, ResolveError>, pending: usize) {
        if *answer != Err(ResolveError::Unavailable) {
            (self.answered, self.unanswered) = (true, 0);
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        let hopeless = !self.answered && (pending == 0 || self.unanswered >= ENOUGH);
        if hopeless && !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                "no name could be resolved so far: the name servers do not answer (see \
                 dns.servers and --dns)"
            );
        }
    }

    /// Returns true if the name servers seem to be silent.
    pub const fn are_silent(&self) -> bool {
        self.unanswered >= ENOUGH || (self.unanswered > 0 && !self.answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Result<Resolved, ResolveError> = Err(ResolveError::Unavailable);
    const NO_SUCH_NAME: Result<Resolved, ResolveError> = Err(ResolveError::NoSuchName);

    #[test]
    fn a_name_server_is_silent_until_it_answers() {
        let mut names = DnsHealth::default();
        assert!(!names.are_silent());
        names.resolved(&NONE, 5);
        assert!(names.are_silent());
        assert!(!names.warned, "warned while other lookups are pending");
        names.resolved(&NONE, 0);
        assert!(names.warned);
        names.resolved(&NO_SUCH_NAME, 0);
        assert!(!names.are_silent());
    }

    #[test]
    fn one_that_has_answered_is_given_more_patience() {
        let mut names = DnsHealth::default();
        names.resolved(&NO_SUCH_NAME, 0);
        (0..ENOUGH - 1).for_each(|_| names.resolved(&NONE, 0));
        assert!(!names.are_silent());
        names.resolved(&NONE, 0);
        assert!(names.are_silent());
        assert!(!names.warned);
    }

    #[test]
    fn of_many_names_some_are_enough_to_warn() {
        let mut names = DnsHealth::default();
        (0..ENOUGH).for_each(|_| names.resolved(&NONE, 1_000));
        assert!(names.warned);
    }
}
