//! Identification of the process behind a connection. Visitors on one machine share an address.
//! Only the system can distinguish them, and only while the connection is open.

use parking_lot::Mutex;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// The processes to identify. Without any, nothing is looked up.
#[derive(Debug, Default)]
pub struct Callers {
    processes: Mutex<Vec<u32>>,
}

impl Callers {
    /// Adds a process: later connections of it are logged with its id.
    pub fn add(&self, process: u32) {
        self.processes.lock().push(process);
    }

    /// Returns the added process that holds the other end, at `peer`, of a connection to `local`.
    /// Returns `None` if there is none, or if it has closed its end already.
    pub fn of(&self, peer: SocketAddr, local: SocketAddr) -> Option<u32> {
        let processes = self.processes.lock().clone();
        if processes.is_empty() {
            return None;
        }
        let table = fs::read_to_string("/proc/net/tcp").ok()?;
        let socket = format!("socket:[{}]", inode(&table, peer, local)?);
        processes.into_iter().rev().find(|process| holds(*process, &socket))
    }
}

/// Returns the inode of the socket at `own` that is connected to `other`.
fn inode(table: &str, own: SocketAddr, other: SocketAddr) -> Option<&str> {
    let (own, other) = (in_table(own)?, in_table(other)?);
    let found = table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        (fields.next()? == own && fields.next()? == other).then(|| fields.nth(6)).flatten()
    });
    found.filter(|&inode| inode != "0")
}

/// Formats an address as `/proc/net/tcp` does: the bytes in native order, as one number.
fn in_table(address: SocketAddr) -> Option<String> {
    let IpAddr::V4(ip) = address.ip() else { return None };
    Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port()))
}

fn holds(process: u32, socket: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|t| t == Path::new(socket)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn our_own_connection_is_known_while_it_is_there() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let stream = TcpStream::connect(local).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        let callers = Callers::default();
        assert_eq!(callers.of(peer, local), None, "the process is known although none was added");
        callers.add(u32::MAX);
        assert_eq!(callers.of(peer, local), None, "the connection of another process");
        callers.add(std::process::id());
        assert_eq!(callers.of(peer, local), Some(std::process::id()));
        drop((stream, accepted));
        assert_eq!(callers.of(peer, local), None);
    }
}
