//! `host policy export`: a checkpoint written again, or the policy of a run.

use std::path::{Path, PathBuf};

use super::super::eval;
use super::card::{Subject, put_beside};
use super::{check_free, describe, load, report};
use troupe_cli::args::{CheckpointArgs, ConfigArgs, PolicyExportArgs};
use troupe_core::config::{Config, ConfigError};
use troupe_core::error::suggestion;
use troupe_model::Device;
use troupe_training::team::export_distant;

/// Write a policy with its adapter merged in.
pub fn export(args: &PolicyExportArgs, device: Device) -> anyhow::Result<()> {
    check_free(&args.out, args.force)?;
    if let Some((config, name)) = distant(args)? {
        if args.dtype.is_some() {
            let reason = format!(
                "the server of `{name}` says what type its weights have; leave it out, and say it \
                 to what loads the adapter"
            );
            return Err(ConfigError::Invalid { key: "--dtype".to_owned(), reason }.into());
        }
        export_distant(&config, &name, &args.out)?;
        put_beside(&Subject { folder: args.out.clone(), ..subject(args)? }, &args.out)?;
        report::line(&format!("  adapter written to {}", args.out.display()));
        return Ok(());
    }
    let policy = load(&source(args)?, device)?.merged()?;
    policy.save(&args.out)?;
    put_beside(&Subject { merged: true, ..subject(args)? }, &args.out)?;
    describe(&policy)?;
    report::line(&format!("  written to {}", args.out.display()));
    Ok(())
}

/// The run's configuration and the policy, if a server has its weights.
fn distant(args: &PolicyExportArgs) -> anyhow::Result<Option<(Config, String)>> {
    let Some(run) = &args.run else { return Ok(None) };
    let config = eval::config_of(&ConfigArgs::default(), Some(run), args.step)?;
    let name = trained(&config, args.policy.as_deref(), run)?;
    let is_there = config.policies.get(&name).is_some_and(|policy| policy.tinker.is_some());
    Ok(is_there.then_some((config, name)))
}

/// What its card is about.
fn subject(args: &PolicyExportArgs) -> anyhow::Result<Subject> {
    let folder = args.adapter.as_ref().or(args.folder.as_ref());
    let place = args.run.as_ref().or(folder).map_or(Path::new(""), PathBuf::as_path);
    let step = args.run.is_some().then_some(args.step);
    Subject::find(place, args.policy.as_deref(), step)
}

/// Where the policy lies.
fn source(args: &PolicyExportArgs) -> anyhow::Result<CheckpointArgs> {
    let PolicyExportArgs { folder, adapter, dtype, .. } = args;
    let Some(run) = &args.run else {
        let folder = folder.clone().unwrap_or_default();
        return Ok(CheckpointArgs { folder, adapter: adapter.clone(), dtype: *dtype });
    };
    let config = eval::config_of(&ConfigArgs::default(), Some(run), args.step)?;
    let name = trained(&config, args.policy.as_deref(), run)?;
    let own = &config.policies[&name];
    let base = own.base.as_ref().and_then(|base| config.policies.get(base));
    let adapter = own.lora.as_ref().and_then(|lora| lora.path.clone());
    let folder = base.unwrap_or(own).path.clone().unwrap_or_default();
    Ok(CheckpointArgs { folder, adapter, dtype: *dtype })
}

/// The policy that is wanted of those that the run trained, or the only one.
pub(super) fn trained(
    config: &Config,
    wanted: Option<&str>,
    run: &Path,
) -> Result<String, ConfigError> {
    let names: Vec<&String> = config.policies.keys().filter(|name| config.trains(name)).collect();
    let found = match wanted {
        Some(wanted) => names.iter().find(|name| **name == wanted),
        None => names.first().filter(|_| names.len() == 1),
    };
    found.map(|name| (*name).clone()).ok_or_else(|| {
        let likely =
            wanted.map(|wanted| suggestion(wanted, names.iter().map(|name| name.as_str())));
        let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        ConfigError::Invalid {
            key: "--policy".to_owned(),
            reason: format!(
                "it must be one that `{}` trained: {}{}",
                run.display(),
                listed.join(", "),
                likely.unwrap_or_default()
            ),
        }
    })
}
