//! Troupe as an OCI image, in the layout that `skopeo`, `umoci`, `podman` and `docker` read: the
//! package over a minimal base, for a user without rights, and without a shell.

mod base;
mod blob;
mod tree;

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tar::Builder;

use self::base::{HOME, USER};
use self::blob::Blob;
use self::tree::{Node, Tree};
use crate::cache::{Cache, fresh_dir, remove_dir};
use crate::layout::{ALIAS, Layout, PARTS, PROGRAM};
use crate::needs::cut_run_path;
use crate::progress::{Bytes, Elapsed};
use crate::workspace::Workspace;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Below which the package lies.
const PREFIX: &str = "usr/local";
/// When everything in it was made, for one who wants to know.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// Writes `troupe-<version>-<platform>.oci.tar` into a folder; of a layout without libtorch an
/// image that grades and serves environments.
pub fn write(workspace: &Workspace, layout: &Layout, folder: &Path) -> Result<()> {
    let elapsed = Elapsed::start();
    let kind = if layout.has_libtorch() { "" } else { "-serving" };
    let path = folder.join(format!("troupe{kind}-{VERSION}-{ARCH}-linux.oci.tar"));
    let partial = path.with_added_extension("partial");
    let work = workspace.target_dir.join("image");
    let blobs = work.join("blobs/sha256");
    fresh_dir(&work)?;
    fs::create_dir_all(&blobs)?;
    // Another task that brings packages waits until they are laid out.
    let cache = Cache::open()?;
    let (base, versions) = base::lay_out(&cache.join("debian-base"))?;
    drop(cache);
    let (libtorch, rest) = package(layout)?;
    let trees = [base, libtorch, rest];
    let mut layers = Vec::new();
    for tree in trees.iter().filter(|tree| !tree.is_empty()) {
        layers.push(Blob::layer(&blobs, tree)?);
    }
    let manifest = describe(&blobs, &layers, &json!(versions))?;
    fs::create_dir_all(folder)?;
    pack(&work, &manifest, &partial)
        .with_context(|| format!("cannot write `{}`", partial.display()))?;
    fs::rename(&partial, &path)?;
    remove_dir(&work)?;
    let size = Bytes(fs::metadata(&path)?.len());
    eprintln!("image: {} ({size}; {elapsed})", path.display());
    eprintln!("  `skopeo copy oci-archive:{} docker://…` puts it into a registry", path.display());
    Ok(())
}

/// What changes rarely, libtorch, and everything else.
fn package(layout: &Layout) -> Result<(Tree, Tree)> {
    let (mut libtorch, mut rest) = (Tree::default(), Tree::default());
    let own = ["host-engine", "plugins", "configs"].map(|name| Path::new(PARTS).join(name));
    for file in layout.files() {
        if file.place == own[0] && !layout.has_libtorch() {
            // It would not start.
            continue;
        }
        let place = Path::new(PREFIX).join(&file.place).display().to_string();
        let is_own = own.iter().any(|part| file.place.starts_with(part));
        if file.place.starts_with(PARTS) && !is_own {
            libtorch.put(place, Node::Copy(file.source.clone(), false));
            continue;
        }
        let is_program = file.place == Path::new(PROGRAM) || file.place == own[0];
        let node = if is_program {
            let mut bytes = fs::read(&file.source)
                .with_context(|| format!("cannot read `{}`", file.source.display()))?;
            cut_run_path(&mut bytes)?;
            Node::File(bytes, true)
        } else {
            Node::Copy(file.source.clone(), false)
        };
        rest.put(place, node);
    }
    rest.put(format!("{PREFIX}/{ALIAS}"), Node::Link("troupe".to_owned()));
    Ok((libtorch, rest))
}

/// Writes the configuration and the manifest of an image.
fn describe(folder: &Path, layers: &[(Blob, String)], base: &Value) -> Result<Blob> {
    let architecture = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let plain: Vec<&String> = layers.iter().map(|(_, plain)| plain).collect();
    let config = json!({
        "created": EPOCH,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": [format!("PATH=/{PREFIX}/bin"), format!("HOME=/{HOME}")],
            "Entrypoint": [format!("/{PREFIX}/{ALIAS}")],
            "Cmd": ["--help"],
            "WorkingDir": format!("/{HOME}"),
            "Labels": {
                "org.opencontainers.image.title": "troupe",
                "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
                "troupe.base": base.to_string(),
            },
        },
        "rootfs": { "type": "layers", "diff_ids": plain },
        "history": plain.iter().map(|_| json!({ "created": EPOCH, "created_by": "cargo xtask image" })).collect::<Vec<_>>(),
    });
    let config = Blob::json(folder, "application/vnd.oci.image.config.v1+json", &config)?;
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": config.descriptor(),
        "layers": layers.iter().map(|(blob, _)| blob.descriptor()).collect::<Vec<_>>(),
    });
    Blob::json(folder, media_type, &manifest)
}

/// Packs the layout.
fn pack(work: &Path, manifest: &Blob, path: &Path) -> Result<()> {
    let mut tree = Tree::default();
    tree.text("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
    let mut named = manifest.descriptor();
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [named],
    });
    tree.text("index.json", index.to_string());
    for entry in fs::read_dir(work.join("blobs/sha256"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        tree.put(format!("blobs/sha256/{name}"), Node::Copy(entry.path(), false));
    }
    let mut archive = Builder::new(BufWriter::new(File::create(path)?));
    tree.write(&mut archive)?;
    Ok(archive.into_inner()?.into_inner()?.sync_all()?)
}
