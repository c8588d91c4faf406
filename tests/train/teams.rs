//! The shipped workflows, each beside an environment, with scripted players who
//! say who they are told to be: who is asked when, what they are told, and what
//! becomes of what they say.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::config::{Config, Grantee, RoleConfig, Roles, SamplingScheme};
use troupe_core::program::RunLimits;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Ending, Event};
use troupe_guests::plugin::Split;
use troupe_guests::scenario::{Answer, Next, Scenario, Transition};
use troupe_training::family::scenario_of;
use troupe_training::rollout::{Rollout, Setting, collect};

use crate::script::{Asked, Script, team, training_tasks};
use crate::support::plugin;
use crate::support::sandboxed::library;
use crate::support::scenarios;

const TASKS: u32 = 3;
const BRANCHES: usize = 2;

/// Finds the way on the map that it reads, and prints its first moves.
const SEARCH: &str = r##"
import sys
rows, here, goal = [], None, None
for line in sys.stdin.read().splitlines():
    cells = line.split()
    if cells and set(cells) <= set(".#@G"):
        rows.append(cells)
for y, row in enumerate(rows):
    for x, cell in enumerate(row):
        if cell == "@": here = (y, x)
        if cell == "G": goal = (y, x)
steps = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
ways, seen = [(here, [])], {here}
while ways:
    (y, x), way = ways.pop(0)
    if (y, x) == goal: break
    for name, (dy, dx) in steps.items():
        ny, nx = y + dy, x + dx
        if 0 <= ny < len(rows) and 0 <= nx < len(rows) and rows[ny][nx] != "#" and (ny, nx) not in seen:
            seen.add((ny, nx))
            ways.append(((ny, nx), way + [name]))
print(" ".join(way[:3]))
"##;

/// A workflow, its environment, and what each role says.
struct Case {
    workflow: &'static str,
    environment: &'static str,
    settings: &'static str,
    lines: &'static [(&'static str, &'static str)],
}

const PROGRAM: &str = "A program:\n```python\nprint('D')\n```";

/// Every shipped workflow that plays beside `plan-path`.
const CASES: [Case; 12] = [
    case("solo", "", &[("player", "D")]),
    case("planner-executor", "", &[("planner", "D"), ("executor", "R")]),
    case("draft-refine", "", &[("drafter", "D"), ("solver", "R")]),
    case("judged", "judges = 2", &[("player", "D"), ("judge", "good")]),
    case("tool-planner", "", &[("tool", PROGRAM), ("planner", "R")]),
    case("reasoner-tool", "", &[("reasoner", "D"), ("tool", PROGRAM)]),
    case("reasoner-tool", "rounds = 2", &[("reasoner", "R"), ("tool", PROGRAM)]),
    case(
        "aggregate",
        "reasoners = 2\ntools = 2",
        &[("reasoner", "D"), ("tool", PROGRAM), ("aggregator", "R")],
    ),
    case("debate", "debaters = 3", &[("debater", "D")]),
    case("solver-verifier", "", &[("solver", "D"), ("verifier", "reject")]),
    case(
        "generator-verifier-refiner",
        "",
        &[("generator", "D"), ("verifier", "bad"), ("refiner", "R")],
    ),
    case("planner-workers", "", &[("planner", "D\nR"), ("worker", "D")]),
];

const fn case(
    workflow: &'static str,
    settings: &'static str,
    lines: &'static [(&'static str, &'static str)],
) -> Case {
    Case { workflow, environment: "plan-path", settings, lines }
}

impl Case {
    fn config(&self) -> Config {
        let mut config = Config::default();
        config.plugins.files = [self.environment, self.workflow].map(plugin).to_vec();
        config.sandbox.grant = vec![Grantee::named(self.workflow)];
        config.workflow = self.settings.parse().unwrap();
        config.roles = Roles::PerRole;
        config.rollout.max_turns = 2;
        config.rollout.branches = BRANCHES;
        config
    }

    /// Environment and workflow, which may run programs.
    fn scenario(&self, environment: &str) -> Scenario {
        let files = [self.environment, self.workflow];
        let library = library(&files, &[self.workflow], RunLimits::default());
        let of = library.environment(None).unwrap();
        let workflow = library.workflow(Some(self.workflow), of).unwrap();
        scenarios::scenario(of, environment, &workflow, self.settings)
    }

    fn players(&self) -> BTreeMap<&'static str, Arc<Script>> {
        let script =
            |&(role, line): &(&'static str, &'static str)| (role, Script::new(move |_| line));
        self.lines.iter().map(script).collect()
    }
}

fn play(
    case: &Case,
    scheme: SamplingScheme,
    players: &BTreeMap<&'static str, Arc<Script>>,
) -> Rollout {
    let mut config = case.config();
    config.rollout.scheme = scheme;
    let seats: Vec<(&str, &Arc<Script>)> =
        players.iter().map(|(role, script)| (*role, script)).collect();
    let mut team = team(&config, &seats);
    let scenario = Scenario { max_turns: config.rollout.max_turns, ..case.scenario("") };
    team.families[0].scenario = Arc::new(scenario);
    let tasks = training_tasks(&team, TASKS, Seed::new(7));
    collect(&Setting::of(&team.role_map, &config), &team.policies, &tasks).unwrap()
}

#[test]
fn every_workflow_plays_through_in_tree_and_in_trajectory_sampling() {
    for case in &CASES {
        for sampling in [SamplingScheme::Tree, SamplingScheme::Trajectory] {
            let rollout = play(case, sampling, &case.players());
            let name = case.workflow;
            for episode in &rollout.episodes {
                assert!(!matches!(episode.ending, Ending::Void { .. }), "{name}: {episode:?}");
            }
            for (role, _) in case.lines {
                let own = rollout.samples.iter().filter(|sample| sample.role == *role).count();
                let least = TASKS as usize * BRANCHES;
                assert!(own >= least, "{name}: {own} samples of `{role}`");
            }
        }
    }
}

#[test]
fn a_fork_of_every_workflow_by_replay_is_a_fork_by_save_and_resume() {
    for case in &CASES {
        let scenario = case.scenario("");
        let mut now = scenario.begin(Split::Train, 3).unwrap();
        for round in 0..4 {
            let Next::Asked(position) = &now.next else { break };
            let line = |role: &str| case.lines.iter().find(|(own, _)| *own == role).unwrap().1;
            let answers: Vec<Answer> = position
                .due
                .iter()
                .map(|due| Answer { text: line(due.role()), complete: true, forced: false })
                .collect();
            let resumed = scenario.answer(position, &answers).unwrap();
            let replayed = scenario.answer(&position.as_replay(), &answers).unwrap();
            assert_eq!(shown(&resumed), shown(&replayed), "{}, round {round}", case.workflow);
            now = resumed;
        }
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

/// Plays a task, each role saying what a function makes of the last message to
/// it; the first message is the rules. What was said and done, in order.
fn transcript(
    scenario: &Scenario,
    say: impl Fn(&str, &str) -> String,
    rounds: usize,
) -> Vec<String> {
    let mut now = scenario.begin(Split::Train, 3).unwrap();
    let mut lines = Vec::new();
    for _ in 0..rounds {
        lines.extend(now.events.iter().filter_map(|event| match event {
            Event::Acted { action, .. } => Some(format!("does {} {}", action.kind, action.text)),
            Event::Called { role, tool, .. } => Some(format!("{role} calls {tool}")),
            _ => None,
        }));
        let Next::Asked(position) = &now.next else { break };
        let texts: Vec<String> = position
            .due
            .iter()
            .map(|due| say(&due.request.seat.to_string(), &due.messages.last().unwrap().text))
            .collect();
        let seats = position.due.iter().map(|due| due.request.seat.to_string());
        lines.extend(seats.zip(&texts).map(|(seat, text)| format!("{seat} says {text}")));
        let answers: Vec<Answer> =
            texts.iter().map(|text| Answer { text, complete: true, forced: false }).collect();
        now = scenario.answer(position, &answers).unwrap();
    }
    lines
}

fn scenario(workflow: &'static str, settings: &'static str) -> Scenario {
    case(workflow, settings, &[]).scenario("")
}

/// What stands behind a word of a message.
fn behind<'m>(message: &'m str, word: &str) -> Option<&'m str> {
    message.split_once(&format!(" {word} ")).map(|(_, rest)| rest)
}

#[test]
fn a_solver_sees_the_draft_and_only_the_solver_acts() {
    let said = transcript(
        &scenario("draft-refine", ""),
        |seat, told| match seat {
            "drafter" => "D D".to_owned(),
            _ => {
                format!("Rather\n{}", behind(told, "draft").unwrap_or("nothing").replace('D', "R"))
            }
        },
        3,
    );
    assert_eq!(
        said[..4],
        ["drafter says D D", "does plan D D", "solver says Rather\nR R", "does moves Rather\nR R"]
    );
}

#[test]
fn a_verifier_that_rejects_sends_the_solver_back_with_its_criticism() {
    let said = transcript(
        &scenario("solver-verifier", "rounds = 2"),
        |seat, told| match (seat, behind(told, "criticism")) {
            ("solver", None) => "L".to_owned(),
            ("solver", Some(criticism)) => format!("R # {criticism}"),
            (_, _) if behind(told, "solution") == Some("L") => "reject the wall".to_owned(),
            _ => "reject again".to_owned(),
        },
        5,
    );
    let acts: Vec<&String> = said.iter().filter(|line| line.starts_with("does moves ")).collect();
    assert_eq!(acts, ["does moves R # L reject the wall"], "{said:?}");
}

#[test]
fn a_reasoner_and_a_tool_that_disagree_are_told_so_and_agreement_ends_it() {
    let program = |what: &str| format!("```python\nprint('{what}')\n```");
    let said = transcript(
        &scenario("reasoner-tool", "rounds = 3"),
        |seat, told| match (seat, told.contains("reasoner: D tool: R")) {
            ("reasoner", _) => "D".to_owned(),
            (_, false) => program("R"),
            (_, true) => program("D"),
        },
        3,
    );
    let ran = said.iter().filter(|line| *line == "tool calls run").count();
    let first = said.iter().position(|line| line == "does moves D");
    assert!(ran >= 2 && first.is_some(), "{said:?}");
    let before = said[..first.unwrap()].iter().filter(|line| *line == "tool calls run").count();
    assert_eq!(before, 2, "{said:?}");
    assert!(said.contains(&"does plan R".to_owned()), "{said:?}");
    let last = transcript(
        &scenario("reasoner-tool", "rounds = 1"),
        |seat, _| if seat == "reasoner" { "D".to_owned() } else { program("R") },
        2,
    );
    let acts: Vec<&String> = last.iter().filter(|it| it.starts_with("does moves ")).collect();
    assert_eq!(acts[0], "does moves D", "after the last round it is the reasoner's answer");
}

#[test]
fn an_aggregator_is_told_every_proposal_in_the_order_of_the_seats() {
    let program = "```python\nimport sys; print('U' if 'row' in sys.stdin.read() else 'none')\n```";
    let said = transcript(
        &scenario("aggregate", "reasoners = 2\ntools = 1"),
        |seat, told| match seat {
            "reasoner" => "D".to_owned(),
            "reasoner 2" => "R".to_owned(),
            "tool" => program.to_owned(),
            _ => format!("L # {}", behind(told, "proposals").unwrap()),
        },
        2,
    );
    assert!(said.contains(&"aggregator says L # D | R | U".to_owned()), "{said:?}");
    assert!(said.contains(&"does plan U".to_owned()), "{said:?}");
}

#[test]
fn every_proposal_is_scored_for_the_seat_that_made_it() {
    let scenario = scenario("aggregate", "reasoners = 2\ntools = 1");
    let program = |what: &str| format!("```python\nprint('{what}')\n```");
    for nonsense in 0..3 {
        let said = |seat: usize| if seat == nonsense { "nowhere" } else { "D" };
        let texts = [said(0).to_owned(), said(1).to_owned(), program(said(2))];
        let Next::Asked(position) = scenario.begin(Split::Train, 3).unwrap().next else { panic!() };
        let answers: Vec<Answer> =
            texts.iter().map(|text| Answer { text, complete: true, forced: false }).collect();
        let rewards = scenario.answer(&position, &answers).unwrap().rewards;
        let unreadable = |seat: usize| rewards[seat].parts.contains_key("unreadable");
        assert_eq!([0, 1, 2].map(unreadable), [0, 1, 2].map(|seat| seat == nonsense));
    }
}

#[test]
fn what_most_debaters_say_in_the_last_round_is_done() {
    let said = transcript(
        &scenario("debate", "debaters = 3\nrounds = 2"),
        |seat, told| match (seat, behind(told, "others")) {
            ("debater", _) => "U".to_owned(),
            ("debater 2", None) => "L".to_owned(),
            ("debater 2", Some(others)) => {
                assert_eq!(others, "U | D", "what the other two said, in their order");
                "So\nR".to_owned()
            }
            (_, None) => "D".to_owned(),
            (_, Some(_)) => "R".to_owned(),
        },
        3,
    );
    let act = said.iter().find(|line| line.starts_with("does moves ")).map(String::as_str);
    assert_eq!(act, Some("does moves So\nR"), "{said:?}");
}

#[test]
fn every_instruction_is_carried_out_by_a_worker_in_a_conversation_of_its_own() {
    let players = BTreeMap::from([
        ("planner", Script::new(|_| "go down\ngo right\ngo up")),
        (
            "worker",
            Script::new(|asked: &Asked| {
                let told = asked.told.last().unwrap();
                if told.ends_with("instruction go down") { "D" } else { "R" }
            }),
        ),
    ]);
    let case = case("planner-workers", "workers = 2\nturns = 2", &[]);
    let rollout = play(&case, SamplingScheme::Tree, &players);
    let told: Vec<String> =
        players["worker"].take_asked().into_iter().map(|it| it.told[1].clone()).collect();
    assert!(told.iter().any(|it| it.ends_with("instruction go down")));
    assert!(told.iter().any(|it| it.ends_with("instruction go right")));
    assert!(!told.iter().any(|it| it.ends_with("instruction go up")), "one more than two");
    let planner: Vec<_> =
        rollout.samples.iter().filter(|sample| sample.role == "planner").collect();
    let worker: Vec<_> = rollout.samples.iter().filter(|sample| sample.role == "worker").collect();
    assert!(planner.iter().all(|sample| sample.thread.is_empty() && sample.caller.is_none()));
    for sample in &worker {
        let caller = &rollout.samples[sample.caller.unwrap()];
        let number: usize = sample.thread.strip_prefix("worker-").unwrap().parse().unwrap();
        assert_eq!((caller.role.as_str(), caller.task), ("planner", sample.task));
        assert_eq!(caller.turn, number / 2, "two workers a plan: {}", sample.thread);
    }
    assert!(worker.iter().any(|sample| sample.thread == "worker-3"), "of the second plan");
    assert!(["worker-0", "worker-1"].iter().all(|it| worker.iter().any(|s| s.thread == *it)));
}

#[test]
fn a_tool_that_searches_and_a_planner_that_follows_it_reach_the_goal() {
    let scenario = case("tool-planner", "", &[]).scenario("observation = \"map\"");
    for task in 0..4 {
        let mut now = scenario.begin(Split::Test, task).unwrap();
        let ending = loop {
            let position = match now.next {
                Next::Ended(ending) => break ending,
                Next::Asked(position) => position,
            };
            let due = &position.due[0];
            let told = &due.messages.last().unwrap().text;
            let text = match due.role() {
                "tool" => format!("I search.\n```python\n{SEARCH}```"),
                _ => behind(told, "proposal").unwrap().to_owned(),
            };
            now = scenario
                .answer(&position, &[Answer { text: &text, complete: true, forced: false }])
                .unwrap();
        };
        assert_eq!(ending, Ending::Solved, "task {task}");
    }
}

#[test]
fn a_workflow_that_runs_programs_says_how_that_is_granted() {
    let mut config = case("tool-planner", "", &[]).config();
    config.sandbox.grant.clear();
    let failure = scenario_of(&config, None).unwrap().begin(Split::Train, 0).err().unwrap();
    assert!(failure.to_string().contains("`--grant tool-planner=sandbox`"), "{failure}");
}

#[test]
fn a_config_overrides_what_a_role_is_told() {
    let settings = "planner_message = \"where to, {observation}?\"\nplanner_task = \"Think.\"";
    let told = |settings| {
        let scenario = scenario("planner-executor", settings);
        let Next::Asked(position) = scenario.begin(Split::Train, 3).unwrap().next else { panic!() };
        position.due[0].messages.iter().map(|it| it.text.clone()).collect::<Vec<_>>()
    };
    let own = told(settings);
    assert!(own[0].contains("Think. You may think first."), "{}", own[0]);
    assert!(own[1].starts_with("where to, row") && own[1].ends_with('?'), "{}", own[1]);
    assert!(told("")[1].starts_with("planner row"));
    let config = case("planner-executor", "planner_message = \"{goal}\"", &[]).config();
    let refused = scenario_of(&config, None).err().unwrap().to_string();
    assert!(refused.contains("`planner_message` has the field `{goal}`"), "{refused}");
}

#[test]
fn a_workflow_is_told_the_least_of_the_limits_that_hold_for_its_roles() {
    let settings = "planner_message = \"{turns_left}\"";
    let told = |limits: &[(&str, usize)]| {
        let mut config = case("planner-executor", settings, &[]).config();
        config.rollout.max_turns = 10;
        let limited = |&(role, turns): &(&str, usize)| {
            (role.to_owned(), RoleConfig { max_turns: Some(turns), ..RoleConfig::default() })
        };
        config.roles = Roles::Table(limits.iter().map(limited).collect());
        let scenario = scenario_of(&config, None).unwrap();
        let Next::Asked(position) = scenario.begin(Split::Train, 3).unwrap().next else { panic!() };
        position.due[0].messages.last().unwrap().text.clone()
    };
    assert_eq!(told(&[]), "10");
    assert_eq!(told(&[("planner", 20)]), "10", "the executor's is the common one");
    assert_eq!(told(&[("executor", 3)]), "3");
    assert_eq!(told(&[("planner", 20), ("executor", 15)]), "15", "the common one holds for nobody");
}
