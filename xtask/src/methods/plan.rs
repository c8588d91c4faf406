//! What there is to fill: configs/methods/experiments.toml.

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
    /// Arguments of every training.
    pub train: Vec<String>,
    /// Further ones of a quick call.
    quick: Vec<String>,
    /// The experiments.
    pub methods: Vec<Method>,
}

/// An experiment: rows, and what is asked of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Its name, that of its page, too.
    pub name: String,
    /// What is asked, in a sentence.
    pub question: String,
    /// Configurations of the warm start, which all rows begin with.
    #[serde(default)]
    pub warm: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What is claimed of them.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// A row.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What it is, for the table.
    pub title: String,
    /// Calls of the host, one after the other; in each, `{warm}`, `{cell}` and `{seed}` stand for
    /// the warm start's folder, the cell's and the seed, and `{last:NAME}` for the last checkpoint
    /// of the run of that name. The last one's test tasks are the row's figures.
    pub stages: Vec<Vec<String>>,
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

impl Plan {
    /// As the file says, or a quick one.
    pub fn read(workspace: &Workspace, quick: bool) -> Result<Self> {
        let path = workspace.root.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
        let mut plan: Plan =
            toml::from_str(&text).with_context(|| format!("reading `{}`", path.display()))?;
        plan.check()?;
        if quick {
            plan.seeds.truncate(1);
            let quick = std::mem::take(&mut plan.quick);
            plan.train.extend(quick);
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
