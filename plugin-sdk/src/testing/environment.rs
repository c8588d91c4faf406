//! What every environment must keep.

use std::collections::{HashMap, HashSet};

use super::Scope;
use super::report::{Checked, Finding, Report, finding, require, skip};
use super::walk::{GARBAGE, Moment, Phrasebook, Walk, act};
use crate::Random;
use crate::environment::{Action, Description, Outcome, Problem, Split, Status, Task};
use crate::settings::{Setting, Settings};

/// An environment as the suite sees it: a type of this program
/// ([`Native`](super::Native)) or a component in a host. A host reports a trap
/// or a met limit as [`Problem::Internal`].
pub trait EnvironmentUnderTest {
    /// Say what it is.
    fn describe(&self) -> Result<Description, Problem>;
    /// List its words.
    fn vocabulary(&self, settings: &Settings) -> Result<Vec<String>, Problem>;
    /// Begin a task.
    fn start(&self, task: &Task) -> Result<Box<dyn EpisodeUnderTest + '_>, Problem>;
    /// Go on from a saved state, in a fresh instance if there are instances.
    fn resume(&self, state: &[u8]) -> Result<Box<dyn EpisodeUnderTest + '_>, Problem>;
}

/// An episode as the suite sees it.
pub trait EpisodeUnderTest {
    /// The rules and the notation.
    fn rules(&mut self) -> Result<String, Problem>;
    /// What can be seen now.
    fn observe(&mut self) -> Result<String, Problem>;
    /// Carry out an action.
    fn act(&mut self, role: &str, action: &Action) -> Result<Outcome, Problem>;
    /// The expert's next action.
    fn demonstrate(&mut self) -> Result<Option<Action>, Problem>;
    /// The state, if it can be saved.
    fn save(&mut self) -> Result<Option<Vec<u8>>, Problem>;
}

/// Turns of the expert, as a multiple of the advised turns per role: one turn
/// may be one action of each of several roles.
const EXPERT_PATIENCE: usize = 4;

/// Differences of summed rewards that are only rounding.
const ROUNDING: f64 = 1e-9;

/// Run every check.
pub(super) fn check(environment: &dyn EnvironmentUnderTest, scope: &Scope) -> Report {
    let description = match environment.describe() {
        Ok(description) => description,
        Err(problem) => {
            let finding = finding("description", Err(problem.into()));
            return Report { subject: "environment".to_owned(), findings: vec![finding] };
        }
    };
    let subject = format!("environment `{}` {}", description.name, description.version);
    let mut findings = vec![finding("description", check_description(&description))];
    match Examination::prepare(environment, description, scope) {
        Ok(examination) => findings.extend(examination.findings()),
        Err(problem) => findings.push(finding("start", Err(problem.into()))),
    }
    Report { subject, findings }
}

/// An environment with the walks that the checks look at.
struct Examination<'a> {
    environment: &'a dyn EnvironmentUnderTest,
    scope: &'a Scope,
    description: Description,
    settings: Settings,
    vocabulary: Vec<String>,
    tasks: Vec<Task>,
    /// The expert's walk through every task.
    experts: Vec<Walk>,
    /// Two random walks through every task, one of them in the expert's words.
    strolls: Vec<Walk>,
}

impl<'a> Examination<'a> {
    fn prepare(
        environment: &'a dyn EnvironmentUnderTest,
        description: Description,
        scope: &'a Scope,
    ) -> Result<Self, Problem> {
        let settings = scope.settings(&description.settings);
        let vocabulary = environment.vocabulary(&settings)?;
        let tasks = tasks(&settings, scope);
        let patience = EXPERT_PATIENCE * description.max_turns as usize;
        let experts = tasks.iter().map(|task| Walk::of_expert(environment, task, patience));
        let experts: Vec<Walk> = experts.collect::<Result<_, _>>()?;
        let kinds = description.actions.iter().map(|kind| kind.name.clone()).collect();
        let phrasebook = Phrasebook::new(kinds, &vocabulary, &experts);
        let stroll = |(task, tame): (&Task, bool)| {
            let mut random = Random::new(task.split, task.seed, "stroll");
            Walk::take(environment, task, scope.steps, |_| phrasebook.action(tame, &mut random))
        };
        let ways = tasks.iter().flat_map(|task| [(task, true), (task, false)]);
        let strolls = ways.map(stroll).collect::<Result<_, _>>()?;
        Ok(Examination {
            environment,
            scope,
            description,
            settings,
            vocabulary,
            tasks,
            experts,
            strolls,
        })
    }

    fn findings(&self) -> Vec<Finding> {
        vec![
            finding("start", self.check_start()),
            finding("determinism", self.check_determinism()),
            finding("resume", self.check_resume()),
            finding("rewards", self.check_rewards()),
            finding("loops", self.check_loops()),
            finding("loitering", self.check_loitering()),
            finding("unreadable", self.check_unreadable()),
            finding("end", self.check_end()),
            finding("expert", self.check_expert()),
            finding("splits", self.check_splits()),
            finding("vocabulary", self.check_vocabulary()),
        ]
    }

    fn walks(&self) -> impl Iterator<Item = &Walk> {
        self.experts.iter().chain(&self.strolls)
    }

    fn check_start(&self) -> Checked {
        for task in &self.tasks {
            let rules = self.environment.start(task)?.rules()?;
            require(!rules.trim().is_empty(), || "the rules are empty".to_owned())?;
        }
        Ok(format!("{} tasks begin and say their rules", self.tasks.len()))
    }

    /// The walks are taken again, after all others, and must come out the same.
    fn check_determinism(&self) -> Checked {
        for walk in self.walks() {
            let again = self.retrace(walk)?;
            let same = walk.moments().zip(again.moments()).all(|(one, other)| one == other);
            require(same && walk.steps == again.steps, || {
                format!("the same actions led elsewhere the second time, in {}", walk.place())
            })?;
        }
        Ok("the same task and actions give the same bytes".to_owned())
    }

    fn retrace(&self, walk: &Walk) -> Result<Walk, Problem> {
        let mut actions = walk.steps.iter().map(|step| step.action.clone());
        Walk::take(self.environment, &walk.task, walk.steps.len(), |_| actions.next())
    }

    /// At every moment, a saved and resumed episode looks and goes on the same.
    fn check_resume(&self) -> Checked {
        let mut resumed = 0;
        for walk in self.walks() {
            for (moment, step) in walk.moments().zip(&walk.steps) {
                let Some(saved) = &moment.saved else {
                    return skip("it saves no state, so the host replays actions instead");
                };
                let mut episode = self.environment.resume(saved)?;
                require(Moment::of(&mut *episode)? == *moment, || {
                    format!(
                        "a resumed episode does not look like the saved one, in {}",
                        walk.place()
                    )
                })?;
                let outcome = act(&mut *episode, &step.action)?;
                require(
                    outcome == step.outcome && Moment::of(&mut *episode)? == step.after,
                    || format!("a resumed episode goes on differently, in {}", walk.place()),
                )?;
                resumed += 1;
            }
        }
        Ok(format!("{resumed} resumed episodes went on like the saved ones"))
    }

    fn check_rewards(&self) -> Checked {
        for walk in self.walks() {
            for step in &walk.steps {
                let Outcome { team, local, parts, .. } = &step.outcome;
                let place = || format!("of `{}`, in {}", step.action.text, walk.place());
                require(team.is_finite() && local.is_finite(), || {
                    format!("the reward is not a finite number: {team} + {local} {}", place())
                })?;
                let sum: f64 = parts.iter().map(|part| part.value).sum();
                require((sum - team - local).abs() < 1e-6, || {
                    format!("the parts add up to {sum}, not to {} {}", team + local, place())
                })?;
            }
        }
        Ok("rewards are finite and their parts add up".to_owned())
    }

    /// Whoever comes back to a state must not have earned on the way.
    fn check_loops(&self) -> Checked {
        let mut returns = 0;
        for walk in self.walks() {
            let mut lowest: HashMap<(&str, &[u8]), f64> = HashMap::new();
            for (moment, earned) in walk.moments().zip(walk.earnings()) {
                let Some(saved) = &moment.saved else {
                    return skip("it saves no state, so a return to one cannot be told");
                };
                let before = lowest.entry((&moment.observation, saved)).or_insert(f64::INFINITY);
                returns += usize::from(before.is_finite());
                require(earned - *before <= ROUNDING || before.is_infinite(), || {
                    let gain = earned - *before;
                    format!("a way back to an earlier state earned {gain:.3}, in {}", walk.place())
                })?;
                *before = before.min(earned);
            }
        }
        Ok(format!("{returns} returns to an earlier state earned nothing"))
    }

    /// Strolling about must not pay like solving.
    fn check_loitering(&self) -> Checked {
        let mut compared = 0;
        let paths = self.experts.iter().zip(self.strolls.chunks(2));
        for (expert, stroll) in
            paths.flat_map(|(expert, pair)| pair.iter().map(move |walk| (expert, walk)))
        {
            if expert.status() != Status::Solved || stroll.status() == Status::Solved {
                continue;
            }
            let total = |walk: &Walk| walk.earnings().last().copied().unwrap_or_default();
            require(total(stroll) < total(expert), || {
                let (idle, solved) = (total(stroll), total(expert));
                format!(
                    "aimless actions earned {idle:.3}, a solution {solved:.3}, in {}",
                    stroll.place()
                )
            })?;
            compared += 1;
        }
        match compared {
            0 => skip("there is no solution to compare aimless actions with"),
            _ => Ok(format!("{compared} aimless walks earned less than a solution")),
        }
    }

    fn check_unreadable(&self) -> Checked {
        let Some(task) = self.tasks.first() else { return skip("there is no task") };
        for kind in &self.description.actions {
            for garbage in GARBAGE {
                let mut episode = self.environment.start(task)?;
                let action = Action::new(&kind.name, garbage);
                let outcome = act(&mut *episode, &action)?;
                let text = garbage.escape_debug();
                // An open-ended language may well accept anything.
                require(!outcome.accepted || self.vocabulary.is_empty(), || {
                    format!("`{}` accepted \"{text}\"", kind.name)
                })?;
                require(outcome.accepted || outcome.team + outcome.local <= 0.0, || {
                    format!("`{}` paid for \"{text}\" without accepting it", kind.name)
                })?;
            }
        }
        Ok("unreadable text is an outcome, not a problem".to_owned())
    }

    fn check_end(&self) -> Checked {
        let mut ended = 0;
        for walk in self.walks().filter(|walk| walk.status() != Status::Ongoing) {
            let mut episode = self.environment.start(&walk.task)?;
            for step in &walk.steps {
                act(&mut *episode, &step.action)?;
            }
            let Some(last) = walk.steps.last() else { continue };
            require(act(&mut *episode, &last.action) == Err(Problem::Finished), || {
                format!(
                    "an action after the end was not refused with `finished`, in {}",
                    walk.place()
                )
            })?;
            ended += 1;
        }
        match ended {
            0 => skip("no walk came to an end"),
            _ => Ok(format!("{ended} ended episodes refuse further actions")),
        }
    }

    fn check_expert(&self) -> Checked {
        if self.experts.iter().all(|walk| walk.start.expert.is_none()) {
            return skip("there is no expert");
        }
        let known =
            |action: &Action| self.description.actions.iter().any(|kind| kind.name == action.kind);
        for walk in &self.experts {
            for step in &walk.steps {
                let Action { kind, text } = &step.action;
                require(known(&step.action), || format!("the expert's `{kind}` is not described"))?;
                require(step.outcome.accepted, || {
                    format!("the expert's `{text}` was not accepted, in {}", walk.place())
                })?;
            }
            require(walk.status() == Status::Solved, || {
                format!(
                    "the expert had not solved {} after {} actions",
                    walk.place(),
                    walk.steps.len()
                )
            })?;
        }
        let longest = self.experts.iter().map(|walk| walk.steps.len()).max().unwrap_or(0);
        Ok(format!("the expert solves every task, within {longest} actions"))
    }

    /// Tasks of two splits that look alike must differ in what is not seen.
    fn check_splits(&self) -> Checked {
        if !self.scope.entries.is_empty() {
            return skip("the records of a dataset are split by the dataset");
        }
        let seeds = 8 * self.scope.tasks;
        let mut starts: HashMap<String, (Split, Option<Vec<u8>>)> = HashMap::new();
        let mut shared = None;
        for (split, seed) in
            Split::ALL.into_iter().flat_map(|split| (0..seeds).map(move |seed| (split, seed)))
        {
            let task = Task { split, seed, settings: self.settings.clone(), entry: None };
            let Moment { observation, saved, .. } =
                Moment::of(&mut *self.environment.start(&task)?)?;
            let known = starts.entry(observation).or_insert_with(|| (split, saved.clone()));
            if known.0 != split && (saved.is_none() || known.1 == saved) {
                shared = Some(format!("{:?} and {split:?} have a task in common", known.0));
            }
        }
        if starts.len() < seeds as usize {
            return skip("tasks look too much alike at their start to be told apart");
        }
        require(shared.is_none(), || shared.unwrap_or_default().to_lowercase())?;
        Ok(format!("{seeds} tasks of each split differ from those of the others"))
    }

    fn check_vocabulary(&self) -> Checked {
        if self.vocabulary.is_empty() {
            return skip("the language is open-ended");
        }
        let words: HashSet<&str> = self.vocabulary.iter().map(String::as_str).collect();
        require(words.len() == self.vocabulary.len(), || "a word is listed twice".to_owned())?;
        let is_word = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
        require(words.iter().all(is_word), || "a word is empty or has a space in it".to_owned())?;
        for moment in self.walks().flat_map(Walk::moments) {
            let expert = moment.expert.as_ref().map_or("", |action| action.text.as_str());
            let said = moment.observation.split_whitespace().chain(expert.split_whitespace());
            for word in said {
                require(words.contains(word), || format!("`{word}` is not in the vocabulary"))?;
            }
        }
        Ok(format!("{} words cover everything that was seen and shown", words.len()))
    }
}

/// A few tasks of every split.
fn tasks(settings: &Settings, scope: &Scope) -> Vec<Task> {
    let entry = |seed: u32| {
        let count = scope.entries.len().max(1);
        scope.entries.get(seed as usize % count).cloned()
    };
    let task = |split, seed| Task { split, seed, settings: settings.clone(), entry: entry(seed) };
    let of_split = |split| (0..scope.tasks).map(move |seed| (split, seed));
    Split::ALL.into_iter().flat_map(of_split).map(|(split, seed)| task(split, seed)).collect()
}

fn check_description(description: &Description) -> Checked {
    let Description { name, version, settings, actions, workflows, max_turns, .. } = description;
    check_name(name)?;
    require(!version.is_empty(), || "there is no version".to_owned())?;
    check_settings(settings)?;
    require(!actions.is_empty(), || "no kind of action is described".to_owned())?;
    check_unique("kind of action", actions.iter().map(|kind| kind.name.as_str()))?;
    require(!workflows.is_empty(), || "no workflow is recommended".to_owned())?;
    require(*max_turns > 0, || "an episode has no turns".to_owned())?;
    Ok(format!("{} settings, {} kinds of action", settings.len(), actions.len()))
}

/// Names of plugins are words of lower-case letters and digits joined by `-`.
pub(super) fn check_name(name: &str) -> Result<(), super::report::Objection> {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9'))
    };
    require(name.split('-').all(is_word), || format!("the name `{name}` is not in kebab-case"))
}

/// Settings have distinct names in snake_case and defaults that they accept.
pub(super) fn check_settings(settings: &[Setting]) -> Result<(), super::report::Objection> {
    check_unique("setting", settings.iter().map(|setting| setting.name.as_str()))?;
    for Setting { name, domain, default, .. } in settings {
        let is_snake = name.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'));
        require(is_snake && !name.is_empty(), || format!("setting `{name}` is not in snake_case"))?;
        require(domain.contains(default), || {
            format!("setting `{name}` does not accept its own default")
        })?;
    }
    Ok(())
}

/// No two things of a kind have the same name.
pub(super) fn check_unique<'n>(
    what: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<(), super::report::Objection> {
    let mut seen = HashSet::new();
    for name in names {
        require(seen.insert(name), || format!("there are two {what}s `{name}`"))?;
    }
    Ok(())
}
