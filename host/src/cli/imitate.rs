//! `host imitate`: policies that answer as the environment's expert would.

use super::args::ImitateArgs;
use super::{load_config, report, train};
use crate::error::ExitCode;
use crate::policy::{Device, PolicyError};
use crate::team::Team;

pub fn run(
    args: ImitateArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let config = load_config(&args.config)?;
    let mut team = Team::assemble(&config, device()?)?;
    train::warm_start(&config, &mut team)?;
    for (name, policy) in &team.policies {
        let folder = args.out.join(name);
        policy.save(&folder)?;
        report::line(&format!("{name}: {}", folder.display()));
    }
    Ok(ExitCode::Success)
}
