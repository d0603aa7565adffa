//! The parts of a WARC file that a package has: all, or the records of what is selected.

use crivello_archive::WarcReader;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

/// Parts of a file, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileParts {
    /// The whole file.
    Whole,
    /// Ranges of bytes: offset, length, and offset among those that are kept.
    Ranges(Vec<(u64, u64, u64)>),
}

/// A record of the file.
struct Place {
    offset: u64,
    length: u64,
    kind: Kind,
    id: Option<String>,
    /// Ids of records that it belongs to.
    others: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// About the file.
    Warcinfo,
    /// A capture.
    Capture,
    /// A request, metadata and the like, which belong to captures.
    Companion,
}

/// Fields that name a record which another belongs to.
const REFERENCES: [&str; 3] = ["WARC-Concurrent-To", "WARC-Refers-To", "WARC-Segment-Origin-ID"];

impl FileParts {
    /// Finds the parts with the captures at these offsets: their records, the records that belong to them, and
    /// those about the file. Places of a file's records are in memory, about 200 bytes for each.
    pub(super) fn with_captures(path: &Path, selected: &HashSet<u64>) -> io::Result<Self> {
        let places = places(path)?;
        let is_selected =
            |place: &&Place| place.kind != Kind::Warcinfo && selected.contains(&place.offset);
        let captures = || places.iter().filter(is_selected);
        let ids: HashSet<&str> = captures().filter_map(|place| place.id.as_deref()).collect();
        let named: HashSet<&str> =
            captures().flat_map(|place| &place.others).map(String::as_str).collect();
        let mut ranges: Vec<(u64, u64, u64)> = Vec::new();
        let mut add = |offset: u64, length: u64| match ranges.last_mut() {
            Some((last, n, _)) if *last + *n == offset => *n += length,
            Some(&mut (_, n, kept)) => ranges.push((offset, length, kept + n)),
            None => ranges.push((offset, length, 0)),
        };
        // What precedes the first record: a dictionary.
        let start = places.first().map_or(0, |place| place.offset);
        if start > 0 {
            add(0, start);
        }
        for place in &places {
            let belongs = place.id.as_deref().is_some_and(|id| named.contains(id))
                || place.others.iter().any(|id| ids.contains(id.as_str()));
            let is_kept = match place.kind {
                Kind::Warcinfo => true,
                Kind::Capture => selected.contains(&place.offset),
                Kind::Companion => belongs || selected.contains(&place.offset),
            };
            if is_kept {
                add(place.offset, place.length);
            }
        }
        Ok(Self::Ranges(ranges))
    }

    /// Returns the offset at which a record is in the package.
    pub(super) fn offset(&self, offset: u64) -> u64 {
        let Self::Ranges(ranges) = self else { return offset };
        let next = ranges.partition_point(|(start, ..)| *start <= offset);
        let (start, _, kept) = next.checked_sub(1).map_or((0, 0, 0), |range| ranges[range]);
        kept + (offset - start)
    }

    /// Copies the parts.
    pub(super) fn copy(&self, path: &Path, out: &mut dyn Write) -> io::Result<()> {
        let mut file = File::open(path)?;
        let Self::Ranges(ranges) = self else {
            io::copy(&mut BufReader::with_capacity(256 << 10, file), out)?;
            return Ok(());
        };
        for &(offset, length, _) in ranges {
            file.seek(SeekFrom::Start(offset))?;
            if io::copy(&mut (&file).take(length), out)? < length {
                let problem = format!("{}: the file became shorter", path.display());
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
            }
        }
        Ok(())
    }
}

/// Returns the places of the records that can be read alone.
fn places(path: &Path) -> io::Result<Vec<Place>> {
    let mut warc = WarcReader::open(path)?;
    let mut places = Vec::new();
    while let Some(item) = warc.next_record() {
        let Ok(mut record) = item else { continue };
        let kind = match record.head.kind() {
            "warcinfo" => Kind::Warcinfo,
            "response" | "revisit" | "resource" => Kind::Capture,
            _ => Kind::Companion,
        };
        let field = |name: &str| record.head.fields.get(name).map(str::to_owned);
        let (id, others) =
            (field("WARC-Record-ID"), REFERENCES.iter().filter_map(|name| field(name)));
        let (others, offset) = (others.collect(), record.offset());
        if let Ok(Some(length)) = record.finish() {
            places.push(Place { offset, length, kind, id, others });
        }
    }
    Ok(places)
}
