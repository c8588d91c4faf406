//! Answers recorded in earlier episodes, for policies to imitate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::rollout::Demonstration;
use crate::team::Team;
use troupe_core::archive::step_of_episodes;
use troupe_core::config::Config;
use troupe_core::error::{Coded, ExitCode, suggestion};
use troupe_core::seed::Seed;
use troupe_core::storage::{StorageError, list_folder};
use troupe_core::trajectory::{Episode, Event};
use troupe_guests::plugin::Split;

/// Why recordings cannot be learned from.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A line of a file is something else.
    #[error("`{}`, line {line}: this is no recorded episode ({reason})", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What the parser said.
        reason: String,
    },
    /// There is nothing in the folders and files.
    #[error(
        "there is no recorded episode in {0}; name a run that records (run.recorded_episodes), or \
         a file that `host eval --record` wrote"
    )]
    Empty(String),
    /// All episodes are of tasks that success is measured on.
    #[error(
        "none of the {0} recorded episodes is of a training task, and to learn from the others \
         would spoil the measure of success; record with `host eval --split train`"
    )]
    HeldOut(usize),
    /// There is nothing worth imitating.
    #[error(
        "none of the {0} recorded training episodes was solved; record more, or a better policy"
    )]
    Unsolved(usize),
    /// The recordings are of another workflow.
    #[error(
        "the recordings have answers of a role `{role}`, but the workflow has no such role{suggestion}"
    )]
    UnknownRole {
        /// The role.
        role: String,
        /// The nearest right one.
        suggestion: String,
    },
    /// A role that is to learn is not in the recordings.
    #[error(
        "the recordings have no answer of the role `{role}`, which is to learn from them; record its workflow"
    )]
    NoAnswer {
        /// The role.
        role: String,
    },
}

impl Coded for RecordingError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// What was found in recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Episodes read.
    pub episodes: usize,
    /// Of these, episodes of tasks outside the training split; not used.
    pub held_out: usize,
    /// Solved episodes of the training split.
    pub solved: usize,
    /// Different answers in them.
    pub answers: usize,
    /// Answers left out because the same one was given to the same prompt before.
    pub duplicates: usize,
    /// Answers left out because a limit ended them: that of tokens, or the budget of a
    /// thought. To imitate them would be to learn that they end there.
    pub unfinished: usize,
}

/// The answers of solved training episodes, each once.
#[derive(Debug, Default)]
pub struct Recording {
    answers: BTreeMap<String, Vec<Demonstration>>,
    findings: Findings,
}

impl Recording {
    /// Read run folders and files of episodes as JSON lines, perhaps
    /// compressed by zstd (`.zst`).
    ///
    /// # Errors
    /// If a file cannot be read, a line is no episode, or no solved training
    /// episode is found.
    pub fn read(paths: &[PathBuf]) -> Result<Recording, RecordingError> {
        let (mut recording, mut known) = (Recording::default(), BTreeSet::new());
        for path in paths {
            for file in files_of(path)? {
                for episode in read_episodes(&file)? {
                    recording.add(episode, &mut known);
                }
            }
        }
        let Findings { episodes, held_out, solved, .. } = recording.findings;
        if episodes == 0 {
            return Err(empty(paths));
        }
        if held_out == episodes {
            return Err(RecordingError::HeldOut(episodes));
        }
        if solved == 0 {
            return Err(RecordingError::Unsolved(episodes - held_out));
        }
        Ok(recording)
    }

    /// What was found.
    pub fn findings(&self) -> Findings {
        self.findings
    }

    /// Refuse recordings of another workflow.
    ///
    /// # Errors
    /// If they have a role that the team has not, or none of a role that is
    /// to learn.
    pub fn check(&self, team: &Team, config: &Config) -> Result<(), RecordingError> {
        let seats = team.roles();
        let seats: Vec<&str> = seats.iter().map(String::as_str).collect();
        if let Some(role) = self.answers.keys().find(|role| !seats.contains(&role.as_str())) {
            let suggestion = suggestion(role, seats);
            return Err(RecordingError::UnknownRole { role: role.clone(), suggestion });
        }
        let learns = |seat: &&str| config.trains(team.role_map.policy_of(seat));
        match seats.into_iter().filter(learns).find(|seat| !self.answers.contains_key(*seat)) {
            Some(role) => Err(RecordingError::NoAnswer { role: role.to_owned() }),
            None => Ok(()),
        }
    }

    /// All answers, role by role.
    pub(super) fn answers(&self) -> impl Iterator<Item = &Demonstration> {
        self.answers.values().flatten()
    }

    /// An endless supply of the answers: all of a role's, shuffled, and again
    /// in another order. The same seed gives the same supply.
    pub(super) fn rounds(&self, seed: Seed) -> Rounds<'_> {
        Rounds { recording: self, seed, queues: BTreeMap::new() }
    }

    fn add(&mut self, episode: Episode, known: &mut BTreeSet<[u8; 32]>) {
        self.findings.episodes += 1;
        if episode.split != Split::Train.name() {
            self.findings.held_out += 1;
            return;
        }
        if !episode.solved() {
            return;
        }
        self.findings.solved += 1;
        for event in episode.events {
            let Event::Replied { role, prompt, tools, text, cut, forced, .. } = event else {
                continue;
            };
            if cut || forced {
                self.findings.unfinished += 1;
                continue;
            }
            let demonstration = Demonstration { role, prompt, tools, text };
            if known.insert(fingerprint(&demonstration)) {
                self.findings.answers += 1;
                let role = demonstration.role.clone();
                self.answers.entry(role).or_default().push(demonstration);
            } else {
                self.findings.duplicates += 1;
            }
        }
    }
}

/// Recorded answers, round after round.
pub(super) struct Rounds<'a> {
    recording: &'a Recording,
    seed: Seed,
    /// By role: rounds begun, and what is left of them.
    queues: BTreeMap<&'a str, (u64, VecDeque<usize>)>,
}

impl Rounds<'_> {
    /// The next `count` answers of every role.
    pub(super) fn take(&mut self, count: usize) -> Vec<Demonstration> {
        let mut taken = Vec::new();
        for (role, answers) in &self.recording.answers {
            let (rounds, queue) = self.queues.entry(role).or_default();
            while queue.len() < count {
                let seed = self.seed.named(role).at(*rounds);
                let mut order: Vec<usize> = (0..answers.len()).collect();
                order.sort_by_key(|&index| seed.at(index as u64).value());
                queue.extend(order);
                *rounds += 1;
            }
            taken.extend(queue.drain(..count).map(|index| answers[index].clone()));
        }
        taken
    }
}

/// What tells an answer to a prompt from all others.
fn fingerprint(demonstration: &Demonstration) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut part = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    part(&demonstration.role);
    part(&demonstration.text);
    for message in &demonstration.prompt {
        part(message.author.name());
        part(&message.text);
    }
    for tool in &demonstration.tools {
        part(&tool.to_string());
    }
    hasher.finalize().into()
}

/// The files of episodes that a path stands for: itself, or those of a run.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, StorageError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let episodes = path.join("episodes");
    let folder = if episodes.is_dir() { episodes } else { path.to_owned() };
    let is_recording = |name: &String| name.ends_with(".jsonl") || name.ends_with(".jsonl.zst");
    let names = list_folder(&folder)?.into_iter().filter(is_recording);
    Ok(names.map(|name| folder.join(name)).collect())
}

/// The recorded episodes of run folders and files, each with the step of its file, if that is of
/// one.
///
/// # Errors
/// If a file cannot be read, a line is no episode, or there is none.
pub fn episodes_of(paths: &[PathBuf]) -> Result<Vec<(Option<usize>, Episode)>, RecordingError> {
    let mut episodes = Vec::new();
    for path in paths {
        for file in files_of(path)? {
            let step = step_of_episodes(&file);
            episodes.extend(read_episodes(&file)?.into_iter().map(|episode| (step, episode)));
        }
    }
    match episodes.is_empty() {
        true => Err(empty(paths)),
        false => Ok(episodes),
    }
}

fn empty(paths: &[PathBuf]) -> RecordingError {
    let named = paths.iter().map(|path| format!("`{}`", path.display()));
    RecordingError::Empty(named.collect::<Vec<_>>().join(", "))
}

fn read_episodes(path: &Path) -> Result<Vec<Episode>, RecordingError> {
    let mut bytes = fs::read(path).map_err(StorageError::io("read", path))?;
    if path.extension().is_some_and(|ending| ending == "zst") {
        bytes = zstd::decode_all(bytes.as_slice()).map_err(StorageError::io("unpack", path))?;
    }
    let lines = bytes.split(|&byte| byte == b'\n').enumerate();
    let filled = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |(index, line): (usize, &[u8])| {
        serde_json::from_slice(line).map_err(|error| RecordingError::Line {
            path: path.to_owned(),
            line: index + 1,
            reason: error.to_string(),
        })
    };
    filled.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::trajectory::{Author, Ending, Message};

    fn episode(split: &str, ending: Ending, answers: &[(&str, &str)]) -> Episode {
        let replied = answers.iter().enumerate().map(|(turn, (role, text))| Event::Replied {
            role: role.to_string(),
            instance: 0,
            thread: String::new(),
            turn,
            prompt: vec![Message { author: Author::User, text: "go".to_owned() }],
            tools: Vec::new(),
            text: text.to_string(),
            cut: false,
            forced: false,
        });
        let (split, events) = (split.to_owned(), replied.collect());
        Episode { task: 0, family: String::new(), split, seed: 0, episode: 0, events, ending }
    }

    fn lines(episodes: &[Episode]) -> String {
        episodes.iter().map(|episode| serde_json::to_string(episode).unwrap() + "\n").collect()
    }

    fn read(text: &str) -> Result<Recording, RecordingError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("episodes.jsonl");
        fs::write(&path, text).unwrap();
        Recording::read(&[path])
    }

    #[test]
    fn answers_of_solved_training_episodes_are_taken_once() {
        let recording = read(&lines(&[
            episode("train", Ending::Solved, &[("a", "up"), ("b", "down"), ("a", "left")]),
            episode("train", Ending::Solved, &[("a", "up"), ("b", "left")]),
            episode("train", Ending::Truncated, &[("a", "wrong")]),
            episode("validation", Ending::Solved, &[("a", "known before")]),
        ]));
        let recording = recording.unwrap();
        assert_eq!(
            recording.findings(),
            Findings {
                episodes: 4,
                held_out: 1,
                solved: 2,
                answers: 4,
                duplicates: 1,
                unfinished: 0
            }
        );
        let texts: Vec<&str> = recording.answers().map(|answer| answer.text.as_str()).collect();
        assert_eq!(texts, ["up", "left", "down", "left"]);
    }

    #[test]
    fn an_answer_is_imitated_with_the_tools_that_it_was_told_of() {
        let with = |name: &str| {
            let mut episode = episode("train", Ending::Solved, &[("a", "up")]);
            let Event::Replied { tools, .. } = &mut episode.events[0] else { panic!() };
            tools.push(serde_json::json!({ "function": { "name": name } }));
            episode
        };
        let plain = episode("train", Ending::Solved, &[("a", "up")]);
        let text = lines(&[with("run"), with("search"), plain, with("run")]);
        let recording = read(&text).unwrap();
        assert_eq!((recording.findings().answers, recording.findings().duplicates), (3, 1));
        let tools: Vec<usize> = recording.answers().map(|answer| answer.tools.len()).collect();
        assert_eq!(tools, [1, 1, 0]);
    }

    #[test]
    fn every_round_has_all_answers_in_an_order_of_its_own() {
        let answers: Vec<String> = (0..20).map(|number| format!("go {number}")).collect();
        let answers: Vec<(&str, &str)> = answers.iter().map(|text| ("a", text.as_str())).collect();
        let recording = read(&lines(&[episode("train", Ending::Solved, &answers)])).unwrap();
        let rounds = |seed| {
            let mut rounds = recording.rounds(Seed::new(seed));
            let texts = rounds.take(7).into_iter().chain(rounds.take(33)).map(|d| d.text);
            let texts: Vec<String> = texts.collect();
            (texts[..20].to_vec(), texts[20..].to_vec())
        };
        let (first, second) = rounds(1);
        assert_ne!(first, second);
        let sorted = |mut texts: Vec<String>| {
            texts.sort();
            texts
        };
        assert_eq!(sorted(first.clone()), sorted(second.clone()));
        assert_eq!(rounds(1), (first.clone(), second));
        assert_ne!(rounds(2).0, first);
    }

    #[test]
    fn what_cannot_be_learned_from_is_refused_by_place_and_reason() {
        let message = |text: &str| read(text).unwrap_err().to_string();
        let solved = episode("train", Ending::Solved, &[("a", "up")]);
        let broken = lines(std::slice::from_ref(&solved)) + "\n{\"task\": 1}\n";
        assert!(message(&broken).contains("episodes.jsonl`, line 3"), "{}", message(&broken));
        assert!(message("\n").contains("no recorded episode"));
        let failed = lines(&[episode("train", Ending::Failed, &[("a", "up")])]);
        assert!(message(&failed).contains("none of the 1 recorded training episodes was solved"));
        let other = lines(&[episode("test", Ending::Solved, &[("a", "up")])]);
        assert!(message(&other).contains("--split train"));
    }

    #[test]
    fn a_runs_folder_stands_for_its_packed_episodes() {
        let folder = tempfile::tempdir().unwrap();
        let message = Recording::read(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(message.contains("run.recorded_episodes"), "{message}");
        let text = lines(&[episode("train", Ending::Solved, &[("a", "up")])]);
        fs::create_dir(folder.path().join("episodes")).unwrap();
        for step in 0..2 {
            let path = folder.path().join(format!("episodes/step-00000{step}.jsonl.zst"));
            fs::write(path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
        }
        let findings = Recording::read(&[folder.path().to_owned()]).unwrap().findings();
        assert_eq!((findings.episodes, findings.answers, findings.duplicates), (2, 1, 1));
        let missing = Recording::read(&[folder.path().join("none.jsonl")]).unwrap_err();
        assert!(missing.to_string().contains("none.jsonl"), "{missing}");
    }
}
