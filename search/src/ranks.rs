//! Static ranks: a score for hosts or URLs, from a table as `crivello rank --out` writes it, or ranks of hosts that a
//! crawl was fed with.
//!
//! The table:
//! ```text
//! section 0, a row for each name, by hash: keyed hash of the name (8) │ score (8)
//! section 1: mean of the scores (8)
//! ```

use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use crate::segment::{DocumentRow, Segment};
use crivello_common::url::CrawlUrl;
use crivello_ranks::HostRanks;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a row.
const ROW: u64 = 16;
/// Length of a line of the table in bytes at most.
const LINE_MAX: usize = 64 << 10;

/// Returns the name of the file of a generation.
pub(crate) fn ranks_name(generation: u64) -> String {
    format!("ranks-{generation}")
}

/// Writes the ranks of a table whose lines are score, tab, name; columns between these two are ignored. Of lines with
/// one name the first one counts. Takes 16 bytes of memory for each line.
pub(crate) fn write_ranks(
    table: &Path,
    out: &Path,
    hash: impl Fn(&str) -> u64,
) -> Result<(), IndexError> {
    let mut lines = BufReader::new(File::open(table).map_err(IndexError::io(table))?);
    let (mut rows, mut line, mut n) = (Vec::<(u64, f64)>::new(), String::new(), 0);
    loop {
        line.clear();
        n += 1;
        let mut bounded = std::io::Read::take(&mut lines, LINE_MAX as u64);
        if bounded.read_line(&mut line).map_err(IndexError::io(table))? == 0 {
            break;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        let columns = line.split_once('\t').zip(line.rsplit_once('\t'));
        let row = columns.and_then(|((score, _), (_, name))| {
            let score: f64 = score.parse().ok()?;
            (score.is_finite() && score >= 0.0).then(|| (hash(name), score))
        });
        let error = || IndexError::RankLine { path: table.to_owned(), line: n };
        rows.push(row.ok_or_else(error)?);
    }
    rows.sort_by_key(|(hash, _)| *hash);
    rows.dedup_by_key(|(hash, _)| *hash);
    let mean = rows.iter().map(|(_, score)| score).sum::<f64>() / rows.len().max(1) as f64;
    let mut file = CheckedFileWriter::create(out, FileKind::Ranks)?;
    for (hash, score) in rows {
        file.write(&hash.to_le_bytes())?;
        file.write(&score.to_le_bytes())?;
    }
    file.next_section();
    file.write(&mean.to_le_bytes())?;
    file.finish().map(drop)
}

/// Hosts whose ranks are kept by their hashes: 24 bytes each.
const HOSTS_MAX: usize = 1 << 18;

/// The static ranks of an index.
#[derive(Debug)]
pub(crate) enum StaticRanks {
    /// A table that belongs to it.
    Table(RankTable),
    /// The ranks of a crawl.
    Fed(FedRanks),
}

impl StaticRanks {
    /// Returns the share of a document, from 0 to 1; 0 if it has no rank.
    pub(crate) fn share(&self, segment: &Segment, row: &DocumentRow) -> Result<f64, IndexError> {
        match self {
            Self::Table(table) => table.share([row.url_hash, row.host_hash]),
            Self::Fed(ranks) => ranks.share(segment, row),
        }
    }
}

/// Ranks of hosts by their names. Rows of documents have only hashes, so the first document of each host is read.
#[derive(Debug)]
pub(crate) struct FedRanks {
    ranks: Arc<HostRanks>,
    /// Ranks by the hash of the host.
    known: Mutex<HashMap<u64, u8>>,
}

impl FedRanks {
    pub(crate) fn new(ranks: Arc<HostRanks>) -> Self {
        Self { ranks, known: Mutex::default() }
    }

    fn share(&self, segment: &Segment, row: &DocumentRow) -> Result<f64, IndexError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rank) = known().get(&row.host_hash) {
            return Ok(self.ranks.share(*rank));
        }
        let text = segment.texts().read(row)?;
        let rank = CrawlUrl::parse(&text.url).map_or(0, |url| self.ranks.rank(url.host()));
        let mut known = known();
        if known.len() < HOSTS_MAX {
            known.insert(row.host_hash, rank);
        }
        Ok(self.ranks.share(rank))
    }
}

/// A table of ranks. Rows stay on disk.
#[derive(Debug)]
pub(crate) struct RankTable {
    file: CheckedFile,
    mean: f64,
}

impl RankTable {
    /// Opens the ranks of an index.
    pub(crate) fn open(path: &Path) -> Result<Self, IndexError> {
        let file = CheckedFile::open(path, FileKind::Ranks, 2)?;
        let mean = file.read_section(1)?;
        let mean = mean.try_into().map_err(|_| file.damaged("a mean"))?;
        Ok(Self { file, mean: f64::from_le_bytes(mean) })
    }

    /// Returns the score r of the first of these names that the table has, as r / (r + mean): from 0 to 1, and 1/2 for
    /// the mean. It is 0 if the table has none of them.
    pub(crate) fn share(&self, hashes: [u64; 2]) -> Result<f64, IndexError> {
        for hash in hashes {
            if let Some(score) = self.get(hash)? {
                return Ok(if score > 0.0 { score / (score + self.mean) } else { 0.0 });
            }
        }
        Ok(0.0)
    }

    fn get(&self, hash: u64) -> Result<Option<f64>, IndexError> {
        let (mut low, mut high) = (0, self.file.section_length(0) / ROW);
        let mut bytes = Vec::new();
        while low < high {
            let middle = low + (high - low) / 2;
            self.file.read(0, middle * ROW..(middle + 1) * ROW, &mut bytes)?;
            let (numbers, _) = bytes.as_chunks::<8>();
            let [found, score] = numbers else { return Err(self.file.damaged("a rank")) };
            match u64::from_le_bytes(*found).cmp(&hash) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Some(f64::from_le_bytes(*score))),
            }
        }
        Ok(None)
    }

    /// Checks all pages.
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        self.file.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_the_table() {
        let dir = tempfile::tempdir().unwrap();
        let (table, out) = (dir.path().join("table"), dir.path().join("ranks"));
        let hash = |name: &str| name.parse::<u64>().unwrap();
        std::fs::write(&table, "3e0\t7\n1.0\t0.1\t2\r\n0\t5\n0.5\t7\n").unwrap();
        write_ranks(&table, &out, hash).unwrap();
        let ranks = RankTable::open(&out).unwrap();
        let mean = 4.0 / 3.0;
        let share = |hashes| ranks.share(hashes).unwrap();
        assert_eq!(share([7, 2]), 3.0 / (3.0 + mean));
        assert_eq!(share([1, 2]), 1.0 / (1.0 + mean));
        assert_eq!((share([5, 7]), share([1, 8])), (0.0, 0.0));
        for wrong in ["1 a\n", "x\t1\n", "-1\t1\n", "NaN\t1\n", "1\t1\n\n"] {
            std::fs::write(&table, wrong).unwrap();
            let result = write_ranks(&table, &out, hash);
            assert!(matches!(result, Err(IndexError::RankLine { .. })), "{wrong}");
        }
    }
}
