//! An adapter as it comes from a server, made a folder that `peft` and we read.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::{Map, Value};
use tar::Archive;

use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};

/// The two files of an adapter.
const CONFIG: &str = "adapter_config.json";
const WEIGHTS: &str = "adapter_model.safetensors";
/// Bytes that an adapter may have.
const MOST: u64 = 8 << 30;

/// The files of an adapter.
#[derive(Debug)]
pub(crate) struct Adapter {
    config: Map<String, Value>,
    weights: Vec<u8>,
}

impl Adapter {
    /// Read a `tar.gz` in which they lie; anything else in it is passed over.
    pub(crate) fn read(archive: &[u8]) -> Result<Adapter, TinkerFailure> {
        let failed = |reason: String| {
            Kind::Malformed.because(format!("the archive of an adapter: {reason}"))
        };
        let (mut config, mut weights) = (None, None);
        let mut unpacked = Archive::new(GzDecoder::new(archive).take(MOST));
        let entries = unpacked.entries().map_err(|error| failed(error.to_string()))?;
        for entry in entries {
            let mut entry = entry.map_err(|error| failed(error.to_string()))?;
            let name = entry.path().ok().and_then(|it| Some(it.file_name()?.to_owned()));
            let place = match name.as_deref().and_then(|name| name.to_str()) {
                Some(CONFIG) => &mut config,
                Some(WEIGHTS) => &mut weights,
                _ => continue,
            };
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
            *place = Some(bytes);
        }
        let missing = |name: &str| failed(format!("there is no `{name}` in it"));
        let config = config.ok_or_else(|| missing(CONFIG))?;
        let config = serde_json::from_slice(&config).map_err(|error| failed(error.to_string()))?;
        Adapter { config, weights: weights.ok_or_else(|| missing(WEIGHTS))? }.filled_in(failed)
    }

    /// With the modules that are adapted, which are read off the names of the weights, and what
    /// `peft` wants to be told.
    fn filled_in(
        mut self,
        failed: impl Fn(String) -> TinkerFailure,
    ) -> Result<Adapter, TinkerFailure> {
        let length: Option<[u8; 8]> = self.weights.get(..8).and_then(|it| it.try_into().ok());
        let length = length.map(|it| u64::from_le_bytes(it) as usize);
        let header = length.and_then(|length| self.weights.get(8..8 + length));
        let header: Option<Map<String, Value>> =
            header.and_then(|header| serde_json::from_slice(header).ok());
        let header = header.ok_or_else(|| failed(format!("`{WEIGHTS}` is none")))?;
        let mut modules: Vec<&str> = header
            .keys()
            .filter_map(|key| key.split(".lora_A").next().filter(|module| *module != key))
            .filter_map(|module| module.rsplit('.').next())
            .collect();
        modules.sort_unstable();
        modules.dedup();
        if modules.is_empty() {
            return Err(failed(format!("`{WEIGHTS}` holds no LoRA")));
        }
        if self.config.get("target_modules").is_none_or(Value::is_null) {
            let modules = modules.into_iter().map(Value::from).collect();
            self.config.insert("target_modules".to_owned(), Value::Array(modules));
        }
        for (key, value) in [("peft_type", "LORA"), ("task_type", "CAUSAL_LM")] {
            if self.config.get(key).is_none_or(Value::is_null) {
                self.config.insert(key.to_owned(), Value::from(value));
            }
        }
        Ok(self)
    }

    /// Write the folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), troupe_core::storage::StorageError> {
        use troupe_core::storage::{create_folder, write_file, write_json};
        create_folder(folder)?;
        write_file(&folder.join(WEIGHTS), &self.weights)?;
        write_json(&folder.join(CONFIG), &self.config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use serde_json::json;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        // As servers write it: the folder itself comes first.
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Directory);
        header.set_size(0);
        archive.append_data(&mut header, "./", std::io::empty()).unwrap();
        for (name, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, name, *bytes).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn weights(keys: &[&str]) -> Vec<u8> {
        let empty = json!({ "dtype": "F32", "shape": [0], "data_offsets": [0, 0] });
        let header: Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), empty.clone())).collect();
        let header = Value::from(header).to_string().into_bytes();
        [&(header.len() as u64).to_le_bytes()[..], &header].concat()
    }

    #[test]
    fn modules_that_a_server_leaves_out_are_read_off_the_weights() {
        let keys = [
            "base_model.model.model.layers.0.mlp.down_proj.lora_A.weight",
            "base_model.model.model.layers.0.mlp.down_proj.lora_B.weight",
            "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight",
        ];
        let config = json!({ "r": 4, "lora_alpha": 32, "target_modules": null }).to_string();
        let files = [(CONFIG, config.as_bytes()), (WEIGHTS, &weights(&keys)[..])];
        let folder = tempfile::tempdir().unwrap();
        Adapter::read(&archive(&files)).unwrap().write(&folder.path().join("out")).unwrap();
        let written = std::fs::read(folder.path().join("out").join(CONFIG)).unwrap();
        let written: Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(written["target_modules"], json!(["down_proj", "q_proj"]));
        assert_eq!((&written["r"], &written["peft_type"]), (&json!(4), &json!("LORA")));
    }

    #[test]
    fn an_archive_that_is_no_adapter_is_refused() {
        let files = [(CONFIG, &b"{}"[..])];
        for (bytes, named) in [
            (b"no archive".to_vec(), "archive of an adapter"),
            (archive(&files), WEIGHTS),
            (archive(&[(CONFIG, b"{}"), (WEIGHTS, b"short")]), WEIGHTS),
            (archive(&[(CONFIG, b"{}"), (WEIGHTS, &weights(&["norm"])[..])]), "no LoRA"),
        ] {
            let failure = Adapter::read(&bytes).unwrap_err();
            assert!(failure.message.contains(named), "{failure}");
        }
    }
}
