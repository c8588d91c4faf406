//! `host policy`: make small policies, import large ones, look at any.

mod ask;
mod card;
mod export;
mod import;

use std::path::Path;

use super::{load_config, report};
use troupe_cli::args::{
    CheckpointArgs, DtypeName, PolicyCommand, PolicyNewArgs, PolicyScoreArgs, PresetName,
};
use troupe_core::config::{Dtype, LoraConfig};
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_core::storage::StorageError;
use troupe_model::{Device, Policy, PolicyError, Rounding};
use troupe_training::family::set_families;
use troupe_training::team::vocabulary;

pub fn run(
    command: PolicyCommand,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    match command {
        PolicyCommand::New(args) => new(&args, device()?)?,
        PolicyCommand::Inspect { folder, dtype } => {
            describe(&load(&CheckpointArgs { folder, adapter: None, dtype }, device()?)?)?;
        }
        PolicyCommand::Score(args) => score(&args, device()?)?,
        PolicyCommand::Import(args) => import::import(&args, device()?)?,
        PolicyCommand::Render(args) => ask::render(&args, device()?)?,
        PolicyCommand::Ask(args) => ask::ask(&args, device()?)?,
        PolicyCommand::Export(args) => export::export(&args, device()?)?,
        PolicyCommand::Card(args) => card::card(&args)?,
    }
    Ok(ExitCode::Success)
}

fn load(args: &CheckpointArgs, device: Device) -> Result<Policy, PolicyError> {
    let dtype = args.dtype.map(|name| dtype_of(name, device));
    let policy = Policy::load_in(&args.folder, dtype, device)?;
    match &args.adapter {
        None => Ok(policy),
        Some(folder) => {
            let lora = LoraConfig { path: Some(folder.clone()), ..LoraConfig::default() };
            policy.adapt(&lora, Seed::new(0))
        }
    }
}

pub fn dtype_of(name: DtypeName, device: Device) -> Dtype {
    match name {
        DtypeName::Auto => device.suited_dtype(),
        DtypeName::Float32 => Dtype::Float32,
        DtypeName::Bfloat16 => Dtype::Bfloat16,
    }
}

/// What answers may lose for being faster: nothing, where 32 bits were asked for.
pub fn rounding(asked: Option<DtypeName>) -> Rounding {
    match asked {
        Some(DtypeName::Float32) => Rounding::Exact,
        None | Some(DtypeName::Auto | DtypeName::Bfloat16) => Rounding::Nearest,
    }
}

fn score(args: &PolicyScoreArgs, device: Device) -> anyhow::Result<()> {
    let policy = load(&args.checkpoint, device)?;
    let tokens = match &args.text {
        Some(text) => policy.wording().encode_text(text)?,
        None => args.tokens.clone(),
    };
    let logprobs = policy.score(&tokens)?;
    report::line(&serde_json::json!({ "tokens": tokens, "logprobs": logprobs }).to_string());
    Ok(())
}

/// What was earned is kept: a policy is replaced only by who says so.
pub fn check_free(folder: &Path, force: bool) -> Result<(), StorageError> {
    if force || !Policy::is_in(folder) {
        return Ok(());
    }
    let reason = "a policy is there already; choose another folder, or replace it with `--force`";
    Err(StorageError::Unfit { path: folder.to_owned(), reason: reason.to_owned() })
}

fn new(args: &PolicyNewArgs, device: Device) -> anyhow::Result<()> {
    check_free(&args.out, args.force)?;
    let config = load_config(&args.config)?;
    let words = vocabulary(&set_families(&config)?, &config);
    // The preset's sizes are the defaults of [policies.<name>].
    let PresetName::Tiny = args.preset;
    let shape = config.policies.get("shared").cloned().unwrap_or_default();
    let seed = Seed::new(config.run.seed).named("policy").named("shared");
    let policy = Policy::random(&shape, &words, seed, device)?;
    policy.save(&args.out)?;
    describe(&policy)?;
    report::line(&format!("  written to {}", args.out.display()));
    Ok(())
}

fn describe(policy: &Policy) -> anyhow::Result<()> {
    let config = policy.config();
    let row = |what: &str, value: String| vec![what.to_owned(), value];
    report::table(
        &["policy", ""],
        &[
            row("architecture", config.architectures.join(", ")),
            row("parameters", policy.parameter_count().to_string()),
            row("layers", config.num_hidden_layers.to_string()),
            row("width", config.hidden_size.to_string()),
            row(
                "heads",
                format!(
                    "{} ({} key-value)",
                    config.num_attention_heads, config.num_key_value_heads
                ),
            ),
            row("vocabulary", config.vocab_size.to_string()),
            row("context", format!("{} tokens", config.max_position_embeddings)),
            row("weights", format!("sha256 {}", policy.digest()?)),
        ],
    );
    Ok(())
}
