//! Documents, and their terms.

use crate::field::TermField;
use crate::text::{Stemmers, words};
use crivello_common::time::Timestamp;

/// A page to be indexed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// URL.
    pub url: String,
    /// Host of the URL.
    pub host: String,
    /// Time of the capture.
    pub date: Timestamp,
    /// Title; empty if it has none.
    pub title: String,
    /// Main text.
    pub text: String,
    /// Language by ISO 639-3; `und` if it is unknown.
    pub language: String,
    /// URL of the page of which it is a near-duplicate.
    pub near_duplicate_of: Option<String>,
    /// Its links, whose texts are words of their targets.
    pub links: Vec<DocumentLink>,
}

/// A link of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentLink {
    /// URL of the target, in the form of [`Document::url`].
    pub url: String,
    /// Text.
    pub text: String,
}

/// Positions between the last word of the text and the first one of the title, so that no phrase has words of both.
pub const TITLE_GAP: u32 = 100;

/// Words of the text of a link that are indexed.
const LINK_WORDS_MAX: usize = 32;

/// A term at a position. Fields without positions have position 0.
pub(crate) type Posting = (TermField, u32);

impl Document {
    /// Calls `add` with each term of the document, field and position. Returns the number of words in title and
    /// text: the length of the document.
    pub(crate) fn terms(&self, stemmers: &mut Stemmers, mut add: impl FnMut(&str, Posting)) -> u32 {
        // The text comes first, so that positions in it are below the length of the document.
        let mut n = 0_u32;
        for word in words(&self.text) {
            stemmers.stem(&self.language, &word.word, |stem| add(stem, (TermField::Text, n)));
            n += 1;
        }
        for (at, word) in (0_u32..).zip(words(&self.title)) {
            stemmers.stem(&self.language, &word.word, |stem| {
                add(stem, (TermField::Text, n + TITLE_GAP));
                add(stem, (TermField::Title, at));
            });
            n += 1;
        }
        for domain in domains(&self.host) {
            add(domain, (TermField::Site, 0));
        }
        add(&self.language, (TermField::Language, 0));
        if self.near_duplicate_of.is_some() {
            add("", (TermField::Near, 0));
        }
        n
    }
}

impl Document {
    /// Calls `add` with the target of each link, and the stems of its first words with a space between, in the language of
    /// the document. Links to itself and links without words are left out.
    pub(crate) fn link_stems(&self, stemmers: &mut Stemmers, mut add: impl FnMut(&str, String)) {
        for link in self.links.iter().filter(|link| link.url != self.url) {
            let mut stems = String::new();
            for word in words(&link.text).take(LINK_WORDS_MAX) {
                stemmers.stem(&self.language, &word.word, |stem| {
                    if !stems.is_empty() {
                        stems.push(' ');
                    }
                    stems.push_str(stem);
                });
            }
            if !stems.is_empty() {
                add(&link.url, stems);
            }
        }
    }
}

/// Domains of a host at most: itself and the shortest ones.
const DOMAINS_MAX: usize = 10;

/// Returns the host and the domains that it is in: `a.b.org`, `b.org`, `org`.
fn domains(host: &str) -> impl Iterator<Item = &str> {
    let starts = host.match_indices('.').map(|(at, _)| at + 1);
    let is_address = host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok();
    let rest = starts.filter(move |_| !is_address).map(move |at| &host[at..]);
    let n = host.matches('.').count();
    std::iter::once(host).chain(rest.skip(n.saturating_sub(DOMAINS_MAX - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Stemming;

    #[test]
    fn a_document_has_the_terms_of_its_fields() {
        let document = Document {
            host: "www.a.org".to_owned(),
            title: "Running Houses".to_owned(),
            text: "The house".to_owned(),
            language: "eng".to_owned(),
            ..Document::default()
        };
        let mut found = Vec::new();
        let mut stemmers = Stemmers::new(Stemming::Language);
        let n = document.terms(&mut stemmers, |term, (field, position)| {
            found.push(format!("{}:{term}@{position}", field.name()));
        });
        assert_eq!(n, 4);
        assert_eq!(
            found,
            [
                "text:the@0",
                "text:hous@1",
                "text:run@102",
                "title:run@0",
                "text:hous@103",
                "title:hous@1",
                "site:www.a.org@0",
                "site:a.org@0",
                "site:org@0",
                "lang:eng@0"
            ]
        );
    }

    #[test]
    fn addresses_are_in_no_domain_and_long_hosts_in_few() {
        assert_eq!(domains("10.0.0.1").collect::<Vec<_>>(), ["10.0.0.1"]);
        assert_eq!(domains("[::1]").collect::<Vec<_>>(), ["[::1]"]);
        let host = "x.".repeat(100) + "org";
        let found: Vec<_> = domains(&host).collect();
        assert_eq!((found.len(), found[0], found[9]), (DOMAINS_MAX, host.as_str(), "org"));
    }
}
