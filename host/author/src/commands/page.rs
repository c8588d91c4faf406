//! `host plugin page` and `host plugin catalogue`: components as people look at them.

mod cover;

use std::path::{Path, PathBuf};

use plugin_sdk::testing::Report;

use super::args::{PageOptions, PluginSubject};
use super::check::{self, Effort};
use super::settings::refuse_useless;
use super::sharing::artifact;
use super::{bench, load, look_at, spoken};
use crate::index::{Index, Known};
use crate::markup::{Tile, contents, page};
use crate::said::Said;
use crate::sheet::{Close, EnvironmentSheet, Facts, Origin, Sheet, WorkflowSheet};
use cover::Cover;
use troupe_core::config::{Config, Grantee, PluginsConfig};
use troupe_core::installation::plugin_folders;
use troupe_core::lock::LockFile;
use troupe_core::oci::OciReference;
use troupe_core::storage::{create_folder, list_folder, write_file};
use troupe_guests::plugin::{ComponentFile, Plugin, PluginLibrary, WorkflowPlugin};
use troupe_sandbox::Sandbox;
use troupe_sandbox::loading::load_plugins;
use troupe_terminal::{self as terminal, GrantArg, UsageError};

/// The page of all, and what programs read.
const CONTENTS: &str = "index.html";
const INDEX: &str = "index.json";
/// Environments that a workflow is tried in.
const TRIED: usize = 8;
/// How the interface is called that an environment exports.
const ENVIRONMENT: &str = "troupe:plugin/environment@";

/// What is granted to those that a component is tried with.
struct Company<'a> {
    grants: &'a [GrantArg],
    corpus: &'a [PathBuf],
}

/// Write the page of a component, and perhaps what it says into an index.
pub(super) fn write_page(
    subject: &PluginSubject,
    set: &[String],
    options: &PageOptions,
    out: Option<&Path>,
    index: Option<&Path>,
) -> anyhow::Result<()> {
    let cover = Cover::of(&subject.plugin, &Config::load(None, set)?.plugins)?;
    cover::refuse_idle(options, &[cover])?;
    let company = Company { grants: &subject.grant, corpus: &subject.grant_retrieval };
    let sheet = sheet(subject, set, &company, options)?;
    if let Some(file) = index {
        add(file, &sheet)?;
    }
    let usual = PathBuf::from(format!("{}.html", sheet.said.name));
    write(out.unwrap_or(&usual), &page(&sheet, None))
}

/// Write the pages of components, a page of all, and an index.
pub(super) fn write_catalogue(
    plugins: &[PathBuf],
    grants: &[GrantArg],
    corpus: &[PathBuf],
    options: &PageOptions,
    folder: &Path,
) -> anyhow::Result<()> {
    // What is wrong is said before any of them is tried, which takes its time.
    let usual = PluginsConfig::default();
    let covers = plugins.iter().map(|plugin| Cover::of(plugin, &usual));
    let covers = covers.collect::<anyhow::Result<Vec<Cover>>>()?;
    cover::refuse_alike(&covers)?;
    cover::refuse_idle(options, &covers)?;
    create_folder(folder)?;
    let (mut index, mut tiles) = (Index::default(), Vec::new());
    for plugin in plugins {
        let subject = PluginSubject::granted(plugin, grants, corpus);
        let sheet = sheet(&subject, &[], &Company { grants, corpus }, options)?;
        let name = &sheet.said.name;
        let file = format!("{name}.html");
        write(&folder.join(&file), &page(&sheet, Some(CONTENTS)))?;
        match Known::of(&sheet) {
            Ok(known) => index.put(known),
            Err(reason) => terminal::note(&format!("`{name}` is not in {INDEX}: {reason}")),
        }
        tiles.push(Tile::of(&sheet, &file));
    }
    index.write(&folder.join(INDEX))?;
    write(&folder.join(CONTENTS), &contents(&tiles))
}

fn write(file: &Path, html: &str) -> anyhow::Result<()> {
    write_file(file, html.as_bytes())?;
    terminal::line(&format!("{}: {:.0} kB", file.display(), html.len() as f64 / 1e3));
    Ok(())
}

/// Put what is known of a component into an index.
fn add(file: &Path, sheet: &Sheet) -> anyhow::Result<()> {
    let known = Known::of(sheet).map_err(|reason| {
        UsageError(format!("`{}` cannot be in an index: {reason}", sheet.origin.named))
    })?;
    let mut index = if file.exists() { Index::read(file)? } else { Index::default() };
    index.put(known);
    Ok(index.write(file)?)
}

/// Everything that is shown of a component.
fn sheet(
    subject: &PluginSubject,
    set: &[String],
    company: &Company<'_>,
    options: &PageOptions,
) -> anyhow::Result<Sheet> {
    let config = Config::load(None, set)?;
    let library = look_at(&subject.plugin, &config.plugins)?;
    let (Some(said), [plugin]) = (Said::of(&library), library.plugins()) else {
        let reason = format!("`{}` brings nothing to show", subject.plugin.display());
        return Err(UsageError(reason).into());
    };
    check_settings(&library, &config)?;
    let facts = Facts::of(plugin, &library)?;
    let origin = origin(&subject.plugin, plugin, &said, options)?;
    let interpreter = library.interpreters().first().map(|one| one.description().clone());
    let untried = |reason: &str| Sheet {
        said: said.clone(),
        origin: origin.clone(),
        facts: facts.clone(),
        environment: library.environments().first().map(|it| EnvironmentSheet::untried(it, reason)),
        workflow: None,
        interpreter: interpreter.clone(),
        checked: Err(reason.to_owned()),
    };
    let name = plugin.stem();
    let missing = missing(plugin, &subject.grants(), &name);
    if !missing.is_empty() {
        return Ok(untried(&format!(
            "It was not tried: that takes a grant (`--grant {name}={}`).",
            missing.join(",")
        )));
    }
    let (config, library, sandbox) = load(subject, config)?;
    let mut sheet = untried("");
    sheet.checked = Ok(checked(&library, &sandbox, &config, subject, set, options)?);
    if let Some(environment) = library.environments().first() {
        let mut tried = EnvironmentSheet::of(environment, &library, &config);
        // What cannot be measured alone is not.
        tried.speed = bench::acts_per_second(environment, &library, &config).ok().flatten();
        sheet.environment = Some(tried);
    }
    if let Some(workflow) = library.workflows().first() {
        sheet.workflow = Some(played(workflow, &config, company, options)?);
    }
    Ok(sheet)
}

/// Refuses settings that the component does not have, also where it is not tried.
fn check_settings(library: &PluginLibrary, config: &Config) -> anyhow::Result<()> {
    refuse_useless(library, config)?;
    for environment in library.environments() {
        environment.settings(&config.environment)?;
    }
    for workflow in library.workflows() {
        workflow.settings(&config.workflow)?;
    }
    Ok(())
}

fn checked(
    library: &PluginLibrary,
    sandbox: &Sandbox,
    config: &Config,
    subject: &PluginSubject,
    set: &[String],
    options: &PageOptions,
) -> anyhow::Result<Vec<Report>> {
    let effort = Effort {
        tasks: options.tasks,
        hunt: false,
        minutes: None,
        strict: false,
        json: false,
        brief: true,
        command: spoken(subject, set),
    };
    check::look(library, sandbox, config, &effort)
}

/// Where a component is had from: as it was named, or in the registry that was asked for.
fn origin(
    named: &Path,
    plugin: &Plugin,
    said: &Said,
    options: &PageOptions,
) -> anyhow::Result<Origin> {
    let licence = options.license_of(&said.name);
    if let Some(reference) = OciReference::of(named)? {
        let meant = LockFile::read(&LockFile::beside(&[]))?.meant(&reference);
        let licence = licence.or(meant.stored()?.manifest.licenses);
        return Ok(Origin { named: meant.to_string(), licence });
    }
    let Some(registry) = &options.registry else {
        return Ok(Origin { named: named.to_string_lossy().into_owned(), licence });
    };
    let reference = format!("{}/{}:{}", registry.trim_end_matches('/'), said.name, said.number());
    let reference: OciReference = reference.parse()?;
    let pushed = artifact(plugin.file(), said, licence.clone(), None)?;
    Ok(Origin { named: reference.pinned(&pushed.digest()).to_string(), licence })
}

/// What a component imports, has to be granted, and is not.
fn missing(plugin: &Plugin, grants: &Config, name: &str) -> Vec<&'static str> {
    let digest = plugin.digest();
    let offer = plugin.offer();
    let wanted = [
        ("sandbox", offer.sandbox, &grants.sandbox.grant),
        ("search", offer.retrieval, &grants.retrieval.grant),
    ];
    let lacks = |(_, wanted, granted): &(_, bool, &Vec<Grantee>)| {
        *wanted && !granted.iter().any(|grantee| grantee.means(name, digest))
    };
    wanted.into_iter().filter(lacks).map(|(word, ..)| word).collect()
}

/// A workflow, played in the environment that was named, or in one that suits it: the first in
/// which its expert comes to an end, or else the first.
fn played(
    workflow: &WorkflowPlugin,
    config: &Config,
    company: &Company<'_>,
    options: &PageOptions,
) -> anyhow::Result<WorkflowSheet> {
    let candidates = match &options.beside {
        Some(named) => vec![named.clone()],
        None => suiting(workflow, company)?,
    };
    let reason = "No environment here suits it and needs no grant; `--beside` names another.";
    let mut best = WorkflowSheet::untried(workflow, config, reason);
    for beside in candidates.into_iter().take(TRIED) {
        let sheet = beside_it(workflow, &beside, config, company);
        let ends =
            sheet.example.as_ref().is_ok_and(|example| matches!(example.close, Close::Ended(_)));
        if best.example.is_err() || ends {
            best = sheet;
        }
        if ends {
            break;
        }
    }
    Ok(best)
}

/// A workflow, played in this environment.
fn beside_it(
    workflow: &WorkflowPlugin,
    environment: &Path,
    config: &Config,
    company: &Company<'_>,
) -> WorkflowSheet {
    let mut sheet = WorkflowSheet::untried(workflow, config, "");
    let mut together = config.clone();
    PluginSubject::granted(environment, company.grants, company.corpus).grant_in(&mut together);
    together.plugins.files.insert(0, environment.to_owned());
    together.plugins.workflow = Some(workflow.name().to_owned());
    match load_plugins(&together) {
        Ok((library, _sandbox)) => sheet.play(&library, &together),
        Err(error) => sheet.example = Err(error.to_string()),
    }
    sheet
}

/// The installed environments that a workflow can be played in, with what is granted: those that
/// name it come first.
fn suiting(workflow: &WorkflowPlugin, company: &Company<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let folders = plugin_folders();
    let Some(folder) = folders.iter().find(|folder| folder.is_dir()) else { return Ok(Vec::new()) };
    let mut suiting: Vec<(usize, PathBuf)> = Vec::new();
    for entry in list_folder(folder)?.iter().filter(|name| name.ends_with(".wasm")) {
        let file = folder.join(entry);
        // What is no plugin suits nothing; only what brings an environment is compiled.
        let exports = ComponentFile::read(&file).and_then(|read| Ok(read.interfaces()?.1));
        let is_one = |name: &String| name.starts_with(ENVIRONMENT);
        if !exports.is_ok_and(|names| names.iter().any(is_one)) {
            continue;
        }
        let Ok(library) = look_at(&file, &PluginsConfig::default()) else { continue };
        let [environment] = library.environments() else { continue };
        let name = PathBuf::from(environment.plugin().stem());
        let grants = PluginSubject::granted(&name, company.grants, company.corpus).grants();
        if workflow.check_fit(environment.description()).is_err()
            || !missing(environment.plugin(), &grants, &environment.plugin().stem()).is_empty()
        {
            continue;
        }
        let advised = &environment.description().workflows;
        let place = advised.iter().position(|advised| advised == workflow.name());
        suiting.push((place.unwrap_or(usize::MAX), name));
    }
    // Sorting keeps the order of equals.
    suiting.sort_by_key(|(place, _)| *place);
    Ok(suiting.into_iter().map(|(_, name)| name).collect())
}
