//! Isolation: an own network and `/etc/resolv.conf`, so that all crawlers query the simulated web's
//! name server like any other, and none can reach anything else.

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Variable that is set in the isolated process.
const INSIDE: &str = "CRIVELLO_PEERS_INSIDE";
/// Name lookup in files, then at the name server, without a daemon in between.
const SWITCH: &str = "hosts: files dns\n";
const RESOLVER: &str = "nameserver 127.0.0.1\noptions timeout:2 attempts:3\n";

/// Returns only in an isolated process. At first it replaces this process by itself in isolation.
pub fn enter(dir: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_none() {
        let mut unshare = Command::new("unshare");
        if !nix::unistd::geteuid().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        unshare.args(["--mount", "--net", "--"]).arg(std::env::current_exe()?).env(INSIDE, "1");
        return Err(unshare.exec()).context("cannot run unshare (util-linux)");
    }
    // Configures the network first. If it is not a separate network, the loopback is already up and
    // nothing changes.
    done(Command::new("ip").args(["link", "set", "lo", "up"]))?;
    for (file, text) in [("/etc/resolv.conf", RESOLVER), ("/etc/nsswitch.conf", SWITCH)] {
        if Path::new(file).exists() {
            let own = dir.join(file.rsplit('/').next().unwrap_or(file));
            std::fs::write(&own, text)?;
            done(Command::new("mount").arg("--bind").arg(&own).arg(file))?;
        }
    }
    Ok(())
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}
