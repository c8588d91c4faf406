//! What was written to break the checker, or to make it work for hours.

use troupe_answers::{Rules, Verdict, check, check_answer, extract};

/// None of these is 5, and none of them may take long: the tests of this file together
/// take a second or so.
fn hostile() -> Vec<String> {
    let nested = |open: &str, close: &str, depth: usize| {
        format!("{}5{}", open.repeat(depth), close.repeat(depth))
    };
    let factors: Vec<String> = (0..900).map(|k| format!("(x-{k})")).collect();
    vec![
        nested("(", ")", 1_000),
        nested("{", "}", 3_000),
        nested("\\frac{1}{", "}", 700),
        nested("\\sqrt{", "}", 1_000),
        nested("\\text{", "}", 1_000),
        nested("\\left(\\{", "\\}\\right)", 300),
        nested("|", "|", 2_000),
        nested("-", "", 4_000),
        nested("\\sin ", "", 1_500),
        "(".repeat(8_000),
        "^".repeat(8_000),
        "2^".repeat(4_000),
        "\\boxed{".repeat(1_000),
        "10^10^10".into(),
        "10^{10^{10^{10}}}".into(),
        "9^{9^{9^{9^{9}}}}".into(),
        "1e999999999".into(),
        "1e-999999999".into(),
        "1e99999999999999999999999999999999".into(),
        format!("1{}", "0".repeat(5_000)),
        format!("0.{}1", "0".repeat(5_000)),
        "99999999!".into(),
        "5!!!!!!!!".into(),
        "((((20!)!)!)!)".into(),
        "\\binom{10^{18}}{5\\cdot10^{17}}".into(),
        "\\sum_{k=1}^{10^{12}} k".into(),
        "\\sum_{a=1}^{999}\\sum_{b=1}^{999}\\sum_{c=1}^{999} abc".into(),
        "\\prod_{k=1}^{4000} k!".into(),
        factors.concat(),
        format!("({})^{{900}}", factors[..50].join("+")),
        "\\pm1".repeat(500),
        "\\sin(10^{4000})".into(),
        "e^{e^{e^{e^{e}}}}".into(),
        "\\tan(\\tan(\\tan(\\tan(10^{9}))))".into(),
        "\\sqrt{2}".repeat(900),
        vec!["\\sqrt{3}"; 700].join("+"),
        vec!["1"; 3_000].join(","),
        format!("\\{{{}\\}}", (0..900).map(|n| n.to_string()).collect::<Vec<_>>().join(",")),
        format!("\\begin{{pmatrix}}{}\\end{{pmatrix}}", "1&".repeat(2_000)),
        "x<1\\text{ or }".repeat(300) + "x>2",
        "(0,1)\\cup".repeat(300) + "(1,2)",
        "\u{202e}5\u{0}".repeat(50),
        "𝟓".into(),
        "٥".into(),
        "½".into(),
        "\\".into(),
        "{,}".into(),
        "\\boxed".into(),
        "\\frac".into(),
        "_{_{_{".into(),
        "x_{".into(),
        "0^{-1}".into(),
        "0^0\\cdot\\infty".into(),
        "\\log_1 5".into(),
        "\\log_{0} 0".into(),
        "5/(1-1)".into(),
        "5+0/0".into(),
        "5\\cdot\\frac{0}{0}".into(),
        "\\sqrt[0]{5}".into(),
        "5\\cdot i^{i^{i}}".into(),
    ]
}

#[test]
fn nothing_hostile_is_correct() {
    for answer in hostile() {
        for gold in ["5", "x", "(0,1)", "\\{1,2\\}", "\\sqrt{2}"] {
            let verdict = check(gold, &answer, &Rules::default());
            let shown: String = answer.chars().take(60).collect();
            assert_ne!(verdict, Verdict::Correct, "{gold} <- {shown}");
        }
    }
}

#[test]
fn a_hostile_gold_is_no_trouble_either() {
    for gold in hostile() {
        let verdict = check(&gold, "7", &Rules::default());
        let shown: String = gold.chars().take(60).collect();
        assert_ne!(verdict, Verdict::Correct, "{shown} <- 7");
    }
}

#[test]
fn what_is_too_large_to_be_computed_is_still_compared() {
    let rules = Rules::default();
    assert_eq!(check("10^{10^{10}}", "10^{10000000000}", &rules), Verdict::Correct);
    assert_eq!(check("10^{10^{10}}", "10^{10^{10}}+1", &rules), Verdict::Wrong);
    assert_eq!(check("1", "1e-999999999", &rules), Verdict::Wrong);
    assert_eq!(check("3^{2000000}", "9^{1000000}", &rules), Verdict::Correct);
}

#[test]
fn megabytes_are_read_once_and_end_somewhere() {
    let text = "The answer is \\boxed{4}, or $x$ is 5. ".repeat(60_000);
    assert_eq!(extract(&text).map(|extracted| extracted.answer), Some("4".into()));
    let unclosed = "\\boxed{".repeat(300_000);
    assert_eq!(extract(&unclosed), None);
    let boxes = "\\boxed{1}, ".repeat(200_000);
    assert_ne!(check_answer("1", &boxes, &Rules::default()), Verdict::Correct);
    let dollars = "$".repeat(1_000_000);
    assert_ne!(check_answer("1", &dollars, &Rules::default()), Verdict::Correct);
    let braces = format!("\\boxed{{{}", "{".repeat(2_000_000));
    assert_eq!(extract(&braces), None);
}
