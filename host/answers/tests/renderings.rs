//! Golds as data sets have them, generated: each equals its usual re-renderings, and never
//! what is close to it.

use proptest::prelude::*;
use troupe_answers::{Rules, Verdict, check};

/// A gold, other ways to write it, and what is something else.
#[derive(Clone, Debug)]
struct Case {
    gold: String,
    same: Vec<String>,
    other: Vec<String>,
}

/// Ways to write the same that work for every answer.
fn dressed(answer: &str) -> Vec<String> {
    vec![
        answer.to_owned(),
        format!("${answer}$"),
        format!(" {answer} "),
        format!("{answer}."),
        format!("\\boxed{{{answer}}}"),
        format!("\\,{answer}\\,"),
        format!("\\displaystyle {answer}"),
        answer.replace("\\frac", "\\dfrac"),
        answer.replace("\\frac", "\\tfrac"),
        answer.replace(',', ", "),
        answer.replace('(', "\\left(").replace(')', "\\right)"),
    ]
}

/// The number as AIME, AMC and GSM8K have it.
fn whole() -> impl Strategy<Value = Case> {
    (1..10_000_000_i64).prop_map(|n| Case {
        gold: n.to_string(),
        same: vec![
            format!("0{n}"),
            format!("{n}.0"),
            format!("+{n}"),
            format!("x={n}"),
            format!("\\text{{{n}}}"),
            format!("{}+{}", n - 7, 7),
            format!("\\frac{{{}}}{{3}}", 3 * n),
            grouped(n, ","),
            grouped(n, "{,}"),
            grouped(n, "\\,"),
            grouped(n, ",\\!"),
            format!("\\${}", grouped(n, ",")),
            format!("{n}\\text{{ cm}}"),
            format!("{n}^\\circ"),
        ],
        other: vec![
            (n + 1).to_string(),
            (-n).to_string(),
            format!("{n}0"),
            format!("{n}.5"),
            format!("{n}\\%"),
            format!("{n}i"),
            format!("{n}x"),
            format!("x>{n}"),
            format!("x\\ne{n}"),
            format!("\\pm{n}"),
            format!("{n},{n}"),
            format!("{n}\\text{{ or }}{}", n + 1),
            format!("{n}+10^{{-30}}"),
            format!("{n}_{{7}}"),
        ],
    })
}

fn grouped(n: i64, separator: &str) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}

fn fraction() -> impl Strategy<Value = Case> {
    let coprime = |(p, q): &(i64, i64)| *q > 1 && (2..=*q).all(|d| p % d != 0 || q % d != 0);
    (1..400_i64, 2..60_i64).prop_filter("in lowest terms", coprime).prop_map(|(p, q)| Case {
        gold: format!("\\frac{{{p}}}{{{q}}}"),
        same: vec![
            format!("{p}/{q}"),
            format!("\\frac{{{}}}{{{}}}", 6 * p, 6 * q),
            format!("\\frac{{-{p}}}{{-{q}}}"),
            format!("{{{p} \\over {q}}}"),
            format!("{p}\\cdot {q}^{{-1}}"),
            format!("\\left(\\frac{{{p}}}{{{q}}}\\right)"),
            if p > q { format!("{}\\frac{{{}}}{{{q}}}", p / q, p % q) } else { format!("{p}:{q}") },
        ],
        other: vec![
            format!("\\frac{{{}}}{{{q}}}", p + 1),
            format!("\\frac{{{p}}}{{{}}}", q + 1),
            format!("\\frac{{{q}}}{{{p}}}"),
            format!("-\\frac{{{p}}}{{{q}}}"),
            format!("\\frac{{{p}}}{{{q}}}\\%"),
            format!("{p}.{q}"),
            format!("{:.7}1", p as f64 / q as f64),
            format!("\\frac{{{p}}}{{{q}}}+10^{{-40}}"),
        ],
    })
}

fn root() -> impl Strategy<Value = Case> {
    let squarefree = |n: &i64| (2..=*n).all(|d| n % (d * d) != 0);
    (2..40_i64, (2..60_i64).prop_filter("without squares", squarefree), 1..9_i64).prop_map(
        |(k, n, c)| Case {
            gold: format!("{c}+{k}\\sqrt{{{n}}}"),
            same: vec![
                format!("{k}\\sqrt{{{n}}}+{c}"),
                format!("{c}+\\sqrt{{{}}}", k * k * n),
                format!("{c}+{k}\\cdot {n}^{{1/2}}"),
                format!("{c}+\\frac{{{}}}{{\\sqrt{{{n}}}}}", k * n),
                format!("\\frac{{{}}}{{{k}\\sqrt{{{n}}}-{c}}}", k * k * n - c * c),
            ],
            other: vec![
                format!("{c}-{k}\\sqrt{{{n}}}"),
                format!("{c}\\pm{k}\\sqrt{{{n}}}"),
                format!("{c}+{k}\\sqrt{{{}}}", n + 1),
                format!("{}+{k}\\sqrt{{{n}}}", c + 1),
                format!("{c}+{k}\\sqrt[3]{{{n}}}"),
                format!("{:.9}", c as f64 + k as f64 * (n as f64).sqrt()),
                format!("{c}+{k}\\sqrt{{{n}}}+e^{{-90}}"),
            ],
        },
    )
}

fn polynomial() -> impl Strategy<Value = Case> {
    (1..30_i64, 1..30_i64).prop_filter("of different roots", |(a, b)| a != b).prop_map(|(a, b)| {
        let (sum, product) = (a + b, a * b);
        Case {
            gold: format!("x^2-{sum}x+{product}"),
            same: vec![
                format!("(x-{a})(x-{b})"),
                format!("({b}-x)({a}-x)"),
                format!("x(x-{sum})+{product}"),
                format!("{product}-{sum}\\cdot x+x^{{2}}"),
            ],
            other: vec![
                format!("(x+{a})(x+{b})"),
                format!("(y-{a})(y-{b})"),
                format!("x^2-{sum}x-{product}"),
                format!("x^2-{}x+{product}", sum + 1),
                format!("(x-{a})(x-{b})=0"),
                format!("{a},{b}"),
                format!("(x-{a})(x-{b})+10^{{-9}}"),
            ],
        }
    })
}

fn several() -> impl Strategy<Value = Case> {
    (1..500_i64, 501..900_i64).prop_map(|(a, b)| Case {
        gold: format!("{a},{b}0"),
        same: vec![
            format!("{b}0,{a}"),
            format!("\\{{{a},{b}0\\}}"),
            format!("{a}\\text{{ and }}{b}0"),
            format!("x={a}\\text{{ or }}x={b}0"),
            format!("{a};{b}0"),
        ],
        other: vec![
            a.to_string(),
            format!("{a},{b}1"),
            format!("{a},{b}0,{a}1"),
            format!("{a}.{b}0"),
            format!("({b}0,{a})"),
            (a + b * 10).to_string(),
        ],
    })
}

fn tuple() -> impl Strategy<Value = Case> {
    (-50..50_i64, 51..99_i64).prop_map(|(a, b)| Case {
        gold: format!("({a},{b})"),
        same: vec![
            format!("(x,y)=({a},{b})"),
            format!("x={a},y={b}"),
            format!("({a}.0,\\frac{{{}}}{{2}})", 2 * b),
        ],
        other: vec![
            format!("({b},{a})"),
            format!("({a},{})", b + 1),
            format!("[{a},{b})"),
            format!("({a},{b},0)"),
            format!("{a}"),
            format!("{a}.{b}"),
        ],
    })
}

fn interval() -> impl Strategy<Value = Case> {
    (-50..0_i64, 1..50_i64).prop_map(|(a, b)| Case {
        gold: format!("[{a},{b})"),
        same: vec![
            format!("{a}\\le x<{b}"),
            format!("{b}>x\\geq {a}"),
            format!("x\\in[{a},{b})"),
            format!("[{a},0]\\cup(0,{b})"),
            format!("\\{{x\\mid {a}\\le x<{b}\\}}"),
        ],
        other: vec![
            format!("[{a},{b}]"),
            format!("({a},{b})"),
            format!("({a},{b}]"),
            format!("[{b},{a})"),
            format!("{a}<x<{b}"),
            format!("[{a},{})", b + 1),
            format!("[{a},{b})\\setminus\\{{0\\}}"),
            format!("{a},{b}"),
        ],
    })
}

fn equation() -> impl Strategy<Value = Case> {
    (2..30_i64, 1..30_i64).prop_map(|(m, b)| Case {
        gold: format!("y={m}x+{b}"),
        same: vec![
            format!("{m}x+{b}"),
            format!("{m}x-y+{b}=0"),
            format!("3y={}x+{}", 3 * m, 3 * b),
            format!("y-{b}={m}x"),
            format!("{m}x+{b}=y"),
        ],
        other: vec![
            format!("y={m}x-{b}"),
            format!("y={}x+{b}", m + 1),
            format!("y>{m}x+{b}"),
            format!("y\\ne {m}x+{b}"),
            format!("x={m}y+{b}"),
            format!("{m}"),
            format!("y={m}x+{b}.001"),
        ],
    })
}

fn case() -> impl Strategy<Value = Case> {
    prop_oneof![
        whole(),
        fraction(),
        root(),
        polynomial(),
        several(),
        tuple(),
        interval(),
        equation()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_gold_equals_itself_and_its_renderings_and_nothing_else(case in case()) {
        let rules = Rules::default();
        for answer in dressed(&case.gold).iter().chain(&case.same) {
            prop_assert_eq!(check(&case.gold, answer, &rules), Verdict::Correct, "{} <- {}", case.gold, answer);
        }
        for answer in case.other.iter().flat_map(|other| dressed(other)) {
            prop_assert_eq!(check(&case.gold, &answer, &rules), Verdict::Wrong, "{} <- {}", case.gold, answer);
        }
    }

    #[test]
    fn no_text_makes_the_checker_fail(gold in "\\PC{0,40}", answer in "\\PC{0,60}") {
        let verdict = check(&gold, &answer, &Rules::default());
        prop_assert!(verdict != Verdict::Correct || !gold.trim().is_empty());
    }

    #[test]
    fn no_row_of_tokens_makes_the_checker_fail(
        tokens in proptest::collection::vec(proptest::sample::select(TOKENS.to_vec()), 0..30),
    ) {
        check("\\frac{1}{2}", &tokens.concat(), &Rules::default());
        check(&tokens.concat(), "x", &Rules::default());
    }
}

const TOKENS: [&str; 48] = [
    "1",
    "23",
    "0.5",
    "x",
    "y",
    "n",
    "i",
    "e",
    "\\pi",
    "+",
    "-",
    "*",
    "/",
    "^",
    "_",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\\{",
    "\\}",
    ",",
    "=",
    "<",
    "\\le",
    "\\ne",
    "\\in",
    "\\cup",
    "|",
    "!",
    "\\%",
    "\\frac",
    "\\sqrt",
    "\\sin",
    "\\log",
    "\\pm",
    "\\infty",
    "\\text{or}",
    "\\text{cm}",
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "&",
    "\\\\",
    ":",
    "$",
    "\\sum_{k=1}^{9}",
];
