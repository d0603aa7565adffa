//! Exact duplicates among responses: the earlier capture to which a revisit refers.

use super::duplicates::{Claim, Duplicates, First};
use crate::messages::{FetchOutcome, Fetched, PayloadLookUp, PeerCapture, Response};
use crate::storage::values::ContentRow;
use crivello_common::config::Store;
use crivello_common::hash::ContentDigest;
use crivello_common::identity::KeyedHasher;
use crivello_common::view::AgentId;
use std::sync::Arc;

/// Finder of the earlier captures of payloads.
#[derive(Debug)]
pub(super) struct OriginalFinder {
    hasher: KeyedHasher,
    duplicates: Arc<Duplicates>,
    /// True if exact duplicates become revisits.
    is_on: bool,
}

/// Identity of a payload: its digest, and its earlier capture or the claim to be the first.
#[derive(Debug, Default)]
pub(super) struct Identity {
    /// Its digest, if duplicates of it are recognized.
    pub(super) digest: Option<ContentDigest>,
    /// The page that was archived with it before.
    pub(super) original: Option<ContentRow>,
    /// True if that is in another archive: of an earlier crawl, or of another agent.
    pub(super) is_elsewhere: bool,
    /// Set if the page is the first with it.
    pub(super) first: Option<First>,
}

impl OriginalFinder {
    pub(super) const fn new(
        hasher: KeyedHasher,
        duplicates: Arc<Duplicates>,
        store: &Store,
    ) -> Self {
        Self { hasher, duplicates, is_on: store.revisits }
    }

    /// Looks up the payload of a result among those of other agents, if that was not done. Returns the agents that are to
    /// be asked for it.
    pub(super) fn look_up(&self, fetched: &mut Fetched) -> Vec<AgentId> {
        let Some(peers) = self.duplicates.peers().filter(|_| fetched.payload.is_none()) else {
            return Vec::new();
        };
        let response = match &fetched.outcome {
            FetchOutcome::Response(response) if self.is_identified(fetched, response) => response,
            _ => return Vec::new(),
        };
        let digest = self.hasher.content(&response.body);
        fetched.payload = Some(PayloadLookUp { digest, original: None });
        let holders = peers.holders(&digest);
        match holders.is_empty() || self.duplicates.has(&digest).unwrap_or(true) {
            true => Vec::new(),
            false => holders,
        }
    }

    /// Returns true if duplicates of a response are recognized.
    fn is_identified(&self, fetched: &Fetched, response: &Response) -> bool {
        self.is_on
            && response.status == 200
            && response.truncated.is_none()
            && !response.body.is_empty()
            && fetched.row.is_some()
    }

    /// Identifies the payload of a response.
    pub(super) fn identify(&self, fetched: &Fetched, response: &Response) -> Identity {
        if !self.is_identified(fetched, response) {
            return Identity::default();
        }
        let known = fetched.payload.as_ref().map(|payload| payload.digest);
        let digest = known.unwrap_or_else(|| self.hasher.content(&response.body));
        match self.duplicates.known(&response.body) {
            Ok(None) => {}
            Ok(original) => {
                return Identity {
                    digest: Some(digest),
                    original,
                    is_elsewhere: true,
                    first: None,
                };
            }
            Err(error) => tracing::warn!(%error, "cannot check a page for known payloads"),
        }
        match self.duplicates.claim(digest, fetched.at, fetched.url.as_str()) {
            Ok(Claim::First(first)) => match self.peer_capture(fetched) {
                Some(PeerCapture { row, .. }) => {
                    self.duplicates.give_up(&digest, first);
                    let original = Some(row.clone());
                    Identity { digest: Some(digest), original, is_elsewhere: true, first: None }
                }
                None => {
                    Identity { digest: Some(digest), first: Some(first), ..Identity::default() }
                }
            },
            // Another revisit of a record that is not there, or not for long, would be worth nothing.
            Ok(Claim::Duplicate(of)) if self.is_lost_capture(fetched, &of) => Identity::default(),
            Ok(Claim::Duplicate(of)) => {
                Identity { digest: Some(digest), original: Some(of), ..Identity::default() }
            }
            Ok(Claim::Unreferable) => Identity::default(),
            Err(error) => {
                tracing::warn!(%error, "cannot check a page for duplicates; archiving it in full");
                Identity::default()
            }
        }
    }

    /// Returns the capture that another agent has, if that is still alive: the archive of a dead one may be lost.
    fn peer_capture<'a>(&self, fetched: &'a Fetched) -> Option<&'a PeerCapture> {
        let capture = fetched.payload.as_ref()?.original.as_ref()?;
        self.duplicates.peers()?.is_alive(capture.by).then_some(capture)
    }

    /// Gives up the claim of a page that is not archived.
    pub(super) fn give_up(&self, identity: Identity) {
        if let (Some(digest), Some(first)) = (identity.digest, identity.first) {
            self.duplicates.give_up(&digest, first);
        }
    }

    /// Returns true if the original of a duplicate is the last capture of the page itself, to which no new
    /// revisit may refer.
    fn is_lost_capture(&self, fetched: &Fetched, original: &ContentRow) -> bool {
        let revisit = fetched.row.as_ref().and_then(|row| row.revisit.as_ref());
        let capture = revisit.and_then(|revisit| revisit.capture);
        let oldest = self.duplicates.oldest_original();
        capture.is_some_and(|last| last.at == original.at && !oldest.permits_capture(&last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{Finder, HandedOut, LinkKind, QueueKey, Queued};
    use crate::process::payloads::PeerPayloads;
    use crate::storage::{Batch, Database, Family};
    use crivello_common::config::State;
    use crivello_common::time::Timestamp;
    use crivello_common::url::CrawlUrl;
    use crivello_filters::GolombSet;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    const PEER: AgentId = AgentId(3);

    struct Fixture {
        finder: OriginalFinder,
        peers: Arc<PeerPayloads>,
        disk: Arc<Database>,
        _dir: tempfile::TempDir,
    }

    /// Another agent is alive.
    fn fixture() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(Database::open(dir.path(), true, &State::default()).unwrap());
        let peers = Arc::new(PeerPayloads::new(1 << 20));
        peers.set_living(&[PEER]);
        let duplicates = Duplicates::new(disk.clone()).with_peers(Some(peers.clone()));
        let hasher = KeyedHasher::with_public_key();
        let finder = OriginalFinder::new(hasher, Arc::new(duplicates), &Store::default());
        Fixture { finder, peers, disk, _dir: dir }
    }

    fn digest(body: &str) -> ContentDigest {
        KeyedHasher::with_public_key().content(body.as_bytes())
    }

    fn response(status: u16, body: &'static str) -> Response {
        Response {
            status,
            version: http::Version::HTTP_11,
            headers: http::HeaderMap::new(),
            request_head: bytes::Bytes::new(),
            address: (Ipv4Addr::LOCALHOST, 80).into(),
            certificate: None,
            body: body.into(),
            truncated: None,
            reservation: None,
        }
    }

    fn fetched(status: u16, body: &'static str) -> Fetched {
        let url = CrawlUrl::parse("http://b.test/copy").unwrap();
        let hasher = KeyedHasher::with_public_key();
        Fetched {
            host: hasher.host_key(url.host()),
            name: url.host().into(),
            row: Some(Queued {
                queue_key: QueueKey::default(),
                hash: hasher.url(&url),
                origin: url.origin(),
                path: url.path_and_query().into(),
                depth: 1,
                redirects: 0,
                attempts: 0,
                revisit: None,
                kind: LinkKind::Page,
                finder: Finder::OWN,
            }),
            url,
            address: Ipv4Addr::LOCALHOST.into(),
            at: Timestamp::from_secs(90),
            took: Duration::ZERO,
            outcome: FetchOutcome::Response(Box::new(response(status, body))),
            handed_out: HandedOut::default(),
            signals: None,
            traced: None,
            payload: None,
        }
    }

    fn row(url: &str) -> ContentRow {
        ContentRow { at: Timestamp::from_secs(7), url: url.into() }
    }

    impl Fixture {
        /// Gives the other agent a set with these payloads.
        fn publish(&self, bodies: &[&str]) {
            let number = |body: &&str| {
                u64::from_be_bytes(*digest(body).first_chunk().expect("8 bytes")) >> 24
            };
            let mut numbers: Vec<u64> = bodies.iter().map(number).collect();
            numbers.sort_unstable();
            let set = GolombSet::of_numbers(&numbers, 1 << 40, 1 << 38).unwrap();
            self.peers.update(PEER, &[], &[(1, Arc::new(set))]);
        }

        /// Writes the row of an own capture.
        fn archive(&self, body: &str, url: &str) {
            let mut batch = Batch::default();
            batch.put(Family::Content, &digest(body), &row(url).encode());
            self.disk.commit(&batch).unwrap();
        }

        fn identify(&self, fetched: &Fetched) -> Identity {
            let FetchOutcome::Response(response) = &fetched.outcome else { panic!("no response") };
            self.finder.identify(fetched, response)
        }

        /// Returns a page for which the other agent has answered.
        fn answered(&self, body: &'static str) -> Fetched {
            let mut fetched = fetched(200, body);
            assert_eq!(self.finder.look_up(&mut fetched), [PEER]);
            let original = Some(PeerCapture { by: PEER, row: row("http://a.test/") });
            fetched.payload = Some(PayloadLookUp { digest: digest(body), original });
            assert!(self.finder.look_up(&mut fetched).is_empty(), "it is asked once");
            fetched
        }
    }

    #[test]
    fn agents_are_asked_only_for_whole_payloads_that_are_not_here() {
        let fixture = fixture();
        fixture.publish(&["theirs", "ours", "theirs too"]);
        let asked = |mut of: Fetched| {
            let holders = fixture.finder.look_up(&mut of);
            (holders.len(), of.payload.is_some())
        };
        assert_eq!(asked(fetched(200, "theirs")), (1, true));
        assert_eq!(asked(fetched(200, "new")), (0, true));
        assert_eq!(asked(fetched(404, "theirs")), (0, false));
        assert_eq!(asked(fetched(200, "")), (0, false));
        assert_eq!(asked(Fetched { row: None, ..fetched(200, "theirs") }), (0, false));
        fixture.archive("ours", "http://c.test/");
        assert_eq!(asked(fetched(200, "ours")), (0, true));
        // Another parser has claimed it.
        let first = fixture.identify(&fetched(200, "theirs too")).first;
        assert!(first.is_some());
        assert_eq!(asked(fetched(200, "theirs too")), (0, true));
    }

    #[test]
    fn a_capture_of_another_agent_is_an_original_while_that_is_alive() {
        let fixture = fixture();
        fixture.publish(&["text"]);
        let answered = fixture.answered("text");
        let identity = fixture.identify(&answered);
        assert_eq!(identity.original, Some(row("http://a.test/")));
        assert!(identity.is_elsewhere && identity.first.is_none());
        // Nobody waits for it: it gave up its claim.
        let own = fixture.identify(&fetched(200, "text"));
        assert!(own.original.is_none() && own.first.is_some());
        fixture.finder.give_up(own);
        fixture.peers.set_living(&[]);
        let late = fixture.identify(&answered);
        assert!(late.original.is_none() && late.first.is_some(), "its agent is gone");
    }

    #[test]
    fn an_own_capture_comes_before_that_of_another_agent() {
        let fixture = fixture();
        fixture.publish(&["text"]);
        let answered = fixture.answered("text");
        fixture.archive("text", "http://c.test/");
        let identity = fixture.identify(&answered);
        assert_eq!(identity.original, Some(row("http://c.test/")));
        assert!(!identity.is_elsewhere);
    }
}
