//! All that an experiment has to do, worked out before anything is done.

use std::collections::BTreeMap;

use super::address::Addresses;
use super::error::ExperimentError;
use super::file::ExperimentFile;
use super::folder::{Folder, put};
use super::guard::{check_claims, families};
use super::job::{Job, Loaded, Maker, Work};
use super::kept::KeptCells;
use super::planned::{Cell, PlannedRow, check_taught, needed, plan_rows, wanted};
use super::row::{Row, Source, expand};
use super::setup::{Program, WarmStart};
use troupe_core::config::Config;
use troupe_core::storage::StorageError;

/// The rows of an experiment with their configurations, and the work that fills them.
#[derive(Debug)]
pub struct Plan {
    /// The file.
    pub file: ExperimentFile,
    /// The rows.
    pub rows: Vec<PlannedRow>,
    /// How many claims each family has, those about rows that are left out among them.
    pub families: BTreeMap<String, usize>,
    /// The work, in an order in which everything comes after what it needs.
    pub jobs: Vec<Job>,
}

impl Plan {
    /// Resolve all rows, `jobs` at a time, and write their configurations into the folder. Where
    /// `only` names rows or parts of the table, the others are left out; cells that are kept are
    /// not made again.
    ///
    /// # Errors
    /// If a row cannot be run, or rows that are to be compared are examined differently.
    pub fn make(
        file: ExperimentFile,
        only: &[String],
        (folder, kept): (&Folder, Option<&KeptCells>),
        program: &Program,
        addresses: &mut Addresses,
        jobs: usize,
    ) -> Result<Self, ExperimentError> {
        let rows = expand(&file)?;
        let families = families(&file.compare, &rows);
        let wanted = wanted(&rows, only)?;
        let mut planned = plan_rows(needed(rows, &wanted), &file, program, jobs)?;
        for planned in &planned {
            put(&folder.row_file(&planned.row), &planned.config.to_toml())?;
        }
        let is_wanted = |planned: &PlannedRow| wanted.contains(&planned.row.label());
        if let Some(kept) = kept {
            for row in planned.iter_mut().filter(|row| is_wanted(row)) {
                row.kept = kept.of(row, &file)?;
            }
        }
        let mut builder =
            Builder { file: &file, folder, addresses, jobs: Vec::new(), places: BTreeMap::new() };
        let cells = builder.cells(&planned, is_wanted)?;
        let jobs = builder.jobs;
        // With the rows that others are put together of: what those spent counts.
        check_claims(&file, &planned, !only.is_empty(), addresses)?;
        planned.iter_mut().zip(cells).for_each(|(row, cells)| row.cells = cells);
        planned.retain(is_wanted);
        Ok(Plan { file, rows: planned, families, jobs })
    }

    /// Keep the cells whose jobs are done.
    ///
    /// # Errors
    /// If what they left cannot be read, or a file cannot be written.
    pub fn keep_cells(&self, kept: &KeptCells, folder: &Folder) -> Result<(), StorageError> {
        for row in &self.rows {
            for cell in &row.cells {
                let last = cell.last().map(|place| &self.jobs[place]);
                if last.is_some_and(|job| job.is_done(folder)) {
                    kept.keep(row, &self.file, *cell, (&self.jobs, folder))?;
                }
            }
        }
        Ok(())
    }
}

struct Builder<'a> {
    file: &'a ExperimentFile,
    folder: &'a Folder,
    addresses: &'a mut Addresses,
    jobs: Vec<Job>,
    places: BTreeMap<String, usize>,
}

impl Builder<'_> {
    /// The cells of every row, none of one that is not wanted. Within a part the work goes seed by
    /// seed: what was stopped half-way has whole seeds, in which rows can be compared.
    fn cells(
        &mut self,
        all: &[PlannedRow],
        is_wanted: impl Fn(&PlannedRow) -> bool,
    ) -> Result<Vec<Vec<Cell>>, ExperimentError> {
        let mut cells = vec![Vec::new(); all.len()];
        let rows: Vec<(usize, &PlannedRow)> =
            all.iter().enumerate().filter(|(_, row)| is_wanted(row)).collect();
        for part in rows.chunk_by(|(_, one), (_, next)| one.row.part == next.row.part) {
            for &seed in &self.file.seeds {
                for &(place, row) in part {
                    if !row.kept.iter().any(|cell| cell.sitting.seed == seed) {
                        cells[place].push(self.cell(row, seed, all)?);
                    }
                }
            }
        }
        Ok(cells)
    }

    fn cell(
        &mut self,
        planned: &PlannedRow,
        seed: u64,
        all: &[PlannedRow],
    ) -> Result<Cell, ExperimentError> {
        let row = &planned.row;
        let find = |name: &String| {
            let same = |other: &&PlannedRow| other.row.part == row.part && other.row.name == *name;
            all.iter().find(same).unwrap_or(planned)
        };
        match &row.source {
            Source::Trained => {
                let run = self.train(planned, find(&row.warm), seed)?;
                let exam = match self.file.exam.is_of_the_run() {
                    true => None,
                    false => Some(self.exam(planned, seed, Some(run), Vec::new())?),
                };
                Ok(Cell { seed, run: Some(run), exam })
            }
            Source::Prompted => {
                let loaded = self.warm(planned, find(&row.warm), seed)?;
                check_taught(planned, &loaded)?;
                let exam = Some(self.exam(planned, seed, None, loaded)?);
                Ok(Cell { seed, run: None, exam })
            }
            Source::Of(other) => {
                let other = find(other);
                let run = self.train(other, find(&other.row.warm), seed)?;
                let exam = Some(self.exam(planned, seed, Some(run), Vec::new())?);
                Ok(Cell { seed, run: Some(run), exam })
            }
            Source::Combined(parts) => {
                let mut loaded = self.warm(planned, find(&row.warm), seed)?;
                for (role, other) in parts {
                    let part = self.part(planned, role, find(other), seed, all)?;
                    loaded.retain(|known| known.policy != part.policy);
                    loaded.push(part);
                }
                check_taught(planned, &loaded)?;
                let exam = Some(self.exam(planned, seed, None, loaded)?);
                Ok(Cell { seed, run: None, exam })
            }
        }
    }

    /// The policy of a role, from the run of another row.
    fn part(
        &mut self,
        planned: &PlannedRow,
        role: &str,
        other: &PlannedRow,
        seed: u64,
        all: &[PlannedRow],
    ) -> Result<Loaded, ExperimentError> {
        let warm =
            all.iter().find(|row| row.row.part == other.row.part && row.row.name == other.row.warm);
        let run = self.train(other, warm.unwrap_or(other), seed)?;
        let policy = |config: &Config, of: &Row| {
            config.roles.policy_of(role).map(str::to_owned).ok_or_else(|| {
                ExperimentError::Refused {
                    row: of.label(),
                    reason: format!(
                        "no policy plays the role `{role}` in it, which `combine` names"
                    ),
                }
            })
        };
        let source = policy(&other.config, &other.row)?;
        if !other.config.trains(&source) {
            let reason = format!("it does not train `{source}`, which plays `{role}`");
            return Err(ExperimentError::Refused { row: other.row.label(), reason });
        }
        Ok(Loaded {
            policy: policy(&planned.config, &planned.row)?,
            source,
            maker: Maker::Run(self.jobs[run].address.clone()),
        })
    }

    /// The warm start of a row, as policies to load; none if it has none.
    fn warm(
        &mut self,
        planned: &PlannedRow,
        origin: &PlannedRow,
        seed: u64,
    ) -> Result<Vec<Loaded>, ExperimentError> {
        if !self.file.warm.is_shared() {
            return Ok(Vec::new());
        }
        let Some(start) = WarmStart::of(&origin.config) else { return Ok(Vec::new()) };
        let identity = self.addresses.identity(&start.config)?;
        let address = self.addresses.of(&["warm", &seed.to_string(), &identity]);
        put(&self.folder.warm_file(&address), &start.config.to_toml())?;
        self.add(Job {
            address: address.clone(),
            label: format!("warm start of {}", origin.row.label()),
            seed,
            work: Work::Warm,
            needs: Vec::new(),
        });
        let own = WarmStart::of(&planned.config).map(|own| own.policies).unwrap_or_default();
        let source = |name: &String| {
            let same = start.policies.get(name).or_else(|| start.policies.values().next());
            same.cloned().unwrap_or_else(|| name.clone())
        };
        let loaded = |name: &String| Loaded {
            policy: name.clone(),
            source: source(name),
            maker: Maker::Warm(address.clone()),
        };
        Ok(own.keys().map(loaded).collect())
    }

    /// The place of the run of a row.
    fn train(
        &mut self,
        planned: &PlannedRow,
        origin: &PlannedRow,
        seed: u64,
    ) -> Result<usize, ExperimentError> {
        let policies = self.warm(planned, origin, seed)?;
        let identity = self.addresses.identity(&planned.config)?;
        let loaded = format!("{policies:?}");
        let address = self.addresses.of(&["train", &seed.to_string(), &identity, &loaded]);
        let needs = self.makers(&policies);
        let config = self.folder.row_file(&planned.row);
        let exam = Some(&self.file.exam).filter(|exam| exam.is_of_the_run()).cloned();
        Ok(self.add(Job {
            address,
            label: planned.row.label(),
            seed,
            work: Work::Train { config, policies, exam },
            needs,
        }))
    }

    /// The place of an exam.
    fn exam(
        &mut self,
        planned: &PlannedRow,
        seed: u64,
        run: Option<usize>,
        policies: Vec<Loaded>,
    ) -> Result<usize, ExperimentError> {
        let identity = self.addresses.identity(&planned.exam_config)?;
        let origin = run.map(|run| self.jobs[run].address.clone());
        let exam = &self.file.exam;
        let asked = format!("{} {} {}", exam.split, exam.tasks, exam.samples);
        let origins = format!("{origin:?} {policies:?}");
        let seed_text = seed.to_string();
        let address = self.addresses.of(&["exam", &seed_text, &identity, &origins, &asked]);
        let needs = run.into_iter().chain(self.makers(&policies)).collect();
        let work = Work::Exam {
            run: origin,
            config: self.folder.row_file(&planned.row),
            policies,
            sets: planned.row.exam_sets.clone(),
            exam: exam.clone(),
        };
        let label = format!("exam of {}", planned.row.label());
        Ok(self.add(Job { address, label, seed, work, needs }))
    }

    /// The places of the jobs that make these policies, each once.
    fn makers(&self, policies: &[Loaded]) -> Vec<usize> {
        let address = |loaded: &Loaded| match &loaded.maker {
            Maker::Warm(address) | Maker::Run(address) => address.clone(),
        };
        let mut makers: Vec<usize> = (policies.iter())
            .filter_map(|loaded| self.places.get(&address(loaded)).copied())
            .collect();
        makers.sort_unstable();
        makers.dedup();
        makers
    }

    /// The place of a job; what has the same address is the same job.
    fn add(&mut self, job: Job) -> usize {
        if let Some(&place) = self.places.get(&job.address) {
            return place;
        }
        self.places.insert(job.address.clone(), self.jobs.len());
        self.jobs.push(job);
        self.jobs.len() - 1
    }
}
