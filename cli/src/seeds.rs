//! Seeds: arguments first, then a file read as it is needed. What is no URL is named by its line
//! and counted; the rest goes on.

use crate::screen;
use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a line that are read; longer ones are refused.
const LINE_MAX: u64 = 64 * 1024;
/// Bytes of a refused line that are shown.
const SHOWN_MAX: usize = 120;

/// How many seeds were refused so far, shared with whoever reports it.
#[derive(Clone, Debug, Default)]
pub struct Refused(Arc<AtomicU64>);

impl Refused {
    /// Counts one and says which, on standard error.
    fn name(&self, place: &str, text: &str, why: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
        let shown: String = text.chars().take(SHOWN_MAX).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        screen::say(&format!("{place}: not a seed: {shown:?}{dots}: {why}"));
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The seeds among the arguments.
pub fn from_arguments(urls: Vec<String>, refused: Refused) -> impl Iterator<Item = CrawlUrl> {
    urls.into_iter().enumerate().filter_map(move |(i, text)| {
        let place = format!("argument {}", i + 1);
        parse(&text).map_err(|why| refused.name(&place, &text, &why)).ok()
    })
}

/// Whether there is a seed among the arguments.
///
/// # Errors
/// Why the first is none, when none is.
pub fn some_url(urls: &[String]) -> Result<(), String> {
    if urls.iter().any(|text| parse(text).is_ok()) {
        return Ok(());
    }
    let first = urls.first().map(|text| (text, parse(text)));
    match first {
        Some((text, Err(why))) => Err(format!("nowhere to begin: {text:?}: {why}")),
        _ => Ok(()),
    }
}

/// Those among the arguments that are seeds; nothing is said of the others.
pub fn known_seeds(urls: &[String]) -> Vec<CrawlUrl> {
    urls.iter().filter_map(|text| CrawlUrl::parse(text).ok()).collect()
}

/// The seeds of a file, line by line. A read error ends them; it is kept for [`SeedFile::error`].
#[derive(Debug)]
pub struct SeedFile<R> {
    reader: R,
    name: String,
    line: u64,
    refused: Refused,
    error: Arc<std::sync::Mutex<Option<io::Error>>>,
}

impl<R: BufRead> SeedFile<R> {
    /// Reads from `reader`, which is called `name` in messages; `error` gets what ends it early.
    pub fn new(
        reader: R,
        name: String,
        refused: Refused,
        error: Arc<std::sync::Mutex<Option<io::Error>>>,
    ) -> Self {
        Self { reader, name, line: 0, refused, error }
    }

    /// The next line without its end, or `None` at the end of the file; lines that are too long
    /// come cut, with `true`.
    fn next_line(&mut self) -> io::Result<Option<(Vec<u8>, bool)>> {
        let mut line = Vec::new();
        if self.reader.by_ref().take(LINE_MAX + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        let complete = line.last() == Some(&b'\n');
        let too_long = !complete && line.len() as u64 > LINE_MAX;
        if too_long {
            self.reader.skip_until(b'\n')?;
        }
        Ok(Some((line, too_long)))
    }

    fn seed_of(&self, line: &[u8], too_long: bool) -> Option<CrawlUrl> {
        let text = String::from_utf8_lossy(line);
        let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { &text };
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let parsed = match (too_long, std::str::from_utf8(line)) {
            (true, _) => Err(format!("longer than {LINE_MAX} bytes")),
            (_, Err(_)) => Err("not UTF-8".to_owned()),
            _ => parse(text),
        };
        let place = format!("{}:{}", self.name, self.line);
        parsed.map_err(|why| self.refused.name(&place, text, &why)).ok()
    }
}

impl<R: BufRead> Iterator for SeedFile<R> {
    type Item = CrawlUrl;

    fn next(&mut self) -> Option<CrawlUrl> {
        loop {
            match self.next_line() {
                Ok(None) => return None,
                Ok(Some((line, too_long))) => {
                    if let Some(url) = self.seed_of(&line, too_long) {
                        return Some(url);
                    }
                }
                Err(error) => {
                    *self.error.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
                        Some(error);
                    return None;
                }
            }
        }
    }
}

fn parse(text: &str) -> Result<CrawlUrl, String> {
    CrawlUrl::parse(text).map_err(|reason| match reason {
        Discard::Scheme => "only http and https are crawled".to_owned(),
        Discard::Authority => "a host is needed, and no user name or password".to_owned(),
        _ if !text.contains("://") && CrawlUrl::parse(&format!("https://{text}")).is_ok() => {
            format!("no scheme; did you mean https://{text} ?")
        }
        other => format!("no URL ({})", other.name()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> (Vec<String>, u64) {
        let refused = Refused::default();
        let file = SeedFile::new(text, "seeds.txt".to_owned(), refused.clone(), Arc::default());
        (file.map(|url| url.to_string()).collect(), refused.count())
    }

    #[test]
    fn one_bad_line_does_not_cost_the_rest() {
        let text = b"\xef\xbb\xbfhttp://a/\n\n# comment\nnot a url\r\n ftp://x/ \nhttp://b/x#y\r\nhttp://c";
        let (urls, refused) = read(text);
        assert_eq!(urls, ["http://a/", "http://b/x", "http://c/"]);
        assert_eq!(refused, 2);
    }

    #[test]
    fn a_line_without_end_is_not_read_into_memory() {
        let mut text = b"http://a/".to_vec();
        text.resize(3 * 64 * 1024, b'x');
        text.extend_from_slice(b"\nhttp://b/\n\xff\xfe\n");
        let (urls, refused) = read(&text);
        assert_eq!(urls, ["http://b/"]);
        assert_eq!(refused, 2);
    }

    #[test]
    fn a_read_error_ends_the_seeds_and_is_kept() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("torn"))
            }
        }
        let error = Arc::default();
        let text: &[u8] = b"http://a/\n";
        let reader = io::BufReader::new(text.chain(Broken));
        let file = SeedFile::new(reader, "pipe".to_owned(), Refused::default(), Arc::clone(&error));
        assert_eq!(file.count(), 1);
        assert!(error.lock().unwrap().is_some());
    }

    #[test]
    fn a_forgotten_scheme_is_guessed_in_the_message_only() {
        assert!(parse("example.com").unwrap_err().contains("https://example.com"));
        assert!(parse("mailto:a@b").unwrap_err().contains("http"));
    }
}
