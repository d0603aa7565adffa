//! `crivello coordinator`: runs the coordinator of a crawl.

use crate::args::cluster::CoordinatorArgs;
use crate::cluster::{Credentials, check_listen, node_auth, secret_in};
use crate::dashboard;
use crate::exit::{CliError, Exit, usage};
use crate::http::Meters;
use crate::plan::coordinator_settings;
use crate::{screen, signals};
use crivello_common::view::RunState;
use crivello_coordinator::{Coordinator, Listen};

/// Runs until a signal arrives.
///
/// # Errors
/// Returns usage errors before anything is started; internal errors afterwards.
pub async fn run(args: CoordinatorArgs) -> Result<Exit, CliError> {
    let at = args.listen;
    // The parser requires it, unless there is a subcommand.
    let data = args.data.ok_or_else(|| usage!("give --data DIR"))?;
    let auth = node_auth(&args.node)?;
    let token = secret_in(args.token.token_file.as_deref())?;
    check_listen(at, &auth, Some(token.is_some()), args.insecure)?;
    let meters = Meters::default();
    let dashboard = dashboard::open(&args.http, token.clone(), args.insecure, &meters).await?;
    let (settings, given) = coordinator_settings(&data, &args.settings)?;
    let scheme = if auth.tls.is_some() { "https" } else { "http" };
    let ended = signals::first();
    let credentials = Credentials { tls: auth.tls.clone(), token: None };
    let listen = Listen { at, auth, token };
    let mut coordinator = Coordinator::start(&data, &settings, given, listen).await?;
    meters.add_coordinator(coordinator.meter().clone());
    screen::print_line(&format!(
        "crawl {} {} in {}; coordinator listening on {scheme}://{}",
        coordinator.crawl_id(),
        if coordinator.resumed() { "resumed" } else { "started" },
        data.display(),
        coordinator.address()
    ));
    let serving = dashboard.map(|dashboard| {
        screen::print_line(&dashboard::urls(&dashboard));
        let client = coordinator.local_client();
        dashboard.serve(client.clone(), credentials.agent_clients(client))
    });
    match coordinator.run() {
        RunState::Running => {}
        RunState::Paused => screen::print_line("the crawl is paused: `crivello resume` resumes it"),
        RunState::Stopping => {
            screen::print_line("the crawl was stopped: `crivello resume` resumes it");
        }
    }
    tokio::select! {
        signal = ended => signal?,
        broken = coordinator.broken() => return Err(broken.into()),
    }
    drop(serving);
    coordinator.stop().await?;
    screen::print_line(
        "coordinator stopped; the member list is saved, and agents continue without it",
    );
    Ok(Exit::Finished)
}
