//! Searches over the indexes of all agents.

use super::{AgentCallError, AgentClients, Answer, Client, Scope, ask_all};
use crate::v1;
use crivello_common::hash::url_order;
use crivello_common::view::{Agent, AgentId, View};
use prost::bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Attempts of a search whose indexes change meanwhile.
const ATTEMPTS: usize = 2;
/// Time beyond the bound of a query, after which an agent does not respond.
const SLACK: Duration = Duration::from_secs(3);
/// Bound of time, if the query has none.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Words of a prefix at most, also if the query has another bound.
const PREFIX_WORDS_MAX: usize = 1_024;
/// Prefixes of a query at most. With this many, statistics are smaller than a message may be: a word has at most 64
/// bytes.
pub const PREFIXES_MAX: usize = 8;

/// Returns the number of words for which a prefix of a query stands at most.
#[must_use]
pub fn prefix_words(query: &v1::SearchQuery) -> usize {
    match query.prefix_words as usize {
        0 => PREFIX_WORDS_MAX,
        wanted => wanted.min(PREFIX_WORDS_MAX),
    }
}

/// A result, and the agent that archived the page.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentHit {
    /// The agent.
    pub agent: AgentId,
    /// The result.
    pub hit: v1::SearchHit,
}

/// Results of a search over all agents.
#[derive(Clone, Debug, Default)]
pub struct ClusterResults {
    /// The best results, the best first.
    pub hits: Vec<AgentHit>,
    /// Pages that were found, with near-duplicates.
    pub found: u64,
    /// True if pages that cannot be among the best were passed, and are not in `found`.
    pub is_uncounted: bool,
    /// True if the search ended before it had found all that the agents have that answered.
    pub is_partial: bool,
    /// Bounds that ended it.
    pub bounds: BTreeSet<String>,
    /// Stop-words that were left out.
    pub ignored: Vec<String>,
    /// Prefixes of which only the first words were searched.
    pub cut_prefixes: Vec<String>,
    /// The operators of each agent, as lines.
    pub operators: Vec<(String, String)>,
    /// Agents that have not answered, with the reasons.
    pub silent: Vec<(Agent, AgentCallError)>,
    /// Number of agents that have answered.
    pub n_answered: usize,
}

/// Searches the indexes of all living agents of `view`. Scores equal those of one index of all their pages, as far as
/// no page is in several of them: of a page that several agents archived the last capture is a result.
pub async fn search_agents(
    clients: &Arc<AgentClients>,
    view: &View,
    query: &v1::SearchQuery,
) -> ClusterResults {
    let mut results = ClusterResults::default();
    for _ in 0..ATTEMPTS {
        results = attempt(clients, view, query).await;
        let has_changed =
            |(_, error): &(Agent, AgentCallError)| matches!(error, AgentCallError::Changed(_));
        if !results.silent.iter().any(has_changed) {
            break;
        }
    }
    results
}

async fn attempt(
    clients: &Arc<AgentClients>,
    view: &View,
    query: &v1::SearchQuery,
) -> ClusterResults {
    let limit = match query.time_ms {
        0 => TIME_MAX,
        ms => Duration::from_millis(ms).min(TIME_MAX),
    } + SLACK;
    let statistics = ask_all(clients, view, |clients, agent| {
        let request = v1::SearchStatisticsRequest { query: Some(query.clone()) };
        async move {
            let call = async |mut client: Client| client.search_statistics(request).await;
            clients.ask_within(limit, (&agent, Scope::Read), call).await
        }
    })
    .await;
    let (mut generations, mut silent) = (BTreeMap::new(), Vec::new());
    let mut sums = Sums::default();
    let ranks = most_common_ranks(statistics.iter().filter_map(|(_, answer)| answer.as_ref().ok()));
    for (agent, answer) in statistics {
        match answer {
            Ok(answer) if query.rank_weight > 0.0 && has_other_ranks(&answer, &ranks) => {
                let why = "has not the ranks of hosts that most agents use: search again";
                silent.push((agent, AgentCallError::Changed(why.to_owned())));
            }
            Ok(answer) => {
                generations.insert(agent.id, answer.generation);
                sums.add(answer);
            }
            Err(error) => silent.push((agent, error)),
        }
    }
    let sums = sums.message(prefix_words(query));
    let answers = ask_all(clients, view, |clients, agent| {
        let generation = generations.get(&agent.id).copied();
        let request = v1::SearchRequest {
            query: Some(query.clone()),
            generation: generation.unwrap_or_default(),
            statistics: Some(sums.clone()),
        };
        async move {
            if generation.is_none() {
                return Ok(None);
            }
            let call = async |mut client: Client| client.search(request).await;
            clients.ask_within(limit, (&agent, Scope::Read), call).await.map(Some)
        }
    })
    .await;
    let mut answered = Vec::new();
    for (agent, answer) in answers {
        match answer {
            Ok(Some(response)) => answered.push((agent, response)),
            Ok(None) => {}
            Err(error) => silent.push((agent, error)),
        }
    }
    ClusterResults { silent, ..merge(answered, query.limit as usize) }
}

/// Returns the digest of the ranks that most agents with pages use: scores by different ranks cannot be compared.
fn most_common_ranks<'a>(
    answers: impl Iterator<Item = &'a v1::SearchStatisticsResponse>,
) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for answer in answers.filter(|answer| answer.documents > 0) {
        *counts.entry(&answer.host_ranks).or_default() += 1;
    }
    // Of equally common ones, some are better than none.
    let most = counts.into_iter().max_by_key(|(digest, n)| (*n, *digest));
    most.map(|(digest, _)| digest.to_owned()).unwrap_or_default()
}

fn has_other_ranks(answer: &v1::SearchStatisticsResponse, ranks: &str) -> bool {
    answer.documents > 0 && answer.host_ranks != ranks
}

/// Statistics that are added up.
#[derive(Default)]
struct Sums {
    documents: u64,
    words: u64,
    languages: BTreeMap<String, u64>,
    terms: Terms,
    /// The terms of each prefix, and whether there are more.
    prefixes: BTreeMap<Bytes, (Terms, bool)>,
}

/// Pages by term.
type Terms = BTreeMap<Bytes, u64>;

impl Sums {
    fn add(&mut self, of: v1::SearchStatisticsResponse) {
        self.documents = self.documents.saturating_add(of.documents);
        self.words = self.words.saturating_add(of.words);
        for (language, n) in of.languages {
            let sum = self.languages.entry(language).or_default();
            *sum = sum.saturating_add(n);
        }
        add_terms(&mut self.terms, of.terms);
        for v1::PrefixStatistics { prefix, terms, is_cut } in of.prefixes {
            let (sums, is_any_cut) = self.prefixes.entry(prefix).or_default();
            add_terms(sums, terms);
            *is_any_cut |= is_cut;
        }
    }

    /// Returns the message. Of each prefix it has the first terms of all, of which each agent has sent its own.
    fn message(self, prefix_words: usize) -> v1::SearchStatisticsResponse {
        let term = |(term, documents)| v1::TermStatistics { term, documents };
        let prefix = |(prefix, (terms, is_cut)): (Bytes, (Terms, bool))| v1::PrefixStatistics {
            prefix,
            is_cut: is_cut || terms.len() > prefix_words,
            terms: terms.into_iter().take(prefix_words).map(term).collect(),
        };
        v1::SearchStatisticsResponse {
            generation: 0,
            documents: self.documents,
            words: self.words,
            languages: self.languages.into_iter().collect(),
            terms: self.terms.into_iter().map(term).collect(),
            prefixes: self.prefixes.into_iter().map(prefix).collect(),
            host_ranks: String::new(),
        }
    }
}

fn add_terms(sums: &mut Terms, terms: Vec<v1::TermStatistics>) {
    for v1::TermStatistics { term, documents } in terms {
        let sum = sums.entry(term).or_default();
        *sum = sum.saturating_add(documents);
    }
}

/// Joins the results of agents.
fn merge(answers: Vec<(Agent, v1::SearchResponse)>, limit: usize) -> ClusterResults {
    let mut all = ClusterResults { n_answered: answers.len(), ..ClusterResults::default() };
    for (agent, answer) in answers {
        // Scores of an agent are not trusted.
        let hits = answer.hits.into_iter().filter(|hit| hit.score.is_finite()).take(limit);
        all.hits.extend(hits.map(|hit| AgentHit { agent: agent.id, hit }));
        all.found = all.found.saturating_add(answer.found);
        all.is_uncounted |= answer.is_uncounted;
        all.is_partial |= answer.is_partial;
        all.bounds.extend(Some(answer.bound).filter(|bound| !bound.is_empty()));
        // The query is the same everywhere, and so are the statistics.
        (all.ignored, all.cut_prefixes) = (answer.ignored, answer.cut_prefixes);
        all.operators.push((agent.name, answer.operators));
    }
    // Of one page the last capture is first.
    all.hits.sort_by(|a, b| (&a.hit.url, b.hit.date).cmp(&(&b.hit.url, a.hit.date)));
    let n = all.hits.len();
    all.hits.dedup_by(|a, b| a.hit.url == b.hit.url);
    all.found = all.found.saturating_sub((n - all.hits.len()) as u64);
    all.hits.sort_by_cached_key(|of| url_order(&of.hit.url));
    all.hits.sort_by(|a, b| b.hit.score.total_cmp(&a.hit.score));
    all.hits.truncate(limit);
    all
}

/// Requests the text of a page from an agent of `view`.
///
/// # Errors
/// Fails if the agent is not alive, or if the call fails.
pub async fn stored_page(
    clients: &AgentClients,
    view: &View,
    agent: AgentId,
    url: &str,
) -> Answer<v1::StoredPageResponse> {
    let living: HashSet<AgentId> = view.living().map(|agent| agent.id).collect();
    let agent = view.agent(agent).filter(|agent| living.contains(&agent.id));
    let agent =
        agent.ok_or_else(|| AgentCallError::Rejected("the agent is not alive".to_owned()))?;
    let request = v1::StoredPageRequest { url: url.to_owned() };
    let call = async |mut client: Client| client.stored_page(request).await;
    clients.ask(agent, call).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(url: &str, score: f64, date: u64) -> v1::SearchHit {
        v1::SearchHit { url: url.to_owned(), score, date, ..v1::SearchHit::default() }
    }

    fn agent(id: u32) -> Agent {
        let mut agent = View::of_one("one").agents.remove(0);
        agent.id = AgentId(id);
        agent
    }

    fn response(hits: Vec<v1::SearchHit>) -> v1::SearchResponse {
        v1::SearchResponse { found: hits.len() as u64, hits, ..v1::SearchResponse::default() }
    }

    #[test]
    fn results_of_agents_are_in_the_order_of_one_index() {
        let of_equal = ["http://a.org/", "http://b.org/"];
        let first = of_equal.into_iter().min_by_key(|url| url_order(url)).unwrap();
        let answers = vec![
            (agent(1), response(vec![hit("http://x.org/", 3.0, 1), hit(of_equal[0], 2.0, 1)])),
            (agent(2), response(vec![hit("http://x.org/", 2.5, 7), hit(of_equal[1], 2.0, 1)])),
        ];
        let merged = merge(answers, 2);
        assert_eq!(merged.found, 3, "one page twice");
        let found: Vec<_> =
            merged.hits.iter().map(|of| (of.agent.0, of.hit.url.as_str(), of.hit.date)).collect();
        let of_first = if first == of_equal[0] { 1 } else { 2 };
        assert_eq!(found, [(2, "http://x.org/", 7), (of_first, first, 1)]);
    }

    #[test]
    fn scores_that_are_no_numbers_and_results_beyond_the_limit_are_left_out() {
        let score = |n: usize| [f64::NAN, f64::INFINITY, 2.0, 1.0, 9.0][n];
        let hits = (0..5).map(|n| hit(&format!("http://a.org/{n}"), score(n), 1)).collect();
        let merged = merge(vec![(agent(1), response(hits))], 2);
        let scores: Vec<f64> = merged.hits.iter().map(|of| of.hit.score).collect();
        assert_eq!(scores, [2.0, 1.0]);
    }

    #[test]
    fn agents_with_pages_agree_on_ranks() {
        let of = |documents, ranks: &str| v1::SearchStatisticsResponse {
            documents,
            host_ranks: ranks.to_owned(),
            ..v1::SearchStatisticsResponse::default()
        };
        for (answers, common) in [
            (vec![of(1, "a"), of(2, "b"), of(3, "a")], "a"),
            (vec![of(1, ""), of(2, "b")], "b"),
            (vec![of(0, "c"), of(0, "c"), of(2, "")], ""),
            (vec![], ""),
        ] {
            assert_eq!(most_common_ranks(answers.iter()), common);
            let others = answers.iter().filter(|answer| has_other_ranks(answer, common)).count();
            let with_pages = answers.iter().filter(|answer| answer.documents > 0);
            assert_eq!(others, with_pages.filter(|answer| answer.host_ranks != common).count());
        }
    }

    #[test]
    fn statistics_are_added_without_overflow() {
        let of =
            |term: &'static str, documents| v1::TermStatistics { term: term.into(), documents };
        let prefix =
            |terms| vec![v1::PrefixStatistics { prefix: "x".into(), terms, is_cut: false }];
        let one = v1::SearchStatisticsResponse {
            documents: 2,
            words: 5,
            languages: [("eng".to_owned(), 2)].into(),
            terms: vec![of("a", 1), of("b", 2)],
            prefixes: prefix(vec![of("xb", 1), of("xc", 1), of("xd", 1)]),
            ..v1::SearchStatisticsResponse::default()
        };
        let other = v1::SearchStatisticsResponse {
            documents: u64::MAX,
            terms: vec![of("b", 3)],
            prefixes: prefix(vec![of("xa", 1), of("xc", 1)]),
            languages: [("eng".to_owned(), 1), ("ita".to_owned(), 1)].into(),
            host_ranks: String::new(),
            ..one
        };
        let mut sums = Sums::default();
        sums.add(one);
        sums.add(other);
        let sums = sums.message(3);
        assert_eq!((sums.documents, sums.words), (u64::MAX, 10));
        assert_eq!(sums.terms, [of("a", 1), of("b", 5)]);
        let first = vec![of("xa", 1), of("xb", 1), of("xc", 2)];
        let cut = v1::PrefixStatistics { prefix: "x".into(), terms: first, is_cut: true };
        assert_eq!(sums.prefixes, [cut], "the first three of all");
        assert_eq!(sums.languages, [("eng".to_owned(), 3), ("ita".to_owned(), 1)].into());
    }
}
