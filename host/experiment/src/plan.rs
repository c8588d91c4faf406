//! All that an experiment has to do, worked out before anything is done.

use std::collections::{BTreeMap, BTreeSet};

use super::address::Addresses;
use super::error::{ExperimentError, invalid};
use super::file::{Exam, ExperimentFile};
use super::folder::{Folder, put};
use super::guard::check_claims;
use super::job::{Job, Loaded, Maker, Work};
use super::kept::{KeptCell, KeptCells};
use super::row::{Row, Source, expand};
use super::setup::{Program, WarmStart, resolve};
use troupe_core::config::Config;
use troupe_core::error::suggestion;
use troupe_core::parallel;
use troupe_core::storage::StorageError;

/// The rows of an experiment with their configurations, and the work that fills them.
#[derive(Debug)]
pub struct Plan {
    /// The file.
    pub file: ExperimentFile,
    /// The rows.
    pub rows: Vec<PlannedRow>,
    /// The work, in an order in which everything comes after what it needs.
    pub jobs: Vec<Job>,
}

/// A row with all that is known of it beforehand.
#[derive(Debug)]
pub struct PlannedRow {
    /// The row.
    pub row: Row,
    /// The configuration it is trained with, or examined with if it is not.
    pub config: Config,
    /// The configuration it is examined with.
    pub exam_config: Config,
    /// For each seed whose figures are not kept, where they come from.
    pub cells: Vec<Cell>,
    /// What is kept of the others.
    pub kept: Vec<KeptCell>,
}

/// Where the figures of a row's seed come from: places of jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// The seed.
    pub seed: u64,
    /// The run that trained the policies.
    pub run: Option<usize>,
    /// The exam; nothing if the run examined itself.
    pub exam: Option<usize>,
}

impl Cell {
    /// The last job of all that it needs.
    pub fn last(&self) -> Option<usize> {
        self.exam.or(self.run)
    }

    /// The runs whose policies it examines: one, or one for each row that it is put together of.
    pub fn trainings(&self, jobs: &[Job]) -> Vec<usize> {
        let is_run = |place: &usize| matches!(jobs[*place].work, Work::Train { .. });
        let needed = self.exam.filter(|_| self.run.is_none()).map(|exam| &jobs[exam].needs);
        let needed = needed.into_iter().flatten().copied().filter(is_run);
        self.run.into_iter().chain(needed).collect()
    }
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
        let wanted = wanted(&rows, only)?;
        let mut planned = plan_rows(needed(rows, &wanted), &file.exam, program, jobs)?;
        for planned in &planned {
            put(&folder.row_file(&planned.row), &planned.config.to_toml())?;
        }
        let is_wanted = |planned: &PlannedRow| wanted.contains(&planned.row.label());
        if let Some(kept) = kept {
            for row in planned.iter_mut().filter(|row| is_wanted(row)) {
                row.kept = kept.of(row, &file.seeds)?;
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
        Ok(Plan { file, rows: planned, jobs })
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
                    kept.keep(row, *cell, &self.jobs, folder)?;
                }
            }
        }
        Ok(())
    }
}

fn plan_rows(
    rows: Vec<Row>,
    exam: &Exam,
    program: &Program,
    jobs: usize,
) -> Result<Vec<PlannedRow>, ExperimentError> {
    let configs = resolve_all(&rows, exam, program, jobs)?;
    let plan = |(row, config): (Row, Config)| {
        let exam_config = with_sets(&row, &config)?;
        Ok(PlannedRow { row, config, exam_config, cells: Vec::new(), kept: Vec::new() })
    };
    rows.into_iter().zip(configs).map(plan).collect()
}

/// The labels of the rows that are asked for: by name, by part, or by both.
pub(super) fn wanted(rows: &[Row], only: &[String]) -> Result<BTreeSet<String>, ExperimentError> {
    let is = |row: &Row, name: &String| [&row.name, &row.part, &row.label()].contains(&name);
    if let Some(unknown) = only.iter().find(|name| !rows.iter().any(|row| is(row, name))) {
        let names: BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let hint = suggestion(unknown, names);
        return Err(invalid("--only", format!("there is no row `{unknown}`{hint}")));
    }
    let is_wanted = |row: &&Row| only.is_empty() || only.iter().any(|name| is(row, name));
    Ok(rows.iter().filter(is_wanted).map(Row::label).collect())
}

/// Those rows, and those that they take something of.
fn needed(rows: Vec<Row>, wanted: &BTreeSet<String>) -> Vec<Row> {
    let mut needed = wanted.clone();
    let mut pending: Vec<&Row> = rows.iter().filter(|row| wanted.contains(&row.label())).collect();
    while let Some(row) = pending.pop() {
        let sources: Vec<&String> = match &row.source {
            Source::Of(other) => vec![other],
            Source::Combined(parts) => parts.values().collect(),
            Source::Trained | Source::Prompted => Vec::new(),
        };
        let gives = |other: &&Row| {
            other.part == row.part && (other.name == row.warm || sources.contains(&&other.name))
        };
        pending.extend(rows.iter().filter(gives).filter(|other| needed.insert(other.label())));
    }
    rows.into_iter().filter(|row| needed.contains(&row.label())).collect()
}

/// Rows that are trained as another is have its configuration.
fn resolve_all(
    rows: &[Row],
    exam: &Exam,
    program: &Program,
    jobs: usize,
) -> Result<Vec<Config>, ExperimentError> {
    let of = |row: &Row| match &row.source {
        Source::Of(other) => {
            rows.iter().position(|known| known.part == row.part && known.name == *other)
        }
        _ => None,
    };
    let own: Vec<usize> = (0..rows.len()).filter(|&place| of(&rows[place]).is_none()).collect();
    let asked: Vec<&Row> = own.iter().map(|&place| &rows[place]).collect();
    let shares = asked.chunks(asked.len().div_ceil(jobs).max(1));
    let resolved = parallel::try_in_order(jobs, shares, |share| resolve(share, exam, program))?;
    let known: BTreeMap<usize, Config> =
        own.into_iter().zip(resolved.into_iter().flatten()).collect();
    let config = |(place, row)| known[&of(row).unwrap_or(place)].clone();
    Ok(rows.iter().enumerate().map(config).collect())
}

fn with_sets(row: &Row, config: &Config) -> Result<Config, ExperimentError> {
    let mut changed = config.clone();
    for set in &row.exam_sets {
        changed = changed.with(set).map_err(|error| ExperimentError::Refused {
            row: row.label(),
            reason: format!("exam_set: {error}"),
        })?;
    }
    Ok(changed)
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
