//! What reaches what in a run: splits, seeds, roles and settings. The first
//! seat is scripted where that shows more, the second a small policy's.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use troupe_core::config::{
    Audience, Config, Estimator, GroupFilter, Learns, Objective, PolicyConfig, Regularize,
    RoleConfig, Roles, SamplingScheme,
};
use troupe_guests::scenario::Scenario;
use troupe_model::Device;
use troupe_training::imitation::imitate;
use troupe_training::rehearsal::{beginners, pupils};
use troupe_training::run::RunFolder;
use troupe_training::team::Team;
use troupe_training::training::{Record, Training};
use troupe_training::watch::IDLE_STEPS;

use crate::script::{Asked, SEATS, Script, config, tasks, team};
use crate::support::components::library;
use crate::support::fixture;

/// A run of a few steps, scripted players in some seats.
fn begin(folder: &Path, config: &Config, players: &[(&str, &Arc<Script>)]) -> Training {
    let mut config = config.clone();
    config.run.dir = folder.to_owned();
    config.validation.tasks = 6;
    config.validation.tasks_during_training = 3;
    let team = team(&config, players);
    let config = team.resolve(&config);
    let folder = RunFolder::create(&config, "run").unwrap();
    Training::begin(config, team, folder).unwrap()
}

/// The first step of a run.
fn first_step(config: &Config, players: &[(&str, &Arc<Script>)]) -> Record {
    let folder = tempfile::tempdir().unwrap();
    begin(folder.path(), config, players).step().unwrap()
}

/// A first seat that never does anything.
fn idle() -> Arc<Script> {
    Script::new(|_| "first 0 0")
}

fn is_greedy(asked: &&Asked) -> bool {
    asked.temperature == 0.0
}

/// The first so many tasks of the splits that are held out.
fn held_out(validation: u32, test: u32) -> BTreeSet<(&'static str, u32)> {
    let of = |split, count| (0..count).map(move |task| (split, task));
    of("validation", validation).chain(of("test", test)).collect()
}

#[test]
fn success_is_measured_greedily_on_held_out_tasks_that_no_seed_changes() {
    let mut trained_on = BTreeSet::new();
    for seed in [1, 2] {
        let (folder, first) = (tempfile::tempdir().unwrap(), idle());
        let mut config = config();
        config.run.seed = seed;
        config.rollout.temperature = 0.7;
        config.validation.every = 1;
        config.train.steps = 2;
        let mut training = begin(folder.path(), &config, &[("first", &first)]);
        let before = first.take_asked();
        training.step().unwrap();
        let during = first.take_asked();
        training.step().unwrap();
        let after = first.take_asked();
        for (asked, held_out) in
            [(&before, held_out(3, 6)), (&during, held_out(3, 0)), (&after, held_out(3, 6))]
        {
            assert_eq!(tasks(asked.iter().filter(is_greedy)), held_out);
            let answers = asked.iter().filter(is_greedy).count();
            assert_eq!(answers, 2 * held_out.len(), "one episode of each, two turns long");
            let drawn = asked.iter().filter(|asked| asked.temperature == 0.7);
            let (train, drawn): (BTreeSet<_>, BTreeSet<_>) =
                tasks(drawn).into_iter().partition(|(split, _)| *split == "train");
            assert_eq!(drawn, held_out, "`validation.sampled` draws at the rollout's temperature");
            trained_on.extend(train.into_iter().map(|(_, task)| task));
        }
        training.finish().unwrap();
    }
    assert_eq!(trained_on.len(), 2 * 2 * 4, "the training tasks of another seed are others");
}

#[test]
fn sampled_episodes_of_held_out_tasks_are_drawn_as_validation_says_whatever_a_role_has() {
    let (folder, first) = (tempfile::tempdir().unwrap(), idle());
    let mut config = config();
    let role = |name: &str| {
        let policy = Some(name.to_owned());
        (name.to_owned(), RoleConfig { policy, temperature: Some(0.25), ..RoleConfig::default() })
    };
    config.roles = Roles::Table(SEATS.map(role).into());
    config.policies = SEATS.map(|name| (name.to_owned(), PolicyConfig::default())).into();
    (config.validation.temperature, config.validation.top_k) = (Some(0.6), Some(20));
    config.validation.top_p = Some(0.95);
    let mut training = begin(folder.path(), &config, &[("first", &first)]);
    training.step().unwrap();
    for asked in first.take_asked() {
        let drawn = (asked.temperature, asked.cuts);
        match asked.task().0 {
            "train" => assert_eq!(drawn, (0.25, (1.0, 0))),
            _ if is_greedy(&&asked) => {}
            _ => assert_eq!(drawn, (0.6, (0.95, 20))),
        }
    }
}

#[test]
fn no_two_steps_train_on_the_same_tasks() {
    let (folder, first) = (tempfile::tempdir().unwrap(), idle());
    let mut config = config();
    config.validation.every = 0;
    let mut training = begin(folder.path(), &config, &[("first", &first)]);
    first.take_asked();
    let mut all = BTreeSet::new();
    for step in 1..=3 {
        training.step().unwrap();
        let asked = first.take_asked();
        all.extend(tasks(&asked).into_iter().map(|(split, task)| (split.to_owned(), task)));
        assert_eq!(all.len(), 4 * step);
    }
    assert!(all.iter().all(|(split, _)| split == "train"));
}

#[test]
fn each_policy_learns_from_its_own_roles_answers_and_no_others() {
    let mut config = config();
    config.advantage.filter = GroupFilter::Off;
    let record = first_step(&config, &[]);
    assert_eq!(record.updates.keys().collect::<Vec<_>>(), SEATS.each_ref());
    for (name, update) in &record.updates {
        assert_eq!(update.samples, record.roles[name].samples);
        // In the first mini-batch no weight has moved: what is learned from is
        // as likely as it was when it was drawn, so it was this policy's.
        assert!(update.largest_logprob_difference < 1e-4, "{name}: {update:?}");
    }
}

#[test]
fn alpha_weighs_the_team_in_the_groups_and_in_the_figures() {
    let first = Script::new(|asked| ["first 1 -1", "first 0 0"][asked.branch % 2]);
    let mut config = config();
    config.rollout.branches = 2;
    let mut measured = |alpha| {
        config.advantage.alpha = alpha;
        let record = first_step(&config, &[("first", &first)]);
        (record.groups.spread, record.roles["first"].reward.std)
    };
    let (with, without) = (measured(1.0), measured(0.0));
    // 1 − 1 is as good as nothing, −1 is not. Half of the groups are the first seat's.
    assert_eq!((with.1, without.1), (0.0, 0.5));
    let difference = without.0 - with.0;
    assert!((difference - 0.5_f64.sqrt() / 2.0).abs() < 1e-12, "{difference}");
}

#[test]
fn twice_the_epochs_are_twice_the_optimizer_steps() {
    let steps = |epochs, minibatch_samples| {
        let mut config = config();
        config.advantage.filter = GroupFilter::Off;
        config.train.epochs = epochs;
        config.train.minibatch_samples = minibatch_samples;
        let record = first_step(&config, &[("first", &idle())]);
        record.updates["second"].optimizer_steps
    };
    assert_eq!([1, 2, 3].map(|epochs| steps(epochs, 0)), [1, 2, 3]);
    assert!(steps(1, 8) > 1, "mini-batches are steps of their own");
}

#[test]
fn every_objective_learns_from_the_same_answers_in_its_own_way() {
    let mut losses = Vec::new();
    for objective in Objective::ALL {
        let mut config = config();
        config.train.objective = objective;
        config.train.entropy_coefficient = 0.0;
        let record = first_step(&config, &[]);
        let update = &record.updates["first"];
        assert!(update.moved && update.compared > 0, "{objective:?}");
        assert_eq!(update.clip_low_share + update.clip_high_share, 0.0, "{objective:?}");
        losses.push((update.gradient_norm, objective));
    }
    // Of an unchanged policy all ratios are 1, and these three are one.
    let of = |wanted| losses.iter().find(|(_, objective)| *objective == wanted).unwrap().0;
    let near = |a: f64, b: f64| (a - b).abs() < 1e-4 * a;
    let surrogate = of(Objective::Surrogate);
    assert!(near(surrogate, of(Objective::Cispo)) && near(surrogate, of(Objective::Reinforce)));
    for other in [
        Objective::MGrpo,
        Objective::Likelihood,
        Objective::WeightedLikelihood,
        Objective::Preference,
    ] {
        assert!(!near(surrogate, of(other)), "{other:?}");
    }
}

#[test]
fn what_counts_more_often_weighs_more_in_the_update() {
    let gradient = |threads| {
        let mut config = Config::default();
        config.plugins.files = ["hostile-environment", "threads-workflow"].map(fixture).to_vec();
        config.rollout.scheme = SamplingScheme::Trajectory;
        config.rollout.tasks_per_step = 4;
        config.advantage.estimator = Estimator::MGrpo;
        config.advantage.then = vec!["align".parse().unwrap()];
        config.advantage.threads = threads;
        // All are worth the same here: what is weighed is the bonus.
        config.train.regularize = Regularize::All;
        first_step(&config, &[]).updates["shared"].gradient_norm
    };
    // All called conversations count the same, only more or less beside the main one.
    let (some, many) = (gradient(3), gradient(30));
    assert!((some - many).abs() > 1e-3 * some, "{some} {many}");
}

#[test]
fn a_role_that_is_masked_is_not_even_regularized() {
    let mut config = config();
    config.advantage.then = vec!["mask:role=second".parse().unwrap()];
    let record = first_step(&config, &[]);
    assert!(record.updates["first"].moved && !record.updates["second"].moved);
    assert_eq!(record.updates["second"].samples, 0);
}

#[test]
fn the_share_of_groups_that_a_filter_leaves_out_is_not_learned_from() {
    for filter in [GroupFilter::Std, GroupFilter::Mean] {
        for (ratio, learned) in [(0.25, 0.75), (0.5, 0.5)] {
            let mut config = config();
            // What is left out may stay in the update for the entropy's sake.
            config.train.entropy_coefficient = 0.0;
            config.advantage.refused = 0.0;
            config.advantage.filter = filter;
            config.advantage.filter_ratio = ratio;
            config.train.regularize = Regularize::Kept;
            let record = first_step(&config, &[]);
            assert_eq!(record.groups.dropped, ratio, "{filter:?}");
            let drawn: usize = record.roles.values().map(|role| role.samples).sum();
            let kept: usize = record.updates.values().map(|update| update.samples).sum();
            assert_eq!(kept as f64, learned * drawn as f64, "{filter:?}");
        }
    }
}

#[test]
fn tasks_that_teach_nothing_are_followed_by_others_as_often_as_is_said() {
    for (refill, episodes) in [(0, 4), (1, 8), (2, 12)] {
        let (mut config, first) = (config(), idle());
        config.rollout.refill = refill;
        // The answers to a state are all the same.
        config.rollout.temperature = 1e-6;
        let record = first_step(&config, &[("first", &first)]);
        assert_eq!((record.episodes, record.groups.dropped), (episodes, 1.0));
        let asked = first.take_asked();
        let drawn = tasks(asked.iter().filter(|asked| !is_greedy(asked)));
        let trained_on = drawn.into_iter().filter(|(split, _)| *split == "train").count();
        assert_eq!(trained_on, episodes, "every one is another task");
    }
    let mut config = config();
    config.rollout.refill = 2;
    // Every answer of the first seat is worth another amount.
    let first = Script::new(|asked| format!("first 0 {}", asked.branch));
    let taught = first_step(&config, &[("first", &first)]);
    assert_eq!(taught.episodes, 4, "with answers that differ there is enough to learn from");
}

#[test]
fn a_run_in_which_all_answers_are_refused_alike_ends_with_advice() {
    let (folder, first) = (tempfile::tempdir().unwrap(), idle());
    let mut config = config();
    // The answers to a state are all the same.
    config.rollout.temperature = 1e-6;
    config.validation.every = 0;
    config.train.steps = 100;
    // What is refused is pushed away from, which moves weights and teaches nothing.
    assert_ne!(config.advantage.refused, 0.0);
    let mut training = begin(folder.path(), &config, &[("first", &first)]);
    let ended = (1..=config.train.steps).find_map(|step| Some((step, training.step().err()?)));
    let (step, error) = ended.unwrap();
    assert_eq!(step, IDLE_STEPS, "{error}");
    assert!(error.to_string().contains("next to no task was solved"), "{error}");
}

#[test]
fn a_role_is_told_whether_to_think_and_the_others_are_not() {
    let mut config = config();
    let table =
        "roles = { first = { policy = 'first', enable_thinking = false }, second = 'second' }
                 policies = { first = {}, second = {} }";
    let Config { roles, policies, .. } = Config::from_table(table.parse().unwrap()).unwrap();
    (config.roles, config.policies) = (roles, policies);
    let [first, second] = [idle(), Script::new(|_| "second 0 0")];
    first_step(&config, &[("first", &first), ("second", &second)]);
    let told = |script: &Script| -> BTreeSet<Option<bool>> {
        script.take_asked().iter().map(|asked| asked.thinking).collect()
    };
    assert_eq!((told(&first), told(&second)), ([Some(false)].into(), [None].into()));
}

#[test]
fn the_estimator_decides_what_is_compared() {
    // 4 tasks, 2 turns, 2 seats, 4 answers.
    for (estimator, sampling, groups) in [
        (Estimator::AtGrpo, SamplingScheme::Tree, 16),
        (Estimator::Rloo, SamplingScheme::Tree, 16),
        (Estimator::Gdpo, SamplingScheme::Tree, 16),
        (Estimator::Naive, SamplingScheme::Tree, 4),
        (Estimator::Grpo, SamplingScheme::Trajectory, 8),
        (Estimator::DrGrpo, SamplingScheme::Trajectory, 8),
        (Estimator::TeamGrpo, SamplingScheme::Trajectory, 4),
        (Estimator::Drmas, SamplingScheme::Trajectory, 8),
        (Estimator::TurnGrpo, SamplingScheme::Trajectory, 16),
        (Estimator::MGrpo, SamplingScheme::Trajectory, 8),
    ] {
        let mut config = config();
        (config.advantage.estimator, config.rollout.scheme) = (estimator, sampling);
        assert_eq!(first_step(&config, &[]).groups.groups, groups, "{estimator:?}");
    }
}

#[test]
fn the_best_checkpoint_is_kept_and_replaced_only_by_a_better_one() {
    let (folder, solves) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
    let at_its_best = solves.clone();
    let first = Script::new(move |asked| {
        let solves = asked.temperature == 0.0 && at_its_best.load(Ordering::Relaxed);
        if solves { "first 1 0 solved" } else { "first 0 0" }
    });
    let mut config = config();
    config.validation.every = 1;
    config.checkpoint.keep = 1;
    config.train.steps = 4;
    let mut training = begin(folder.path(), &config, &[("first", &first)]);
    for solved in [false, true, true, false] {
        solves.store(solved, Ordering::Relaxed);
        let validation = training.step().unwrap().validation.unwrap();
        assert_eq!(validation.greedy.success, f64::from(u8::from(solved)));
    }
    assert_eq!(training.progress().best, Some((2, 1.0)));
    let (summary, run) = training.finish().unwrap();
    assert_eq!((summary.before.success, summary.after.success), (0.0, 0.0));
    let kept = fs::read_dir(run.checkpoints()).unwrap().map(|entry| entry.unwrap().file_name());
    let kept: BTreeSet<String> = kept.map(|name| name.into_string().unwrap()).collect();
    assert_eq!(kept, ["step-000000", "step-000002", "step-000004"].map(str::to_owned).into());
}

#[test]
fn a_warm_start_teaches_those_that_play_and_know_nothing_yet() {
    let folder = tempfile::tempdir().unwrap();
    let file = |team: &Team, policy: &str| {
        let folder = folder.path().join(policy);
        team.policies[policy].save(&folder).unwrap();
        fs::read(folder.join("model.safetensors")).unwrap()
    };
    let mut config = config();
    let learned = file(&team(&config, &[]), "second");
    let policy = |learns| PolicyConfig { learns, ..PolicyConfig::default() };
    let second = PolicyConfig { path: Some(folder.path().join("second")), ..policy(Learns::Role) };
    config
        .policies
        .extend([("second".to_owned(), second), ("critic".to_owned(), policy(Learns::Value))]);
    config.imitation.max_steps = 2;
    config.imitation.every = 2;
    config.imitation.accepted = 1.0;
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    let before = ["first", "second", "critic"].map(|policy| file(&team, policy));
    assert_eq!(before[1], learned);
    let pupils = beginners(&config, &team);
    let _ = imitate(&mut team, &config, &pupils, |_| ());
    let after = ["first", "second", "critic"].map(|policy| file(&team, policy));
    assert_ne!(after[0], before[0]);
    assert_eq!(after[1..], before[1..]);
    config.imitation.pretrained = true;
    assert_eq!(beginners(&config, &team), ["first", "second"].map(str::to_owned).into());
}

#[test]
fn an_interval_of_the_warm_start_that_overshoots_is_learned_again_at_half_the_rate() {
    let mut config = config();
    config.imitation.success = 0.0;
    config.imitation.ceiling = 0.5;
    config.imitation.every = 4;
    config.imitation.tasks = 2;
    config.imitation.warmup_steps = 0;
    // It always overshoots: the first seat solves every task by itself.
    let first = Script::new(|_| "first 1 0 solved");
    let mut team = team(&config, &[("first", &first)]);
    let mut losses = Vec::new();
    let pupils = pupils(&config, &team);
    let end = imitate(&mut team, &config, &pupils, |now| losses.push(now.loss)).unwrap();
    assert_eq!((losses.len(), end.step), (9, 4), "eight retreats, then it is taken as it is");
    // What the second seat is told and should say never varies.
    assert!(losses.is_sorted_by(|faster, slower| faster < slower), "{losses:?}");
}

#[test]
fn language_models_are_told_what_they_can_read_and_tiny_policies_their_words() {
    let library = library(&["plan-path", "planner-executor", "solo"]);
    let told = |audience, workflow: &str, role: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let config = Config::load(None, &sets).unwrap();
        let mut entry = config.families().remove(0);
        (entry.environment, entry.workflow) = (None, Some(workflow.to_owned()));
        let scenario = Scenario::assemble(&config, &entry, audience, &library).unwrap();
        scenario.workflow_settings.to_table()[&format!("{role}_message")]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (words, text) = (Audience::Words, Audience::Language);
    assert_eq!(told(words, "solo", "player", &[]), "player {observation}");
    let message = told(text, "solo", "player", &[]);
    assert!(message.starts_with("{observation}\n\nWhat became of"), "{message}");
    let message = told(text, "planner-executor", "executor", &[]);
    let beginning = "{observation}\n\nThe planner proposes this plan: {plan}\n\n";
    assert!(message.starts_with(beginning), "{message}");
    let said = ["workflow.planner_message=Look: {observation}"];
    assert_eq!(told(text, "planner-executor", "planner", &said), "Look: {observation}");
}
