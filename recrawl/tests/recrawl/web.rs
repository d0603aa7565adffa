//! Simulated pages: their change rates, weights and times of change.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

pub const HOUR: f64 = 3_600.0;
pub const DAY: f64 = 86_400.0;

/// The way in which a page changes. All kinds have the same number of changes a day for the same rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At random times.
    Poisson,
    /// At equal intervals.
    Regular,
    /// Four times within about an hour, then not for long.
    Bursts,
}

/// Changes of a burst.
pub const BURST: u32 = 4;

#[derive(Clone, Debug)]
pub struct PageModel {
    pub host: usize,
    /// Changes per second.
    pub rate: f64,
    pub weight: f64,
    pub kind: Kind,
    seed: u64,
}

/// The quality of a host's change signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signals {
    /// Probability that a change is signaled.
    pub recall: f64,
    /// False signals of a page per second.
    pub false_rate: f64,
    /// Time between two looks at the sitemap, in seconds. All changes since the last look make one
    /// signal.
    pub poll: f64,
}

impl Signals {
    pub const NONE: Self = Self { recall: 0.0, false_rate: 0.0, poll: 1.0 };
}

pub struct Web {
    pub pages: Vec<PageModel>,
    pub n_hosts: usize,
}

pub fn exponential(rng: &mut SmallRng, rate: f64) -> f64 {
    -(1.0 - rng.random::<f64>()).ln() / rate
}

pub fn normal(rng: &mut SmallRng) -> f64 {
    let (u, v) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl Web {
    /// Creates pages whose rates are log-normal: 95 % lie within four decades around one change in ten
    /// days. Half of the variance is between hosts. Weights are log-normal, with a factor `e` as the
    /// standard deviation.
    pub fn new(seed: u64, n_hosts: usize, pages_per_host: usize, kind: Kind) -> Self {
        Self::with_variance(seed, n_hosts, pages_per_host, kind, 0.5)
    }

    /// Creates pages with this share of the variance of log rates between hosts.
    pub fn with_variance(
        seed: u64,
        n_hosts: usize,
        pages_per_host: usize,
        kind: Kind,
        between_hosts: f64,
    ) -> Self {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let sigma = 10.0_f64.ln();
        let mut pages = Vec::new();
        for host in 0..n_hosts {
            let of_host = sigma * between_hosts.sqrt() * normal(rng);
            for _ in 0..pages_per_host {
                let of_page = sigma * (1.0 - between_hosts).sqrt() * normal(rng);
                let rate = (of_host + of_page).exp() / (10.0 * DAY);
                let weight = normal(rng).exp();
                pages.push(PageModel { host, rate, weight, kind, seed: rng.random() });
            }
        }
        Self { pages, n_hosts }
    }
}

/// The times at which a page changes.
pub struct Changes {
    rng: SmallRng,
    kind: Kind,
    rate: f64,
    next: f64,
    left_of_burst: u32,
}

impl Changes {
    pub fn new(page: &PageModel) -> Self {
        let mut rng = SmallRng::seed_from_u64(page.seed);
        let (kind, rate) = (page.kind, page.rate);
        let next = match kind {
            Kind::Poisson => exponential(&mut rng, rate),
            Kind::Regular => rng.random::<f64>() / rate,
            Kind::Bursts => exponential(&mut rng, rate / f64::from(BURST)),
        };
        Self { rng, kind, rate, next, left_of_burst: BURST - 1 }
    }

    /// Time of the next change.
    pub fn next(&self) -> f64 {
        self.next
    }

    pub fn advance(&mut self) {
        self.next += match self.kind {
            Kind::Poisson => exponential(&mut self.rng, self.rate),
            Kind::Regular => 1.0 / self.rate,
            Kind::Bursts if self.left_of_burst > 0 => {
                self.left_of_burst -= 1;
                exponential(&mut self.rng, 3.0 / HOUR)
            }
            Kind::Bursts => {
                self.left_of_burst = BURST - 1;
                exponential(&mut self.rng, self.rate / f64::from(BURST))
            }
        };
    }
}
