//! `adapter_config.json`, as `peft` reads and writes it.

use std::path::Path;

use serde_json::{Value, json};

use super::architecture::ModelConfig;
use crate::config::LoraConfig;
use crate::policy::error::PolicyError;
use crate::storage::{read_json, write_json};

/// The linear maps that can be adapted.
const MODULES: [&str; 7] =
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
/// Those of them that experts have in place of the layer.
const EXPERTS: [&str; 3] = ["gate_proj", "up_proj", "down_proj"];
/// Options of `peft` that would change the result, with the values at which they do not.
const REFUSED: [&str; 9] = [
    "use_dora",
    "rank_pattern",
    "alpha_pattern",
    "modules_to_save",
    "layers_to_transform",
    "layers_pattern",
    "exclude_modules",
    "fan_in_fan_out",
    "lora_bias",
];

/// The shape of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::policy) struct AdapterConfig {
    /// Inner width.
    pub(super) rank: i64,
    alpha: f64,
    rank_stabilized: bool,
    modules: Vec<String>,
}

impl AdapterConfig {
    /// As the configuration has it.
    pub(in crate::policy) fn of(config: &LoraConfig) -> Result<Self, PolicyError> {
        let adapter = AdapterConfig {
            rank: config.rank,
            alpha: config.alpha,
            rank_stabilized: config.rank_stabilized,
            modules: config.target_modules.clone(),
        };
        adapter.check().map_err(PolicyError::Adapter)?;
        Ok(adapter)
    }

    /// Read from a folder of `peft`.
    pub(super) fn load(folder: &Path) -> Result<Self, PolicyError> {
        let path = folder.join("adapter_config.json");
        let value: Value = read_json(&path)?;
        let adapter = AdapterConfig::parse(&value).and_then(|adapter| {
            adapter.check()?;
            Ok(adapter)
        });
        adapter.map_err(|reason| PolicyError::Adapter(format!("`{}`: {reason}", path.display())))
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let kind = value["peft_type"].as_str().unwrap_or("missing");
        if kind != "LORA" {
            return Err(format!("its `peft_type` is `{kind}`; `LORA` is supported"));
        }
        if let Some(option) = REFUSED.iter().find(|option| is_set(&value[**option])) {
            return Err(format!("`{option}` is set, which is not supported"));
        }
        if value["bias"].as_str().is_some_and(|bias| bias != "none") {
            return Err("`bias` is not `none`, which is not supported".to_owned());
        }
        let modules = match &value["target_modules"] {
            Value::String(word) if word == "all-linear" => MODULES.map(str::to_owned).to_vec(),
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            other => {
                return Err(format!("`target_modules` is {other}; a list of names is supported"));
            }
        };
        Ok(AdapterConfig {
            rank: value["r"].as_i64().unwrap_or(0),
            alpha: value["lora_alpha"].as_f64().unwrap_or(0.0),
            rank_stabilized: value["use_rslora"].as_bool().unwrap_or(false),
            modules,
        })
    }

    fn check(&self) -> Result<(), String> {
        if !(1..=4096).contains(&self.rank) {
            return Err(format!("its rank is {}, but must be between 1 and 4096", self.rank));
        }
        if !(self.alpha > 0.0 && self.alpha.is_finite()) {
            return Err(format!("its alpha is {}, but must be above 0", self.alpha));
        }
        match self.modules.iter().find(|name| !MODULES.contains(&name.as_str())) {
            Some(other) => Err(format!(
                "its target module `{other}` cannot be adapted; these can: {}",
                MODULES.join(", ")
            )),
            None if self.modules.is_empty() => Err("it has no target modules".to_owned()),
            None => Ok(()),
        }
    }

    /// Experts are no maps that can be adapted: each token takes others.
    pub(super) fn check_over(&self, shape: &ModelConfig) -> Result<(), PolicyError> {
        let expert = |name: &&String| EXPERTS.contains(&name.as_str());
        match self.modules.iter().find(expert).filter(|_| shape.has_experts()) {
            None => Ok(()),
            Some(name) => {
                let others = MODULES.iter().filter(|module| !EXPERTS.contains(module));
                let others: Vec<String> = others.map(|module| format!("\"{module}\"")).collect();
                Err(PolicyError::Adapter(format!(
                    "its target module `{name}` is one of experts in the base, which cannot be \
                     adapted; set `target_modules = [{}]`",
                    others.join(", ")
                )))
            }
        }
    }

    /// Write `adapter_config.json`.
    pub(super) fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        let config = json!({
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": null,
            "r": self.rank,
            "lora_alpha": whole(self.alpha),
            "lora_dropout": 0.0,
            "use_rslora": self.rank_stabilized,
            "use_dora": false,
            "target_modules": self.modules,
            "modules_to_save": null,
            "rank_pattern": {},
            "alpha_pattern": {},
            "bias": "none",
            "fan_in_fan_out": false,
            "init_lora_weights": true,
            "inference_mode": true,
        });
        Ok(write_json(&folder.join("adapter_config.json"), &config)?)
    }

    /// Whether a module, such as `mlp.up_proj`, is adapted.
    pub(super) fn adapts(&self, module: &str) -> bool {
        let name = module.rsplit('.').next().unwrap_or(module);
        self.modules.iter().any(|own| own == name)
    }

    /// s = alpha / rank, or alpha / √rank with rank stabilization.
    pub(super) fn scale(&self) -> f64 {
        let rank = self.rank as f64;
        self.alpha / if self.rank_stabilized { rank.sqrt() } else { rank }
    }
}

/// A number without a fraction is written as an integer, as `peft` and vLLM expect it.
fn whole(number: f64) -> Value {
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}

/// Whether an option differs from its neutral value.
fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(change: impl FnOnce(&mut Value)) -> Result<AdapterConfig, String> {
        let mut value = json!({
            "peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"],
            "bias": "none", "lora_dropout": 0.05, "modules_to_save": null, "rank_pattern": {},
        });
        change(&mut value);
        AdapterConfig::parse(&value).and_then(|adapter| adapter.check().map(|()| adapter))
    }

    #[test]
    fn what_peft_writes_is_understood() {
        let adapter = parse(|_| ()).unwrap();
        assert_eq!((adapter.rank, adapter.scale()), (8, 2.0));
        assert!(adapter.adapts("self_attn.q_proj") && !adapter.adapts("self_attn.k_proj"));
        let stabilized = parse(|value| value["use_rslora"] = true.into()).unwrap();
        assert!((stabilized.scale() - 16.0 / 8.0_f64.sqrt()).abs() < 1e-12);
        let all = parse(|value| value["target_modules"] = "all-linear".into()).unwrap();
        assert!(MODULES.iter().all(|module| all.adapts(module)));
    }

    #[test]
    fn what_would_change_the_result_is_refused_by_name() {
        for (option, setting) in [
            ("use_dora", json!(true)),
            ("rank_pattern", json!({ "q_proj": 4 })),
            ("modules_to_save", json!(["lm_head"])),
            ("layers_to_transform", json!([1])),
            ("bias", json!("all")),
            ("peft_type", json!("IA3")),
            ("target_modules", json!(".*_proj")),
        ] {
            let error = parse(|value| value[option] = setting).unwrap_err();
            assert!(error.contains(&format!("`{option}`")), "{error}");
        }
    }

    #[test]
    fn over_a_base_with_experts_attention_alone_can_be_adapted() {
        let shape = |family: &str| {
            let file = json!({
                "model_type": family, "hidden_size": 8, "num_hidden_layers": 2,
                "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 8,
                "vocab_size": 9, "mlp_only_layers": [0],
            });
            ModelConfig::read(file.as_object().unwrap().clone()).unwrap()
        };
        let attention = parse(|_| ()).unwrap();
        attention.check_over(&shape("qwen3_moe")).unwrap();
        let all = parse(|value| value["target_modules"] = "all-linear".into()).unwrap();
        all.check_over(&shape("qwen3")).unwrap();
        let error = all.check_over(&shape("qwen3_moe")).unwrap_err().to_string();
        assert!(error.contains("`gate_proj` is one of experts"), "{error}");
        let advice = "`target_modules = [\"q_proj\", \"k_proj\", \"v_proj\", \"o_proj\"]`";
        assert!(error.contains(advice), "{error}");
    }

    #[test]
    fn written_and_read_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let adapter = parse(|value| value["use_rslora"] = true.into()).unwrap();
        adapter.save(folder.path()).unwrap();
        assert_eq!(AdapterConfig::load(folder.path()).unwrap(), adapter);
    }
}
