//! Seeds: first the arguments, then a file that is read as needed. Lines that are not URLs are
//! reported and counted, and reading continues.

use crate::exit::{CliError, usage};
use crate::screen;
use crivello_agent::Seed;
use crivello_common::discard::Discard;
use crivello_common::url::CrawlUrl;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::iter::Enumerate;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fmt, vec};
use tokio_util::sync::CancellationToken;

/// Maximum length of a line in bytes.
const LINE_MAX: usize = 64 * 1024;
/// Maximum number of bytes of a rejected line that are printed.
const SHOWN_MAX: usize = 120;
/// Maximum wait for input before the reader reports that none is available.
const POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Rejected seeds and the first read error. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct SeedErrors(Arc<Errors>);

#[derive(Debug, Default)]
struct Errors {
    rejected: AtomicU64,
    error: OnceLock<String>,
}

/// Input that may arrive slowly: a pipe, a terminal, or a file, which is always ready.
trait PollInput: BufRead {
    /// Waits up to [`POLL_TIMEOUT`] for bytes or the end of input. Returns `false` if neither
    /// occurred.
    fn is_ready(&mut self) -> io::Result<bool>;
}

impl PollInput for BufReader<File> {
    fn is_ready(&mut self) -> io::Result<bool> {
        if !self.buffer().is_empty() {
            return Ok(true);
        }
        let mut fds = [PollFd::new(self.get_ref(), PollFlags::IN)];
        match poll(&mut fds, Some(&POLL_TIMEOUT)) {
            Ok(n) => Ok(n > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Origin of a seed, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeedOrigin {
    /// Number of the argument, from 1.
    Argument(usize),
    /// Name of the file, and number of the line, from 1.
    Line(Arc<str>, u64),
}

impl fmt::Display for SeedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(n) => write!(f, "argument {n}"),
            Self::Line(name, line) => write!(f, "{name}:{line}"),
        }
    }
}

impl SeedErrors {
    /// Counts a rejected seed, and prints it with its origin.
    pub fn reject(&self, origin: &SeedOrigin, text: &str, why: &str) {
        self.0.rejected.fetch_add(1, Ordering::Relaxed);
        let shown: String = text.chars().take(SHOWN_MAX).collect();
        let dots = if shown.len() < text.len() { "…" } else { "" };
        screen::print_line(&format!("{origin}: refused: {shown:?}{dots}: {why}"));
    }

    /// Records the first read error.
    fn record(&self, error: String) {
        let _ = self.0.error.set(error);
    }

    /// Returns the number of rejected seeds so far.
    pub fn rejected(&self) -> u64 {
        self.0.rejected.load(Ordering::Relaxed)
    }

    /// Returns the read error with its origin, if there was one.
    pub fn error(&self) -> Option<&str> {
        self.0.error.get().map(String::as_str)
    }
}

/// Sources of seeds: opened, not yet read.
#[derive(Default)]
pub struct SeedSources {
    /// Arguments.
    pub urls: Vec<String>,
    /// File or standard input.
    pub file: Option<SeedInput>,
}

/// An open file of seeds, or standard input.
#[derive(Debug)]
pub struct SeedInput {
    /// Name in messages.
    pub name: String,
    /// Value of `--seeds`.
    pub path: PathBuf,
    /// Open file.
    pub reader: BufReader<File>,
}

/// Opens a file of seeds; `-` is standard input.
///
/// # Errors
/// Returns a usage error, which names `flag`, if the file cannot be opened.
pub fn open(flag: &str, path: PathBuf) -> Result<SeedInput, CliError> {
    if path.as_os_str() == "-" {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        let reader = BufReader::new(stdin.into());
        return Ok(SeedInput { name: "standard input".to_owned(), path, reader });
    }
    let name = path.display().to_string();
    let opened = File::open(&path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    match opened {
        Ok(file) => Ok(SeedInput { name, path, reader: BufReader::new(file) }),
        Err(error) => Err(usage!("{flag} {name}: {error}")),
    }
}

/// Checks that at least one argument is a seed.
///
/// # Errors
/// Fails if no argument is a seed. Returns what is wrong with the first argument.
pub fn check_any(urls: &[String]) -> Result<(), String> {
    match urls.first() {
        Some(first) if urls.iter().all(|text| parse(text).is_err()) => {
            parse(first).map(drop).map_err(|why| format!("no seeds: {first:?}: {why}"))
        }
        _ => Ok(()),
    }
}

/// Iterator over all seeds of a run.
#[derive(Debug)]
pub struct SeedIter {
    arguments: Enumerate<vec::IntoIter<String>>,
    file: Option<SeedFile<BufReader<File>>>,
    stop: CancellationToken,
    seed_errors: SeedErrors,
    /// Origin of the last seed.
    pub last: SeedOrigin,
}

impl SeedIter {
    /// Reads the arguments, then the file. `stop` ends the iteration early.
    pub fn new(sources: SeedSources, stop: CancellationToken, seed_errors: SeedErrors) -> Self {
        let file = sources
            .file
            .map(|file| SeedFile::new(file.reader, file.name, stop.clone(), seed_errors.clone()));
        let (arguments, last) = (sources.urls.into_iter().enumerate(), SeedOrigin::Argument(0));
        Self { arguments, file, stop, seed_errors, last }
    }
}

impl Iterator for SeedIter {
    type Item = Seed;

    fn next(&mut self) -> Option<Seed> {
        if self.stop.is_cancelled() {
            return Some(Seed::Cut);
        }
        for (i, text) in self.arguments.by_ref() {
            self.last = SeedOrigin::Argument(i + 1);
            match parse(&text) {
                Ok(url) => return Some(Seed::Url(url)),
                Err(why) => self.seed_errors.reject(&self.last, &text, &why),
            }
        }
        let file = self.file.as_mut()?;
        let next = file.next();
        if let Some(Seed::Url(_)) = &next {
            // The reader has already advanced to the next line.
            self.last = SeedOrigin::Line(Arc::clone(&file.name), file.line.saturating_sub(1));
        }
        if next.is_none() {
            // A terminal could return more input after its end.
            self.file = None;
        }
        next
    }
}

/// Iterator over the seeds of a file, line by line. A read error ends it early and is recorded in
/// [`SeedErrors`].
#[derive(Debug)]
struct SeedFile<R> {
    reader: R,
    name: Arc<str>,
    stop: CancellationToken,
    seed_errors: SeedErrors,
    /// Number of the current line, from 1.
    line: u64,
    /// Bytes of the current line read so far.
    text: Vec<u8>,
}

/// Result of a further read.
enum Step {
    /// The line is complete.
    Line,
    /// No input is available yet.
    Waiting,
    /// End of the file.
    End,
}

impl<R: PollInput> SeedFile<R> {
    /// Creates an iterator over `reader`, named `name` in messages.
    fn new(reader: R, name: String, stop: CancellationToken, seed_errors: SeedErrors) -> Self {
        Self { reader, name: name.into(), stop, seed_errors, line: 1, text: Vec::new() }
    }

    /// Reads more of the line. Bytes beyond [`LINE_MAX`] are dropped.
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

    fn origin(&self) -> SeedOrigin {
        SeedOrigin::Line(Arc::clone(&self.name), self.line)
    }

    /// Returns the seed in the current line, if there is one.
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
        parsed.map_err(|why| self.seed_errors.reject(&self.origin(), text, &why)).ok()
    }
}

impl<R: PollInput> Iterator for SeedFile<R> {
    type Item = Seed;

    fn next(&mut self) -> Option<Seed> {
        while !self.stop.is_cancelled() {
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
                    self.seed_errors.record(format!("{}: {error}", self.origin()));
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
        Discard::Authority => "a host is required, and no user name or password".to_owned(),
        _ if !text.contains("://") && CrawlUrl::parse(&format!("https://{text}")).is_ok() => {
            format!("no scheme; did you mean https://{text} ?")
        }
        other => format!("not a URL ({})", other.name()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Input in pieces, with a pause before each piece but the first.
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

    impl PollInput for Pieces {
        fn is_ready(&mut self) -> io::Result<bool> {
            Ok(std::mem::replace(&mut self.1, true))
        }
    }

    /// Returns the seeds of `pieces` as text: URLs, `...` for a pause, `cut`.
    fn read(pieces: &[&'static [u8]]) -> (String, SeedErrors) {
        let seed_errors = SeedErrors::default();
        let (stop, name) = (CancellationToken::new(), "seeds.txt".to_owned());
        let file = SeedFile::new(Pieces::new(pieces), name, stop, seed_errors.clone());
        let mut items = Vec::new();
        for seed in file {
            match seed {
                Seed::Url(url) => items.push(url.to_string()),
                Seed::Pause => items.push("...".to_owned()),
                Seed::Cut => {
                    items.push("cut".to_owned());
                    break;
                }
            }
        }
        (items.join(" "), seed_errors)
    }

    #[test]
    fn a_bad_line_is_skipped() {
        let text = b"\xef\xbb\xbfhttp://a/\n\n# comment\nnot a url\r\n ftp://x/ \nhttp://b/x#y\r\nhttp://c";
        let (seeds, seed_errors) = read(&[text]);
        assert_eq!(seeds, "http://a/ http://b/x ... http://c/");
        assert_eq!(seed_errors.rejected(), 2);
    }

    #[test]
    fn a_line_without_end_is_not_read_into_memory() {
        let mut text = b"http://a/".to_vec();
        text.resize(3 * LINE_MAX, b'x');
        text.extend_from_slice(b"\nhttp://b/\n\xff\xfe\n");
        let seed_errors = SeedErrors::default();
        let (stop, pieces) = (CancellationToken::new(), Pieces::new(&[text.leak()]));
        let mut file = SeedFile::new(pieces, "seeds.txt".to_owned(), stop, seed_errors.clone());
        assert_eq!(file.next(), Some(Seed::Url(CrawlUrl::parse("http://b/").unwrap())));
        assert!(file.text.capacity() < 2 * LINE_MAX);
        while file.next().is_some() {}
        assert_eq!(seed_errors.rejected(), 2);
    }

    #[test]
    fn waiting_within_a_line_is_reported() {
        let (seeds, _) = read(&[b"http://a/\nhttp", b"://b", b"/\nhttp://c/\n"]);
        assert_eq!(seeds, "http://a/ ... ... http://b/ http://c/ ...");
    }

    #[test]
    fn a_read_error_cuts_the_seeds_and_is_recorded() {
        let (seeds, seed_errors) = read(&[b"http://a/\n", b"torn"]);
        assert_eq!(seeds, "http://a/ ... cut");
        assert_eq!(seed_errors.error(), Some("seeds.txt:2: torn"));
    }

    #[test]
    fn a_signal_cuts_the_seeds() {
        let stop = CancellationToken::new();
        let sources = SeedSources { urls: vec!["http://a/".to_owned(); 2], file: None };
        let mut seeds = SeedIter::new(sources, stop.clone(), SeedErrors::default());
        assert!(matches!(seeds.next(), Some(Seed::Url(_))));
        stop.cancel();
        assert_eq!(seeds.next(), Some(Seed::Cut));
    }

    #[test]
    fn a_missing_scheme_is_suggested() {
        assert!(parse("example.com").unwrap_err().contains("https://example.com"));
        assert!(parse("mailto:a@b").unwrap_err().contains("http"));
    }
}
