//! `host serve`: the grader as a service.

use std::time::Duration;

use super::args::ServeArgs;
use super::{UsageError, report};
use crate::config::SandboxConfig;
use crate::error::ExitCode;
use crate::sandbox::Sandbox;
use crate::server::{HttpServer, Languages, ServerOptions};

/// Serves until it is told to stop.
pub fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    if !args.grader {
        let message = "say what to serve; there are --grader and --policy".to_owned();
        return Err(UsageError(message).into());
    }
    let config = SandboxConfig { jobs: args.jobs, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(&config, &[])?;
    let options = ServerOptions {
        listen: args.listen,
        public: args.public,
        queue: args.queue,
        caps: args.limits.limits(),
        body_bytes: args.max_body_mib << 20,
        patience: Duration::from_millis(args.receive_timeout_ms),
    };
    let listener = HttpServer::listen(&options)?;
    let mut languages = Languages::load(&sandbox)?;
    languages.check(&sandbox, &args.limits.limits()).map_err(UsageError)?;
    let server = HttpServer::new(listener, &sandbox, languages, options)?;
    report::line(&format!("listening on http://{}", server.address()));
    server.serve()?;
    Ok(ExitCode::Success)
}
