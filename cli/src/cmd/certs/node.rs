//! A node of a cluster: a name for its files, and the names of its certificate.

use std::net::IpAddr;

const NAME_CHARS_MAX: usize = 63;
const DNS_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;
/// Names of every node on its own machine.
const LOCAL_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of its files.
    pub name: String,
    /// DNS names and IP addresses, each once.
    pub names: Vec<String>,
    /// True if no DNS name or IP address was given.
    pub is_bare: bool,
}

impl Node {
    /// Parses `NAME[,SAN...]`.
    ///
    /// # Errors
    /// Returns what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        check_name(name)?;
        let mut node = Self { name: name.to_owned(), names: Vec::new(), is_bare: true };
        if check_san(name).is_ok() {
            node.names.push(name.to_owned());
        }
        for san in parts {
            check_san(san).map_err(|why| format!("{} {why}", san.escape_debug()))?;
            node.is_bare = false;
            node.add([san.to_owned()]);
        }
        node.add(LOCAL_NAMES.map(str::to_owned));
        Ok(node)
    }

    /// Adds names, without duplicates.
    pub fn add(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if !self.names.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                self.names.push(name);
            }
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() {
        return Err("a node needs a name, such as agent-1,10.0.0.5".to_owned());
    }
    if name.len() > NAME_CHARS_MAX {
        return Err(format!("the name is longer than {NAME_CHARS_MAX} characters"));
    }
    if !name.chars().all(is_good) || name.starts_with(['.', '-']) {
        return Err("a name consists of letters, digits, -, _ and ., and begins with a letter, a \
                    digit or _, because files are named after it"
            .to_owned());
    }
    if name.eq_ignore_ascii_case(super::AUTHORITY) {
        return Err("that is the name of the authority's files".to_owned());
    }
    Ok(())
}

/// Checks that a text is a DNS name or an IP address.
fn check_san(san: &str) -> Result<(), &'static str> {
    if san.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    if san.is_empty() {
        return Err("is empty: write NAME,SAN,SAN");
    }
    if san.contains("://") || san.contains('/') {
        return Err("is no DNS name or IP address: give only the host");
    }
    if san.contains(':') {
        return Err("is no DNS name or IP address: a certificate has no port");
    }
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= LABEL_CHARS_MAX
            && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let rest = san.strip_prefix("*.").unwrap_or(san);
    if san.len() > DNS_CHARS_MAX || !rest.split('.').all(is_label) {
        return Err("is no DNS name or IP address");
    }
    // Resolvers treat a name with a numeric last label as an address.
    if rest.split('.').next_back().is_some_and(|last| last.chars().all(|c| c.is_ascii_digit())) {
        return Err("is no IP address, and a DNS name does not end with a number");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_its_name_the_given_names_and_local_names() {
        let node =
            Node::parse("agent-1, 10.0.0.5,a.example.net,*.pods.local,::1,LOCALHOST").unwrap();
        let expected = [
            "agent-1",
            "10.0.0.5",
            "a.example.net",
            "*.pods.local",
            "::1",
            "LOCALHOST",
            "127.0.0.1",
        ];
        assert_eq!((node.name.as_str(), node.is_bare), ("agent-1", false));
        assert_eq!(node.names, expected);
        let bare = Node::parse("a.b").unwrap();
        assert!(bare.is_bare);
        assert_eq!(bare.names, ["a.b", "localhost", "127.0.0.1"]);
        // Valid as a file name, but not as a DNS name.
        assert_eq!(Node::parse("node.1").unwrap().names, LOCAL_NAMES);
    }

    #[test]
    fn invalid_names_are_rejected_with_the_reason() {
        for (text, word) in [
            ("", "needs a name"),
            (",10.0.0.1", "needs a name"),
            ("../x", "letters"),
            ("a/b", "letters"),
            (".hidden", "begins"),
            ("-rf", "begins"),
            ("a b", "letters"),
            ("ä", "letters"),
            ("ca", "authority"),
            ("CA,10.0.0.1", "authority"),
            ("a,", "is empty"),
            ("a,10.0.0.1:7070", "no port"),
            ("a,https://x.example", "only the host"),
            ("a,10.0.0.0/8", "only the host"),
            ("a,10.0.0", "no IP address"),
            ("a,256.1.1.1", "no IP address"),
            ("a,x..y", "no DNS name"),
            ("a,-x", "no DNS name"),
            ("a,x y", "no DNS name"),
            ("a,*", "no DNS name"),
        ] {
            let why = Node::parse(text).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
        assert!(Node::parse(&"x".repeat(64)).is_err());
        assert!(Node::parse(&format!("a,{}", "x.".repeat(130))).is_err());
    }
}
