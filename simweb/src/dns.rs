//! Name server: answers to queries (pure except for a counter) and the sockets that serve them.
//!
//! The messages are those of RFC 1035, in the few forms that are needed: one question, and answers
//! that point back to its name.

use crate::character::DnsWay;
use crate::connection::accept;
use crate::names::is_within;
use crate::network::several;
use crate::world::World;
use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;

const HEADER_LEN: usize = 12;
const TYPE_A: u16 = 1;
const TYPE_AAAA: u16 = 28;
const SERV_FAIL: u8 = 2;
const NX_DOMAIN: u8 = 3;
const TCP_IDLE_MAX: Duration = Duration::from_secs(10);
/// Compressed name that points to the name in the question.
const POINTER: [u8; 2] = [0xc0, HEADER_LEN as u8];

/// The data of the name server.
#[derive(Debug)]
pub struct Zone {
    world: Arc<World>,
    /// Rebinding hosts whose address was queried.
    asked: Mutex<HashSet<u32>>,
    clock: Clock,
    /// Names that were queried, with the time of each query.
    queries: Mutex<Vec<(String, Timestamp)>>,
}

struct Question<'a> {
    id: [u8; 2],
    recursion: u8,
    name: String,
    kind: u16,
    /// Name, type and class as received.
    raw: &'a [u8],
}

impl Zone {
    /// Creates the zone of a world.
    #[must_use]
    pub fn new(world: Arc<World>) -> Self {
        Self { world, asked: Mutex::default(), clock: Clock::start(), queries: Mutex::default() }
    }

    /// Returns the times of all queries for `domain` and names below it, in their order.
    pub fn queries(&self, domain: &str) -> Vec<Timestamp> {
        let queries = self.queries.lock();
        let within = queries.iter().filter(|(name, _)| is_within(name, domain));
        within.map(|(_, at)| *at).collect()
    }

    /// Returns the answer to a query, or `None` for silence.
    pub fn answer(&self, query: &[u8]) -> Option<Vec<u8>> {
        let question = parse(query)?;
        self.queries.lock().push((question.name.clone(), self.clock.now()));
        let world = &self.world;
        let Some(host) = world.host(&question.name) else {
            return Some(print(&question, NX_DOMAIN, &[], 0));
        };
        let own = world.names().ip(host.id);
        let mut ttl = world.spec().dns_ttl_secs;
        let mut addresses: Vec<IpAddr> = match &world.character(host.id).dns {
            DnsWay::Well => vec![own.into()],
            DnsWay::NoSuchName => return Some(print(&question, NX_DOMAIN, &[], 0)),
            DnsWay::ServFail => return Some(print(&question, SERV_FAIL, &[], 0)),
            DnsWay::Silent => return None,
            DnsWay::Address(address) => vec![(*address).into()],
            DnsWay::AddressV6(address) => vec![(*address).into()],
            DnsWay::Beside(address) => vec![(*address).into(), own.into()],
            DnsWay::Several(more) => several(own, *more).into_iter().map(IpAddr::V4).collect(),
            DnsWay::Rebind(address) => {
                ttl = 0;
                let first = question.kind != TYPE_A || self.is_first(host.id);
                vec![if first { own.into() } else { (*address).into() }]
            }
        };
        addresses.retain(|address| record(*address).0 == question.kind);
        Some(print(&question, 0, &addresses, ttl))
    }

    fn is_first(&self, id: u32) -> bool {
        self.asked.lock().insert(id)
    }
}

fn parse(query: &[u8]) -> Option<Question<'_>> {
    let header = query.get(..HEADER_LEN)?;
    let one_question = header[4..6] == [0, 1];
    let is_query = header[2] & 0xf8 == 0;
    if !one_question || !is_query {
        return None;
    }
    let mut labels = Vec::new();
    let mut rest = &query[HEADER_LEN..];
    let tail = loop {
        match rest.split_first()? {
            (0, tail) => break tail,
            (&len @ 1..64, tail) => {
                let (label, tail) = tail.split_at_checked(len.into())?;
                labels.push(std::str::from_utf8(label).ok()?.to_ascii_lowercase());
                rest = tail;
            }
            _ => return None,
        }
    };
    let kind = tail.first_chunk::<4>()?;
    Some(Question {
        id: [query[0], query[1]],
        recursion: header[2] & 1,
        name: labels.join("."),
        kind: u16::from_be_bytes([kind[0], kind[1]]),
        raw: &query[HEADER_LEN..query.len() - tail.len() + kind.len()],
    })
}

fn print(question: &Question<'_>, code: u8, addresses: &[IpAddr], ttl: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN + question.raw.len() + 16 * addresses.len() + 40);
    out.extend(question.id);
    out.extend([0x84 | question.recursion, 0x80 | code, 0, 1]);
    out.extend((addresses.len() as u16).to_be_bytes());
    let negative = addresses.is_empty() && code != SERV_FAIL;
    out.extend([0, u8::from(negative), 0, 0]);
    out.extend(question.raw);
    for address in addresses {
        out.extend(POINTER);
        let (kind, octets) = record(*address);
        out.extend(kind.to_be_bytes());
        out.extend([0, 1]);
        out.extend(ttl.to_be_bytes());
        out.extend((octets.len() as u16).to_be_bytes());
        out.extend(octets);
    }
    if negative {
        // An SOA of the root: negative answers may be cached for a minute (RFC 2308).
        out.extend([0, 0, 6, 0, 1]);
        out.extend(60_u32.to_be_bytes());
        out.extend([0, 22, 0, 0]);
        for number in [1_u32, 3_600, 600, 86_400, 60] {
            out.extend(number.to_be_bytes());
        }
    }
    out
}

/// Returns the type and the data of an address's record.
fn record(address: IpAddr) -> (u16, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (TYPE_A, v4.octets().to_vec()),
        IpAddr::V6(v6) => (TYPE_AAAA, v6.octets().to_vec()),
    }
}

/// Binds UDP and TCP to the same port of `ip`; port 0 picks one that is free for both.
///
/// # Errors
/// Fails if the port is taken, or if the address does not belong to this machine.
pub async fn listen(ip: Ipv4Addr, port: u16) -> io::Result<(UdpSocket, TcpListener)> {
    let mut tries = if port == 0 { 20 } else { 1 };
    loop {
        tries -= 1;
        let udp = UdpSocket::bind((ip, port)).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) if tries == 0 => return Err(error),
            Err(_) => {}
        }
    }
}

/// Answers datagrams until it is dropped.
pub async fn run_udp(zone: Arc<Zone>, socket: UdpSocket) {
    let mut buffer = [0; 1_500];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((n, from)) => {
                if let Some(answer) = zone.answer(&buffer[..n])
                    && let Err(error) = socket.send_to(&answer, from).await
                {
                    tracing::debug!(%error, "cannot send a DNS response");
                }
            }
            Err(error) => tracing::debug!(%error, "cannot receive a DNS query"),
        }
    }
}

/// Accepts and serves connections until it is dropped.
pub async fn run_tcp(zone: Arc<Zone>, listener: TcpListener) {
    let serve = |stream, _| {
        let zone = zone.clone();
        async move {
            let _ = tokio::time::timeout(TCP_IDLE_MAX, serve_tcp(&zone, stream)).await;
        }
    };
    accept(&listener, &mut JoinSet::new(), serve).await;
}

async fn serve_tcp(zone: &Zone, mut stream: TcpStream) -> io::Result<()> {
    loop {
        let len = stream.read_u16().await?;
        let mut query = vec![0; usize::from(len)];
        stream.read_exact(&mut query).await?;
        if let Some(answer) = zone.answer(&query) {
            let len = u16::try_from(answer.len()).map_err(io::Error::other)?;
            stream.write_all(&[&len.to_be_bytes()[..], &answer].concat()).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::{Character, Content};
    use crate::spec::Spec;
    use std::net::Ipv6Addr;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut out = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            out.push(label.len() as u8);
            out.extend(label.as_bytes());
        }
        out.push(0);
        out.extend(kind.to_be_bytes());
        out.extend([0, 1]);
        out
    }

    /// Returns the code, addresses and TTL of an answer.
    fn read(zone: &Zone, name: &str, kind: u16) -> Option<(u8, Vec<Ipv4Addr>, u32)> {
        let asked = query(name, kind);
        let answer = zone.answer(&asked)?;
        assert_eq!(answer[..2], [0xab, 0xcd]);
        assert_eq!(answer[HEADER_LEN..asked.len()], asked[HEADER_LEN..]);
        let n = usize::from(answer[7]);
        let mut ttl = 0;
        let addresses = (0..n)
            .map(|k| {
                let record = &answer[asked.len() + 16 * k..][..16];
                ttl = u32::from_be_bytes([record[6], record[7], record[8], record[9]]);
                Ipv4Addr::new(record[12], record[13], record[14], record[15])
            })
            .collect();
        Some((answer[3] & 0xf, addresses, ttl))
    }

    #[test]
    fn names_resolve_in_their_way() {
        let inside = Ipv4Addr::new(10, 0, 0, 1);
        let way = |dns| Character::named("x").dns(dns);
        let zone = Zone::new(Arc::new(World::new(
            Spec::new(1)
                .host("none.test", way(DnsWay::NoSuchName))
                .host("broken.test", way(DnsWay::ServFail))
                .host("silent.test", way(DnsWay::Silent))
                .host("inside.test", way(DnsWay::Address(inside)))
                .host("six.test", way(DnsWay::AddressV6(Ipv6Addr::LOCALHOST)))
                .host("beside.test", way(DnsWay::Beside(inside)))
                .host("many.test", way(DnsWay::Several(3)))
                .host("rebind.test", way(DnsWay::Rebind(Ipv4Addr::LOCALHOST)))
                .host("trap.test", Character::named("t").content(Content::Subdomains)),
        )));
        let ip = |name: &str| {
            let world = &zone.world;
            world.names().ip(world.host(name).unwrap().id)
        };
        let a = |name: &str| read(&zone, name, TYPE_A);
        assert_eq!(a("H1.Site2.test"), Some((0, vec![ip("h1.site2.test")], 3_600)));
        assert_eq!(read(&zone, "h1.site2.test", 28), Some((0, vec![], 0)));
        assert_eq!(a("h9.site2.test"), Some((3, vec![], 0)));
        assert_eq!(a("none.test"), Some((3, vec![], 0)));
        assert_eq!(a("broken.test"), Some((2, vec![], 0)));
        assert_eq!(a("silent.test"), None);
        assert_eq!(a("inside.test"), Some((0, vec![inside], 3_600)));
        assert_eq!(a("beside.test").unwrap().1, [inside, ip("beside.test")]);
        assert_eq!(a("six.test"), Some((0, vec![], 0)));
        let answer = zone.answer(&query("six.test", TYPE_AAAA)).unwrap();
        assert!(answer.ends_with(&Ipv6Addr::LOCALHOST.octets()));
        assert_eq!(a("many.test").unwrap().1.len(), 4);
        assert_eq!(a("rebind.test"), Some((0, vec![ip("rebind.test")], 0)));
        assert_eq!(a("rebind.test"), Some((0, vec![Ipv4Addr::LOCALHOST], 0)));
        assert_eq!(a("x5.trap.test"), Some((0, vec![ip("trap.test")], 3_600)));
        assert_eq!(zone.queries("rebind.test").len(), 2);
        assert_eq!(zone.queries("trap.test").len(), 1, "a name below it");
    }

    #[test]
    fn names_resolve_within_the_network_of_the_spec() {
        let spec = Spec::new(1).network("10.93.128.0/17".parse().unwrap());
        let several = Character::named("s").dns(DnsWay::Several(1));
        let world = World::new(spec.host("many.test", several));
        let (first, own) = (Ipv4Addr::new(10, 93, 128, 1), Ipv4Addr::new(10, 93, 128, 5));
        let more = Ipv4Addr::new(10, 93, 128, 251);
        assert_eq!(world.all_addresses().first(), Some(&first));
        assert_eq!(world.all_addresses().last(), Some(&more));
        let zone = Zone::new(Arc::new(world));
        assert_eq!(read(&zone, "h0.site0.test", TYPE_A).unwrap().1, [first]);
        assert_eq!(read(&zone, "many.test", TYPE_A).unwrap().1, [own, more]);
    }

    #[test]
    fn nonsense_is_met_with_silence() {
        let zone = Zone::new(Arc::new(World::new(Spec::new(1))));
        let whole = query("h0.site0.test", TYPE_A);
        for n in 0..whole.len() {
            assert_eq!(zone.answer(&whole[..n]), None, "{n}");
        }
        assert_eq!(zone.answer(&[0xff; 40]), None);
    }
}
