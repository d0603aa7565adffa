//! Seeds: arguments first, then a file read as it is needed. What is no URL is named by its line
//! and counted; the rest goes on.

use crate::input::Input;
use crate::signals::Signals;
use crate::{plan, screen};
use crivello_agent::Seed;
use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use std::fs::File;
use std::io::{self, BufReader};
use std::iter::Enumerate;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fmt, vec};

/// Bytes of a line that are read; longer ones are refused.
const LINE_MAX: usize = 64 * 1024;
/// Bytes of a refused line that are shown.
const SHOWN_MAX: usize = 120;

/// What is to be told of the seeds, shared with whoever tells it.
#[derive(Clone, Debug, Default)]
pub struct Account(Arc<Told>);

#[derive(Debug, Default)]
struct Told {
    refused: AtomicU64,
    error: OnceLock<String>,
}

/// Where a seed was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Which argument, counted from 1.
    Argument(usize),
    /// A file, and the line in it.
    Line(Arc<str>, u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(n) => write!(f, "argument {n}"),
            Self::Line(name, line) => write!(f, "{name}:{line}"),
        }
    }
}

impl Account {
    /// Counts one that is none, and says which, on standard error.
    pub fn refuse(&self, place: &Place, text: &str, why: &str) {
        self.0.refused.fetch_add(1, Ordering::Relaxed);
        let shown: String = text.chars().take(SHOWN_MAX).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        screen::say(&format!("{place}: not a seed: {shown:?}{dots}: {why}"));
    }

    /// Keeps the first error.
    fn keep(&self, error: String) {
        let _ = self.0.error.set(error);
    }

    /// How many were refused so far.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    /// Why they could not be read to their end, with the place.
    pub fn error(&self) -> Option<&str> {
        self.0.error.get().map(String::as_str)
    }
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

/// All seeds of a run, read as they are asked for.
#[derive(Debug)]
pub struct Seeds {
    arguments: Enumerate<vec::IntoIter<String>>,
    file: Option<SeedFile<BufReader<File>>>,
    stop: Signals,
    account: Account,
    last: Place,
}

impl Seeds {
    /// The arguments, then the file; they are cut when a signal comes.
    pub fn new(given: plan::Seeds, stop: Signals, account: Account) -> Self {
        let file = given
            .file
            .map(|file| SeedFile::new(file.reader, file.name, stop.clone(), account.clone()));
        let (arguments, last) = (given.urls.into_iter().enumerate(), Place::Argument(0));
        Self { arguments, file, stop, account, last }
    }

    /// Where the last one was given.
    pub const fn place(&self) -> &Place {
        &self.last
    }
}

impl Iterator for Seeds {
    type Item = Seed;

    fn next(&mut self) -> Option<Seed> {
        if self.stop.came() {
            return Some(Seed::Cut);
        }
        for (i, text) in self.arguments.by_ref() {
            self.last = Place::Argument(i + 1);
            match parse(&text) {
                Ok(url) => return Some(Seed::Url(url)),
                Err(why) => self.account.refuse(&self.last, &text, &why),
            }
        }
        let file = self.file.as_mut()?;
        let next = file.next();
        if let Some(Seed::Url(_)) = &next {
            // It is beyond that line by now.
            self.last = Place::Line(Arc::clone(&file.name), file.line.saturating_sub(1));
        }
        if next.is_none() {
            // A terminal would give more after its end.
            self.file = None;
        }
        next
    }
}

/// The seeds of a file, line by line. A read error cuts them; it is kept in the [`Account`].
#[derive(Debug)]
struct SeedFile<R> {
    reader: R,
    name: Arc<str>,
    stop: Signals,
    account: Account,
    /// The number of the line that is read, counted from 1.
    line: u64,
    /// What has come of it.
    text: Vec<u8>,
}

/// How far a line has come.
enum Step {
    /// To its end.
    Line,
    /// Nothing more of it can be read just now.
    Waiting,
    /// There is none.
    End,
}

impl<R: Input> SeedFile<R> {
    /// Reads from `reader`, which is called `name` in messages.
    fn new(reader: R, name: String, stop: Signals, account: Account) -> Self {
        Self { reader, name: name.into(), stop, account, line: 1, text: Vec::new() }
    }

    /// Reads on in the line; what is longer than allowed is read and not kept.
    fn read_on(&mut self) -> io::Result<Step> {
        loop {
            if !self.reader.is_ready()? {
                return Ok(Step::Waiting);
            }
            let bytes = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            let room = (LINE_MAX + 1).saturating_sub(self.text.len());
            self.text.extend_from_slice(part.get(..room).unwrap_or(part));
            let (read, at_end) = (part.len() + usize::from(end.is_some()), bytes.is_empty());
            self.reader.consume(read);
            match (at_end, end) {
                (true, _) if self.text.is_empty() => return Ok(Step::End),
                (true, _) | (_, Some(_)) => return Ok(Step::Line),
                _ => {}
            }
        }
    }

    fn place(&self) -> Place {
        Place::Line(Arc::clone(&self.name), self.line)
    }

    /// The seed of the line that has been read, if it is one.
    fn seed(&self) -> Option<CrawlUrl> {
        let text = String::from_utf8_lossy(&self.text);
        let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { &text };
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let parsed = match std::str::from_utf8(&self.text) {
            _ if self.text.len() > LINE_MAX => Err(format!("longer than {LINE_MAX} bytes")),
            Err(_) => Err("not UTF-8".to_owned()),
            Ok(_) => parse(text),
        };
        parsed.map_err(|why| self.account.refuse(&self.place(), text, &why)).ok()
    }
}

impl<R: Input> Iterator for SeedFile<R> {
    type Item = Seed;

    fn next(&mut self) -> Option<Seed> {
        while !self.stop.came() {
            match self.read_on() {
                Ok(Step::End) => return None,
                Ok(Step::Waiting) => return Some(Seed::Pause),
                Ok(Step::Line) => {
                    let seed = self.seed();
                    self.text.clear();
                    self.line += 1;
                    if let Some(url) = seed {
                        return Some(Seed::Url(url));
                    }
                }
                Err(error) => {
                    self.account.keep(format!("{}: {error}", self.place()));
                    break;
                }
            }
        }
        Some(Seed::Cut)
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
    use std::io::{BufRead, Read};

    /// Comes piece by piece, with a pause before each but the first.
    struct Pieces(Vec<&'static [u8]>, bool);

    impl Pieces {
        fn new(pieces: &[&'static [u8]]) -> Self {
            Self(pieces.iter().rev().copied().collect(), true)
        }
    }

    impl Read for Pieces {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("lines are read otherwise"))
        }
    }

    impl BufRead for Pieces {
        fn fill_buf(&mut self) -> io::Result<&[u8]> {
            match self.0.last() {
                Some(&b"torn") => Err(io::Error::other("torn")),
                piece => Ok(piece.copied().unwrap_or_default()),
            }
        }

        fn consume(&mut self, n: usize) {
            if let Some(piece) = self.0.last_mut() {
                *piece = &piece[n..];
                if piece.is_empty() {
                    self.0.pop();
                    self.1 = false;
                }
            }
        }
    }

    impl Input for Pieces {
        fn is_ready(&mut self) -> io::Result<bool> {
            Ok(std::mem::replace(&mut self.1, true))
        }
    }

    /// What comes of `pieces`: URLs, `...` for a pause, `cut`.
    fn read(pieces: &[&'static [u8]]) -> (String, Account) {
        let account = Account::default();
        let (stop, name) = (Signals::default(), "seeds.txt".to_owned());
        let file = SeedFile::new(Pieces::new(pieces), name, stop, account.clone());
        let mut said = Vec::new();
        for seed in file {
            match seed {
                Seed::Url(url) => said.push(url.to_string()),
                Seed::Pause => said.push("...".to_owned()),
                Seed::Cut => {
                    said.push("cut".to_owned());
                    break;
                }
            }
        }
        (said.join(" "), account)
    }

    #[test]
    fn one_bad_line_does_not_cost_the_rest() {
        let text = b"\xef\xbb\xbfhttp://a/\n\n# comment\nnot a url\r\n ftp://x/ \nhttp://b/x#y\r\nhttp://c";
        let (seeds, account) = read(&[text]);
        assert_eq!(seeds, "http://a/ http://b/x ... http://c/");
        assert_eq!(account.refused(), 2);
    }

    #[test]
    fn a_line_without_end_is_not_read_into_memory() {
        let mut text = b"http://a/".to_vec();
        text.resize(3 * LINE_MAX, b'x');
        text.extend_from_slice(b"\nhttp://b/\n\xff\xfe\n");
        let account = Account::default();
        let (stop, pieces) = (Signals::default(), Pieces::new(&[text.leak()]));
        let mut file = SeedFile::new(pieces, "seeds.txt".to_owned(), stop, account.clone());
        assert_eq!(file.next(), Some(Seed::Url(CrawlUrl::parse("http://b/").unwrap())));
        assert!(file.text.capacity() < 2 * LINE_MAX);
        while file.next().is_some() {}
        assert_eq!(account.refused(), 2);
    }

    #[test]
    fn whoever_waits_in_the_middle_of_a_line_is_told_so() {
        let (seeds, _) = read(&[b"http://a/\nhttp", b"://b", b"/\nhttp://c/\n"]);
        assert_eq!(seeds, "http://a/ ... ... http://b/ http://c/ ...");
    }

    #[test]
    fn a_read_error_cuts_the_seeds_and_is_kept_with_its_place() {
        let (seeds, account) = read(&[b"http://a/\n", b"torn"]);
        assert_eq!(seeds, "http://a/ ... cut");
        assert_eq!(account.error(), Some("seeds.txt:2: torn"));
    }

    #[test]
    fn a_signal_cuts_the_seeds() {
        let stop = Signals::default();
        let given = plan::Seeds { urls: vec!["http://a/".to_owned(); 2], file: None };
        let mut seeds = Seeds::new(given, stop.clone(), Account::default());
        assert!(matches!(seeds.next(), Some(Seed::Url(_))));
        stop.come();
        assert_eq!(seeds.next(), Some(Seed::Cut));
    }

    #[test]
    fn a_forgotten_scheme_is_guessed_in_the_message_only() {
        assert!(parse("example.com").unwrap_err().contains("https://example.com"));
        assert!(parse("mailto:a@b").unwrap_err().contains("http"));
    }
}
