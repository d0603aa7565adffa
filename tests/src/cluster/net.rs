//! Network between the processes of a cluster. Each process is reached through a gate, a proxy in
//! this process, so that the connections of each pair can be cut, silenced or delayed. A gate
//! identifies the caller by the process that holds the other end of the connection. It keeps its
//! address when the process behind it is replaced.

use simweb::caller::Callers;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

const CHUNK: usize = 64 * 1024;

/// State of the connections from one process to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Data arrives.
    #[default]
    Open,
    /// Connections break, and new ones fail.
    Cut,
    /// Connections stay open and new ones are accepted, but no data arrives until the state changes
    /// to `Open`; then all of it arrives.
    Silent,
    /// Each piece of data is delayed by this.
    Slow(Duration),
}

/// Caller and callee. The caller is empty if it is not part of the cluster.
type Pair = (String, String);

/// Process behind a gate.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// No process: connections are refused.
    Nobody,
    /// A process that is being started: connections wait.
    Expected,
    At(SocketAddr),
}

#[derive(Debug)]
struct Shared {
    callers: Callers,
    names: Mutex<HashMap<u32, String>>,
    ways: watch::Sender<HashMap<Pair, Way>>,
    /// Bytes between members, in both directions.
    carried: AtomicU64,
    /// Number of connections between members.
    opened: AtomicU64,
}

/// All gates of a cluster, and the state of their connections.
#[derive(Clone, Debug)]
pub struct Net {
    shared: Arc<Shared>,
}

/// Address at which one process of the cluster is reached. Dropping it closes the gate.
#[derive(Debug)]
pub struct Gate {
    /// Listening address of the gate.
    pub address: SocketAddr,
    behind: watch::Sender<Behind>,
    task: AbortHandle,
}

impl Net {
    /// Creates a network in which all connections are open.
    #[must_use]
    pub fn new() -> Self {
        let (ways, _) = watch::channel(HashMap::new());
        let (callers, names, carried, opened) = Default::default();
        Self { shared: Arc::new(Shared { callers, names, ways, carried, opened }) }
    }

    /// Creates a gate for `name`, without a process behind it.
    ///
    /// # Errors
    /// Fails if no port is free.
    pub async fn gate(&self, name: &str) -> io::Result<Gate> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (behind, told) = watch::channel(Behind::Nobody);
        let welcome = welcome(self.shared.clone(), listener, name.to_owned(), told);
        Ok(Gate { address, behind, task: tokio::spawn(welcome).abort_handle() })
    }

    /// Registers a process under this name.
    pub fn introduce(&self, process: u32, name: &str) {
        let mut names = self.shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(process, name.to_owned());
        self.shared.callers.add(process);
    }

    /// Sets the state of the connections that `from` makes to `to`, in both directions.
    pub fn set(&self, from: &str, to: &str, way: Way) {
        let pair = (from.to_owned(), to.to_owned());
        self.shared.ways.send_modify(|ways| {
            ways.insert(pair, way);
        });
    }

    /// Returns the number of bytes that members have sent to each other through the gates.
    pub fn carried(&self) -> u64 {
        self.shared.carried.load(Ordering::Relaxed)
    }

    /// Returns the number of connections that members have made to each other through the gates.
    pub fn opened(&self) -> u64 {
        self.shared.opened.load(Ordering::Relaxed)
    }
}

impl Default for Net {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    /// Makes callers wait, because a process is being started behind the gate.
    pub fn expect(&self) {
        self.behind.send_replace(Behind::Expected);
    }

    /// Connects the gate to the address on which the process listens.
    pub fn lead_to(&self, address: SocketAddr) {
        self.behind.send_replace(Behind::At(address));
    }

    /// Refuses callers, because the process has ended.
    pub fn close(&self) {
        self.behind.send_replace(Behind::Nobody);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn welcome(
    shared: Arc<Shared>,
    listener: TcpListener,
    to: String,
    behind: watch::Receiver<Behind>,
) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else { continue };
        let process = shared.callers.of(peer, listener.local_addr().unwrap_or(peer));
        let names = shared.names.lock().unwrap_or_else(PoisonError::into_inner);
        let from = process.and_then(|process| names.get(&process).cloned()).unwrap_or_default();
        drop(names);
        if !from.is_empty() {
            shared.opened.fetch_add(1, Ordering::Relaxed);
        }
        let link = Link { ways: shared.ways.subscribe(), pair: (from, to.clone()) };
        let (shared, behind) = (shared.clone(), behind.clone());
        tokio::spawn(async move {
            // At its end, both sides see a closed connection.
            let _ = carry(&shared, link, stream, behind).await;
        });
    }
}

/// The state that applies to one connection.
#[derive(Clone, Debug)]
struct Link {
    ways: watch::Receiver<HashMap<Pair, Way>>,
    pair: Pair,
}

impl Link {
    fn way(ways: &HashMap<Pair, Way>, pair: &Pair) -> Way {
        ways.get(pair).copied().unwrap_or_default()
    }

    /// Waits until data may pass.
    async fn pass(&mut self) -> io::Result<()> {
        let way = {
            let open = |ways: &HashMap<_, _>| Self::way(ways, &self.pair) != Way::Silent;
            let ways = self.ways.wait_for(open).await.map_err(|_| cut())?;
            Self::way(&ways, &self.pair)
        };
        match way {
            Way::Cut => Err(cut()),
            Way::Slow(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Way::Open | Way::Silent => Ok(()),
        }
    }

    /// Waits until the connection is cut.
    async fn broken(&mut self) -> io::Error {
        let is_cut = |ways: &HashMap<_, _>| Self::way(ways, &self.pair) == Way::Cut;
        let _ = self.ways.wait_for(is_cut).await;
        cut()
    }
}

fn cut() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

async fn carry(
    shared: &Shared,
    mut link: Link,
    caller: TcpStream,
    mut behind: watch::Receiver<Behind>,
) -> io::Result<()> {
    link.pass().await?;
    let known = behind.wait_for(|behind| !matches!(behind, Behind::Expected)).await;
    let known = *known.map_err(|_| cut())?;
    let Behind::At(address) = known else { return Err(cut()) };
    let called = TcpStream::connect(address).await?;
    caller.set_nodelay(true)?;
    called.set_nodelay(true)?;
    let (read_half, write_half) = caller.into_split();
    let (answers, asks) = called.into_split();
    let mut other = link.clone();
    let mut breaks = link.clone();
    let there = pump(shared, &mut link, read_half, asks);
    let back = pump(shared, &mut other, answers, write_half);
    tokio::select! {
        done = async { tokio::try_join!(there, back) } => done.map(drop),
        error = breaks.broken() => Err(error),
    }
}

async fn pump(
    shared: &Shared,
    link: &mut Link,
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let n_bytes = from.read(&mut buffer).await?;
        link.pass().await?;
        if n_bytes == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..n_bytes]).await?;
        if !link.pair.0.is_empty() {
            shared.carried.fetch_add(n_bytes as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_secs(5);
    const NEVER: Duration = Duration::from_millis(100);

    /// Starts an echo server behind a gate. This process is "a".
    async fn echo() -> (Net, Gate) {
        let net = Net::new();
        net.introduce(std::process::id(), "a");
        let gate = net.gate("b").await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        gate.lead_to(listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read_half, mut write_half) = stream.split();
                    tokio::io::copy(&mut read_half, &mut write_half).await
                });
            }
        });
        (net, gate)
    }

    async fn ask(stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(b"hello").await?;
        let mut received = [0; 5];
        stream.read_exact(&mut received).await?;
        assert_eq!(&received, b"hello");
        Ok(())
    }

    #[tokio::test]
    async fn bytes_arrive_unless_the_way_is_cut_or_silent() {
        let (net, gate) = echo().await;
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        timeout(SOON, ask(&mut stream)).await.unwrap().unwrap();
        assert_eq!(net.carried(), 10);
        net.set("c", "b", Way::Cut);
        timeout(SOON, ask(&mut stream)).await.unwrap().unwrap();
        net.set("a", "b", Way::Silent);
        let mut second = TcpStream::connect(gate.address).await.unwrap();
        assert!(
            timeout(NEVER, ask(&mut second)).await.is_err(),
            "a response over a silent connection"
        );
        let mut answer = [0; 5];
        net.set("a", "b", Way::Slow(Duration::from_millis(1)));
        timeout(SOON, second.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(&answer, b"hello", "expected the delayed bytes");
        net.set("a", "b", Way::Cut);
        for stream in [&mut stream, &mut second] {
            assert!(
                timeout(SOON, ask(stream)).await.unwrap().is_err(),
                "an existing connection survived the cut"
            );
        }
        let mut third = TcpStream::connect(gate.address).await.unwrap();
        assert!(
            timeout(SOON, ask(&mut third)).await.unwrap().is_err(),
            "a new connection survived the cut"
        );
    }

    #[tokio::test]
    async fn a_caller_waits_only_for_listeners_that_are_expected() {
        let (_net, gate) = echo().await;
        let at = gate.behind.borrow().to_owned();
        gate.close();
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        assert!(
            timeout(SOON, ask(&mut stream)).await.unwrap().is_err(),
            "connected to a closed gate"
        );
        gate.expect();
        let mut stream = TcpStream::connect(gate.address).await.unwrap();
        assert!(timeout(NEVER, ask(&mut stream)).await.is_err(), "a response without a server");
        let mut answer = [0; 5];
        gate.behind.send_replace(at);
        timeout(SOON, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    }
}
