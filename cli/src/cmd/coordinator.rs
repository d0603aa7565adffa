//! `crivello coordinator`: keeps the member list of a crawl by many agents.

use crate::args::cluster::CoordinatorArgs;
use crate::cluster::{Papers, check_listen, papers};
use crate::dashboard;
use crate::exit::Trouble;
use crate::http::Meters;
use crate::plan::settings_in;
use crate::{screen, signals};
use crivello_common::view::RunState;
use crivello_coordinator::{Coordinator, Listen};

/// Serves until a signal comes.
///
/// # Errors
/// Usage errors before anything is begun; breakdowns after.
pub async fn run(typed: CoordinatorArgs) -> Result<(), Trouble> {
    let at = typed.listen;
    let papers = papers(&typed.tls, &typed.token)?;
    check_listen(at, &papers, typed.insecure)?;
    let Papers { tls, token } = papers;
    let meters = Meters::default();
    let door = dashboard::open(&typed.http, token.clone(), typed.insecure, &meters).await?;
    let (settings, given) = settings_in(("--data", &typed.data), &typed.settings)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let ended = signals::first();
    let listen = Listen { at, tls, token };
    let mut coordinator = Coordinator::start_given(&typed.data, &settings, given, listen).await?;
    meters.add_coordinator(coordinator.meter().clone());
    screen::say(&format!(
        "crawl {} {} in {}; coordinator listening on {scheme}://{}",
        coordinator.crawl_id(),
        if coordinator.resumed() { "resumed" } else { "begun" },
        typed.data.display(),
        coordinator.address()
    ));
    if let Some(door) = door {
        screen::say(&dashboard::invitation(&door));
        coordinator.show(door);
    }
    match coordinator.run() {
        RunState::Running => {}
        RunState::Paused => screen::say("the crawl is paused: `crivello resume` goes on"),
        RunState::Stopping => screen::say("the crawl was stopped: `crivello resume` goes on"),
    }
    tokio::select! {
        signal = ended => signal?,
        broken = coordinator.broken() => return Err(broken.into()),
    }
    coordinator.stop().await?;
    screen::say("coordinator ended; the member list is saved, and agents go on without it");
    Ok(())
}
