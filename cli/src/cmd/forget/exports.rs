//! Exports that have captures to be forgotten.

use crate::exit::CliError;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Returns the outputs in these directories that were made of these WARC files.
///
/// # Errors
/// Fails if a directory cannot be read.
#[cfg(feature = "data")]
pub fn outputs_of(
    dirs: &[PathBuf],
    warc_names: &BTreeSet<String>,
) -> Result<Vec<PathBuf>, CliError> {
    let mut outputs = Vec::new();
    for dir in dirs {
        let found = crivello_export::outputs_of(dir, warc_names);
        let wrong = |error| CliError::usage(format!("--exports {}: {error}", dir.display()));
        outputs.extend(found.map_err(wrong)?);
    }
    Ok(outputs)
}

/// Deletes outputs.
///
/// # Errors
/// Fails if one cannot be deleted.
#[cfg(feature = "data")]
pub fn forget_outputs(outputs: &[PathBuf]) -> Result<(), CliError> {
    Ok(crivello_export::forget_outputs(outputs)?)
}

/// Refuses directories of exports.
///
/// # Errors
/// This program was built without exports.
#[cfg(not(feature = "data"))]
pub fn outputs_of(dirs: &[PathBuf], _: &BTreeSet<String>) -> Result<Vec<PathBuf>, CliError> {
    match dirs {
        [] => Ok(Vec::new()),
        _ => Err(CliError::usage("--exports: this program was built without exports")),
    }
}

/// Has nothing to delete.
///
/// # Errors
/// None.
#[cfg(not(feature = "data"))]
pub fn forget_outputs(_: &[PathBuf]) -> Result<(), CliError> {
    Ok(())
}
