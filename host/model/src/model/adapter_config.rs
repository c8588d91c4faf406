//! `adapter_config.json`, as `peft` reads and writes it.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::architecture::ModelConfig;
use super::entries::Entries;
use crate::error::PolicyError;
use crate::keys::{Keys, shown};
use troupe_core::config::LoraConfig;
use troupe_core::storage::{read_json, write_json};

/// The linear maps that can be adapted.
const MODULES: [&str; 7] =
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
/// Those of them that experts have in place of the layer.
const EXPERTS: [&str; 3] = ["gate_proj", "up_proj", "down_proj"];
/// What an `adapter_config.json` may say.
const KEYS: Keys = Keys {
    heeded: &[&[
        "bias",
        "init_lora_weights",
        "lora_alpha",
        "peft_type",
        "r",
        "target_modules",
        "use_rslora",
    ]],
    // Where it comes from, and how it was trained.
    idle: &[
        "auto_mapping",
        "base_model_name_or_path",
        "eva_config",
        "inference_mode",
        "lora_dropout",
        "peft_version",
        "qalora_group_size",
        "revision",
        "runtime_config",
    ],
    fixed: &[
        ("alora_invocation_string", &["\"\""]),
        ("alora_invocation_tokens", &["[]"]),
        ("alpha_pattern", &["{}"]),
        ("arrow_config", &["{}"]),
        ("corda_config", &["{}"]),
        ("ensure_weight_tying", &["false"]),
        ("exclude_modules", &["[]", "\"\""]),
        ("fan_in_fan_out", &["false"]),
        ("kasa_config", &["{}"]),
        ("layer_replication", &["[]"]),
        ("layers_pattern", &["[]", "\"\""]),
        ("layers_to_transform", &["[]"]),
        ("loftq_config", &["{}"]),
        ("lora_bias", &["false"]),
        ("lora_ga_config", &["{}"]),
        ("megatron_config", &["{}"]),
        // Of layers that only `megatron_config` makes.
        ("megatron_core", &["\"megatron.core\""]),
        ("modules_to_save", &["[]"]),
        ("monteclora_config", &["{}"]),
        ("rank_pattern", &["{}"]),
        ("target_parameters", &["[]"]),
        ("task_type", &["\"CAUSAL_LM\""]),
        ("trainable_token_indices", &["[]", "{}"]),
        ("use_bdlora", &["{}", "false"]),
        ("use_dora", &["false"]),
        ("use_qalora", &["false"]),
        ("velora_config", &["{}"]),
    ],
};
/// Beginnings that leave the base as it is.
const BEGINNINGS: [&str; 3] = ["gaussian", "eva", "orthogonal"];

/// The shape of an adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterConfig {
    /// Inner width.
    pub(super) rank: i64,
    alpha: f64,
    rank_stabilized: bool,
    modules: Vec<String>,
}

impl AdapterConfig {
    /// As the configuration has it.
    pub fn of(config: &LoraConfig) -> Result<Self, PolicyError> {
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
        let entries: Map<String, Value> = read_json(&path)?;
        let adapter = AdapterConfig::parse(&entries).and_then(|adapter| {
            adapter.check()?;
            Ok(adapter)
        });
        adapter.map_err(|reason| PolicyError::Adapter(format!("`{}`: {reason}", path.display())))
    }

    fn parse(original: &Map<String, Value>) -> Result<Self, String> {
        let entries = Entries::of(original);
        let kind = entries.text("peft_type")?.unwrap_or("missing");
        if kind != "LORA" {
            return Err(format!("its `peft_type` is `{kind}`; `LORA` is supported"));
        }
        KEYS.check(original)?;
        check_beginning(entries.value("init_lora_weights"))?;
        if let Some(bias) = entries.text("bias")?.filter(|bias| *bias != "none") {
            return Err(format!("`bias` is `{bias}`, which is not supported; only `none` is"));
        }
        let modules = match entries.value("target_modules") {
            Some(Value::String(word)) if word == "all-linear" => {
                MODULES.map(str::to_owned).to_vec()
            }
            Some(Value::Array(_)) => entries.texts("target_modules")?,
            other => {
                let found = other.map_or("missing".to_owned(), shown);
                return Err(format!("`target_modules` is {found}; a list of names is supported"));
            }
        };
        Ok(AdapterConfig {
            rank: entries.required("r", entries.integer("r")?)?,
            alpha: entries.required("lora_alpha", entries.number("lora_alpha")?)?,
            rank_stabilized: entries.flag("use_rslora")?.unwrap_or(false),
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

/// Some beginnings are subtracted from the base, which is another one from then on; `peft` does so
/// again whenever it loads the adapter.
fn check_beginning(value: Option<&Value>) -> Result<(), String> {
    let leaves_the_base = match value {
        None | Some(Value::Bool(_)) => true,
        Some(Value::String(name)) => BEGINNINGS.contains(&name.as_str()),
        Some(_) => false,
    };
    match value.filter(|_| !leaves_the_base) {
        None => Ok(()),
        Some(value) => Err(format!(
            "`init_lora_weights` is `{}`, so it may belong to a base that was changed when the \
             adapter was made; have `peft` convert it to an ordinary one \
             (`path_initial_model_for_weight_conversion` of `save_pretrained`), which says `true`",
            shown(value)
        )),
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
        let adapter = AdapterConfig::parse(value.as_object().unwrap());
        adapter.and_then(|adapter| adapter.check().map(|()| adapter))
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
    fn the_configuration_takes_the_ranks_that_an_adapter_may_have() {
        for (rank, fits) in [(0, false), (1, true), (4096, true), (4097, false)] {
            let config = LoraConfig { rank, ..LoraConfig::default() };
            assert_eq!(AdapterConfig::of(&config).is_ok(), fits, "{rank}");
            let setting = format!("policies.shared.lora.rank={rank}");
            // Whatever its rank, this adapter has no base.
            let error = troupe_core::config::Config::load(None, &[setting]).unwrap_err();
            assert_eq!(!error.to_string().contains("lora.rank"), fits, "{rank}: {error}");
        }
    }

    /// One row a key: values that change nothing, and one that would.
    #[test]
    fn what_would_change_the_result_is_refused_by_name() {
        let some = || json!({ "made": "up" });
        for (option, neutral, setting) in [
            ("alora_invocation_string", vec![json!("")], json!("<go>")),
            ("alora_invocation_tokens", vec![], json!([5, 6])),
            ("alpha_pattern", vec![json!({})], json!({ "q_proj": 4 })),
            ("arrow_config", vec![], json!({ "top_k": 3 })),
            ("bias", vec![json!("none")], json!("all")),
            ("corda_config", vec![], json!({ "corda_method": "kpm" })),
            ("ensure_weight_tying", vec![json!(false)], json!(true)),
            ("exclude_modules", vec![json!([]), json!("")], json!(["v_proj"])),
            ("fan_in_fan_out", vec![json!(false)], json!(true)),
            (
                "init_lora_weights",
                vec![
                    json!(true),
                    json!(false),
                    json!("gaussian"),
                    json!("eva"),
                    json!("orthogonal"),
                ],
                json!("pissa"),
            ),
            ("init_lora_weights", vec![], json!("pissa_niter_4")),
            ("init_lora_weights", vec![], json!("olora")),
            ("init_lora_weights", vec![], json!("corda")),
            ("init_lora_weights", vec![], json!("loftq")),
            ("init_lora_weights", vec![], json!("lora_ga")),
            ("init_lora_weights", vec![], json!("mica")),
            ("init_lora_weights", vec![], json!(3)),
            ("kasa_config", vec![], json!({ "beta": 1e-4 })),
            ("layer_replication", vec![json!([])], json!([[0, 1], [0, 2]])),
            ("layers_pattern", vec![json!([]), json!("")], json!("layers")),
            ("layers_to_transform", vec![json!([])], json!([1])),
            ("layers_to_transform", vec![], json!(0)),
            ("loftq_config", vec![json!({})], json!({ "loftq_bits": 4 })),
            ("lora_alpha", vec![json!(8), json!(0.5)], json!("16")),
            ("lora_bias", vec![json!(false)], json!(true)),
            ("lora_ga_config", vec![], some()),
            ("megatron_config", vec![json!({})], some()),
            ("megatron_core", vec![json!("megatron.core")], json!("other.core")),
            ("modules_to_save", vec![json!([])], json!(["lm_head"])),
            ("monteclora_config", vec![], some()),
            ("peft_type", vec![json!("LORA")], json!("IA3")),
            ("r", vec![json!(4)], json!("8")),
            ("rank_pattern", vec![json!({})], json!({ "q_proj": 4 })),
            ("target_modules", vec![json!(["o_proj"])], json!(".*_proj")),
            ("target_modules", vec![], json!(["q_proj", 3])),
            ("target_parameters", vec![json!([])], json!(["mlp.w"])),
            ("task_type", vec![json!("CAUSAL_LM")], json!("SEQ_CLS")),
            ("trainable_token_indices", vec![json!([]), json!({})], json!([7])),
            ("use_bdlora", vec![], some()),
            ("use_dora", vec![json!(false)], json!(true)),
            ("use_qalora", vec![json!(false)], json!(true)),
            ("use_rslora", vec![json!(true)], json!("yes")),
            ("velora_config", vec![], json!({ "num_groups": 64 })),
            ("made_up", vec![], some()),
        ] {
            for value in neutral {
                let read = parse(|adapter| adapter[option] = value.clone());
                assert_eq!(read.err(), None, "{option} {value}");
            }
            if !["peft_type", "r", "lora_alpha", "target_modules"].contains(&option) {
                assert_eq!(parse(|value| value[option] = Value::Null).err(), None, "{option}");
            }
            let error = parse(|value| value[option] = setting).unwrap_err();
            assert!(error.contains(option), "{option}: {error}");
        }
    }

    #[test]
    fn where_it_comes_from_and_how_it_was_trained_changes_nothing() {
        let plain = parse(|_| ()).unwrap();
        for option in KEYS.idle {
            for setting in [json!(null), json!("text"), json!(0.5), json!({ "parent": "x" })] {
                let read = parse(|value| value[*option] = setting).unwrap();
                assert_eq!(read, plain, "{option}");
            }
        }
    }

    #[test]
    fn over_a_base_with_experts_attention_alone_can_be_adapted() {
        let shape = |family: &str| {
            let mut file = json!({
                "model_type": family, "hidden_size": 8, "num_hidden_layers": 2,
                "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 8,
                "vocab_size": 9,
            });
            if family == "qwen3_moe" {
                file["mlp_only_layers"] = json!([0]);
            }
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
