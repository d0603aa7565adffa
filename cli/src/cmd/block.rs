//! `crivello block` and `crivello unblock`: hosts that are not visited, or are again.

use crate::args::steer::BlockArgs;
use crate::cluster::edits::{Steer, add, remove};
use crate::exit::{Exit, Trouble};
use crate::{human, screen};
use crivello_common::config::Block;
use crivello_common::time::Clock;
use crivello_proto::v1;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const KEY: &str = "links.blocked";
/// For one agent's answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// For everything to be dropped.
const DROP_PATIENCE: Duration = Duration::from_secs(60);
/// Looked at for so long at least.
const QUIET: Duration = Duration::from_millis(500);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Blocks, waits until what was queued is dropped, and says how much it was.
///
/// # Errors
/// What is no host, domain or network; when the coordinator cannot be reached.
pub async fn block(typed: &BlockArgs) -> Result<Exit, Trouble> {
    let blocks = read(&typed.what)?;
    let edits = blocks.iter().map(|block| add(KEY, block)).collect();
    let mut steer = Steer::at(&typed.coordinator).await?;
    let answer = steer.edit(edits).await?;
    let exit = steer.wait(answer.revision()).await?;
    let clock = Clock::start();
    let (began, mut before) = (clock.now(), 0);
    loop {
        // What a workbench drops because of its address is on its way to the ledger.
        sleep(PAUSE).await;
        let sum = ask(&mut steer, &blocks).await?;
        let is_over = clock.now().since(began) >= DROP_PATIENCE;
        let is_quiet = sum.is_done && clock.now().since(began) >= QUIET && sum.urls == before;
        before = sum.urls;
        if is_quiet || is_over || !sum.silent.is_empty() {
            return Ok(tell(&sum, exit));
        }
    }
}

/// Takes blocks back.
///
/// # Errors
/// As of [`block`].
pub async fn unblock(typed: &BlockArgs) -> Result<Exit, Trouble> {
    let blocks = read(&typed.what)?;
    let edits = blocks.iter().map(|block| remove(KEY, block)).collect();
    let mut steer = Steer::at(&typed.coordinator).await?;
    let answer = steer.edit(edits).await?;
    steer.wait(answer.revision()).await
}

fn read(what: &[String]) -> Result<Vec<String>, Trouble> {
    let read = |text: &String| match text.parse::<Block>() {
        Ok(block) => Ok(block.to_string()),
        Err(why) => Err(Trouble::usage(why)),
    };
    what.iter().map(read).collect()
}

/// What all agents have dropped.
#[derive(Default)]
struct Sum {
    is_done: bool,
    hosts: u64,
    urls: u64,
    silent: Vec<String>,
}

async fn ask(steer: &mut Steer, blocks: &[String]) -> Result<Sum, Trouble> {
    let mut sum = Sum { is_done: true, ..Sum::default() };
    for (name, _, client) in steer.agents().await? {
        let asked = async {
            let mut client = client.map_err(|why| format!("{name}: {why}"))?;
            let answer = timeout(PATIENCE, client.blocks(v1::BlocksRequest {})).await;
            let answer = answer.map_err(|_| format!("{name} does not answer"))?;
            answer.map_err(|status| format!("{name}: {}", status.message()))
        };
        match asked.await {
            Ok(answer) => {
                for block in answer.into_inner().blocks {
                    if blocks.contains(&block.what) {
                        sum.is_done &= block.done;
                        sum.hosts += block.hosts;
                        sum.urls += block.urls;
                    }
                }
            }
            Err(why) => sum.silent.push(why),
        }
    }
    Ok(sum)
}

fn tell(sum: &Sum, exit: Exit) -> Exit {
    let hosts = if sum.hosts == 1 {
        "1 host".to_owned()
    } else {
        format!("{} hosts", human::count(sum.hosts))
    };
    let urls =
        if sum.urls == 1 { "1 URL".to_owned() } else { format!("{} URLs", human::count(sum.urls)) };
    let so_far = if sum.is_done { "" } else { " so far; the rest goes on by itself" };
    screen::say(&format!("dropped {urls} of {hosts}{so_far}"));
    if sum.silent.is_empty() {
        return if sum.is_done { exit } else { Exit::NotYet };
    }
    screen::say(&format!("not counted: {}", sum.silent.join("; ")));
    Exit::NotYet
}
