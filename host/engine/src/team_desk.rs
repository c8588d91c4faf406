//! A trained team that answers questions: each becomes a task that its workflow plays.
//!
//! Questions that arrive while others are played join the next round, so that policies answer all
//! of them in one batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use super::{assemble, eval, say_caveats};
use troupe_cli::args::{CheckpointName, ConfigArgs};
use troupe_core::config::{Config, RolloutConfig};
use troupe_core::seed::Seed;
use troupe_core::totals::Totals;
use troupe_core::trajectory::{Ending, Event, Status};
use troupe_guests::plugin::{Cause, Fault, PluginFailure, Seat, Split};
use troupe_guests::scenario::Scenario;
use troupe_model::{Device, Policy, Rounding};
use troupe_serving::{TeamModel, TeamQuestion, Told};
use troupe_terminal::UsageError;
use troupe_training::evaluation::{examined, seed_of};
use troupe_training::metrics::Answers;
use troupe_training::rollout::{
    Advance, RoleMap, RolloutError, Setting, Sitting, TOO_LONG, TaskSeed,
};
use troupe_training::team::Team;

/// A team of a run, and the kinds of tasks that can be asked of it.
pub struct TeamDesk {
    team: Team,
    config: Config,
    scenarios: Vec<Arc<Scenario>>,
    /// What clients call them, in the same order.
    pub models: Vec<TeamModel>,
}

impl TeamDesk {
    /// The team of a run's checkpoint; its model is called as the run's folder is.
    pub fn open(
        run: &Path,
        step: CheckpointName,
        args: &ConfigArgs,
        device: Device,
    ) -> anyhow::Result<Self> {
        let config = eval::config_of(args, Some(run), step)?;
        let (config, mut team) = assemble(config, device)?;
        team.open_distant(&config, false)?;
        Policy::settle(team.policies.values_mut(), Rounding::Nearest);
        say_caveats(&team);
        let scenarios: Vec<Arc<Scenario>> = (team.families.iter())
            .map(|family| family.scenario.clone())
            .filter(|scenario| !scenario.answers_to_questions().is_empty())
            .collect();
        if scenarios.is_empty() {
            return Err(UsageError(no_questions(&team)).into());
        }
        let name = std::path::absolute(run)?;
        let name = name.file_name().map_or("team".into(), |name| name.to_string_lossy());
        let temperature = examined(&config, Answers::Sampled, 1).temperature;
        let models = scenarios.iter().map(|scenario| TeamModel {
            name: match team.families.len() {
                1 => name.clone().into_owned(),
                _ => format!("{name}/{}", scenario.family),
            },
            temperature,
        });
        let models = models.collect();
        Ok(TeamDesk { team, config, scenarios, models })
    }

    /// Answer until nobody can ask any more and all is answered.
    pub fn answer(&self, asked: &Receiver<TeamQuestion>) -> Result<(), RolloutError> {
        let role_map = self.team.role_map.examined(&self.config.validation);
        let settings =
            [Answers::Greedy, Answers::Sampled].map(|how| examined(&self.config, how, 1));
        loop {
            let mut table = Table::open(self, &role_map, &settings)?;
            match table.go_on(asked) {
                Ok(()) => return Ok(()),
                // What was asked may be what has failed; who comes next is answered all the same.
                Err(error) => table.fail(&error),
            }
        }
    }
}

fn no_questions(team: &Team) -> String {
    let names = team.families.iter().map(|family| family.scenario.environment.name());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!(
        "no question can become a task of {} with the run's settings; one can of `math`, `code`, \
         and `search` in English",
        names.join(", ")
    )
}

/// Those that are played.
struct Table<'d> {
    desk: &'d TeamDesk,
    /// By the likeliest answers, and by those that are drawn.
    sittings: [Sitting<'d>; 2],
    asked: [BTreeMap<usize, Asked>; 2],
}

/// An episode of a question.
struct Asked {
    question: Arc<TeamQuestion>,
    sample: usize,
    spent: Totals,
    answer: Option<String>,
}

impl<'d> Table<'d> {
    fn open(
        desk: &'d TeamDesk,
        role_map: &'d RoleMap,
        settings: &'d [RolloutConfig; 2],
    ) -> Result<Self, RolloutError> {
        let setting = |config| Setting { role_map, config, alpha: 1.0, dealing: None };
        let greedy = Sitting::open(&setting(&settings[0]), &desk.team.policies)?;
        let drawn = greedy.beside(&setting(&settings[1]))?;
        Ok(Table { desk, sittings: [greedy, drawn], asked: Default::default() })
    }

    fn go_on(&mut self, asked: &Receiver<TeamQuestion>) -> Result<(), RolloutError> {
        let mut is_open = true;
        while is_open || self.is_playing() {
            while is_open {
                let next = match self.is_playing() {
                    true => asked.try_recv(),
                    false => asked.recv().map_err(|_| TryRecvError::Disconnected),
                };
                match next {
                    Ok(question) => self.begin(question),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => is_open = false,
                }
            }
            self.let_go();
            for way in 0..self.sittings.len() {
                if !self.sittings[way].is_empty() {
                    for advance in self.sittings[way].round()? {
                        self.tell(way, advance);
                    }
                }
            }
        }
        Ok(())
    }

    fn is_playing(&self) -> bool {
        self.sittings.iter().any(|sitting| !sitting.is_empty())
    }

    /// Begin the episodes of a question.
    fn begin(&mut self, question: TeamQuestion) {
        let (question, desk) = (Arc::new(question), self.desk);
        let scenario = &desk.scenarios[question.model];
        let root = Seed::new(desk.config.run.seed).named("evaluation");
        let seed = seed_of(root, Split::Test, &scenario.family).at(question.seed.into());
        let begun = match scenario.ask(&question.text) {
            Ok(begun) => begun,
            Err(failure) => return say(&question, refused(failure)),
        };
        let way = usize::from(question.draws);
        for sample in 0..question.samples {
            let task = question.seed;
            let task = TaskSeed { scenario: scenario.clone(), split: Split::Test, task, seed };
            let number = self.sittings[way].join(task, sample, begun.clone());
            let (question, spent) = (question.clone(), Totals::default());
            self.asked[way].insert(number, Asked { question, sample, spent, answer: None });
        }
    }

    /// End what nobody waits for.
    fn let_go(&mut self) {
        for (sitting, asked) in self.sittings.iter_mut().zip(&mut self.asked) {
            asked.retain(|number, one| {
                let is_unwanted = one.question.is_unwanted();
                if is_unwanted {
                    sitting.leave(*number);
                }
                !is_unwanted
            });
        }
    }

    fn tell(&mut self, way: usize, advance: Advance) {
        let Advance { number, events, spent, ending } = advance;
        let Some(one) = self.asked[way].get_mut(&number) else { return };
        one.spent += spent;
        let scenario = &self.desk.scenarios[one.question.model];
        for event in events {
            one.hear(event, &scenario.answers_to_questions());
        }
        let Some(ending) = ending else { return };
        if let Some(one) = self.asked[way].remove(&number) {
            one.end(ending);
        }
    }

    fn fail(mut self, error: &RolloutError) {
        for one in self.asked.iter_mut().flat_map(std::mem::take).map(|(_, one)| one) {
            say(&one.question, Told::Failed(error.to_string()));
        }
    }
}

impl Asked {
    /// Take what happened; `answers` are the kinds of actions that answer, the usual one first.
    fn hear(&mut self, event: Event, answers: &[&str]) {
        match event {
            Event::Replied { role, instance, text, .. } => {
                let seat = Seat { role, instance }.to_string();
                say(&self.question, Told::Said { sample: self.sample, seat, text });
            }
            Event::Acted { action, accepted, status, .. } => {
                let is_usual = answers.first().is_some_and(|kind| *kind == action.kind);
                let ends = status != Status::Ongoing && answers.contains(&action.kind.as_str());
                if (is_usual && accepted) || ends {
                    self.answer = Some(action.text);
                }
            }
            _ => {}
        }
    }

    fn end(self, ending: Ending) {
        let told = match ending {
            // The question alone is longer than what a policy reads.
            Ending::Void { cause, message } if cause == TOO_LONG => Told::Refused(message),
            Ending::Void { message, .. } => Told::Failed(message),
            ending => Told::Answered {
                sample: self.sample,
                answer: self.answer,
                was_cut: ending == Ending::Truncated,
                spent: self.spent,
            },
        };
        say(&self.question, told);
    }
}

/// Who asked may have left.
fn say(question: &TeamQuestion, told: Told) {
    let _ = question.told.send(told);
}

/// A question that is no task is who asked it to mend; all else is not.
fn refused(failure: PluginFailure) -> Told {
    match failure.cause {
        Cause::Problem { fault: Fault::Task, message } => {
            Told::Refused(format!("`{}` cannot be asked this: {message}", failure.plugin))
        }
        _ => Told::Failed(failure.to_string()),
    }
}
