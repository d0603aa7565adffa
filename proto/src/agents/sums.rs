//! Sums and means of what the agents of a cluster report.

use crate::v1::Progress;

/// Returns the mean of a number of all agents, from the number of pages or visits and the mean of each;
/// `None` if no agent knows its mean.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a mean of estimates")]
pub fn weighted_mean(agents: impl Iterator<Item = (u64, Option<f64>)>) -> Option<f64> {
    let (weight, sum) = agents
        .filter_map(|(n, mean)| Some((n.max(1) as f64, mean?)))
        .fold((0.0, 0.0), |(weight, sum), (n, mean)| (weight + n, sum + n * mean));
    (weight > 0.0).then(|| sum / weight)
}

/// Returns the pages of all agents by the first digit of their status, 1xx to 5xx.
#[must_use]
pub fn pages_by_class<'a>(agents: impl Iterator<Item = &'a Progress>) -> [u64; 5] {
    let mut by_class = [0; 5];
    for progress in agents {
        by_class.iter_mut().zip(&progress.pages_by_class).for_each(|(sum, n)| *sum += n);
    }
    by_class
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_count_by_their_pages() {
        assert_eq!(
            weighted_mean([(3, Some(0.5)), (1, Some(1.0)), (9, None)].into_iter()),
            Some(0.625)
        );
        assert_eq!(weighted_mean([(0, Some(0.5))].into_iter()), Some(0.5));
        assert_eq!(weighted_mean([(7, None)].into_iter()), None);
    }
}
