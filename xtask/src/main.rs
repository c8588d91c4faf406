//! `cargo xtask`: what a build needs, and the commands that the README names.
//!
//! Plain `cargo build` works once `cargo xtask setup` has run. Nothing here links libtorch, or
//! knows of the host more than how intervals are computed, so that it builds in a fresh clone.

mod c_stack;
mod apt;
mod author_tools;
mod cache;
mod catalogue;
mod checks;
mod compiler;
mod componentize_py;
mod debian_rust;
mod debian_tools;
mod engine;
mod gpu;
mod headline;
mod image;
mod install;
mod interpreters;
mod layout;
mod libtorch;
mod linting;
mod machine;
mod methods;
mod needs;
mod node;
#[cfg(feature = "package")]
mod package;
mod paper;
mod pins;
mod pip;
mod plugins;
mod pretrained;
mod process;
mod progress;
mod python_package;
mod python_tools;
mod quickstart;
mod reasoning_gym;
mod scale;
mod sources;
mod wasm_target;
mod wheel;
mod workspace;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::Result;
use clap::{Parser, Subcommand};
use troupe_toolchain::Toolchain;

use crate::cache::Cache;
use crate::checks::Checks;
use crate::layout::Layout;
use crate::libtorch::Flavour;
use crate::pretrained::Pretrained;
use crate::workspace::Workspace;

/// Sets up, builds and checks Troupe.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Bring libtorch, a wasm toolchain and the interpreters, and look for a C++ compiler
    Setup {
        /// Bring CUDA's libraries too
        #[arg(long)]
        cuda: bool,
    },
    /// Build everything in plugins/ to a component in target/plugins/
    Plugins {
        /// Build the tests' plugins too, to target/plugins/fixtures/
        #[arg(long)]
        fixtures: bool,
        /// Build a plugin too that is not built by default: it is large, and made of packages
        #[arg(long, value_name = "NAME")]
        with: Option<Extra>,
    },
    /// Make a component of a plugin that was built elsewhere
    Component {
        /// The core module that `cargo build --target wasm32-unknown-unknown` left
        module: PathBuf,
        /// The component to write
        out: PathBuf,
    },
    /// Set up, build and train for a few minutes with configs/plan-path/quickstart.toml
    Quickstart {
        /// More arguments for `host train`
        #[arg(last = true)]
        host_args: Vec<String>,
    },
    /// Set up, build and fill the paper's table with tiny policies: some six hours in all. Cells
    /// that are filled stay, so it goes on where it was stopped. Writes docs/experiments.md, and
    /// docs/experiments/language-model.md of the cells that are there
    Paper {
        /// The paper's rows on one board with two seeds, beside the cells: ten minutes
        #[arg(long)]
        quick: bool,
        /// Only write the pages, of what is there
        #[arg(long)]
        page: bool,
    },
    /// Set up, build and fill the cells of docs/methods, two at a time: some two hours in all.
    /// Cells that are filled stay, so it goes on where it was stopped
    Methods {
        /// One seed and little work, beside the cells: whether all of it runs, in four minutes
        #[arg(long)]
        quick: bool,
        /// Only these methods
        #[arg(long, value_delimiter = ',', value_name = "METHOD")]
        only: Vec<String>,
        /// Only write the pages
        #[arg(long)]
        page: bool,
    },
    /// Set up, build and install: the program, libtorch, the plugins and interpreters
    Install {
        /// Folder to install below: <DIR>/bin/troupe and <DIR>/lib/troupe; by default ~/.local
        #[arg(long, value_name = "DIR")]
        prefix: Option<PathBuf>,
        /// Install it as `host`, too, even where that hides another program of this name
        #[arg(long)]
        as_host: bool,
    },
    /// Set up, build (plugins, too) and import a small pretrained model, SmolLM2-135M-Instruct
    Smollm {
        /// Folder to write; by default models/SmolLM2-135M-Instruct
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Set up, build (plugins, too) and import a larger one, Gemma 3 270M, which was not instructed.
    /// Who fetches it agrees to the Gemma Terms of Use, which come with it
    Gemma {
        /// Folder to write; by default models/gemma-3-270m
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Set up with libtorch's CUDA half, build, and try everything on this machine's card: tests,
    /// speed, training; writes docs/gpu.md. Goes on where it was stopped
    Gpu {
        /// On a pretended card, with little work: only figures are missing then
        #[arg(long)]
        pretend: bool,
        /// A model on which a team of adapters is trained, too
        #[arg(long, value_name = "FOLDER")]
        model: Option<PathBuf>,
        /// For how long
        #[arg(long, default_value_t = 10.0)]
        minutes: f64,
        /// Do again what is done
        #[arg(long)]
        again: bool,
    },
    /// Set up, build, measure little runs and compute what breaks first with 10⁶ tasks, 10⁴ trees,
    /// 64 cores and eight cards: some two minutes; writes docs/scale.md
    Scale,
    /// Count on a pretended card what decoding and an update of a model cost
    GpuCost {
        /// tiny, small, qwen3-0.6b, qwen3-1.7b or qwen3-8b
        shape: String,
    },
    /// Bring, start and stop a server that trains adapters over Tinker's protocol (SkyRL on JAX)
    Engine {
        /// Folder of the base, which is also its name there
        #[arg(long, value_name = "FOLDER")]
        model: PathBuf,
        /// Where it listens
        #[arg(long, default_value_t = 8123)]
        port: u16,
        /// Policies that are trained there at a time
        #[arg(long, default_value_t = 2)]
        policies: u32,
        /// The largest rank of their adapters
        #[arg(long, default_value_t = 16)]
        rank: u32,
        /// On a card: JAX with CUDA is brought
        #[arg(long)]
        gpu: bool,
        /// A Python of 3.12 or later; by default one that is found
        #[arg(long, value_name = "FILE")]
        python: Option<PathBuf>,
    },
    /// Bring that server and compare what it learns with what is learned here
    EngineCheck {
        /// A Python of 3.12 or later; by default one that is found
        #[arg(long, value_name = "FILE")]
        python: Option<PathBuf>,
    },
    /// Set up, build and write a page about each component that is built here, an index of them and
    /// a page that leads to them: target/catalogue/index.html
    Catalogue {
        /// Name the components as they would be in this registry: oci://registry.example/games
        #[arg(long, value_name = "PREFIX")]
        registry: Option<String>,
    },
    /// Set up, build and pack the same into target/package/troupe-<version>-<platform>.tar.zst
    Package,
    /// Set up, build and write the Python wheel target/package/troupe-<version>-py3-none-….whl:
    /// all of that but libtorch, which Python's package `torch` has
    Wheel {
        /// Of what is built already
        #[arg(long)]
        no_build: bool,
        /// Folder to write into
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Set up, build and write an OCI image target/package/troupe-<version>-<platform>.oci.tar: the
    /// package over the few libraries of Debian that it needs
    Image {
        /// Without libtorch: it grades, runs programs and serves environments, and trains nothing
        #[arg(long)]
        serving: bool,
        /// Of what is built already
        #[arg(long)]
        no_build: bool,
        /// Folder to write into
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Set up, build and run every check
    Test {
        /// Leave out `cargo fmt` and `cargo clippy`
        #[arg(long)]
        skip_lints: bool,
    },
}

/// What `--with` names.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Extra {
    /// The procedural tasks of the Python package of this name
    ReasoningGym,
}

fn main() -> ExitCode {
    if let Some(call) = linting::called_for() {
        return linting::compile(&call);
    }
    match perform(&Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            error.chain().skip(1).for_each(|cause| eprintln!("  cause: {cause}"));
            exit_code(&error)
        }
    }
}

fn perform(task: &Task) -> Result<()> {
    let workspace = Workspace::current()?;
    match task {
        Task::Setup { cuda } => {
            set_up(&workspace, if *cuda { Flavour::Cuda } else { Flavour::Cpu })?;
            author_tools::ensure(&workspace, &Cache::open()?)
        }
        Task::Plugins { fixtures, with } => {
            let cache = Cache::open()?;
            let toolchain = wasm_target::ensure(&cache)?;
            interpreters::ensure(&workspace, &cache)?;
            build_plugins(&workspace, &toolchain, *fixtures)?;
            match with {
                Some(Extra::ReasoningGym) => reasoning_gym::ensure(&workspace, &cache),
                None => Ok(()),
            }
        }
        Task::Component { module, out } => plugins::wrap(module, out),
        Task::Quickstart { host_args } => {
            build_all(&workspace)?;
            quickstart::train(&workspace, host_args)
        }
        Task::Paper { quick, page: true } => paper::fill(&workspace, *quick, true),
        Task::Paper { quick, page: false } => {
            build_host(&workspace)?;
            paper::fill(&workspace, *quick, false)
        }
        Task::Methods { quick, only, page } => {
            if !page {
                build_host(&workspace)?;
            }
            let (quick, only, page) = (*quick, only.clone(), *page);
            methods::fill(&workspace, &methods::Asked { quick, only, page })
        }
        Task::Scale => {
            build_host(&workspace)?;
            scale::measure(&workspace)
        }
        Task::Install { prefix, as_host } => {
            let prefix = install::prefix(prefix.as_deref())?;
            install::install(&build_all(&workspace)?, &prefix, *as_host)
        }
        Task::Catalogue { registry } => {
            build_all(&workspace)?;
            catalogue::write(&workspace, registry.as_deref())
        }
        Task::Smollm { out } => bring(&workspace, &pretrained::SMOLLM2, out.as_deref()),
        Task::Gemma { out } => bring(&workspace, &pretrained::GEMMA, out.as_deref()),
        #[cfg(feature = "package")]
        Task::Package => package::write(&workspace, &build_all(&workspace)?),
        // Only then is the compression built.
        #[cfg(not(feature = "package"))]
        Task::Package => {
            let mut again = workspace.cargo();
            again.args(["run", "--quiet", "--profile", "xtask", "--package", "xtask"]);
            process::run(again.args(["--features", "package", "--", "package"]))
        }
        Task::Wheel { no_build, out } => {
            if !no_build {
                build_all(&workspace)?;
            }
            python_package::write(&workspace, &released(&workspace, out.as_deref()))
        }
        Task::Image { serving, no_build, out } => {
            if !no_build {
                build_all(&workspace)?;
            }
            let layout = if *serving {
                Layout::without_libtorch(&workspace)
            } else {
                Layout::of(&workspace)
            };
            image::write(&workspace, &layout?, &released(&workspace, out.as_deref()))
        }
        Task::Gpu { pretend, model, minutes, again } => {
            let flavour = if *pretend { Flavour::Cpu } else { Flavour::Cuda };
            let toolchain = set_up(&workspace, flavour)?;
            build_plugins(&workspace, &toolchain, true)?;
            process::run(workspace.cargo().args(["build", "--release", "--package", "troupe"]))?;
            pretrained::SMOLLM2.ensure(&workspace, &Cache::open()?)?;
            let (pretend, again, minutes) = (*pretend, *again, *minutes);
            gpu::run(&workspace, &gpu::Asked { pretend, again, model: model.clone(), minutes })
        }
        Task::GpuCost { shape } => {
            set_up(&workspace, Flavour::Cpu)?;
            let mut bench = workspace.cargo();
            bench.args(["bench", "--profile", "release", "--workspace", "--exclude", "xtask"]);
            process::run(bench.args(["--bench", "gpu_cost", "--", shape]))
        }
        Task::Engine { model, port, policies, rank, gpu, python } => {
            let (model, python) = (model.clone(), python.clone());
            let (port, policies, rank, gpu) = (*port, *policies, *rank, *gpu);
            engine::serve(&workspace, &engine::Asked { model, port, policies, rank, gpu, python })
        }
        Task::EngineCheck { python } => {
            let toolchain = set_up(&workspace, Flavour::Cpu)?;
            build_plugins(&workspace, &toolchain, true)?;
            engine::check(&workspace, python.as_deref())
        }
        Task::Test { skip_lints } => test(&workspace, !skip_lints),
    }
}

/// What continuous integration runs.
fn test(workspace: &Workspace, lints: bool) -> Result<()> {
    let toolchain = set_up(workspace, Flavour::Cpu)?;
    let checks = Checks::of(workspace, lints)?;
    let cache = Cache::open()?;
    // What only tests use comes over the network while the processors build.
    thread::scope(|scope| {
        let tools = scope.spawn(|| ensure_test_tools(workspace, &cache));
        build_plugins(workspace, &toolchain, true)?;
        if lints {
            checks.look()?;
        }
        checks.build()?;
        tools.join().unwrap_or_else(|panic| resume_unwind(panic))
    })?;
    pretrained::SMOLLM2.ensure(workspace, &cache)?;
    // Tests call tasks that open it, too.
    drop(cache);
    checks.test()?;
    headline::check(workspace, &Layout::of(workspace)?)?;
    quickstart::check(workspace)
}

fn ensure_test_tools(workspace: &Workspace, cache: &Cache) -> Result<()> {
    author_tools::ensure(workspace, cache)?;
    debian_tools::ensure(cache)?;
    python_tools::ensure(cache)
}

/// The folder for what others install.
fn released(workspace: &Workspace, out: Option<&Path>) -> PathBuf {
    out.map_or_else(|| workspace.target_dir.join("package"), Path::to_owned)
}

/// Brings a model to begin with, unless the folder holds one.
fn bring(workspace: &Workspace, model: &Pretrained, out: Option<&Path>) -> Result<()> {
    let folder = model.folder(workspace, out);
    if pretrained::is_there(&folder) {
        eprintln!(
            "== `{}` holds a model already; remove the folder to import it again",
            folder.display()
        );
        return Ok(());
    }
    // With the plugins, which the configurations for it name.
    build_all(workspace)?;
    model.bring(workspace, &Cache::open()?, &folder)
}

/// Everything that belongs into an installation.
fn build_all(workspace: &Workspace) -> Result<Layout> {
    let toolchain = set_up(workspace, Flavour::Cpu)?;
    build_plugins(workspace, &toolchain, false)?;
    process::run(workspace.cargo().args(["build", "--release", "--package", "troupe"]))?;
    Layout::of(workspace)
}

/// Every part of the set-up; those that are there already take no time.
fn set_up(workspace: &Workspace, flavour: Flavour) -> Result<Toolchain> {
    let cache = Cache::open()?;
    compiler::check()?;
    libtorch::ensure(workspace, &cache, flavour)?;
    interpreters::ensure(workspace, &cache)?;
    wasm_target::ensure(&cache)
}

/// What a run needs: set-up, plugins, host.
fn build_host(workspace: &Workspace) -> Result<()> {
    let toolchain = set_up(workspace, Flavour::Cpu)?;
    build_plugins(workspace, &toolchain, false)?;
    process::run(workspace.cargo().args(["build", "--release", "--package", "troupe"]))
}

fn build_plugins(workspace: &Workspace, toolchain: &Toolchain, fixtures: bool) -> Result<()> {
    plugins::build(workspace, toolchain)?;
    if fixtures {
        plugins::build_fixtures(workspace, toolchain)?;
    }
    Ok(())
}

/// The code of the program that failed, so that scripts can tell why.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    let code = error.downcast_ref::<process::Failed>().and_then(process::Failed::code);
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
