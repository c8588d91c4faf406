//! `host policy render` and `host policy ask`: one prompt, looked at or answered.

use anyhow::Context;

use super::{load, report};
use troupe_cli::args::{PolicyAskArgs, PromptArgs};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Author, Message, StopReason};
use troupe_model::{Device, Policy, Request, Sampling};

/// Print the prompt as the policy reads it.
pub fn render(args: &PromptArgs, device: Device) -> anyhow::Result<()> {
    let policy = addressed(args, device)?;
    let messages = messages(args);
    let tokens = policy.encode_prompt(&messages, &[], args.thinking)?;
    report::line(&policy.wording().render_prompt(&messages, &[], args.thinking)?);
    report::line(&format!("\n{} tokens: {}", tokens.len(), serde_json::to_string(&*tokens)?));
    Ok(())
}

/// Print what the policy says.
pub fn ask(args: &PolicyAskArgs, device: Device) -> anyhow::Result<()> {
    let policy = addressed(&args.prompt, device)?;
    let prompt = policy.encode_prompt(&messages(&args.prompt), &[], args.prompt.thinking)?;
    let seed = Seed::new(args.seed).named("ask");
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

fn addressed(args: &PromptArgs, device: Device) -> anyhow::Result<Policy> {
    load(&args.checkpoint, device).context("the policy cannot be asked")
}

fn messages(args: &PromptArgs) -> Vec<Message> {
    let message = |author, text: &String| Message { author, text: text.clone() };
    let system = args.system.iter().map(|text| message(Author::System, text));
    system.chain([message(Author::User, &args.text)]).collect()
}
