//! Compilation of the `.proto` files in pure Rust: no `protoc` is needed. Their descriptors are
//! stored beside the code, for gRPC reflection. The messages of `explanation.proto` can also be
//! serialized as JSON, in the form described in that file, and so can `RecrawlProgress`
//! and `UploadProgress`.

use prost::Message;
use prost_types::DescriptorProto;
use prost_types::field_descriptor_proto::Type;
use std::error::Error;
use std::path::Path;
use tonic_prost_build::Builder;

const FILES: [&str; 5] = [
    "crivello/v1/coordinator.proto",
    "crivello/v1/peer.proto",
    "crivello/v1/explanation.proto",
    "crivello/v1/search.proto",
    "crivello/v1/agent.proto",
];
/// File whose messages can be serialized as JSON.
const JSON: &str = "crivello/v1/explanation.proto";

/// Message with a secret: its `Debug` is written by hand.
const SECRET: &str = ".crivello.v1.JoinResponse";

fn main() -> Result<(), Box<dyn Error>> {
    for file in FILES {
        println!("cargo::rerun-if-changed=proto/{file}");
    }
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("crivello.v1.bin"), descriptors.encode_to_vec())?;
    let mut builder = tonic_prost_build::configure().bytes(".crivello.v1");
    for file in descriptors.file.iter().filter(|file| file.name() == JSON) {
        for message in &file.message_type {
            builder = json(builder, ".crivello.v1", message);
        }
        for kind in &file.enum_type {
            let path = format!(".crivello.v1.{}", kind.name());
            builder = builder
                .enum_attribute(&path, "#[derive(serde::Serialize)]")
                .enum_attribute(&path, "#[serde(rename_all = \"kebab-case\")]");
        }
    }
    builder
        .type_attribute(".crivello.v1.RecrawlProgress", "#[derive(serde::Serialize)]")
        .type_attribute(".crivello.v1.UploadProgress", "#[derive(serde::Serialize)]")
        .enum_attribute("Wait.reason", "#[serde(tag = \"reason\", rename_all = \"kebab-case\")]")
        .skip_debug([SECRET])
        .field_attribute("Wait.reason", "#[serde(flatten)]")
        .enum_attribute("Explanation.archive_file", "#[serde(rename_all = \"snake_case\")]")
        .field_attribute("Explanation.archive_file", "#[serde(flatten)]")
        .enum_attribute("AgentAnswer.result", "#[serde(rename_all = \"snake_case\")]")
        .field_attribute("AgentAnswer.result", "#[serde(flatten)]")
        .enum_attribute("UrlStatus.rule", "#[serde(rename_all = \"snake_case\")]")
        .compile_fds(descriptors)?;
    Ok(())
}

/// Derives `Serialize` for a message: enum values by name, times as text, groups in hexadecimal.
fn json(mut builder: Builder, parent: &str, message: &DescriptorProto) -> Builder {
    let path = format!("{parent}.{}", message.name());
    if parent == ".crivello.v1" {
        // Both settings also apply to the messages and the oneofs within it.
        builder = builder.type_attribute(&path, "#[derive(serde::Serialize)]").btree_map(&path);
    }
    for field in &message.field {
        let with = match field.r#type() {
            Type::Enum => {
                let (_, kind) = field.type_name().rsplit_once('.').unwrap_or_default();
                format!("name::<crate::v1::{kind}, _>")
            }
            Type::Fixed64 if field.name() == "group" => "group".to_owned(),
            Type::Fixed64 => "time".to_owned(),
            _ => continue,
        };
        let attribute = format!("#[serde(serialize_with = \"crate::explanation::json::{with}\")]");
        builder = builder.field_attribute(format!("{path}.{}", field.name()), attribute);
    }
    message.nested_type.iter().fold(builder, |builder, nested| json(builder, &path, nested))
}
