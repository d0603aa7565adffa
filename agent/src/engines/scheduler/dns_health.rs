//! Noticing that no name can be looked up: then it is the name server that is wrong or down, and
//! not the hosts. Pure; NXDOMAIN is an answer like any other.

use crate::messages::{ResolveError, Resolved};

/// So many look-ups in a row without an answer say that there will be none.
const ENOUGH: u32 = 8;

/// See the module.
#[derive(Debug, Default)]
pub struct Names {
    answered: bool,
    unanswered: u32,
    warned: bool,
}

impl Names {
    /// A look-up has ended; `pending` others are still under way or waiting.
    pub fn resolved(&mut self, answer: &Result<Resolved, ResolveError>, pending: usize) {
        if *answer != Err(ResolveError::Unavailable) {
            (self.answered, self.unanswered) = (true, 0);
            return;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        let hopeless = !self.answered && (pending == 0 || self.unanswered >= ENOUGH);
        if hopeless && !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                "no name could be looked up so far: the name servers do not answer (see dns.servers and --dns)"
            );
        }
    }

    /// Whether the name servers seem to be silent.
    #[must_use]
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
        let mut names = Names::default();
        assert!(!names.are_silent());
        names.resolved(&NONE, 5);
        assert!(names.are_silent());
        assert!(!names.warned, "others are still under way");
        names.resolved(&NONE, 0);
        assert!(names.warned);
        names.resolved(&NO_SUCH_NAME, 0);
        assert!(!names.are_silent());
    }

    #[test]
    fn one_that_has_answered_is_given_more_patience() {
        let mut names = Names::default();
        names.resolved(&NO_SUCH_NAME, 0);
        (0..ENOUGH - 1).for_each(|_| names.resolved(&NONE, 0));
        assert!(!names.are_silent());
        names.resolved(&NONE, 0);
        assert!(names.are_silent());
        assert!(!names.warned);
    }

    #[test]
    fn of_many_names_some_are_enough_to_warn() {
        let mut names = Names::default();
        (0..ENOUGH).for_each(|_| names.resolved(&NONE, 1_000));
        assert!(names.warned);
    }
}
