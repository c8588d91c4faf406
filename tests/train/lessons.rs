//! What every role of the shipped workflows can learn under tree sampling: what
//! comes of an answer reaches it, in what it earns at once or in what others make
//! of it, and no further.
//!
//! The environment pays what is done, by what it says. Of the answers to one
//! question those of even branches are good and those of odd ones are not; whoever
//! is asked later does what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_core::config::{Config, Grantee, Roles};
use troupe_core::program::RunLimits;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_guests::scenario::Scenario;
use troupe_training::rollout::{Rollout, Setting, collect};

use crate::script::{Asked, Script, team, training_tasks};
use crate::support::sandboxed::library;
use crate::support::scenarios;
use crate::support::{fixture, plugin};

const TASKS: u32 = 2;
const BRANCHES: usize = 4;

/// What a role says, given the end of what it is told and whether this is to be a
/// good answer.
type Says = fn(&str, bool) -> &'static str;

/// A workflow, what its roles say, and what answers of one role are worth.
struct Lesson {
    workflow: &'static str,
    settings: &'static str,
    says: &'static [(&'static str, Says)],
    /// Whose answers are looked at, to which of its questions, and what the good and
    /// the bad ones are worth.
    learns: (&'static str, usize),
    worth: [f64; 2],
}

/// Does what another has said, if that is worth something.
fn follows(told: &str, _: bool) -> &'static str {
    if told.contains("+1 0") { "+1 0 solved" } else { "+0 0 failed" }
}

fn proposes(_: &str, good: bool) -> &'static str {
    if good { "+1 0" } else { "+0 0" }
}

/// Whoever rejects has a wrong solution mended and a right one spoiled.
fn solves_when_criticized(told: &str, _: bool) -> &'static str {
    if told.contains("criticism") { "+1 0 solved" } else { "+0 0 failed" }
}

fn solves_at_once(told: &str, _: bool) -> &'static str {
    if told.contains("criticism") { "+0 0 failed" } else { "+1 0 solved" }
}

const PRINTS: [&str; 2] = ["```python\nprint('+1 0')\n```", "```python\nprint('+0 0')\n```"];

const LESSONS: [Lesson; 14] = [
    Lesson {
        workflow: "solver-verifier",
        settings: "",
        says: &[
            ("solver", |_, good| if good { "+1 0 solved" } else { "+0 0 failed" }),
            ("verifier", |told, _| if told.contains("+1 0") { "accept" } else { "reject" }),
        ],
        learns: ("solver", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "solver-verifier",
        settings: "",
        says: &[
            ("solver", solves_when_criticized),
            ("verifier", |_, good| if good { "reject" } else { "accept" }),
        ],
        learns: ("verifier", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "solver-verifier",
        settings: "",
        says: &[
            ("solver", solves_at_once),
            ("verifier", |_, good| if good { "accept" } else { "reject" }),
        ],
        learns: ("verifier", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "generator-verifier-refiner",
        settings: "",
        says: &[
            ("generator", proposes),
            ("verifier", |told, _| if told.contains("+1 0") { "good" } else { "bad" }),
            (
                "refiner",
                |told, _| if told.ends_with("good") { "+1 0 solved" } else { "+0 0 failed" },
            ),
        ],
        learns: ("generator", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "generator-verifier-refiner",
        settings: "",
        says: &[
            ("generator", |_, _| "anything"),
            ("verifier", |_, good| if good { "good" } else { "bad" }),
            ("refiner", |told, _| if told.ends_with("good") { "+1 0" } else { "+0 0" }),
        ],
        // The second question: the first is settled.
        learns: ("verifier", 1),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "draft-refine",
        settings: "",
        says: &[("drafter", proposes), ("solver", follows)],
        learns: ("drafter", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "tool-planner",
        settings: "",
        says: &[("tool", |_, good| PRINTS[usize::from(!good)]), ("planner", follows)],
        learns: ("tool", 0),
        worth: [1.0, 0.0],
    },
    // To disagree with a tool that is right would be worth nothing, were it not for the next round.
    Lesson {
        workflow: "reasoner-tool",
        settings: "",
        says: &[
            ("reasoner", |told, good| match (told.contains("reasoner:"), good) {
                (true, _) => "+2 0",
                (false, true) => "+0 0",
                (false, false) => "+1 0",
            }),
            ("tool", |_, _| PRINTS[0]),
        ],
        learns: ("reasoner", 0),
        worth: [2.0, 1.0],
    },
    Lesson {
        workflow: "aggregate",
        settings: "",
        says: &[("reasoner", proposes), ("aggregator", follows)],
        learns: ("reasoner", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "debate",
        settings: "",
        says: &[("debater", |told, good| match (told.split("others").nth(1), good) {
            (Some(others), _) if others.contains("+1 0") => "+1 0",
            (Some(others), _) if others.contains("+0 0") => "+0 0",
            (_, true) => "+1 0",
            (_, false) => "+0 0",
        })],
        learns: ("debater", 0),
        worth: [1.0, 0.0],
    },
    // Two workers, who act once each: the plan is worth what both do.
    Lesson {
        workflow: "planner-workers",
        settings: "turns = 1",
        says: &[
            ("planner", |_, good| if good { "earn; earn" } else { "rest; earn" }),
            ("worker", |told, _| if told.ends_with("earn") { "+1 0" } else { "+0 0" }),
        ],
        learns: ("planner", 0),
        worth: [2.0, 1.0],
    },
    // Who has begun may say that it is done, and is worth what is done next.
    Lesson {
        workflow: "planner-workers",
        settings: "workers = 1",
        says: &[
            ("planner", |told, _| if told.contains(" 0 level") { "begin" } else { "earn" }),
            ("worker", |told, good| {
                match (told.ends_with("earn"), told.contains(" 0 level"), good) {
                    (true, ..) => "+2 0 solved",
                    (false, true, _) => "+0 0",
                    (false, false, true) => "done",
                    (false, false, false) => "+0.5 0",
                }
            }),
        ],
        learns: ("worker", 1),
        worth: [2.0, 0.5],
    },
    Lesson {
        workflow: "designer",
        settings: "",
        says: &[
            ("designer", |_, good| match good {
                true => r#"{"team": [{"name": "a", "task": "+1 0"}], "order": ["a"]}"#,
                false => r#"{"team": [{"name": "a", "task": "rest"}], "order": ["a"]}"#,
            }),
            ("executor", follows),
        ],
        learns: ("designer", 0),
        worth: [1.0, 0.0],
    },
    Lesson {
        workflow: "designer",
        settings: "",
        says: &[
            (
                "designer",
                |_, _| r#"{"team": [{"name": "a", "task": ""}, {"name": "b", "task": ""}], "order": ["a", "b"]}"#,
            ),
            ("executor", |told, good| match (told.split("before").nth(1), good) {
                (Some(before), _) if before.contains("+1 0") => "+1 0",
                (Some(before), _) if before.contains("+0 0") => "+0 0",
                (_, good) => proposes("", good),
            }),
        ],
        learns: ("executor", 0),
        worth: [1.0, 0.0],
    },
];

impl Lesson {
    /// Environment and workflow, which may run programs.
    fn scenario(&self) -> Scenario {
        let files = ["ledger-environment", self.workflow];
        let library = library(&files, &[self.workflow], RunLimits::default());
        let environment = library.environment(None).unwrap();
        let workflow = library.workflow(Some(self.workflow), environment).unwrap();
        scenarios::scenario(environment, "", &workflow, self.settings)
    }

    fn play(&self) -> Rollout {
        let mut config = Config::default();
        config.plugins.files = vec![fixture("ledger-environment"), plugin(self.workflow)];
        config.sandbox.grant = vec![Grantee::named(self.workflow)];
        config.workflow = self.settings.parse().unwrap();
        config.roles = Roles::PerRole;
        config.rollout.max_turns = 6;
        config.rollout.branches = BRANCHES;
        let script = |says: Says| {
            Script::new(move |asked: &Asked| {
                says(asked.told.last().unwrap(), asked.branch.is_multiple_of(2))
            })
        };
        let players: BTreeMap<&str, Arc<Script>> =
            self.says.iter().map(|&(role, says)| (role, script(says))).collect();
        let seats: Vec<(&str, &Arc<Script>)> =
            players.iter().map(|(role, script)| (*role, script)).collect();
        let mut team = team(&config, &seats);
        team.families[0].scenario = Arc::new(Scenario { max_turns: 6, ..self.scenario() });
        let tasks = training_tasks(&team, TASKS, Seed::new(11));
        collect(&Setting::of(&team.role_map, &config), &team.policies, &tasks).unwrap()
    }
}

#[test]
fn good_answers_of_every_role_are_worth_more_than_bad_ones_to_the_same_question() {
    for lesson in &LESSONS {
        let (role, turn) = lesson.learns;
        let name = format!("`{role}` of `{}`, question {turn}", lesson.workflow);
        let rollout = lesson.play();
        let is_void = |episode: &troupe_core::trajectory::Episode| episode.is_void();
        assert!(!rollout.episodes.iter().any(is_void), "{name}: {:?}", rollout.episodes);
        let own: Vec<&Sample> = rollout
            .samples
            .iter()
            .filter(|sample| sample.role == role && sample.turn == turn && sample.instance == 0)
            .collect();
        assert!(own.len() >= BRANCHES, "{name}: {} answers", own.len());
        for sample in own {
            let expected = lesson.worth[sample.branch % 2];
            let text = &sample.completion.text;
            assert_eq!(sample.reward.total(1.0), expected, "{name}: `{text}`");
        }
    }
}
