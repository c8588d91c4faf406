//! docs/scale.md.

use std::fmt::Write as _;

use anyhow::Result;

use super::cards::{self, Step};
use super::carried::throughput;
use super::grading::PROGRAMS;
use super::measured::{Host, Taken};
use super::memory::MemoryTrace;
use super::run::RunTrace;
use crate::machine::machine;

/// What is asked for.
const TASKS: f64 = 1e6;
const TREES: f64 = 1e4;
const CORES: usize = 64;
const PROGRAMS_AN_HOUR: f64 = 1e5;
const CARDS: [usize; 4] = [1, 2, 4, 8];
/// What a machine of that size has: bytes of memory and of disk, and how long a run may take.
const MEMORY: f64 = 256e9;
const DISK: f64 = 1e12;
const DAYS: f64 = 7.0;
const GB: f64 = 1e9;
const HOUR: f64 = 3600.0;

/// The page.
pub fn page(host: &Host, run: &RunTrace, memory: &MemoryTrace, grading: &Taken) -> Result<String> {
    let mut text = format!(
        "# What breaks first\n\n`cargo xtask scale` wrote this page with {}. Little runs were \
         measured on {}; what is computed from them, by the rule beside it, was not run.\n\n",
        host.version()?,
        machine()
    );
    measured(&mut text, run, memory, grading)?;
    let limits = limits(run, memory, grading);
    computed(&mut text, &limits)?;
    drawing_and_learning(&mut text)?;
    Ok(text)
}

fn measured(
    text: &mut String,
    run: &RunTrace,
    memory: &MemoryTrace,
    grading: &Taken,
) -> Result<()> {
    let cpu = run.taken.own + run.taken.children;
    writeln!(text, "## Measured\n\n| what | seen |\n|---|---|")?;
    writeln!(
        text,
        "| three steps of `configs/plan-path/quickstart.toml`, warm start and tests included | \
         {:.0} episodes, {:.0} answers; {:.0} s, {cpu:.0} s of processor time, {:.0} of it of one \
         thread |",
        run.episodes, run.answers, run.taken.seconds, run.taken.busiest
    )?;
    let phases: Vec<String> =
        (run.phases.iter()).map(|(name, seconds)| format!("{name} {seconds:.1} s")).collect();
    let steps: f64 = run.phases.iter().map(|(_, seconds)| seconds).sum();
    let rate = run.episodes / steps;
    writeln!(text, "| its steps alone | {}: {rate:.0} trees a second |", phases.join(", "))?;
    writeln!(
        text,
        "| files | {:.0} bytes an episode (`outcomes.jsonl`), {:.0} an answer (`table/`), {:.0} kB \
         a step (all others), {:.1} MB a checkpoint |",
        run.outcome,
        run.answer,
        run.step / 1e3,
        run.checkpoint / 1e6
    )?;
    let seen: Vec<String> = (memory.seen.iter())
        .map(|(trees, bytes)| format!("{trees:.0}: {:.2} GB", bytes / GB))
        .collect();
    writeln!(
        text,
        "| memory with so many trees of four answers side by side | {} |",
        seen.join(", ")
    )?;
    writeln!(
        text,
        "| {PROGRAMS} short programs graded, one job a processor | {:.1} s; a program takes {:.1} \
         ms of processor time in a worker and {:.2} ms in front of it, {:.2} of them in one \
         thread; a worker has {:.0} MB |\n",
        grading.seconds,
        1e3 * grading.children / PROGRAMS as f64,
        1e3 * grading.own / PROGRAMS as f64,
        1e3 * grading.busiest / PROGRAMS as f64,
        grading.child_bytes / 1e6
    )?;
    Ok(())
}

/// Something that a machine has only so much of.
struct Limit {
    what: String,
    comes_to: String,
    rule: &'static str,
    /// What is wanted over what there is.
    share: f64,
}

fn limits(run: &RunTrace, memory: &MemoryTrace, grading: &Taken) -> Vec<Limit> {
    let steps: f64 = run.phases.iter().map(|(_, seconds)| seconds).sum();
    let answers = run.answers / run.episodes;
    let (days, table) =
        (TASKS * steps / run.episodes / (24.0 * HOUR), TASKS * answers * run.answer);
    let outcomes = TASKS * run.outcome;
    let trees = memory.line.at(TREES);
    let programs = PROGRAMS as f64;
    let (work, alone) = (grading.children / programs, grading.busiest / programs);
    let rate = throughput(CORES, work, alone);
    let worker = grading.child_bytes * CORES as f64 + grading.bytes;
    vec![
        Limit {
            what: "a pass over 10⁶ tasks on this machine".to_owned(),
            comes_to: format!("{days:.1} days"),
            rule: "seconds of the steps measured, over their episodes; a week is there",
            share: days / DAYS,
        },
        Limit {
            what: "its `table/`".to_owned(),
            comes_to: format!("{:.1} GB", table / GB),
            rule: "bytes an answer, answers an episode; 1 TB is there",
            share: table / DISK,
        },
        Limit {
            what: "its `outcomes.jsonl`".to_owned(),
            comes_to: format!("{:.2} GB", outcomes / GB),
            rule: "bytes an episode; 1 TB is there",
            share: outcomes / DISK,
        },
        Limit {
            what: "10⁴ trees side by side".to_owned(),
            comes_to: format!(
                "{:.1} GB ({:.2} MB a tree; {:.0} trees fill it)",
                trees / GB,
                memory.line.slope / 1e6,
                memory.line.reaches(MEMORY)
            ),
            rule: "the line through what was measured; 256 GB are there",
            share: trees / MEMORY,
        },
        Limit {
            what: "10⁵ short programs an hour on 64 cores".to_owned(),
            comes_to: format!(
                "{:.0} a second at most, of {:.0} that the cores alone would do",
                rate,
                CORES as f64 / work
            ),
            rule: "mean value analysis: workers, and one thread as busy as the busiest was",
            share: PROGRAMS_AN_HOUR / HOUR / rate,
        },
        Limit {
            what: "its 64 workers".to_owned(),
            comes_to: format!("{:.1} GB", worker / GB),
            rule: "memory of a worker, were none of it shared; 256 GB are there",
            share: worker / MEMORY,
        },
    ]
}

fn computed(text: &mut String, limits: &[Limit]) -> Result<()> {
    writeln!(
        text,
        "## Computed\n\n| what | comes to | by | wanted over what there is |\n|---|---|---|---|"
    )?;
    for Limit { what, comes_to, rule, share } in limits {
        writeln!(text, "| {what} | {comes_to} | {rule} | {share:.4} |")?;
    }
    let first = limits.iter().max_by(|one, other| one.share.total_cmp(&other.share));
    if let Some(Limit { what, share, .. }) = first {
        let breaks = if *share > 1.0 { "breaks" } else { "is nearest to breaking" };
        writeln!(text, "\nWhat {breaks}: {what}, at {share:.2} of what there is.\n")?;
    }
    Ok(())
}

fn drawing_and_learning(text: &mut String) -> Result<()> {
    let seen: Vec<String> = (cards::SEEN.iter())
        .map(|(answers, rate)| format!("{rate:.0} with {answers:.0} at a time"))
        .collect();
    writeln!(
        text,
        "## Cards that draw while one learns\n\nA step of {} trees with {} answers to every state \
         and {} rounds; answers of {:.0} tokens on average, spread exponentially and cut at {:.0}. \
         Tokens a second of a card that draws: {} ([seen](gpu.md#figures), Qwen3-1.7B on an H200). \
         Assumed, not seen: {:.0} tokens a second of the card that learns, {:.2} s until new \
         weights draw.\n\n| cards that draw | drawing | learning | steps an hour, in turn | with \
         `rollout.staleness = 1` | cards that draw wait |\n|---|---|---|---|---|---|",
        cards::TREES,
        cards::BRANCHES,
        cards::ROUNDS,
        cards::MEAN,
        cards::MOST,
        seen.join(", "),
        cards::UPDATE,
        cards::PUBLISH
    )?;
    for count in CARDS {
        let step = Step::of(count);
        writeln!(
            text,
            "| {count} | {:.0} s | {:.0} s | {:.0} | {:.0} | {:.0} % |",
            step.drawing,
            step.learning,
            HOUR / step.in_turn(),
            HOUR / step.meanwhile(),
            100.0 * (1.0 - step.drawing / step.meanwhile())
        )?;
    }
    let enough = (1..=64).find(|&count| Step::of(count).drawing < Step::of(count).learning);
    match enough {
        Some(count) => writeln!(
            text,
            "\nThe fewest cards that draw a step in less time than one learns from it: {count}. \
             More of them wait for the one that learns, and would wait for each other: a round \
             takes as long as its longest answer, so that eight draw {:.1} times as fast as one.",
            Step::of(1).drawing / Step::of(8).drawing
        )?,
        None => writeln!(text, "\nLearning never takes longer than drawing.")?,
    }
    Ok(())
}
