//! The web as a process of its own: what `crivello simweb` calls.

use crate::{SimWeb, SimWebError, Spec};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};

/// What to serve.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The web.
    pub spec: Spec,
    /// Where the access log goes, as JSON lines.
    pub log: Option<PathBuf>,
    /// Whether the end of standard input ends the web, so that it does not outlive a parent that
    /// was killed.
    pub until_stdin_ends: bool,
}

/// The line that says that the web is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// The name server.
    pub dns: SocketAddr,
    /// The port of all hosts.
    pub port: u16,
    /// Where the crawl begins.
    pub seeds: Vec<String>,
    /// The networks to be allowed.
    pub networks: Vec<String>,
    /// The spec with its ports filled in: what the judge needs.
    pub spec: Spec,
}

/// Serves until a signal (SIGINT, SIGTERM) or, when asked, the end of standard input; writes one
/// line of JSON, a [`Ready`], when ready.
///
/// # Errors
/// When the web cannot be started, or the line cannot be written.
pub async fn serve(args: ServeOptions, mut ready: impl Write) -> Result<(), SimWebError> {
    let web = SimWeb::start_with_log(args.spec, args.log.as_deref()).await?;
    serde_json::to_writer(&mut ready, &web.ready()).map_err(std::io::Error::from)?;
    ready.write_all(b"\n")?;
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

/// Reads on a thread of its own, which the process does not wait for.
async fn stdin_ends() {
    let (ended, end) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
