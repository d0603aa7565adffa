//! A robots.txt that one agent fetches for another, on the wire.

use super::envelope::PeerError;
use crate::messages::RobotsOutcome;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1;
use crivello_proto::v1::fetch_robots_response::Outcome;

pub(super) fn parse_url(text: &str) -> Result<CrawlUrl, PeerError> {
    CrawlUrl::parse(text).map_err(|reason| PeerError(format!("a URL: {}", reason.description())))
}

pub(super) fn to_wire(found: &RobotsOutcome) -> v1::FetchRobotsResponse {
    let outcome = match found {
        RobotsOutcome::Rules(rules) => Outcome::Rules(rules.to_bytes().into()),
        RobotsOutcome::Missing => Outcome::Missing(v1::Empty {}),
        RobotsOutcome::Unreachable => Outcome::Unreachable(v1::Empty {}),
        RobotsOutcome::Redirect(url) => Outcome::Redirect(url.as_str().to_owned()),
    };
    v1::FetchRobotsResponse { outcome: Some(outcome) }
}

/// Returns the outcome; `None` if the other agent is in another epoch.
pub(super) fn from_wire(
    response: v1::FetchRobotsResponse,
) -> Result<Option<RobotsOutcome>, PeerError> {
    Ok(Some(match response.outcome {
        Some(Outcome::Rules(bytes)) => {
            let rules = Rules::from_bytes(&bytes);
            let rules = rules.map_err(|error| PeerError(format!("rules: {error}")))?;
            RobotsOutcome::Rules(rules.shared())
        }
        Some(Outcome::Missing(v1::Empty {})) => RobotsOutcome::Missing,
        Some(Outcome::Unreachable(v1::Empty {})) => RobotsOutcome::Unreachable,
        Some(Outcome::Redirect(url)) => RobotsOutcome::Redirect(parse_url(&url)?),
        Some(Outcome::ViewMismatch(_)) => return Ok(None),
        None => return Err(PeerError("an empty response".to_owned())),
    }))
}
