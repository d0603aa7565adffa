//! `crivello block` and `crivello unblock`: stops and resumes visits to hosts.

use crate::args::cluster::BlockArgs;
use crate::cluster::edits::{SettingsClient, add, remove};
use crate::exit::{CliError, Exit};
use crate::{format, screen};
use crivello_common::config::BlockEntry;
use crivello_common::time::Clock;
use crivello_proto::v1;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const KEY: &str = "links.blocked";
/// Maximum time for an agent's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
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
    let edits = blocks.iter().map(|block| add(KEY, block)).collect();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let answer = client.edit(edits).await?;
    let exit = client.wait(answer.revision()).await?;
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
    let blocks = read(&args.what)?;
    let edits = blocks.iter().map(|block| remove(KEY, block)).collect();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let answer = client.edit(edits).await?;
    client.wait(answer.revision()).await
}

fn read(what: &[String]) -> Result<Vec<String>, CliError> {
    let read = |text: &String| match text.parse::<BlockEntry>() {
        Ok(block) => Ok(block.to_string()),
        Err(why) => Err(CliError::usage(why)),
    };
    what.iter().map(read).collect()
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
    for (name, _, client) in client.agents().await? {
        let answer = async {
            let mut client = client.map_err(|why| format!("{name}: {why}"))?;
            let answer = timeout(ANSWER_TIMEOUT, client.blocks(v1::BlocksRequest {})).await;
            let answer = answer.map_err(|_| format!("{name} does not answer"))?;
            answer.map_err(|status| format!("{name}: {}", status.message()))
        };
        match answer.await {
            Ok(answer) => {
                for block in answer.into_inner().blocks {
                    if blocks.contains(&block.entry) {
                        sum.is_done &= block.done;
                        sum.hosts += block.hosts;
                        sum.urls += block.urls;
                    }
                }
            }
            Err(why) => sum.unreachable.push(why),
        }
    }
    Ok(sum)
}

fn print_dropped(sum: &Dropped, exit: Exit) -> Exit {
    let hosts = if sum.hosts == 1 {
        "1 host".to_owned()
    } else {
        format!("{} hosts", format::count(sum.hosts))
    };
    let urls = if sum.urls == 1 {
        "1 URL".to_owned()
    } else {
        format!("{} URLs", format::count(sum.urls))
    };
    let so_far = if sum.is_done { "" } else { " so far; the agents continue to drop URLs" };
    screen::print_line(&format!("dropped {urls} of {hosts}{so_far}"));
    if sum.unreachable.is_empty() {
        return if sum.is_done { exit } else { Exit::NotYet };
    }
    screen::print_line(&format!("not counted: {}", sum.unreachable.join("; ")));
    Exit::NotYet
}
