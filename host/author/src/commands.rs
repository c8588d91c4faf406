//! `host plugin`: look at components, check them, measure them.

mod args;

mod bench;
mod check;
mod dev;
mod finding;
mod page;
mod settings;
mod sharing;
mod sources;

use std::path::Path;

pub use args::{PageOptions, PluginCommand, PluginSubject};
use check::Effort;
use plugin_sdk::Preset;
use plugin_sdk::testing::kinds_beside;
use settings::{Reading, refuse_useless};
pub use sharing::provide;
use troupe_terminal::{self as terminal, quoted};

use troupe_core::config::{Config, PluginsConfig};
use troupe_core::error::ExitCode;
use troupe_core::installation::plugin_folders;
use troupe_core::storage::list_folder;
use troupe_guests::plugin::{
    EnvironmentPlugin, Grants, Needs, Plugin, PluginError, PluginLibrary, Setting, WorkflowPlugin,
};
use troupe_sandbox::Sandbox;
use troupe_sandbox::loading::load_plugins;

/// Carry out `host plugin`.
///
/// # Errors
/// If the plugin cannot be loaded or built.
pub fn run(command: PluginCommand) -> anyhow::Result<ExitCode> {
    match command {
        PluginCommand::New { name, lang, kind } => sources::create(name, lang, kind)?,
        PluginCommand::Build { folder } => sources::build(&folder)?,
        PluginCommand::Dev { folder, once } => return dev::run(&folder, once),
        PluginCommand::List => list()?,
        PluginCommand::Inspect { plugin, set } => {
            let config = Reading::Look.load(&set)?;
            inspect(&look_at(&plugin, &config.plugins)?, &config)?;
        }
        PluginCommand::Check { subject, tasks, hunt, minutes, strict, json, replay, set } => {
            let (config, library, sandbox) = load(&subject, Reading::Check.load(&set)?)?;
            let effort = Effort {
                tasks,
                hunt,
                minutes,
                strict,
                json,
                brief: false,
                command: spoken(&subject, &set),
            };
            return match replay {
                Some(seen) => check::replay(&library, &config, &effort, &seen),
                None => check::run(&library, &sandbox, &config, &effort),
            };
        }
        PluginCommand::Push { plugin, to, license, source } => {
            sharing::push(&plugin, &to, license, source)?;
        }
        PluginCommand::Pull { from, config, update } => sharing::pull(&from, &config, update)?,
        PluginCommand::Page { subject, out, index, options, set } => {
            page::write_page(&subject, &set, &options, out.as_deref(), index.as_deref())?;
        }
        PluginCommand::Catalogue { plugins, out, grant, grant_retrieval, options } => {
            page::write_catalogue(&plugins, &grant, &grant_retrieval, &options, &out)?;
        }
        PluginCommand::Search { words, index } => finding::search(&words, &index)?,
        PluginCommand::Bench { subject, set } => {
            let (config, library, _sandbox) = load(&subject, Reading::Bench.load(&set)?)?;
            bench::run(&library, &config)?;
        }
    }
    Ok(ExitCode::Success)
}

/// The component, with the configuration that is used to load it.
fn load(
    subject: &PluginSubject,
    mut config: Config,
) -> anyhow::Result<(Config, PluginLibrary, Sandbox)> {
    subject.grant_in(&mut config);
    config.plugins.files = vec![subject.plugin.clone()];
    let (library, sandbox) = load_plugins(&config)?;
    Ok((config, library, sandbox))
}

/// The command that looks at it again.
fn spoken(subject: &PluginSubject, set: &[String]) -> String {
    let mut words = vec!["host plugin check".to_owned(), quoted(&subject.plugin.to_string_lossy())];
    words.extend(
        subject.grant.iter().map(|grant| format!("--grant {}", quoted(&grant.to_string()))),
    );
    words.extend(subject.grant_sandbox.then(|| "--grant-sandbox".to_owned()));
    let corpus = subject.grant_retrieval.iter().map(|file| file.to_string_lossy().into_owned());
    let corpus = corpus.collect::<Vec<_>>().join(",");
    words.extend((!corpus.is_empty()).then(|| format!("--grant-retrieval {}", quoted(&corpus))));
    words.extend(set.iter().map(|pair| format!("--set {}", quoted(pair))));
    words.join(" ")
}

/// A plugin that is only asked what it is, whatever it wants to be granted.
fn look_at(plugin: &Path, plugins: &PluginsConfig) -> Result<PluginLibrary, PluginError> {
    let grants = Grants { for_a_look: true, ..Grants::default() };
    PluginLibrary::load(&[plugin.to_owned()], &plugins.path, &plugins.limits, grants)
}

fn list() -> anyhow::Result<()> {
    let mut rows = Vec::new();
    let folders = plugin_folders();
    let folder = folders.iter().find(|folder| folder.is_dir()).unwrap_or(&folders[0]);
    for name in list_folder(folder)? {
        if !name.ends_with(".wasm") {
            continue;
        }
        // A file that is no plugin is shown as such; the others still count.
        match look_at(&folder.join(&name), &PluginsConfig::default()) {
            Ok(library) => rows.extend(offers(&library)),
            Err(error) => rows.push(vec![name, "—".to_owned(), String::new(), error.to_string()]),
        }
    }
    terminal::table(&["name", "kind", "version", "summary"], &rows);
    Ok(())
}

fn offers(library: &PluginLibrary) -> Vec<Vec<String>> {
    let row = |name: &str, kind: &str, version: &str, summary: &str| {
        [name, kind, version, summary].map(str::to_owned).to_vec()
    };
    let environments = library.environments().iter().map(EnvironmentPlugin::description);
    let workflows = library.workflows().iter().map(WorkflowPlugin::description);
    let interpreters = library.interpreters().iter().map(|i| i.description());
    environments
        .map(|d| row(&d.name, "environment", &d.version, &d.summary))
        .chain(workflows.map(|d| row(&d.name, "workflow", &d.version, &d.summary)))
        .chain(interpreters.map(|d| row(&d.language, "interpreter", &d.version, &d.summary)))
        .collect()
}

fn inspect(library: &PluginLibrary, config: &Config) -> anyhow::Result<()> {
    refuse_useless(library, config)?;
    library.plugins().iter().for_each(inspect_file);
    for environment in library.environments() {
        inspect_environment(environment, &config.environment)?;
    }
    for workflow in library.workflows() {
        inspect_workflow(workflow, &config.workflow)?;
    }
    for interpreter in library.interpreters() {
        let description = interpreter.description();
        terminal::line(&format!(
            "\ninterpreter {} ({})",
            description.language, description.version
        ));
        terminal::line(&format!("  {}", description.summary));
    }
    Ok(())
}

/// The file, and what it asks for.
fn inspect_file(plugin: &Plugin) {
    let (offer, name) = (plugin.offer(), plugin.stem());
    terminal::line(&format!("{}", plugin.file().display()));
    terminal::line(&format!("  sha256 {}", plugin.digest()));
    if offer.sandbox {
        terminal::line("  imports the sandbox: it runs model-written programs");
        terminal::line(&format!("    granted with `--grant {name}=sandbox`"));
    }
    if offer.retrieval {
        terminal::line("  imports retrieval: it searches a corpus");
        terminal::line(&format!("    granted with `--grant {name}=search`"));
    }
    if offer.wasi {
        terminal::line("  imports WASI: it finds no files, network, arguments or variables there");
    }
    if !(offer.sandbox || offer.retrieval || offer.wasi) {
        terminal::line("  imports nothing that reaches beyond the log");
    }
}

fn inspect_environment(environment: &EnvironmentPlugin, table: &toml::Table) -> anyhow::Result<()> {
    let description = environment.description();
    terminal::line(&format!("\nenvironment {} {}", description.name, description.version));
    terminal::line(&format!("  {}", description.summary));
    terminal::line(&format!("  workflows: {}", description.workflows.join(", ")));
    let configuration = environment.configure(&environment.settings(table)?)?;
    terminal::line(&format!("  turns: {} per seat at most", configuration.max_turns));
    inspect_needs(&description.needs, description.is_reusable());
    terminal::line("");
    let actions = description.actions.iter();
    let rows: Vec<Vec<String>> =
        actions.map(|kind| vec![kind.name.clone(), kind.summary.clone()]).collect();
    terminal::table(&["action", "text"], &rows);
    inspect_settings("environment", &description.settings);
    inspect_presets("environment", description.presets());
    Ok(())
}

fn inspect_presets(kind: &str, presets: Vec<Preset>) {
    let row =
        |preset: Preset| vec![preset.name, preset.settings.replace('\n', ", "), preset.summary];
    let rows: Vec<Vec<String>> = presets.into_iter().map(row).collect();
    if !rows.is_empty() {
        terminal::line("");
        terminal::table(&[&format!("{kind}.preset"), "settings", "meaning"], &rows);
    }
}

fn inspect_needs(needs: &Needs, is_reusable: bool) {
    if let Some(memory) = needs.memory_mib {
        terminal::line(&format!("  needs {memory} MiB of memory (plugins.limits.memory_mib)"));
    }
    if let Some(fuel) = needs.fuel {
        terminal::line(&format!("  needs {fuel} of fuel for a call (plugins.limits.fuel)"));
    }
    terminal::line(if is_reusable {
        "  keeps nothing between episodes, it says: an instance is used again"
    } else {
        "  every fork is made in a fresh instance"
    });
}

fn inspect_workflow(workflow: &WorkflowPlugin, table: &toml::Table) -> anyhow::Result<()> {
    let description = workflow.description();
    terminal::line(&format!("\nworkflow {} {}", description.name, description.version));
    terminal::line(&format!("  {}", description.summary));
    inspect_needs(&description.needs, description.is_reusable());
    inspect_tools(workflow);
    terminal::line("");
    let settings = workflow.settings(table)?;
    let kinds = kinds_beside(description, settings.configured());
    let configuration = workflow.configure(&settings, &kinds)?;
    let roles = configuration.roles.iter();
    let rows: Vec<Vec<String>> = roles
        .map(|role| vec![role.name.clone(), role.seats.to_string(), role.summary.clone()])
        .collect();
    terminal::table(&["role", "seats", "task"], &rows);
    inspect_settings("workflow", &description.settings);
    inspect_presets("workflow", description.presets());
    Ok(())
}

/// What it will want to be granted, although it imports nothing.
fn inspect_tools(workflow: &WorkflowPlugin) {
    let granted = |right: &str| {
        let name = workflow.plugin().stem();
        terminal::line(&format!("    granted with `--grant {name}={right}`"));
    };
    for tool in workflow.description().tools() {
        terminal::line(&format!("  calls the tool `{tool}`"));
        match tool {
            "run" => granted("sandbox"),
            "search" => granted("search"),
            _ => terminal::line("    which this host does not have"),
        }
    }
}

fn inspect_settings(table: &str, settings: &[Setting]) {
    if settings.is_empty() {
        return;
    }
    terminal::line("");
    let row = |setting: &Setting| {
        vec![
            format!("{table}.{}", setting.name),
            setting.default.to_string(),
            setting.domain.to_string(),
            setting.summary.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = settings.iter().map(row).collect();
    terminal::table(&["setting", "default", "accepts", "meaning"], &rows);
}
