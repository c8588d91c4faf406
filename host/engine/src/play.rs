//! `host play`: one episode, shown as it happens.

use std::collections::BTreeSet;
use std::io::BufRead;
use std::path::Path;

use anyhow::bail;

use super::{assemble, eval, report};
use troupe_cli::args::PlayArgs;
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_core::storage;
use troupe_core::trajectory::{Author, Event, Message, StopReason};
use troupe_guests::plugin::Split;
use troupe_guests::scenario::{Answer, Due, Next, Position, Scenario, Transition};
use troupe_model::{
    ChatRequest, Device, Policy, PolicyError, RemoteFailure, Request as Prompt, Rounding, Sampling,
};
use troupe_training::family::scenario_of;
use troupe_training::team::Team;

pub fn run(
    args: PlayArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let mut config = eval::config_of(&args.config, args.run.as_deref(), args.step)?;
    if args.workflow.is_some() {
        let mut families = config.families();
        families.iter_mut().for_each(|entry| entry.workflow.clone_from(&args.workflow));
        config = config.with_families(families);
    }
    let (split, task, family) = (args.split.into(), args.task, args.family.as_deref());
    let scenario = scenario_of(&config, family)?;
    let mut drawings = Drawings { shown: args.draw, folder: args.svg.as_deref(), drawn: 0 };
    let mut show = |answer: &mut Answerer<'_>| show(&scenario, split, task, &mut drawings, answer);
    if args.oracle {
        return show(&mut |position, due| Ok(scenario.demonstrate(position, due)?.map(whole)));
    }
    let mut explained = BTreeSet::new();
    let mut is_first = |due: &Due| explained.insert(due.request.seat.to_string());
    if args.human {
        return show(&mut |_, due| Ok(ask_person(due, is_first(due))?.map(whole)));
    }
    let (config, mut team) = assemble(config, device()?)?;
    team.open_distant(&config, false)?;
    Policy::settle(team.policies.values_mut(), Rounding::Nearest);
    show(&mut |position, due| {
        tell(due, is_first(due));
        ask_policy(&team, &config, position, due).map(Some)
    })
}

/// An answer, and whether it came to its end.
type Said = (String, bool);

/// The source of an answer that is due; none ends the episode.
type Answerer<'a> = dyn FnMut(&Position, &Due) -> anyhow::Result<Option<Said>> + 'a;

fn whole(text: String) -> Said {
    (text, true)
}

/// Where drawings of the episode go.
struct Drawings<'a> {
    /// On standard output, in characters.
    shown: bool,
    /// As images, numbered.
    folder: Option<&'a Path>,
    drawn: usize,
}

impl Drawings<'_> {
    fn draw(&mut self, scenario: &Scenario, position: &Position) -> anyhow::Result<()> {
        if !self.shown && self.folder.is_none() {
            return Ok(());
        }
        let Some(rendering) = scenario.render(position)? else {
            let name = scenario.environment.name();
            bail!("the environment `{name}` does not draw its episodes");
        };
        if self.shown {
            report::line(&format!("\n{}", rendering.text));
        }
        if let Some(folder) = self.folder {
            storage::create_folder(folder)?;
            let file = folder.join(format!("{:03}.svg", self.drawn));
            storage::write_file(&file, rendering.svg.as_bytes())?;
        }
        self.drawn += 1;
        Ok(())
    }
}

/// Play a task, asking `answer` for every answer.
fn show(
    scenario: &Scenario,
    split: Split,
    task: u32,
    drawings: &mut Drawings<'_>,
    answer: &mut Answerer<'_>,
) -> anyhow::Result<ExitCode> {
    report::line(&format!(
        "{} with {}, {split} task {task}",
        scenario.environment.name(),
        scenario.workflow.name()
    ));
    let mut now = scenario.begin(split, task)?;
    let mut total = 0.0;
    loop {
        let own = now.rewards.iter().chain(now.others.iter().map(|(_, reward)| reward));
        total += now.team.team + own.map(|reward| reward.local).sum::<f64>();
        print_events(&now);
        let position = match now.next {
            Next::Asked(position) => position,
            Next::Ended(ending) => {
                report::line(&format!("\n{ending:?}, total reward {total:+.2}"));
                return Ok(ExitCode::Success);
            }
        };
        drawings.draw(scenario, &position)?;
        let mut texts = Vec::new();
        for due in &position.due {
            let seat = &due.request.seat;
            let Some((text, complete)) = answer(&position, due)? else {
                report::line(&format!("\nnobody answers for `{seat}`; the end"));
                return Ok(ExitCode::Success);
            };
            let cut = if complete { "" } else { " (cut by the limit of tokens)" };
            report::line(&format!("\n{seat} (turn {}): {text}{cut}", due.turn + 1));
            texts.push((text, complete));
        }
        let answers: Vec<Answer> = texts
            .iter()
            .map(|(text, complete)| Answer { text, complete: *complete, forced: false })
            .collect();
        now = scenario.answer(&position, &answers)?;
    }
}

fn print_events(now: &Transition) {
    for event in &now.events {
        match event {
            Event::Observed { text } => report::line(&format!("\n{text}")),
            Event::Acted { action, accepted, feedback, reward, .. } => {
                let parts: Vec<String> = reward
                    .parts
                    .iter()
                    .filter(|(_, value)| **value != 0.0)
                    .map(|(name, value)| format!("{name} {value:+.2}"))
                    .collect();
                let verdict = if *accepted { "accepted" } else { "not accepted" };
                report::line(&format!(
                    "  {} {verdict}: {} {feedback}",
                    action.kind,
                    parts.join(", ")
                ));
            }
            Event::Called { tool, succeeded, answer, .. } => {
                let verdict = if *succeeded { "succeeded" } else { "failed" };
                report::line(&format!("  called {tool}, which {verdict}: {answer}"));
            }
            Event::Credited { answer, name, value } => {
                report::line(&format!("  answer {answer} was worth {name} {value:+.2}"));
            }
            Event::Logged { plugin, level, text } => {
                report::line(&format!("  {plugin} logged ({level}): {text}"));
            }
            Event::Replied { .. } => {}
        }
    }
}

fn ask_policy(
    team: &Team,
    config: &Config,
    position: &Position,
    due: &Due,
) -> anyhow::Result<Said> {
    let (role_map, role) = (&team.role_map, due.role());
    let seed = Seed::new(position.digest());
    let name = role_map.answerer(role_map.policy_of(role), due, seed);
    let (seeds, thinking) = (vec![seed], role_map.thinking(role));
    let own = role_map.sampling(&config.rollout).of(role).clone();
    let sampling = Sampling { temperature: 0.0, ..own };
    let answers = match role_map.remotes().get(name) {
        Some(remote) => {
            let (messages, tools) = (due.messages.to_vec(), due.tools.to_vec());
            let request = ChatRequest { messages, tools, thinking, seeds };
            let answered = remote.complete(&[request], &sampling).into_iter();
            answered.map(|it| Ok(it?.completions)).collect::<Result<_, RemoteFailure>>()?
        }
        None => {
            let policy = &team.policies[name];
            let prompt = policy.encode_prompt(&due.messages, &due.tools, thinking)?;
            policy.generate(&[Prompt { prompt, seeds }], &sampling)?
        }
    };
    let said = answers.into_iter().flatten().next();
    Ok(said.map(|answer| (answer.text, answer.stop != StopReason::Length)).unwrap_or_default())
}

/// What a role is told. The rules are shown when it is asked for the first time.
fn tell(due: &Due, first: bool) {
    let shown = |message: &&Message| first || message.author != Author::System;
    let seat = &due.request.seat;
    for message in due.messages.iter().filter(shown) {
        let title = match message.author {
            Author::System => "rules",
            Author::User => "you are told",
            Author::Assistant => "you said",
            Author::Tool => "a tool says",
        };
        report::line(&format!("\n[{seat}: {title}]\n{}", message.text));
    }
}

/// The prompt on standard output, the answer from standard input; its end ends
/// the episode.
fn ask_person(due: &Due, first: bool) -> anyhow::Result<Option<String>> {
    tell(due, first);
    report::prompt(&format!("{}> ", due.request.seat));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
