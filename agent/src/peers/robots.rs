//! A robots.txt that one agent asks for in another's name, on the wire.

use super::PeerError;
use crate::messages::RobotsOutcome;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1;
use crivello_proto::v1::fetch_robots_response::Outcome;

pub(super) fn url_of(text: &str) -> Result<CrawlUrl, PeerError> {
    CrawlUrl::parse(text)
        .map_err(|reason| PeerError::Malformed(format!("a URL: {}", reason.description())))
}

pub(super) fn on_wire(found: &RobotsOutcome) -> v1::FetchRobotsResponse {
    let outcome = match found {
        RobotsOutcome::Rules(rules) => Outcome::Rules(rules.to_bytes().into()),
        RobotsOutcome::Missing => Outcome::Missing(v1::Empty {}),
        RobotsOutcome::Unreachable => Outcome::Unreachable(v1::Empty {}),
        RobotsOutcome::Redirect(url) => Outcome::Redirect(url.as_str().to_owned()),
    };
    v1::FetchRobotsResponse { outcome: Some(outcome) }
}

/// `None` where another epoch is in force.
pub(super) fn found_of(
    response: v1::FetchRobotsResponse,
) -> Result<Option<RobotsOutcome>, PeerError> {
    Ok(Some(match response.outcome {
        Some(Outcome::Rules(bytes)) => {
            let rules = Rules::from_bytes(&bytes);
            let rules = rules.map_err(|error| PeerError::Malformed(format!("rules: {error}")))?;
            RobotsOutcome::Rules(rules.shared())
        }
        Some(Outcome::Missing(v1::Empty {})) => RobotsOutcome::Missing,
        Some(Outcome::Unreachable(v1::Empty {})) => RobotsOutcome::Unreachable,
        Some(Outcome::Redirect(url)) => RobotsOutcome::Redirect(url_of(&url)?),
        Some(Outcome::ViewMismatch(_)) => return Ok(None),
        None => return Err(PeerError::Malformed("an answer with nothing in it".to_owned())),
    }))
}
