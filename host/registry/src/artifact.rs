//! What is pushed: a component, a configuration, and a manifest that names both.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use troupe_core::oci::{COMPONENT, SHA256};
use troupe_core::storage::digest;

/// The media type of an image's manifest.
pub(crate) const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of the configuration.
const CONFIGURATION: &str = "application/vnd.wasm.config.v0+json";
/// The same component has the same manifest, whoever pushes it when.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// A component and what is said of it.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The component.
    pub component: Vec<u8>,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// Its name, as it says.
    pub title: String,
    /// Its version, as it says.
    pub version: String,
    /// One sentence.
    pub description: String,
    /// An SPDX expression, if its author says one.
    pub licenses: Option<String>,
    /// Where its sources are, if its author says so.
    pub source: Option<String>,
}

/// The configuration, in the words of `oci-wasm`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    created: &'static str,
    author: Option<&'a str>,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [String; 1],
    component: Interfaces<'a>,
}

#[derive(Serialize)]
struct Interfaces<'a> {
    exports: &'a [String],
    imports: &'a [String],
    target: Option<&'a str>,
}

impl Artifact {
    /// SHA-256 of its manifest, in hexadecimal: what it has in every registry.
    pub fn digest(&self) -> String {
        digest(&self.written().1)
    }

    /// The bytes of configuration and manifest.
    pub(crate) fn written(&self) -> (Vec<u8>, Vec<u8>) {
        let component = format!("{SHA256}{}", digest(&self.component));
        let configuration = Configuration {
            created: CREATED,
            author: None,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [component.clone()],
            component: Interfaces { exports: &self.exports, imports: &self.imports, target: None },
        };
        let configuration = json!(configuration).to_string().into_bytes();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": IMAGE,
            "config": {
                "mediaType": CONFIGURATION,
                "digest": format!("{SHA256}{}", digest(&configuration)),
                "size": configuration.len(),
            },
            "layers": [{
                "mediaType": COMPONENT,
                "digest": component,
                "size": self.component.len(),
            }],
            "annotations": self.annotations(),
        });
        (configuration, manifest.to_string().into_bytes())
    }

    fn annotations(&self) -> BTreeMap<String, &str> {
        let said = [
            ("title", Some(&self.title)),
            ("version", Some(&self.version)),
            ("description", Some(&self.description)),
            ("licenses", self.licenses.as_ref()),
            ("source", self.source.as_ref()),
        ];
        let said = said.into_iter().filter_map(|(name, said)| Some((name, said?.as_str())));
        said.map(|(name, said)| (format!("org.opencontainers.image.{name}"), said)).collect()
    }
}

#[cfg(test)]
mod tests {
    use troupe_core::oci::Manifest;

    use super::*;

    #[test]
    fn a_manifest_names_its_component_and_configuration_and_is_the_same_every_time() {
        let artifact = Artifact {
            component: b"\0asm".to_vec(),
            imports: vec!["troupe:plugin/log@1.0.0".to_owned()],
            exports: vec!["troupe:plugin/environment@1.0.0".to_owned()],
            title: "sudoku".to_owned(),
            version: "1.2.0".to_owned(),
            description: "A sudoku.".to_owned(),
            licenses: Some("MIT".to_owned()),
            source: None,
        };
        let (configuration, manifest) = artifact.written();
        assert_eq!(artifact.written(), (configuration.clone(), manifest.clone()));
        let read = Manifest::read(&manifest).unwrap();
        assert_eq!((read.component, read.size), (digest(b"\0asm"), 4));
        assert_eq!(read.licenses.as_deref(), Some("MIT"));
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let named = format!("{SHA256}{}", digest(&configuration));
        assert_eq!(manifest["config"]["digest"], named);
        assert_eq!(manifest["annotations"]["org.opencontainers.image.version"], "1.2.0");
        assert!(manifest["annotations"].get("org.opencontainers.image.source").is_none());
        let configuration: serde_json::Value = serde_json::from_slice(&configuration).unwrap();
        assert_eq!(configuration["layerDigests"][0], manifest["layers"][0]["digest"]);
        assert_eq!(configuration["os"], "wasip2");
    }
}
