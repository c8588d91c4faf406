//! `host serve --policy` and `--run`: a policy, or a team, for clients of `OpenAI`'s API.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context;

use super::policy::{dtype_of, rounding};
use super::report;
use super::team_desk::TeamDesk;
use troupe_cli::args::{ConfigArgs, DtypeName, ServeArgs};
use troupe_core::config::LoraConfig;
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy, PolicyError, Rounding};
use troupe_server::command::SessionArgs;
use troupe_server::{ApiOptions, ApiServer, HttpServer};
use troupe_serving::{PolicyApi, TeamApi};
use troupe_terminal::UsageError;

pub fn run(
    args: &ServeArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let options = ApiOptions {
        listen: args.address(),
        token: args.token()?,
        requests: args.requests.queue,
        body_bytes: args.requests.max_body_mib << 20,
        patience: Duration::from_millis(args.receive_timeout_ms),
    };
    options.check()?;
    let server = HttpServer::listen(options.listen)?;
    match (&args.policy, &args.run) {
        (Some(folder), _) => {
            let policies = load(args, folder, device()?)?;
            announce(policies.iter().map(|(name, _)| name.as_str()), &server);
            let api = PolicyApi::new(policies, args.models.adapters_within.clone());
            ApiServer::new(api, options).serve(server)?;
        }
        (None, Some(run)) => serve_team(args, run, device()?, options, server)?,
        (None, None) => {
            let reason = "say what to serve: --policy FOLDER or --run RUN";
            return Err(UsageError(reason.to_owned()).into());
        }
    }
    Ok(ExitCode::Success)
}

fn announce<'n>(names: impl Iterator<Item = &'n str>, server: &HttpServer) {
    report::note(&format!("models: {}", names.collect::<Vec<_>>().join(", ")));
    report::line(&format!("listening on http://{}/v1", server.address()));
}

/// The team plays on a thread of its own until the server is told to stop.
fn serve_team(
    args: &ServeArgs,
    run: &Path,
    device: Device,
    options: ApiOptions,
    server: HttpServer,
) -> anyhow::Result<()> {
    let SessionArgs { set, grant, .. } = &args.sessions;
    let config = ConfigArgs { set: set.clone(), grant: grant.clone(), ..ConfigArgs::default() };
    let desk = TeamDesk::open(run, args.step, &config, device)?;
    announce(desk.models.iter().map(|model| model.name.as_str()), &server);
    let (api, asked) = TeamApi::new(desk.models.clone());
    thread::spawn(move || {
        if let Err(error) = desk.answer(&asked) {
            report::note(&format!("the team plays no more: {error}"));
        }
    });
    ApiServer::new(api, options).serve(server)?;
    Ok(())
}

/// The policy, and its adapters, all over the same weights.
fn load(args: &ServeArgs, folder: &Path, device: Device) -> anyhow::Result<Vec<(String, Policy)>> {
    let name =
        std::path::absolute(folder)?.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_else(|| "policy".to_owned());
    let dtype = args.models.dtype.map(|name| dtype_of(name, device));
    let mut base = Policy::load_in(folder, dtype, device).context("the policy cannot be served")?;
    Policy::settle(
        [&mut base],
        rounding_of(args.models.dtype, args.models.adapters_within.is_some()),
    );
    let mut policies = vec![(name, base)];
    let mut known: BTreeSet<String> = policies.iter().map(|(name, _)| name.clone()).collect();
    for (name, folder) in &args.models.adapter {
        if !known.insert(name.clone()) {
            return Err(UsageError(format!("two models are called `{name}`")).into());
        }
        let lora = LoraConfig { path: Some(folder.clone()), ..LoraConfig::default() };
        let adapted = policies[0].1.adapt(&lora, Seed::new(0));
        policies.push((name.clone(), adapted.with_context(|| format!("the adapter `{name}`"))?));
    }
    Ok(policies)
}

/// Clients who `bring` adapters train them, and compare what is drawn with the weights as they are.
fn rounding_of(dtype: Option<DtypeName>, bring: bool) -> Rounding {
    if bring { Rounding::Exact } else { rounding(dtype) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_rounded_unless_32_bits_are_asked_for_or_clients_bring_adapters() {
        let dtypes = [None, Some(DtypeName::Auto), Some(DtypeName::Bfloat16)];
        for dtype in dtypes {
            assert_eq!(rounding_of(dtype, false), Rounding::Nearest);
            assert_eq!(rounding_of(dtype, true), Rounding::Exact);
        }
        assert_eq!(rounding_of(Some(DtypeName::Float32), false), Rounding::Exact);
    }
}
