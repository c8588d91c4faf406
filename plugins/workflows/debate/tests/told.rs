//! What the debaters are told.

use debate::Debate;
use plugin_sdk::Seat;
use plugin_sdk::testing::{Rehearsal, check_workflow};

#[test]
fn each_debater_is_told_and_remembers_its_own() {
    let chosen = [("debaters", 2.into()), ("history", 1.into())];
    let mut team = Rehearsal::<Debate>::of_language_models(&["moves", "plan"], &chosen);
    let [one, other] = [0, 1].map(|seat| Seat::numbered("debater", seat));
    assert!(team.told(&one).starts_with("seen 1\n\nTurns"), "{}", team.told(&one));
    team.says(&one, "```\nD\n```").says(&other, "U");
    team.becomes(&[(false, "There is a wall."), (true, "")]);
    let told = team.told(&one);
    assert!(told.contains("The others answered: U\n\n") && told.contains("wall"), "{told}");
    assert_eq!(team.history(&one)[0].1, "```\nD\n```");
    let told = team.told(&other);
    assert!(told.contains("The others answered: D\n\n") && !told.contains("wall"), "{told}");
    assert_eq!(team.history(&other)[0].1, "U");
}

#[test]
fn what_the_others_only_read_is_worth_what_they_decide() {
    let seats = [0, 1, 2].map(|instance| Seat::numbered("debater", instance));
    let mut team = Rehearsal::<Debate>::begin(&["moves"], &[]);
    seats.iter().for_each(|seat| drop(team.says(seat.clone(), "D").open()));
    assert_eq!(team.open(), [0, 1, 2], "the last round acts");
    seats.iter().for_each(|seat| drop(team.says(seat.clone(), "D").open()));
    team.becomes(&[(true, "")]);
    assert_eq!(team.open(), [6, 7, 8], "a new question begins");
    assert_eq!(Rehearsal::<Debate>::begin(&["moves"], &[("rounds", 1.into())]).open().len(), 0);
    assert_eq!(Rehearsal::<Debate>::begin(&["moves", "plan"], &[]).open().len(), 0, "scored");
}

#[test]
fn the_last_turn_is_the_last_round() {
    let chosen = [("debaters", 2.into()), ("rounds", 8.into())];
    let mut team = Rehearsal::<Debate>::begin(&["moves"], &chosen);
    let seats = [0, 1].map(|instance| Seat::numbered("debater", instance));
    for _ in 0..8 {
        seats.iter().for_each(|seat| drop(team.says(seat, "D").open()));
    }
    team.becomes(&[(true, "")]);
    assert_eq!(team.open().len(), 0, "what is said in the ninth turn of nine is done");
    seats.iter().for_each(|seat| drop(team.says(seat, "U").open()));
    assert_eq!(team.acts()[0].action.text, "U");
}

#[test]
fn keeps_the_contract() {
    check_workflow::<Debate>().assert_passed();
}
