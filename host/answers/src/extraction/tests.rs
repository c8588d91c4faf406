use super::{Extracted, Found, extract, unwrapped};

fn extracted(text: &str) -> Option<(String, Found)> {
    extract(text).map(|Extracted { answer, found, .. }| (answer, found))
}

fn is(text: &str, answer: &str, by: Found) {
    assert_eq!(extracted(text), Some((answer.to_owned(), by)), "{text}");
}

#[test]
fn the_last_box_counts() {
    is("\\boxed{1}, no: \\boxed{2}", "2", Found::Box);
    is("\\boxed{\\frac{1}{2}} is it. #### 3", "\\frac{1}{2}", Found::Box);
    is("\\fbox{7}", "7", Found::Box);
    is("so $\\boxed 7$", "7", Found::Box);
    is("\\boxed{\\boxed{4}}", "4", Found::Box);
    is("\\boxed{x\\}}", "x\\}", Found::Box);
}

#[test]
fn boxes_with_a_comma_or_and_between_them_are_one_list() {
    is("$\\boxed{1}$, $\\boxed{2}$ and $\\boxed{3}$", "1, 2, 3", Found::Box);
    is("\\boxed{1}\\text{ and }\\boxed{2}", "1, 2", Found::Box);
    is("\\boxed{1} \\boxed{2}", "2", Found::Box);
    is("\\boxed{1}. And then \\boxed{2}", "2", Found::Box);
}

#[test]
fn a_box_that_is_not_closed_is_no_answer() {
    assert_eq!(extract("\\boxed{1} and then \\boxed{2"), None);
    assert_eq!(extract("\\boxed{\\frac{1}{2}"), None);
}

#[test]
fn a_sign_or_percent_sign_at_a_box_belongs_to_it() {
    is("$-\\boxed{5}$", "-(5)", Found::Box);
    is("$x = -\\boxed{5}$", "-(5)", Found::Box);
    is("the answer - \\boxed{5}", "5", Found::Box);
    is("\\boxed{5}\\%", "5\\%", Found::Box);
}

#[test]
fn what_is_struck_or_on_a_rejected_line_does_not_count_whatever_marks_it_as_the_answer() {
    is("It is \\boxed{5}.\n\n~~It is \\boxed{6}.~~", "5", Found::Box);
    is("\\boxed{5}, ~~$\\boxed{6}$~~", "5", Found::Box);
    is("\\boxed{5}\n❌ \\boxed{6}", "5", Found::Box);
    is("\\boxed{6} 🚫\nThe answer is 5.", "5", Found::Statement);
    is("#### 5\n#### 6 ❌", "5", Found::Marker);
    assert_eq!(extract("~~\\boxed{6}~~"), None);
    assert_eq!(extract("✗ \\boxed{6}"), None);
}

#[test]
fn tildes_that_are_no_marks_strike_no_box() {
    is("First \\boxed{5~~\\text{cm}}, then \\boxed{6~~\\text{cm}}.", "6~~\\text{cm}", Found::Box);
    is("$5~~cm$ or $\\boxed{6}~~cm$", "6", Found::Box);
    is("x ~~ 5.2, so \\boxed{5} ~~ rounded", "5", Found::Box);
    is("~~a \\boxed{5~~b}", "5~~b", Found::Box);
}

#[test]
fn what_is_left_beside_a_rejected_item_is_an_item_still() {
    is("- ❌ 4\n- ✅ 5", "5", Found::Whole);
}

#[test]
fn nothing_before_the_end_of_a_thought_counts() {
    is("<think>\\boxed{1}</think>\\boxed{2}", "2", Found::Box);
    is("\\boxed{1}</think>The answer is 2.", "2", Found::Statement);
    assert_eq!(extract("<think>\\boxed{1}"), None);
    assert_eq!(extract("\\boxed{1}</think>"), None);
}

#[test]
fn the_line_of_a_marker_counts_before_what_is_said() {
    is("The answer is 5.\n#### 6\nDone", "6", Found::Marker);
    assert_eq!(extract("The answer is 5.\n####"), None);
}

#[test]
fn a_statement_ends_with_its_sentence() {
    is("The answer is 12. It took 3 steps.", "12", Found::Statement);
    is("**Final answer:** $\\frac12$", "$\\frac12$", Found::Statement);
    is("The answer is B) 24.", "B", Found::Statement);
    is("The answer is (C) because it is larger.", "C", Found::Statement);
    is("The answer is 18.50.", "18.50", Found::Statement);
}

#[test]
fn a_text_that_is_nothing_but_an_answer_is_taken_whole() {
    is("  3 hours and 20 minutes ", "3 hours and 20 minutes", Found::Whole);
    is("$(1,2)$<|im_end|>", "$(1,2)$", Found::Whole);
    is("x = -3", "x = -3", Found::Whole);
    assert_eq!(extract(" \n "), None);
}

#[test]
fn the_last_formula_of_a_sentence_counts_and_else_its_end() {
    is("Thus $x = 2$ is the only solution.", "x = 2", Found::Formula);
    is("We get $1$ and $2$.", "1, 2", Found::Formula);
    is("So the total is 9 * 2 = 18 dollars.", "18 dollars", Found::Ending);
    is("It is 2.", "2", Found::Ending);
    is("We have 5 of them", "5", Found::Ending);
    is("Tom walked 5 miles home", "5 miles home", Found::Number);
    assert_eq!(extract("We get between 0-3"), None);
    assert_eq!(extract("I cannot tell."), None);
}

#[test]
fn a_gold_loses_what_its_data_set_wraps_it_in() {
    assert_eq!(unwrapped("3*6=<<3*6=18>>18\n#### 18"), "18");
    assert_eq!(unwrapped("So it is $\\boxed{\\frac{1}{2}}$."), "\\frac{1}{2}");
    assert_eq!(unwrapped(" 025 "), "025");
}
