//! What there is to fill: configs/methods/experiments.toml.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::cell::Cell;
use crate::workspace::Workspace;

const FILE: &str = "configs/methods/experiments.toml";

/// All experiments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Seeds of every row.
    pub seeds: Vec<u64>,
    /// Arguments of every training, before its own.
    pub train: Vec<String>,
    /// Further ones of a quick call, after its own.
    quick: Vec<String>,
    /// The experiments.
    pub methods: Vec<Method>,
}

/// An experiment: rows, and what is asked of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Its name, that of its cells' folder and of its place in a page.
    pub name: String,
    /// The page, if it has another name.
    #[serde(default)]
    page: Option<String>,
    /// What is asked, in a sentence.
    pub question: String,
    /// What all rows begin with: calls in a folder of its own for each seed.
    #[serde(default)]
    pub warm: Vec<Vec<String>>,
    /// Arguments that calls have in common: `@NAME` stands for them.
    #[serde(default)]
    pub words: BTreeMap<String, Vec<String>>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is claimed of them.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What is shown of them besides.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// A row.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What it is, for the table.
    pub title: String,
    /// Calls of the host, one after the other: `NAME=COMMAND` and arguments. A run or the policies
    /// that it makes lie in `{cell}/NAME`, what else it prints in `{cell}/NAME.json`. Arguments may
    /// have `{warm}` and `{cell}`, the folders of the warm start and of the cell, `{seed}`,
    /// `{last:RUN}`, the last checkpoint of a run, and `{A|B}`, which is B in a quick call.
    #[serde(default)]
    pub stages: Vec<Vec<String>>,
    /// Files of outcomes whose mean is the row's success; without any, test tasks of its last run.
    #[serde(default)]
    pub outcomes: Vec<String>,
    /// Whether a task counts as solved if any of them solves it.
    #[serde(default)]
    pub any: bool,
    /// Why it is not run, if it is not.
    #[serde(default)]
    pub left_out: Option<String>,
}

/// A claim about two rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub better: String,
    pub than: String,
}

/// A number that rows have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What its column is called.
    pub title: String,
    /// What the table is called that it stands in, where a method has several.
    #[serde(default)]
    pub table: String,
    /// Its path: a stage's name and the keys in what that printed, or for figures of the last step
    /// of the last run, `critics` or `information` and the keys in its line. `*` stands for any
    /// key; of several numbers the mean is shown.
    pub path: String,
    /// Whether it is a share, shown in percent.
    #[serde(default)]
    pub share: bool,
}

impl Method {
    /// The arguments of a call, with those in the place of their names.
    pub fn spell_out(&self, arguments: &[String]) -> Vec<String> {
        let words = |argument: &String| {
            let named = argument.strip_prefix('@').and_then(|name| self.words.get(name));
            named.cloned().unwrap_or_else(|| vec![argument.clone()])
        };
        arguments.iter().flat_map(words).collect()
    }

    /// The name of its page.
    pub fn page(&self) -> &str {
        self.page.as_deref().unwrap_or(&self.name)
    }
}

impl Plan {
    /// As the file says, or a quick one.
    pub fn read(workspace: &Workspace, quick: bool) -> Result<Self> {
        let path = workspace.root.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
        let mut plan: Plan =
            toml::from_str(&text).with_context(|| format!("reading `{}`", path.display()))?;
        plan.check()?;
        match quick {
            true => plan.seeds.truncate(1),
            false => plan.quick.clear(),
        }
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        for method in &self.methods {
            let known = |name: &String| method.rows.iter().any(|row| row.name == *name);
            let named = method.claims.iter().flat_map(|claim| [&claim.better, &claim.than]);
            if let Some(unknown) = named.into_iter().find(|name| !known(name)) {
                bail!("{FILE}: `{}` has no row `{unknown}`", method.name);
            }
        }
        Ok(())
    }

    /// Arguments of every training, after its own.
    pub fn last(&self) -> &[String] {
        &self.quick
    }

    /// Every cell of the rows that are run.
    pub fn cells(&self, workspace: &Workspace, quick: bool) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &seed in &self.seeds {
            for method in &self.methods {
                for row in method.rows.iter().filter(|row| row.left_out.is_none()) {
                    cells.push(Cell::of(workspace, self, method, (row, seed), quick));
                }
            }
        }
        cells
    }
}
