//! What builds plugins in JavaScript and C, which `host plugin build` finds in the user's cache.
//! Authors may as well install it themselves.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use crate::cache::{Cache, fresh_dir};
use crate::node::Node;
use crate::pins::{INTERPRETERS, Pin};
use crate::wheel;
use crate::workspace::Workspace;

/// The compiler of C, as it is called on PyPI.
const ZIG: &str = "ziglang";
/// Of the compiler's wheel: itself, and what it needs to build for WebAssembly.
const ZIG_PARTS: [&str; 11] = [
    "ziglang/zig",
    "ziglang/lib/c.zig",
    "ziglang/lib/c/",
    "ziglang/lib/compiler",
    "ziglang/lib/include/",
    "ziglang/lib/libc/include/",
    "ziglang/lib/libc/musl/",
    "ziglang/lib/libc/wasi/",
    "ziglang/lib/std/",
    "ziglang/lib/ubsan_rt.zig",
    "ziglang/lib/zig",
];
/// The package that makes components of JavaScript, and how one of its parts is called.
const QJS: &str = "componentize-qjs";
const QJS_PART: &str = "componentize-qjs-binding-";

/// Brings both, unless they are there.
pub fn ensure(workspace: &Workspace, cache: &Cache) -> Result<()> {
    ensure_zig(cache).context("cannot bring the C compiler for plugins")?;
    ensure_qjs(workspace, cache).context("cannot bring what makes plugins of JavaScript")
}

fn ensure_zig(cache: &Cache) -> Result<()> {
    let pin = Pin::find(INTERPRETERS, ZIG)?;
    let home = cache.join(format!("{ZIG}-{}", pin.version));
    if home.is_dir() {
        return Ok(());
    }
    let wheel = wheel::fetch(&pin, cache)?;
    let partial = home.with_extension("partial");
    fresh_dir(&partial)?;
    let is_needed = |path: &str| ZIG_PARTS.iter().any(|part| path.starts_with(part));
    wheel::unpack(&wheel, &partial, pin.name, is_needed)?;
    fs::set_permissions(partial.join("ziglang/zig"), fs::Permissions::from_mode(0o755))?;
    fs::rename(&partial, &home)?;
    Ok(())
}

/// In the version, and by the lock file, with which the interpreter is made.
fn ensure_qjs(workspace: &Workspace, cache: &Cache) -> Result<()> {
    let interpreter = workspace.root.join("plugins/interpreters/javascript");
    let lock = fs::read_to_string(interpreter.join("package-lock.json"))?;
    let version = pinned(&lock).context("`package-lock.json` does not pin componentize-qjs")?;
    let home = cache.join(format!("{QJS}-{version}"));
    if home.is_dir() {
        return Ok(());
    }
    let partial = cache.join(format!("{QJS}.partial"));
    fresh_dir(&partial)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(interpreter.join(file), partial.join(file))?;
    }
    Node::find(cache)?.install(&partial)?;
    fs::rename(&partial, &home)?;
    Ok(())
}

/// The version of the tool's parts in a lock file.
fn pinned(lock: &str) -> Option<String> {
    let lock: serde_json::Value = serde_json::from_str(lock).ok()?;
    let packages = lock["packages"].as_object()?;
    let part = packages.iter().find(|(name, _)| name.contains(QJS_PART))?;
    Some(part.1["version"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_are_those_that_authors_are_advised_to_install() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let read = |path: &str| fs::read_to_string(format!("{root}/{path}")).unwrap();
        let version = pinned(&read("plugins/interpreters/javascript/package-lock.json")).unwrap();
        for kind in ["environment", "workflow"] {
            let file = format!("plugin-sdk/templates/javascript/{kind}/package.json.template");
            assert!(read(&file).contains(&format!("\"{QJS}\": \"{version}\"")), "{file}");
        }
        let zig = Pin::find(INTERPRETERS, ZIG).unwrap().version;
        let source = read("host/author/src/project/c.rs");
        assert!(source.contains(&format!("\"pip install {ZIG}=={zig}\"")));
        assert!(source.contains(&format!("\"{ZIG}-{zig}\"")));
    }
}
