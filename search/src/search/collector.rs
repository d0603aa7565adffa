//! The results of one search, gathered segment by segment.

use super::bm25::Bm25;
use super::open_index::OpenIndex;
use super::options::SearchOptions;
use super::plan::{Plan, PlanTerm, Ranking};
use super::results::{Hit, SearchResults};
use super::snippet::{Snippet, snippet};
use super::statistics::QueryStatistics;
use super::top::{Scored, Top};
use crate::error::IndexError;
use crate::field::TermField;
use crate::operator::{Bound, Budget, Explained, Halt, Operator, Scoring, TermWeight};
use crate::segment::{Segment, StoredText};
use crate::text::Stemmers;
use crivello_common::time::Timestamp;

/// Gathers the results of one search.
pub(super) struct Collector<'s> {
    open: &'s OpenIndex,
    plan: &'s Plan,
    options: &'s SearchOptions,
    /// Weight of each term; 0 for those that do not count for ranks.
    weights: Vec<TermWeight>,
    /// True if near-duplicates are folded, and some are there.
    is_grouped: bool,
    top: Top,
    explained: Option<Explained>,
    results: SearchResults,
}

impl<'s> Collector<'s> {
    pub(super) fn new(
        open: &'s OpenIndex,
        plan: &'s Plan,
        options: &'s SearchOptions,
        statistics: &QueryStatistics,
    ) -> Self {
        let mean_length = statistics.mean_length();
        let weight = |term: &PlanTerm| {
            let idf = Bm25::idf(statistics.documents, term.documents);
            match term.field {
                TermField::Text | TermField::Title => options.bm25.of_text(idf, mean_length),
                TermField::Anchor => options.bm25.of_anchor(options.anchor_weight * idf),
                TermField::Site | TermField::Language | TermField::Near => TermWeight::default(),
            }
        };
        let weights = plan.terms.iter().map(weight).collect();
        let results = SearchResults {
            ignored: plan.ignored.clone(),
            cut_prefixes: plan.cut_prefixes.clone(),
            ..SearchResults::default()
        };
        let top = Top::new(options.limit);
        let is_grouped =
            !options.with_near_duplicates && open.segments.iter().any(Segment::has_near_duplicates);
        let explained = None;
        Self { open, plan, options, weights, is_grouped, top, explained, results }
    }

    /// Collects the results of a segment. Returns false if there are enough.
    pub(super) fn collect(&mut self, index: usize, budget: &Budget<'_>) -> Result<bool, Halt> {
        let segment = &self.open.segments[index];
        let weights = std::mem::take(&mut self.weights);
        let scoring = Scoring { terms: &weights, lengths: &segment.lengths };
        let ranking = Ranking { scoring, counts_all: self.options.with_count };
        let ranking = self.options.is_ranked.then_some(ranking);
        let segments = &self.open.segments;
        let mut operator = self.plan.operators(segments, index, budget, ranking)?;
        let result = match ranking {
            Some(ranking) => self.rank(operator.as_mut(), index, &ranking.scoring),
            None => self.take_first(operator.as_mut(), index),
        };
        match operator.passed() {
            Some(passed) => self.results.found += passed,
            None => self.results.is_uncounted = true,
        }
        let explained = operator.explain();
        match &mut self.explained {
            Some(all) => all.add(&explained),
            None => self.explained = Some(explained),
        }
        drop(operator);
        self.weights = weights;
        result
    }

    /// Takes the documents in their order, until there are enough.
    fn take_first(&mut self, operator: &mut dyn Operator, index: usize) -> Result<bool, Halt> {
        let segment = &self.open.segments[index];
        while let Some(document) = operator.next()? {
            if segment.is_dead(document) {
                continue;
            }
            if self.top.is_full() {
                return Ok(false);
            }
            self.results.found += 1;
            self.add(segment, Scored { score: 0.0, order: 0, segment: index, document })?;
        }
        Ok(true)
    }

    /// Takes the best documents.
    fn rank(
        &mut self,
        operator: &mut dyn Operator,
        index: usize,
        scoring: &Scoring<'_>,
    ) -> Result<bool, Halt> {
        let segment = &self.open.segments[index];
        let has_dead = segment.n_dead() > 0;
        // Static ranks may add this much. Near-duplicates are counted, whatever their scores.
        let more = self.options.rank_weight;
        let may_pass = !self.is_grouped && self.options.bm25.is_monotone();
        let mut threshold = f64::NEG_INFINITY;
        let mut is_new = true;
        loop {
            if is_new && may_pass {
                threshold = self.top.threshold();
                // With a margin, since sums are rounded.
                if more > 0.0 {
                    threshold -= more + threshold.abs() * 1e-9;
                }
                operator.set_threshold(threshold);
            }
            let Some(document) = operator.next()? else { return Ok(true) };
            is_new = false;
            if has_dead && segment.is_dead(document) {
                continue;
            }
            self.results.found += 1;
            let score = operator.score(scoring)?;
            if score >= threshold {
                let order = segment.orders[document as usize];
                is_new = self.add(segment, Scored { score, order, segment: index, document })?;
            }
        }
    }

    /// Notes that the search ended before it had found all.
    pub(super) const fn end_early(&mut self, bound: Option<Bound>) {
        (self.results.is_partial, self.results.bound) = (true, bound);
    }

    /// Adds a document if it is among the best. Returns true if it is.
    fn add(&mut self, segment: &Segment, mut scored: Scored) -> Result<bool, IndexError> {
        let weight = if self.options.is_ranked { self.options.rank_weight } else { 0.0 };
        let best = Scored { score: scored.score + weight, order: 0, ..scored };
        if !self.top.admits(&best) && !self.is_grouped {
            return Ok(false);
        }
        let mut group = None;
        if weight > 0.0 || self.is_grouped {
            let row = segment.row(scored.document)?;
            if weight > 0.0
                && let Some(ranks) = &self.open.ranks
            {
                scored.score += weight * ranks.share(segment, &row)?;
            }
            if self.is_grouped {
                let is_near = row.near_hash != 0;
                let hash = if is_near { row.near_hash } else { row.url_hash };
                group = Some(hash);
                if is_near {
                    self.top.count(hash);
                }
            }
        }
        let is_best = self.top.admits(&scored);
        if is_best {
            self.top.push(scored, group);
        }
        Ok(is_best)
    }

    pub(super) fn finish(mut self, budget: &Budget<'_>) -> Result<SearchResults, IndexError> {
        let mut stemmers = Stemmers::new(self.open.stemming);
        let (best, counts) = self.top.finish();
        let terms: Vec<String> = self.plan.words.iter().cloned().collect();
        // In the order of documents, which share blocks of texts.
        let mut by_place: Vec<(usize, (Scored, Option<u64>))> =
            best.into_iter().enumerate().collect();
        by_place.sort_unstable_by_key(|(_, (one, _))| (one.segment, one.document));
        let segments = self.open.segments.iter();
        let mut texts: Vec<_> = segments.map(Segment::texts).collect();
        let mut hits = Vec::with_capacity(by_place.len());
        for (rank, (scored, group)) in by_place {
            let segment = &self.open.segments[scored.segment];
            let row = segment.row(scored.document)?;
            let text = match self.options.with_texts {
                true => texts[scored.segment].read(&row)?,
                false => StoredText::default(),
            };
            let language = String::from_utf8_lossy(&row.language).into_owned();
            let near = group.and_then(|group| counts.get(&group)).copied().unwrap_or(0);
            let has_time = !budget.is_over();
            if !has_time {
                self.results.bound.get_or_insert(Bound::Time);
            }
            // The best of a group may itself be one of those that are counted.
            let is_counted = row.near_hash != 0 && Some(row.near_hash) == group;
            let hit = Hit {
                snippet: match has_time {
                    true => snippet(&text.text, &language, &terms, &mut stemmers),
                    false => Snippet::default(),
                },
                url: text.url,
                title: text.title,
                language,
                date: Timestamp(row.date),
                score: scored.score,
                near_duplicates: near - u64::from(is_counted && near > 0),
            };
            hits.push((rank, hit));
        }
        hits.sort_unstable_by_key(|(rank, _)| *rank);
        self.results.hits = hits.into_iter().map(|(_, hit)| hit).collect();
        self.results.explained = self.explained.unwrap_or_default();
        Ok(self.results)
    }
}
