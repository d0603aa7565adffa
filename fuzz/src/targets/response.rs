//! Responses as inputs: header lines, an empty line, and the body.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Returns the headers and the body of an input. Lines that are no headers are left out.
pub fn split(input: &[u8]) -> (HeaderMap, &[u8]) {
    let mut headers = HeaderMap::new();
    let mut rest = input;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        let line = rest[..end].trim_ascii();
        rest = &rest[end + 1..];
        if line.is_empty() {
            return (headers, rest);
        }
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            let _ = headers.try_append(name, value);
        }
    }
    (headers, rest)
}

/// Returns the input of a response.
pub fn join(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
    [lines.collect::<String>().as_bytes(), b"\n", body].concat()
}
