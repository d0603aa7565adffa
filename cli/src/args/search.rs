//! Arguments of `crivello search`.

use crate::connection::ConnectArgs;
use std::path::PathBuf;

/// Arguments of a search.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// The query. Several arguments are joined with spaces. After `--` it may begin with `-`.
    #[arg(value_name = "QUERY", required = true)]
    pub query: Vec<String>,
    /// Directory of the crawl, whose index is the directory `index` in it.
    #[arg(long, value_name = "DIR", default_value = "crawl")]
    pub out: PathBuf,
    /// Number of results at most.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Print JSON: an object with results, numbers and operators.
    #[arg(long)]
    pub json: bool,
    /// Print the operators, and what each has pulled.
    #[arg(long)]
    pub explain: bool,
    /// Do not rank: print the first results in the order of the index, and end early.
    #[arg(long)]
    pub unranked: bool,
    /// Search for stop-words as for all other words.
    #[arg(long)]
    pub all_words: bool,
    /// Show near-duplicates as results of their own.
    #[arg(long)]
    pub near_duplicates: bool,
    /// Do not count all results: faster, since pages that cannot be among the best are passed.
    #[arg(long)]
    pub no_count: bool,
    /// Weight of words of links beside those of title and text. With --cluster they do not count.
    #[arg(long, value_name = "WEIGHT", default_value = "0.5")]
    pub anchor_weight: f64,
    /// Weight of static ranks beside BM25: a page gets at most this much more. 1 is a good start.
    #[arg(long, value_name = "WEIGHT", default_value = "0")]
    pub rank_weight: f64,
    /// Time of the search at most, in seconds. Results that are found by then are printed.
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    pub time: f64,
    /// Postings that are decoded at most.
    #[arg(long, value_name = "N", default_value = "1000000000")]
    pub postings: u64,
    /// Words for each prefix at most.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub prefix_words: usize,
    /// Ask the agents of a running crawl, which keep indexes if `search.index` is set, instead of reading a directory.
    /// Bounds above those of the agents are lowered: 10 seconds, 268435456 postings, 1024 words, 100 results.
    #[arg(long, conflicts_with_all = ["out", "unranked"])]
    pub cluster: bool,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}
