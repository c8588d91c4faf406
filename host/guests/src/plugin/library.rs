//! What the loaded plugin files offer, by name.

use std::path::{Path, PathBuf};

use plugin_sdk::environment::Description;

use super::component::Plugin;
use super::engine::PluginEngine;
use super::environment::EnvironmentPlugin;
use super::error::PluginError;
use super::grants::{Grants, Right};
use super::interpreter::InterpreterPlugin;
use super::workflow::WorkflowPlugin;
use troupe_core::config::Limits;
use troupe_core::error::{nearest, suggestion};
use troupe_core::installation::plugin_folders;
use troupe_core::lock::LockFile;
use troupe_core::oci::{OciError, OciReference};

/// The plugins of a run.
#[derive(Debug)]
pub struct PluginLibrary {
    engine: PluginEngine,
    limits: Limits,
    grants: Grants,
    folders: Vec<PathBuf>,
    plugins: Vec<Plugin>,
    environments: Vec<EnvironmentPlugin>,
    workflows: Vec<WorkflowPlugin>,
    interpreters: Vec<InterpreterPlugin>,
}

impl PluginLibrary {
    /// Loads plugin files. A bare name is looked up in `path`, then in
    /// `target/plugins`, with and without `.wasm`.
    ///
    /// # Errors
    /// If a file is missing or unfit, or a grant fits no file.
    pub fn load(
        files: &[PathBuf],
        path: &[PathBuf],
        limits: &Limits,
        grants: Grants,
    ) -> Result<Self, PluginError> {
        let mut library = PluginLibrary {
            engine: PluginEngine::new()?,
            limits: limits.clone(),
            grants,
            folders: path.iter().cloned().chain(plugin_folders()).collect(),
            plugins: Vec::new(),
            environments: Vec::new(),
            workflows: Vec::new(),
            interpreters: Vec::new(),
        };
        for file in files {
            let file = find_plugin(file, &library.folders)?;
            library.add(library.read(&file)?)?;
        }
        library.plugins.iter().try_for_each(|plugin| library.check_grants(plugin))?;
        Ok(library)
    }

    /// Refuses a file that has the name of one that was granted something, if it
    /// is there in its place, or if it is not said which of both is meant.
    fn check_grants(&self, plugin: &Plugin) -> Result<(), PluginError> {
        let (file, digest) = (plugin.file(), plugin.digest());
        let others = || {
            let others = self.plugins.iter().filter(|other| other.stem() == plugin.stem());
            others.filter(|other| other.digest() != digest)
        };
        for right in [Right::Sandbox, Right::Retrieval] {
            let Some(meant) = self.grants.meant(right, file, digest) else { continue };
            if !others().any(|other| other.digest() == meant) {
                return Err(PluginError::another_file(right, file, meant, digest));
            }
        }
        match (self.grants.unbound(file), others().next()) {
            (Some(right), Some(other)) => Err(PluginError::Ambiguous {
                right,
                first: file.to_owned(),
                second: other.file().to_owned(),
                digest: digest.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    fn read(&self, file: &Path) -> Result<Plugin, PluginError> {
        Plugin::load(&self.engine, file, &self.limits, &self.grants)
    }

    fn add(&mut self, plugin: Plugin) -> Result<(), PluginError> {
        // A file named twice is no contradiction.
        if self.plugins.iter().any(|known| known.digest() == plugin.digest()) {
            return Ok(());
        }
        let known = |new: &EnvironmentPlugin| (new.name().to_owned(), new.plugin().clone());
        add("environment", &mut self.environments, EnvironmentPlugin::of(&plugin)?, known)?;
        let known = |new: &WorkflowPlugin| (new.name().to_owned(), new.plugin().clone());
        add("workflow", &mut self.workflows, WorkflowPlugin::of(&plugin)?, known)?;
        let known = |new: &InterpreterPlugin| (new.name().to_owned(), new.plugin().clone());
        add("interpreter", &mut self.interpreters, InterpreterPlugin::of(&plugin)?, known)?;
        self.plugins.push(plugin);
        Ok(())
    }

    /// The engine that runs them.
    pub fn engine(&self) -> &PluginEngine {
        &self.engine
    }

    /// The files.
    pub fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// Every environment.
    pub fn environments(&self) -> &[EnvironmentPlugin] {
        &self.environments
    }

    /// Every workflow.
    pub fn workflows(&self) -> &[WorkflowPlugin] {
        &self.workflows
    }

    /// Every interpreter.
    pub fn interpreters(&self) -> &[InterpreterPlugin] {
        &self.interpreters
    }

    /// The environment of that name, or, without a name, the only one.
    ///
    /// # Errors
    /// If none or several fit.
    pub fn environment(&self, name: Option<&str>) -> Result<&EnvironmentPlugin, PluginError> {
        let names = || self.environments.iter().map(EnvironmentPlugin::name);
        match (name, self.environments.as_slice()) {
            (Some(name), all) => all
                .iter()
                .find(|environment| environment.name() == name)
                .ok_or_else(|| unknown("environment", name, names())),
            (None, [only]) => Ok(only),
            (None, _) => Err(PluginError::Unchosen {
                kind: "environment",
                names: names().map(str::to_owned).collect(),
            }),
        }
    }

    /// [`PluginLibrary::workflow_for`] an environment of a component.
    ///
    /// # Errors
    /// If none fits, or its file is unfit.
    pub fn workflow(
        &self,
        name: Option<&str>,
        environment: &EnvironmentPlugin,
    ) -> Result<WorkflowPlugin, PluginError> {
        let file = environment.plugin().file();
        self.workflow_for(name, environment.description(), Some(file))
    }

    /// The workflow of that name, or, without a name, the first that suits the
    /// environment in its own view, or else the only one there is. One that is
    /// not among the loaded files is looked up like a bare name, beside the
    /// environment's file (`beside`) first, if it has one; if none was
    /// named, the first that was granted all that it calls.
    ///
    /// # Errors
    /// If none fits, or its file is unfit.
    pub fn workflow_for(
        &self,
        name: Option<&str>,
        environment: &Description,
        beside: Option<&Path>,
    ) -> Result<WorkflowPlugin, PluginError> {
        let workflow = match name {
            Some(name) => self.named_workflow(name, beside)?,
            None => self.suitable_workflow(environment, beside)?,
        };
        workflow.check_fit(environment)?;
        Ok(workflow)
    }

    fn named_workflow(
        &self,
        name: &str,
        beside: Option<&Path>,
    ) -> Result<WorkflowPlugin, PluginError> {
        if let Some(loaded) = self.workflows.iter().find(|workflow| workflow.name() == name) {
            return Ok(loaded.clone());
        }
        let names = || self.workflows.iter().map(WorkflowPlugin::name);
        self.look_up_workflow(name, beside)?.ok_or_else(|| unknown("workflow", name, names()))
    }

    fn suitable_workflow(
        &self,
        environment: &Description,
        beside: Option<&Path>,
    ) -> Result<WorkflowPlugin, PluginError> {
        let advice = &environment.workflows;
        let loaded = |name: &String| self.workflows.iter().find(|known| known.name() == *name);
        if let Some(workflow) = advice.iter().find_map(loaded) {
            return Ok(workflow.clone());
        }
        if let [only] = self.workflows.as_slice() {
            return Ok(only.clone());
        }
        if let Some(workflow) = self.first_granted(advice, beside)? {
            return Ok(workflow);
        }
        if self.workflows.is_empty() && !advice.is_empty() {
            return Err(PluginError::NoWorkflow {
                environment: environment.name.clone(),
                advice: quoted(advice.iter()),
                searched: shown(&self.folders_beside(beside)),
            });
        }
        Err(PluginError::Unchosen {
            kind: "workflow",
            names: self.workflows.iter().map(|workflow| workflow.name().to_owned()).collect(),
        })
    }

    /// The first of these that is there and was granted all that it calls, or else
    /// the first that is there.
    fn first_granted(
        &self,
        names: &[String],
        beside: Option<&Path>,
    ) -> Result<Option<WorkflowPlugin>, PluginError> {
        let mut first = None;
        for name in names {
            let Some(workflow) = self.look_up_workflow(name, beside)? else { continue };
            if workflow.lacks().is_empty() {
                return Ok(Some(workflow));
            }
            first.get_or_insert(workflow);
        }
        Ok(first)
    }

    /// The workflow that the environment names before `chosen`, if it is there and
    /// was passed over for what it was not granted.
    pub fn passed_over(
        &self,
        chosen: &WorkflowPlugin,
        environment: &Description,
        beside: Option<&Path>,
    ) -> Option<WorkflowPlugin> {
        if self.workflows.iter().any(|loaded| loaded.name() == chosen.name()) {
            return None;
        }
        let before = environment.workflows.iter().take_while(|name| *name != chosen.name());
        let mut workflows =
            before.filter_map(|name| self.look_up_workflow(name, beside).ok().flatten());
        workflows.find(|workflow| !workflow.lacks().is_empty())
    }

    /// A workflow in a file of its own name, if there is such a file.
    fn look_up_workflow(
        &self,
        name: &str,
        beside: Option<&Path>,
    ) -> Result<Option<WorkflowPlugin>, PluginError> {
        let folders = self.folders_beside(beside);
        let Ok(file) = find_plugin(Path::new(name), &folders) else { return Ok(None) };
        let plugin = self.read(&file)?;
        self.check_grants(&plugin)?;
        Ok(WorkflowPlugin::of(&plugin)?.filter(|workflow| workflow.name() == name))
    }

    /// Where an environment's workflows are looked up.
    fn folders_beside(&self, environment: Option<&Path>) -> Vec<PathBuf> {
        let beside = environment.and_then(Path::parent).map(Path::to_owned);
        beside.into_iter().chain(self.folders.iter().cloned()).collect()
    }
}

/// Takes in what a plugin brings, unless another one brought something of that name.
fn add<T>(
    kind: &'static str,
    all: &mut Vec<T>,
    new: Option<T>,
    known: impl Fn(&T) -> (String, Plugin),
) -> Result<(), PluginError> {
    let Some(new) = new else { return Ok(()) };
    let (name, plugin) = known(&new);
    let mut others = all.iter().map(known);
    if let Some((_, other)) = others.find(|(other, _)| *other == name) {
        let (first, second) = (other.file().to_owned(), plugin.file().to_owned());
        return Err(PluginError::Duplicate { kind, name, first, second });
    }
    all.push(new);
    Ok(())
}

fn unknown<'a>(
    kind: &'static str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> PluginError {
    let suggestion = suggestion(name, names.collect::<Vec<_>>());
    PluginError::Unknown { kind, name: name.to_owned(), suggestion }
}

/// The file meant by a path or a bare name, which is looked up in `folders`.
///
/// # Errors
/// If there is no such file.
pub fn find_plugin(file: &Path, folders: &[PathBuf]) -> Result<PathBuf, PluginError> {
    if let Some(reference) = OciReference::of(file)? {
        let here = LockFile::read(&LockFile::beside(&[])).map_err(OciError::from)?;
        return Ok(here.meant(&reference).stored()?.file);
    }
    if file.is_file() {
        return Ok(file.to_owned());
    }
    let name = file.to_string_lossy();
    let mut searched = Vec::new();
    if file.components().count() == 1 {
        let here = PathBuf::from(".");
        searched.extend(std::iter::once(here).chain(folders.iter().cloned()));
        let with_suffix = format!("{name}.wasm");
        let candidates =
            searched.iter().flat_map(|folder| [folder.join(file), folder.join(&with_suffix)]);
        if let Some(path) = candidates.into_iter().find(|path| path.is_file()) {
            return Ok(path);
        }
    }
    Err(missing(&name, &searched))
}

/// The file of a bare name in one of the folders, and nowhere else: a model may have chosen the
/// name, and the folder in which the program is working holds all kinds of files.
///
/// # Errors
/// If there is no such file.
pub fn find_named(name: &str, folders: &[PathBuf]) -> Result<PathBuf, PluginError> {
    let file = format!("{name}.wasm");
    let mut candidates = folders.iter().map(|folder| folder.join(&file));
    candidates.find(|path| path.is_file()).ok_or_else(|| missing(name, folders))
}

fn missing(name: &str, searched: &[PathBuf]) -> PluginError {
    let everywhere = "the file system".to_owned();
    PluginError::Missing {
        suggestion: missing_hint(name, searched),
        searched: if searched.is_empty() { everywhere } else { shown(searched) },
        name: name.to_owned(),
    }
}

fn shown(folders: &[PathBuf]) -> String {
    quoted(folders.iter().map(|folder| folder.display()))
}

fn quoted(names: impl Iterator<Item = impl std::fmt::Display>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn missing_hint(name: &str, folders: &[PathBuf]) -> String {
    let stem = |entry: std::fs::DirEntry| {
        let path = entry.path();
        let is_plugin = path.extension().is_some_and(|extension| extension == "wasm");
        is_plugin.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))?
    };
    let stems: Vec<String> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.filter_map(Result::ok).filter_map(stem))
        .collect();
    match nearest(name.trim_end_matches(".wasm"), stems.iter().map(String::as_str)) {
        Some(nearest) => format!("; did you mean `{nearest}`?"),
        None if stems.is_empty() => {
            "; `cargo xtask plugins` builds those of this project".to_owned()
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_names_are_looked_up_and_missing_ones_get_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sudoku.wasm");
        std::fs::write(&file, b"").unwrap();
        let folders = [folder.path().join("none"), folder.path().to_owned()];
        for name in ["sudoku", "sudoku.wasm", file.to_str().unwrap()] {
            assert_eq!(find_plugin(Path::new(name), &folders).unwrap(), file);
        }
        assert_eq!(find_named("sudoku", &folders).unwrap(), file);
        let message = |name: &str| find_plugin(Path::new(name), &folders).unwrap_err().to_string();
        assert!(message("sudoko").ends_with("; did you mean `sudoku`?"));
        assert_eq!(
            message("plugins/sudoku"),
            "there is no plugin `plugins/sudoku`; looked in the file system; \
             `cargo xtask plugins` builds those of this project"
        );
    }

    #[test]
    fn a_name_is_not_looked_up_in_the_working_folder() {
        // Tests work in the folder of their crate.
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned()];
        assert!(find_plugin(Path::new("Cargo.toml"), &folders).is_ok());
        std::fs::write(folder.path().join("cobol"), b"").unwrap();
        for name in ["Cargo.toml", "cobol"] {
            let refusal = find_named(name, &folders).unwrap_err().to_string();
            assert!(refusal.starts_with(&format!("there is no plugin `{name}`")), "{refusal}");
        }
    }
}
