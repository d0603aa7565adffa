//! Names of WARC files in a package, where all are in one directory.

use crate::run::stem;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Returns a name for each file. It ends as the contents demand, and names that occur again get a number.
pub(super) fn warc_names(files: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut known = HashSet::new();
    let unique = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name: String = stem(&name).chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let name = [name.as_str(), suffix(file)?].concat();
        let mut names = std::iter::once(name.clone()).chain((2..).map(|n| format!("{n}-{name}")));
        Ok(names.find(|name| known.insert(name.to_ascii_lowercase())).unwrap_or_default())
    };
    files.iter().map(unique).collect()
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Returns the end of the name that readers expect of such contents.
fn suffix(path: &Path) -> io::Result<&'static str> {
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(match start[..] {
        [0x1f, 0x8b, ..] => ".warc.gz",
        // A frame, and a dictionary.
        [0x28, 0xb5, 0x2f, 0xfd] | [0x5d, 0x2a, 0x4d, 0x18] => ".warc.zst",
        _ => ".warc",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_are_unique_and_end_as_the_contents_demand() {
        let dir = tempfile::tempdir().expect("a directory");
        let files: [(&str, &[u8]); 6] = [
            ("a/x.warc.gz", b"\x1f\x8b\x08"),
            ("b/x.warc.gz", b"\x1f\x8b\x08"),
            ("c/X.warc", b"\x1f\x8b\x08"),
            ("c/plain.gz", b"WARC/1.0"),
            ("c/z\u{e9} z.warc.zst", b"\x28\xb5\x2f\xfd"),
            ("c/empty.warc", b""),
        ];
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.path().join(name)).collect();
        for (path, (_, contents)) in paths.iter().zip(&files) {
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, contents).expect("written");
        }
        let names = warc_names(&paths).expect("names");
        let expected = [
            "x.warc.gz",
            "2-x.warc.gz",
            "3-X.warc.gz",
            "plain.gz.warc",
            "z--z.warc.zst",
            "empty.warc",
        ];
        assert_eq!(names, expected);
    }
}
