//! Indexing.

use crate::args::index::{IndexArgs, PresetArg, StemArg};
use crate::cmd::archive::files::{print_problem, printable, warc_files};
use crate::cmd::export::options::{print_damage, selection, threads};
use crate::cmd::export::progress::listed;
use crate::exit::{CliError, Exit};
use crate::progress::with_progress;
use crate::{screen, signals};
use crivello_search::{
    INDEX_DIR, IndexOptions, IndexProgress, IndexReport, IndexUpdate, Preset, Stemming,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

pub fn run(args: &IndexArgs) -> Result<Exit, CliError> {
    let paths = if args.paths.is_empty() { vec![args.out.clone()] } else { args.paths.clone() };
    let (files, open) = sealed(warc_files(&paths)?);
    let selection = selection(args.select.as_deref())?;
    let dir = args.out.join(INDEX_DIR);
    let job = IndexUpdate {
        files: &files,
        others: &open,
        dir: &dir,
        options: options(args),
        selection: selection.as_ref(),
        threads: threads(args.threads),
        memory_bytes: usize::try_from(args.memory.0).unwrap_or(usize::MAX),
        ranks: args.ranks.as_deref(),
        merge_all: args.merge,
        makes_anchors: true,
        check: args.check,
    };
    let stop = signals::listen(screen::restore)?;
    let progress = IndexProgress::default();
    let report = with_progress(
        || progress_line(&progress, files.len()),
        || job.run(&progress, &|| stop.is_cancelled(), &print_damage),
    );
    let report = report.map_err(CliError::usage)?;
    for damaged in &report.rebuilt {
        print_problem(&format!("made again from the archives: {damaged}"));
    }
    for lost in &report.lost {
        let path = lost.display();
        print_problem(&format!("{path}: was in a damaged part of the index; index it again"));
    }
    screen::print_out(&summary(&report, files.len(), open.len(), &dir));
    Ok(match () {
        () if report.is_stopped => Exit::Stopped,
        () if report.damaged > 0 || !report.lost.is_empty() => Exit::Damaged,
        () => Exit::Finished,
    })
}

const fn options(args: &IndexArgs) -> IndexOptions {
    IndexOptions {
        preset: match args.preset {
            None => None,
            Some(PresetArg::Small) => Some(Preset::Small),
            Some(PresetArg::Fast) => Some(Preset::Fast),
        },
        stemming: match args.stem {
            None => None,
            Some(StemArg::Language) => Some(Stemming::Language),
            Some(StemArg::None) => Some(Stemming::None),
        },
    }
}

/// Returns the files that no crawl writes any more, and the others: an index in the order of writing is beside those.
fn sealed(files: Vec<PathBuf>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_open = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split(".warc").next().unwrap_or_default();
        path.with_file_name(format!("{stem}.cdxj.part")).exists()
    };
    files.into_iter().partition(|path| !is_open(path))
}

fn progress_line(progress: &IndexProgress, n_files: usize) -> String {
    let (files, captures) = (progress.files.load(Relaxed), progress.captures.load(Relaxed));
    let (documents, merging) = (progress.documents.load(Relaxed), progress.merging.load(Relaxed));
    let merging = if merging > 0 { format!(", merging {merging} segments") } else { String::new() };
    format!(
        "indexed {files} of {n_files} files, {captures} captures read, {documents} documents{merging}"
    )
}

/// Returns the last line.
fn summary(report: &IndexReport, n_files: usize, open: usize, dir: &Path) -> String {
    let mut text = format!("{}: {n_files} files", printable(&dir.to_string_lossy()));
    if report.files_done_before > 0 {
        text.push_str(&format!(" ({} done before)", report.files_done_before));
    }
    if report.files_again > 0 {
        let again = report.files_again;
        text.push_str(&format!(" ({again} read again for captures that count once more)"));
    }
    if open > 0 {
        text.push_str(&format!(", {open} more that are still being written"));
    }
    let skipped: u64 = report.skipped.values().sum();
    text.push_str(&format!(
        ", {} captures, {} indexed, {skipped} skipped{}; the index has {} documents in {} segments, {:.1} MB\n",
        report.captures,
        report.documents,
        listed(&report.skipped),
        report.total,
        report.segments,
        report.bytes as f64 / 1e6,
    ));
    if report.damaged > 0 {
        text.push_str(&format!("{} damaged places in archive files\n", report.damaged));
    }
    if report.is_stopped {
        text.push_str("stopped; the next run goes on\n");
    }
    text
}
