//! `crivello accept-coordinator-key`: pins another key of the coordinator in an agent's directory.

use crate::args::cluster::AcceptKeyArgs;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_agent::cluster::{Membership, coordinator_key};
use crivello_proto::signing::CoordinatorKey;

/// Replaces the pinned key. A running agent uses it once the coordinator sends it a view.
///
/// # Errors
/// Returns a usage error if the key is malformed, or if the directory is not that of an agent that
/// has joined.
pub fn run(args: &AcceptKeyArgs) -> Result<Exit, CliError> {
    let key = args.key.parse::<CoordinatorKey>();
    let key = key.map_err(|why| usage!("{} {why}", args.key.escape_debug()))?;
    let dir = &args.data;
    let (_, crawl_id) = Membership::given_in(dir).ok_or_else(|| {
        usage!("--data {}: not the directory of an agent that has joined a crawl", dir.display())
    })?;
    coordinator_key::accept(dir, &crawl_id, key)
        .map_err(|error| usage!("--data {}: {error}", dir.display()))?;
    screen::print_line(&format!(
        "the agent in {} obeys the coordinator with the key {key} from now on",
        dir.display()
    ));
    Ok(Exit::Finished)
}
