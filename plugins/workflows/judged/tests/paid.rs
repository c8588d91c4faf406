//! What player and judges are credited with, worked out by hand.

use judged::Judged;
use plugin_sdk::settings::{defaults, with};
use plugin_sdk::testing::Rehearsal;
use plugin_sdk::workflow::{ActionKind, Briefing, Status};
use plugin_sdk::{Seat, Value, Workflow};

const PLAYER: &str = "player";
const JUDGE: &str = "judge";
/// Turns in a rehearsal.
const TURNS: u32 = 9;

struct Team(Rehearsal<Judged>);

impl Team {
    fn of(chosen: &[(&str, Value)]) -> Self {
        Team(Rehearsal::begin(&["moves"], chosen))
    }

    /// The panel says this, seat by seat.
    fn judge(&mut self, votes: &[&str]) {
        for (instance, vote) in votes.iter().enumerate() {
            self.0.says(Seat::numbered(JUDGE, instance as u32), vote);
        }
    }

    /// The player acts, which is not the end, and is judged.
    fn play(&mut self, accepted: bool, votes: &[&str]) {
        self.0.says(PLAYER, "D").becomes(&[(accepted, "")]);
        self.judge(votes);
    }

    /// The player acts, which is the end, and is judged.
    fn end(&mut self, status: Status, votes: &[&str]) {
        self.0.says(PLAYER, "D").ends(status);
        self.judge(votes);
    }

    /// What an answer was credited with in all, under this name alone.
    #[track_caller]
    fn earns(&self, answer: u32, name: &str, value: f64) {
        let credits = self.0.credited(answer);
        assert!(credits.iter().all(|credit| credit.0 == name), "{credits:?}");
        let sum: f64 = credits.iter().map(|credit| credit.1).sum();
        assert!((sum - value).abs() < 1e-12, "answer {answer} earns {sum}, not {value}");
    }
}

#[test]
fn in_a_solved_episode_who_said_good_earns_its_vote_and_the_panels_mean() {
    let mut team = Team::of(&[]);
    team.play(true, &["good", "good", "bad"]);
    // The mean of 1, 1 and −1 is a third; how it ends is not known yet.
    team.earns(0, "judged", 1.0 / 3.0);
    team.earns(1, "agreed", 1.0 / 3.0);
    team.earns(3, "agreed", -1.0 / 3.0);
    assert_eq!(team.0.open(), [1, 2, 3, 4], "the judges', and the player's next answer");
    team.end(Status::Solved, &["good", "good", "good"]);
    assert!(team.0.is_over() && team.0.open().is_empty());
    team.earns(1, "agreed", 1.0 + 1.0 / 3.0);
    team.earns(2, "agreed", 1.0 + 1.0 / 3.0);
    team.earns(3, "agreed", -(1.0 + 1.0 / 3.0));
    team.earns(4, "judged", 1.0);
    (5..8).for_each(|answer| team.earns(answer, "agreed", 2.0));
}

#[test]
fn in_an_unsolved_episode_who_said_bad_earns_the_difference() {
    let mut team = Team::of(&[]);
    team.end(Status::Failed, &["good", "good", "bad"]);
    assert!(team.0.is_over() && team.0.open().is_empty());
    team.earns(0, "judged", 1.0 / 3.0);
    team.earns(1, "agreed", -1.0 + 1.0 / 3.0);
    team.earns(2, "agreed", -1.0 + 1.0 / 3.0);
    team.earns(3, "agreed", 1.0 - 1.0 / 3.0);
}

#[test]
fn a_judge_that_cannot_be_read_is_charged_and_has_no_vote() {
    let mut team = Team::of(&[]);
    team.end(Status::Solved, &["good", "well", "good"]);
    team.earns(0, "judged", 2.0 / 3.0);
    team.earns(1, "agreed", 1.0 + 2.0 / 3.0);
    team.earns(2, "unreadable", -2.0);
    team.earns(3, "agreed", 1.0 + 2.0 / 3.0);
    assert!(team.0.open().is_empty());
}

#[test]
fn a_panel_of_one_agrees_with_itself() {
    let mut team = Team::of(&[("judges", 1.into()), ("weight", 0.5.into())]);
    team.play(true, &["bad"]);
    team.earns(0, "judged", -0.5);
    team.end(Status::Solved, &["good"]);
    team.earns(1, "agreed", 1.0 - 1.0);
    team.earns(3, "agreed", 1.0 + 1.0);
}

#[test]
fn what_is_not_accepted_is_judged_like_everything() {
    let mut team = Team::of(&[]);
    team.play(false, &["bad", "bad", "bad"]);
    team.earns(0, "judged", -1.0);
}

#[test]
fn at_the_turn_limit_the_last_panel_is_heard_and_nobody_is_asked_again() {
    for solved in [false, true] {
        let mut team = Team::of(&[("judges", 1.into())]);
        (1..TURNS).for_each(|_| team.play(true, &["good"]));
        assert!(!team.0.is_over());
        match solved {
            false => team.play(true, &["good"]),
            true => team.end(Status::Solved, &["good"]),
        }
        assert!(team.0.is_over() && team.0.open().is_empty());
        let outcome = if solved { 1.0 } else { -1.0 };
        for turn in 0..TURNS {
            team.earns(2 * turn, "judged", 1.0);
            team.earns(2 * turn + 1, "agreed", outcome + 1.0);
        }
    }
}

#[test]
fn without_verdicts_nobody_is_credited_and_the_session_ends_at_the_limit() {
    let mut team = Team::of(&[("verdicts", "none".into())]);
    for turn in 0..TURNS {
        assert!(team.0.open().is_empty() && team.0.asked() == [PLAYER]);
        team.play(true, &[]);
        assert_eq!(team.0.credited(turn), []);
    }
    assert!(team.0.is_over());
}

#[test]
fn chance_pays_each_answer_the_mean_of_its_coins_and_the_same_one_always_the_same() {
    let played = |say: &dyn Fn(u32) -> String| -> Vec<f64> {
        let mut team = Rehearsal::<Judged>::begin(&["moves"], &[("verdicts", "random".into())]);
        let paid = |turn: u32| {
            team.says(PLAYER, &say(turn)).becomes(&[(true, "")]);
            let credits = team.credited(turn);
            assert_eq!((credits.len(), credits[0].0), (1, "judged"));
            credits[0].1
        };
        (0..TURNS).map(paid).collect()
    };
    let words: Vec<Vec<f64>> = (0..60).map(|it| played(&|turn| format!("D{it} {turn}"))).collect();
    assert_eq!(words[7], played(&|turn| format!("D7 {turn}")));
    // Three coins come to ±1 once in four times, and to ±1/3 else.
    let all: Vec<f64> = words.concat();
    let share = |value: f64| {
        all.iter().filter(|paid| (*paid - value).abs() < 1e-12).count() as f64 / all.len() as f64
    };
    for (value, wanted) in [(1.0, 0.125), (1.0 / 3.0, 0.375), (-1.0 / 3.0, 0.375), (-1.0, 0.125)] {
        assert!((share(value) - wanted).abs() < 0.06, "{value}: {}", share(value));
    }
}

#[test]
fn truth_pays_for_what_is_left_and_nothing_where_nothing_is_revealed() {
    let chosen = [("verdicts", "truth".into()), ("weight", 2.0.into())];
    let mut team = Team(Rehearsal::begin_revealing(&["moves"], &chosen, "D D R"));
    let left = [Some("D R"), Some("D D R"), Some("R D D"), None, Some("D"), None];
    let paid = [2.0, -2.0, 0.0, 0.0, 0.0, 0.0];
    for (turn, (left, paid)) in (0..).zip(left.into_iter().zip(paid)) {
        team.0.reveals(left);
        team.play(true, &[]);
        team.earns(turn, "judged", paid);
    }
    team.0.reveals(Some("D"));
    team.play(true, &[]);
    team.0.reveals(None);
    team.end(Status::Solved, &[]);
    team.earns(7, "judged", 2.0);
    assert!(team.0.is_over() && team.0.open().is_empty());
}

#[test]
fn controls_have_the_words_of_a_panel_and_no_judge() {
    let kinds = [ActionKind { name: "moves".to_owned(), summary: String::new() }];
    let configured = |verdicts: &str| {
        let settings = with(defaults(&Judged::describe().settings), "verdicts", verdicts);
        Judged::configure(&settings, &kinds).unwrap()
    };
    let panel = configured("panel");
    assert_eq!(panel.vocabulary, ["player", "judge", "answer", "then", "good", "bad"]);
    assert_eq!((panel.roles[1].name.as_str(), panel.roles[1].seats), (JUDGE, 3));
    for verdicts in ["none", "random", "truth"] {
        let control = configured(verdicts);
        assert_eq!(control.vocabulary, panel.vocabulary);
        assert_eq!(control.roles, panel.roles[..1]);
    }
}

#[test]
fn more_answers_than_a_step_can_credit_are_refused_before_any_is_given() {
    let briefing = |max_turns: u32| Briefing {
        environment: "rehearsal".to_owned(),
        rules: vec![(None, "Rules.".to_owned())],
        actions: vec![ActionKind { name: "moves".to_owned(), summary: String::new() }],
        settings: defaults(&Judged::describe().settings),
        max_turns,
        tools: Vec::new(),
        revealed: None,
    };
    assert!(Judged::start(&briefing(1364)).is_ok());
    let refused = Judged::start(&briefing(1365)).err().unwrap().message;
    assert!(refused.starts_with("3 judges of 1365 turns are credited 4099 times"), "{refused}");
}
