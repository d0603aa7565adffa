//! The web as a process of its own, as `crivello simweb` runs it.

use crate::{SimWeb, SimWebError, Spec};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

/// Options of a served web.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The web.
    pub spec: Spec,
    /// File for the access log, as JSON lines.
    pub log: Option<PathBuf>,
    /// True if the web stops at the end of standard input, so that it does not outlive a killed
    /// parent.
    pub until_stdin_ends: bool,
}

/// The line that reports that the web is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Address of the name server.
    pub dns: SocketAddr,
    /// The port of all hosts.
    pub port: u16,
    /// Seed URLs of the crawl.
    pub seeds: Vec<String>,
    /// Networks that the visitor must be allowed to contact.
    pub networks: Vec<String>,
    /// The spec with its ports, and the origin of its changes, filled in, for the judge.
    pub spec: Spec,
}

/// Serves a web until SIGINT, SIGTERM or, if requested, the end of standard input. Writes a
/// [`Ready`] as one line of JSON when it is ready.
///
/// # Errors
/// Fails if the web cannot be started, or if the line cannot be written.
pub async fn serve(args: ServeOptions, mut ready: impl Write) -> Result<(), SimWebError> {
    let web = SimWeb::start_with_log(args.spec, args.log.as_deref()).await?;
    let line = Ready {
        dns: web.dns,
        port: web.port(),
        seeds: web.seeds(),
        networks: web.networks(),
        spec: web.spec().clone(),
    };
    writeln!(ready, "{}", serde_json::to_string(&line).map_err(std::io::Error::from)?)?;
    ready.flush()?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result?,
        _ = terminate.recv() => {}
        () = stdin_ends(), if args.until_stdin_ends => {}
    }
    web.shutdown().await;
    Ok(())
}

/// Waits for the end of standard input on its own thread, which does not block the exit of the
/// process.
async fn stdin_ends() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
