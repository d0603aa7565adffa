//! The politeness rules of one host.

use super::state::WaitRule;
use crate::config::{DomainDelay, Politeness, PolitenessMode};
use crate::url::is_within;
use std::time::Duration;

/// The politeness rules of one host.
#[derive(Clone, Copy, Debug)]
pub struct HostPolicy<'a> {
    /// Politeness settings.
    pub politeness: &'a Politeness,
    /// Delay of the host's domain, if `politeness.domains` sets one.
    pub domain_delay: Option<Duration>,
    /// Crawl-delay of the host's robots.txt: the longest, if its origins differ.
    pub crawl_delay: Option<Duration>,
}

impl<'a> HostPolicy<'a> {
    /// Creates the policy of the host named `host`.
    #[must_use]
    pub fn of(politeness: &'a Politeness, host: &str, crawl_delay: Option<Duration>) -> Self {
        let domain_delay =
            domain_delay_index(&politeness.domains, host).map(|i| politeness.domains[i].delay);
        Self { politeness, domain_delay, crawl_delay }
    }

    /// Returns the wait after a visit with the response time `served`, and the rule that sets it.
    ///
    /// A Crawl-delay can only lengthen the wait, and is capped at `crawl_delay_max`. In relative
    /// mode the delay of the domain is a minimum.
    pub fn wait(&self, served: Duration) -> (Duration, WaitRule) {
        let own = match self.politeness.mode {
            PolitenessMode::Absolute => {
                (self.domain_delay.unwrap_or(self.politeness.delay), WaitRule::Delay)
            }
            PolitenessMode::Relative => {
                let relative = (self.relative(served), WaitRule::Relative);
                let least = (self.domain_delay.unwrap_or_default(), WaitRule::Delay);
                if least.0 > relative.0 { least } else { relative }
            }
        };
        let asked = self.crawl_delay();
        if asked > own.0 { (asked, WaitRule::CrawlDelay) } else { own }
    }

    /// Returns the longest ordinary wait for any response time.
    pub fn wait_max(&self) -> Duration {
        self.wait(Duration::MAX).0
    }

    /// Returns the number of requests that one visit may send on one connection.
    ///
    /// It is above 1 only in absolute mode, for hosts without Crawl-delay.
    pub fn burst(&self) -> u32 {
        match self.politeness.mode {
            PolitenessMode::Absolute if self.crawl_delay().is_zero() => {
                self.politeness.burst.max(1)
            }
            _ => 1,
        }
    }

    fn relative(&self, served: Duration) -> Duration {
        let p = self.politeness;
        Duration::try_from_secs_f64(served.as_secs_f64() * p.relative_factor)
            .unwrap_or(Duration::MAX)
            .min(p.relative_delay_max)
            .max(p.relative_delay_min)
    }

    fn crawl_delay(&self) -> Duration {
        self.crawl_delay.unwrap_or_default().min(self.politeness.crawl_delay_max)
    }
}

/// Returns the index of the entry of `domains` that covers `host`: the longest suffix at a label
/// boundary.
#[must_use]
pub fn domain_delay_index(domains: &[DomainDelay], host: &str) -> Option<usize> {
    let matching = domains.iter().enumerate().filter(|(_, d)| is_within(host, &d.suffix));
    matching.max_by_key(|(_, d)| d.suffix.len()).map(|(i, _)| i)
}
