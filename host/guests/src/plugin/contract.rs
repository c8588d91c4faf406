//! Which imports and exports a component may have.

use std::path::Path;

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::error::PluginError;
use super::grants::Right;
use super::survey::Names;

/// The version of the contract in `wit/`.
pub const CONTRACT_VERSION: &str = "0.2.0";
/// The contract's package.
pub const CONTRACT: &str = "troupe:plugin@0.2.0";

const PACKAGE: &str = "troupe:plugin";
const WASI: [&str; 6] =
    ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// What a component exports of the contract and needs from the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// It brings an environment.
    pub environment: bool,
    /// It says how its environment's episodes look.
    pub rendering: bool,
    /// It brings a workflow.
    pub workflow: bool,
    /// It brings an interpreter.
    pub interpreter: bool,
    /// It needs a WASI, and gets one in which there is nothing to find.
    pub wasi: bool,
    /// It wants to run model-written programs, which has to be granted.
    pub sandbox: bool,
    /// It wants to search a corpus, which has to be granted.
    pub retrieval: bool,
}

impl Offer {
    /// What it wants that has to be granted.
    pub(super) fn rights(self) -> impl Iterator<Item = Right> {
        let wanted = [(self.sandbox, Right::Sandbox), (self.retrieval, Right::Retrieval)];
        wanted.into_iter().filter(|(wants, _)| *wants).map(|(_, right)| right)
    }

    /// Reads a component's imports and exports; refuses what is not allowed.
    pub(super) fn of(
        engine: &Engine,
        component: &Component,
        file: &Path,
    ) -> Result<Self, PluginError> {
        let kind = component.component_type();
        let mut offer = Offer::default();
        for (name, export) in kind.exports(engine) {
            let interface = Interface::parse(name);
            let slot = match (interface.package, interface.name) {
                (PACKAGE, "environment") => &mut offer.environment,
                (PACKAGE, "rendering") => &mut offer.rendering,
                (PACKAGE, "workflow") => &mut offer.workflow,
                (PACKAGE, "interpreter") => &mut offer.interpreter,
                _ => continue,
            };
            interface.check_version(file)?;
            *slot = matches!(export.ty, ComponentItem::ComponentInstance(_));
        }
        for (name, import) in kind.imports(engine) {
            offer.admit(engine, name, &import.ty, file)?;
        }
        if !(offer.environment || offer.workflow || offer.interpreter) {
            return Err(no_contract(kind.exports(engine).map(|(name, _)| name), file));
        }
        Ok(offer)
    }

    /// Notes what the import asks for; an error if no plugin gets it.
    fn admit(
        &mut self,
        engine: &Engine,
        import: &str,
        kind: &ComponentItem,
        file: &Path,
    ) -> Result<(), PluginError> {
        let interface = Interface::parse(import);
        match interface.package {
            _ if interface.is_wasi() => self.wasi = true,
            PACKAGE => {
                interface.check_version(file)?;
                match interface.name {
                    _ if is_types_only(engine, kind) => {}
                    "log" | "streams" => {}
                    "sandbox" => self.sandbox = true,
                    "retrieval" => self.retrieval = true,
                    _ => return Err(not_importable(import, file)),
                }
            }
            _ => return Err(not_importable(import, file)),
        }
        Ok(())
    }
}

/// Refuses by its names alone, before it is compiled, what [`Offer::of`] would
/// refuse afterwards.
pub(super) fn check_names(names: &Names, file: &Path) -> Result<(), PluginError> {
    for name in &names.imports {
        let interface = Interface::parse(name);
        match interface.package {
            PACKAGE => interface.check_version(file)?,
            _ if interface.is_wasi() => {}
            _ => return Err(not_importable(name, file)),
        }
    }
    let mut offers = names.exports.iter().map(|name| Interface::parse(name).is_offered());
    if offers.any(|offered| offered) {
        return Ok(());
    }
    Err(no_contract(names.exports.iter().map(String::as_str), file))
}

fn no_contract<'a>(exports: impl Iterator<Item = &'a str>, file: &Path) -> PluginError {
    let exports: Vec<String> = exports.map(|name| format!("`{name}`")).collect();
    let exports = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
    PluginError::NoContract { file: file.to_owned(), exports }
}

fn not_importable(import: &str, file: &Path) -> PluginError {
    let Interface { package, name, .. } = Interface::parse(import);
    let hint = if package == PACKAGE {
        format!(
            "this host speaks {CONTRACT}, in which there is no `{name}` to import; a newer host may serve it"
        )
    } else {
        "a plugin may import `types`, `log`, `streams` and, when granted, `sandbox` and \
         `retrieval` of `troupe:plugin`, and a WASI 0.2 without http, in which there is nothing to find"
            .to_owned()
    };
    PluginError::Import { file: file.to_owned(), import: import.to_owned(), hint }
}

/// Whether it is an instance that brings types without anything to call.
fn is_types_only(engine: &Engine, item: &ComponentItem) -> bool {
    let ComponentItem::ComponentInstance(instance) = item else { return false };
    instance.exports(engine).all(|(_, export)| matches!(export.ty, ComponentItem::Type(_)))
}

/// A name such as `troupe:plugin/log@0.1.0`, taken apart.
struct Interface<'a> {
    package: &'a str,
    name: &'a str,
    version: &'a str,
}

impl<'a> Interface<'a> {
    fn parse(whole: &'a str) -> Self {
        let (path, version) = whole.split_once('@').unwrap_or((whole, ""));
        let (package, name) = path.split_once('/').unwrap_or((path, ""));
        Interface { package, name, version }
    }

    fn is_wasi(&self) -> bool {
        WASI.contains(&self.package) && self.version.starts_with("0.2.")
    }

    /// Whether it is something that the host can use.
    fn is_offered(&self) -> bool {
        self.package == PACKAGE && ["environment", "workflow", "interpreter"].contains(&self.name)
    }

    /// A host understands what was built against its own version of the
    /// contract or an earlier compatible one; semantic versioning says which are.
    fn check_version(&self, file: &Path) -> Result<(), PluginError> {
        if is_compatible(self.version, CONTRACT_VERSION) {
            return Ok(());
        }
        Err(PluginError::ContractVersion {
            file: file.to_owned(),
            interface: self.name.to_owned(),
            theirs: self.version.to_owned(),
        })
    }
}

/// Whether something of version `theirs` works where `ours` is offered: the
/// same major version, before 1.0 the same minor one, and nothing newer.
fn is_compatible(theirs: &str, ours: &str) -> bool {
    let (Some(theirs), Some(ours)) = (numbers(theirs), numbers(ours)) else { return false };
    let line = |[major, minor, _]: [u64; 3]| (major, if major == 0 { minor } else { 0 });
    line(theirs) == line(ours) && theirs <= ours
}

fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use plugin_sdk::types::Needs;

    use super::super::probe::{Probe, load};
    use super::is_compatible;
    use troupe_core::config::Limits;

    /// What is said of a file with this content, without the folder it was in.
    fn refusal(bytes: &[u8]) -> String {
        let message = load(bytes, &Limits::default()).unwrap_err().to_string();
        let (start, rest) = message.split_once("`/").unwrap();
        let (_, end) = rest.split_once("probe.wasm").unwrap();
        format!("{start}`{end}")
    }

    fn component(fields: &str) -> Vec<u8> {
        wat::parse_str(format!("(component (instance $empty) {fields})")).unwrap()
    }

    #[test]
    fn what_is_no_component_is_told_apart() {
        let module = wat::parse_str("(module)").unwrap();
        assert!(refusal(&module).starts_with("`` is not a plugin: it is a core module"));
        assert!(refusal(b"").ends_with("it is empty"));
        assert!(refusal(b"(component)").contains("it is WebAssembly text"));
        assert!(refusal(b"#!/bin/sh").ends_with("it is not a WebAssembly component"));
        let whole = Probe::that("").bytes();
        let broken = refusal(&whole[..whole.len() / 2]);
        assert!(broken.starts_with("plugin `` is damaged: ") && broken.ends_with("fetch it again"));
    }

    #[test]
    fn what_semantic_versioning_calls_compatible_is() {
        let works = |theirs, ours| is_compatible(theirs, ours);
        assert!(works("0.2.0", "0.2.0") && works("0.2.1", "0.2.3") && works("1.0.4", "1.7.0"));
        assert!(!works("0.1.9", "0.2.0") && !works("0.3.0", "0.2.0") && !works("2.0.0", "1.9.0"));
        assert!(!works("0.2.4", "0.2.3") && !works("1.8.0", "1.7.0"), "newer than the host");
        assert!(!works("0.2", "0.2.0") && !works("", "0.2.0") && !works("0.2.0.1", "0.2.0"));
    }

    #[test]
    fn another_contract_version_is_named() {
        let error =
            refusal(&component(r#"(export "troupe:plugin/environment@9.0.0" (instance $empty))"#));
        assert!(
            error.starts_with(
                "plugin `` speaks contract 9.0.0 in `environment`; this host speaks 0.2.0"
            ),
            "{error}"
        );
        let error = refusal(&component(r#"(import "troupe:plugin/log@0.3.0" (instance))"#));
        assert!(error.contains("speaks contract 0.3.0 in `log`"), "{error}");
    }

    #[test]
    fn an_optional_interface_that_this_host_does_not_know_is_refused_by_name_and_version() {
        let refusal = |import: &str| {
            let imports = format!(r#"(import "{import}" (instance (export "go" (func))))"#);
            refusal(&Probe { imports: &imports, ..Probe::that("") }.bytes())
        };
        let unknown = refusal("troupe:plugin/scenes@0.2.0");
        assert!(
            unknown.contains("imports `troupe:plugin/scenes@0.2.0`, which is not granted; this host speaks troupe:plugin@0.2.0, in which there is no `scenes`"),
            "{unknown}"
        );
        let newer = refusal("troupe:plugin/scenes@0.2.1");
        assert!(
            newer.contains("speaks contract 0.2.1 in `scenes`; this host speaks 0.2.0"),
            "{newer}"
        );
    }

    #[test]
    fn imports_outside_the_contract_are_refused_by_name() {
        let import = |name: &str| {
            let call = r#"(instance (export "go" (func)))"#;
            refusal(&component(&format!(r#"(import "{name}" {call})"#)))
        };
        for name in ["wasi:http/types@0.2.0", "wasi:cli/environment@0.3.0", "host:secrets/read"] {
            let error = import(name);
            assert!(
                error.starts_with(&format!("plugin `` imports `{name}`, which is not granted; ")),
                "{error}"
            );
        }
        // A name of the WASI there is, with a function that is not in it.
        let imports = r#"(import "wasi:cli/environment@0.2.0" (instance (export "go" (func))))"#;
        let error = refusal(&Probe { imports, ..Probe::that("") }.bytes());
        assert!(error.contains("wasi:cli/environment@0.2.0"), "{error}");
    }

    #[test]
    fn what_has_no_contract_is_refused_before_it_is_compiled() {
        let live = "(i32.load (i32.const 0)) ".repeat(20_000) + &"i32.add ".repeat(19_999);
        let guest = |rest: &str| {
            let module = format!("(memory 1) (func (result i32) {live})");
            let text = format!("(component (core module {module}) (instance $empty) {rest})");
            refusal(&wat::parse_str(text).unwrap())
        };
        assert!(guest("").ends_with("(it exports nothing)"));
        let foreign = guest(
            r#"(import "host:secrets/read" (instance))
               (export "troupe:plugin/environment@0.2.0" (instance $empty))"#,
        );
        assert!(foreign.contains("imports `host:secrets/read`"), "{foreign}");
        let offered = guest(r#"(export "troupe:plugin/environment@0.2.0" (instance $empty))"#);
        assert!(
            offered.starts_with("plugin `` is not compiled: one of its functions"),
            "{offered}"
        );
    }

    #[test]
    fn what_a_plugin_needs_has_to_be_granted() {
        let plugin = Probe::that("").load(&Limits::default()).unwrap();
        let needs = |memory_mib, fuel| {
            let checked = plugin.check_needs(&Needs { memory_mib, fuel });
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(needs(None, None), Ok(()));
        assert_eq!(needs(Some(64), Some(1e9)), Ok(()));
        let memory = needs(Some(65), None).unwrap_err();
        assert!(
            memory.ends_with("grant it that with `plugins.limits.memory_mib = 65`"),
            "{memory}"
        );
        let fuel = needs(Some(64), Some(2e9)).unwrap_err();
        assert!(fuel.ends_with("grant it that with `plugins.limits.fuel = 2000000000`"), "{fuel}");
    }

    #[test]
    fn a_component_without_or_with_a_wrong_shape_is_refused() {
        assert!(refusal(&component("")).ends_with("(it exports nothing)"));
        let hollow =
            refusal(&component(r#"(export "troupe:plugin/environment@0.2.0" (instance $empty))"#));
        assert!(hollow.starts_with("plugin `` does not fit contract 0.2.0: "), "{hollow}");
    }
}
