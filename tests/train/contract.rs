//! What the contract can carry, each with a plugin that uses it: joint moves,
//! opposed and private seats, judges, teams of several seats, conversations
//! within a conversation, pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use troupe_core::config::{
    AdvantageConfig, BranchChoice, Config, Estimator, PolicyConfig, RoleConfig, Roles,
    SamplingScheme,
};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Ending, Event, Sample};
use troupe_estimators::advantage::{Memory, compare};
use troupe_guests::plugin::Split;
use troupe_guests::scenario::{Answer, Next, Scenario, Transition};
use troupe_training::family::scenario_of;
use troupe_training::rollout::{Rollout, Setting, collect};
use troupe_training::team::Team;

use crate::retrieval;
use crate::script::{Asked, Script, team, training_tasks};
use crate::support::{fixture, plugin, run};

const TASKS: u32 = 3;

fn config(environment: &str, workflow: &str) -> Config {
    let mut config = Config::default();
    config.plugins.files = [environment, workflow].map(fixture).to_vec();
    config.roles = Roles::PerRole;
    config
}

fn with(mut config: Config, table: &str, name: &str, value: impl Into<toml::Value>) -> Config {
    let table = if table == "environment" { &mut config.environment } else { &mut config.workflow };
    table.insert(name.to_owned(), value.into());
    config
}

fn scripted<T: std::fmt::Display>(
    line: impl Fn(&Asked) -> T + Send + Sync + 'static,
) -> Arc<Script> {
    Script::new(line)
}

pub fn play(config: &Config, players: &[(&str, &Arc<Script>)]) -> Rollout {
    play_team(config, &team(config, players))
}

fn play_team(config: &Config, team: &Team) -> Rollout {
    let tasks = training_tasks(team, TASKS, Seed::new(7));
    collect(&Setting::of(&team.role_map, config), &team.policies, &tasks).unwrap()
}

/// The samples of a role by task and branch.
fn of_role<'r>(rollout: &'r Rollout, role: &str) -> BTreeMap<(usize, usize), &'r Sample> {
    let own = rollout.samples.iter().filter(|sample| sample.role == role);
    own.map(|sample| ((sample.task, sample.branch), sample)).collect()
}

/// How many groups of a role hold something to learn, and how many there are.
fn telling(rollout: &Rollout, role: &str) -> (usize, usize) {
    let groups =
        compare(&rollout.samples, &AdvantageConfig::default(), &mut Memory::default(), |_| true)
            .formed;
    let own: Vec<_> = groups.iter().filter(|group| group.roles.contains(role)).collect();
    (own.iter().filter(|group| !group.is_flat()).count(), own.len())
}

/// Two seats that between them try all four combinations of two keys.
fn keys() -> [Arc<Script>; 2] {
    [scripted(|asked| asked.branch & 1), scripted(|asked| asked.branch >> 1 & 1)]
}

#[test]
fn what_only_a_combination_earns_reaches_both_who_were_asked_together() {
    let config = config("pair-environment", "pair-workflow");
    let [first, second] = keys();
    let rollout = play(&config, &[("first", &first), ("second", &second)]);
    for role in ["first", "second"] {
        let samples = of_role(&rollout, role);
        assert_eq!(samples.len(), TASKS as usize * 4);
        for ((_, branch), sample) in samples {
            let worth = if branch == 3 { 1.0 } else { 0.0 };
            assert_eq!((sample.reward.team, sample.reward.local), (worth, 0.0), "{role} {branch}");
        }
        assert_eq!(telling(&rollout, role), (TASKS as usize, TASKS as usize), "{role}");
    }
    assert!(rollout.episodes.iter().any(|episode| episode.ending != Ending::Solved));
}

#[test]
fn an_answer_that_stands_for_several_is_worth_what_it_was_in_all_of_them_whichever_is_kept() {
    let mut config = config("pair-environment", "pair-workflow");
    config.rollout.branch_choice = BranchChoice::Greedy;
    let few =
        RoleConfig { branches: Some(2), policy: Some("first".to_owned()), ..RoleConfig::default() };
    let many = RoleConfig { policy: Some("second".to_owned()), ..RoleConfig::default() };
    config.policies =
        ["first", "second"].map(|name| (name.to_owned(), PolicyConfig::default())).into();
    config.roles = Roles::Table([("first".to_owned(), few), ("second".to_owned(), many)].into());
    // The first seat's second answer turns its key, and stands for the third and the fourth, too;
    // the second seat turns its own in these two.
    let [first, second] = keys();
    let rollout = play(&config, &[("first", &first), ("second", &second)]);
    for ((_, branch), sample) in of_role(&rollout, "first") {
        let worth = [0.0, 2.0 / 3.0][branch];
        assert!((sample.reward.team - worth).abs() < 1e-9, "{branch}: {:?}", sample.reward);
    }
    for ((_, branch), sample) in of_role(&rollout, "second") {
        let worth = [0.0, 0.0, 1.0, 1.0][branch];
        assert_eq!(sample.reward.team, worth, "{branch}");
    }
}

#[test]
fn what_one_seat_wins_the_other_loses() {
    let config = with(config("pair-environment", "pair-workflow"), "environment", "game", "duel");
    let [first, second] = keys();
    let rollout = play(&config, &[("first", &first), ("second", &second)]);
    let (firsts, seconds) = (of_role(&rollout, "first"), of_role(&rollout, "second"));
    for ((task, branch), sample) in firsts {
        let other = seconds[&(task, branch)];
        let worth = [0.0, 1.0, -1.0, 0.0][branch];
        assert_eq!((sample.reward.local, other.reward.local), (worth, -worth), "branch {branch}");
        assert_eq!((sample.reward.team, other.reward.team), (0.0, 0.0));
    }
}

#[test]
fn a_trajectorys_team_reward_counts_once_however_many_were_asked_together() {
    let mut config = config("pair-environment", "pair-workflow");
    config.rollout.scheme = SamplingScheme::Trajectory;
    let one = scripted(|_| "1");
    let rollout = play(&config, &[("first", &one), ("second", &one)]);
    let by_seat = AdvantageConfig { estimator: Estimator::Grpo, ..AdvantageConfig::default() };
    for group in compare(&rollout.samples, &by_seat, &mut Memory::default(), |_| true).formed {
        assert!(group.worths().iter().all(|score| score.value == 1.0), "{:?}", group.worths());
    }
}

#[test]
fn seats_are_shown_what_is_theirs_alone() {
    let config =
        with(config("pair-environment", "pair-workflow"), "environment", "game", "private");
    let scenario = scenario_of(&config, None).unwrap();
    let mut different = 0;
    for seed in 0..16 {
        let Next::Asked(position) = scenario.begin(Split::Train, seed).unwrap().next else {
            panic!("both are asked");
        };
        let told: Vec<&str> =
            position.due.iter().map(|due| own_digit(&due.messages[0].text)).collect();
        different += usize::from(told[0] != told[1]);
        let texts: Vec<String> = position
            .due
            .iter()
            .map(|due| scenario.demonstrate(&position, due).unwrap().unwrap())
            .collect();
        assert_eq!([&texts[1], &texts[0]], [told[0], told[1]], "each says what the other holds");
        let answers: Vec<Answer> =
            texts.iter().map(|text| Answer { text, complete: true, forced: false }).collect();
        let end = scenario.answer(&position, &answers).unwrap();
        assert!(matches!(end.next, Next::Ended(Ending::Solved)));
        assert_eq!(end.rewards.iter().map(|reward| reward.local).collect::<Vec<_>>(), [0.5; 2]);
    }
    assert!(different > 8, "{different} of 16");
}

fn own_digit(told: &str) -> &str {
    told.rsplit(' ').next().unwrap()
}

/// A judge who likes what is wrong in the environment's view, so that the two
/// can be told apart.
fn court(scheme: SamplingScheme) -> (Rollout, Arc<Script>) {
    let mut config = config("hostile-environment", "judge-workflow");
    config.rollout.scheme = scheme;
    config.rollout.max_turns = 1;
    config.rollout.branch_choice = BranchChoice::Random;
    let solver = scripted(|asked| if asked.seed.value() % 2 == 0 { "two" } else { "three" });
    let judge = scripted(|asked| {
        let told = asked.told.iter().any(|told| told.contains("three"));
        u8::from(told)
    });
    let rollout = play(&config, &[("solver", &solver), ("judge", &judge)]);
    (rollout, judge)
}

#[test]
fn a_verdict_counts_for_the_answer_that_was_judged_and_never_for_the_judge() {
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        let (rollout, _) = court(sampling);
        assert!(
            rollout.episodes.iter().all(|episode| !episode.is_void()),
            "{:?}",
            rollout.episodes
        );
        let mut verdicts = BTreeSet::new();
        for sample in &rollout.samples {
            let liked = f64::from(u8::from(sample.completion.text == "three"));
            let expected = if sample.role == "solver" { liked } else { 0.0 };
            assert_eq!(sample.reward.local, expected, "{sampling:?} {}", sample.role);
            assert_eq!(sample.reward.parts.contains_key("verdict"), sample.role == "solver");
            verdicts.insert(expected as i64);
        }
        assert_eq!(verdicts.len(), 2, "both verdicts were seen");
    }
}

#[test]
fn a_verdict_is_booked_once_where_a_role_is_asked_more_or_less_often_than_all_others() {
    for (all, solvers) in [(4, 1), (1, 4)] {
        let mut config = config("hostile-environment", "judge-workflow");
        (config.rollout.scheme, config.rollout.branches) = (SamplingScheme::Tree, all);
        config.rollout.max_turns = 1;
        let role = |policy: &str, branches: Option<usize>| {
            let entry =
                RoleConfig { policy: Some(policy.to_owned()), branches, ..RoleConfig::default() };
            (policy.to_owned(), entry)
        };
        config.policies =
            ["solver", "judge"].map(|name| (name.to_owned(), PolicyConfig::default())).into();
        config.roles = Roles::Table([role("solver", Some(solvers)), role("judge", None)].into());
        let (solver, judge) = (scripted(|_| "three"), scripted(|_| "1"));
        let rollout = play(&config, &[("solver", &solver), ("judge", &judge)]);
        let own: Vec<f64> = (rollout.samples.iter())
            .filter(|sample| sample.role == "solver")
            .map(|sample| sample.reward.local)
            .collect();
        assert_eq!(own, vec![1.0; solvers * TASKS as usize], "{solvers}, and {all} of the judge");
    }
}

#[test]
fn looking_ahead_for_a_verdict_does_not_change_where_the_episode_goes_on() {
    let (rollout, judge) = court(SamplingScheme::Tree);
    let solver = rollout.samples.iter().filter(|sample| sample.role == "solver").count();
    let judged = rollout.samples.iter().filter(|sample| sample.role == "judge").count();
    assert_eq!((solver, judged), (4 * TASKS as usize, 4 * TASKS as usize));
    // Four of every task while it was looked ahead, four where the episode went on.
    assert_eq!(judge.take_asked().len(), 8 * TASKS as usize);
    let (telling_solver, _) = telling(&rollout, "solver");
    assert!(telling_solver > 0);
    assert_eq!(telling(&rollout, "judge").0, 0, "the judge gains nothing");
}

#[test]
fn every_seat_of_a_role_answers_for_itself() {
    for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
        let mut config =
            with(config("hostile-environment", "panel-workflow"), "workflow", "seats", 5);
        config.rollout.scheme = sampling;
        config.rollout.max_turns = 1;
        let worker = scripted(|asked| asked.seed.unit());
        let rollout = play(&config, &[("worker", &worker)]);
        let seats: BTreeSet<u32> = rollout.samples.iter().map(|sample| sample.instance).collect();
        assert_eq!(seats, (0..5).collect());
        let said: BTreeSet<&str> =
            rollout.samples.iter().map(|sample| sample.completion.text.as_str()).collect();
        assert_eq!(said.len(), rollout.samples.len(), "no two seats share their chance");
        let groups =
            compare(&rollout.samples, &AdvantageConfig::default(), &mut Memory::default(), |_| {
                true
            })
            .formed;
        if sampling == SamplingScheme::Tree {
            assert!(groups.iter().all(|group| group.units.len() == 4), "{sampling:?}");
            assert_eq!(groups.len(), 5 * TASKS as usize);
        }
    }
}

#[test]
fn a_designer_decides_who_is_asked() {
    let mut config = config("hostile-environment", "designer-workflow");
    config.rollout.max_turns = 2;
    let designer = scripted(|_| "three one");
    let worker = scripted(|asked| match asked.told[0].contains(" three ") {
        true => "from-three",
        false => "1",
    });
    let rollout = play(&config, &[("designer", &designer), ("worker", &worker)]);
    for episode in &rollout.episodes {
        assert_eq!(episode.ending, Ending::Solved);
        let asked: Vec<(&str, u32, &str)> = episode.events.iter().filter_map(replied).collect();
        let expected =
            [("designer", 0, "three one"), ("worker", 2, "from-three"), ("worker", 0, "1")];
        assert_eq!(asked, expected);
    }
    assert!(worker.take_asked().iter().any(|asked| asked.told[0].ends_with("from-three")));
}

fn replied(event: &Event) -> Option<(&str, u32, &str)> {
    match event {
        Event::Replied { role, instance, text, .. } => Some((role, *instance, text)),
        _ => None,
    }
}

#[test]
fn conversations_go_on_while_others_are_due_and_count_their_own_turns() {
    let mut config = config("hostile-environment", "threads-workflow");
    config.rollout.branches = 2;
    let planner = scripted(|asked| if asked.told[0].contains("worker") { "1" } else { "plan" });
    let worker = scripted(|asked| format!("word{}", asked.told.len()));
    let rollout = play(&config, &[("planner", &planner), ("worker", &worker)]);
    for episode in &rollout.episodes {
        assert_eq!(episode.ending, Ending::Solved, "{episode:?}");
        let asked: Vec<(&str, u32, &str)> = episode.events.iter().filter_map(replied).collect();
        let expected = [
            ("planner", 0, "plan"),
            ("worker", 0, "word1"),
            ("worker", 1, "word1"),
            ("worker", 0, "word3"),
            ("worker", 1, "word3"),
            ("planner", 0, "1"),
        ];
        assert_eq!(asked, expected);
    }
    let turns: BTreeSet<(&str, usize)> =
        rollout.samples.iter().map(|sample| (sample.thread.as_str(), sample.turn)).collect();
    let of = |thread| [(thread, 0), (thread, 1)];
    assert_eq!(turns, [of(""), of("worker-0"), of("worker-1")].concat().into_iter().collect());
}

#[test]
fn a_policy_that_reads_text_only_does_not_pretend_to_see() {
    let config = picture();
    let player = scripted(|_| "1");
    let rollout = play(&config, &[("player", &player)]);
    for episode in &rollout.episodes {
        let Ending::Void { cause, message } = &episode.ending else { panic!("{episode:?}") };
        assert_eq!(cause, "cannot_see");
        assert!(message.contains("`player` is shown a picture"), "{message}");
    }
    assert!(rollout.samples.is_empty());
}

fn picture() -> Config {
    let mut config = config("picture-environment", "hostile-workflow");
    config.plugins.files[1] = plugin("solo");
    config
}

#[test]
fn an_episode_is_drawn_as_its_environment_wants_and_never_as_more_than_an_image() {
    let drawn = |config: &Config| {
        let scenario = scenario_of(config, None).unwrap();
        let Next::Asked(position) = scenario.begin(Split::Test, 3).unwrap().next else { panic!() };
        let shown = position.due[0].messages.last().unwrap().text.clone();
        (scenario.render(&position), shown)
    };
    let (rendering, shown) = drawn(&picture());
    let rendering = rendering.unwrap().unwrap();
    assert!(rendering.svg.contains("<circle r='4'/>"), "{}", rendering.svg);
    let name = rendering.text.strip_prefix("* ").unwrap();
    assert!(shown.contains(name), "`{shown}` is another task than `{name}`");
    let hostile = with(picture(), "environment", "preset", "hostile");
    let failure = drawn(&hostile).0.unwrap_err();
    assert!(failure.to_string().contains("its svg contains `<script`"), "{failure}");
    let undrawn = config("pair-environment", "pair-workflow");
    assert_eq!(drawn(&undrawn).0.unwrap(), None);
}

#[test]
fn a_preset_is_spelled_out_and_what_the_user_says_besides_wins() {
    let settings = |config: Config| {
        let scenario = scenario_of(&config, None).unwrap();
        scenario.environment_settings.get("drawing").unwrap().to_string()
    };
    let hostile = || with(picture(), "environment", "preset", "hostile");
    assert!(settings(hostile()).contains("script"));
    assert_eq!(settings(with(hostile(), "environment", "drawing", "<g/>")), "\"<g/>\"");
    let unknown = with(picture(), "environment", "preset", "hostil");
    let error = scenario_of(&unknown, None).err().unwrap().to_string();
    assert!(error.contains("no preset \"hostil\"; did you mean `hostile`?"), "{error}");
}

#[test]
fn play_shows_and_writes_what_an_environment_draws() {
    let folder = tempfile::tempdir().unwrap();
    let plugins =
        format!("{},{}", fixture("picture-environment").display(), plugin("solo").display());
    let svg = folder.path().join("drawings");
    let svg = svg.to_str().unwrap();
    let (code, shown, said) =
        run(&["play", "--plugins", &plugins, "--oracle", "--draw", "--svg", svg]);
    assert_eq!(code, 0, "{said}");
    assert!(shown.contains("\n* name"), "{shown}");
    let image = std::fs::read_to_string(format!("{svg}/000.svg")).unwrap();
    assert!(image.starts_with("<svg"), "{image}");
}

/// Stages of every pair, and what a scripted role says there.
fn pairs() -> Vec<(Arc<Scenario>, &'static str)> {
    let pair = |environment, workflow| scenario_of(&config(environment, workflow), None).unwrap();
    let private =
        with(config("pair-environment", "pair-workflow"), "environment", "game", "private");
    // What is searched is kept in memory, and records are read from files that are open.
    let folder = tempfile::tempdir().unwrap();
    vec![
        (scenario_of(&retrieval::quiz(folder.path()), None).unwrap(), "number3"),
        (scenario_of(&retrieval::library(folder.path()), None).unwrap(), "number3"),
        (pair("pair-environment", "pair-workflow"), "1"),
        (scenario_of(&private, None).unwrap(), "4"),
        (pair("hostile-environment", "judge-workflow"), "2"),
        (pair("hostile-environment", "panel-workflow"), "2"),
        (pair("hostile-environment", "designer-workflow"), "two three"),
        (pair("hostile-environment", "threads-workflow"), "2"),
        (pair("hostile-environment", "chorus-workflow"), "2"),
        (pair("ledger-environment", "relay-workflow"), "first 0 1"),
    ]
}

#[test]
fn a_fork_by_replay_is_a_fork_by_save_and_resume() {
    for (scenario, said) in pairs() {
        let name = scenario.workflow.name().to_owned();
        let mut now = scenario.begin(Split::Train, 3).unwrap();
        let mut rounds = 0;
        while let Next::Asked(position) = &now.next {
            let answers =
                vec![Answer { text: said, complete: true, forced: false }; position.due.len()];
            let resumed = scenario.answer(position, &answers).unwrap();
            let replayed = scenario.answer(&position.as_replay(), &answers).unwrap();
            assert_eq!(shown(&resumed), shown(&replayed), "{name}, round {rounds}");
            rounds += 1;
            now = resumed;
        }
        assert!(rounds > 0, "{name}");
    }
}

fn shown(transition: &Transition) -> String {
    let led_to = match &transition.next {
        Next::Asked(position) => format!("{:x} {:?}", position.digest(), position.due),
        Next::Ended(ending) => format!("{ending:?}"),
    };
    let Transition { team, rewards, others, credits, accepted, events, .. } = transition;
    format!("{team:?} {rewards:?} {others:?} {credits:?} {accepted:?} {events:?} {led_to}")
}
