//! Share of fresh copies of a cluster.

/// Returns the share of fresh copies of all agents, from the number of pages and the share of each;
/// `None` if no agent knows its share.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a share of an estimate")]
pub fn mean_freshness(agents: impl Iterator<Item = (u64, Option<f64>)>) -> Option<f64> {
    let (pages, fresh) = agents
        .filter_map(|(n_pages, share)| Some((n_pages.max(1) as f64, share?)))
        .fold((0.0, 0.0), |(pages, fresh), (n, share)| (pages + n, fresh + n * share));
    (pages > 0.0).then(|| fresh / pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_count_by_their_pages() {
        assert_eq!(
            mean_freshness([(3, Some(0.5)), (1, Some(1.0)), (9, None)].into_iter()),
            Some(0.625)
        );
        assert_eq!(mean_freshness([(0, Some(0.5))].into_iter()), Some(0.5));
        assert_eq!(mean_freshness([(7, None)].into_iter()), None);
    }
}
