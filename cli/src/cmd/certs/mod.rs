//! `crivello certs`: creates a certificate authority, and certificates for the nodes of a cluster.

mod authority;
mod node;
mod store;

use crate::args::CertsArgs;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use authority::CertificateAuthority;
use node::Node;
use std::path::Path;
use store::{AUTHORITY, CertificateStore};

/// Creates all requested files, or none, and prints the next steps.
///
/// # Errors
/// Returns usage errors before anything is written. Fails if a file cannot be written.
pub fn run(args: &CertsArgs) -> Result<Exit, CliError> {
    let store = CertificateStore::at(&args.out);
    let nodes = nodes(args, &store)?;
    let (authority, is_new) = CertificateAuthority::open(&store)?;
    let mut created = Vec::new();
    for node in nodes {
        let (pair, until) = authority.sign(&node, args.days)?;
        created.push((node, pair, until));
    }
    if is_new {
        store.write(AUTHORITY, &authority.pair)?;
        let (files, until) = (store.pair(AUTHORITY), authority.until.date());
        screen::print_line(&format!(
            "created {files}: authority of a new cluster, valid until {until}"
        ));
    }
    for (node, pair, until) in &created {
        store.write(&node.name, pair)?;
        let (files, names) = (store.pair(&node.name), node.names.join(", "));
        screen::print_line(&format!("created {files}: for {names}; valid until {until}"));
    }
    let first = created.first().map_or("NAME", |(node, ..)| node.name.as_str());
    screen::print_line(&next_steps(&args.out, first, args.renew));
    Ok(Exit::Finished)
}

/// Returns the nodes of the arguments, checked against existing files.
fn nodes(args: &CertsArgs, store: &CertificateStore) -> Result<Vec<Node>, CliError> {
    let mut nodes: Vec<Node> = Vec::new();
    for text in &args.nodes {
        let node = Node::parse(text).map_err(|why| usage!("{}: {why}", text.escape_debug()))?;
        if nodes.iter().any(|other| other.name == node.name) {
            return Err(usage!("{} is named twice", node.name));
        }
        nodes.push(node);
    }
    if nodes.is_empty() {
        nodes = store.nodes()?.iter().flat_map(|name| Node::parse(name)).collect();
        if nodes.is_empty() {
            let dir = args.out.display();
            return Err(usage!("{dir} contains no certificate of a node to renew"));
        }
    }
    for node in &mut nodes {
        let file = store.certificate(&node.name);
        match (store.has(&node.name), args.renew) {
            (true, false) => {
                return Err(usage!("{} exists already: --renew replaces it", file.display()));
            }
            // The node keeps the names of its certificate.
            (true, true) if node.is_bare => node.add(store.names(&node.name)?),
            _ => {}
        }
    }
    Ok(nodes)
}

/// Returns instructions for the use of the files.
fn next_steps(dir: &Path, node: &str, renewed: bool) -> String {
    let dir = dir.display();
    if renewed {
        return format!(
            "next: copy each node's new files over its old ones. Running nodes read them within \
             seconds; no restart is needed. Do not copy {dir}/ca.key to any node"
        );
    }
    format!(
        "next: copy {dir}/ca.pem, its own NAME.pem and NAME.key, and a node secret (`crivello token \
         --out {dir}/node-secret` creates one) to each node, but {dir}/ca.key to none. Then start \
         each node with, for example,\n  --tls-cert {node}.pem --tls-key {node}.key --tls-ca ca.pem \
         --node-secret-file node-secret\nand agents and commands with --coordinator \
         https://HOST:PORT, where HOST is one of the names in the coordinator's certificate. The \
         coordinator and commands also need --token-file, with a token of people"
    )
}
