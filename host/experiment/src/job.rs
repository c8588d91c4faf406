//! A piece of work that a child process does, and what has to be there before.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::ExperimentError;
use super::file::Exam;
use super::folder::Folder;
use super::setup::Program;
use troupe_core::storage::{StorageError, list_folder, rename, write_file};

/// A piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What decides what comes out of it, in short.
    pub address: String,
    /// What people call it.
    pub label: String,
    /// The seed.
    pub seed: u64,
    /// What is done.
    pub work: Work,
    /// Places of the jobs that have to be done before.
    pub needs: Vec<usize>,
}

/// What is done.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// `host imitate`.
    Warm,
    /// `host train`.
    Train {
        /// The row's configuration.
        config: PathBuf,
        /// The policies that do not begin as the configuration says.
        policies: Vec<Loaded>,
        /// What it examines itself in at its end; nothing if an exam of its own follows.
        exam: Option<Exam>,
    },
    /// `host eval`.
    Exam {
        /// The run whose configuration and policies are examined.
        run: Option<String>,
        /// The row's configuration, if it is not a run's.
        config: PathBuf,
        /// The policies that are not those of the run or the configuration.
        policies: Vec<Loaded>,
        /// Settings of the exam alone.
        sets: Vec<String>,
        /// The tasks.
        exam: Exam,
    },
}

/// A policy that another job made.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// What it is called here.
    pub policy: String,
    /// What it is called there.
    pub source: String,
    /// What made it.
    pub maker: Maker,
}

/// What made a policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Maker {
    /// A warm start, by address.
    Warm(String),
    /// A run, by address: its last checkpoint.
    Run(String),
}

/// What an exam examines, and in what.
struct Examination<'j> {
    run: Option<&'j str>,
    config: &'j Path,
    policies: &'j [Loaded],
    sets: &'j [String],
    exam: &'j Exam,
}

impl Examination<'_> {
    /// Its parts: nothing for the likeliest answers, or the number of sampled ones.
    fn parts(&self) -> impl Iterator<Item = Option<u32>> {
        let sampled = (self.exam.samples > 0).then_some(Some(self.exam.samples));
        [Some(None), sampled].into_iter().flatten()
    }
}

impl Loaded {
    fn set(&self, folder: &Folder) -> Result<String, StorageError> {
        let path = match &self.maker {
            Maker::Warm(address) => folder.warm(address),
            Maker::Run(address) => folder.last_policies(address)?,
        };
        let path = toml::Value::String(path.join(&self.source).display().to_string());
        Ok(format!("policies.{}.path={path}", self.policy))
    }
}

impl Job {
    /// Whether what comes out of it is there.
    pub fn is_done(&self, folder: &Folder) -> bool {
        match self.work {
            Work::Warm => folder.warm(&self.address).is_dir(),
            Work::Train { .. } => {
                folder.run(&self.address).join("summary.json").is_file() || self.has_ended(folder)
            }
            Work::Exam { .. } => folder.exam(&self.address).is_file(),
        }
    }

    /// Whether it is a run that ended itself, and its last checkpoint was examined in its stead.
    pub(super) fn has_ended(&self, folder: &Folder) -> bool {
        matches!(self.work, Work::Train { .. }) && folder.exam(&self.address).is_file()
    }

    /// The commands to do it from where it stands, one after the other.
    ///
    /// # Errors
    /// If what it needs is not there.
    pub fn commands(
        &self,
        folder: &Folder,
        program: &Program,
    ) -> Result<Vec<Command>, ExperimentError> {
        let mut command = program.command();
        match &self.work {
            Work::Warm => {
                command.arg("imitate").arg("--force").arg(folder.warm_file(&self.address));
                self.set_seed(&mut command);
                command.arg("--out").arg(self.unfinished(folder, 0));
                Ok(vec![command])
            }
            Work::Train { config, policies, .. } => {
                let run = folder.run(&self.address);
                if run.join("config.toml").is_file() {
                    command.args(["train", "--resume"]).arg(run);
                    return Ok(vec![command]);
                }
                Ok(vec![self.training(config, policies, folder, program)?])
            }
            Work::Exam { .. } => self.sittings(folder, program),
        }
    }

    /// The commands of its exam, or of the one that is made of a run that ended itself: the
    /// likeliest answers, and sampled ones. None for a run that an exam of its own follows.
    pub(super) fn sittings(
        &self,
        folder: &Folder,
        program: &Program,
    ) -> Result<Vec<Command>, ExperimentError> {
        let Some(examined) = self.examined() else { return Ok(Vec::new()) };
        let commands = examined.parts().enumerate();
        commands
            .map(|(place, samples)| self.sitting(&examined, place, samples, folder, program))
            .collect()
    }

    fn examined(&self) -> Option<Examination<'_>> {
        match &self.work {
            Work::Warm => None,
            Work::Train { config, exam, .. } => Some(Examination {
                run: Some(&self.address),
                config,
                policies: &[],
                sets: &[],
                exam: exam.as_ref()?,
            }),
            Work::Exam { run, config, policies, sets, exam } => {
                Some(Examination { run: run.as_deref(), config, policies, sets, exam })
            }
        }
    }

    /// The command that begins a run.
    fn training(
        &self,
        config: &Path,
        policies: &[Loaded],
        folder: &Folder,
        program: &Program,
    ) -> Result<Command, ExperimentError> {
        let mut command = program.command();
        command.arg("train").arg(config);
        self.set_seed(&mut command);
        let runs = toml::Value::String(folder.runs().display().to_string());
        command.args(["--set", &format!("run.dir={runs}")]);
        command.args(["--set", &format!("run.name=\"{}\"", self.address)]);
        // A table asks of whole rows, not of the roles in each.
        command.args(["--set", "validation.knock_out=never"]);
        set_policies(&mut command, policies, folder)?;
        Ok(command)
    }

    /// The command of one part of an exam: so many sampled answers, or the likeliest ones.
    fn sitting(
        &self,
        Examination { run, config, policies, sets, exam }: &Examination,
        place: usize,
        samples: Option<u32>,
        folder: &Folder,
        program: &Program,
    ) -> Result<Command, ExperimentError> {
        let mut command = program.command();
        command.arg("eval");
        match run {
            // What a run examines itself in is its last step, too.
            Some(run) => command.args(["--step", "last", "--run"]).arg(folder.run(run)),
            None => command.arg(config),
        };
        self.set_seed(&mut command);
        for set in *sets {
            command.args(["--set", set]);
        }
        set_policies(&mut command, policies, folder)?;
        command.args(["--split", &exam.split, "--tasks", &exam.tasks.to_string()]);
        if let Some(samples) = samples {
            command.args(["--samples", &samples.to_string()]);
        }
        command.arg("--outcomes").arg(self.unfinished(folder, place));
        Ok(command)
    }

    /// The commands that do it from the beginning, as one would type them; none while what it
    /// needs is not there.
    pub fn lines(&self, folder: &Folder, program: &Program) -> Vec<String> {
        let commands = match &self.work {
            Work::Train { config, policies, .. } => {
                self.training(config, policies, folder, program).map(|one| vec![one])
            }
            _ => self.commands(folder, program),
        };
        commands.unwrap_or_default().iter().map(line).collect()
    }

    fn set_seed(&self, command: &mut Command) {
        command.args(["--set", &format!("run.seed={}", self.seed)]);
    }

    /// Put what its commands made into its place, in one go.
    ///
    /// # Errors
    /// If it is not there.
    pub fn publish(&self, folder: &Folder) -> Result<(), StorageError> {
        match &self.work {
            Work::Warm => {
                let (made, place) = (self.unfinished(folder, 0), folder.warm(&self.address));
                rename(&made, &place).map_err(StorageError::io("rename", &made))
            }
            Work::Train { .. } => Ok(()),
            Work::Exam { .. } => self.publish_exam(folder),
        }
    }

    /// Put what its exam made into its place.
    ///
    /// # Errors
    /// If it is not there.
    pub(super) fn publish_exam(&self, folder: &Folder) -> Result<(), StorageError> {
        let parts = self.examined().map_or(0, |examined| examined.parts().count());
        let mut text = Vec::new();
        for place in 0..parts {
            let path = self.unfinished(folder, place);
            text.extend(std::fs::read(&path).map_err(StorageError::io("read", &path))?);
        }
        write_file(&folder.exam(&self.address), &text)?;
        self.tidy(folder)
    }

    fn tidy(&self, folder: &Folder) -> Result<(), StorageError> {
        let exams = folder.file("exams");
        let own = format!(".{}-", self.address);
        for name in list_folder(&exams)?.into_iter().filter(|name| name.starts_with(&own)) {
            let path = exams.join(name);
            std::fs::remove_file(&path).map_err(StorageError::io("remove", &path))?;
        }
        Ok(())
    }

    /// Where its commands write, before it is known to be whole.
    fn unfinished(&self, folder: &Folder, place: usize) -> PathBuf {
        let parent = match self.work {
            Work::Warm => "warm",
            _ => "exams",
        };
        folder.file(parent).join(format!(".{}-{place}", self.address))
    }
}

fn set_policies(
    command: &mut Command,
    policies: &[Loaded],
    folder: &Folder,
) -> Result<(), StorageError> {
    for loaded in policies {
        command.args(["--set", &loaded.set(folder)?]);
    }
    Ok(())
}

/// As one would type it.
fn line(command: &Command) -> String {
    shell_line(command.get_args().map(|word| word.to_string_lossy().into_owned()))
}

/// `host` with these arguments; what a shell would take apart is quoted.
pub fn shell_line(arguments: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = std::iter::once("host".to_owned()).chain(arguments).collect();
    // No argument of a program has a NUL in it, which is what cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
