//! etcd as a real process, for coordinators of which one is active.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Maximum time until it answers.
const START_TIME_MAX: Duration = Duration::from_secs(30);

/// One server, whose data stay when it is killed.
#[derive(Debug)]
pub struct Etcd {
    process: Option<Child>,
    /// Address for clients.
    pub address: SocketAddr,
    peers: SocketAddr,
    dir: std::path::PathBuf,
}

impl Etcd {
    /// Returns whether it is installed.
    #[must_use]
    pub fn is_installed() -> bool {
        Command::new("etcd").arg("--version").stdout(Stdio::null()).status().is_ok()
    }

    /// Starts a server with its data in `dir`.
    ///
    /// # Panics
    /// Panics if it does not answer.
    #[must_use]
    pub fn start(dir: &Path) -> Self {
        let mut etcd = Self { process: None, address: free(), peers: free(), dir: dir.to_owned() };
        etcd.go_on();
        etcd
    }

    /// Starts it again, with the same data and at the same address.
    ///
    /// # Panics
    /// Panics if it does not answer.
    #[expect(clippy::disallowed_methods, reason = "a deadline of a real process")]
    pub fn go_on(&mut self) {
        let (clients, peers) =
            (format!("http://{}", self.address), format!("http://{}", self.peers));
        let log = std::fs::File::create(self.dir.with_extension("log")).expect("a log");
        let mut command = Command::new("etcd");
        command.args(["--name", "one", "--data-dir"]).arg(&self.dir);
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &format!("one={peers}")]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        self.process = Some(command.spawn().expect("etcd starts"));
        let begun = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            assert!(begun.elapsed() < START_TIME_MAX, "etcd does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills it like `kill -9`.
    ///
    /// # Panics
    /// Panics if it does not run.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("etcd runs");
        process.kill().expect("etcd is killed");
        process.wait().expect("etcd ends");
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

/// Returns a free address.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address")
}
