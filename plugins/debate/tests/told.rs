//! What the debaters are told.

use debate::Debate;
use plugin_sdk::Seat;
use plugin_sdk::testing::Rehearsal;

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
