//! `host policy render` and `host policy ask`: one prompt, looked at or answered.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use anyhow::{Context, bail};

use super::{load, report, rounding};
use crate::team_desk::TeamDesk;
use troupe_cli::args::{ConfigArgs, PolicyAskArgs, PromptArgs};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Author, Message, StopReason};
use troupe_model::{Device, Policy, Request, Sampling};
use troupe_serving::{TeamQuestion, Told};
use troupe_terminal::UsageError;

/// Print the prompt as the policy reads it.
pub fn render(args: &PromptArgs, device: Device) -> anyhow::Result<()> {
    let policy = addressed(args, device)?;
    let messages = messages(args);
    let tokens = policy.encode_prompt(&messages, &[], args.thinking)?;
    report::line(&policy.wording().render_prompt(&messages, &[], args.thinking)?);
    report::line(&format!("\n{} tokens: {}", tokens.len(), serde_json::to_string(&*tokens)?));
    Ok(())
}

/// Print what the policy, or the team of a run, says.
pub fn ask(args: &PolicyAskArgs, device: Device) -> anyhow::Result<()> {
    if let Some(run) = &args.run {
        return ask_team(args, run, device);
    }
    let asked = args.prompt().map_err(UsageError)?;
    let mut policy = addressed(&asked, device)?;
    Policy::settle([&mut policy], rounding(args.dtype));
    let prompt = policy.encode_prompt(&messages(&asked), &[], asked.thinking)?;
    let seed = Seed::new(args.seed.into()).named("ask");
    let seeds = (0..u64::from(args.samples)).map(|sample| seed.at(sample)).collect();
    let greedy = Sampling::greedy(args.max_tokens as usize);
    let sampling = Sampling {
        temperature: args.temperature,
        thinking_budget: args.thinking_budget as usize,
        ..greedy
    };
    let answers = policy.generate(&[Request { prompt, seeds }], &sampling)?;
    for (index, answer) in answers.iter().flatten().enumerate() {
        if args.samples > 1 {
            report::line(&format!("{}[{}]", if index == 0 { "" } else { "\n" }, index + 1));
        }
        report::line(&answer.text);
        if answer.stop == StopReason::Length {
            report::note(&format!("(cut off after {} tokens; see --max-tokens)", args.max_tokens));
        }
    }
    Ok(())
}

/// Print what the team says, as it says it, and its answer.
fn ask_team(args: &PolicyAskArgs, run: &Path, device: Device) -> anyhow::Result<()> {
    let question = args.question().map_err(UsageError)?;
    let desk = TeamDesk::open(run, args.step, &ConfigArgs::default(), device)?;
    let (told, heard) = channel();
    let (questions, asked) = channel();
    let samples = usize::from(args.samples);
    let mut question = TeamQuestion::new(question, told);
    (question.samples, question.seed, question.draws) = (samples, args.seed, args.sampled);
    questions.send(question)?;
    drop(questions);
    thread::scope(|scope| {
        let printing = scope.spawn(move || print(heard, samples));
        desk.answer(&asked)?;
        drop(asked);
        printing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Print what is told. Of several episodes only the answers, since they go on side by side.
fn print(heard: Receiver<Told>, samples: usize) -> anyhow::Result<()> {
    let mut answers = vec![None; samples];
    for told in heard {
        match told {
            Told::Said { seat, text, .. } if samples == 1 => {
                report::line(&format!("[{seat}] {text}\n"));
            }
            Told::Said { .. } => {}
            Told::Answered { sample, answer, was_cut, .. } => {
                answers[sample] = Some((answer, was_cut));
            }
            Told::Refused(reason) => return Err(UsageError(reason).into()),
            Told::Failed(reason) => bail!(reason),
        }
    }
    for (index, (answer, was_cut)) in answers.into_iter().flatten().enumerate() {
        if samples > 1 {
            report::line(&format!("{}[{}]", if index == 0 { "" } else { "\n" }, index + 1));
        }
        match answer {
            Some(answer) => report::line(&answer),
            None => report::note("(the team gave no answer)"),
        }
        if was_cut {
            report::note("(a limit of the run ended it)");
        }
    }
    Ok(())
}

fn addressed(args: &PromptArgs, device: Device) -> anyhow::Result<Policy> {
    load(&args.checkpoint, device).context("the policy cannot be asked")
}

fn messages(args: &PromptArgs) -> Vec<Message> {
    let message = |author, text: &String| Message { author, text: text.clone() };
    let system = args.system.iter().map(|text| message(Author::System, text));
    system.chain([message(Author::User, &args.text)]).collect()
}
