//! A robots.txt that one agent asks for in another's name, on the wire.

use super::PeerError;
use crate::messages::RobotsOutcome;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1;
use crivello_proto::v1::robots_response::Verdict;

pub(super) fn url_of(text: &str) -> Result<CrawlUrl, PeerError> {
    CrawlUrl::parse(text)
        .map_err(|reason| PeerError::Malformed(format!("a URL: {}", reason.meaning())))
}

pub(super) fn on_wire(found: &RobotsOutcome) -> v1::RobotsResponse {
    let verdict = match found {
        RobotsOutcome::Rules(rules) => Verdict::Rules(rules.to_bytes().into()),
        RobotsOutcome::Missing => Verdict::Missing(v1::Nothing {}),
        RobotsOutcome::Unreachable => Verdict::Unreachable(v1::Nothing {}),
        RobotsOutcome::Redirect(url) => Verdict::Redirect(url.as_str().to_owned()),
    };
    v1::RobotsResponse { verdict: Some(verdict) }
}

/// `None` where another epoch is in force.
pub(super) fn found_of(response: v1::RobotsResponse) -> Result<Option<RobotsOutcome>, PeerError> {
    Ok(Some(match response.verdict {
        Some(Verdict::Rules(bytes)) => {
            let rules = Rules::from_bytes(&bytes);
            let rules = rules.map_err(|error| PeerError::Malformed(format!("rules: {error}")))?;
            RobotsOutcome::Rules(rules.shared())
        }
        Some(Verdict::Missing(v1::Nothing {})) => RobotsOutcome::Missing,
        Some(Verdict::Unreachable(v1::Nothing {})) => RobotsOutcome::Unreachable,
        Some(Verdict::Redirect(url)) => RobotsOutcome::Redirect(url_of(&url)?),
        Some(Verdict::Refused(_)) => return Ok(None),
        None => return Err(PeerError::Malformed("an answer with nothing in it".to_owned())),
    }))
}
