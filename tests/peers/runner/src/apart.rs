//! A network and an `/etc/resolv.conf` of one's own, so that all crawlers ask the simulated web's
//! name server as they would ask any other, and none can reach anything else.

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Set in the process that is apart already.
const INSIDE: &str = "CRIVELLO_PEERS_INSIDE";
/// Names are looked up in files, then at the name server: no daemon in between.
const SWITCH: &str = "hosts: files dns\n";
const RESOLVER: &str = "nameserver 127.0.0.1\noptions timeout:2 attempts:3\n";

/// Returns in a process that is apart: at first this replaces the program by itself, there.
pub fn enter(dir: &Path) -> Result<()> {
    if std::env::var_os(INSIDE).is_none() {
        let mut unshare = Command::new("unshare");
        if !nix::unistd::geteuid().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        unshare.args(["--mount", "--net", "--"]).arg(std::env::current_exe()?).env(INSIDE, "1");
        return Err(unshare.exec()).context("unshare (of util-linux) cannot be run");
    }
    // The network is brought up first: should this not be a network of its own, it is up already.
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
    let status = command.status().with_context(|| format!("{command:?} cannot be run"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}
