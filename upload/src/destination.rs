//! The address of a store.

use crate::error::UploadError;
use std::fmt;
use std::path::PathBuf;
use url::Url;

/// Where files are copied to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    /// A bucket of an S3 service, and the prefix of the names of objects in it, without slashes at its ends.
    S3 {
        /// Name of the bucket.
        bucket: String,
        /// Prefix of names.
        prefix: String,
    },
    /// A directory.
    Directory(PathBuf),
}

impl Destination {
    /// Parses `s3://BUCKET/PREFIX` or `file:///DIRECTORY`.
    ///
    /// # Errors
    /// [`UploadError::Url`] for any other text.
    pub fn parse(text: &str) -> Result<Self, UploadError> {
        let parsed = crivello_common::config::upload_url(text).map_err(UploadError::Url)?;
        Self::of(&parsed).ok_or_else(|| UploadError::Url(format!("{text:?} is no path")))
    }

    fn of(url: &Url) -> Option<Self> {
        if url.scheme() == "file" {
            return Some(Self::Directory(url.to_file_path().ok()?));
        }
        let prefix = url.path().trim_matches('/').to_owned();
        Some(Self::S3 { bucket: url.host_str()?.to_owned(), prefix })
    }

    /// Returns the name of the object for a file of an agent. Agents may have files of the same name.
    #[must_use]
    pub fn object(&self, agent: u32, file: &str) -> String {
        match self {
            Self::S3 { prefix, .. } if !prefix.is_empty() => {
                format!("{prefix}/agent-{agent}/{file}")
            }
            _ => format!("agent-{agent}/{file}"),
        }
    }
}

/// The address in normal form, without the prefix.
impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3 { bucket, .. } => write!(f, "s3://{bucket}"),
            Self::Directory(dir) => write!(f, "file://{}", dir.display()),
        }
    }
}
