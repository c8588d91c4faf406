//! The Rust SDK outside of Troupe's workspace.

use toml::{Table, Value};

/// A crate's manifest in which everything that it takes from its workspace is
/// spelled out; without what only a host needs.
pub fn stand_alone(package: &str, workspace: &str) -> String {
    let mut package: Table = toml::from_str(package).unwrap_or_default();
    let workspace: Table = toml::from_str(workspace).unwrap_or_default();
    let shared = |table: &str| workspace.get("workspace").and_then(|all| all.get(table)).cloned();
    spell_out(&mut package, "package", shared("package"));
    spell_out(&mut package, "dependencies", shared("dependencies"));
    package.remove("lints");
    // The feature is still asked for by name, and is never on.
    if let Some(Value::Table(features)) = package.get_mut("features") {
        features.iter_mut().for_each(|(_, needs)| *needs = Value::Array(Vec::new()));
    }
    if let Some(Value::Table(dependencies)) = package.get_mut("dependencies") {
        dependencies.retain(|_, value| value.get("optional").is_none());
    }
    toml::to_string(&package).unwrap_or_default()
}

/// Replaces `x.workspace = true` in a table.
fn spell_out(package: &mut Table, table: &str, shared: Option<Value>) {
    let Some(Value::Table(own)) = package.get_mut(table) else { return };
    for (name, value) in own.iter_mut() {
        let Some(mut more) = value.as_table().cloned() else { continue };
        if more.remove("workspace").is_none() {
            continue;
        }
        let Some(meant) = shared.as_ref().and_then(|shared| shared.get(name)) else { continue };
        *value = match (meant.clone(), more.is_empty()) {
            (meant, true) => meant,
            (Value::Table(mut meant), false) => {
                meant.extend(more);
                Value::Table(meant)
            }
            (version, false) => {
                more.insert("version".to_owned(), version);
                Value::Table(more)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_crate_takes_from_its_workspace_is_spelled_out() {
        let workspace = "[workspace.package]\nversion = \"1.2.3\"\n\
                         [workspace.dependencies]\na = \"1\"\nb = { version = \"2\", default-features = false }\n";
        let package = "[package]\nname = \"x\"\nversion.workspace = true\n\
                       [dependencies]\na.workspace = true\nb = { workspace = true, features = [\"f\"] }\n\
                       host = { workspace = true, optional = true }\nc = \"3\"\n\
                       [features]\nhost = [\"dep:host\"]\n[lints]\nworkspace = true\n";
        let alone: Table = toml::from_str(&stand_alone(package, workspace)).unwrap();
        let expected: Table = toml::from_str(
            "[package]\nname = \"x\"\nversion = \"1.2.3\"\n[dependencies]\na = \"1\"\nc = \"3\"\n\
             b = { version = \"2\", default-features = false, features = [\"f\"] }\n[features]\nhost = []\n",
        )
        .unwrap();
        assert_eq!(alone, expected);
    }
}
