//! Components on their way to registries and from them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::check::{self, Effort};
use super::{inspect_file, look_at};
use crate::said::Said;
use crate::sheet::contract;
use troupe_core::config::{Config, PluginsConfig};
use troupe_core::lock::{LockFile, Locked};
use troupe_core::oci::{OciError, OciReference, SHA256, Stored};
use troupe_guests::plugin::{ComponentFile, Plugin, PluginLibrary};
use troupe_registry::{Artifact, Registry};
use troupe_sandbox::loading::load_plugins;
use troupe_terminal::{self as terminal, ConfigArgs, UsageError, quoted};

/// How long something may take before people are told how far it is.
const SILENCE: Duration = Duration::from_secs(2);
/// Tasks of each split that a component is tried with when it comes.
const TASKS: u32 = 5;

/// Sends a component to a registry.
pub(super) fn push(
    plugin: &Path,
    reference: &OciReference,
    licenses: Option<String>,
    source: Option<String>,
) -> anyhow::Result<()> {
    if reference.tag.is_none() || reference.digest.is_some() {
        let reason = format!("`{reference}` must have a tag, and no digest: it is not known yet");
        return Err(UsageError(reason).into());
    }
    let library = look_at(plugin, &PluginsConfig::default())?;
    let file = the_file(&library)?;
    let said = Said::of(&library).ok_or_else(|| brings_nothing(plugin))?;
    said.check(reference)?;
    let artifact = artifact(file.file(), &said, licenses, source)?;
    let digest = Registry::new()?.push(reference, &artifact)?;
    terminal::line(&reference.pinned(&digest).to_string());
    Ok(())
}

/// A component as registries have it.
pub(super) fn artifact(
    file: &Path,
    said: &Said,
    licenses: Option<String>,
    source: Option<String>,
) -> anyhow::Result<Artifact> {
    let read = ComponentFile::read(file)?;
    let (imports, exports) = read.interfaces()?;
    Ok(Artifact {
        component: read.bytes().to_vec(),
        imports,
        exports,
        title: said.name.clone(),
        version: said.version.clone(),
        description: said.summary.clone(),
        licenses,
        source,
    })
}

fn the_file(library: &PluginLibrary) -> anyhow::Result<&Plugin> {
    library.plugins().first().ok_or_else(|| UsageError("no component was named".to_owned()).into())
}

fn brings_nothing(plugin: &Path) -> UsageError {
    UsageError(format!("`{}` brings no environment, workflow or interpreter", plugin.display()))
}

/// Brings a component, says what is about to be trusted, and writes down which one it is.
pub(super) fn pull(
    reference: &OciReference,
    configurations: &[PathBuf],
    update: bool,
) -> anyhow::Result<()> {
    let path = LockFile::beside(configurations);
    let registry = Registry::new()?;
    let pinned = current(&registry, &path, reference, update)?;
    let stored = bring(&registry, &pinned)?;
    show(&pinned, &stored, false)?;
    // Who names a digest wants this component, and not that the tag mean another one.
    let may_move = reference.digest.is_none() || update;
    remember(&path, &pinned, &stored, may_move)
}

/// The reference with the digest that it has in the registry, unless that is another one than it
/// had.
fn current(
    registry: &Registry,
    path: &Path,
    reference: &OciReference,
    update: bool,
) -> anyhow::Result<OciReference> {
    let lock = LockFile::read(path)?;
    let (_, digest) = registry.manifest(reference)?;
    match lock.get(reference).filter(|known| known.manifest != digest) {
        Some(known) if reference.digest.is_none() && !update => Err(UsageError(format!(
            "`{reference}` has moved: `{}` says that it is {SHA256}{}, and the registry has \
             {SHA256}{digest} there now; `--update` takes that one, and `{}` is still the old one",
            path.display(),
            known.manifest,
            reference.pinned(&known.manifest)
        ))
        .into()),
        _ => Ok(reference.pinned(&digest)),
    }
}

/// The component, with progress.
fn bring(registry: &Registry, pinned: &OciReference) -> anyhow::Result<Stored> {
    let started = Instant::now();
    let mut told = started;
    let stored = registry.pull(pinned, &mut |come, size| {
        if told.elapsed() > SILENCE {
            told = Instant::now();
            let rate = come as f64 / started.elapsed().as_secs_f64();
            let left = (size - come) as f64 / rate.max(1.0);
            terminal::note(&format!(
                "{}: {:.1} of {:.1} MB, {:.1} MB/s, {left:.0} s to go",
                pinned.name(),
                come as f64 / 1e6,
                size as f64 / 1e6,
                rate / 1e6
            ));
        }
    })?;
    let library = look_at(&stored.file, &PluginsConfig::default())?;
    Said::of(&library).ok_or_else(|| brings_nothing(&stored.file))?.check(pinned)?;
    Ok(stored)
}

/// What is about to be trusted, and what a check of it finds here.
fn show(pinned: &OciReference, stored: &Stored, brief: bool) -> anyhow::Result<()> {
    let library = look_at(&stored.file, &PluginsConfig::default())?;
    let Some(said) = Said::of(&library) else { return Ok(()) };
    terminal::line(&pinned.to_string());
    terminal::line(&format!("  {} {}: {}", said.name, said.version, said.summary));
    let licence = match &stored.manifest.licenses {
        Some(licence) => format!("licence, as whoever pushed it says: {licence}"),
        None => "whoever pushed it names no licence".to_owned(),
    };
    let file = the_file(&library)?;
    terminal::line(&format!(
        "  {:.1} kB, contract {}; {licence}",
        stored.manifest.size as f64 / 1e3,
        contract(&ComponentFile::read(file.file())?)?
    ));
    inspect_file(file);
    let offer = file.offer();
    let named = quoted(&pinned.to_string());
    let again = format!("host plugin check {named}");
    if offer.sandbox || offer.retrieval {
        terminal::line(&format!("not checked, because that takes a grant: `{again} --grant …`"));
        return Ok(());
    }
    let mut config = Config::load(None, &[])?;
    config.plugins.files = vec![stored.file.clone()];
    let (library, sandbox) = load_plugins(&config)?;
    let effort = Effort {
        tasks: TASKS,
        hunt: false,
        minutes: None,
        strict: false,
        json: false,
        brief,
        command: again,
    };
    check::run(&library, &sandbox, &config, &effort)?;
    Ok(())
}

/// Writes down which component a tag means, in place of another one only if it may move. A grant
/// by name keeps meaning what it was given to.
fn remember(
    path: &Path,
    pinned: &OciReference,
    stored: &Stored,
    may_move: bool,
) -> anyhow::Result<()> {
    let Some(reference) = pinned.unpinned() else { return Ok(()) };
    let library = look_at(&stored.file, &PluginsConfig::default())?;
    let version = Said::of(&library).map(|said| said.version).unwrap_or_default();
    let component = stored.manifest.component.clone();
    let manifest = pinned.digest.clone().unwrap_or_default();
    let granted = component.clone();
    let locked = Locked { reference: reference.clone(), manifest, component, granted, version };
    let mut kept = None;
    LockFile::change(path, |lock| kept = settle(lock, locked, may_move))?;
    let file = path.display();
    terminal::note(&match kept {
        None => format!("`{file}` says which component that is"),
        Some(kept) => format!(
            "`{file}` still says that `{reference}` is {SHA256}{kept}; `host plugin pull {} \
             --update` writes this one",
            quoted(&pinned.to_string())
        ),
    });
    Ok(())
}

/// Has a lock say which component a tag means; the manifest of the other one, if that stays.
fn settle(lock: &mut LockFile, locked: Locked, may_move: bool) -> Option<String> {
    let known = lock.get(&locked.reference).cloned();
    match known {
        Some(known) if known.manifest != locked.manifest && !may_move => Some(known.manifest),
        Some(Locked { granted, .. }) => {
            lock.put(Locked { granted, ..locked });
            None
        }
        None => {
            lock.put(locked);
            None
        }
    }
}

/// Brings what a configuration takes from registries and is not here. With everything here, no
/// registry is asked.
///
/// # Errors
/// If a component cannot be had.
pub fn provide(args: &ConfigArgs) -> anyhow::Result<()> {
    // What is wrong with a configuration is said by who uses it.
    let Ok(mut config) = Config::layered(&args.config, &args.set) else { return Ok(()) };
    if args.settle_plugins(&mut config).is_err() {
        return Ok(());
    }
    // Who trains, or resolves a configuration, has results of its own.
    let _aside = terminal::aside();
    for reference in config.references() {
        let reference = reference?;
        if matches!(reference.stored(), Err(OciError::Unknown(_) | OciError::Absent(_))) {
            let registry = Registry::new()?;
            let pinned = match &reference.digest {
                Some(_) => reference.clone(),
                None => reference.pinned(&registry.manifest(&reference)?.1),
            };
            let stored = bring(&registry, &pinned)?;
            show(&pinned, &stored, true)?;
            let may_move = reference.digest.is_none();
            remember(&LockFile::beside(&args.config), &pinned, &stored, may_move)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(letters: &str) -> Locked {
        Locked {
            reference: "oci://127.0.0.1:5000/math:0.1.0".parse().unwrap(),
            manifest: letters.repeat(32),
            component: letters.repeat(32),
            granted: letters.repeat(32),
            version: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn a_tag_moves_only_if_it_may_and_a_grant_by_name_stays_where_it_was_given() {
        let mut lock = LockFile::default();
        assert_eq!(settle(&mut lock, locked("aa"), false), None);
        assert_eq!(settle(&mut lock, locked("aa"), false), None);
        assert_eq!(settle(&mut lock, locked("bb"), false), Some("aa".repeat(32)));
        assert_eq!(lock.plugins, [locked("aa")]);
        assert_eq!(settle(&mut lock, locked("bb"), true), None);
        assert_eq!(lock.plugins, [Locked { granted: "aa".repeat(32), ..locked("bb") }]);
    }
}
