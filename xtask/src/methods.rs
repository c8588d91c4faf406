//! The experiments of docs/methods: cells that resume, and what was seen.
//!
//! A cell is a row with a seed: a few calls of the host, one after the other. What came of it is a
//! small file in docs/methods/cells, which is kept in git, so that the next call, on another
//! machine too, goes on where this one ended.

mod cell;
mod page;
mod plan;
mod work;

use std::sync::Mutex;
use std::thread;

use anyhow::{Result, bail};

use crate::progress::Elapsed;
use crate::workspace::Workspace;
use cell::Cell;
use plan::Plan;

/// What is asked for.
pub struct Asked {
    /// One seed and little work: whether all of it runs.
    pub quick: bool,
    /// Only the methods of these names.
    pub only: Vec<String>,
    /// Only write the pages.
    pub page: bool,
}

/// Fills the cells that are empty, two at a time, and writes the pages; the host has been built.
pub fn fill(workspace: &Workspace, asked: &Asked) -> Result<()> {
    let plan = Plan::read(workspace, asked.quick)?;
    let unknown = asked.only.iter().find(|name| plan.methods.iter().all(|m| m.name != **name));
    if let Some(name) = unknown {
        let known: Vec<&str> = plan.methods.iter().map(|method| method.name.as_str()).collect();
        bail!("there is no method `{name}`; there are {}", known.join(", "));
    }
    if !asked.page {
        run(workspace, &plan, asked)?;
    }
    match asked.quick {
        true => Ok(()),
        false => page::write(workspace, &plan),
    }
}

fn run(workspace: &Workspace, plan: &Plan, asked: &Asked) -> Result<()> {
    let elapsed = Elapsed::start();
    let wanted = |name: &String| asked.only.is_empty() || asked.only.contains(name);
    let mut empty: Vec<Cell> = plan.cells(workspace, asked.quick);
    empty.retain(|cell| wanted(&cell.method) && !cell.is_filled());
    // Seed by seed, so that whenever it is stopped all rows have as many.
    empty.sort_by_key(|cell| std::cmp::Reverse(cell.seed));
    let (count, failed) = (empty.len(), Mutex::new(Vec::new()));
    let left = Mutex::new(empty);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(cell) = next(&left) {
                    let (took, name) = (Elapsed::start(), cell.name());
                    match cell.fill(workspace) {
                        Ok(()) => eprintln!("== {name}: filled in {took}; {elapsed} so far"),
                        Err(error) => {
                            eprintln!("== {name}: {error:#}");
                            lock(&failed).push(name);
                        }
                    }
                }
            });
        }
    });
    let failed = lock(&failed).clone();
    eprintln!("== {} of {count} cells filled in {elapsed}", count - failed.len());
    if !failed.is_empty() {
        bail!("{} cells are empty still: {}; call again", failed.len(), failed.join(", "));
    }
    Ok(())
}

fn next(left: &Mutex<Vec<Cell>>) -> Option<Cell> {
    lock(left).pop()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
