//! Compiled plugins, kept so that a component is compiled once per machine.
//!
//! An entry is named for the component's digest and everything its machine
//! code depends on, and begins with the digest of that name and of the code it
//! holds: an entry under another's name is none. A folder that others may write
//! to is not used, and an entry that does not fit its digest is thrown away:
//! machine code is run without further checks. The digests are BLAKE3, which
//! reads the 40 MB of an interpreter in no time.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use troupe_core::installation::user_cache;
use wasmtime::Engine;
use wasmtime::component::Component;

const DIGEST_BYTES: usize = 32;
const KEPT_UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// A folder of compiled components, or none without a private one.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's cache folder, or a private one for temporary files.
    pub(super) fn for_user() -> Self {
        let temporary = std::env::temp_dir().join(format!("troupe-cache-{}", user()));
        let candidates = user_cache().into_iter().chain([temporary]);
        let folders = candidates.map(|folder| folder.join("plugins"));
        Cache { folder: folders.into_iter().find(|folder| make_private(folder).is_ok()) }
    }

    /// A cache in a folder of the caller's choice.
    #[cfg(test)]
    pub(super) fn in_folder(folder: &Path) -> Self {
        Cache { folder: make_private(folder).is_ok().then(|| folder.to_owned()) }
    }

    /// The component, compiled now or earlier.
    pub(super) fn compiled<E>(
        &self,
        engine: &Engine,
        bytes: &[u8],
        compile: impl FnOnce() -> Result<Component, E>,
    ) -> Result<Component, E> {
        let Some(folder) = &self.folder else { return compile() };
        let key = key(engine, bytes);
        let entry = folder.join(format!("{key}.cwasm"));
        if let Some(component) = read(engine, &entry, &key) {
            return Ok(component);
        }
        let component = compile()?;
        // The cache saves time and nothing else: a full disk is no failure.
        let _ = component.serialize().map(|code| write(&entry, &key, &code));
        let _ = forget_unused(folder);
        Ok(component)
    }
}

/// Names the component and everything its compiled form depends on: version
/// and settings of wasmtime, and the CPU.
fn key(engine: &Engine, bytes: &[u8]) -> String {
    let mut settings = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut settings);
    let settings = settings.finish().to_le_bytes();
    blake3::Hasher::new().update(&settings).update(bytes).finalize().to_hex().to_string()
}

/// The digest of an entry: of what it is compiled from, and of the code.
fn seal(key: &str, code: &[u8]) -> [u8; DIGEST_BYTES] {
    *blake3::Hasher::new().update(key.as_bytes()).update(code).finalize().as_bytes()
}

fn read(engine: &Engine, entry: &Path, key: &str) -> Option<Component> {
    let content = fs::read(entry).ok()?;
    let component = content.split_at_checked(DIGEST_BYTES).and_then(|(digest, code)| {
        if seal(key, code) != digest {
            return None;
        }
        deserialize(engine, code)
    });
    // Neither matters: an entry that cannot be removed is replaced, one that
    // cannot be marked as used is compiled again some day.
    let _ = match component {
        None => fs::remove_file(entry),
        Some(_) => mark_used(entry),
    };
    component
}

fn mark_used(entry: &Path) -> io::Result<()> {
    File::options().append(true).open(entry)?.set_modified(SystemTime::now())
}

/// Removes what was not used for a month: entries of plugins since rebuilt,
/// and files of processes that were killed while writing.
fn forget_unused(folder: &Path) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        let file = file?;
        let unused = file.metadata()?.modified()?.elapsed().unwrap_or_default();
        if unused > KEPT_UNUSED {
            fs::remove_file(file.path())?;
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "compiled code is trusted; the cache sees to it that it is ours")]
fn deserialize(engine: &Engine, code: &[u8]) -> Option<Component> {
    // SAFETY: the bytes are what `Component::serialize` gave an engine of the
    // same version and settings: the file lies in a folder only this user can
    // write to, and was checked in memory against the digest of its code and of
    // component and engine, after which it cannot change.
    unsafe { Component::deserialize(engine, code) }.ok()
}

/// Writes an entry so that others see all of it or nothing.
fn write(entry: &Path, key: &str, code: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let temporary = entry.with_extension(format!("{}-{count}.tmp", std::process::id()));
    let written = private_file(&temporary).and_then(|mut file| {
        file.write_all(&seal(key, code))?;
        file.write_all(code)?;
        file.sync_all()?;
        fs::rename(&temporary, entry)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Makes the folder if need be, and sees that only this user can write to it
/// and to the folder it lies in.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let parent = folder.parent().unwrap_or(folder);
    if is_private(folder)? && is_private(parent)? {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "others may write to the folder"))
}

fn is_private(folder: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(folder)?;
    Ok(metadata.is_dir() && metadata.uid() == user() && metadata.mode() & 0o022 == 0)
}

/// The number of the user this process runs as.
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::super::engine::PluginEngine;
    use super::super::probe::Probe;
    use super::*;

    fn entries(folder: &Path) -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    fn compile(cache: &Cache, engine: &PluginEngine, bytes: &[u8]) {
        let engine = engine.wasmtime();
        cache.compiled(engine, bytes, || Component::new(engine, bytes)).unwrap();
    }

    #[test]
    fn a_component_is_compiled_once_and_a_damaged_entry_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(&folder.path().join("plugins"));
        let engine = PluginEngine::new().unwrap();
        let bytes = Probe::that("").bytes();
        let key = key(engine.wasmtime(), &bytes);
        let read = |entry: &Path| read(engine.wasmtime(), entry, &key);
        compile(&cache, &engine, &bytes);
        let [entry] = entries(&folder.path().join("plugins")).try_into().unwrap();
        let whole = fs::read(&entry).unwrap();
        assert!(read(&entry).is_some());

        for position in [0, DIGEST_BYTES, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            fs::write(&entry, damaged).unwrap();
            assert!(read(&entry).is_none());
            assert!(!entry.exists());
            compile(&cache, &engine, &bytes);
            assert!(read(&entry).is_some());
        }
        fs::write(&entry, b"short").unwrap();
        compile(&cache, &engine, &bytes);
        assert!(read(&entry).is_some());
        assert_eq!(entries(&folder.path().join("plugins")), [entry]);
    }

    #[test]
    fn another_components_entry_is_not_taken_for_this_ones() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(&folder.path().join("plugins"));
        let engine = PluginEngine::new().unwrap();
        let [first, second] = ["", "(drop (i32.const 1))"].map(|guest| Probe::that(guest).bytes());
        compile(&cache, &engine, &first);
        let [entry] = entries(&folder.path().join("plugins")).try_into().unwrap();
        let code = fs::read(&entry).unwrap();
        let key = key(engine.wasmtime(), &second);
        let mistaken = entry.with_file_name(format!("{key}.cwasm"));
        fs::write(&mistaken, code).unwrap();
        assert!(read(engine.wasmtime(), &mistaken, &key).is_none());
    }

    #[test]
    fn what_nobody_uses_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        for (path, age) in [(&old, KEPT_UNUSED * 2), (&new, KEPT_UNUSED / 2)] {
            let file = File::create(path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        forget_unused(folder.path()).unwrap();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("plugins");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let cache = Cache::in_folder(&open);
        let engine = PluginEngine::new().unwrap();
        compile(&cache, &engine, &Probe::that("").bytes());
        assert!(entries(&open).is_empty());
    }
}
