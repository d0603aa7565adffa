//! Batches of URLs, as they lie in the outbox.

use super::PeerError;
use crate::flow::{Found, LinkKind};
use crivello_common::config::AssignBy;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use crivello_proto::v1;
use prost::Message as _;

/// The bytes of a batch.
#[must_use]
pub fn encode(epoch: u64, sender: AgentId, urls: &[Found]) -> Vec<u8> {
    let urls = urls.iter().map(|found| v1::FoundUrl {
        url: found.url.as_str().to_owned(),
        depth: u32::from(found.depth),
        kind: match found.kind {
            LinkKind::Page => v1::LinkKind::Page,
            LinkKind::Sitemap => v1::LinkKind::Sitemap,
        }
        .into(),
    });
    v1::UrlBatch { epoch, sender: sender.0.into(), urls: urls.collect() }.encode_to_vec()
}

/// The inverse of [`encode`]: the view's number, the sender, the URLs.
///
/// # Errors
/// [`PeerError`] when anything in it is not as it should be.
pub fn decode(bytes: &[u8], by: AssignBy) -> Result<(u64, AgentId, Vec<Found>), PeerError> {
    let batch =
        v1::UrlBatch::decode(bytes).map_err(|error| PeerError::Malformed(error.to_string()))?;
    let urls = batch.urls.into_iter().map(|found| {
        let url = CrawlUrl::parse(&found.url)
            .ok()
            .filter(|url| url.as_str() == found.url)
            .ok_or_else(|| PeerError::Url(found.url.clone()))?;
        let kind = match v1::LinkKind::try_from(found.kind) {
            Ok(v1::LinkKind::Sitemap) => LinkKind::Sitemap,
            _ => LinkKind::Page,
        };
        let depth = u16::try_from(found.depth).unwrap_or(u16::MAX);
        Ok(Found { host: url.host_key(by), hash: url.hash(), url, depth, kind })
    });
    let sender = u32::try_from(batch.sender)
        .map_err(|_| PeerError::Malformed(format!("no agent has the id {}", batch.sender)))?;
    Ok((batch.epoch, AgentId(sender), urls.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(url: &str, depth: u16) -> Found {
        let url = CrawlUrl::parse(url).unwrap();
        let host = url.host_key(AssignBy::Domain);
        Found { host, hash: url.hash(), url, depth, kind: LinkKind::Sitemap }
    }

    #[test]
    fn a_batch_survives_the_wire() {
        let urls = [found("http://a.example.com/x?y=1", 3), found("https://b.org:8443/", 0)];
        let bytes = encode(7, AgentId(2), &urls);
        assert_eq!(decode(&bytes, AssignBy::Domain), Ok((7, AgentId(2), urls.to_vec())));
    }

    #[test]
    fn a_url_that_is_not_in_normal_form_is_refused() {
        for url in ["ftp://a/", "http://A.example/", "http://a.example/#f", "", "\u{0}"] {
            let found = v1::FoundUrl { url: url.to_owned(), ..v1::FoundUrl::default() };
            let batch = v1::UrlBatch { urls: vec![found], ..v1::UrlBatch::default() };
            let refused = decode(&batch.encode_to_vec(), AssignBy::Domain);
            assert_eq!(refused, Err(PeerError::Url(url.to_owned())));
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_quietly(bytes: Vec<u8>) {
            let _ = decode(&bytes, AssignBy::Domain);
        }
    }
}
