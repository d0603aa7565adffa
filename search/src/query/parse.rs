//! Texts to queries.

use super::tree::{SearchQuery, WordField};
use crate::error::QuerySyntaxError;
use crate::text::{language_name, words};

/// Length of a query in bytes at most.
const BYTES_MAX: usize = 4096;
/// Words of a query at most.
const WORDS_MAX: usize = 128;
/// Nesting of parentheses at most.
const DEPTH_MAX: usize = 32;
/// Positions of a window at most.
const WINDOW_MAX: u32 = 10_000;
/// Characters that end a word.
const SPECIAL: [char; 6] = ['(', ')', '|', '"', '[', ']'];

/// Parses a query.
///
/// # Errors
/// [`QuerySyntaxError`]: the problem and its place.
pub fn parse(text: &str) -> Result<SearchQuery, QuerySyntaxError> {
    let mut parser = Parser { text, at: 0, words: 0, depth: 0 };
    if text.len() > BYTES_MAX {
        return Err(parser.error(format!("the query is longer than {BYTES_MAX} bytes")));
    }
    let query = parser.or(WordField::Any)?;
    parser.space();
    match parser.peek() {
        None => Ok(query),
        Some(c) => Err(parser.error(format!("`{c}` closes nothing"))),
    }
}

struct Parser<'t> {
    text: &'t str,
    /// Offset in bytes.
    at: usize,
    words: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn error(&self, problem: impl Into<String>) -> QuerySyntaxError {
        self.error_at(self.at, problem)
    }

    fn error_at(&self, at: usize, problem: impl Into<String>) -> QuerySyntaxError {
        QuerySyntaxError { problem: problem.into(), at: self.text[..at].chars().count() }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        self.at += if is_next { c.len_utf8() } else { 0 };
        is_next
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn or(&mut self, field: WordField) -> Result<SearchQuery, QuerySyntaxError> {
        let mut parts = vec![self.and(field)?];
        loop {
            self.space();
            if !self.take('|') {
                return Ok(one_or(parts, SearchQuery::Or));
            }
            parts.push(self.and(field)?);
        }
    }

    fn and(&mut self, field: WordField) -> Result<SearchQuery, QuerySyntaxError> {
        let mut parts = Vec::new();
        loop {
            self.space();
            match self.peek() {
                None | Some(')' | '|') if parts.is_empty() => {
                    return Err(self.error("a word is missing"));
                }
                None | Some(')' | '|') => return Ok(one_or(parts, SearchQuery::And)),
                Some(_) => parts.push(self.not(field)?),
            }
        }
    }

    fn not(&mut self, field: WordField) -> Result<SearchQuery, QuerySyntaxError> {
        if !self.take('-') {
            return self.part(field);
        }
        if self.peek().is_none_or(|c| c.is_whitespace() || c == '-') {
            return Err(self.error("a word is missing after `-`"));
        }
        self.part(field).map(|part| SearchQuery::Not(Box::new(part)))
    }

    fn part(&mut self, field: WordField) -> Result<SearchQuery, QuerySyntaxError> {
        let start = self.at;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(self.error_at(start, "parentheses are nested too deeply"));
                }
                let query = self.or(field)?;
                self.depth -= 1;
                self.space();
                if !self.take(')') {
                    return Err(self.error_at(start, "`(` is not closed"));
                }
                Ok(query)
            }
            Some('"') => {
                let words = self.enclosed('"')?;
                Ok(phrase(field, words))
            }
            Some('[') => self.window(field),
            Some(c @ (')' | ']' | '|')) => Err(self.error(format!("`{c}` where a word is due"))),
            _ => self.chunk(field),
        }
    }

    /// Returns the words up to `end`, which closes what the next character opens.
    fn enclosed(&mut self, end: char) -> Result<Vec<String>, QuerySyntaxError> {
        let start = self.at;
        let inside = &self.rest()[1..];
        let Some(length) = inside.find(end) else {
            let open = &self.rest()[..1];
            return Err(self.error_at(start, format!("`{open}` is not closed")));
        };
        self.at += 1 + length + 1;
        self.words(start, &inside[..length])
    }

    /// Returns the words of a part, at least one.
    fn words(&mut self, at: usize, text: &str) -> Result<Vec<String>, QuerySyntaxError> {
        let found: Vec<String> = words(text).map(|word| word.word.into_owned()).collect();
        if found.is_empty() {
            return Err(self.error_at(at, format!("no word is in `{text}`")));
        }
        self.words += found.len();
        if self.words > WORDS_MAX {
            return Err(self.error_at(at, format!("the query has more than {WORDS_MAX} words")));
        }
        Ok(found)
    }

    fn window(&mut self, field: WordField) -> Result<SearchQuery, QuerySyntaxError> {
        let start = self.at;
        let words = self.enclosed(']')?;
        let at = self.at;
        if !self.take('~') {
            return Err(self.error("`~` and the number of positions are missing, as in `[a b]~8`"));
        }
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse::<u32>().ok();
        let number = number.filter(|n| (1..=WINDOW_MAX).contains(n)).ok_or_else(|| {
            self.error_at(at, format!("a window has 1 to {WINDOW_MAX} positions, as `~8`"))
        })?;
        self.at += digits;
        if (number as usize) < words.len() {
            let problem = format!("{} words do not fit into {number} positions", words.len());
            return Err(self.error_at(start, problem));
        }
        Ok(if words.len() == 1 {
            phrase(field, words)
        } else {
            SearchQuery::Window(field, words, number)
        })
    }

    /// Parses what has no space: words, a prefix, or a field.
    fn chunk(&mut self, field: WordField) -> Result<SearchQuery, QuerySyntaxError> {
        let start = self.at;
        let rest = self.rest();
        let ends = |c: char| c.is_whitespace() || SPECIAL.contains(&c);
        let chunk = &rest[..rest.find(ends).unwrap_or(rest.len())];
        if let Some((name, value)) = chunk.split_once(':')
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphabetic())
        {
            self.at += name.len() + 1;
            return self.field(start, name, value);
        }
        self.at += chunk.len();
        if let Some(before) = chunk.strip_suffix('*') {
            let mut words = self.words(start, before)?;
            return match words.pop() {
                Some(word) if words.is_empty() => Ok(SearchQuery::Prefix(field, word)),
                _ => Err(self.error_at(start, "only one word may be before `*`")),
            };
        }
        let words = self.words(start, chunk)?;
        Ok(phrase(field, words))
    }

    fn field(
        &mut self,
        start: usize,
        name: &str,
        value: &str,
    ) -> Result<SearchQuery, QuerySyntaxError> {
        let missing = |parser: &Self| parser.error(format!("nothing is after `{name}:`"));
        match name {
            "title" | "anchor" => {
                if self.peek().is_none_or(char::is_whitespace) {
                    return Err(missing(self));
                }
                if self.peek() == Some('-') {
                    let problem = format!("`-` goes before `{name}:`, as `-{name}:word`");
                    return Err(self.error(problem));
                }
                self.part(if name == "title" { WordField::Title } else { WordField::Anchor })
            }
            "site" | "lang" => {
                if value.is_empty() {
                    return Err(missing(self));
                }
                let at = self.at;
                self.at += value.len();
                if name == "site" {
                    return site(value).map(SearchQuery::Site).ok_or_else(|| {
                        self.error_at(at, "`site:` takes a host or a domain, as `site:example.org`")
                    });
                }
                let is_code = matches!(value.len(), 2 | 3)
                    && value.bytes().all(|byte| byte.is_ascii_alphabetic());
                if !is_code {
                    let problem = "`lang:` takes a code of two or three letters, as `lang:en`";
                    return Err(self.error_at(at, problem));
                }
                Ok(SearchQuery::Language(language_name(value)))
            }
            _ => {
                let problem = format!(
                    "`{name}:` is no field; fields are title, anchor, site and lang; quotation marks make a phrase of it"
                );
                Err(self.error_at(start, problem))
            }
        }
    }
}

/// Returns the normal form of a host or domain.
fn site(text: &str) -> Option<String> {
    let text = text.strip_prefix("*.").unwrap_or(text);
    let url = crivello_common::url::CrawlUrl::parse(&format!("http://{text}/")).ok()?;
    let is_host = url.path_and_query() == "/" && !text.contains(['/', '@', '?', '#']);
    is_host.then(|| url.host().to_owned())
}

fn phrase(field: WordField, mut words: Vec<String>) -> SearchQuery {
    match words.len() {
        1 => SearchQuery::Word(field, words.remove(0)),
        _ => SearchQuery::Phrase(field, words),
    }
}

fn one_or(
    mut parts: Vec<SearchQuery>,
    all: impl FnOnce(Vec<SearchQuery>) -> SearchQuery,
) -> SearchQuery {
    if parts.len() == 1 { parts.remove(0) } else { all(parts) }
}
