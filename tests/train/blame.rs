//! What each turn of an episode changed, against what further forks say of it.

use std::path::Path;

use troupe_core::blame::{Blame, Measure};
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Ending, Episode, Event, Reward, Sample, StopReason};
use troupe_guests::plugin::Split;
use troupe_guests::scenario::{Answer, Next, Position};
use troupe_model::Device;
use troupe_training::blame::{Inquiry, blame, tasks_of};
use troupe_training::evaluation::{HeldOutTasks, evaluate};
use troupe_training::imitation::imitate;
use troupe_training::metrics::Answers;
use troupe_training::rehearsal::pupils;
use troupe_training::rollout::{Rollout, Setting, Start, TaskSeed, answer_from};
use troupe_training::team::Team;

use crate::support::{plugin, plugins, run};

const MARGIN: f64 = 0.2;

/// A planner and an executor that mostly find their way across a small board in few turns.
fn team() -> (Config, Team) {
    let files = ["plan-path", "planner-executor"].map(|name| plugin(name).display().to_string());
    let settings = [
        format!("plugins.files={files:?}"),
        "environment.size=5".to_owned(),
        "environment.walls=4".to_owned(),
        "environment.min_distance=3".to_owned(),
        "environment.max_distance=7".to_owned(),
        "environment.moves_per_turn=2".to_owned(),
        "rollout.max_turns=4".to_owned(),
        "imitation.success=0.8".to_owned(),
        "imitation.ceiling=0.9".to_owned(),
    ];
    let config = Config::load(None, &settings).unwrap();
    let mut team = Team::assemble(&config, Device::cpu()).unwrap();
    let pupils = pupils(&config, &team);
    imitate(&mut team, &config, &pupils, |_| ()).unwrap();
    (config, team)
}

fn held_out(tasks: usize, seed: u64) -> HeldOutTasks {
    let (split, answers) = (Split::Validation, Answers::Sampled);
    HeldOutTasks { split, from: 0, tasks, answers, samples: 1, seed: Seed::new(seed) }
}

/// A walk of one or two steps, whatever the board.
fn random_answer(seed: Seed) -> String {
    let letter = |seed: Seed| ["U", "D", "L", "R"][seed.index(4)];
    format!("{} {}", letter(seed.at(0)), letter(seed.at(1)))
}

/// The executor's answer in every third of its turns is random; all others are the policies' own.
fn play_with_faults(config: &Config, team: &Team, tasks: u32) -> Rollout {
    let scenario = &team.families[0].scenario;
    let setting = Setting::of(&team.role_map, config);
    let mut rollout = Rollout::default();
    for task in 0..tasks {
        let seed = Seed::new(3).at(task.into());
        let task_seed =
            TaskSeed { scenario: scenario.clone(), split: Split::Validation, task, seed };
        let begun = scenario.begin(Split::Validation, task).unwrap();
        let (mut next, mut events) = (begun.next, begun.events);
        let mut round = 0;
        let ending = loop {
            let position = match next {
                Next::Asked(position) => position,
                Next::Ended(ending) => break ending,
            };
            let start =
                Start { task: task_seed.clone(), position: position.clone(), answers: Vec::new() };
            let drawn = answer_from(&setting, &team.policies, vec![start]).unwrap();
            let mut answers = drawn.given.into_iter().next().flatten().unwrap();
            for (due, answer) in position.due.iter().zip(&mut answers) {
                if due.role() == "executor" && due.turn % 3 == 0 {
                    answer.text = random_answer(seed.named("fault").at(due.turn as u64));
                    answer.stop = StopReason::EndOfText;
                }
            }
            rollout.samples.extend(rows(task as usize, round, &position, &answers));
            let texts: Vec<Answer> = answers.iter().map(Answer::from).collect();
            let transition = scenario.answer(&position, &texts).unwrap();
            events.extend(transition.events);
            next = transition.next;
            round += 1;
        };
        rollout.episodes.push(episode(scenario.family.clone(), task, events, ending));
    }
    rollout
}

fn rows(task: usize, round: usize, position: &Position, answers: &[Completion]) -> Vec<Sample> {
    let row = |(due, completion): (&troupe_guests::scenario::Due, &Completion)| Sample {
        task,
        family: String::new(),
        episode: 0,
        turn: due.turn,
        role: due.role().to_owned(),
        instance: due.request.seat.instance,
        thread: due.request.thread.clone(),
        situation: None,
        hint: None,
        parent: None,
        caller: None,
        round,
        policy: "shared".to_owned(),
        branch: 0,
        kept: true,
        state: position.digest(),
        prompt: [].into(),
        completion: completion.clone(),
        reward: Reward::default(),
        accepted: true,
    };
    position.due.iter().zip(answers).map(row).collect()
}

fn episode(
    family: String,
    task: u32,
    events: Vec<troupe_core::trajectory::Event>,
    ending: Ending,
) -> Episode {
    let split = "validation".to_owned();
    Episode { task: task as usize, family, split, seed: task, episode: 0, events, ending }
}

fn look_into(
    (config, team): &(Config, Team),
    held_out: HeldOutTasks,
    rollout: &Rollout,
    (forks, at_most): (usize, usize),
) -> Vec<Blame> {
    let inquiry = Inquiry { forks, at_most, margin: MARGIN, measure: Measure::Solved };
    let mut found = Vec::new();
    let tasks = tasks_of(team, held_out, config);
    blame(team, config, (&tasks, rollout), inquiry, |_| true, |blame| found.push(blame)).unwrap();
    found
}

#[test]
fn turns_that_a_random_role_loses_are_named_and_no_others_and_all_turns_add_up() {
    const TASKS: usize = 20;
    let trained = team();
    adds_up(&trained);
    let rollout = play_with_faults(&trained.0, &trained.1, TASKS as u32);
    let found = look_into(&trained, held_out(TASKS, 1), &rollout, (64, 4096));
    // Forks of their own say how it is.
    let truth = look_into(&trained, held_out(TASKS, 2), &rollout, (128, 4096));
    assert_eq!((found.len(), truth.len()), (TASKS, TASKS));
    let (mut both, mut named, mut lost, mut faults) = (0, 0, 0, 0);
    for (found, truth) in found.iter().zip(&truth) {
        for ((round, turn), (other, true_turn)) in found.turns().zip(truth.turns()) {
            assert_eq!((round, &turn.role, turn.turn), (other, &true_turn.role, true_turn.turn));
            let (is_named, loses) = (turn.effect.loses(MARGIN), true_turn.effect.loses(MARGIN));
            both += usize::from(is_named && loses);
            named += usize::from(is_named);
            lost += usize::from(loses);
            faults += usize::from(loses && turn.role == "executor" && turn.turn % 3 == 0);
        }
    }
    let said = format!("{both} of {named} named and of {lost} that lose, {faults} of them faults");
    assert!(lost >= 10 && faults * 10 >= lost * 7, "{said}");
    assert!(both as f64 >= 0.95 * named as f64 && both as f64 >= 0.95 * lost as f64, "{said}");
}

/// What all rounds changed adds up to what the episode changed.
fn adds_up(trained: &(Config, Team)) {
    const TASKS: usize = 100;
    let held_out = held_out(TASKS, 5);
    let evaluation = evaluate(&trained.1, held_out, &trained.0).unwrap();
    let found = look_into(trained, held_out, &evaluation.rollout, (16, 16));
    assert_eq!(found.len(), TASKS);
    let within = |blame: &&Blame| {
        let (left, error) = blame.remainder();
        left.abs() <= 1.96 * error
    };
    let held = found.iter().filter(within).count();
    assert!(held >= 95, "{held}");
    for blame in &found {
        let rounds: Vec<usize> = blame.rounds.iter().map(|round| round.round).collect();
        assert_eq!(rounds, (0..rounds.len()).collect::<Vec<_>>());
        assert_eq!(blame.outcome, f64::from(u8::from(blame.episode.solved())));
        assert_eq!(blame.void, 0);
    }
}

#[test]
fn what_is_found_is_kept_in_the_run_and_told_beside_the_episode() {
    let folder = tempfile::tempdir().unwrap();
    let files = plugins(&["plan-path", "planner-executor"]);
    let dir = format!("run.dir=\"{}\"", folder.path().display());
    let mut arguments = vec!["train", "--plugins", &files, "--set", &dir];
    for set in [
        "run.name=team",
        "environment.size=5",
        "environment.max_distance=5",
        "imitation.success=0.3",
        "train.steps=1",
        "rollout.tasks_per_step=4",
        "validation.tasks=8",
    ] {
        arguments.extend(["--set", set]);
    }
    assert_eq!(run(&arguments).0, 0);
    let team = folder.path().join("team");
    let run_folder = team.display().to_string();
    let asked = ["blame", &run_folder, "--forks", "16", "--at-most", "16", "--tasks", "12"];
    let (code, told, stderr) = run(&[&asked[..], &["--failures"]].concat());
    assert_eq!(code, 0, "{stderr}");
    assert!(told.contains("turns that lost") && told.contains("adds up"), "{told}");
    let lines = std::fs::read_to_string(team.join("blame.jsonl")).unwrap();
    let found: Vec<Blame> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!found.is_empty() && found.iter().all(|blame| !blame.episode.solved()));
    // A task by itself is told as among the others.
    let task = found[0].episode.seed.to_string();
    let alone = ["blame", &run_folder, "--forks", "16", "--at-most", "16", "--task", &task];
    let (code, told, stderr) = run(&[&alone[..], &["--json"]].concat());
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(told.trim(), lines.lines().next().unwrap());
    recorded_episodes_are_looked_into_as_they_were(folder.path(), &run_folder);
    let (code, _, stderr) = run(&["report", &run_folder]);
    assert_eq!(code, 0, "{stderr}");
    let page = std::fs::read_to_string(team.join("report.html")).unwrap();
    assert!(page.contains("\"course\":{\"measure\":\"solved\""), "the course is on the page");
    let (code, _, stderr) = run(&["blame", &run_folder, "--margin=-1"]);
    assert!(code == 2 && stderr.contains("--margin"), "{stderr}");
}

fn recorded_episodes_are_looked_into_as_they_were(folder: &Path, run_folder: &str) {
    let [record, out] = ["recorded.jsonl", "found.jsonl"].map(|name| {
        let path = folder.join(name);
        path.display().to_string()
    });
    let asked = ["eval", "--run", run_folder, "--tasks", "12", "--record", &record];
    assert_eq!(run(&asked).0, 0);
    let text = std::fs::read_to_string(&record).unwrap();
    let episodes: Vec<Episode> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let look = |path: &str| {
        let forks = ["--forks", "8", "--at-most", "8", "--out", &out, "--episodes", path];
        run(&[&["blame", run_folder][..], &forks].concat())
    };
    let (code, told, stderr) = look(&record);
    assert!(code == 0 && told.contains("adds up"), "{told}{stderr}");
    let found = std::fs::read_to_string(&out).unwrap();
    let found: Vec<Blame> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), episodes.len());
    for (blame, episode) in found.iter().zip(&episodes) {
        assert_eq!(blame.episode, *episode, "as it was recorded");
        assert_eq!(blame.step, None, "the file does not say which step played it");
        let replied = |event: &&Event| matches!(event, Event::Replied { .. });
        let turns: usize = blame.rounds.iter().map(|round| round.turns.len()).sum();
        assert_eq!(turns, episode.events.iter().filter(replied).count());
        assert_eq!(blame.outcome, f64::from(u8::from(episode.solved())));
    }
    // One word of a prompt is another: this is not what the team would have been asked.
    let forged = folder.join("forged.jsonl");
    let planner = text.lines().next().unwrap().replace("planner", "schemer");
    std::fs::write(&forged, planner).unwrap();
    let (code, _, stderr) = look(forged.to_str().unwrap());
    assert!(code == 2 && stderr.contains("is not the stored one"), "{stderr}");
    std::fs::write(&forged, "").unwrap();
    let (code, _, stderr) = look(forged.to_str().unwrap());
    assert!(code == 2 && stderr.contains("there is no recorded episode"), "{stderr}");
}
