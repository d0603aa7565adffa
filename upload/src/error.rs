//! The reasons for which nothing can be uploaded.

use crivello_common::runtime::SecretFileError;
use std::io;
use std::path::PathBuf;

/// The reason for which no upload can begin. It never shows credentials.
#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    /// The address cannot be used.
    #[error("upload.url: {0}")]
    Url(String),
    /// There are no credentials.
    #[error(
        "upload: no credentials for S3; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a file of them and \
         name it in upload.credentials-file"
    )]
    NoCredentials,
    /// The file of the credentials cannot be used.
    #[error("upload.credentials-file: {0}")]
    CredentialsFile(SecretFileError),
    /// The file has no credentials.
    #[error(
        "upload.credentials-file: {0} has no credentials; write the lines AWS_ACCESS_KEY_ID=… and \
         AWS_SECRET_ACCESS_KEY=…"
    )]
    CredentialsFormat(PathBuf),
    /// The client of the store cannot be set up.
    #[error("the client of the object store cannot be set up: {0}")]
    Client(String),
    /// An object cannot be copied back.
    #[error("{0} cannot be copied back from the store: {1}")]
    Restore(String, String),
    /// The caller has given no maker of tables.
    #[error("upload.url: this program was built without exports, so it makes no tables")]
    NoTables,
    /// The journal cannot be read or written.
    #[error("{0}: the journal of uploads cannot be used: {1}")]
    Journal(PathBuf, io::Error),
}
