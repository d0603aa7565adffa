//! A bucket of an S3 service as a store.

#[cfg(test)]
mod tests;

use super::{ObjectReader, Part, Store, StoreError};
use crate::credentials::StoreCredentials;
use crate::error::UploadError;
use bytes::Bytes;
use crivello_common::config::Upload;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::multipart::{MultipartStore as _, PartId};
use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _, RetryConfig};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum time of a connection's beginning.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Maximum time of a request without a long body, and of the next bytes of an object.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// Maximum time of a request that stores a part, or that completes an object.
const PART_MAX: Duration = Duration::from_secs(300);

pub(crate) struct S3Store {
    bucket: AmazonS3,
    credentials: Arc<StoreCredentials>,
}

pub(crate) struct S3Reader {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    credentials: Arc<StoreCredentials>,
}

/// One client for all requests: no redirects, no proxy.
#[derive(Clone, Debug)]
struct OneClient(reqwest::Client);

impl HttpConnector for OneClient {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.0.clone()))
    }
}

impl S3Store {
    /// Creates a client for a bucket of the service in the settings.
    ///
    /// # Errors
    /// [`UploadError::Client`] if that fails.
    pub(crate) fn new(
        settings: &Upload,
        bucket: &str,
        credentials: StoreCredentials,
    ) -> Result<Self, UploadError> {
        let failed = |error: &dyn std::error::Error| {
            UploadError::Client(credentials.redact(&error.to_string()))
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(&settings.region)
            .with_access_key_id(&credentials.key_id)
            .with_secret_access_key(&credentials.secret)
            .with_http_connector(OneClient(client()?))
            // The uploader tries again, and reports that it does.
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() });
        if let Some(token) = &credentials.token {
            builder = builder.with_token(token);
        }
        if !settings.endpoint.is_empty() {
            builder = builder.with_endpoint(&settings.endpoint);
            builder = builder.with_allow_http(settings.endpoint.starts_with("http://"));
        }
        let bucket = builder.build().map_err(|error| failed(&error))?;
        Ok(Self { bucket, credentials: Arc::new(credentials) })
    }

    /// Waits for an answer.
    async fn answer<T>(
        &self,
        limit: Duration,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Failure> {
        match timeout(limit, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Failure {
                is_missing: matches!(error, Error::NotFound { .. }),
                error: store_error(&self.credentials, &error),
            }),
            Err(_) => Err(Failure { is_missing: false, error: no_answer() }),
        }
    }
}

struct Failure {
    is_missing: bool,
    error: StoreError,
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

impl Store for S3Store {
    type Reader = S3Reader;

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        let path = Path::from(key);
        Ok(self.answer(PART_MAX, self.bucket.put(&path, bytes.into())).await?.e_tag)
    }

    async fn begin(&self, key: &str) -> Result<String, StoreError> {
        let path = Path::from(key);
        Ok(self.answer(REQUEST_MAX, self.bucket.create_multipart(&path)).await?)
    }

    async fn put_part(&self, (key, id): (&str, &str), part: Part) -> Result<String, StoreError> {
        let (path, id) = (Path::from(key), id.to_owned());
        let put = self.bucket.put_part(&path, &id, part.n, part.bytes.into());
        Ok(self.answer(PART_MAX, put).await?.content_id)
    }

    async fn complete(
        &self,
        (key, id): (&str, &str),
        parts: Vec<String>,
    ) -> Result<Option<String>, StoreError> {
        let (path, id) = (Path::from(key), id.to_owned());
        let parts = parts.into_iter().map(|content_id| PartId { content_id }).collect();
        let complete = self.bucket.complete_multipart(&path, &id, parts);
        Ok(self.answer(PART_MAX, complete).await?.e_tag)
    }

    async fn abort(&self, key: &str, id: &str) -> Result<(), StoreError> {
        let (path, id) = (Path::from(key), id.to_owned());
        match self.answer(REQUEST_MAX, self.bucket.abort_multipart(&path, &id)).await {
            Err(failure) if !failure.is_missing => Err(failure.error),
            _ => Ok(()),
        }
    }

    async fn find(&self, key: &str) -> Result<Option<(u64, Option<String>)>, StoreError> {
        let path = Path::from(key);
        match self.answer(REQUEST_MAX, self.bucket.head(&path)).await {
            Ok(object) => Ok(Some((object.size, object.e_tag))),
            Err(failure) if failure.is_missing => Ok(None),
            Err(failure) => Err(failure.error),
        }
    }

    async fn read(&self, key: &str) -> Result<S3Reader, StoreError> {
        let path = Path::from(key);
        let object = self.answer(REQUEST_MAX, self.bucket.get(&path)).await?;
        Ok(S3Reader { stream: object.into_stream(), credentials: self.credentials.clone() })
    }
}

impl ObjectReader for S3Reader {
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        match timeout(REQUEST_MAX, self.stream.next()).await {
            Ok(None) => Ok(None),
            Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
            Ok(Some(Err(error))) => Err(store_error(&self.credentials, &error)),
            Err(_) => Err(no_answer()),
        }
    }
}

fn store_error(credentials: &StoreCredentials, error: &Error) -> StoreError {
    StoreError::new(&credentials.redact(&error.to_string()))
}

fn no_answer() -> StoreError {
    StoreError::new("the store does not answer")
}

fn client() -> Result<reqwest::Client, UploadError> {
    let failed = |error: &dyn std::error::Error| UploadError::Client(error.to_string());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .connect_timeout(CONNECT_MAX)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| failed(&error))
}
