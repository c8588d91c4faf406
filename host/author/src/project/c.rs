//! C: Zig's compiler makes a core module that keeps to the canonical ABI by
//! what the SDK exports, and which interfaces these are decides about its world.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use troupe_toolchain::{cache_folder, component_of_world, system_calls, world_of};

use super::Project;
use super::error::ProjectError;
use troupe_core::storage::{StorageError, create_folder, list_folder, write_file};
use troupe_guests::plugin::CONTRACT;

/// The version that `cargo xtask setup` brings and people are advised to install.
const COMPILER: &str = "ziglang-0.17.1";
const INSTALL: &str = "pip install ziglang==0.17.1";
const WORLD: &str = "this-plugin";
/// Files that end like this are for a native compiler.
const TEST: &str = "_test.c";
const FLAGS: [&str; 11] = [
    "cc",
    "-target",
    "wasm32-wasi",
    "-mexec-model=reactor",
    "-std=c11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wl,--strip-all",
    "-Wl,-z,stack-size=1048576",
];

pub fn build(project: &Project) -> Result<Vec<u8>, ProjectError> {
    let folder = project.folder();
    let name = || project.manifest().name.clone();
    let staging = folder.join("build");
    create_folder(&staging)?;
    let module = staging.join("module.wasm");
    let mut compiler = compiler()?;
    compiler.current_dir(folder).args(FLAGS).args(["-Isdk", "-o", "build/module.wasm"]);
    compiler.args(sources(folder)?);
    match compiler.status() {
        Ok(status) if status.success() => {}
        _ => return Err(ProjectError::Build(name())),
    }
    let module = std::fs::read(&module).map_err(StorageError::io("read", &module))?;
    let calls = system_calls(&module);
    if !calls.is_empty() {
        return Err(ProjectError::System(name(), calls.join("`, `")));
    }
    let world = world_of(&module, CONTRACT, WORLD);
    if !world.contains("export ") {
        return Err(ProjectError::NothingExported(name()));
    }
    let wit = stage_contract(folder, &staging, &world)?;
    component_of_world(&module, &wit, WORLD)
        .map_err(|error| ProjectError::NotAPlugin(name(), error))
}

/// The author's files, and the SDK's.
fn sources(folder: &Path) -> Result<Vec<String>, ProjectError> {
    let own = list_folder(folder)?.into_iter();
    let own = own.filter(|name| name.ends_with(".c") && !name.ends_with(TEST));
    let sdk = list_folder(&folder.join("sdk"))?.into_iter().filter(|name| name.ends_with(".c"));
    Ok(own.chain(sdk.map(|name| format!("sdk/{name}"))).collect())
}

/// The contract, with the world of this module.
fn stage_contract(folder: &Path, staging: &Path, world: &str) -> Result<PathBuf, ProjectError> {
    let (contract, staged) = (folder.join("wit"), staging.join("wit"));
    create_folder(&staged)?;
    for name in list_folder(&contract)? {
        let file = contract.join(&name);
        let text = std::fs::read(&file).map_err(StorageError::io("read", &file))?;
        write_file(&staged.join(&name), &text)?;
    }
    write_file(&staged.join(WORLD).with_extension("wit"), world.as_bytes())?;
    Ok(staged)
}

/// The user's own Zig, one from PyPI, or the one that `cargo xtask setup` brought.
fn compiler() -> Result<Command, ProjectError> {
    let cached = cache_folder().map(|cache| cache.join(COMPILER).join("ziglang/zig"));
    let cached = cached.filter(|zig| zig.is_file()).map(OsString::from);
    let known: [&[OsString]; 3] = [
        &["zig".into()],
        &["python3".into(), "-m".into(), "ziglang".into()],
        &[cached.unwrap_or_default()],
    ];
    let command = |words: &[OsString]| {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    };
    let works = |words: &&&[OsString]| {
        command(words).arg("version").output().is_ok_and(|output| output.status.success())
    };
    known.iter().find(works).map(|words| command(words)).ok_or_else(|| ProjectError::Tool {
        what: "a C compiler for WebAssembly",
        language: "C",
        command: INSTALL.to_owned(),
    })
}
