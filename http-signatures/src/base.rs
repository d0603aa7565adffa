//! The signature base (RFC 9421 section 2.5): the bytes that are signed, and the member of
//! `Signature-Input` that describes them.

use crate::PrivateKey;
use data_encoding::BASE64;
use std::fmt::Write as _;

/// Covered components and parameters of a signature, in their order. Texts have no `"`, no `\` and only
/// visible ASCII.
#[derive(Default)]
pub struct SignatureBase {
    components: String,
    identifiers: String,
    parameters: String,
}

impl SignatureBase {
    /// Adds a component: its identifier with its parameters, such as `"signature-agent";key="sig1"`, and its
    /// value.
    pub fn component(mut self, identifier: &str, value: &str) -> Self {
        let _ = writeln!(self.components, "{identifier}: {value}");
        if !self.identifiers.is_empty() {
            self.identifiers.push(' ');
        }
        self.identifiers.push_str(identifier);
        self
    }

    /// Adds a parameter that is an integer.
    pub fn integer(mut self, name: &str, value: u64) -> Self {
        let _ = write!(self.parameters, ";{name}={value}");
        self
    }

    /// Adds a parameter that is a string.
    pub fn string(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.parameters, ";{name}=\"{value}\"");
        self
    }

    /// Returns the values of `Signature-Input` and `Signature`, each with one member of this label.
    pub fn sign(&self, label: &str, key: &PrivateKey) -> (String, String) {
        let input = format!("({}){}", self.identifiers, self.parameters);
        let signed = format!("{}\"@signature-params\": {input}", self.components);
        let signature = BASE64.encode(&key.sign(signed.as_bytes()));
        (format!("{label}={input}"), format!("{label}=:{signature}:"))
    }
}
