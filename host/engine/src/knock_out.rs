//! What each role of a run's team is good for, at its end or when asked.

use std::path::Path;

use super::eval::checkpoint_of;
use super::report;
use troupe_cli::args::{BlameArgs, CheckpointName};
use troupe_core::archive::find_config;
use troupe_core::config::{Config, KnockOut, PolicyConfig};
use troupe_core::error::ExitCode;
use troupe_core::seed::Seed;
use troupe_core::statistics::Interval;
use troupe_core::storage::write_json;
use troupe_guests::foreign::ForeignEnvironment;
use troupe_guests::plugin::Split;
use troupe_model::Device;
use troupe_training::evaluation::HeldOutTasks;
use troupe_training::knock_out::{Company, KnockedOut, RoleWorth, Share, Understudy};

/// The file of a run folder that says it.
const FILE: &str = "roles.json";
/// What it may cost without being asked for: the share of the answers that training drew, as a
/// divisor.
const SHARE: u64 = 20;
/// Fewer tasks say nothing.
const FEWEST: usize = 32;
/// A share of tasks that is as good as none.
const LITTLE: f64 = 0.05;

/// At the end of a run, on test tasks.
pub fn at_the_end(run: &Path, config: &Config, device: Device) -> anyhow::Result<()> {
    let knock_out = config.validation.knock_out;
    // Nobody is asked over the network, perhaps for money, for what was not asked for.
    let is_elsewhere = |policy: &PolicyConfig| policy.remote.is_some() || policy.tinker.is_some();
    let is_served =
        config.families().iter().any(|family| ForeignEnvironment::is_meant(&family.settings));
    let is_here = !is_served && !config.policies.values().any(is_elsewhere);
    if knock_out == KnockOut::Never || (knock_out == KnockOut::Auto && !is_here) {
        return Ok(());
    }
    let checkpoint = checkpoint_of(run, CheckpointName::Last)?;
    let (step, drawn) = (checkpoint.progress.step, checkpoint.progress.totals.samples);
    let gathered = Company::gather(config, &run.join("checkpoints"), step, device);
    let company = match gathered {
        Ok(company) if !company.roles().is_empty() => company,
        Ok(_) => return Ok(()),
        // Who asked for it is to know; else the run has all that it was to have.
        Err(error) if knock_out == KnockOut::Always => return Err(error.into()),
        Err(_) => return Ok(()),
    };
    let wanted = config.validation.tasks_during_training;
    let affordable = (drawn / SHARE) as usize / (company.ways() * company.answers_at_most()).max(1);
    let tasks = match knock_out {
        KnockOut::Auto => wanted.min(affordable),
        _ => wanted,
    };
    if tasks < FEWEST.min(wanted) {
        return Ok(());
    }
    let held_out = held_out(config, Split::Test, tasks);
    let worth = measure(&company, held_out)?;
    write_json(&run.join(FILE), &worth)?;
    show(&worth);
    Ok(())
}

/// For `host blame --roles`.
pub fn on_demand(args: &BlameArgs, device: Device) -> anyhow::Result<ExitCode> {
    let config = Config::load(Some(&find_config(&args.run)?), &[])?;
    let step = checkpoint_of(&args.run, args.step)?.progress.step;
    let company = Company::gather(&config, &args.run.join("checkpoints"), step, device)?;
    let held_out = held_out(&config, args.split.into(), args.tasks as usize);
    let worth = measure(&company, held_out)?;
    let shares = company.shares(held_out, Understudy::Began)?;
    write_json(&args.run.join(FILE), &worth)?;
    if args.json {
        let told = serde_json::json!({ "worth": worth, "shares": shares });
        report::line(&told.to_string());
    } else {
        show(&worth);
        show_shares(&shares);
    }
    Ok(ExitCode::Success)
}

fn held_out(config: &Config, split: Split, tasks: usize) -> HeldOutTasks {
    let seed = Seed::new(config.run.seed).named("evaluation");
    HeldOutTasks::greedy(split, tasks, seed)
}

fn measure(company: &Company, held_out: HeldOutTasks) -> anyhow::Result<RoleWorth> {
    let bar = report::Bar::new("roles", 0, company.ways(), "ways to play them");
    let mut done = 0;
    let worth = company.knock_out(held_out, |what| {
        bar.step_to(done, what.to_owned());
        done += 1;
    })?;
    bar.finish();
    Ok(worth)
}

fn show(worth: &RoleWorth) {
    let RoleWorth { split, tasks, success, roles, .. } = worth;
    let whole =
        vec![String::new(), "all as trained".to_owned(), report::percent(*success), String::new()];
    let row = |KnockedOut { role, understudy, success, effect }: &KnockedOut| {
        let Interval { low, high } = effect.interval;
        vec![
            role.clone(),
            understudy.name().to_owned(),
            report::percent(*success),
            format!("{:+.1} ({:+.1} to {:+.1})", 100.0 * effect.mean, 100.0 * low, 100.0 * high),
        ]
    };
    let rows: Vec<Vec<String>> = std::iter::once(whole).chain(roles.iter().map(row)).collect();
    report::line("");
    let of = format!("solved of {tasks} {split} tasks");
    report::table(&["role", "played by", &of, "its own policy adds, in points (95 %)"], &rows);
    lazy(worth).iter().for_each(|role| {
        report::line(&format!(
            "  {role}: the team solves about as much without what it has learned"
        ));
    });
}

/// Roles whose own policy adds nothing that can be shown, and at most little, to one that has
/// learned least. Of few tasks the interval is too wide to say so.
fn lazy(worth: &RoleWorth) -> Vec<String> {
    let mut least: Vec<&KnockedOut> =
        worth.roles.iter().filter(|knocked| knocked.understudy != Understudy::Expert).collect();
    // Of each role the last: `untrained` comes after `as it began`.
    least.dedup_by(|later, earlier| {
        let same = later.role == earlier.role;
        if same {
            *earlier = later;
        }
        same
    });
    let adds_nothing = |knocked: &&KnockedOut| {
        let Interval { low, high } = knocked.effect.interval;
        low <= 0.0 && high < LITTLE
    };
    least.into_iter().filter(adds_nothing).map(|knocked| knocked.role.clone()).collect()
}

fn show_shares(shares: &[Share]) {
    let row = |Share { role, value, error }: &Share| {
        vec![role.clone(), format!("{:+.1} ± {:.1}", 100.0 * value, 196.0 * error)]
    };
    report::line("");
    let rows: Vec<Vec<String>> = shares.iter().map(row).collect();
    report::table(&["role", "its part of what training added, in points"], &rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::blame::{Effect, Measure};

    #[test]
    fn a_role_is_lazy_that_adds_nothing_to_one_that_has_learned_nothing() {
        let knocked = |role: &str, understudy, without: f64| KnockedOut {
            role: role.to_owned(),
            understudy,
            success: without,
            effect: Effect::of(&[1.0; 64], &[without; 64], Measure::Solved).unwrap(),
        };
        let roles = vec![
            knocked("idle", Understudy::Began, 1.0),
            knocked("idle", Understudy::Untrained, 1.0),
            knocked("idle", Understudy::Expert, 0.0),
            knocked("late", Understudy::Began, 1.0),
            knocked("late", Understudy::Untrained, 0.0),
            knocked("new", Understudy::Began, 0.0),
        ];
        let split = "test".to_owned();
        let worth = RoleWorth { step: 1, split, tasks: 64, success: 1.0, roles };
        assert_eq!(lazy(&worth), ["idle"]);
    }

    #[test]
    fn of_few_tasks_no_role_is_called_lazy() {
        let knocked = |tasks: usize| KnockedOut {
            role: "idle".to_owned(),
            understudy: Understudy::Began,
            success: 1.0,
            effect: Effect::of(&vec![1.0; tasks], &vec![1.0; tasks], Measure::Solved).unwrap(),
        };
        let named = |tasks: usize| {
            let (split, roles) = ("test".to_owned(), vec![knocked(tasks)]);
            lazy(&RoleWorth { step: 1, split, tasks, success: 1.0, roles }).len()
        };
        assert_eq!([8, 64].map(named), [0, 1]);
    }
}
