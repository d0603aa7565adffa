//! Differential tests: our scanner against html5gum's tokenizer, and pages decoded value by value
//! against pages decoded as a whole.

use super::Case;
use crate::scan::{Sink, scan};
use crate::tag::{Attr, Attrs, TagName};
use crate::text;
use encoding_rs::UTF_8;
use html5gum::emitters::ForwardingEmitter;
use html5gum::{DefaultEmitter, Emitter, State, Token, Tokenizer};
use proptest::prelude::*;
use std::ops::ControlFlow;

const ATTRS: [(Attr, &str); 9] = [
    (Attr::Charset, "charset"),
    (Attr::Content, "content"),
    (Attr::Href, "href"),
    (Attr::HttpEquiv, "http-equiv"),
    (Attr::Name, "name"),
    (Attr::Poster, "poster"),
    (Attr::Rel, "rel"),
    (Attr::Src, "src"),
    (Attr::Srcset, "srcset"),
];

/// The compared data.
#[derive(PartialEq, Eq, Debug)]
enum Seen {
    Tag(TagName, Vec<(&'static str, String)>),
    Title(String),
}

/// `html5gum` with the state switches that a tree builder would make.
#[derive(Default)]
struct Switching {
    inner: DefaultEmitter<()>,
    name: Vec<u8>,
    is_end: bool,
    self_closing: bool,
    foreign: u32,
}

impl ForwardingEmitter for Switching {
    type Token = Token<()>;

    fn inner(&mut self) -> &mut impl Emitter<Token = Token<()>> {
        &mut self.inner
    }

    fn init_start_tag(&mut self) {
        (self.is_end, self.self_closing) = (false, false);
        self.name.clear();
        Emitter::init_start_tag(&mut self.inner);
    }

    fn init_end_tag(&mut self) {
        self.is_end = true;
        self.name.clear();
        Emitter::init_end_tag(&mut self.inner);
    }

    fn push_tag_name(&mut self, s: &[u8]) {
        self.name.extend(s);
        Emitter::push_tag_name(&mut self.inner, s);
    }

    fn set_self_closing(&mut self) {
        self.self_closing = true;
        Emitter::set_self_closing(&mut self.inner);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        let _ = Emitter::emit_current_tag(&mut self.inner);
        let is_foreign = matches!(&self.name[..], b"svg" | b"math");
        if self.is_end {
            self.foreign = self.foreign.saturating_sub(u32::from(is_foreign));
            return None;
        }
        self.foreign += u32::from(is_foreign && !self.self_closing);
        if self.self_closing && self.foreign > 0 {
            return None;
        }
        let state = match &self.name[..] {
            b"script" => State::ScriptData,
            b"style" | b"xmp" | b"iframe" | b"noembed" | b"noframes" => State::RawText,
            b"textarea" | b"title" => State::RcData,
            b"plaintext" => State::PlainText,
            _ => return None,
        };
        Emitter::init_string(&mut self.inner);
        Some(state)
    }
}

fn by_html5gum(page: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut in_title = false;
    let mut foreign = 0_u32;
    for token in Tokenizer::new_with_emitter(page, Switching::default()) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let name = TagName::of(&tag.name);
                let is_foreign = matches!(name, Some(TagName::Svg | TagName::Math));
                foreign += u32::from(is_foreign && !tag.self_closing);
                if let Some(name) = name {
                    let value = |(_, key): (Attr, &'static str)| {
                        let value = tag.attributes.get(key.as_bytes())?;
                        Some((key, newlines(&String::from_utf8_lossy(value))))
                    };
                    let wanted = if name.has_attributes() { &ATTRS[..] } else { &[] };
                    seen.push(Seen::Tag(name, wanted.iter().copied().filter_map(value).collect()));
                }
                in_title = name == Some(TagName::Title) && foreign == 0;
                if in_title {
                    seen.push(Seen::Title(String::new()));
                }
            }
            Token::EndTag(tag) => {
                in_title = false;
                let name = TagName::of(&tag.name);
                let is_foreign = matches!(name, Some(TagName::Svg | TagName::Math));
                foreign = foreign.saturating_sub(u32::from(is_foreign));
            }
            Token::String(text) if in_title => {
                if let Some(Seen::Title(title)) = seen.last_mut() {
                    title.push_str(&newlines(&String::from_utf8_lossy(&text)));
                }
            }
            _ => {}
        }
    }
    seen
}

#[derive(Default)]
struct Recorder(Vec<Seen>);

impl<'a> Sink<'a> for Recorder {
    fn start_tag(&mut self, name: TagName, attrs: &Attrs<'a>) -> ControlFlow<()> {
        let value = |(attr, key): (Attr, &'static str)| {
            Some((key, newlines(&text::attribute(attrs.get(attr)?, UTF_8))))
        };
        self.0.push(Seen::Tag(name, ATTRS.into_iter().filter_map(value).collect()));
        ControlFlow::Continue(())
    }

    fn title(&mut self, raw: &'a [u8]) {
        self.0.push(Seen::Title(newlines(&text::rcdata(raw, UTF_8))));
    }
}

fn by_scanner(page: &[u8]) -> Vec<Seen> {
    let mut recorder = Recorder::default();
    scan(page, &mut recorder);
    recorder.0
}

/// Normalizes newlines, as the standard does first. Our scanner treats all of them as white space.
fn newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Pieces of markup that reach every state of the tokenizer.
const PIECES: [&str; 81] = [
    "<script><!--<script>",
    "<!--<script ",
    "--></script>",
    "<",
    ">",
    "</",
    "/>",
    "<!",
    "<!-",
    "<!--",
    "<!-->",
    "<!--->",
    "-->",
    "--!>",
    "--",
    "-",
    "!",
    "?",
    "<?",
    "<![CDATA[",
    "]]>",
    "<!doctype html>",
    "<!doctype a \"",
    "<a ",
    "<A",
    "</a>",
    "<a/",
    "<area",
    "<base ",
    "<link ",
    "<meta ",
    "<img",
    "<script",
    "<script>",
    "</script",
    "</script>",
    "</SCRIPT ",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "</TITLE",
    "<textarea>",
    "</textarea>",
    "<iframe>",
    "</iframe>",
    "<xmp>",
    "</xmp >",
    "<noscript>",
    "<svg>",
    "</svg>",
    "<svg/>",
    "<title/>",
    "<style/>",
    "<math ",
    "</math>",
    "<plaintext>",
    "<p>",
    "<b class=",
    " href",
    " href=",
    " HREF = ",
    " src='",
    " rel=\"",
    "content",
    "=",
    "\"",
    "'",
    "&amp;",
    "&copy",
    "&copy;",
    "&#65;",
    "&#x",
    "&",
    ";",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\0",
    "é",
];

fn page() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        12 => prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        2 => "[a-z0-9#/]{1,8}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 1..4),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_scanner_sees_what_html5gum_sees(page in page()) {
        prop_assert_eq!(by_scanner(&page), by_html5gum(&page), "{}", page.escape_ascii());
    }
}

proptest! {
    #[test]
    fn values_are_decoded_as_in_a_page_decoded_as_a_whole(
        text in "[a-z/é中文表ソж日本ー語한국]{0,12}",
        label in prop::sample::select(vec![
            "gbk", "gb18030", "big5", "euc-jp", "shift_jis", "euc-kr", "windows-1251", "koi8-r",
        ]),
        noise in proptest::collection::vec(0x80_u8.., 0..4),
    ) {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let page = format!("<title>{text}</title><p title={text}>{text}<a href='/{text}'><a href=x>");
        let (encoded, ..) = encoding.encode(&page);
        let body = [&encoded[..], b"<a title='", &noise, b" ' href=y>"].concat();
        let (whole, _) = encoding.decode_without_bom_handling(&body);
        let ours = Case::new(&body).header("content-type", format!("text/html;charset={label}"));
        let reference = Case::new(whole.as_bytes()).header("content-type", "text/html;charset=utf-8");
        let (ours, reference) = (ours.read(), reference.read());
        prop_assert_eq!(ours.hrefs, reference.hrefs);
        prop_assert_eq!(ours.title, reference.title);
        prop_assert_eq!(ours.charset, Some(encoding.name()));
    }
}
