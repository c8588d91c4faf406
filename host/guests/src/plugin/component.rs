//! A plugin file: one component, compiled, checked and ready to be instantiated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plugin_sdk::types::Needs;
use sha2::{Digest, Sha256};
use wasmtime::component::{Component, Instance as WasmInstance, InstancePre, Linker};
use wasmtime::{Engine, Store};

use super::bindings::exports::troupe::plugin::{environment, interpreter, rendering, workflow};
use super::cache::Cache;
use super::compilation::{self, Budget};
use super::contract::{Offer, check_names};
use super::engine::PluginEngine;
use super::error::PluginError;
use super::failure::{Identity, PluginFailure};
use super::grants::{Granted, Grants, name_of};
use super::instance::{HostState, Instance};
use super::meter::Meter;
use super::survey::{self, Fault, Names};
use super::{log, retrieval, sandbox, streams, wasi};
use troupe_core::config::Limits;
use troupe_core::seed::Seed;

/// First bytes of a core module and of a component: magic number, version and layer.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// The largest file; six times the interpreter of Python.
const FILE_BYTES: u64 = 256 << 20;

/// A loaded plugin file. Clones share it.
#[derive(Clone)]
pub struct Plugin {
    pub(super) loaded: Arc<Loaded>,
}

pub(super) struct Loaded {
    engine: PluginEngine,
    file: PathBuf,
    digest: String,
    offer: Offer,
    component: InstancePre<HostState>,
    pub(super) environment: Option<environment::GuestIndices>,
    pub(super) rendering: Option<rendering::GuestIndices>,
    pub(super) workflow: Option<workflow::GuestIndices>,
    pub(super) interpreter: Option<interpreter::GuestIndices>,
    limits: Limits,
    granted: Granted,
    meter: Arc<Meter>,
}

/// A component file, compiled and checked against the contract.
pub struct Compiled {
    pub component: Component,
    pub offer: Offer,
}

/// A component file that was read and is one by its header.
pub struct ComponentFile<'a> {
    file: &'a Path,
    bytes: Vec<u8>,
}

impl<'a> ComponentFile<'a> {
    /// Read it.
    ///
    /// # Errors
    /// If the file cannot be read, or is too large.
    pub fn read(file: &'a Path) -> Result<Self, PluginError> {
        let io = |reason| PluginError::Io(file.to_owned(), reason);
        let length = std::fs::metadata(file).map_err(io)?.len();
        if length > FILE_BYTES {
            let reason = format!("its file has {length} bytes, more than {} MiB", FILE_BYTES >> 20);
            return Err(PluginError::TooLarge(file.to_owned(), reason));
        }
        let bytes = std::fs::read(file).map_err(io)?;
        check_header(&bytes, file)?;
        Ok(ComponentFile { file, bytes })
    }

    /// What is in the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The names of what it imports and of what it exports.
    ///
    /// # Errors
    /// If it is no component.
    pub fn interfaces(&self) -> Result<(Vec<String>, Vec<String>), PluginError> {
        let damaged = |error| PluginError::Damaged(self.file.to_owned(), error);
        match Names::of(&self.bytes) {
            Ok(names) => Ok((names.imports, names.exports)),
            Err(Fault::Invalid(error)) => Err(damaged(error.to_string())),
            Err(Fault::TooLarge(reason)) => Err(damaged(reason)),
        }
    }

    /// Compile it.
    ///
    /// # Errors
    /// If it is no component, or compiling takes too long.
    pub fn compile(&self, engine: &Engine) -> Result<Compiled, PluginError> {
        self.compile_instead(engine, &self.bytes)
    }

    /// Compiles another component in place of the file's.
    ///
    /// # Errors
    /// If the bytes are no component that this engine compiles.
    pub fn compile_instead(&self, engine: &Engine, bytes: &[u8]) -> Result<Compiled, PluginError> {
        let component = Cache::for_user()
            .compiled(engine, bytes, || self.compile_within_bounds(engine, bytes))?;
        let offer = Offer::of(engine, &component, self.file)?;
        Ok(Compiled { component, offer })
    }

    /// SHA-256 of the file, in hexadecimal: what people and manifests know it by.
    fn digest(&self) -> String {
        super::digest::hex(&Sha256::digest(&self.bytes))
    }

    /// Tells two files apart as surely, in a tenth of the time.
    pub fn fingerprint(&self) -> String {
        blake3::hash(&self.bytes).to_hex().to_string()
    }

    /// What is no plugin, or would take too long, is not compiled at all.
    fn compile_within_bounds(
        &self,
        engine: &Engine,
        bytes: &[u8],
    ) -> Result<Component, PluginError> {
        let file = self.file.to_owned();
        let fault = |fault| match fault {
            Fault::Invalid(error) => PluginError::Damaged(file.clone(), error.to_string()),
            Fault::TooLarge(reason) => PluginError::TooLarge(file.clone(), reason),
        };
        check_names(&Names::of(bytes).map_err(fault)?, self.file)?;
        survey::check(bytes).map_err(fault)?;
        compilation::compile(engine, bytes, Budget::of(bytes), self.file)
            .map_err(|reason| PluginError::TooLarge(file.clone(), reason))?
            .map_err(|error| PluginError::Damaged(file.clone(), one_line(&error)))
    }
}

impl Plugin {
    /// Loads a component file and checks it. Nothing of it runs yet.
    ///
    /// # Errors
    /// If the file cannot be read, is no component of this contract, or imports what it was not
    /// granted.
    pub fn load(
        engine: &PluginEngine,
        file: &Path,
        limits: &Limits,
        grants: &Grants,
    ) -> Result<Self, PluginError> {
        let component_file = ComponentFile::read(file)?;
        let Compiled { component, offer } = component_file.compile(engine.wasmtime())?;
        let digest = component_file.digest();
        let granted = grants.of(file, &digest);
        let missing = offer.rights().find(|right| !granted.has(*right));
        if let Some(right) = missing.filter(|_| !grants.for_a_look) {
            return Err(PluginError::without(right, file, &digest, grants));
        }
        let shape = |error: wasmtime::Error| PluginError::shape(file, &error);
        let component = linker(engine, &offer)
            .and_then(|linker| linker.instantiate_pre(&component))
            .map_err(shape)?;
        let environment = offer.environment.then(|| environment::GuestIndices::new(&component));
        let rendering = offer.rendering.then(|| rendering::GuestIndices::new(&component));
        let workflow = offer.workflow.then(|| workflow::GuestIndices::new(&component));
        let interpreter = offer.interpreter.then(|| interpreter::GuestIndices::new(&component));
        let loaded = Loaded {
            engine: engine.clone(),
            file: file.to_owned(),
            digest,
            offer,
            environment: environment.transpose().map_err(shape)?,
            rendering: rendering.transpose().map_err(shape)?,
            workflow: workflow.transpose().map_err(shape)?,
            interpreter: interpreter.transpose().map_err(shape)?,
            component,
            limits: limits.clone(),
            granted,
            meter: Arc::default(),
        };
        Ok(Plugin { loaded: Arc::new(loaded) })
    }

    /// The file it was loaded from.
    pub fn file(&self) -> &Path {
        &self.loaded.file
    }

    /// SHA-256 of the component, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.loaded.digest
    }

    /// Its exports and its needs.
    pub fn offer(&self) -> Offer {
        self.loaded.offer
    }

    /// Counts what its instances do.
    pub fn meter(&self) -> &Arc<Meter> {
        &self.loaded.meter
    }

    /// The limits of one call.
    pub fn limits(&self) -> &Limits {
        &self.loaded.limits
    }

    /// Its identity before it has described itself: the file's name.
    pub(super) fn unnamed(&self) -> Identity {
        let name = self.file().file_name().unwrap_or(self.file().as_os_str());
        Identity::new(&name.to_string_lossy(), "")
    }

    pub(super) fn instantiate(
        &self,
        identity: &Identity,
        seed: Seed,
    ) -> Result<(Instance, WasmInstance), PluginFailure> {
        let Loaded { engine, component, limits, granted, meter, .. } = &*self.loaded;
        let (granted, meter) = (granted.clone(), meter.clone());
        Instance::new(engine.wasmtime(), component, identity, limits, granted, meter, seed)
    }

    /// Its checked description of itself as one of the kinds that it brings.
    pub(super) fn describe<D>(
        &self,
        kind: &'static str,
        call: impl FnOnce(&mut Store<HostState>, &WasmInstance) -> wasmtime::Result<D>,
        check: impl FnOnce(&D) -> Result<(), String>,
    ) -> Result<D, PluginError> {
        let (mut instance, wasm) = self.instantiate(&self.unnamed(), Seed::new(0))?;
        let description = instance.call("describe", 0, |store| call(store, &wasm))?;
        check(&description).map_err(|reason| PluginError::Description {
            file: self.file().to_owned(),
            kind,
            reason,
        })?;
        Ok(description)
    }

    /// Refuses one that says it needs more than it gets.
    pub(super) fn check_needs(&self, needs: &Needs) -> Result<(), PluginError> {
        let limits = self.limits();
        let memory = needs.memory_mib.unwrap_or(0);
        let fuel = needs.fuel.unwrap_or(0.0);
        let (setting, needed) = if memory as usize > limits.memory_mib {
            ("plugins.limits.memory_mib", f64::from(memory))
        } else if fuel > limits.fuel as f64 {
            ("plugins.limits.fuel", fuel)
        } else {
            return Ok(());
        };
        Err(PluginError::Needs { file: self.file().to_owned(), setting, needed })
    }

    /// Its capabilities.
    pub fn granted(&self) -> &Granted {
        &self.loaded.granted
    }

    /// The name under which it is granted something: its file's, without `.wasm`.
    pub fn stem(&self) -> String {
        name_of(self.file())
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Plugin").field("file", &self.file()).finish_non_exhaustive()
    }
}

fn check_header(bytes: &[u8], file: &Path) -> Result<(), PluginError> {
    if bytes.starts_with(COMPONENT) {
        return Ok(());
    }
    let reason = if bytes.starts_with(MODULE) {
        "it is a core module, not a component; `host plugin build` makes a component of a plugin's \
         sources, and `wasm-tools component new IN.wasm -o OUT.wasm` one of a module"
    } else if bytes.is_empty() {
        "it is empty"
    } else if bytes.starts_with(b"(") {
        "it is WebAssembly text; assemble it with `wasm-tools parse` first"
    } else {
        "it is not a WebAssembly component"
    };
    Err(PluginError::NotAComponent(file.to_owned(), reason.to_owned()))
}

/// Every import there is. A component that knows less of them takes what it knows.
fn linker(engine: &PluginEngine, offer: &Offer) -> wasmtime::Result<Linker<HostState>> {
    let mut linker = Linker::new(engine.wasmtime());
    if offer.wasi {
        wasi::link(&mut linker)?;
    }
    log::link(&mut linker)?;
    streams::link(&mut linker)?;
    sandbox::link(&mut linker)?;
    retrieval::link(&mut linker)?;
    Ok(linker)
}

/// The whole chain of an error, on one line.
pub(super) fn one_line(error: &wasmtime::Error) -> String {
    format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What holds within a line of the contract, shown on a component of its first
/// release that is kept as text.
#[cfg(test)]
mod tests {
    use plugin_sdk::environment::{Split, Task};
    use plugin_sdk::types::{Action, Move, Seat, Status};

    use super::super::environment::EnvironmentPlugin;
    use super::super::probe::load;
    use super::*;
    use wasmtime::StoreContextMut;

    /// A later contract of the same line, with one more interface.
    #[allow(missing_docs, reason = "generated")]
    mod later {
        wasmtime::component::bindgen!({
            inline: "
                package troupe:plugin@0.2.7;
                interface scenes { count: func() -> u32; }
                world later { export scenes; }
            ",
        });
    }

    use later::exports::troupe::plugin::scenes;

    const KEPT: &str = include_str!("../../../../tests/fixtures/contract-0.2/environment.wat");

    fn kept(text: &str) -> Plugin {
        load(&wat::parse_str(text).unwrap(), &Limits::default()).unwrap()
    }

    /// The kept component with one more export, as of 0.2.1.
    fn with_scenes() -> String {
        let whole = KEPT.trim_end().strip_suffix(')').unwrap();
        format!(
            r#"{whole}
            (core module $scenes (func (export "count") (result i32) i32.const 3))
            (core instance $scenes (instantiate $scenes))
            (func $count (result u32) (canon lift (core func $scenes "count")))
            (instance $scenes (export "count" (func $count)))
            (export "troupe:plugin/scenes@0.2.1" (instance $scenes)))"#
        )
    }

    fn assert_plays(plugin: &Plugin) {
        let environment = EnvironmentPlugin::of(plugin).unwrap().unwrap();
        assert_eq!(environment.name(), "kept-environment");
        let seat = Seat::new("player");
        let task =
            Task { split: Split::Test, seed: 9, settings: vec![], seats: vec![], entry: None };
        let mut episode = environment.start(&task).unwrap();
        assert_eq!(episode.observe(&seat).unwrap()[0].text(), "9");
        let saved = episode.save().unwrap();
        let mut episode = environment.resume(&saved).unwrap();
        let action = episode.demonstrate(&seat).unwrap().unwrap();
        assert_eq!(action, Action::new("digit", "0"));
        let outcome = episode.act(vec![Move { seat: seat.clone(), action }]).unwrap();
        assert_eq!((outcome.for_team(), outcome.status), (1.0, Status::Solved));
    }

    #[test]
    fn a_component_of_this_release_goes_on_working_where_one_more_interface_is_known() {
        let plugin = kept(KEPT);
        assert_plays(&plugin);
        let engine = &plugin.loaded.engine;
        let component = Component::new(engine.wasmtime(), wat::parse_str(KEPT).unwrap()).unwrap();
        // This host with one more, and one whose interfaces all have a later version.
        let mut more = linker(engine, &plugin.offer()).unwrap();
        let mut later = Linker::<HostState>::new(engine.wasmtime());
        later
            .instance("troupe:plugin/log@0.2.7")
            .unwrap()
            .func_wrap(
                "write",
                |_: StoreContextMut<'_, HostState>,
                 _: (super::super::bindings::troupe::plugin::log::Level, String)| {
                    Ok(())
                },
            )
            .unwrap();
        for linker in [&mut more, &mut later] {
            let mut scenes = linker.instance("troupe:plugin/scenes@0.2.7").unwrap();
            scenes.func_wrap("go", |_: StoreContextMut<'_, HostState>, _: ()| Ok(())).unwrap();
            let prepared = linker.instantiate_pre(&component).unwrap();
            assert!(scenes::GuestIndices::new(&prepared).is_err(), "it does not bring any");
            let known = component.get_export_index(None, "troupe:plugin/environment@0.2.7");
            assert!(known.is_some());
        }
    }

    #[test]
    fn an_optional_interface_is_used_by_who_knows_it_and_left_alone_by_who_does_not() {
        let plugin = kept(&with_scenes());
        assert_plays(&plugin);
        let indices = scenes::GuestIndices::new(&plugin.loaded.component).unwrap();
        let (mut instance, wasm) = plugin.instantiate(&plugin.unnamed(), Seed::new(1)).unwrap();
        let count =
            instance.call("count", 0, |store| indices.load(&mut *store, &wasm)?.call_count(store));
        assert_eq!(count.unwrap(), 3);
    }

    #[test]
    fn a_component_of_a_later_line_is_refused_by_name() {
        for version in ["0.3.0", "1.0.0", "0.2.1"] {
            let bytes = wat::parse_str(KEPT.replace("@0.2.0", &format!("@{version}"))).unwrap();
            let error = load(&bytes, &Limits::default()).unwrap_err().to_string();
            let expected = format!("speaks contract {version} in `log`; this host speaks 0.2.0");
            assert!(error.contains(&expected), "{error}");
        }
    }
}
