//! `crivello certs`: an authority of one's own, and certificates for the nodes of a small cluster.

mod authority;
mod node;
mod store;

use crate::args::safety::CertsArgs;
use crate::exit::{Exit, Trouble};
use crate::screen;
use authority::Authority;
use node::Node;
use std::path::Path;
use store::{AUTHORITY, Store};

/// Makes what was asked for, all or nothing, and says what to do with it.
///
/// # Errors
/// Usage errors before anything is written; when something cannot be written.
pub fn run(typed: &CertsArgs) -> Result<Exit, Trouble> {
    let store = Store::at(&typed.out);
    let nodes = nodes(typed, &store)?;
    let (authority, is_new) = Authority::open(&store)?;
    let mut made = Vec::new();
    for node in nodes {
        let (pair, until) = authority.vouch(&node, typed.days)?;
        made.push((node, pair, until));
    }
    if is_new {
        store.write(AUTHORITY, authority.pair())?;
        screen::say(&format!(
            "made {} and {}: the authority of a new cluster, until {}",
            store.certificate(AUTHORITY).display(),
            store.key(AUTHORITY).display(),
            authority.until()
        ));
    }
    for (node, pair, until) in &made {
        store.write(&node.name, pair)?;
        screen::say(&format!(
            "made {} and {}: for {}; until {until}",
            store.certificate(&node.name).display(),
            store.key(&node.name).display(),
            node.names.join(", ")
        ));
    }
    let first = made.first().map_or("NAME", |(node, ..)| node.name.as_str());
    screen::say(&next(&typed.out, first, typed.renew));
    Ok(Exit::Finished)
}

/// Those that were named, checked against what is there.
fn nodes(typed: &CertsArgs, store: &Store) -> Result<Vec<Node>, Trouble> {
    let mut nodes: Vec<Node> = Vec::new();
    for text in &typed.nodes {
        let node = Node::parse(text)
            .map_err(|why| Trouble::usage(format!("{}: {why}", text.escape_debug())))?;
        if nodes.iter().any(|other| other.name == node.name) {
            return Err(Trouble::usage(format!("{} is named twice", node.name)));
        }
        nodes.push(node);
    }
    if nodes.is_empty() {
        for name in store.nodes()? {
            nodes.extend(Node::parse(&name));
        }
        if nodes.is_empty() {
            let dir = typed.out.display();
            return Err(Trouble::usage(format!("{dir} holds no node's certificate to renew")));
        }
    }
    for node in &mut nodes {
        let file = store.certificate(&node.name);
        match (store.has(&node.name), typed.renew) {
            (false, _) => {}
            (true, false) => {
                return Err(Trouble::usage(format!(
                    "{} is there already: --renew makes a new one",
                    file.display()
                )));
            }
            // It goes on to be reached as before.
            (true, true) if node.is_bare() => node.add(store.names(&node.name)?),
            (true, true) => {}
        }
    }
    Ok(nodes)
}

/// What to do with them.
fn next(dir: &Path, node: &str, renewed: bool) -> String {
    let dir = dir.display();
    if renewed {
        return format!(
            "next: copy the new files over the old ones, at each node its own; a node that runs \
             takes them within seconds, and nothing has to be started again ({dir}/ca.key goes to \
             no node)"
        );
    }
    format!(
        "next: copy {dir}/ca.pem and its own NAME.pem and NAME.key to each node ({dir}/ca.key to \
         none), and the token that `crivello token --out {dir}/token` makes; then start each node \
         with, for instance,\n  --tls-cert {node}.pem --tls-key {node}.key --tls-ca ca.pem \
         --token-file token\nand agents, and all that asks, with --coordinator https://HOST:PORT, \
         where HOST is one of the names of the coordinator's certificate"
    )
}
