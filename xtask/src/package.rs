//! An archive to be unpacked and used: what a release is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};
use zstd::Encoder;

use crate::layout::{ALIAS, Layout};
use crate::progress::{Bytes, Elapsed, Step};
use crate::workspace::Workspace;

/// Small enough to download; a higher level takes minutes for a few per cent.
const LEVEL: i32 = 9;

/// Writes `<target>/package/troupe-<version>-<platform>.tar.zst`.
pub fn write(workspace: &Workspace, layout: &Layout) -> Result<()> {
    let platform = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
    let name = format!("troupe-{}-{platform}", env!("CARGO_PKG_VERSION"));
    let folder = workspace.target_dir.join("package");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.tar.zst"));
    let partial = path.with_added_extension("partial");
    let elapsed = Elapsed::start();
    pack(layout, &partial, Path::new(&name))
        .with_context(|| format!("cannot write `{}`", partial.display()))?;
    fs::rename(&partial, &path)?;
    report(&path, &elapsed)
}

fn pack(layout: &Layout, path: &Path, top: &Path) -> Result<()> {
    let step = Step::start("packing", layout.size()?);
    let mut encoder = Encoder::new(File::create(path)?, LEVEL)?;
    encoder.multithread(thread::available_parallelism().map_or(1, |n| n.get() as u32))?;
    let mut archive = tar::Builder::new(encoder);
    let mut done = 0;
    for file in layout.files() {
        archive.append_path_with_name(&file.source, top.join(&file.place))?;
        done += fs::metadata(&file.source)?.len();
        step.set(done);
    }
    let mut alias = tar::Header::new_gnu();
    alias.set_entry_type(tar::EntryType::Symlink);
    alias.set_size(0);
    archive.append_link(&mut alias, top.join(ALIAS), "troupe")?;
    archive.into_inner()?.finish()?.sync_all()?;
    step.finish();
    Ok(())
}

fn report(path: &PathBuf, elapsed: &Elapsed) -> Result<()> {
    let size = Bytes(fs::metadata(path)?.len());
    eprintln!("package: {} ({size}; {elapsed})", path.display());
    eprintln!(
        "  unpack it anywhere with `tar --zstd -xf`, and run bin/troupe (bin/host is the same)"
    );
    Ok(())
}
