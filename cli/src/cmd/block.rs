//! `crivello block` and `crivello unblock`: stops and resumes visits to hosts.

use crate::args::cluster::BlockArgs;
use crate::cluster::edits::{SettingsClient, edit};
use crate::exit::{CliError, Exit};
use crate::format::plural;
use crate::screen;
use crivello_common::config::BlockEntry;
use crivello_common::time::Clock;
use crivello_proto::agents::{Client, Scope};
use crivello_proto::v1::{self, setting_edit::Change};
use std::time::Duration;
use tokio::time::sleep;

const KEY: &str = "links.blocked";
/// Maximum time to wait until all URLs are dropped.
const DROP_TIMEOUT: Duration = Duration::from_secs(60);
/// Minimum time to watch, even if all agents report that they are done.
const WATCH_MIN: Duration = Duration::from_millis(500);
/// Interval between two queries.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Blocks, waits until the queued URLs are dropped, and prints their number.
///
/// # Errors
/// Fails if an argument is not a host, domain or network, or the coordinator cannot be reached.
pub async fn block(args: &BlockArgs) -> Result<Exit, CliError> {
    let blocks = read(&args.what)?;
    let edits = blocks.iter().map(|block| edit(KEY, Change::Add(block.clone()))).collect();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let (settings, _) = client.edit(edits).await?;
    let exit = client.wait(settings.revision).await?;
    let clock = Clock::start();
    let (began, mut before) = (clock.now(), 0);
    loop {
        // URLs that the workbench drops because of an address reach the database later.
        sleep(POLL_INTERVAL).await;
        let sum = query(&mut client, &blocks).await?;
        let is_over = clock.now().since(began) >= DROP_TIMEOUT;
        let is_settled = sum.is_done && clock.now().since(began) >= WATCH_MIN && sum.urls == before;
        before = sum.urls;
        if is_settled || is_over || !sum.unreachable.is_empty() {
            return Ok(print_dropped(&sum, exit));
        }
    }
}

/// Unblocks hosts.
///
/// # Errors
/// Same as [`block`].
pub async fn unblock(args: &BlockArgs) -> Result<Exit, CliError> {
    let blocks = read(&args.what)?.into_iter();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let edits = blocks.map(|block| edit(KEY, Change::Remove(block))).collect();
    let (settings, _) = client.edit(edits).await?;
    client.wait(settings.revision).await
}

fn read(what: &[String]) -> Result<Vec<String>, CliError> {
    let blocks = what.iter().map(|text| text.parse::<BlockEntry>().map_err(CliError::usage));
    blocks.map(|block| block.map(|block| block.to_string())).collect()
}

/// Sum of the URLs dropped by all agents.
#[derive(Default)]
struct Dropped {
    is_done: bool,
    hosts: u64,
    urls: u64,
    unreachable: Vec<String>,
}

async fn query(client: &mut SettingsClient, blocks: &[String]) -> Result<Dropped, CliError> {
    let mut sum = Dropped { is_done: true, ..Dropped::default() };
    let call = async |mut client: Client| client.blocks(v1::BlocksRequest {}).await;
    for (agent, answer) in client.ask_agents(Scope::Read, None, call).await? {
        match answer {
            Ok(answer) => {
                for block in answer.blocks.iter().filter(|block| blocks.contains(&block.entry)) {
                    sum.is_done &= block.done;
                    sum.hosts += block.hosts;
                    sum.urls += block.urls;
                }
            }
            Err(why) => sum.unreachable.push(format!("{} {why}", agent.name)),
        }
    }
    Ok(sum)
}

fn print_dropped(sum: &Dropped, exit: Exit) -> Exit {
    let (hosts, urls) = (plural(sum.hosts, "host"), plural(sum.urls, "URL"));
    let so_far = if sum.is_done { "" } else { " so far; the agents continue to drop URLs" };
    screen::print_line(&format!("dropped {urls} of {hosts}{so_far}"));
    if sum.unreachable.is_empty() {
        return if sum.is_done { exit } else { Exit::NotYet };
    }
    screen::print_line(&format!("not counted: {}", sum.unreachable.join("; ")));
    Exit::NotYet
}
