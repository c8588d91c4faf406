//! `host eval --decide`: two runs on the same tasks with the same draws, until it is known which of
//! them is better.

mod families;

use std::path::Path;

use serde::Serialize;

use super::eval::{config_and_step, held_out};
use super::{assemble, report, say_caveats};
use troupe_cli::args::EvalArgs;
use troupe_core::config::Config;
use troupe_core::error::ExitCode;
use troupe_core::statistics::{AlwaysValid, Interval, mean};
use troupe_core::storage::digest;
use troupe_core::trajectory::Episode;
use troupe_guests::plugin::Plugin;
use troupe_guests::records::RecordError;
use troupe_guests::scenario::Scenario;
use troupe_model::Device;
use troupe_terminal::UsageError;
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::family::Family;
use troupe_training::team::Team;

use families::{Families, Solved};

/// Tasks of each family between two looks.
const BATCH: usize = 32;
/// The difference that is reckoned with before the start, where none was named.
const DIFFERENCE: f64 = 0.05;

/// Settings of an environment on a server that say how it is reached, and not what is played.
const REACH: [&str; 4] = ["openenv", "token_file", "timeout_s", "sessions"];

/// One of the two.
struct Side {
    name: String,
    config: Config,
    team: Team,
    solved: Solved,
}

/// A family that is learned from, as far as both have to have the same.
#[derive(Debug, Default, PartialEq)]
struct Kind {
    family: String,
    environment: String,
    /// Tasks of it that there are to play.
    tasks: usize,
    /// Digest of the environment's component; of an environment on a server its version.
    component: String,
    /// The environment's settings, as far as they say what is played.
    settings: toml::Table,
    /// Digest of the records that the tasks are built from, if they are built from some.
    records: String,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Decision {
    runs: [String; 2],
    success: [f64; 2],
    /// What the second solves more, and the interval that holds at every look.
    difference: f64,
    interval: Interval,
    /// Tasks that were played, and that could have been.
    tasks: usize,
    of: usize,
    decided: bool,
}

pub fn run(args: &EvalArgs, device: Device) -> anyhow::Result<ExitCode> {
    let [first, second] = &args.run[..] else {
        return Err(UsageError("--decide compares two runs; name --run twice".to_owned()).into());
    };
    if args.difference.is_some_and(|points| !(points > 0.0 && points < 100.0)) {
        let message = "--difference is a number of points between 0 and 100";
        return Err(UsageError(message.to_owned()).into());
    }
    let mut first = open(args, first, device)?;
    let mut second = open(args, second, device)?;
    let tasks = held_out(args, &first.config);
    let (kinds, others) = (first.kinds(tasks)?, second.kinds(tasks)?);
    let is_mixed = !first.config.mix.is_empty();
    if let Some(why) =
        unlike((first.name.as_str(), &kinds[..]), (second.name.as_str(), &others[..]), is_mixed)
    {
        return Err(UsageError(why).into());
    }
    let families = Families::of(kinds);
    announce(args, &families);
    let (sequence, rounds) = play_on((&mut first, &mut second), tasks, &families, args.difference)?;
    let success = [&first, &second].map(|side| {
        families.weighed(|family| mean(side.solved.get(family).map_or(&[][..], Vec::as_slice)))
    });
    let decision = Decision {
        success,
        difference: sequence.mean(),
        interval: sequence.interval(),
        tasks: rounds * families.count(),
        of: families.playable(),
        decided: is_decided(&sequence, args.difference),
        runs: [first.name, second.name],
    };
    match args.json {
        true => report::line(&serde_json::to_string(&decision)?),
        false => show(&decision, families.count(), args.difference),
    }
    Ok(ExitCode::Success)
}

/// Play until it is decided, or there are no more rounds: what is known then, and after how many.
fn play_on(
    (first, second): (&mut Side, &mut Side),
    tasks: HeldOutTasks,
    families: &Families,
    difference: Option<f64>,
) -> anyhow::Result<(AlwaysValid, usize)> {
    let mut sequence = AlwaysValid::between(-1.0, 1.0);
    let mut played = 0;
    let bar = report::Bar::at_most("decide", families.playable(), "tasks");
    for batch in batches(tasks, families.rounds()) {
        if is_decided(&sequence, difference) {
            break;
        }
        // Both draw from the same seeds, by task, role and turn.
        first.play(batch)?;
        second.play(batch)?;
        families.take(&mut sequence, (&first.solved, &second.solved), played);
        played += batch.tasks;
        bar.step_to(played * families.count(), String::new());
    }
    bar.finish();
    Ok((sequence, played))
}

fn open(args: &EvalArgs, run: &Path, device: Device) -> anyhow::Result<Side> {
    let (config, _) = config_and_step(&args.config, Some(run), args.step)?;
    let (config, mut team) = assemble(config, device)?;
    team.open_distant(&config, false)?;
    say_caveats(&team);
    // Only what is learned from counts, in one order, whatever that of the entries is.
    team.families.retain(Family::is_trained);
    team.families.sort_by(|one, other| one.scenario.family.cmp(&other.scenario.family));
    Ok(Side { name: run.display().to_string(), config, team, solved: Solved::new() })
}

impl Kind {
    fn of(scenario: &Scenario, tasks: HeldOutTasks) -> Result<Kind, RecordError> {
        let environment = &scenario.environment;
        let version = &environment.description().version;
        Ok(Kind {
            family: scenario.family.clone(),
            environment: environment.name().to_owned(),
            tasks: tasks.of(scenario).len(),
            component: environment.plugin().map_or(version.as_str(), Plugin::digest).to_owned(),
            settings: played(
                scenario.environment_settings.to_table(),
                environment.foreign().is_some(),
            ),
            records: records_of(scenario, tasks)?,
        })
    }

    /// A setting that both have, and not with the same value.
    fn unequal_setting(&self, other: &Kind) -> Option<&String> {
        let is_other = |(name, value): &(&String, &toml::Value)| {
            other.settings.get(*name).is_some_and(|there| there != *value)
        };
        self.settings.iter().find(is_other).map(|(name, _)| name)
    }

    /// What of the tasks is another in the other, if they are of one environment and as many.
    fn differing(&self, other: &Kind) -> Option<String> {
        if (&self.environment, self.tasks) != (&other.environment, other.tasks) {
            None
        } else if let Some(name) = self.unequal_setting(other) {
            Some(format!("another value of the setting `{name}`"))
        } else if self.records != other.records {
            Some("tasks of other records".to_owned())
        } else {
            (self.component != other.component)
                .then(|| format!("another build of the environment `{}`", self.environment))
        }
    }
}

/// Those of an environment's settings that say what is played.
fn played(mut settings: toml::Table, is_foreign: bool) -> toml::Table {
    settings.retain(|name, _| !(is_foreign && REACH.contains(&name)));
    settings
}

/// One digest of all records that tasks are built from.
fn records_of(scenario: &Scenario, tasks: HeldOutTasks) -> Result<String, RecordError> {
    let Some(records) = &scenario.records else { return Ok(String::new()) };
    tasks.of(scenario).try_fold(String::new(), |before, task| {
        let record = records.read(tasks.split, task)?;
        Ok(digest(format!("{before}{}", record.text).as_bytes()))
    })
}

impl Side {
    /// The families whose tasks are played.
    fn kinds(&self, tasks: HeldOutTasks) -> Result<Vec<Kind>, RecordError> {
        let families = self.team.families.iter();
        families.map(|family| Kind::of(&family.scenario, tasks)).collect()
    }

    /// The share of each task's episodes that solve it.
    fn play(&mut self, batch: HeldOutTasks) -> anyhow::Result<()> {
        let evaluation = evaluate(&self.team, batch, &self.config)?;
        for episodes in evaluation.rollout.episodes.chunks(batch.samples) {
            let Some(Episode { family, .. }) = episodes.first() else { continue };
            let solved = episodes.iter().filter(|episode| episode.solved()).count();
            let share = solved as f64 / episodes.len() as f64;
            self.solved.entry(family.clone()).or_default().push(share);
        }
        Ok(())
    }
}

/// What is played between two looks: the tasks of the next rounds.
fn batches(tasks: HeldOutTasks, rounds: usize) -> Vec<HeldOutTasks> {
    let batch = |from: usize| {
        let count = BATCH.min(rounds - from);
        HeldOutTasks { from: tasks.from + from as u32, tasks: count, ..tasks }
    };
    (0..rounds).step_by(BATCH).map(batch).collect()
}

/// Why two runs have no tasks in common that they could be compared on, if they have not; each by
/// its name, with its families in the order of their names.
fn unlike(first: (&str, &[Kind]), second: (&str, &[Kind]), is_mixed: bool) -> Option<String> {
    let lacking = [(first, second), (second, first)].into_iter().find_map(|(run, other)| {
        let is_there = |kind: &Kind| other.1.iter().any(|like| like.family == kind.family);
        let Kind { family, .. } = run.1.iter().find(|kind| !is_there(kind))?;
        Some(format!("`{}` learns from the family `{family}`, and `{}` does not", run.0, other.0))
    });
    let differing = || {
        let (one, other) = first.1.iter().zip(second.1).find(|(one, other)| one != other)?;
        let (family, here, there) = (&one.family, first.0, second.0);
        let Some(what) = one.differing(other) else {
            let of = |kind: &Kind, run: &str| {
                format!("{} tasks of the environment `{}` in `{run}`", kind.tasks, kind.environment)
            };
            let (one, other) = (of(one, here), of(other, there));
            return Some(format!("the family `{family}` has {one}, and {other}"));
        };
        let with_one = one.unequal_setting(other).map(|name| match is_mixed {
            true => format!("; `--set mix=[…]` with one value of its `settings.{name}` plays both"),
            false => format!("; `--set environment.{name}=…` plays both with one"),
        });
        let with_one = with_one.unwrap_or_default();
        Some(format!("the family `{family}` has {what} in `{there}` than in `{here}`{with_one}"))
    };
    let difference = lacking.or_else(differing)?;
    Some(format!(
        "--decide compares two runs on the same tasks, and {difference}; `host eval --run RUN` \
         examines one by itself"
    ))
}

/// Whether it is known which is better, or that neither is by so much.
fn is_decided(sequence: &AlwaysValid, difference: Option<f64>) -> bool {
    let Interval { low, high } = sequence.interval();
    let is_equal = difference.is_some_and(|points| {
        let share = points / 100.0;
        -share < low && high < share
    });
    low > 0.0 || high < 0.0 || is_equal
}

fn announce(args: &EvalArgs, families: &Families) {
    let share = args.difference.map_or(DIFFERENCE, |points| points / 100.0);
    report::note(&format!(
        "a difference of {:.1} points takes some {} tasks if the two differ on a tenth of them, {} \
         if on half; there are {}",
        100.0 * share,
        families.tasks_for(share, 0.1),
        families.tasks_for(share, 0.5),
        families.playable()
    ));
    if let Some(why) = families.limit() {
        report::note(&why);
    }
}

/// The head of the figures, and what it does not say of the tasks that were played.
fn heading(tasks: usize, families: usize) -> (String, Option<String>) {
    if families < 2 {
        return (format!("solved of {tasks} tasks"), None);
    }
    let each = tasks / families;
    let played = format!("  {tasks} tasks: {each} of each of {families} families");
    ("solved, families weighted".to_owned(), Some(played))
}

fn show(decision: &Decision, families: usize, difference: Option<f64>) {
    let Decision { runs, success, interval: Interval { low, high }, tasks, of, .. } = decision;
    let rows: Vec<Vec<String>> = runs
        .iter()
        .zip(success)
        .map(|(name, share)| vec![name.clone(), report::percent(*share)])
        .collect();
    let (head, played) = heading(*tasks, families);
    report::table(&["run", &head], &rows);
    if let Some(played) = played {
        report::line(&played);
    }
    report::line(&format!(
        "  the second solves {:+.1} points more ({:+.1} to {:+.1}, at 95 % for all looks together)",
        100.0 * decision.difference,
        100.0 * low,
        100.0 * high
    ));
    report::line(&match (decision.decided, difference) {
        (false, _) => format!("  not decided by {tasks} tasks"),
        (true, Some(points)) if *low <= 0.0 && *high >= 0.0 => format!(
            "  decided: they differ by less than {points} points; {} of {of} tasks were saved",
            of - tasks
        ),
        (true, _) => format!("  decided; {} of {of} tasks were saved", of - tasks),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::seed::Seed;
    use troupe_guests::plugin::Split;
    use troupe_training::metrics::Answers;

    fn kind(family: &str, tasks: usize) -> Kind {
        let (family, environment) = (family.to_owned(), "maze".to_owned());
        Kind { family, environment, tasks, ..Kind::default() }
    }

    #[test]
    fn every_family_goes_on_where_it_stopped_until_the_one_with_fewest_tasks_has_no_more() {
        let answers = Answers::Greedy;
        let (split, seed) = (Split::Test, Seed::new(1));
        let tasks = HeldOutTasks { split, from: 0, tasks: 100, answers, samples: 1, seed };
        let played = |kinds: &[(&str, usize)]| -> Vec<(u32, usize)> {
            let kinds = kinds.iter().map(|(family, tasks)| kind(family, *tasks));
            let batches = batches(tasks, Families::of(kinds.collect()).rounds());
            batches.iter().map(|batch| (batch.from, batch.tasks)).collect()
        };
        assert_eq!(played(&[("a", 40)]), [(0, 32), (32, 8)]);
        assert_eq!(played(&[("a", 40), ("b", 5), ("c", 40)]), [(0, 5)]);
        assert_eq!(played(&[("a", 40), ("none", 0)]), [(0, 32), (32, 8)]);
        assert!(played(&[("a", 0)]).is_empty());
    }

    #[test]
    fn runs_are_compared_on_the_same_families_with_as_many_tasks() {
        let both = [kind("a", 8), kind("b", 8)];
        let said =
            |first: &[Kind], second: &[Kind]| unlike(("one", first), ("other", second), false);
        assert_eq!(said(&both, &[kind("a", 8), kind("b", 8)]), None);
        let names = |said: Option<String>, what: &str| {
            let said = said.unwrap();
            assert!(said.contains(what) && said.contains("`host eval --run RUN`"), "{said}");
        };
        names(said(&both, &both[..1]), "`one` learns from the family `b`, and `other` does not");
        names(said(&both[1..], &both), "`other` learns from the family `a`, and `one` does not");
        let fewer = [kind("a", 8), kind("b", 3)];
        let differ = "the family `b` has 8 tasks of the environment `maze` in `one`, and 3 tasks";
        names(said(&both, &fewer), differ);
        let elsewhere = [Kind { environment: "board".to_owned(), ..kind("a", 8) }];
        names(said(&both[..1], &elsewhere), "8 tasks of the environment `board` in `other`");
        for (tasks, differ) in [
            (Kind { records: "0f".to_owned(), ..kind("a", 8) }, "tasks of other records"),
            (Kind { component: "0f".to_owned(), ..kind("a", 8) }, "another build of the"),
        ] {
            names(said(&both[..1], &[tasks]), &format!("the family `a` has {differ}"));
        }
    }

    #[test]
    fn of_runs_with_other_values_of_a_setting_it_is_said_how_both_are_played_with_one() {
        let sized = |size: i64| {
            let settings = toml::Table::from_iter([("size".to_owned(), size.into())]);
            [Kind { settings, ..kind("a", 8) }]
        };
        let said = |is_mixed: bool| {
            let (one, other) = (sized(5), sized(6));
            unlike(("one", &one[..]), ("other", &other[..]), is_mixed).unwrap_or_default()
        };
        let what = "`a` has another value of the setting `size` in `other` than in `one`";
        for (said, way) in
            [(said(false), "`--set environment.size=…`"), (said(true), "its `settings.size`")]
        {
            assert!(said.contains(what) && said.contains(way), "{said}");
        }
    }

    #[test]
    fn how_a_server_is_reached_is_no_part_of_what_is_played() {
        let settings: toml::Table =
            "openenv = 'http://h:1'\ntoken_file = 'x'\ntimeout_s = 5\nsessions = 2\nreset = '{}'"
                .parse()
                .unwrap();
        let names = |is_foreign: bool| -> Vec<String> {
            played(settings.clone(), is_foreign).keys().cloned().collect()
        };
        assert_eq!(names(true), ["reset"]);
        assert_eq!(names(false).len(), 5, "a component may call anything so");
    }

    #[test]
    fn a_figure_over_families_is_not_called_a_share_of_the_tasks_that_were_played() {
        assert_eq!(heading(512, 1), ("solved of 512 tasks".to_owned(), None));
        let (head, played) = heading(512, 2);
        assert_eq!(head, "solved, families weighted");
        assert!(played.is_some_and(|line| line.contains("512 tasks: 256 of each of 2 families")));
    }
}
