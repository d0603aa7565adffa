//! Results of a search as text or JSON.

use crate::cmd::archive::files::printable;
use crivello_common::time::Timestamp;
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::ops::Range;

/// A page that was found.
pub struct FoundPage {
    /// Name of the agent that archived it, if agents were asked.
    pub agent: Option<String>,
    pub url: String,
    pub title: String,
    pub language: String,
    pub date: Timestamp,
    pub score: f64,
    pub near_duplicates: u64,
    pub snippet: String,
    /// Places of words of the query in the snippet, in bytes.
    pub matches: Vec<Range<usize>>,
}

/// The results of a search.
pub struct FoundPages {
    pub pages: Vec<FoundPage>,
    pub found: u64,
    /// True if pages that cannot be among the best were passed, and are not in `found`.
    pub is_uncounted: bool,
    pub is_partial: bool,
    /// Bounds that ended the search.
    pub bounds: Vec<String>,
    pub ignored: Vec<String>,
    pub cut_prefixes: Vec<String>,
    /// The operators, and what each has pulled, for programs.
    pub operators: Value,
    /// Operators and their counts as lines, for people.
    pub explained: String,
    /// Agents that have not answered, and the reasons.
    pub silent: Vec<String>,
}

impl FoundPages {
    /// Returns an object with results, numbers and operators.
    pub fn to_json(&self, query: &str) -> Value {
        let page = |page: &FoundPage| {
            let matches: Vec<_> =
                page.matches.iter().map(|range| [range.start, range.end]).collect();
            let mut value = json!({
                "url": page.url,
                "title": page.title,
                "date": page.date.to_string(),
                "language": page.language,
                "score": page.score,
                "near_duplicates": page.near_duplicates,
                "snippet": page.snippet,
                "matches": matches,
            });
            if let Some(agent) = &page.agent {
                value["agent"] = json!(agent);
            }
            value
        };
        json!({
            "query": query,
            "found": self.found,
            "is_uncounted": self.is_uncounted,
            "is_partial": self.is_partial,
            "bound": self.bounds.first(),
            "ignored": self.ignored,
            "cut_prefixes": self.cut_prefixes,
            "silent": self.silent,
            "results": self.pages.iter().map(page).collect::<Vec<_>>(),
            "operators": self.operators,
        })
    }

    /// Returns lines for people.
    pub fn to_text(&self, explain: bool) -> String {
        let is_terminal = std::io::stdout().is_terminal();
        let mut text = String::new();
        for (n, page) in self.pages.iter().enumerate() {
            let title = if page.title.is_empty() { "(no title)" } else { &page.title };
            text.push_str(&format!("{}. {}\n", n + 1, printable(title)));
            text.push_str(&format!("   {}  {}", printable(&page.url), page.date));
            if page.score > 0.0 {
                text.push_str(&format!("  {:.3}", page.score));
            }
            if page.near_duplicates > 0 {
                text.push_str(&format!("  (and {} near-duplicates)", page.near_duplicates));
            }
            if let Some(agent) = &page.agent {
                text.push_str(&format!("  {}", printable(agent)));
            }
            text.push('\n');
            if !page.snippet.is_empty() {
                text.push_str(&format!("   {}\n", marked(page, is_terminal)));
            }
        }
        text.push_str(&match (self.found, self.is_partial || self.is_uncounted) {
            (0, false) => "nothing found\n".to_owned(),
            (n, false) => format!("{n} found\n"),
            (n, true) => format!("{n} or more found\n"),
        });
        for bound in &self.bounds {
            text.push_str(&format!("the search ended early, by --{}\n", printable(bound)));
        }
        if !self.ignored.is_empty() {
            let words = printable(&self.ignored.join(", "));
            text.push_str(&format!("stop-words left out: {words} (--all-words has them)\n"));
        }
        for prefix in &self.cut_prefixes {
            let prefix = printable(prefix);
            text.push_str(&format!(
                "{prefix}: only the first words were searched (--prefix-words)\n"
            ));
        }
        for silent in &self.silent {
            text.push_str(&format!("without the pages of {}\n", printable(silent)));
        }
        if explain {
            text.extend(self.explained.lines().map(|line| printable(line) + "\n"));
        }
        text
    }
}

/// Returns the text of a snippet. On a terminal, words of the query are bold.
fn marked(page: &FoundPage, is_terminal: bool) -> String {
    let snippet = &page.snippet;
    if !is_terminal {
        return printable(snippet);
    }
    let (mut text, mut at) = (String::new(), 0);
    for range in &page.matches {
        // Ranges of an agent are not trusted.
        let before = snippet.get(at..range.start);
        let (Some(before), Some(word)) = (before, snippet.get(range.clone())) else { break };
        text.push_str(&format!("{}\x1b[1m{}\x1b[0m", printable(before), printable(word)));
        at = range.end;
    }
    text + &printable(snippet.get(at..).unwrap_or_default())
}
