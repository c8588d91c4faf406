//! What the two are told.

use plugin_sdk::testing::{Rehearsal, check_workflow};
use reasoner_tool::ReasonerTool;

#[test]
fn each_is_told_what_became_of_its_own_answer() {
    let mut team = Rehearsal::<ReasonerTool>::of_language_models(&["answer", "plan"], &[]);
    team.says("reasoner", "It is\n```\n4\n```").says("tool", "print(five)");
    team.returns(&[(false, "NameError: five")]).becomes(&[(true, "A number."), (false, "None.")]);
    let [reasoner, tool] = ["reasoner", "tool"].map(|role| team.told(role));
    assert!(reasoner.contains("these. reasoner: 4 tool:"), "{reasoner}");
    assert!(reasoner.contains("answer: A number.") && !reasoner.contains("five"), "{reasoner}");
    assert!(tool.contains("The program failed: NameError: five"), "{tool}");
    assert!(tool.contains("None.") && !tool.contains("A number."), "{tool}");
    // A fenced answer agrees with the same one without a fence.
    team.says("reasoner", "```\n4\n```").says("tool", "print(4)").returns(&[(true, "4")]);
    assert_eq!(team.becomes(&[(true, ""), (true, "")]).acts()[0].action.kind, "answer");
}

#[test]
fn to_disagree_is_worth_what_the_next_answers_come_to() {
    for kinds in [&["moves"][..], &["moves", "plan"]] {
        let mut team = Rehearsal::<ReasonerTool>::begin(kinds, &[]);
        let mut round = |reasoned: &str, printed: &str| {
            team.says("reasoner", reasoned).says("tool", "print()").returns(&[(true, printed)]);
            if kinds.len() > 1 {
                team.becomes(&[(true, ""), (true, "")]);
            }
            team.open()
        };
        assert_eq!(round("D", "U"), [0, 1, 2, 3]);
        round("U", "U");
        team.becomes(&[(true, "")]);
        assert_eq!(team.open(), [4, 5], "a new question begins");
    }
}

#[test]
fn in_the_last_turn_the_reasoners_answer_counts() {
    let mut team = Rehearsal::<ReasonerTool>::begin(&["moves"], &[("rounds", 8.into())]);
    let disagree = |team: &mut Rehearsal<ReasonerTool>| {
        team.says("reasoner", "D").says("tool", "print('U')").returns(&[(true, "U")]);
    };
    (0..8).for_each(|_| disagree(&mut team));
    team.becomes(&[(true, "")]);
    disagree(&mut team);
    assert_eq!(team.acts()[0].action.text, "D", "it is the ninth turn of nine");
}

#[test]
fn a_tool_is_told_in_which_language_to_write() {
    let chosen = [("language", "javascript".into()), ("tool_task", "Write.".into())];
    let team = Rehearsal::<ReasonerTool>::of_language_models(&["answer"], &chosen);
    let told = team.prompt("tool")[0].text();
    assert!(told.ends_with("Write. The program has to be written in the language `javascript`."));
}

#[test]
fn keeps_the_contract() {
    check_workflow::<ReasonerTool>().assert_passed();
}
