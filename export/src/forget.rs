//! Removal of outputs: those of WARC files from which captures were taken back. The next run makes them again.

use crate::run::forget_done;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Name of the directory of a table, which is made as a whole.
const TABLE: [&str; 2] = ["parquet", "parquet.part"];
/// Maximum depth of directories.
const DEPTH_MAX: usize = 8;

/// Returns the outputs in a directory, and below it, that have what `warc_names` had: those of these files, and
/// tables, packages and indexes over several files. WARC files and the indexes beside them are left out.
///
/// # Errors
/// Those of the system.
pub fn outputs_of(dir: &Path, warc_names: &BTreeSet<String>) -> io::Result<Vec<PathBuf>> {
    let stems = warc_names.iter().filter_map(|name| Some(name.split_once(".warc")?.0)).collect();
    let mut outputs = Vec::new();
    if !warc_names.is_empty() {
        collect(dir, &stems, DEPTH_MAX, &mut outputs)?;
    }
    outputs.sort();
    Ok(outputs)
}

fn collect(
    dir: &Path,
    stems: &BTreeSet<&str>,
    depth: usize,
    outputs: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() && TABLE.contains(&&*name) {
            outputs.push(path);
        } else if kind.is_dir() && depth > 0 {
            collect(&path, stems, depth - 1, outputs)?;
        } else if kind.is_file() && (is_over_all(dir, &name) || is_of(dir, &name, stems)) {
            outputs.push(path);
        }
    }
    Ok(())
}

/// Returns true for an output over several WARC files: a package, or a merged index.
fn is_over_all(dir: &Path, name: &str) -> bool {
    let name = name.strip_suffix(".part").unwrap_or(name);
    match dir.file_name().and_then(|dir| dir.to_str()) {
        Some("wacz") => name.ends_with(".wacz"),
        Some("cdxj") => matches!(name, "index.cdxj" | "index.cdxj.gz" | "index.cdxj.zst"),
        _ => false,
    }
}

/// Returns true for an output of one of these WARC files. They themselves, and the indexes beside them, are none.
fn is_of(dir: &Path, name: &str, stems: &BTreeSet<&str>) -> bool {
    let Some((stem, suffix)) = name.split_once('.').filter(|(stem, _)| stems.contains(stem)) else {
        return false;
    };
    let warcs = ["warc.gz", "warc.zst"];
    let is_beside = || warcs.iter().any(|warc| dir.join(format!("{stem}.{warc}")).exists());
    let is_archive = warcs.iter().any(|warc| suffix.starts_with(warc));
    !is_archive && (!suffix.starts_with("cdxj") || !is_beside())
}

/// Deletes outputs that [`outputs_of`] returned, and removes their entries from `export.json`.
///
/// # Errors
/// Those of the system; and that an export is running there. May be repeated.
pub fn forget_outputs(outputs: &[PathBuf]) -> io::Result<()> {
    for output in outputs {
        let result = match output.is_dir() {
            true => fs::remove_dir_all(output),
            false => {
                forget_done(output)?;
                fs::remove_file(output)
            }
        };
        match result {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_over_all_files_are_found_under_any_compression() {
        let dir = tempfile::tempdir().expect("a directory");
        let over_all = [
            "cdxj/index.cdxj",
            "cdxj/index.cdxj.gz",
            "cdxj/index.cdxj.gz.part",
            "cdxj/index.cdxj.zst",
            "wacz/archive.wacz",
        ];
        let others = ["cdxj/other.cdxj.gz", "cdxj/index.txt", "index.cdxj", "wet/index.cdxj"];
        for name in over_all.iter().chain(&others) {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, "").expect("written");
        }
        let files = BTreeSet::from(["a.warc.gz".to_owned()]);
        let found = outputs_of(dir.path(), &files).expect("read");
        assert_eq!(found, over_all.map(|name| dir.path().join(name)));
    }
}
