//! `host play`: one episode, shown as it happens.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::args::{CheckpointName, PlayArgs};
use super::{eval, report};
use crate::config::Config;
use crate::error::ExitCode;
use crate::plugin::{Request, Split};
use crate::policy::{Device, PolicyError, Request as Prompt, Sampling};
use crate::rollout::{Answer, Consequence, Progress, Scene, Stage};
use crate::seed::Seed;
use crate::team::{Team, set_stage};
use crate::trajectory::{Author, Event, Message};

pub fn run(
    args: PlayArgs,
    device: impl Fn() -> Result<Device, PolicyError>,
) -> anyhow::Result<ExitCode> {
    let mut config = eval::config_of(&args.config, args.run.as_deref(), CheckpointName::Last)?;
    if args.workflow.is_some() {
        config.plugins.workflow.clone_from(&args.workflow);
    }
    let (split, task) = (args.split.into(), args.task);
    if args.oracle {
        let stage = set_stage(&config)?;
        return show(&stage, split, task, |scene, _| Ok(stage.demonstrate(scene)?));
    }
    if args.human {
        let mut explained = BTreeSet::new();
        return show(&set_stage(&config)?, split, task, |_, request| {
            ask_person(request, explained.insert(request.role.clone()))
        });
    }
    let team = Team::assemble(&config, device()?)?;
    show(&team.stage, split, task, |scene, request| {
        ask_policy(&team, &config, scene, request).map(Some)
    })
}

/// Play a task, asking `answer` for every answer; no answer ends it.
fn show(
    stage: &Stage,
    split: Split,
    task: u32,
    mut answer: impl FnMut(&Scene, &Request) -> anyhow::Result<Option<String>>,
) -> anyhow::Result<ExitCode> {
    report::line(&format!(
        "{} with {}, {split} task {task}",
        stage.environment.name(),
        stage.workflow.name()
    ));
    let mut now = stage.begin(split, task)?;
    let mut total = 0.0;
    loop {
        total += now.reward.total(1.0);
        print_events(&now);
        let scene = match now.progress {
            Progress::Asked(scene) => scene,
            Progress::Ended(ending) => {
                report::line(&format!("\n{ending:?}, total reward {total:+.2}"));
                return Ok(ExitCode::Success);
            }
        };
        // A scene always has a request due.
        let Some(request) = scene.due.front().cloned() else { return Ok(ExitCode::Internal) };
        let Some(text) = answer(&scene, &request)? else {
            report::line(&format!("\nnobody answers for `{}`; the end", request.role));
            return Ok(ExitCode::Success);
        };
        report::line(&format!(
            "\n{} (turn {}): {text}",
            request.role,
            scene.turn_of(&request.role) + 1
        ));
        now = stage.answer(&scene, Answer { text: &text, complete: true })?;
    }
}

fn print_events(now: &Consequence) {
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
            Event::Ran { language, ending, stdout, stderr, .. } => {
                report::line(&format!("  ran {language}: {ending}\n{stdout}{stderr}"));
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
    scene: &Scene,
    request: &Request,
) -> anyhow::Result<String> {
    let policy = &team.policies[team.cast.policy_of(&request.role)];
    let prompt = policy.encode_prompt(&request.messages)?;
    let seeds = vec![Seed::new(scene.digest())];
    let sampling = Sampling::greedy(config.rollout.max_completion_tokens);
    let answers = policy.generate(&[Prompt { prompt, seeds }], &sampling)?;
    Ok(answers.into_iter().flatten().next().map(|answer| answer.text).unwrap_or_default())
}

/// The prompt on standard output, the answer from standard input; its end ends
/// the episode. The rules are shown when a role is asked for the first time.
fn ask_person(request: &Request, first: bool) -> anyhow::Result<Option<String>> {
    let shown = |message: &&Message| first || message.author != Author::System;
    for message in request.messages.iter().filter(shown) {
        let title = match message.author {
            Author::System => "rules",
            Author::User => "you are told",
            Author::Assistant => "you said",
        };
        report::line(&format!("\n[{}: {title}]\n{}", request.role, message.text));
    }
    report::prompt(&format!("{}> ", request.role));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim().to_owned()))
}
