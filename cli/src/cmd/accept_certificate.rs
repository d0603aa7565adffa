//! `crivello accept-certificate`: lets an agent join with another certificate.

use crate::args::cluster::AcceptCertificateArgs;
use crate::cluster::connect;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::certificate_id::CertificateId;
use crivello_proto::v1;

/// Accepts one more certificate of an agent.
///
/// # Errors
/// Returns a usage error if the certificate's identity is malformed, or if there is no such agent.
pub async fn run(args: &AcceptCertificateArgs) -> Result<Exit, CliError> {
    let id = args.certificate.parse::<CertificateId>();
    let id = id.map_err(|why| usage!("{} {why}", args.certificate.escape_debug()))?;
    let (mut client, _) = connect(&args.coordinator).await?;
    let agent = args.agent.clone();
    let certificate = id.0.to_vec().into();
    client.accept_certificate(v1::AcceptCertificateRequest { agent, certificate }).await?;
    screen::print_line(&format!("{} may join with the certificate {id}", args.agent));
    Ok(Exit::Finished)
}
