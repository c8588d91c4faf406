//! Core modules as components.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A module that no component can be made of, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAModule(String);

impl NotAModule {
    fn because(error: &impl std::fmt::Display) -> Self {
        // The whole chain, on one line.
        let text = format!("{error:#}");
        NotAModule(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Makes a component of a core module in which wit-bindgen left what world it is made for.
///
/// # Errors
/// If the module does not fit its world.
pub fn component_of(module: &[u8]) -> Result<Vec<u8>, NotAModule> {
    let encoder = ComponentEncoder::default();
    let component = encoder.validate(true).module(module).and_then(|mut encoder| encoder.encode());
    component.map_err(|error| NotAModule::because(&error))
}

/// Makes a component of a core module that keeps to the canonical ABI of a world of the package
/// in the folder `wit`.
///
/// # Errors
/// If the package cannot be read, or the module does not fit the world.
pub fn component_of_world(module: &[u8], wit: &Path, world: &str) -> Result<Vec<u8>, NotAModule> {
    let mut resolve = Resolve::default();
    let mut module = module.to_vec();
    let (package, _) = resolve.push_dir(wit).map_err(|error| NotAModule::because(&error))?;
    let world = resolve.select_world(&[package], Some(world));
    world
        .and_then(|world| {
            embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        })
        .map_err(|error| NotAModule::because(&error))?;
    component_of(&module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_lacks_what_its_world_exports_is_refused_by_that_name() {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        let empty = wat::parse_str("(module)").unwrap();
        let error = component_of_world(&empty, &wit, "environment-plugin").unwrap_err();
        assert!(error.to_string().contains("troupe:plugin/environment"), "{error}");
        let error = component_of_world(&empty, &wit, "no-such-world").unwrap_err();
        assert!(error.to_string().contains("no-such-world"), "{error}");
        let error = component_of(b"no module").unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}
