//! The HTTP client of a webhook: one address, no redirects, no proxy.

use crate::secret::{SecretError, WebhookSecret};
use reqwest::redirect::Policy;
use reqwest::{Client, Url, retry};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

/// The reason why a webhook cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The address is not valid.
    #[error("webhook.url: {0:?} is not an http or https URL without a user")]
    Url(String),
    /// There is no secret.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// TLS cannot be set up.
    #[error("the webhook's client cannot be set up: {0}")]
    Client(String),
}

/// Sends messages to one address.
pub struct MessageClient {
    client: Client,
    url: Url,
    secret: WebhookSecret,
}

impl MessageClient {
    pub fn new(url: &str, secret: WebhookSecret, timeout: Duration) -> Result<Self, WebhookError> {
        let fits = |url: &Url| {
            let has_user = !url.username().is_empty() || url.password().is_some();
            matches!(url.scheme(), "http" | "https") && !has_user
        };
        let parsed = Url::parse(url).ok().filter(fits);
        let url = parsed.ok_or_else(|| WebhookError::Url(url.to_owned()))?;
        let failed = |error: &dyn std::error::Error| WebhookError::Client(error.to_string());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .retry(retry::never())
            .timeout(timeout)
            .tls_backend_preconfigured(tls)
            .build()
            .map_err(|error| failed(&error))?;
        Ok(Self { client, url, secret })
    }

    /// Sends a message once.
    ///
    /// # Errors
    /// The reason why it was not received, without the address.
    pub async fn send(&self, id: &str, now_secs: u64, body: String) -> Result<(), String> {
        let signature = self.secret.sign(id, now_secs, &body);
        let request = self.client.post(self.url.clone()).body(body);
        let request = request
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now_secs)
            .header("webhook-signature", signature);
        match request.send().await {
            Ok(response) if response.status().is_success() => Ok(()),
            Ok(response) if response.status().is_redirection() => {
                Err(format!("it redirects ({}), which is not followed", response.status()))
            }
            Ok(response) => Err(format!("it answers {}", response.status())),
            Err(error) if error.is_timeout() => Err("it does not answer".to_owned()),
            Err(error) => Err(with_causes(&error.without_url())),
        }
    }
}

/// Returns the texts of an error and its causes.
fn with_causes(error: &reqwest::Error) -> String {
    let first: &dyn std::error::Error = error;
    let causes = std::iter::successors(Some(first), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
