//! Opening: whatever a crash left behind is brought back to the recorded position.
//!
//! Files begun after the position are removed. In the position's own file both the records and
//! the index are cut back. If that file had been finished meanwhile, its part is made again from
//! the sorted index: the lines of the records before the position. Their order does not matter:
//! nothing is ever cut back to before a recorded position.

use super::cdxj::offset_of;
use super::disk;
use super::error::Error;
use super::names::{INDEX, PART, SCRATCH, Stem, WARC};
use super::position::Position;
use super::segment::{Segment, finish_index};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A directory without a state must be without archives.
pub(super) fn must_be_empty(dir: &Path) -> Result<(), Error> {
    for (name, path) in files(dir)? {
        if Stem::split(&name).is_some() || name.contains(".warc") || name.contains(".cdxj") {
            return Err(Error::Occupied { path });
        }
    }
    Ok(())
}

/// Cuts this crawl's archive back to the position and opens its last file, if there is one.
pub(super) fn cut_back(dir: &Path, crawl: u32, at: &Position) -> Result<Option<Segment>, Error> {
    let last = if at.file.is_empty() { None } else { Some(Stem::of_warc(&at.file)?) };
    if last.as_ref().is_some_and(|last| last.crawl != crawl) {
        return Err(Error::Position(at.file.clone()));
    }
    if let Some(last) = &last {
        check(dir, last, at)?;
    }
    for (name, path) in files(dir)? {
        let Some((stem, suffix)) = Stem::split(&name) else {
            continue;
        };
        if stem.crawl != crawl || last.as_ref() == Some(&stem) {
            continue;
        }
        match &last {
            Some(last) if stem.serial < last.serial => tidy(dir, &stem, suffix, &path)?,
            _ => disk::remove(&path)?,
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
    disk::sync_dir(dir)?;
    Ok(segment)
}

fn files(dir: &Path) -> Result<Vec<(String, PathBuf)>, Error> {
    let mut files = Vec::new();
    let entries = fs::read_dir(dir).map_err(Error::while_doing("list", dir))?;
    for entry in entries {
        let entry = entry.map_err(Error::while_doing("list", dir))?;
        if let Ok(name) = entry.file_name().into_string() {
            files.push((name, entry.path()));
        }
    }
    Ok(files)
}

/// Damage is told before anything is touched.
fn check(dir: &Path, last: &Stem, at: &Position) -> Result<(), Error> {
    must_reach(&last.path(dir, WARC), at.warc_len)?;
    let part = last.path(dir, PART);
    if part.exists() || !last.path(dir, INDEX).exists() {
        must_reach(&part, at.index_len)?;
    }
    Ok(())
}

fn must_reach(path: &Path, recorded: u64) -> Result<(), Error> {
    let found = match fs::metadata(path) {
        Ok(metadata) => metadata.len(),
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Missing { path: path.to_owned() });
        }
        Err(source) => return Err(Error::while_doing("read the length of", path)(source)),
    };
    if found < recorded {
        return Err(Error::Short { path: path.to_owned(), recorded, found });
    }
    Ok(())
}

/// A file finished long ago has its index and nothing else.
fn tidy(dir: &Path, stem: &Stem, suffix: &str, path: &Path) -> Result<(), Error> {
    if suffix == PART && !stem.path(dir, INDEX).exists() {
        finish_index(dir, stem)
    } else if suffix == PART || suffix.starts_with(SCRATCH) {
        disk::remove(path)
    } else {
        Ok(())
    }
}

/// Sees to it that the last file's index is a part, and nothing else is.
fn restore_part(dir: &Path, stem: &Stem, at: &Position) -> Result<(), Error> {
    let (part, index) = (stem.path(dir, PART), stem.path(dir, INDEX));
    for (name, path) in files(dir)? {
        let owner = Stem::split(&name).filter(|(owner, _)| owner == stem);
        if owner.is_some_and(|(_, suffix)| suffix.starts_with(SCRATCH)) {
            disk::remove(&path)?;
        }
    }
    if !part.exists() && index.exists() {
        let scratch = stem.path(dir, SCRATCH);
        copy_lines_before(&index, &scratch, at)?;
        disk::rename(&scratch, &part)?;
    }
    if part.exists() {
        disk::remove(&index)?;
    }
    Ok(())
}

fn copy_lines_before(index: &Path, to: &Path, at: &Position) -> Result<(), Error> {
    let source = File::open(index).map_err(Error::while_doing("read", index))?;
    let mut source = BufReader::new(source);
    let mut out = BufWriter::new(disk::create(to)?);
    let mut line = Vec::new();
    let mut copied = 0;
    while source.read_until(b'\n', &mut line).map_err(Error::while_doing("read", index))? > 0 {
        let Some(offset) = offset_of(&line) else {
            return Err(Error::Index { path: index.to_owned() });
        };
        if offset < at.warc_len {
            out.write_all(&line).map_err(Error::while_doing("write", to))?;
            copied += line.len() as u64;
        }
        line.clear();
    }
    out.flush().map_err(Error::while_doing("write", to))?;
    if copied != at.index_len {
        return Err(Error::Index { path: index.to_owned() });
    }
    disk::sync(out.get_ref(), to)
}
