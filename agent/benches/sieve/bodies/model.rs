//! Extrapolation of the figures of two sizes to a third one, which was not measured.
//!
//! How each figure grows with the number of URLs is assumed, and which assumption is the reason
//! that it is called a model: with an LSM tree time and writes grow by a level, that is by as much,
//! with each factor of ten, and so do a table's misses of caches; sorted files are read and written
//! whole again and again, so theirs grow with the number of URLs itself. Bytes a URL stay.

use crate::run::{Figures, Order};
use crate::subject::Kind;

/// The size in question.
const N_URLS: f64 = 1e10;
/// BitArray a URL of the filters, for one new URL in a thousand lost: of this module's own arithmetic,
/// by how many bits are set.
const BLOOM_BITS: f64 = 14.4;
const BLOCKED_BLOOM_BITS: f64 = 15.7;

/// Growth of a figure.
#[derive(Clone, Copy)]
enum Growth {
    ByFactor,
    ByNumber,
}

impl Growth {
    /// The line through both figures, at the size in question. One that falls, as figures of runs
    /// that are too short may, is not gone on with.
    fn at(self, (n1, y1): (f64, f64), (n2, y2): (f64, f64)) -> f64 {
        let x = |n: f64| match self {
            Self::ByFactor => n.ln(),
            Self::ByNumber => n,
        };
        y2 + (y2 - y1).max(0.0) * (x(N_URLS) - x(n2)) / (x(n2) - x(n1))
    }
}

/// Rows for the size in question, of what was measured at several; none where there is only one.
pub fn rows(measured: &[(Order, Figures)]) -> Vec<String> {
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        for recent in [true, false] {
            let same =
                |(order, _): &&(Order, Figures)| order.kind == kind && order.recent == recent;
            let [.., (before, small), (last, large)] =
                &measured.iter().filter(same).collect::<Vec<_>>()[..]
            else {
                continue;
            };
            let growth = if kind == Kind::Offline { Growth::ByNumber } else { Growth::ByFactor };
            let (n1, n2) = (before.n_urls as f64, last.n_urls as f64);
            let line = |y1: f64, y2: f64| growth.at((n1, y1), (n2, y2));
            let seconds = line(1.0 / small.rate_in_the_end, 1.0 / large.rate_in_the_end);
            let gib = match kind {
                Kind::Rocks | Kind::Offline => large.peak_mib / 1024.0,
                Kind::Memory | Kind::Quotient => large.body_bytes * N_URLS / 2_f64.powi(30),
                Kind::Bloom => BLOOM_BITS / 8.0 * N_URLS / 2_f64.powi(30),
                Kind::BlockedBloom => BLOCKED_BLOOM_BITS / 8.0 * N_URLS / 2_f64.powi(30),
            };
            rows.push(format!(
                "| {} | {} | {:.0} | {:.0} | {:.1} | {gib:.1} |",
                kind.name(),
                if recent { "yes" } else { "no" },
                1.0 / seconds,
                large.disk_bytes * N_URLS / 1e9,
                line(small.written, large.written),
            ));
        }
    }
    rows
}

/// Above them.
pub const HEAD: &str = "\
| body | recent table | checks/CPU-s at 10 billion | GB on disk | write amplification | GiB of memory |
| --- | --- | --- | --- | --- | --- |";
