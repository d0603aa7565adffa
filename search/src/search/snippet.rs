//! Snippets: the part of a text that has most words of the query.

use crate::text::{Stemmers, words};
use std::ops::Range;

/// Words of a snippet.
const SNIPPET_WORDS: usize = 30;
/// Bytes of a snippet at most.
const SNIPPET_BYTES: usize = 400;
/// Words of a text that are looked at.
const TEXT_WORDS_MAX: usize = 20_000;

/// A part of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text; white space is collapsed.
    pub text: String,
    /// The words of the query in it, as ranges of bytes.
    pub matches: Vec<Range<usize>>,
}

/// Returns the part of a text that has most of these terms, which are sorted.
pub(super) fn snippet(
    text: &str,
    language: &str,
    terms: &[String],
    stemmers: &mut Stemmers,
) -> Snippet {
    // The words, and which term each is.
    let mut found: Vec<(Range<usize>, Option<usize>)> = Vec::new();
    for word in words(text).take(TEXT_WORDS_MAX) {
        let range = word.start..word.start + word.length;
        let term = stemmers.stem(language, &word.word, |stem| {
            terms.binary_search_by(|t| t.as_str().cmp(stem)).ok()
        });
        found.push((range, term));
    }
    let start = best_start(&found);
    let window = &found[start..found.len().min(start + SNIPPET_WORDS)];
    let (Some((first, _)), Some((last, _))) = (window.first(), window.last()) else {
        return Snippet::default();
    };
    let mut end = last.end.max(first.start);
    if end - first.start > SNIPPET_BYTES {
        end = text.floor_char_boundary(first.start + SNIPPET_BYTES);
    }
    let matches = window.iter().filter(|(range, term)| term.is_some() && range.end <= end);
    let matches = matches.map(|(range, _)| range.clone());
    collapse(text, first.start..end, matches)
}

/// Returns the start of the window with most different terms, and of these the one with most occurrences.
fn best_start(found: &[(Range<usize>, Option<usize>)]) -> usize {
    let mut best = (0, 0, 0);
    let mut occurrences = std::collections::HashMap::new();
    let mut n = 0;
    for (at, (_, term)) in found.iter().enumerate() {
        if let Some(term) = term {
            *occurrences.entry(*term).or_insert(0_usize) += 1;
            n += 1;
        }
        if let Some((_, Some(term))) = at.checked_sub(SNIPPET_WORDS).map(|gone| &found[gone]) {
            n -= 1;
            if let Some(count) = occurrences.get_mut(term) {
                *count -= 1;
                if *count == 0 {
                    occurrences.remove(term);
                }
            }
        }
        if (occurrences.len(), n) > (best.0, best.1) {
            best = (occurrences.len(), n, at);
        }
    }
    // Some words before the last match, which ended the best window.
    let first = (best.2 + 1).saturating_sub(SNIPPET_WORDS);
    let matches = found[first..].iter().position(|(_, term)| term.is_some());
    let lead = matches.map_or(0, |first_match| first_match.saturating_sub(SNIPPET_WORDS / 6));
    first + lead
}

fn collapse(
    text: &str,
    range: Range<usize>,
    matches: impl Iterator<Item = Range<usize>>,
) -> Snippet {
    let mut snippet = Snippet::default();
    let mut at = range.start;
    for word in matches {
        push(&mut snippet.text, &text[at..word.start]);
        let start = snippet.text.len();
        push(&mut snippet.text, &text[word.clone()]);
        snippet.matches.push(start..snippet.text.len());
        at = word.end;
    }
    push(&mut snippet.text, &text[at..range.end]);
    snippet
}

fn push(out: &mut String, text: &str) {
    for c in text.chars() {
        match c.is_whitespace() || c.is_control() {
            false => out.push(c),
            true if out.ends_with(' ') || out.is_empty() => {}
            true => out.push(' '),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Stemming;

    #[test]
    fn the_part_with_most_words_is_shown() {
        let filler = "nothing here ".repeat(50);
        let text = format!("A crawler. {filler}The crawlers\n  and\tsieves of {filler}");
        let terms = ["crawler".to_owned(), "siev".to_owned()];
        let mut stemmers = Stemmers::new(Stemming::Language);
        let found = snippet(&text, "eng", &terms, &mut stemmers);
        let matches: Vec<_> =
            found.matches.iter().map(|range| &found.text[range.clone()]).collect();
        assert_eq!(matches, ["crawlers", "sieves"], "{found:?}");
        assert!(found.text.contains("The crawlers and sieves of"), "{found:?}");
        assert!(found.text.len() <= SNIPPET_BYTES);
        for text in ["", " \n", "one two"] {
            let found = snippet(text, "eng", &terms, &mut stemmers);
            assert_eq!((found.text.as_str(), found.matches.len()), (text.trim(), 0));
        }
    }
}
