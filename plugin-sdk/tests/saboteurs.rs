//! Faults that do not show at first sight are found, each by the check that
//! names it, with the fewest actions that show it.

mod panel;
mod treasure;

use panel::Panel;
use plugin_sdk::testing::{Finding, Native, Report, Scope, Verdict};
use treasure::Treasure;

fn scope() -> Scope {
    Scope { tasks: 12, ..Scope::default() }
}

fn look<const FAULT: u8>() -> Report {
    scope().check_environment(&Native::<Treasure<FAULT>>::default())
}

fn listen<const FAULT: u8>() -> Report {
    scope().check_workflow(&Native::<Panel<FAULT>>::default())
}

fn failed(report: &Report) -> Vec<&str> {
    let failed = report.findings.iter().filter(|finding| finding.verdict == Verdict::Failed);
    failed.map(|finding| finding.check).collect()
}

/// The finding of the check that is to find the fault.
fn found<'r>(report: &'r Report, check: &str) -> &'r Finding {
    assert!(failed(report).contains(&check), "{check} is not among them:\n{report}");
    report.finding(check).unwrap_or_else(|| panic!("{report}"))
}

#[track_caller]
fn assert_found<const FAULT: u8>(check: &str) -> Finding {
    found(&look::<FAULT>(), check).clone()
}

#[track_caller]
fn assert_heard<const FAULT: u8>(check: &str) {
    found(&listen::<FAULT>(), check);
}

#[test]
fn a_sound_treasure_and_a_sound_panel_pass() {
    let report = look::<{ treasure::SOUND }>();
    assert!(report.passed(), "{report}");
    let report = listen::<{ panel::SOUND }>();
    assert!(report.passed_strictly(), "{report}");
}

#[test]
fn tasks_of_two_splits_are_found_behind_offsets_and_in_part() {
    let far = assert_found::<{ treasure::SPLITS_BY_AN_OFFSET }>("splits");
    assert!(far.sentence.contains("train task 20000"), "{far}");
    let some = assert_found::<{ treasure::SHARES_EVERY_OTHER_TASK }>("splits");
    assert!(some.sentence.contains("played move for move"), "{some}");
}

#[test]
fn what_an_instance_remembers_and_what_a_state_forgets_is_found() {
    assert_found::<{ treasure::REMEMBERS_EPISODES }>("instances");
    assert_found::<{ treasure::FORGETS_ITS_PATIENCE }>("resume");
    assert_found::<{ treasure::DESCRIBES_ITSELF_ANEW }>("description");
}

#[test]
fn states_and_texts_that_grow_for_ever_are_found() {
    let state = assert_found::<{ treasure::KEEPS_A_LOG }>("growth");
    assert!(state.sentence.contains("the saved state grows by"), "{state}");
    assert_found::<{ treasure::SHOWS_A_LOG }>("growth");
}

#[test]
fn what_is_paid_is_held_against_what_is_claimed_in_words_and_in_numbers() {
    let told = assert_found::<{ treasure::PAYS_MORE_THAN_IT_SAYS }>("claims");
    assert!(told.sentence.contains("it claims any to 1"), "{told}");
    assert_found::<{ treasure::PAYS_MORE_THAN_IT_DECLARES }>("claims");
    assert_found::<{ treasure::PAYS_NOTHING_BUT_NUMBERS }>("rewards");
    assert_found::<{ treasure::PAYS_FOR_SILENCE_LATER }>("unreadable");
}

#[test]
fn a_paid_loop_is_found_behind_a_story_of_all_that_was_done_and_made_short() {
    let found = assert_found::<{ treasure::PAYS_AND_TELLS_ITS_STORY }>("loops");
    let acts = found.reproducer.expect("a walk shows it").acts;
    assert!(acts.len() <= 20, "{} acts", acts.len());
}

#[test]
fn an_expert_who_is_slow_or_sometimes_lost_is_found() {
    assert_found::<{ treasure::ADVISES_TOO_FEW_TURNS }>("turns");
    let report = Scope { tasks: 12, ..scope() }
        .check_environment(&Native::<Treasure<{ treasure::LOSES_ITS_WAY }>>::default());
    found(&report, "expert");
}

#[test]
fn actions_that_are_named_and_refused_are_found() {
    let listed = assert_found::<{ treasure::LISTS_A_WORD_IT_REFUSES }>("actions");
    assert!(listed.sentence.starts_with("`wait` is named"), "{listed}");
    let quoted = assert_found::<{ treasure::QUOTES_A_WORD_IT_REFUSES }>("actions");
    assert!(quoted.sentence.starts_with("`dig` is named"), "{quoted}");
    let kind = assert_found::<{ treasure::DESCRIBES_A_KIND_IT_REFUSES }>("actions");
    assert!(kind.sentence.contains("of the kind `shout`"), "{kind}");
}

#[test]
fn characters_that_a_terminal_obeys_are_found_where_they_are_told() {
    let bell = assert_found::<{ treasure::RINGS_A_BELL }>("texts");
    assert!(bell.reproducer.expect("a walk shows it").acts.len() <= 7);
    let turn = assert_found::<{ treasure::HIDES_LETTERS_IN_FEEDBACK }>("texts");
    assert_eq!(turn.reproducer.expect("a walk shows it").acts.len(), 1);
}

#[test]
fn settings_that_are_refused_or_crash_only_together_are_found() {
    let refused = assert_found::<{ treasure::REFUSES_ITS_DOMAIN }>("settings");
    assert!(refused.sentence.contains("9 is refused whatever the others are"), "{refused}");
    let corner = assert_found::<{ treasure::PANICS_IN_A_CORNER }>("settings");
    assert!(corner.to_string().contains("size=9, fog=true"), "{corner}");
}

#[test]
fn hints_numbers_and_plans_that_are_told_are_found() {
    assert_found::<{ treasure::HINTS_NOW_AND_THEN }>("leak");
    assert_found::<{ treasure::SPELLS_THE_PLAN }>("leak");
    assert_found::<{ treasure::SHOWS_THE_NEXT_SEED }>("seed");
    assert_found::<{ treasure::SHOWS_THE_END_OF_THE_SEED }>("seed");
    assert_found::<{ treasure::NAMES_ITS_SPLIT }>("seed");
}

#[test]
fn roles_that_nobody_asks_and_turns_that_do_not_end_are_heard() {
    assert_heard::<{ panel::NEVER_ASKS_THE_SPEAKER }>("roles");
    assert_heard::<{ panel::ASKS_UNTIL_IT_HEARS_YES }>("turns");
    assert_heard::<{ panel::GOES_ON_AFTER_THE_END }>("turns");
}

#[test]
fn answers_that_are_read_greedily_are_heard() {
    assert_heard::<{ panel::TAKES_THE_FIRST_MARK }>("answers");
    assert_heard::<{ panel::ACTS_FOR_EVERY_MARK }>("answers");
    assert_heard::<{ panel::TAKES_THE_PROMPTS_EXAMPLE }>("answers");
    assert_heard::<{ panel::TAKES_THE_FIRST_WORD }>("answers");
}

#[test]
fn votes_that_depend_on_their_order_are_heard() {
    assert_heard::<{ panel::TAKES_THE_LAST_VOTE }>("order");
    assert_heard::<{ panel::TAKES_THE_FIRST_VOTE }>("order");
}

/// A role that says what it likes and earns the same cannot learn.
#[test]
fn roles_whose_answers_are_all_worth_the_same_are_heard() {
    let heard = |report: Report, told: &str| {
        let found = found(&report, "worth").clone();
        assert!(found.sentence.contains(told), "{found}");
        assert_eq!(failed(&report), ["worth"], "{report}");
    };
    let closed = "`voter` is not asked as open, but nobody acts when it says `VOTE: said";
    heard(listen::<{ panel::ASKS_CLOSED }>(), closed);
    let same = "the answers of `voter` were all worth the same, whatever it said";
    heard(listen::<{ panel::CLOSES_BEFORE_ANYBODY_ACTS }>(), same);
    heard(listen::<{ panel::KEEPS_THE_VOTES_TO_ITSELF }>(), same);
    found(&listen::<{ panel::ACTS_ON_NOTHING }>(), "worth");
}

#[test]
fn messages_and_settings_of_a_workflow_are_looked_at() {
    assert_heard::<{ panel::CLEARS_THE_SCREEN }>("texts");
    assert_heard::<{ panel::PANICS_WITH_SEVEN }>("settings");
}

#[test]
fn a_later_round_has_other_tasks_and_other_settings_but_for_those_that_were_chosen() {
    let declared = [
        plugin_sdk::Setting::integer("size", "Size.", 3..=1000, 7),
        plugin_sdk::Setting::integer("chosen", "Chosen.", 3..=1000, 7),
    ];
    let scope = scope().with("chosen", 5);
    let value = |scope: &Scope, name: &str| {
        let all = scope.configured(&declared);
        all.into_iter().find(|one| one.name == name).expect("it is declared").value
    };
    let (first, second) = (scope.elsewhere(&declared, 1), scope.elsewhere(&declared, 2));
    assert_eq!((first.from, second.from), (12, 24));
    assert_eq!(value(&first, "size"), 7.into());
    assert_ne!(value(&second, "size"), 7.into());
    assert_eq!(value(&second, "chosen"), 5.into());
}

#[test]
fn what_is_found_later_is_kept_and_what_was_skipped_once_may_be_looked_at() {
    let sound = look::<{ treasure::SOUND }>();
    let mut report = look::<{ treasure::RINGS_A_BELL }>();
    let before = report.tried.steps;
    report.merge(sound.clone());
    assert_eq!(failed(&report), ["texts"]);
    assert_eq!(report.tried.steps, before + sound.tried.steps);
    let mut report = sound;
    report.merge(look::<{ treasure::RINGS_A_BELL }>());
    assert_eq!(failed(&report), ["texts"]);
}
