//! `crivello export wacz`: packages of WARC files, an index and lists of pages.

use super::options::{print_damage, selection, threads};
use super::text::run_job;
use crate::args::export::PackageExportArgs;
use crate::cmd::archive::files::{print_problem, warc_files};
use crate::exit::{CliError, Exit, usage};
use crivello_common::url::CrawlUrl;
use crivello_export::{PackageJob, package_name};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

pub fn run(args: &PackageExportArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.common.paths)?;
    let selection = selection(args.common.select.as_deref())?;
    let seeds = args.seeds.as_deref().map_or(Ok(HashSet::new()), read_seeds)?;
    let name =
        package_name(args.name.as_deref(), &files).map_err(|error| usage!("--name: {error}"))?;
    let dir = args.common.out.join("wacz");
    let job = PackageJob {
        files: &files,
        dir: &dir,
        name: &name,
        title: args.title.as_deref(),
        seeds: &seeds,
        has_text: args.text,
        split_bytes: args.split_size.map(|size| size.0),
        selection: selection.as_ref(),
        threads: threads(args.common.threads),
    };
    run_job(files.len(), &dir, |progress, stopped| job.run(progress, stopped, &print_damage))
}

/// Reads a file of seeds. Lines that are no URLs are reported.
fn read_seeds(path: &Path) -> Result<HashSet<CrawlUrl>, CliError> {
    let text =
        fs::read_to_string(path).map_err(|error| usage!("--seeds {}: {error}", path.display()))?;
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let seed = |line: &str| {
        let seed = CrawlUrl::parse(line).ok();
        if seed.is_none() {
            print_problem(&format!("--seeds {}: no URL: {line}", path.display()));
        }
        seed
    };
    Ok(lines.filter_map(seed).collect())
}
