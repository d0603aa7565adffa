//! The key of the coordinator, pinned in an agent's directory when the agent joins for the first time.
//!
//! ```text
//! DIR/coordinator.pub   "crivello coordinator key 1\n", "crawl ID\n", "key HEX\n"
//! ```
//! A coordinator with another key is refused until a person accepts the key, by a command on the
//! agent's own machine.

use crate::storage::OpenError;
use crivello_common::runtime::replace_file;
use crivello_proto::signing::{COORDINATOR_KEY_FILE, CoordinatorKey};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

const MAGIC: &str = "crivello coordinator key 1";

fn text(key: CoordinatorKey, crawl_id: &str) -> String {
    format!("{MAGIC}\ncrawl {crawl_id}\nkey {key}\n")
}

/// Reads a text of [`text`]: the key, and the crawl's id.
fn parse(text: &str) -> Option<(CoordinatorKey, &str)> {
    let rest = text.strip_prefix(MAGIC)?.strip_prefix("\ncrawl ")?;
    let (crawl_id, rest) = rest.split_once("\nkey ")?;
    Some((rest.strip_suffix('\n')?.parse().ok()?, crawl_id))
}

/// Pins the key of the coordinator of this crawl in `dir`, or compares it with the pinned one.
///
/// # Errors
/// [`OpenError::Refused`] if another key is pinned; [`OpenError::Broken`] if the file is damaged or
/// cannot be read; [`OpenError::Write`] if it cannot be written.
pub fn pin(dir: &Path, crawl_id: &str, key: CoordinatorKey) -> Result<(), OpenError> {
    let path = dir.join(COORDINATOR_KEY_FILE);
    let broken = |what: String| OpenError::Broken(format!("{} {what}", path.display()));
    let pinned = match fs::read_to_string(&path) {
        Ok(pinned) => pinned,
        Err(error) if error.kind() == ErrorKind::NotFound => return accept(dir, crawl_id, key),
        Err(error) => return Err(broken(format!("cannot be read: {error}"))),
    };
    let (ours, crawl) = parse(&pinned).ok_or_else(|| {
        broken("is damaged: `crivello accept-coordinator-key` writes it again".to_owned())
    })?;
    if (ours, crawl) == (key, crawl_id) {
        return Ok(());
    }
    Err(OpenError::Refused(format!(
        "the coordinator signs with the key {key}, and {} has the key {ours} of crawl {crawl}. If the \
         coordinator was made anew with `crivello coordinator rebuild`, which shows its key, accept it \
         on this machine: `crivello accept-coordinator-key {key} --data {}`. Otherwise another program \
         poses as the coordinator",
        path.display(),
        dir.display()
    )))
}

/// Returns the pinned key and the id of the crawl; `None` if there is none, or the file is damaged.
#[must_use]
pub fn pinned(dir: &Path) -> Option<(CoordinatorKey, String)> {
    let text = fs::read_to_string(dir.join(COORDINATOR_KEY_FILE)).ok()?;
    parse(&text).map(|(key, crawl_id)| (key, crawl_id.to_owned()))
}

/// Pins a key in place of another one. A running agent reads it once a view has another signature.
///
/// # Errors
/// [`OpenError::Write`] if the file cannot be written.
pub fn accept(dir: &Path, crawl_id: &str, key: CoordinatorKey) -> Result<(), OpenError> {
    let path = dir.join(COORDINATOR_KEY_FILE);
    replace_file(&path, text(key, crawl_id).as_bytes())
        .map_err(|error| OpenError::write(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_proto::signing::SigningKey;
    use tempfile::tempdir;

    #[test]
    fn the_first_key_is_pinned_and_another_is_refused_until_it_is_accepted() {
        let dir = tempdir().unwrap();
        let [ours, theirs] = [(); 2].map(|()| SigningKey::draw().unwrap().public());
        pin(dir.path(), "c", ours).unwrap();
        pin(dir.path(), "c", ours).unwrap();
        for (crawl_id, key) in [("c", theirs), ("d", ours)] {
            let error = pin(dir.path(), crawl_id, key).unwrap_err();
            assert!(matches!(error, OpenError::Refused(_)), "{error}");
            let hint = format!("accept-coordinator-key {key} --data {}", dir.path().display());
            assert!(error.to_string().contains(&hint), "{error}");
        }
        accept(dir.path(), "c", theirs).unwrap();
        pin(dir.path(), "c", theirs).unwrap();
        assert_eq!(pinned(dir.path()), Some((theirs, "c".to_owned())));
        assert!(pin(dir.path(), "c", ours).is_err());
        let path = dir.path().join(COORDINATOR_KEY_FILE);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            fs::write(&path, &whole[..at]).unwrap();
            let error = pin(dir.path(), "c", theirs).unwrap_err();
            assert!(matches!(error, OpenError::Broken(_)), "cut at {at}: {error}");
        }
    }
}
