//! Data in the markup of a page: metadata, links with their texts, JSON-LD.

use super::nesting::Nesting;
use html5gum::Tokenizer;
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use std::convert::Infallible;

/// Data in the markup of a page. All of it is bounded: a page may have any number of elements.
#[derive(Debug, Default)]
pub struct Markup {
    /// `lang` of the root element.
    pub lang: Option<String>,
    /// `meta` elements.
    pub metas: Vec<MetaTag>,
    /// Links, in the order of the page.
    pub links: Vec<MarkupLink>,
    /// Texts of `script type="application/ld+json"`.
    pub json_ld: Vec<String>,
    /// Greatest number of nested elements.
    pub depth: u32,
    /// Number of elements.
    pub elements: u32,
}

/// A `meta` element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetaTag {
    /// `name`, `property`, `http-equiv` or `itemprop`: the name of the attribute.
    pub attribute: &'static str,
    /// Its value.
    pub key: String,
    /// `content`.
    pub content: String,
}

/// A link as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkupLink {
    /// Element and attribute, as `A@/href`, which is Common Crawl's form.
    pub path: &'static str,
    /// Value of the attribute.
    pub href: String,
    /// Text of an `a`, or `alt` of an image; white space is collapsed.
    pub text: String,
    /// `rel`.
    pub rel: String,
}

const METAS_MAX: usize = 1_000;
const LINKS_MAX: usize = 10_000;
/// Maximum length of an attribute in bytes. Longer ones are left out.
const VALUE_BYTES_MAX: usize = 16 << 10;
/// Length in bytes at which the text of a link is cut.
const LINK_TEXT_BYTES_MAX: usize = 512;
/// Maximum length of all JSON-LD of a page in bytes.
const JSON_LD_BYTES_MAX: usize = 1 << 20;

impl Markup {
    /// Reads a page, in one pass.
    pub fn read(page: &str) -> Self {
        let mut scan = Scan::default();
        let callback = |event: CallbackEvent<'_>, _| -> Option<Infallible> {
            scan.event(&event);
            None
        };
        let mut emitter = CallbackEmitter::<_, Infallible>::new(callback);
        emitter.naively_switch_states(true);
        let Ok(()) = Tokenizer::new_with_emitter(page, emitter).finish();
        let Scan { mut markup, nesting, .. } = scan;
        (markup.depth, markup.elements) = (nesting.depth_max, nesting.elements);
        markup
    }
}

/// Attributes that are read.
const ATTRIBUTES: [&str; 13] = [
    "href",
    "src",
    "action",
    "data",
    "rel",
    "alt",
    "name",
    "property",
    "http-equiv",
    "itemprop",
    "content",
    "type",
    "lang",
];

#[derive(Default)]
struct Scan {
    markup: Markup,
    nesting: Nesting,
    name: Vec<u8>,
    attribute: Option<usize>,
    values: [Option<String>; ATTRIBUTES.len()],
    /// Index of the link whose text is read.
    link: Option<usize>,
    is_in_json_ld: bool,
    json_ld_bytes: usize,
}

impl Scan {
    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name = name.to_vec();
                self.values = Default::default();
                self.nesting.start(name);
            }
            CallbackEvent::AttributeName { name } => {
                let known = ATTRIBUTES.iter().position(|known| known.as_bytes() == *name);
                self.attribute = known.filter(|&index| self.values[index].is_none());
                if let Some(index) = self.attribute {
                    self.values[index] = Some(String::new());
                }
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(index) = self.attribute.take() {
                    let fits = value.len() <= VALUE_BYTES_MAX;
                    let text = fits.then(|| String::from_utf8_lossy(value).into_owned());
                    self.values[index] = Some(text.unwrap_or_default());
                }
            }
            CallbackEvent::CloseStartTag { .. } => self.element(),
            CallbackEvent::EndTag { name } => {
                self.nesting.end(name);
                self.link = self.link.filter(|_| *name != b"a");
                self.is_in_json_ld &= *name != b"script";
            }
            CallbackEvent::String { value } => self.text(value),
            _ => {}
        }
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let index = ATTRIBUTES.iter().position(|known| *known == name)?;
        self.values[index].take().map(|value| value.trim().to_owned())
    }

    fn element(&mut self) {
        let name = std::mem::take(&mut self.name);
        match name.as_slice() {
            b"html" if self.markup.lang.is_none() => {
                self.markup.lang = self.take("lang").filter(|lang| !lang.is_empty());
            }
            b"meta" => self.meta(),
            b"script"
                if self.take("type").is_some_and(|kind| is_json_ld(&kind))
                    && self.markup.json_ld.len() < METAS_MAX =>
            {
                self.is_in_json_ld = true;
                self.markup.json_ld.push(String::new());
            }
            _ => self.links(&name),
        }
    }

    fn meta(&mut self) {
        let content = self.take("content").unwrap_or_default();
        let keys = ["name", "property", "http-equiv", "itemprop"];
        let key = keys.into_iter().find_map(|name| Some((name, self.take(name)?)));
        if let Some((attribute, key)) = key.filter(|(_, key)| !key.is_empty())
            && self.markup.metas.len() < METAS_MAX
        {
            self.markup.metas.push(MetaTag { attribute, key, content });
        }
    }

    fn links(&mut self, name: &[u8]) {
        let (path, attribute) = match name {
            b"a" => ("A@/href", "href"),
            b"area" => ("AREA@/href", "href"),
            b"link" => ("LINK@/href", "href"),
            b"img" => ("IMG@/src", "src"),
            b"script" => ("SCRIPT@/src", "src"),
            b"iframe" => ("IFRAME@/src", "src"),
            b"frame" => ("FRAME@/src", "src"),
            b"embed" => ("EMBED@/src", "src"),
            b"video" => ("VIDEO@/src", "src"),
            b"audio" => ("AUDIO@/src", "src"),
            b"source" => ("SOURCE@/src", "src"),
            b"object" => ("OBJECT@/data", "data"),
            b"form" => ("FORM@/action", "action"),
            _ => return,
        };
        self.link = self.link.filter(|_| name != b"a");
        let Some(href) = self.take(attribute) else { return };
        if self.markup.links.len() < LINKS_MAX {
            let (text, rel) = (self.take("alt"), self.take("rel").unwrap_or_default());
            let text = if name == b"img" { text.unwrap_or_default() } else { String::new() };
            let is_open = name == b"a";
            self.link = if is_open { Some(self.markup.links.len()) } else { self.link };
            self.markup.links.push(MarkupLink { path, href, text, rel });
        }
    }

    fn text(&mut self, value: &[u8]) {
        if self.is_in_json_ld {
            self.json_ld_bytes += value.len();
            let fits = self.json_ld_bytes <= JSON_LD_BYTES_MAX;
            if let Some(text) = self.markup.json_ld.last_mut().filter(|_| fits) {
                text.push_str(&String::from_utf8_lossy(value));
            }
        } else if let Some(link) = self.link.and_then(|index| self.markup.links.get_mut(index)) {
            for word in String::from_utf8_lossy(value).split_whitespace() {
                if link.text.len() + word.len() >= LINK_TEXT_BYTES_MAX {
                    self.link = None;
                    break;
                }
                if !link.text.is_empty() {
                    link.text.push(' ');
                }
                link.text.push_str(word);
            }
        }
    }
}

fn is_json_ld(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/ld+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_a_page_are_read() {
        let markup = Markup::read(
            "<html lang=de><meta property='og:title' content='A &amp; B'><link rel=canonical href=/c>
             <script type='application/ld+json'>{\"@type\": \"<a>\"}</script>
             <a href='/x' rel=nofollow>One <img src=i.png alt=Icon> <b>two</b></a> not of it <a>no</a>",
        );
        assert_eq!(markup.lang.as_deref(), Some("de"));
        assert_eq!(markup.metas[0].content, "A & B");
        assert_eq!(markup.json_ld, ["{\"@type\": \"<a>\"}"]);
        let links: Vec<_> =
            markup.links.iter().map(|link| (link.path, &*link.href, &*link.text)).collect();
        let wanted =
            [("LINK@/href", "/c", ""), ("A@/href", "/x", "One two"), ("IMG@/src", "i.png", "Icon")];
        assert_eq!(links, wanted);
        assert_eq!(markup.links[1].rel, "nofollow");
    }

    #[test]
    fn numbers_of_elements_are_bounded() {
        let page = "<meta name=a><script type='application/ld+json'>1</script><a href=/x></a>";
        let markup = Markup::read(&page.repeat(LINKS_MAX + 1));
        assert_eq!(
            (markup.metas.len(), markup.json_ld.len(), markup.links.len()),
            (METAS_MAX, METAS_MAX, LINKS_MAX)
        );
        assert!(markup.json_ld.iter().all(|text| text == "1"));
    }
}
