//! The copy of the view and of the settings that each agent keeps in its directory. If the
//! coordinator's directory is lost, a new record is made from these copies.

use crate::v1;
use crivello_common::sealed::{seal, unseal};
use prost::Message as _;

/// Name of the file in an agent's directory.
pub const CLUSTER_VIEW_FILE: &str = "cluster.view";
const MAGIC: &[u8] = b"crivello cluster view 1\n";

/// Returns the content of the file.
#[must_use]
pub fn encode(view: &v1::ClusterView) -> Vec<u8> {
    seal(MAGIC, &view.encode_to_vec())
}

/// Reads the content of the file.
///
/// # Errors
/// Returns a text that completes "the file is …".
pub fn decode(bytes: &[u8]) -> Result<v1::ClusterView, String> {
    v1::ClusterView::decode(unseal(MAGIC, bytes)?).map_err(|error| format!("damaged: {error}"))
}
