//! The `Signature-Agent` header field: the place of the keys, in one of the forms that are in use.

use crivello_common::config::{SignatureAgentForm, directory_url};
use http::HeaderValue;

/// Path of the directory below an origin.
const WELL_KNOWN: &str = "/.well-known/http-message-signatures-directory";

/// Value of the `Signature-Agent` header field, and the component that covers it.
#[derive(Debug)]
pub struct SignatureAgent {
    pub(crate) header: HeaderValue,
    /// Identifier of the component.
    pub(crate) component: String,
    /// Value of the component.
    pub(crate) value: String,
}

impl SignatureAgent {
    /// Creates the header of signatures with this label. `directory` is the URL of the directory; if it has no
    /// path, the directory is at the well-known path. The forms with an origin leave its path out.
    ///
    /// # Errors
    /// Returns the problem of a URL that cannot be that of a directory.
    pub fn new(directory: &str, form: SignatureAgentForm, label: &str) -> Result<Self, String> {
        let mut url = directory_url(directory)?;
        let origin = url.origin().ascii_serialization();
        if url.path() == "/" {
            url.set_path(WELL_KNOWN);
        }
        Ok(match form {
            SignatureAgentForm::DirectoryUrl => Self::member(label, url.as_str()),
            SignatureAgentForm::Origin => Self::member(label, &origin),
            SignatureAgentForm::String => Self::string(&origin),
        })
    }

    /// Creates a dictionary with one member.
    pub(crate) fn member(label: &str, text: &str) -> Self {
        let component = format!("\"signature-agent\";key=\"{label}\"");
        let value = format!("\"{text}\"");
        Self { header: header(&format!("{label}={value}")), component, value }
    }

    /// Creates a bare string.
    pub(crate) fn string(text: &str) -> Self {
        let value = format!("\"{text}\"");
        Self { header: header(&value), component: "\"signature-agent\"".to_owned(), value }
    }
}

/// Returns a header value of visible ASCII: labels, normalized URLs, numbers and Base64.
pub(crate) fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("visible ASCII is a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_header_and_its_component() {
        let keyed = "\"signature-agent\";key=\"sig1\"";
        let well_known = "\"https://bot.example/.well-known/http-message-signatures-directory\"";
        for (url, form, header, component, value) in [
            (
                "https://bot.example",
                SignatureAgentForm::DirectoryUrl,
                format!("sig1={well_known}"),
                keyed,
                well_known,
            ),
            (
                "https://bot.example/",
                SignatureAgentForm::DirectoryUrl,
                format!("sig1={well_known}"),
                keyed,
                well_known,
            ),
            (
                "https://bot.example:8443/keys.json",
                SignatureAgentForm::DirectoryUrl,
                "sig1=\"https://bot.example:8443/keys.json\"".to_owned(),
                keyed,
                "\"https://bot.example:8443/keys.json\"",
            ),
            (
                "https://bot.example/keys.json",
                SignatureAgentForm::Origin,
                "sig1=\"https://bot.example\"".to_owned(),
                keyed,
                "\"https://bot.example\"",
            ),
            (
                "https://BOT.example",
                SignatureAgentForm::String,
                "\"https://bot.example\"".to_owned(),
                "\"signature-agent\"",
                "\"https://bot.example\"",
            ),
        ] {
            let agent = SignatureAgent::new(url, form, "sig1").unwrap();
            assert_eq!(agent.header, header, "{url}");
            assert_eq!(
                (agent.component.as_str(), agent.value.as_str()),
                (component, value),
                "{url}"
            );
        }
    }

    #[test]
    fn a_url_that_could_leave_its_quotes_is_refused_or_escaped() {
        for url in
            ["https://bot.example/a\"b", "https://bot.example/a\\b", "https://bot.example/\u{e9}\n"]
        {
            let agent = SignatureAgent::new(url, SignatureAgentForm::DirectoryUrl, "sig1").unwrap();
            let inner = agent.value.trim_matches('"');
            assert!(!inner.contains(['"', '\\', '\n']) && inner.is_ascii(), "{inner}");
        }
    }
}
