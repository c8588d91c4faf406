//! `cargo xtask engine`: a server that speaks Tinker's protocol and really trains, SkyRL's on JAX.

use std::env;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::cache::fresh_dir;
use crate::process;
use crate::workspace::Workspace;

/// The version that the checks were made with.
const SKYRL: &str = "skyrl[tinker,jax]==0.4.0";
/// The same for a card.
const SKYRL_GPU: &str = "skyrl[tinker,jax,gpu]==0.4.0";
/// What its package needs and forgets to name.
const FORGOTTEN: [&str; 2] = ["aiohttp", "uv"];
/// Pythons that it runs on, by name.
const PYTHONS: [&str; 4] = ["python3.12", "python3.13", "python3.14", "python3"];
/// How long a start may take.
const START: Duration = Duration::from_secs(300);

/// What was asked for.
#[derive(Debug)]
pub struct Asked {
    /// The folder of the base.
    pub model: PathBuf,
    /// Where the server listens.
    pub port: u16,
    /// Policies that are to be trained at a time.
    pub policies: u32,
    /// The largest rank of their LoRAs.
    pub rank: u32,
    /// With JAX for a card.
    pub gpu: bool,
    /// The Python to take.
    pub python: Option<PathBuf>,
}

/// Install it, start it, say how it is used, and stop it when this is stopped.
pub fn serve(workspace: &Workspace, asked: &Asked) -> Result<()> {
    let venv = ensure(workspace, asked.gpu, asked.python.as_deref())?;
    let model = fs::canonicalize(&asked.model)
        .with_context(|| format!("`{}` is no folder of a model", asked.model.display()))?;
    let state = workspace.root.join("target/engine");
    if answers(asked.port) {
        bail!("something answers at port {} already; stop it, or take another --port", asked.port);
    }
    // One place for each policy, one for what is tried out, and one that is the base's.
    let places = asked.policies + 2;
    let (rows, many) = if asked.gpu { (32, 256) } else { (8, 32) };
    let backend = format!(
        "{{\"max_lora_adapters\":{places},\"max_lora_rank\":{},\"train_micro_batch_size\":{rows},\
         \"sample_max_num_sequences\":{many}}}",
        asked.rank
    );
    let mut command = Command::new(workspace.root.join("tests/engine/serve.sh"));
    command.arg(&venv).arg(&model).arg(&state).arg(asked.port.to_string()).arg(backend);
    if !asked.gpu {
        command.env("JAX_PLATFORMS", "cpu");
    }
    fs::create_dir_all(&state)?;
    let log = state.join("server.log");
    let said = File::create(&log).with_context(|| format!("`{}`", log.display()))?;
    command.stdout(said.try_clone()?).stderr(said);
    eprintln!("== starting; what it says goes to {}", log.display());
    // Its engine is a process of its own: both are in one group, which ends as a whole.
    let mut server = command.process_group(0).spawn().context("starting the server")?;
    let ready = wait(&mut server, asked.port);
    if ready.is_ok() {
        eprintln!(
            "== ready: [policies.<name>.tinker] url = \"http://127.0.0.1:{}\", base and tokenizer \
             = \"{}\"; Ctrl-C stops it",
            asked.port,
            model.display()
        );
    }
    let ended = ready.and_then(|()| watch(&mut server));
    stop(&mut server)?;
    ended
}

/// Install it and hold it, and us, to what was seen.
pub fn check(workspace: &Workspace, python: Option<&Path>) -> Result<()> {
    ensure(workspace, false, python)?;
    let mut tests = workspace.cargo();
    tests.args(["test", "--release", "--workspace", "--exclude", "xtask", "--test", "engine"]);
    process::run(tests.args(["--", "--test-threads", "1", "--nocapture"]))
}

/// The server's environment; brought if it is not there.
fn ensure(workspace: &Workspace, gpu: bool, python: Option<&Path>) -> Result<PathBuf> {
    let place = workspace.root.join(if gpu { ".deps/engine-gpu" } else { ".deps/engine" });
    let (venv, done) = (place.join("venv"), place.join("installed"));
    if done.exists() {
        return Ok(venv);
    }
    let python = match python {
        Some(python) => python.to_owned(),
        None => find_python()?,
    };
    eprintln!("== SkyRL's server: 7 GB are brought, which takes some minutes");
    fresh_dir(&place)?;
    process::run(Command::new(&python).args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]);
    process::run(pip.arg(if gpu { SKYRL_GPU } else { SKYRL }).args(FORGOTTEN))?;
    fs::write(done, SKYRL)?;
    Ok(venv)
}

/// A Python of 3.12 or later.
fn find_python() -> Result<PathBuf> {
    let versions = env::var_os("PYENV_ROOT").map(PathBuf::from);
    let versions = versions.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".pyenv")));
    let mut found: Vec<PathBuf> = PYTHONS.iter().map(PathBuf::from).collect();
    let installed = versions.and_then(|root| fs::read_dir(root.join("versions")).ok());
    found.extend(installed.into_iter().flatten().flatten().map(|it| it.path().join("bin/python3")));
    let suits = |python: &PathBuf| {
        let test = "import sys; sys.exit(not (3, 12) <= sys.version_info[:2] < (3, 15))";
        process::succeeds(Command::new(python).args(["-c", test]))
    };
    match found.into_iter().find(suits) {
        Some(python) => Ok(python),
        None => bail!(
            "SkyRL's server runs on Python 3.12 to 3.14, and there is none here; install one, or \
             name it with --python"
        ),
    }
}

fn wait(server: &mut Child, port: u16) -> Result<()> {
    let begun = Instant::now();
    while !answers(port) {
        if let Some(status) = server.try_wait()? {
            bail!("the server ended as it began ({status}); its log says why");
        }
        if begun.elapsed() > START {
            bail!("the server does not answer after {} s", START.as_secs());
        }
        thread::sleep(Duration::from_millis(300));
    }
    Ok(())
}

fn answers(port: u16) -> bool {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

/// Until it ends, or somebody asks us to.
fn watch(server: &mut Child) -> Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, asked.clone())?;
    }
    while !asked.load(Ordering::Relaxed) {
        if let Some(status) = server.try_wait()? {
            bail!("the server ended by itself ({status})");
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// Its whole group: first kindly, and what is left after some seconds not.
fn stop(server: &mut Child) -> Result<()> {
    let group = format!("-{}", server.id());
    let signal = |signal: &str| {
        process::succeeds(Command::new("kill").args([signal, "--", &group]));
    };
    signal("-TERM");
    let begun = Instant::now();
    while server.try_wait()?.is_none() && begun.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(200));
    }
    signal("-KILL");
    server.wait()?;
    Ok(())
}
