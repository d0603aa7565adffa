//! Failures, and the files that hold their inputs.

use crate::target::FuzzTarget;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// Characters of a message that are shown.
const MESSAGE_MAX: usize = 400;

/// An input that failed.
#[derive(Clone, Debug)]
pub struct FuzzFailure {
    /// Name of the target.
    pub target: &'static str,
    /// The seed, or the number of the file or sample.
    pub case: String,
    /// Failed property.
    pub problem: String,
    /// File with the input.
    pub file: PathBuf,
}

impl FuzzFailure {
    /// Records a failure: writes its input to a file in [`failures_dir`].
    #[must_use]
    pub fn record(target: &FuzzTarget, case: String, problem: &str, input: &[u8]) -> Self {
        let problem = shortened(problem);
        let file = failures_dir().join(format!("{}-{case}", target.name));
        let written = fs::create_dir_all(failures_dir()).and_then(|()| fs::write(&file, input));
        let problem = match written {
            Ok(()) => problem,
            Err(error) => format!("{problem} (its input cannot be written: {error})"),
        };
        Self { target: target.name, case, problem, file }
    }
}

impl fmt::Display for FuzzFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, case, problem, file } = self;
        let file = file.display();
        writeln!(f, "{target}: input {case}: {problem}")?;
        writeln!(f, "the input is in {file}; this command repeats it:")?;
        write!(f, "  make fuzz FUZZ=\"repeat {target} {file}\"")
    }
}

/// Returns the beginning of a text: a message may contain all of an input.
#[must_use]
pub fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(MESSAGE_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// Returns the folder for inputs that failed.
#[must_use]
pub fn failures_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("failures")
}
