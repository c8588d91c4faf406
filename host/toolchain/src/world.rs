//! The world that a core module is made for, by the names of what it imports and exports.

use wasmparser::{Parser, Payload};

/// From where programs in C import what they want of the system.
const SYSTEM: &str = "wasi_snapshot_preview1";

/// A world of this name, with the interfaces of a package (such as `troupe:plugin@0.2.0`) that
/// the module imports from and exports functions of, as a file of that package.
pub fn world_of(module: &[u8], package: &str, world: &str) -> String {
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let interface = |name: &str| interface(name, package);
    // A module that cannot be read is refused when a component is to be made of it.
    for payload in Parser::new(0).parse_all(module).flatten() {
        match payload {
            Payload::ImportSection(section) => {
                let names = section.into_imports().flatten().map(|import| import.module.to_owned());
                imports.extend(names.filter_map(|name| interface(&name)));
            }
            Payload::ExportSection(section) => {
                let names = section.into_iter().flatten().map(|export| export.name.to_owned());
                exports.extend(names.filter_map(|name| interface(&name)));
            }
            _ => {}
        }
    }
    let lines = |word: &str, mut names: Vec<String>| {
        names.sort_unstable();
        names.dedup();
        names.iter().map(|name| format!("  {word} {name};\n")).collect::<String>()
    };
    let (imports, exports) = (lines("import", imports), lines("export", exports));
    format!("package {package};\n\nworld {world} {{\n{imports}{exports}}}\n")
}

/// What the module wants of an operating system, such as `fd_write`: no plugin has one.
pub fn system_calls(module: &[u8]) -> Vec<String> {
    let mut calls = Vec::new();
    for payload in Parser::new(0).parse_all(module).flatten() {
        if let Payload::ImportSection(section) = payload {
            let imports = section.into_imports().flatten();
            let system = imports.filter(|import| import.module == SYSTEM);
            calls.extend(system.map(|import| import.name.to_owned()));
        }
    }
    calls
}

/// `environment` of `troupe:plugin/environment@0.2.0#describe`.
fn interface(name: &str, package: &str) -> Option<String> {
    let (package, _version) = package.split_once('@')?;
    let (interface, _) = name.strip_prefix(package)?.strip_prefix('/')?.split_once('@')?;
    Some(interface.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_what_the_module_imports_and_exports() {
        let module = wat::parse_str(
            r#"(module
                (import "[export]troupe:plugin/workflow@0.2.0" "[resource-new]session" (func))
                (import "troupe:plugin/log@0.2.0" "write" (func))
                (import "wasi:cli/exit@0.2.0" "exit" (func))
                (func (export "troupe:plugin/workflow@0.2.0#describe"))
                (func (export "troupe:plugin/workflow@0.2.0#configure"))
                (func (export "cabi_realloc")))"#,
        )
        .unwrap();
        let world = world_of(&module, "troupe:plugin@0.2.0", "this-plugin");
        assert_eq!(
            world,
            "package troupe:plugin@0.2.0;\n\nworld this-plugin {\n  import log;\n  export workflow;\n}\n"
        );
    }

    #[test]
    fn what_a_module_wants_of_a_system_is_known_by_name() {
        let module = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func))
            (import "troupe:plugin/log@0.2.0" "write" (func)))"#;
        assert_eq!(system_calls(&wat::parse_str(module).unwrap()), ["fd_write"]);
    }
}
