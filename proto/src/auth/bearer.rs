//! Credentials of a caller: a secret or a ticket.

use crate::LiveToken;
use data_encoding::BASE64URL_NOPAD;
use std::fmt;
use tonic::Status;
use tonic::codegen::http::header;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;

/// Scheme of the `authorization` header of a ticket.
const TICKET: &str = "Ticket ";

/// A channel that sends a secret or a ticket with every request.
pub type AuthChannel = InterceptedService<Channel, BearerToken>;

/// The secret sent with every request, in its version at that moment, or a ticket; may be none.
#[derive(Clone, Default)]
pub struct BearerToken(Sent);

#[derive(Clone, Default)]
enum Sent {
    #[default]
    Nothing,
    Secret(LiveToken),
    Ticket(MetadataValue<Ascii>),
}

/// Hides the secret.
impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Sent::Nothing => "BearerToken(nothing)",
            Sent::Secret(_) => "BearerToken(a secret)",
            Sent::Ticket(_) => "BearerToken(a ticket)",
        })
    }
}

impl BearerToken {
    /// Creates a value that sends `secret`, if there is one.
    #[must_use]
    pub fn new(secret: Option<&LiveToken>) -> Self {
        Self(secret.map_or(Sent::Nothing, |secret| Sent::Secret(secret.clone())))
    }

    /// Creates a value that sends a ticket.
    #[must_use]
    pub fn ticket(bytes: &[u8]) -> Self {
        let text = format!("{TICKET}{}", BASE64URL_NOPAD.encode(bytes));
        // The alphabet contains only characters that are valid in a header.
        let value = MetadataValue::try_from(text);
        Self(value.map_or(Sent::Nothing, |mut value| {
            value.set_sensitive(true);
            Sent::Ticket(value)
        }))
    }

    /// Returns a channel that sends the secret or the ticket over `channel`.
    pub fn wrap(&self, channel: Channel) -> AuthChannel {
        InterceptedService::new(channel, self.clone())
    }

    /// Adds the secret or the ticket to `request`.
    pub fn add_to<T>(&self, request: &mut tonic::Request<T>) {
        let value = match &self.0 {
            Sent::Nothing => return,
            Sent::Ticket(value) => value.clone(),
            // A secret contains only characters that are valid in a header.
            Sent::Secret(secret) => match MetadataValue::try_from(secret.now().header()) {
                Ok(mut value) => {
                    value.set_sensitive(true);
                    value
                }
                Err(_) => return,
            },
        };
        request.metadata_mut().insert(header::AUTHORIZATION.as_str(), value);
    }
}

impl Interceptor for BearerToken {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        self.add_to(&mut request);
        Ok(request)
    }
}

/// Returns the bytes of the ticket in the value of an `authorization` header.
pub(super) fn ticket_in(header: &[u8]) -> Option<Vec<u8>> {
    let (scheme, ticket) = header.split_at_checked(TICKET.len())?;
    let ticket = scheme.eq_ignore_ascii_case(TICKET.as_bytes()).then_some(ticket)?;
    BASE64URL_NOPAD.decode(ticket.trim_ascii()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::runtime::Token;

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn debug_output_hides_secrets() {
        let token = LiveToken::from(Token::parse(TOKEN).unwrap());
        for bearer in [BearerToken::new(Some(&token)), BearerToken::ticket(TOKEN.as_bytes())] {
            let mut request = tonic::Request::new(());
            bearer.add_to(&mut request);
            let shown = format!("{bearer:?} {request:?}");
            assert!(shown.contains("Sensitive"), "{shown}");
            assert!(!shown.contains(TOKEN) && !shown.contains("MDEyMzQ1"), "{shown}");
        }
    }

    #[test]
    fn a_ticket_is_read_from_its_header() {
        let mut request = tonic::Request::new(());
        BearerToken::ticket(&[0, 0xff, 7]).add_to(&mut request);
        let header = request.metadata().get("authorization").unwrap();
        assert_eq!(ticket_in(header.as_bytes()), Some(vec![0, 0xff, 7]));
        for wrong in ["", "Ticket", "Bearer AP8H", "Ticket !", "Ticket AP8H!", "AP8H"] {
            assert_eq!(ticket_in(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
