//! Responses to requests, whatever the protocol.

use crate::character::{Coding, Manner, PageKind, RetryAfter};
use crate::coding;
use crate::conditional::{Conditions, Evaluated};
use crate::history::PageVersion;
use crate::page;
use crate::robots::Robots;
use crate::route::Route;
use crate::world::{Target, World};
use bytes::Bytes;
use crivello_common::time::Timestamp;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

/// Assumed largest difference between the visitor's clock and ours. It counts where a Retry-After
/// is a date, which the visitor compares with its own clock.
const CLOCKS_DIFFER_MS: u64 = 20;

/// Header of answers with a content-encoding.
const VARY: (&str, &str) = ("Vary", "Accept-Encoding");

/// Begin of the names of headers of signatures.
const SIGNATURE: &str = "signature";

/// The parts of a request that its answer or the log depends on.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The requested host, lower case, without port.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// The value of `Accept-Encoding`.
    pub accept_encoding: String,
    /// The conditions.
    pub conditions: Conditions,
    /// Names and values of the headers of its signature (RFC 9421), as they were received.
    pub signature: Vec<(String, String)>,
}

impl Request {
    /// Records a header that is a condition or belongs to a signature.
    pub fn note(&mut self, name: &str, value: &str) {
        if name.get(..SIGNATURE.len()).is_some_and(|head| head.eq_ignore_ascii_case(SIGNATURE)) {
            self.signature.push((name.to_ascii_lowercase(), value.to_owned()));
        } else {
            self.conditions.note(name, value);
        }
    }
}

/// A response and the manner of sending it.
#[derive(Clone, Debug, Default)]
pub struct SimResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The headers, without those that frame the message.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
    /// Manner of sending it.
    pub manner: Manner,
    /// Time before the first byte is sent.
    pub latency: Duration,
    /// True if the connection is kept open afterwards.
    pub keep_alive: bool,
    /// Wait that the visitor is asked for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Number of the version of a page that changes.
    pub version: Option<u64>,
}

impl SimResponse {
    fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let headers = vec![("Content-Type", content_type.to_owned())];
        Self { status, headers, body: body.into(), ..Self::default() }
    }

    /// Returns a small page without links.
    fn brief(status: u16) -> Self {
        let text = format!("<!DOCTYPE html><title>{status}</title><p>Status {status}.</p>\n");
        Self::new(status, "text/html; charset=utf-8", text)
    }

    fn redirect((status, location): (u16, String)) -> Self {
        Self::brief(status).with("Location", location)
    }

    fn gzip(body: impl Into<Bytes>) -> Self {
        Self::new(200, "text/html", body).with("Content-Encoding", "gzip")
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// The state of a web: refusals by host, and bodies that are costly to make.
#[derive(Debug, Default)]
pub struct Responder {
    /// Number of requests to hosts whose answer depends on it, for robots.txt (true) and for
    /// anything else (false).
    counts: Mutex<HashMap<(u32, bool), u32>>,
    bombs: HashMap<u64, Bytes>,
}

impl Responder {
    /// Makes the gzip bombs of all characters in advance, because they are costly.
    #[must_use]
    pub fn new(world: &World) -> Self {
        let spec = world.spec();
        let own = spec.hosts.iter().map(|h| &h.character);
        let mut bombs = HashMap::new();
        for character in own.chain(spec.shares.iter().map(|s| &s.character)) {
            if let Manner::GzipBomb { bytes } = character.manner {
                bombs.entry(bytes).or_insert_with(|| coding::bomb(bytes));
            }
        }
        Self { counts: Mutex::default(), bombs }
    }

    /// Returns the response to `request`.
    pub fn answer(&self, world: &World, request: &Request, now: Timestamp) -> SimResponse {
        let Some(host) = world.host(&request.host) else {
            return SimResponse::brief(404);
        };
        let at = Route::parse(&request.path).map(|route| Target { host, route });
        let mut answer = match at {
            Some(at) if at.route.is_robots() => self.robots(world, at),
            _ => self.mannered(world, host.id, at, request, now),
        };
        answer.latency = Duration::from_millis(u64::from(world.latency_ms(host.id)));
        answer.keep_alive = world.keep_alive(host.id);
        answer
    }

    fn mannered(
        &self,
        world: &World,
        id: u32,
        at: Option<Target>,
        request: &Request,
        now: Timestamp,
    ) -> SimResponse {
        let manner = &world.character(id).manner;
        match manner {
            Manner::Status { code } => return SimResponse::brief(*code),
            Manner::SlowDown { code, retry_after, refusals }
                if self.count((id, false)) <= *refusals =>
            {
                return refusal(*code, *retry_after, now);
            }
            Manner::GzipBomb { bytes } => {
                return SimResponse::gzip(self.bombs.get(bytes).cloned().unwrap_or_default());
            }
            Manner::TruncatedGzip => {
                let text = at.map(|at| page::html(world, at)).unwrap_or_default();
                let mut body = coding::gzip(text.as_bytes());
                body.truncate(body.len() / 2);
                return SimResponse::gzip(body);
            }
            _ => {}
        }
        let answer =
            at.map_or_else(|| SimResponse::brief(404), |at| place(world, at, request, now));
        SimResponse { manner: manner.clone(), ..answer }
    }

    fn robots(&self, world: &World, at: Target) -> SimResponse {
        match world.robots(at.host.id) {
            Robots::Recovering { code, times } if self.count((at.host.id, true)) <= *times => {
                SimResponse::brief(*code)
            }
            Robots::ClosedFor { after, times }
                if (1..=*times)
                    .contains(&self.count((at.host.id, true)).saturating_sub(*after)) =>
            {
                SimResponse::new(200, "text/plain", "User-agent: *\nDisallow: /\n")
            }
            _ => robots(world, at),
        }
    }

    /// Counts a request, and returns its number, beginning with 1.
    fn count(&self, key: (u32, bool)) -> u32 {
        let mut counts = self.counts.lock();
        let n = counts.entry(key).or_default();
        *n = n.saturating_add(1);
        *n
    }
}

fn refusal(code: u16, retry_after: RetryAfter, now: Timestamp) -> SimResponse {
    let (wait_ms, value) = match retry_after {
        RetryAfter::Absent => return SimResponse::brief(code),
        RetryAfter::Seconds(secs) => (u64::from(secs) * 1_000, secs.to_string()),
        RetryAfter::Date(secs) => {
            let at = now.as_secs() + u64::from(secs);
            let now_ms = now.0 / 1_000 + CLOCKS_DIFFER_MS;
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at));
            ((at * 1_000).saturating_sub(now_ms), date)
        }
    };
    let answer = SimResponse::brief(code).with("Retry-After", value);
    SimResponse { retry_after_ms: Some(wait_ms), ..answer }
}

fn robots(world: &World, at: Target) -> SimResponse {
    let robots = world.robots(at.host.id);
    let text = |robots: &Robots| {
        let text = robots.text(&world.origin(at.host).to_string());
        SimResponse::new(200, "text/plain; charset=utf-8", text)
    };
    if at.route == Route::RobotsHop(0) {
        return text(&Robots::standard());
    }
    match robots {
        Robots::GzippedSitemaps(_) if at.route == Route::Robots => {
            let mut answer = text(robots);
            answer.body = coding::gzip(&answer.body).into();
            answer.with("Content-Encoding", "gzip")
        }
        Robots::SitemapOn { .. } if at.route == Route::Robots => {
            let sitemap = world.sitemap_of(at.host).map(|at| world.url(at)).unwrap_or_default();
            let text = format!("User-agent: *\nDisallow:\nSitemap: {sitemap}\n");
            SimResponse::new(200, "text/plain", text)
        }
        Robots::Status(code) => SimResponse::brief(*code),
        Robots::Silent => SimResponse { manner: Manner::Silent, ..SimResponse::default() },
        Robots::Reset => SimResponse { manner: Manner::Reset, ..SimResponse::default() },
        Robots::Empty => SimResponse::new(200, "text/plain", Bytes::new()),
        Robots::Redirects { hops: 1.., .. } => {
            world.redirect(at).map_or_else(|| SimResponse::brief(404), SimResponse::redirect)
        }
        Robots::RedirectTo(location) => SimResponse::redirect((302, world.with_port(location))),
        _ if at.route == Route::Robots => text(robots),
        _ => SimResponse::brief(404),
    }
}

fn place(world: &World, at: Target, request: &Request, now: Timestamp) -> SimResponse {
    if let Some(redirect) = world.redirect(at) {
        return SimResponse::redirect(redirect);
    }
    if !world.exists(at) {
        return SimResponse::brief(404);
    }
    match at.route {
        Route::SitemapIndex | Route::Sitemap(0) | Route::SitemapFor(_) => {
            SimResponse::new(200, "application/xml", page::sitemap(world, at, now))
        }
        Route::Sitemap(_) => {
            let xml = page::sitemap(world, at, now);
            SimResponse::new(200, "application/gzip", coding::gzip(xml.as_bytes()))
        }
        _ => current(world, at, request, now),
    }
}

/// Returns the answer with the version of a page at `now`, if it has versions.
fn current(world: &World, at: Target, request: &Request, now: Timestamp) -> SimResponse {
    let (history, changes) = (world.change_history(at), world.spec().changes);
    let (Some(history), Some(changes)) = (history, changes) else {
        return page_of(world, at, request, None);
    };
    let version = history.version(now);
    let number = Some(version.number);
    if let Some(status) = version.gone {
        return SimResponse { version: number, ..SimResponse::brief(status) };
    }
    let coding = coding_for(world.kind_at(at), request);
    let validators = history.validators(&version, now, coding.map_or("", Coding::token));
    let evaluated = Evaluated {
        if_none_match: changes.answers_if_none_match,
        if_modified_since: changes.answers_if_modified_since,
    };
    let mut answer = if request.conditions.is_not_modified(&validators, evaluated) {
        let not_modified = SimResponse { status: 304, ..SimResponse::default() };
        let (name, value) = VARY;
        if coding.is_some() { not_modified.with(name, value) } else { not_modified }
    } else {
        page_of(world, at, request, Some(&version))
    };
    answer.headers.extend(validators.headers());
    SimResponse { version: number, ..answer }
}

/// Returns the answer with a version of a page, without validators.
fn page_of(
    world: &World,
    at: Target,
    request: &Request,
    version: Option<&PageVersion>,
) -> SimResponse {
    match at.route {
        Route::Page(page) => ordinary(world, at, (page, version), request),
        _ => {
            let body = page::html_of(world, at, version);
            SimResponse::new(200, "text/html; charset=utf-8", body)
        }
    }
}

fn ordinary(
    world: &World,
    at: Target,
    (page, version): (u32, Option<&PageVersion>),
    request: &Request,
) -> SimResponse {
    let kind = world.kind(at.host.id, page);
    match kind {
        PageKind::Status(code) => return SimResponse::brief(code),
        PageKind::Binary => {
            let n_bytes = world.n_bytes(at.host.id, u64::from(page));
            let h = world.draw(0, &[u64::from(at.host.id), u64::from(page)]);
            let noise = (0..n_bytes as u64).map(|i| (crate::draw::hash(h, &[i]) >> 8) as u8);
            return SimResponse::new(200, "application/octet-stream", noise.collect::<Vec<u8>>());
        }
        _ => {}
    }
    let (body, content_type) = page::in_charset(kind, page::html_of(world, at, version));
    let answer = SimResponse::new(200, content_type, body);
    if let Some(way) = coding_for(kind, request) {
        let body = coding::encode(way, &answer.body).into();
        let (name, value) = VARY;
        return SimResponse { body, ..answer }
            .with("Content-Encoding", way.token())
            .with(name, value);
    }
    match kind {
        PageKind::HeaderNofollow => answer.with("X-Robots-Tag", "noarchive, nofollow"),
        PageKind::LinkHeader => {
            let links = world.links(at);
            let url = links.first().map(|l| world.url(l.target)).unwrap_or_default();
            answer.with("Link", format!("<{url}>; rel=\"next\""))
        }
        _ => answer,
    }
}

/// Returns the content-encoding of a page in the answer to a request.
fn coding_for(kind: PageKind, request: &Request) -> Option<Coding> {
    match kind {
        PageKind::Coded(way) if accepts(&request.accept_encoding, way) => Some(way),
        _ => None,
    }
}

fn accepts(accept_encoding: &str, way: Coding) -> bool {
    let mut tokens =
        accept_encoding.split(',').map(|t| t.split(';').next().unwrap_or_default().trim());
    tokens.any(|t| t.eq_ignore_ascii_case(way.token()) || t == "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Changes;
    use crate::character::Character;
    use crate::history::ChangeHistory;
    use crate::names::HostRef;
    use crate::spec::Spec;

    fn ask(world: &World, host: &str, path: &str) -> SimResponse {
        ask_at(&Responder::new(world), world, host, path)
    }

    fn ask_at(responder: &Responder, world: &World, host: &str, path: &str) -> SimResponse {
        let request = Request {
            host: host.to_owned(),
            path: path.to_owned(),
            accept_encoding: "gzip, br;q=0.5".to_owned(),
            ..Request::default()
        };
        responder.answer(world, &request, Timestamp::from_secs(1_000_000))
    }

    fn header<'a>(answer: &'a SimResponse, name: &str) -> Option<&'a str> {
        answer.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str())
    }

    #[test]
    fn every_link_of_a_varied_web_is_answered_as_the_graph_says() {
        let world = World::new(Spec::demo());
        let responder = Responder::new(&world);
        for id in 0..world.names().len() {
            for page in 0..world.n_pages(id) {
                let at = Target { host: HostRef::new(id), route: Route::Page(page) };
                for link in world.links(at) {
                    let host = world.names().name(link.target.host).to_string();
                    let answer = ask_at(&responder, &world, &host, &link.target.route.to_string());
                    let redirect = world.redirect(link.target);
                    let location = redirect.as_ref().map(|(_, url)| url.as_str());
                    if matches!(world.character(link.target.host.id).manner, Manner::Well) {
                        assert_eq!(header(&answer, "Location"), location);
                        let error = match link.target.route {
                            Route::Page(page) => {
                                matches!(world.kind(link.target.host.id, page), PageKind::Status(_))
                            }
                            _ => false,
                        };
                        assert_eq!(answer.status >= 400, error, "{}", world.url(link.target));
                    }
                }
            }
        }
    }

    #[test]
    fn refusals_end_and_say_when() {
        let slow = |retry_after| Manner::SlowDown { code: 429, retry_after, refusals: 2 };
        let world = World::new(
            Spec::new(1)
                .host("a.test", Character::named("a").manner(slow(RetryAfter::Seconds(7))))
                .host("b.test", Character::named("b").manner(slow(RetryAfter::Date(9)))),
        );
        let responder = Responder::new(&world);
        let now = Timestamp(1_000_000_400_000);
        let get = |host: &str| {
            let request =
                Request { host: host.to_owned(), path: "/".to_owned(), ..Default::default() };
            responder.answer(&world, &request, now)
        };
        let first = get("a.test");
        assert_eq!((first.status, first.retry_after_ms), (429, Some(7_000)));
        let dated = get("b.test");
        assert_eq!(dated.retry_after_ms, Some(8_600 - CLOCKS_DIFFER_MS));
        assert_eq!(header(&dated, "Retry-After"), Some("Mon, 12 Jan 1970 13:46:49 GMT"));
        assert_eq!(get("a.test").status, 429);
        assert_eq!(get("a.test").status, 200);
    }

    #[test]
    fn codings_are_used_when_accepted() {
        let coded = |way| World::new(Spec::new(1).portion(1.0, PageKind::Coded(way)));
        let answer = ask(&coded(Coding::Brotli), "h0.site0.test", "/s1/p1.html");
        assert_eq!(header(&answer, "Content-Encoding"), Some("br"));
        let answer = ask(&coded(Coding::Zstd), "h0.site0.test", "/s1/p1.html");
        assert_eq!(header(&answer, "Content-Encoding"), None);
    }

    const ORIGIN: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn changing(changes: Changes) -> Spec {
        let minute = Duration::from_secs(60);
        let (interval_min, interval_max) = (minute, minute);
        Spec::new(1).changes(Changes { origin_us: ORIGIN.0, interval_min, interval_max, ..changes })
    }

    fn ask_if(world: &World, path: &str, now: Timestamp, fields: &[(&str, &str)]) -> SimResponse {
        let mut conditions = Conditions::default();
        fields.iter().for_each(|(name, value)| conditions.note(name, value));
        let (host, accept_encoding) = ("h0.site0.test".to_owned(), "gzip".to_owned());
        let path = path.to_owned();
        let request = Request { host, path, accept_encoding, conditions, ..Request::default() };
        Responder::new(world).answer(world, &request, now)
    }

    fn history(world: &World, path: &str) -> ChangeHistory {
        let place = Target { host: HostRef::new(0), route: Route::parse(path).unwrap() };
        world.change_history(place).unwrap()
    }

    #[test]
    fn a_page_is_not_modified_until_it_changes() {
        let world = World::new(changing(Changes::default()));
        for path in ["/", "/s1/p1.html", "/nofollowed/0.html"] {
            let first = ask_if(&world, path, ORIGIN, &[]);
            assert_eq!((first.status, first.version), (200, Some(0)));
            let (etag, date) = (header(&first, "ETag"), header(&first, "Last-Modified"));
            let fields = [("If-None-Match", etag.unwrap()), ("If-Modified-Since", date.unwrap())];
            let change = history(&world, path).since(1).unwrap();
            for field in fields {
                let before = ask_if(&world, path, Timestamp(change.0 - 1), &[field]);
                assert_eq!((before.status, before.version), (304, Some(0)), "{field:?}");
                assert!(before.body.is_empty());
                let sent = (header(&before, "ETag"), header(&before, "Last-Modified"));
                assert_eq!((sent, before.headers.len()), ((etag, date), 2));
                let after = ask_if(&world, path, change, &[field]);
                assert_eq!((after.status, after.version), (200, Some(1)), "{field:?}");
                assert_ne!(after.body, first.body);
                assert_ne!(header(&after, "ETag"), etag);
            }
        }
    }

    #[test]
    fn lies_prevent_304_and_a_web_may_ignore_conditions() {
        let fields = |answer: &SimResponse| {
            let value = |name| header(answer, name).unwrap().to_owned();
            [("If-None-Match", value("ETag")), ("If-Modified-Since", value("Last-Modified"))]
        };
        let lies =
            Changes { never: 1.0, etag_lies: 1.0, last_modified_lies: 1.0, ..Changes::default() };
        let deaf = Changes {
            never: 1.0,
            answers_if_none_match: false,
            answers_if_modified_since: false,
            ..Changes::default()
        };
        let honest = Changes { never: 1.0, ..Changes::default() };
        for (changes, status) in [(lies, 200), (deaf, 200), (honest, 304)] {
            let world = World::new(changing(changes));
            let later = ORIGIN + Duration::from_millis(1);
            let first = ask_if(&world, "/", ORIGIN, &[]);
            for (name, value) in fields(&first) {
                let again = ask_if(&world, "/", later, &[(name, &value)]);
                assert_eq!((again.status, again.version), (status, Some(0)), "{name} {changes:?}");
                assert_eq!(again.body == first.body, status == 200);
            }
        }
    }

    #[test]
    fn encoded_pages_have_tags_of_their_own() {
        let coded = changing(Changes::default()).portion(1.0, PageKind::Coded(Coding::Gzip));
        let world = World::new(coded);
        let first = ask_if(&world, "/s1/p1.html", ORIGIN, &[]);
        let etag = header(&first, "ETag").unwrap();
        assert!(etag.ends_with("-gzip\""), "{etag}");
        let again = ask_if(&world, "/s1/p1.html", ORIGIN, &[("If-None-Match", etag)]);
        assert_eq!((again.status, header(&again, "Vary")), (304, Some("Accept-Encoding")));
        assert_eq!(header(&again, "Content-Encoding"), None);
        let plain = etag.replace("-gzip", "");
        let other = ask_if(&world, "/s1/p1.html", ORIGIN, &[("If-None-Match", &plain)]);
        assert_eq!(other.status, 200);
    }

    #[test]
    fn gone_pages_are_gone_for_every_request() {
        let world =
            World::new(changing(Changes { gone_404: 0.5, gone_410: 0.5, ..Changes::default() }));
        let path = "/s2/p9.html";
        let first = ask_if(&world, path, ORIGIN, &[]);
        let etag = header(&first, "ETag").unwrap();
        let (at, status) = history(&world, path).gone().unwrap();
        let number = history(&world, path).version(at).number;
        assert_eq!(ask_if(&world, path, Timestamp(at.0 - 1), &[]).status, 200);
        for fields in [&[][..], &[("If-None-Match", etag)], &[("If-None-Match", "*")]] {
            let gone = ask_if(&world, path, at, fields);
            assert_eq!((gone.status, gone.version), (status, Some(number)));
            assert_eq!((header(&gone, "ETag"), header(&gone, "Last-Modified")), (None, None));
        }
    }

    #[test]
    fn a_web_without_changes_has_no_validators_and_ignores_conditions() {
        let world = World::new(Spec::new(1));
        let fields =
            [("If-None-Match", "*"), ("If-Modified-Since", "Sun, 06 Nov 2094 08:49:37 GMT")];
        for fields in [&fields[..0], &fields[..1], &fields[1..]] {
            let answer = ask_if(&world, "/", ORIGIN, fields);
            assert_eq!((answer.status, answer.version, answer.headers.len()), (200, None, 1));
        }
    }
}
