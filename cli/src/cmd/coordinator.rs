//! `crivello coordinator`: runs the coordinator of a crawl.

use crate::args::cluster::CoordinatorArgs;
use crate::cluster::{Credentials, check_listen, node_auth, secret_in};
use crate::dashboard;
use crate::exit::{CliError, Exit, usage};
use crate::http::Meters;
use crate::plan::{Stored, complete, settings_of, stored_by_coordinator};
use crate::{screen, signals};
use crivello_common::time::Clock;
use crivello_common::view::RunState;
use crivello_coordinator::{
    Active, Coordinator, CoordinatorDirs, CoordinatorError, Election, EtcdOptions, Listen,
};
use crivello_proto::LiveToken;
use rustix::system::uname;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs until a signal arrives. With etcd, stands by while another coordinator is active.
///
/// # Errors
/// Returns usage errors before anything is started; internal errors afterwards.
pub async fn run(args: CoordinatorArgs) -> Result<Exit, CliError> {
    // The parser requires it, unless there is a subcommand.
    let data = args.data.clone().ok_or_else(|| usage!("give --data DIR"))?;
    let auth = node_auth(&args.node)?;
    let token = secret_in(args.token.token_file.as_deref())?;
    check_listen(args.listen, &auth, Some(token.is_some()), args.insecure)?;
    let listen = Listen { at: args.listen, auth, token: token.clone() };
    let election = election(&args, &listen)?;
    let mut ended = Box::pin(signals::first());
    loop {
        // While etcd does not answer, only a signal ends the wait.
        let (active, stored) = tokio::select! {
            signal = &mut ended => {
                signal?;
                return Ok(Exit::Finished);
            }
            begun = stand_by(&args, &data, election.as_ref()) => begun?,
        };
        let keys = args.etcd.keys.clone().unwrap_or_else(|| data.clone());
        let dirs = CoordinatorDirs { dir: data.clone(), keys, active };
        match serve(&args, dirs, stored, &listen, &mut ended).await? {
            None => return Ok(Exit::Finished),
            Some(CoordinatorError::Deposed) => {
                screen::print_line(&CoordinatorError::Deposed.to_string());
            }
            Some(broken) => return Err(broken.into()),
        }
    }
}

/// Waits until this coordinator is the active one, if there may be others. Returns its time as that, and the stored settings.
async fn stand_by(
    args: &CoordinatorArgs,
    data: &Path,
    election: Option<&Election>,
) -> Result<(Option<Active>, Option<Stored>), CliError> {
    let mut active = None;
    if let Some(election) = election {
        // A standby must not find out that its settings are wrong when it is needed.
        settings_of(stored(data, Some(election)).await?.as_ref(), &args.settings)?;
        screen::print_line("standing by until no other coordinator is active");
        active = Some(election.stand_by().await);
    }
    Ok((active, stored(data, election).await?))
}

/// Returns the election of the active coordinator, if there may be others.
fn election(args: &CoordinatorArgs, listen: &Listen) -> Result<Option<Election>, CliError> {
    let Some(urls) = args.etcd.etcd.clone().filter(|urls| !urls.is_empty()) else {
        return Ok(None);
    };
    let options = EtcdOptions {
        urls,
        prefix: args.etcd.etcd_prefix.clone(),
        tls: listen.auth.tls.clone(),
        name: format!("{} on {}", listen.at, uname().nodename().to_string_lossy()),
        lease: Duration::from_secs(args.etcd.etcd_lease.into()),
    };
    Ok(Some(Election::new(options, Clock::start())?))
}

async fn stored(data: &Path, election: Option<&Election>) -> Result<Option<Stored>, CliError> {
    if let Some(election) = election
        && let Some(stored) = election.stored_settings().await?
    {
        return complete("the record in etcd".to_owned(), stored).map(Some);
    }
    // Also a record that is still to be taken over into etcd.
    stored_by_coordinator(data)
}

/// Runs the active coordinator until a signal arrives, or returns the reason why it ended by itself.
async fn serve(
    args: &CoordinatorArgs,
    dirs: CoordinatorDirs,
    stored: Option<Stored>,
    listen: &Listen,
    ended: &mut (impl Future<Output = io::Result<()>> + Unpin),
) -> Result<Option<CoordinatorError>, CliError> {
    let meters = Meters::default();
    let token: Option<LiveToken> = listen.token.clone();
    let dashboard = dashboard::open(&args.http, token, args.insecure, &meters).await?;
    let (settings, given) = settings_of(stored.as_ref(), &args.settings)?;
    let scheme = if listen.auth.tls.is_some() { "https" } else { "http" };
    let credentials = Credentials { tls: listen.auth.tls.clone(), token: None };
    let data: PathBuf = dirs.dir.clone();
    let started = Coordinator::start_in(dirs, &settings, given, listen.clone()).await;
    let mut coordinator = match started {
        Err(CoordinatorError::Deposed) => return Ok(Some(CoordinatorError::Deposed)),
        started => started?,
    };
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
    let broken = tokio::select! {
        signal = ended => {
            signal?;
            None
        }
        broken = coordinator.broken() => Some(broken),
    };
    drop(serving);
    coordinator.stop().await?;
    if broken.is_none() {
        screen::print_line(
            "coordinator stopped; the member list is saved, and agents continue without it",
        );
    }
    Ok(broken)
}
