//! The manifest: the segments that are in force, the archive files that were read, and the options.
//!
//! A line of JSON, and a line with its XXH3-64 in hexadecimal digits. The file is replaced whole, after all files that it
//! names were synced. What it does not name is removed by the next run.

use crate::error::IndexError;
use crate::file::FORMAT_VERSION;
use crate::postings::Preset;
use crate::segment::Segment;
use crate::text::Stemming;
use crivello_common::runtime::replace_file;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;
use std::collections::BTreeSet;
use std::fs;
use std::hash::Hasher as _;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the file in the directory of an index.
pub(crate) const MANIFEST: &str = "manifest.json";

/// Contents of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) preset: String,
    pub(crate) stemming: String,
    /// Key of the hashes of URLs, drawn at random: no site can make a URL whose hash is that of another one.
    pub(crate) key: (u64, u64),
    /// The next number of a segment, a source or a generation of dead documents.
    pub(crate) next: u32,
    pub(crate) sources: Vec<Source>,
    pub(crate) segments: Vec<SegmentEntry>,
    /// Generation of the ranks.
    pub(crate) ranks: Option<u64>,
    /// True if the words of links to documents are those of the segments and dead documents in force.
    pub(crate) are_anchors_current: bool,
}

/// A state of an archive file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) id: u32,
    /// Path by [`SourceBase`].
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) modified_ns: u64,
}

/// The directory of a crawl, in which the index is. Paths of sources below it are relative to it, so that the crawl can be
/// moved.
#[derive(Clone, Debug)]
pub(crate) struct SourceBase(PathBuf);

impl SourceBase {
    /// Returns that of an index, whose directory exists.
    pub(crate) fn of(index: &Path) -> Result<Self, IndexError> {
        let full = fs::canonicalize(index).map_err(IndexError::io(index))?;
        Ok(Self(full.parent().unwrap_or(&full).to_owned()))
    }

    /// Returns the path of a source for the manifest.
    pub(crate) fn stored(&self, full: &Path) -> PathBuf {
        full.strip_prefix(&self.0).unwrap_or(full).to_owned()
    }

    /// Returns the path of a source.
    pub(crate) fn full(&self, source: &Source) -> PathBuf {
        self.0.join(&source.path)
    }
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u32,
    pub(crate) documents: u32,
    pub(crate) captures: u64,
    pub(crate) bytes: u64,
    /// Sources that it has captures of.
    pub(crate) sources: BTreeSet<u32>,
    /// Generation and number of its dead documents.
    pub(crate) dead: Option<(u64, u32)>,
    /// Generation of the words of links to its documents.
    pub(crate) anchors: Option<u64>,
}

impl SegmentEntry {
    /// Returns the name of its directory.
    pub(crate) fn name(&self) -> String {
        segment_name(self.number)
    }

    /// Opens the segment in the directory of the index.
    pub(crate) fn open(&self, dir: &Path, preset: Preset) -> Result<Segment, IndexError> {
        let dead = self.dead.map(|(generation, _)| generation);
        Segment::open(&dir.join(self.name()), preset, dead, self.anchors)
    }
}

/// Returns the name of the directory of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("segment-{number:08}")
}

impl Manifest {
    /// Creates the manifest of an empty index.
    pub(crate) fn new(preset: Preset, stemming: Stemming) -> Result<Self, IndexError> {
        let random = || {
            getrandom::u64().map_err(|error| IndexError::Io {
                path: PathBuf::from(MANIFEST),
                source: io::Error::other(error.to_string()),
            })
        };
        Ok(Self {
            version: FORMAT_VERSION,
            preset: preset.name().to_owned(),
            stemming: stemming.name().to_owned(),
            key: (random()?, random()?),
            next: 1,
            sources: Vec::new(),
            segments: Vec::new(),
            ranks: None,
            are_anchors_current: true,
        })
    }

    /// Reads the manifest of an index; `None` if there is none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, IndexError> {
        let path = dir.join(MANIFEST);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IndexError::io(&path)(error)),
        };
        let damaged = || IndexError::damaged(&path, "the manifest");
        let text = std::str::from_utf8(&bytes).map_err(|_| damaged())?;
        let (json, checksum) =
            text.strip_suffix('\n').and_then(|text| text.rsplit_once('\n')).ok_or_else(damaged)?;
        if format!("{:016x}", xxh3_64(json.as_bytes())) != checksum {
            return Err(damaged());
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let Version { version: found } = serde_json::from_str(json).map_err(|_| damaged())?;
        if found != FORMAT_VERSION {
            return Err(IndexError::Version { path, found, expected: FORMAT_VERSION });
        }
        serde_json::from_str(json).map(Some).map_err(|_| damaged())
    }

    /// Replaces the manifest.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), IndexError> {
        let path = dir.join(MANIFEST);
        let json = serde_json::to_string(self).map_err(|error| {
            IndexError::io(&path)(io::Error::new(ErrorKind::InvalidData, error))
        })?;
        let text = format!("{json}\n{:016x}\n", xxh3_64(json.as_bytes()));
        replace_file(&path, text.as_bytes()).map_err(IndexError::io(&path))
    }

    /// Returns the preset and the stemming.
    pub(crate) fn options(&self, dir: &Path) -> Result<(Preset, Stemming), IndexError> {
        let preset = Preset::ALL.iter().find(|preset| preset.name() == self.preset);
        let stemming = Stemming::ALL.iter().find(|stemming| stemming.name() == self.stemming);
        let both = preset.copied().zip(stemming.copied());
        both.ok_or_else(|| IndexError::damaged(&dir.join(MANIFEST), "options"))
    }

    /// Returns the next number, and never again.
    pub(crate) fn take_number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Returns the ids of sources that are in force.
    pub(crate) fn source_ids(&self) -> BTreeSet<u32> {
        self.sources.iter().map(|source| source.id).collect()
    }

    /// Returns the hasher of URLs.
    pub(crate) fn hasher(&self) -> UrlHasher {
        UrlHasher(self.key)
    }
}

/// A keyed hash of URLs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UrlHasher((u64, u64));

impl UrlHasher {
    /// Returns the hash of a URL or a host; never 0.
    pub(crate) fn hash(&self, url: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.0.0, self.0.1);
        hasher.write(url.as_bytes());
        hasher.finish().max(1)
    }
}
