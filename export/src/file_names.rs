//! Names of WARC files of several archives, in indexes over all of them.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Component, Path, PathBuf};

/// Names that are unique, and lead to the files from one directory: that which has all of them.
/// Files in one directory keep their names.
#[derive(Debug)]
pub(crate) struct FileNames {
    /// By the path as it was given.
    names: BTreeMap<PathBuf, String>,
}

impl FileNames {
    /// Finds names for files, which must exist. `prefix` is put before each name, as
    /// `s3://bucket/crawl/`.
    ///
    /// # Errors
    /// A file that does not exist, that was given twice, or whose path is not UTF-8.
    pub(crate) fn of(files: &[PathBuf], prefix: &str) -> io::Result<Self> {
        let whole = files.iter().map(|file| file.canonicalize()).collect::<io::Result<Vec<_>>>()?;
        let mut parents = whole.iter().map(|path| path.parent().unwrap_or(path));
        let first = parents.next().unwrap_or(Path::new("/")).to_owned();
        let root = parents.fold(first, |root, parent| common_start(&root, parent));
        let mut known = HashSet::new();
        let mut names = BTreeMap::new();
        for (file, path) in files.iter().zip(&whole) {
            if !known.insert(path) {
                return Err(io::Error::other(format!("{} is given twice", file.display())));
            }
            names.insert(file.clone(), format!("{prefix}{}", relative_name(&root, path)?));
        }
        Ok(Self { names })
    }

    /// Returns the name of a file that was given.
    pub(crate) fn name(&self, file: &Path) -> &str {
        self.names.get(file).map_or("", String::as_str)
    }
}

/// The crawl of files that other programs wrote.
const OTHER: &str = "archive";

/// Returns the crawl in the name of a file of ours: `crivello-` and its id.
pub(crate) fn crawl_of(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let id = name.strip_prefix("crivello-").and_then(|rest| rest.split('-').next());
    let is_id = |id: &&str| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    id.filter(is_id).map_or(OTHER, |id| &name[.."crivello-".len() + id.len()])
}

/// Checks the name of a crawl or a package, which becomes that of a file or a directory.
///
/// # Errors
/// A name that is empty, hidden, or has other characters than letters, digits, `-`, `_` and `.`.
pub(crate) fn check_crawl_name(name: &str) -> io::Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        let problem = "may have letters, digits and -_. only";
        return Err(io::Error::other(format!("the name {name:?} {problem}")));
    }
    Ok(())
}

/// Returns the name of a package: `name`, or the crawl in the name of the first file.
///
/// # Errors
/// A name that no file can have.
pub fn package_name(name: Option<&str>, files: &[PathBuf]) -> io::Result<String> {
    let of_file = || files.first().map_or(OTHER, |file| crawl_of(file));
    let name = name.unwrap_or_else(of_file);
    check_crawl_name(name).map(|()| name.to_owned())
}

fn common_start(one: &Path, other: &Path) -> PathBuf {
    let pairs = one.components().zip(other.components());
    pairs.take_while(|(a, b)| a == b).map(|(component, _)| component).collect()
}

fn relative_name(root: &Path, path: &Path) -> io::Result<String> {
    let components = path.strip_prefix(root).unwrap_or(path).components();
    let texts = components.filter_map(|component| match component {
        Component::Normal(text) => Some(text.to_str()),
        _ => None,
    });
    let texts: Option<Vec<&str>> = texts.collect();
    let texts = texts.filter(|texts| !texts.iter().any(|text| text.contains(char::is_control)));
    texts
        .map(|texts| texts.join("/"))
        .ok_or_else(|| io::Error::other(format!("{path:?} has characters that no index can have")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn made(names: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
        let dir = tempfile::tempdir().expect("a directory");
        let paths = names.iter().map(|name| dir.path().join(name));
        let paths: Vec<_> = paths.collect();
        for path in &paths {
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "").expect("written");
        }
        (dir, paths)
    }

    fn names(paths: &[PathBuf], prefix: &str) -> Vec<String> {
        let names = FileNames::of(paths, prefix).expect("names");
        paths.iter().map(|path| names.name(path).to_owned()).collect()
    }

    #[test]
    fn files_of_one_directory_keep_their_names() {
        let (_dir, paths) = made(&["crawl/warc/b.warc.gz", "crawl/warc/a.warc.gz"]);
        assert_eq!(names(&paths, ""), ["b.warc.gz", "a.warc.gz"]);
        assert_eq!(names(&paths[..1], "s3://x/"), ["s3://x/b.warc.gz"]);
    }

    #[test]
    fn equal_names_of_two_agents_differ() {
        let (_dir, paths) = made(&["a1/warc/x.warc.gz", "a2/warc/x.warc.gz", "y.warc.gz"]);
        assert_eq!(names(&paths[..2], ""), ["a1/warc/x.warc.gz", "a2/warc/x.warc.gz"]);
        assert_eq!(
            names(&paths, "p/"),
            ["p/a1/warc/x.warc.gz", "p/a2/warc/x.warc.gz", "p/y.warc.gz"]
        );
    }

    #[test]
    fn a_file_given_twice_is_refused() {
        let (dir, paths) = made(&["a/x.warc.gz"]);
        let again = dir.path().join("a/../a/x.warc.gz");
        let error = FileNames::of(&[paths[0].clone(), again], "").expect_err("given twice");
        assert!(error.to_string().contains("is given twice"), "{error}");
    }
}
