//! `crivello coordinator`: keeps the member list of a crawl by many agents.

use crate::args::cluster::CoordinatorArgs;
use crate::cluster::{check_listen, tls};
use crate::dashboard;
use crate::exit::Trouble;
use crate::plan::settings_in;
use crate::{screen, signals};
use crivello_common::runtime::Token;
use crivello_common::view::RunState;
use crivello_coordinator::{Coordinator, Listen};

/// Serves until a signal comes.
///
/// # Errors
/// Usage errors before anything is begun; breakdowns after.
pub async fn run(typed: CoordinatorArgs) -> Result<(), Trouble> {
    let at = typed.listen;
    let tls = tls(&typed.tls)?;
    check_listen(at, tls.as_ref(), typed.insecure)?;
    // A variable of the environment that is set to nothing says nothing.
    let file = typed.token.token_file.as_ref().filter(|file| !file.as_os_str().is_empty());
    let token = file.map(|file| Token::load(file)).transpose().map_err(Trouble::usage)?;
    let door = dashboard::open(&typed.http, token, typed.insecure).await?;
    let (settings, _) = settings_in(("--data", &typed.data), &typed.settings)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let ended = signals::first();
    let mut coordinator = Coordinator::start(&typed.data, &settings, Listen { at, tls }).await?;
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
