//! The first steps of a run: it takes the index for itself, and clears up what an earlier run left.

use super::manifest::{MANIFEST, Manifest, SegmentEntry, Source, SourceBase};
use super::sorter::RUN_PREFIX;
use super::update::{IndexReport, IndexUpdate};
use crate::error::IndexError;
use crate::postings::Preset;
use crate::ranks::{RankTable, ranks_name};
use crate::segment::{AnchorIndex, anchors_name, dead_name};
use crate::text::Stemming;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Keeps other runs out of a directory while the file is open.
pub(super) fn lock(dir: &Path) -> Result<File, IndexError> {
    let path = dir.join("index.lock");
    let file = File::create(&path).map_err(IndexError::io(&path))?;
    file.try_lock().map_err(|_| IndexError::Locked(dir.to_owned()))?;
    Ok(file)
}

/// Reads the manifest, or makes that of a new index. Fails if the options differ from those of the index.
pub(super) fn read_manifest(
    job: &IndexUpdate<'_>,
    report: &mut IndexReport,
) -> Result<Manifest, IndexError> {
    let read = match Manifest::read(job.dir) {
        Err(IndexError::Damaged { path, .. }) if job.check => {
            // Nothing tells which segments are in force. All of them are made again.
            report.rebuilt.push(path.display().to_string());
            None
        }
        result => result?,
    };
    let Some(manifest) = read else {
        if !job.check && has_segments(job.dir)? {
            let what = "it is absent, but segments are there";
            return Err(IndexError::damaged(&job.dir.join(MANIFEST), what));
        }
        let preset = job.options.preset.unwrap_or(Preset::Small);
        let stemming = job.options.stemming.unwrap_or(Stemming::Language);
        let manifest = Manifest::new(preset, stemming)?;
        manifest.write(job.dir)?;
        return Ok(manifest);
    };
    let (preset, stemming) = manifest.options(job.dir)?;
    let check = |option, stored: &str, wanted: Option<&str>| match wanted {
        Some(wanted) if wanted != stored => Err(IndexError::Options {
            path: job.dir.to_owned(),
            option,
            stored: stored.to_owned(),
            wanted: wanted.to_owned(),
        }),
        _ => Ok(()),
    };
    check("--preset", preset.name(), job.options.preset.map(Preset::name))?;
    check("--stem", stemming.name(), job.options.stemming.map(Stemming::name))?;
    Ok(manifest)
}

/// Returns true if a directory has segments.
fn has_segments(dir: &Path) -> Result<bool, IndexError> {
    let mut entries = fs::read_dir(dir).map_err(IndexError::io(dir))?.flatten();
    Ok(entries.any(|entry| entry.file_name().to_string_lossy().starts_with("segment-")))
}

/// Removes what a run that was killed, or a merge, left behind.
pub(super) fn remove_strays(dir: &Path, manifest: &Manifest) -> Result<(), IndexError> {
    let parts = |entry: &SegmentEntry| {
        let dead = entry.dead.map(|(generation, _)| dead_name(generation));
        [dead, entry.anchors.map(anchors_name)].map(Option::unwrap_or_default)
    };
    let named: BTreeMap<String, [String; 2]> =
        manifest.segments.iter().map(|entry| (entry.name(), parts(entry))).collect();
    let entries = fs::read_dir(dir).map_err(IndexError::io(dir))?;
    for entry in entries {
        let path = entry.map_err(IndexError::io(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_old = |generation| ranks_name(generation) != name;
        if name.starts_with(RUN_PREFIX) {
            fs::remove_file(&path).map_err(IndexError::io(&path))?;
        }
        if name.starts_with("ranks-") && manifest.ranks.is_none_or(is_old) {
            fs::remove_file(&path).map_err(IndexError::io(&path))?;
        }
        if !name.starts_with("segment-") {
            continue;
        }
        match named.get(&name) {
            None => fs::remove_dir_all(&path).map_err(IndexError::io(&path))?,
            Some(keep) => {
                for file in fs::read_dir(&path).map_err(IndexError::io(&path))? {
                    let file = file.map_err(IndexError::io(&path))?;
                    let name = file.file_name().to_string_lossy().into_owned();
                    if keep.contains(&name) {
                        continue;
                    }
                    if name.starts_with("dead-") {
                        fs::remove_file(file.path()).map_err(IndexError::io(&file.path()))?;
                    }
                    if name.starts_with("anchors-") {
                        fs::remove_dir_all(file.path()).map_err(IndexError::io(&file.path()))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Takes segments that cannot be read out of the manifest, and their archive files out of the sources. Only a
/// check does so: their archive files may be gone.
pub(super) fn drop_damaged(
    job: &IndexUpdate<'_>,
    preset: Preset,
    manifest: &mut Manifest,
    report: &mut IndexReport,
) -> Result<(), IndexError> {
    let mut lost = BTreeSet::new();
    let mut kept = Vec::new();
    for mut entry in std::mem::take(&mut manifest.segments) {
        if job.check
            && let Some(generation) = entry.anchors
        {
            let path = job.dir.join(entry.name()).join(anchors_name(generation));
            if let Err(error) = AnchorIndex::open(&path).and_then(|anchors| anchors.check()) {
                // They are made from the links of all segments again.
                report.rebuilt.push(error.to_string());
                entry.anchors = None;
                manifest.are_anchors_current = false;
            }
        }
        let opened = entry.open(job.dir, preset);
        let checked = opened.and_then(|one| if job.check { one.check() } else { Ok(()) });
        match checked {
            Ok(()) => kept.push(entry),
            Err(error)
                if job.check
                    && (matches!(error, IndexError::Damaged { .. }) || error.is_not_found()) =>
            {
                report.rebuilt.push(error.to_string());
                lost.extend(entry.sources);
            }
            Err(error) => return Err(error),
        }
    }
    manifest.segments = kept;
    if job.check
        && let Some(generation) = manifest.ranks
    {
        let path = job.dir.join(ranks_name(generation));
        if let Err(error) = RankTable::open(&path).and_then(|ranks| ranks.check()) {
            report.rebuilt.push(format!("{error}; give the ranks again"));
            manifest.ranks = None;
        }
    }
    let base = SourceBase::of(job.dir)?;
    let given: BTreeSet<PathBuf> =
        job.files.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let is_lost = |source: &Source| lost.contains(&source.id);
    let lost_files = manifest.sources.iter().filter(|source| is_lost(source));
    report.lost =
        lost_files.map(|source| base.full(source)).filter(|path| !given.contains(path)).collect();
    manifest.sources.retain(|source| !is_lost(source));
    // At once: a manifest without the segments must not have their archive files.
    if job.check { manifest.write(job.dir) } else { Ok(()) }
}
