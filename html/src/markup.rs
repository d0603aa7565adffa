//! The markup of a page as text, for programs that parse it on their own.

use super::charset;
use super::links::LinkKind;
use super::media::{self, DeclaredType, Media};
use super::{ParseInput, Parser, Text};
use http::header::CONTENT_TYPE;

impl Parser {
    /// Returns the markup of an HTML page as [`Parser::parse`] sees it: with its content-encoding undone up
    /// to `fetch.decoded-size-max`, and decoded from its character set. `None` if the body is not HTML.
    pub fn markup(&mut self, input: ParseInput<'_>) -> Option<String> {
        let content_type = input.headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        let declared = DeclaredType::of(content_type);
        if !declared.may_have_links(LinkKind::Page) {
            return None;
        }
        let decoded =
            self.decoder.decode(input.headers, input.body, self.filter.decoded_max, false);
        if decoded.bytes.is_empty() || media::is_binary(decoded.bytes, declared) {
            return None;
        }
        let (encoding, bom) = charset::choose(content_type, decoded.bytes, input.url.host());
        let text = Text::of(&decoded.bytes[bom..], encoding);
        let is_html = media::detect(declared, LinkKind::Page, &text.bytes) == Media::Html;
        is_html.then(|| text.as_str().into_owned())
    }
}
