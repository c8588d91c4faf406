//! The conformance suite passes a sound plugin and names the fault of each
//! faulty one.

use std::sync::atomic::{AtomicU32, Ordering};

use plugin_sdk::environment::Recipient;
use plugin_sdk::environment::{
    self, Action, ActionKind, Configured, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::testing::{Report, Verdict, check_environment, check_workflow};
use plugin_sdk::workflow::{self, Briefing, Event, Move, Request, Step, Workflow, seen_by};
use plugin_sdk::{Random, Setting, Settings, state};
use serde::{Deserialize, Serialize};

const SOUND: u8 = 0;
const EARNS_BY_LOOPS: u8 = 1;
const PAYS_FOR_LOITERING: u8 = 2;
const HIDES_STATE: u8 = 3;
const FORGETS_STATE: u8 = 4;
const PAYS_A_GHOST: u8 = 5;
const PAYS_INFINITY: u8 = 6;
const STOPS_AT_GARBAGE: u8 = 7;
const MISLEADS: u8 = 8;
const SHARES_TASKS: u8 = 9;
const KEEPS_WORDS_BACK: u8 = 10;
const SAVES_NOTHING: u8 = 11;
const IS_MISNAMED: u8 = 12;
const HAS_NO_TURNS: u8 = 13;
const REVEALS_A_FOREIGN_WORD: u8 = 14;
const REVEALS_WHAT_IS_NOT_SAVED: u8 = 15;
const CHANGES_WHEN_IT_REVEALS: u8 = 16;

/// A corridor of cells with the way out at the end, and one of the faults above.
#[derive(Serialize, Deserialize)]
struct Corridor<const FAULT: u8> {
    length: usize,
    here: usize,
    name: String,
    #[serde(skip)]
    actions: u32,
    #[serde(skip)]
    looks: AtomicU32,
}

static HIDDEN: AtomicU32 = AtomicU32::new(0);

impl<const FAULT: u8> Environment for Corridor<FAULT> {
    fn describe() -> environment::Description {
        let name = if FAULT == IS_MISNAMED { "Corridor" } else { "corridor" };
        environment::Description::new(name, "1.0.0", "Leave the corridor.")
            .setting(Setting::integer("length", "Cells of the corridor.", 2..=9, 9))
            .action("step", "`on` or `back`")
    }

    fn configure(_settings: &[Configured]) -> Result<environment::Configuration, Problem> {
        let digits = if FAULT == KEEPS_WORDS_BACK { 0..4 } else { 0..10 };
        let names = digits.flat_map(|digit| [format!("{digit}"), format!("name{digit}")]);
        let words = ["on", "back"].map(str::to_owned).into_iter().chain(names).collect();
        let turns = if FAULT == HAS_NO_TURNS { 0 } else { 9 };
        Ok(environment::Configuration::default().vocabulary(words).max_turns(turns))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let split = if FAULT == SHARES_TASKS { environment::Split::Train } else { task.split };
        let mut random = Random::new(split, task.seed, "name");
        let name = loop {
            let name: String = (0..6).map(|_| format!(" name{}", random.below(10))).collect();
            if environment::Split::owning(name.as_bytes()) == split {
                break name;
            }
        };
        Ok(Corridor {
            length: task.settings.integer("length")?,
            here: 0,
            name,
            actions: 0,
            looks: AtomicU32::new(0),
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        "Go on until you are out.".to_owned()
    }

    fn observe(&self, _seat: &Seat) -> String {
        let shown = match FAULT {
            HIDES_STATE => HIDDEN.fetch_add(1, Ordering::Relaxed) as usize % 7,
            FORGETS_STATE => self.actions as usize % 10,
            CHANGES_WHEN_IT_REVEALS => self.here + self.looks.load(Ordering::Relaxed) as usize % 7,
            _ => self.here,
        };
        format!("{shown}{}", self.name)
    }

    fn act(&mut self, _seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        self.actions += 1;
        let before = self.here;
        match action.text.as_str() {
            "on" => self.here += 1,
            "back" => self.here = self.here.saturating_sub(1),
            text if FAULT == STOPS_AT_GARBAGE => {
                return Err(Problem::internal(format!("cannot read {text}")));
            }
            _ => return Ok(Outcome::rejected("Say `on` or `back`.").local("unreadable", -0.1)),
        }
        let mut outcome = Outcome::accepted().team("progress", self.here as f64 - before as f64);
        match FAULT {
            EARNS_BY_LOOPS => outcome = outcome.local("busy", 0.1),
            PAYS_FOR_LOITERING if self.here < before => outcome = outcome.local("rest", 9.0),
            PAYS_A_GHOST => outcome = outcome.award(Recipient::Mover(1), "ghost", 0.5),
            PAYS_INFINITY => outcome = outcome.team("much", f64::INFINITY),
            _ => {}
        }
        Ok(if self.here == self.length { outcome.solved() } else { outcome })
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let word = if FAULT == MISLEADS && self.here == 2 { "back" } else { "on" };
        Some(Action::new("step", word))
    }

    fn reveal(&self) -> Option<String> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let word = match FAULT {
            REVEALS_A_FOREIGN_WORD => "forward",
            REVEALS_WHAT_IS_NOT_SAVED if self.actions > 0 => "back",
            _ => "on",
        };
        Some(vec![word; self.length - self.here].join(" "))
    }

    fn save(&self) -> Option<Vec<u8>> {
        if FAULT == SAVES_NOTHING { None } else { state::save(self) }
    }
}

fn verdict(report: &Report, check: &str) -> Verdict {
    report.finding(check).unwrap_or_else(|| panic!("no check `{check}` in\n{report}")).verdict
}

fn faults(report: &Report) -> Vec<&str> {
    let failed = report.findings.iter().filter(|finding| finding.verdict == Verdict::Failed);
    failed.map(|finding| finding.check).collect()
}

#[test]
fn a_sound_environment_passes_every_check() {
    let report = check_environment::<Corridor<SOUND>>();
    assert!(report.findings.iter().all(|finding| finding.verdict == Verdict::Passed), "{report}");
}

#[test]
fn what_no_host_would_load_does_not_pass() {
    let misnamed = check_environment::<Corridor<IS_MISNAMED>>();
    assert_eq!(faults(&misnamed), ["description"], "{misnamed}");
    let endless = check_environment::<Corridor<HAS_NO_TURNS>>();
    assert_eq!(faults(&endless), ["start"], "{endless}");
    assert!(endless.to_string().contains("max-turns is 0, not 1 to 10000"), "{endless}");
}

#[test]
fn the_fault_of_an_environment_is_found() {
    let looping = check_environment::<Corridor<EARNS_BY_LOOPS>>();
    assert_eq!(faults(&looping), ["loops"], "{looping}");
    let loitering = check_environment::<Corridor<PAYS_FOR_LOITERING>>();
    assert_eq!(faults(&loitering), ["loops", "loitering"], "{loitering}");
    let forgetful = check_environment::<Corridor<FORGETS_STATE>>();
    assert_eq!(faults(&forgetful), ["resume"], "{forgetful}");
    let misnamed = check_environment::<Corridor<PAYS_A_GHOST>>();
    assert!(faults(&misnamed).contains(&"rewards"), "{misnamed}");
    let infinite = check_environment::<Corridor<PAYS_INFINITY>>();
    assert!(faults(&infinite).contains(&"rewards"), "{infinite}");
    let misleading = check_environment::<Corridor<MISLEADS>>();
    assert_eq!(faults(&misleading), ["expert"], "{misleading}");
    let shared = check_environment::<Corridor<SHARES_TASKS>>();
    assert_eq!(faults(&shared), ["splits"], "{shared}");
    let terse = check_environment::<Corridor<KEEPS_WORDS_BACK>>();
    assert_eq!(faults(&terse), ["vocabulary", "settings"], "{terse}");
}

#[test]
fn what_a_critic_sees_follows_from_the_state_in_the_words_of_the_vocabulary() {
    let foreign = check_environment::<Corridor<REVEALS_A_FOREIGN_WORD>>();
    assert_eq!(faults(&foreign), ["vocabulary", "settings"], "{foreign}");
    let forgetful = check_environment::<Corridor<REVEALS_WHAT_IS_NOT_SAVED>>();
    assert_eq!(faults(&forgetful), ["resume"], "{forgetful}");
    let fickle = check_environment::<Corridor<CHANGES_WHEN_IT_REVEALS>>();
    assert_eq!(verdict(&fickle, "pure"), Verdict::Failed, "{fickle}");
}

#[test]
fn hidden_state_is_found() {
    let report = check_environment::<Corridor<HIDES_STATE>>();
    assert_eq!(verdict(&report, "pure"), Verdict::Failed, "{report}");
}

#[test]
fn a_problem_with_unreadable_text_ends_the_walks() {
    let report = check_environment::<Corridor<STOPS_AT_GARBAGE>>();
    assert_eq!(faults(&report), ["start"], "{report}");
    assert!(report.to_string().contains("cannot read"), "{report}");
}

#[test]
fn an_environment_that_saves_nothing_passes_with_less_certainty() {
    let report = check_environment::<Corridor<SAVES_NOTHING>>();
    assert!(report.passed(), "{report}");
    assert_eq!(verdict(&report, "resume"), Verdict::Skipped);
    assert!(!report.passed_strictly());
}

const UNKNOWN_ROLE: u8 = 1;
const NEVER_ASKS: u8 = 2;
const UNKNOWN_KIND: u8 = 3;
const MUTE_PROMPT: u8 = 4;
const UNLISTED_WORD: u8 = 5;
const RESUMES_ELSEWHERE: u8 = 6;
const WAITS_FOR_NOBODY: u8 = 7;
const CREDITS_NOBODY: u8 = 8;
const CREDITS_WHAT_IS_NOT_OPEN: u8 = 9;
const CALLS_NOBODY: u8 = 10;
const ASKS_FOR_NOBODY: u8 = 11;
const ACTS_ON_WHAT_WAS_CUT: u8 = 12;

/// Two voters who answer at the same time, and whose answers are done at the same time.
#[derive(Serialize, Deserialize)]
struct Vote<const FAULT: u8> {
    due: u32,
    first: String,
    observation: String,
}

impl<const FAULT: u8> Workflow for Vote<FAULT> {
    fn describe() -> workflow::Description {
        workflow::Description::new("vote", "1.0.0", "Two answer.").action("answer")
    }

    fn configure(
        _settings: &[Configured],
        _environment: &[ActionKind],
    ) -> Result<workflow::Configuration, Problem> {
        Ok(workflow::Configuration::default()
            .role("first", "Answers, too.")
            .role("second", "Answers.")
            .words(&["first", "second"]))
    }

    fn start(_briefing: &Briefing) -> Result<Self, Problem> {
        Ok(Vote { due: 0, first: String::new(), observation: String::new() })
    }

    fn advance(&mut self, event: Event) -> Result<Step, Problem> {
        match event {
            Event::Begun(views) => Ok(self.ask(seen_by(&views, &Seat::new("first")))),
            Event::Replied(_) if FAULT == WAITS_FOR_NOBODY => Ok(Step::wait()),
            Event::Replied(reply) if self.due == 2 => {
                self.due = 1;
                reply.answer().clone_into(&mut self.first);
                Ok(match FAULT {
                    CREDITS_NOBODY => Step::wait().credit(99, "verdict", 1.0),
                    CREDITS_WHAT_IS_NOT_OPEN => Step::wait().credit(0, "verdict", 1.0),
                    _ => Step::wait(),
                })
            }
            Event::Replied(reply) => {
                let kind = if FAULT == UNKNOWN_KIND { "vote" } else { "answer" };
                let text = if FAULT == ACTS_ON_WHAT_WAS_CUT { &reply.text } else { reply.answer() };
                let first = Move::new("first", kind, &self.first);
                Ok(Step::act_together(vec![first, Move::new("second", kind, text)]))
            }
            Event::Acted(_) if FAULT == NEVER_ASKS => Ok(Step::act("second", "answer", "")),
            Event::Acted(seen) if !seen.is_ongoing() => Ok(Step::finish()),
            Event::Acted(seen) => Ok(self.ask(seen.seen_by(&Seat::new("first")))),
            Event::Returned(_) => Err(Problem::unexpected(&event)),
        }
    }

    fn resume(bytes: &[u8]) -> Result<Self, Problem> {
        let vote: Self = state::load(bytes)?;
        Ok(if FAULT == RESUMES_ELSEWHERE { Vote { due: 1, ..vote } } else { vote })
    }
}

impl<const FAULT: u8> Vote<FAULT> {
    fn ask(&mut self, observation: String) -> Step {
        self.due = 2;
        self.observation = observation;
        let second = if FAULT == UNKNOWN_ROLE { "third" } else { "second" };
        let word = if FAULT == UNLISTED_WORD { "hello" } else { "second" };
        let told = format!("{word} {}", self.observation);
        let request = Request::new(second).system("Answer.");
        let request = match FAULT {
            CALLS_NOBODY => Request { tools: vec!["oracle".to_owned()], ..request },
            ASKS_FOR_NOBODY => Request { caller: Some(99), ..request },
            _ => request,
        };
        Step::ask_all(vec![
            Request::new("first").user(format!("first {}", self.observation)),
            if FAULT == MUTE_PROMPT { request } else { request.user(told) },
        ])
    }
}

#[test]
fn a_sound_workflow_passes_every_check() {
    let report = check_workflow::<Vote<SOUND>>();
    assert!(report.findings.iter().all(|finding| finding.verdict == Verdict::Passed), "{report}");
}

#[test]
fn the_fault_of_a_workflow_is_named() {
    let sentences = [
        check_workflow::<Vote<UNKNOWN_ROLE>>(),
        check_workflow::<Vote<NEVER_ASKS>>(),
        check_workflow::<Vote<UNKNOWN_KIND>>(),
        check_workflow::<Vote<MUTE_PROMPT>>(),
        check_workflow::<Vote<WAITS_FOR_NOBODY>>(),
        check_workflow::<Vote<CREDITS_NOBODY>>(),
        check_workflow::<Vote<CREDITS_WHAT_IS_NOT_OPEN>>(),
        check_workflow::<Vote<CALLS_NOBODY>>(),
        check_workflow::<Vote<ASKS_FOR_NOBODY>>(),
    ]
    .map(|report| report.finding("rehearsal").map(|finding| finding.sentence.clone()));
    let expected = [
        "it names a role `third` that it does not have",
        "it acts after the end of the episode",
        "it acts with unknown kind `vote`",
        "the prompt of `second` does not end with what it is told",
        "it waits although no answer is due",
        "it credits answer 99, which nobody gave",
        "it credits answer 0, which it did not ask for as open, or closed",
        "it offers a tool `oracle`, which the briefing does not name",
        "it names answer 99, which nobody gave, as a caller",
    ];
    assert_eq!(sentences, expected.map(|sentence| Some(format!("{sentence}, in rehearsal 0"))));
    assert_eq!(faults(&check_workflow::<Vote<UNLISTED_WORD>>()), ["vocabulary"]);
    assert_eq!(faults(&check_workflow::<Vote<RESUMES_ELSEWHERE>>()), ["resume"]);
    let report = check_workflow::<Vote<ACTS_ON_WHAT_WAS_CUT>>();
    assert_eq!(faults(&report), ["answers"]);
    let sentence = report.finding("answers").map(|finding| finding.sentence.as_str());
    let expected = "answer 1 counts although the limit cut it: `said1905` is done";
    assert_eq!(sentence, Some(expected));
}

#[test]
fn a_step_may_name_the_last_seat_of_a_role_and_none_behind_it() {
    let roles = workflow::Configuration::default().seats("debater", "", 2).roles;
    let check = |instance| Step::act(Seat::numbered("debater", instance), "say", "").check(&roles);
    assert_eq!(check(1), Ok(()));
    assert_eq!(check(2), Err("it names seat 2 of `debater`, which has 2".to_owned()));
}
