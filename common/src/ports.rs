//! Ports that are not contacted, because no web site uses them: a link to one would make the crawler
//! send a request to a mail server, a database or the control port of a machine.

/// The bad ports of the Fetch standard (section 2.9, port blocking): protocols that a request could
/// be mistaken for. 0 is no port at all.
const OF_FETCH_STANDARD: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10_080,
];

/// Ports of databases, queues and remote control.
const OF_SERVICES: [u16; 36] = [
    1433,   // Microsoft SQL Server
    1434,   // Microsoft SQL Server, browser service
    1521,   // Oracle database
    2181,   // ZooKeeper
    2375,   // Docker, control
    2376,   // Docker, control over TLS
    2377,   // Docker Swarm
    2379,   // etcd, clients
    2380,   // etcd, peers
    3306,   // MySQL
    3389,   // Remote Desktop
    4369,   // Erlang port mapper
    5432,   // PostgreSQL
    5671,   // AMQP over TLS
    5672,   // AMQP
    5900,   // VNC
    5901,   // VNC
    5984,   // CouchDB
    5985,   // Windows Remote Management
    5986,   // Windows Remote Management over TLS
    6379,   // Redis
    6443,   // Kubernetes, control
    8500,   // Consul
    9042,   // Cassandra
    9092,   // Kafka
    9160,   // Cassandra, Thrift
    9200,   // Elasticsearch
    9300,   // Elasticsearch, nodes
    10_250, // Kubernetes, kubelet
    10_255, // Kubernetes, kubelet, read only
    11_211, // Memcached
    26_379, // Redis Sentinel
    27_017, // MongoDB
    27_018, // MongoDB, shards
    27_019, // MongoDB, configuration
    28_015, // RethinkDB
];

/// The ports that may be contacted: all but those of the two lists, and those that a setting allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPolicy {
    /// Denied ports in ascending order.
    denied: Box<[u16]>,
}

impl Default for PortPolicy {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl PortPolicy {
    /// Creates a policy that also admits the ports in `allowed` (`fetch.ports-allowed`).
    #[must_use]
    pub fn new(allowed: &[u16]) -> Self {
        let all = OF_FETCH_STANDARD.into_iter().chain(OF_SERVICES);
        let mut denied: Vec<u16> = all.filter(|port| !allowed.contains(port)).collect();
        denied.sort_unstable();
        Self { denied: denied.into_boxed_slice() }
    }

    /// Returns true if `port` may be contacted.
    pub fn admits(&self, port: u16) -> bool {
        matches!(port, 80 | 443) || self.denied.binary_search(&port).is_err()
    }

    /// Returns the ports that are not contacted, in ascending order.
    pub fn denied(&self) -> &[u16] {
        &self.denied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_no_web_site_uses_are_denied() {
        let policy = PortPolicy::default();
        assert_eq!(policy.denied().len(), OF_FETCH_STANDARD.len() + OF_SERVICES.len());
        assert!(policy.denied().is_sorted_by(|a, b| a < b), "a port is in both lists");
        for port in [0, 22, 25, 6379, 6667, 10_080, 11_211, 27_017] {
            assert!(!policy.admits(port), "{port}");
        }
        for port in [80, 81, 443, 3000, 5000, 8000, 8080, 8443, 8888, 9000, 32_768, 60_999] {
            assert!(policy.admits(port), "{port}");
        }
    }

    #[test]
    fn a_setting_admits_its_ports_and_no_others() {
        let policy = PortPolicy::new(&[25, 8080]);
        assert!(policy.admits(25) && policy.admits(8080));
        assert!(!policy.admits(22) && !policy.admits(6379));
    }
}
