//! Pages about the components of this workspace, in `<target>/catalogue`.

use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// What some of them want, to be tried: none of this is granted to anybody who uses them.
const GRANTS: [&str; 5] = [
    "code=sandbox",
    "search=search",
    "aggregate=sandbox",
    "reasoner-tool=sandbox",
    "tool-planner=sandbox",
];
const CORPUS: &str = "configs/search/corpus.jsonl";
/// Of all that is written here.
const LICENSE: &str = "MIT OR Apache-2.0";
/// They are no crates.
const INTERPRETERS: [&str; 2] = ["python", "javascript"];

/// Has the program write them; `registry` is where the components are to be had from, if anywhere.
pub fn write(workspace: &Workspace, registry: Option<&str>) -> Result<()> {
    let folder = workspace.target_dir.join("catalogue");
    let mut host = Command::new(workspace.target_dir.join("release/host"));
    host.current_dir(&workspace.root).args(["plugin", "catalogue"]);
    for kind in ["environments", "workflows"] {
        let plugins = workspace.plugins_in(&workspace.root.join("plugins").join(kind));
        let mut names: Vec<String> = plugins.into_iter().map(|plugin| plugin.name).collect();
        names.sort();
        for name in names {
            // Interpreters are made of others' programs, which have licences of their own.
            let license = format!("{name}={LICENSE}");
            host.arg(name).args(["--license", &license]);
        }
    }
    host.args(INTERPRETERS).arg("--out").arg(&folder);
    host.args(["--grant-retrieval", CORPUS]);
    GRANTS.iter().for_each(|grant| {
        host.args(["--grant", grant]);
    });
    if let Some(registry) = registry {
        host.args(["--registry", registry]);
    }
    process::run(&mut host)?;
    eprintln!("catalogue: open {} in a browser", folder.join("index.html").display());
    Ok(())
}
