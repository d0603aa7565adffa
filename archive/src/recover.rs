//! Recovery: truncation of an archive to its last committed position.
//!
//! Files created after the position are removed. In the position's own file, the records and the
//! index are truncated. If that file was finished meanwhile, its unsorted index is restored from
//! the sorted one: the lines of the records before the position. Their order does not matter,
//! because nothing is ever truncated to a point before a committed position.

use crate::error::ArchiveError;
use crate::format::file_names::{FileStem, INDEX, PART, SCRATCH};
use crate::index::cdxj::offset_of;
use crate::write::io;
use crate::write::position::ArchivePosition;
use crate::write::segment::{Segment, finish_index};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Checks that the directory has no archives: without a committed position there must be none.
pub(crate) fn must_be_empty(dir: &Path) -> Result<(), ArchiveError> {
    for (name, path) in files(dir)? {
        if FileStem::split(&name).is_some() || name.contains(".warc") || name.contains(".cdxj") {
            return Err(ArchiveError::Occupied { path });
        }
    }
    Ok(())
}

/// Truncates this crawl's archive to the position and opens its last file, if there is one.
pub(crate) fn truncate_to(
    dir: &Path,
    crawl: u32,
    at: &ArchivePosition,
) -> Result<Option<Segment>, ArchiveError> {
    let last = check(dir, crawl, at)?;
    for (name, path) in files(dir)? {
        let Some((stem, suffix)) = FileStem::split(&name) else { continue };
        if stem.crawl != crawl || last.as_ref() == Some(&stem) {
            continue;
        }
        match &last {
            Some(last) if stem.serial < last.serial => complete_index(dir, &stem, suffix, &path)?,
            _ => io::remove(&path)?,
        }
    }
    let segment = match last {
        Some(stem) => {
            restore_part(dir, &stem, at)?;
            let mut segment = Segment::reopen(dir, stem, at)?;
            segment.sync()?;
            Some(segment)
        }
        None => None,
    };
    io::sync_dir(dir)?;
    Ok(segment)
}

/// Checks for damage without changing anything. Returns the last file, if there is one.
pub(crate) fn check(
    dir: &Path,
    crawl: u32,
    at: &ArchivePosition,
) -> Result<Option<FileStem>, ArchiveError> {
    let last = if at.file.is_empty() { None } else { Some(FileStem::of_warc(&at.file)?) };
    if last.as_ref().is_some_and(|last| last.crawl != crawl) {
        return Err(ArchiveError::Position(at.file.clone()));
    }
    if let Some(last) = &last {
        check_length(&dir.join(&at.file), at.warc_len)?;
        let part = last.path(dir, PART);
        if part.exists() || !last.path(dir, INDEX).exists() {
            check_length(&part, at.index_len)?;
        }
    }
    Ok(last)
}

/// Returns the names and paths of the files in a directory.
pub(crate) fn files(dir: &Path) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
    let mut files = Vec::new();
    let entries = fs::read_dir(dir).map_err(ArchiveError::io("list", dir))?;
    for entry in entries {
        let entry = entry.map_err(ArchiveError::io("list", dir))?;
        if let Ok(name) = entry.file_name().into_string() {
            files.push((name, entry.path()));
        }
    }
    Ok(files)
}

fn check_length(path: &Path, recorded: u64) -> Result<(), ArchiveError> {
    let found = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(source) if source.kind() == ErrorKind::NotFound => {
            return Err(ArchiveError::Missing { path: path.to_owned() });
        }
        Err(source) => return Err(ArchiveError::io("read the length of", path)(source)),
    };
    if found < recorded {
        return Err(ArchiveError::Short { path: path.to_owned(), recorded, found });
    }
    Ok(())
}

/// Completes the index of an earlier file, and removes other remains of writing it.
fn complete_index(
    dir: &Path,
    stem: &FileStem,
    suffix: &str,
    path: &Path,
) -> Result<(), ArchiveError> {
    if suffix == PART && !stem.path(dir, INDEX).exists() {
        finish_index(dir, stem)
    } else if suffix == PART || suffix.starts_with(SCRATCH) {
        io::remove(path)
    } else {
        Ok(())
    }
}

/// Restores the last file to the state with only its unsorted index.
fn restore_part(dir: &Path, stem: &FileStem, at: &ArchivePosition) -> Result<(), ArchiveError> {
    let (part, index) = (stem.path(dir, PART), stem.path(dir, INDEX));
    for (name, path) in files(dir)? {
        let owner = FileStem::split(&name).filter(|(owner, _)| owner == stem);
        if owner.is_some_and(|(_, suffix)| suffix.starts_with(SCRATCH)) {
            io::remove(&path)?;
        }
    }
    if !part.exists() && index.exists() {
        let scratch = stem.path(dir, SCRATCH);
        copy_lines_before(&index, &scratch, at)?;
        io::rename(&scratch, &part)?;
    }
    if part.exists() {
        io::remove(&index)?;
    }
    Ok(())
}

fn copy_lines_before(index: &Path, to: &Path, at: &ArchivePosition) -> Result<(), ArchiveError> {
    let damaged = || ArchiveError::Index { path: index.to_owned() };
    let source = File::open(index).map_err(ArchiveError::io("read", index))?;
    let mut source = BufReader::new(source);
    let mut out = BufWriter::new(io::create(to)?);
    let mut line = Vec::new();
    let mut copied = 0;
    while source.read_until(b'\n', &mut line).map_err(ArchiveError::io("read", index))? > 0 {
        if offset_of(&line).ok_or_else(damaged)? < at.warc_len {
            out.write_all(&line).map_err(ArchiveError::io("write", to))?;
            copied += line.len() as u64;
        }
        line.clear();
    }
    out.flush().map_err(ArchiveError::io("write", to))?;
    if copied != at.index_len {
        return Err(damaged());
    }
    io::sync(out.get_ref(), to)
}
