//! What a scope is: tasks from a seed on, and settings that go together; and how a fault that was
//! found in one is found again.

use std::time::Duration;

use plugin_sdk::environment::{self, Action, Environment, Outcome, Problem, Seat, Task};
use plugin_sdk::testing::{Hunt, Native, Scope, Verdict, kinds_beside};
use plugin_sdk::types::{ActionKind, Configured};
use plugin_sdk::workflow::{self, Briefing, Event, Request, Step, Workflow, seen_by};
use plugin_sdk::{Kinds, Setting, Settings};
use serde::{Deserialize, Serialize};

const SOUND: u8 = 0;
const STICKS_LATE: u8 = 1;
const BREAKS_LATE: u8 = 2;
const FALLS_OVER_LOCKS: u8 = 3;

/// The first task that is late.
const LATE: u32 = 81;
const SIDES: [&str; 2] = ["left", "right"];

/// A door that opens to `open`, and one of the faults above.
#[derive(Serialize, Deserialize)]
struct Door<const FAULT: u8> {
    name: String,
    is_stuck: bool,
}

impl<const FAULT: u8> Environment for Door<FAULT> {
    fn describe() -> environment::Description {
        environment::Description::new("door", "1.0.0", "Open the door.")
            .setting(Setting::integer("locks", "Locks of the door.", 0..=3, 0))
            .setting(Setting::integer("keys", "Keys that are at hand.", 0..=3, 0))
            .setting(Setting::flag("pair", "Whether it takes two.", false))
            .action("say", "`open`")
    }

    fn configure(settings: &[Configured]) -> Result<environment::Configuration, Problem> {
        let (locks, keys): (i32, i32) = (settings.integer("locks")?, settings.integer("keys")?);
        if locks > keys {
            return Err(Problem::settings("a lock has no key"));
        }
        if FAULT == FALLS_OVER_LOCKS && locks > 0 {
            return Err(Problem::internal("what is a lock?"));
        }
        let configuration = environment::Configuration::default();
        Ok(match settings.flag("pair")? {
            true => configuration.seats(&SIDES.map(Seat::new)),
            false => configuration,
        })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let is_there = |side: &&str| task.seats.contains(&Seat::new(side));
        if task.settings.flag("pair")? && !SIDES.iter().all(is_there) {
            return Err(Problem::settings("one of the two is missing"));
        }
        let is_late = task.seed >= LATE;
        if FAULT == BREAKS_LATE && is_late {
            return Err(Problem::internal("the door is broken"));
        }
        let name = format!("{} {}", task.split.name(), task.seed);
        Ok(Door { name, is_stuck: FAULT == STICKS_LATE && is_late })
    }

    fn rules(&self, _seat: &Seat) -> String {
        "Open the door.".to_owned()
    }

    fn observe(&self, _seat: &Seat) -> String {
        self.name.clone()
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        Ok(match action.text.as_str() {
            "open" if self.is_stuck => Outcome::accepted().failed(),
            "open" => Outcome::accepted().team("opened", 1.0).solved(),
            _ => Outcome::rejected("Say `open`."),
        })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(Action::new("say", "open"))
    }
}

/// Who replays a fault begins with the first task, and has no time.
fn of_whoever_replays() -> Scope {
    Scope { tasks: 2, budget: Some(Duration::ZERO), ..Scope::default() }
}

#[test]
fn what_shows_in_late_tasks_alone_shows_again_when_it_is_replayed() {
    let door = Native::<Door<STICKS_LATE>>::default();
    let report = Scope { tasks: 2, from: 80, ..Scope::default() }.check_environment(&door);
    let found = report.finding("expert").unwrap_or_else(|| panic!("{report}"));
    let seen = found.reproducer.as_ref().unwrap_or_else(|| panic!("{report}"));
    assert_eq!((found.verdict, seen.seed, seen.from), (Verdict::Failed, LATE, 80), "{report}");
    let again = of_whoever_replays().replay(&door, "expert", seen).expect("a known check");
    assert_eq!(again.verdict, Verdict::Failed, "{again}");
    let early = Scope { tasks: 2, ..Scope::default() }.check_environment(&door);
    assert_eq!(early.finding("expert").map(|it| it.verdict), Some(Verdict::Passed), "{early}");
}

#[test]
fn what_keeps_a_hunt_from_beginning_is_found_by_a_check_that_can_be_repeated() {
    let door = Native::<Door<BREAKS_LATE>>::default();
    let scope = Scope { tasks: 2, from: 80, ..Scope::default() };
    let report = scope.hunt(&door, Hunt::default(), &|_, _, _| {});
    let [found] = &report.findings[..] else { panic!("{report}") };
    let seen = found.reproducer.as_ref().unwrap_or_else(|| panic!("{report}"));
    let again = of_whoever_replays().replay(&door, found.check, seen).expect("a known check");
    assert_eq!(again.verdict, Verdict::Failed, "{again}");
}

#[test]
fn settings_suit_an_environment_unless_it_refuses_them_and_whatever_else_is_wrong() {
    fn suits<const FAULT: u8>(scope: &Scope) -> bool {
        scope.suits_environment(&Native::<Door<FAULT>>::default())
    }
    let locked = |keys: i32| Scope::default().with("locks", 2).with("keys", keys);
    assert!(suits::<SOUND>(&locked(2)) && !suits::<SOUND>(&locked(1)));
    // It is begun with the seats that it names.
    assert!(suits::<SOUND>(&Scope::default().with("pair", true)));
    assert!(suits::<FALLS_OVER_LOCKS>(&locked(2)), "a check finds that");
}

/// One who answers for so many rounds, some of them aloud, and acts as it is set to.
#[derive(Serialize, Deserialize)]
struct Player(Kinds);

impl Workflow for Player {
    fn describe() -> workflow::Description {
        workflow::Description::new("player", "1.0.0", "One acts.")
            .setting(Kinds::setting())
            .setting(Setting::integer("rounds", "Rounds.", 1..=9, 1))
            .setting(Setting::integer("aloud", "Rounds aloud.", 0..=9, 0))
    }

    fn configure(
        settings: &[Configured],
        environment: &[ActionKind],
    ) -> Result<workflow::Configuration, Problem> {
        Kinds::choose(settings, environment)?;
        let (rounds, aloud): (i32, i32) = (settings.integer("rounds")?, settings.integer("aloud")?);
        if aloud == 9 {
            return Err(Problem::internal("that is too loud"));
        }
        if aloud > rounds {
            return Err(Problem::settings("there are not so many rounds"));
        }
        Ok(workflow::Configuration::default().role("player", "Acts."))
    }

    fn start(briefing: &Briefing) -> Result<Self, Problem> {
        Ok(Player(Kinds::choose(&briefing.settings, &briefing.actions)?))
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        let ask = |seen: String| Step::ask(Request::new("player").user(seen));
        match event {
            Event::Begun(views) => Ok(ask(seen_by(&views, &Seat::new("player")))),
            Event::Replied(reply) => Ok(self.0.act("player", reply.answer())),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) => Ok(ask(seen.seen_by(&Seat::new("player")))),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }
}

#[test]
fn settings_suit_a_workflow_unless_it_refuses_them_and_whatever_else_is_wrong() {
    let suits = |aloud: i32| {
        let scope = Scope::default().with("rounds", 3).with("aloud", aloud);
        scope.suits_workflow(&Native::<Player>::default())
    };
    assert!(suits(3) && !suits(4));
    assert!(suits(9), "a check finds that");
}

#[test]
fn a_workflow_is_offered_the_kind_of_action_that_it_is_set_to_send() {
    let scope = Scope::default().with("kind", "moves");
    let report = scope.check_workflow(&Native::<Player>::default());
    for check in ["configure", "rehearsal"] {
        assert_eq!(report.finding(check).map(|it| it.verdict), Some(Verdict::Passed), "{report}");
    }
    let named = |kind: &str| {
        let settings = [Configured { name: "kind".to_owned(), value: kind.into() }];
        let kinds = kinds_beside(&Player::describe(), &settings);
        kinds.into_iter().map(|kind| kind.name).collect::<Vec<_>>()
    };
    assert_eq!(named(""), ["answer"]);
    assert_eq!(named("answer"), ["answer"]);
    assert_eq!(named("moves"), ["answer", "moves"]);
}
