//! The file of the coordinator's signing key, of which only its owner may know.

use crate::error::CoordinatorError;
use crivello_common::runtime::{warn_if_exposed, write_secret};
use crivello_proto::signing::SigningKey;
use data_encoding::HEXLOWER;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Name of the file in a coordinator's directory.
pub const SIGNING_KEY_FILE: &str = "signing.key";
/// First line of the file. The second has the secret in hexadecimal, the third the public key.
const MAGIC: &str = "crivello signing key 1";

fn text(key: &SigningKey) -> String {
    format!("{MAGIC}\nkey {}\npublic {}\n", HEXLOWER.encode(&key.seed()), key.public())
}

/// Reads a text of [`text`]. The public key in it reveals damage.
fn parse(read: &str) -> Option<SigningKey> {
    let rest = read.strip_prefix(MAGIC)?.strip_prefix("\nkey ")?;
    let (seed, _) = rest.split_once('\n')?;
    let key = SigningKey::from_seed(HEXLOWER.decode(seed.as_bytes()).ok()?.try_into().ok()?)?;
    (text(&key) == read).then_some(key)
}

/// Draws a new key and writes its file in `dir`, readable by its owner alone.
///
/// # Errors
/// Fails if the system has no random numbers, or if the file cannot be written.
pub(crate) fn create(dir: &Path) -> io::Result<SigningKey> {
    let key = SigningKey::draw()?;
    write_secret(&dir.join(SIGNING_KEY_FILE), &text(&key))?;
    Ok(key)
}

/// Reads the key in `dir`.
///
/// # Errors
/// [`CoordinatorError::Broken`] if the file is missing or damaged. A new key is never drawn in its
/// place, because every agent would refuse it.
pub(crate) fn read(dir: &Path) -> Result<SigningKey, CoordinatorError> {
    let path = dir.join(SIGNING_KEY_FILE);
    let broken = |what: String| {
        CoordinatorError::Broken(format!(
            "{} {what}: restore it from a backup, or make a new record and a new key with `crivello \
             coordinator rebuild`; nothing was changed",
            path.display()
        ))
    };
    let read = fs::read_to_string(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => broken("is missing".to_owned()),
        ErrorKind::InvalidData => broken("is damaged".to_owned()),
        _ => broken(format!("cannot be read: {error}")),
    })?;
    let key = parse(&read).ok_or_else(|| broken("is damaged".to_owned()))?;
    warn_if_exposed(&path);
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::tempdir;

    #[test]
    fn the_file_is_secret_and_is_read_back_and_damage_is_refused() {
        let dir = tempdir().unwrap();
        let path = dir.path().join(SIGNING_KEY_FILE);
        assert!(read(dir.path()).unwrap_err().to_string().contains("is missing"));
        let key = create(dir.path()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(dir.path()).unwrap().seed(), key.seed());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            for bytes in
                [whole[..at].to_vec(), [&whole[..at], &[whole[at] ^ 1], &whole[at + 1..]].concat()]
            {
                fs::write(&path, bytes).unwrap();
                let error = read(dir.path()).unwrap_err().to_string();
                assert!(error.contains("is damaged"), "byte {at}: {error}");
                assert!(!error.contains(&HEXLOWER.encode(&key.seed())), "{error}");
            }
        }
    }
}
