//! Words of small letters.

use plugin_sdk::Random;

use super::{Form, Last, Step, Style, last, step};

type Words = Vec<String>;

/// What words are made of; often enough the same for something to happen.
const SYLLABLES: [&str; 16] = [
    "an", "be", "co", "da", "el", "fi", "go", "ha", "in", "ka", "lo", "mu", "ne", "or", "su", "ti",
];

pub(super) const FORM: Form<Words> = Form {
    told: "The input is one line of words in small letters: a list of words.",
    python: "a = input().split()",
    parse: |input| input.split_whitespace().map(str::to_owned).collect(),
    input: |random| {
        let count = 3 + random.below(5);
        let mut word = || -> String {
            let syllables = 1 + random.below(3);
            (0..syllables).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect()
        };
        let words: Words = (0..count).map(|_| word()).collect();
        format!("{}\n", words.join(" "))
    },
    steps: &[
        keep_long,
        keep_with,
        |_| each("Reverse each word.", "w[::-1]", |word| word.chars().rev().collect()),
        |_| each("Write each word in capitals.", "w.upper()", str::to_uppercase),
        |_| {
            each("Append the first letter of each word to it.", "w + w[:1]", |word| {
                format!("{word}{}", word.get(..1).unwrap_or_default())
            })
        },
        shift,
        |_| {
            plain("Sort the words by the alphabet.", "a = sorted(a)", |mut a| {
                a.sort();
                a
            })
        },
        |_| {
            let told = "Sort the words by their length, the shortest first; words of one length \
                        stay in their order.";
            plain(told, "a = sorted(a, key=len)", |mut a| {
                a.sort_by_key(String::len);
                a
            })
        },
        |_| {
            plain("Reverse the order of the words.", "a = a[::-1]", |a| {
                a.into_iter().rev().collect()
            })
        },
        distinct,
        cut,
        join_pairs,
    ],
    lasts: &[all, letters, longest, initials, lengths],
    style: Style::Sentences,
};

fn plain(told: &str, python: &str, applied: fn(Words) -> Words) -> Step<Words> {
    step(told.to_owned(), python.to_owned(), applied)
}

fn each(told: &str, python: &str, applied: impl Fn(&str) -> String + 'static) -> Step<Words> {
    let python = format!("a = [{python} for w in a]");
    step(told.to_owned(), python, move |a: Words| a.iter().map(|word| applied(word)).collect())
}

fn keep_long(random: &mut Random) -> Step<Words> {
    let least = 3 + random.below(3);
    let told = format!("Keep only words of {least} letters or more.");
    let python = format!("a = [w for w in a if len(w) >= {least}]");
    step(told, python, move |a: Words| a.into_iter().filter(|word| word.len() >= least).collect())
}

fn keep_with(random: &mut Random) -> Step<Words> {
    let letter = ["a", "e", "i", "n", "o", "u"][random.below(6)];
    let told = format!("Keep only words that have the letter `{letter}`, small or capital.");
    let python = format!("a = [w for w in a if \"{letter}\" in w.lower()]");
    step(told, python, move |a: Words| {
        a.into_iter().filter(|word| word.to_lowercase().contains(letter)).collect()
    })
}

fn shift(random: &mut Random) -> Step<Words> {
    let by = 1 + random.below(9);
    let told = format!(
        "Replace each letter by the one {by} places after it in the alphabet, where `a` follows \
         `z`; all letters become small."
    );
    let python = format!("\"\".join(chr((ord(c) - 97 + {by}) % 26 + 97) for c in w.lower())");
    each(&told, &python, move |word| {
        let shifted = |letter: u8| char::from((letter - b'a' + by as u8) % 26 + b'a');
        word.to_lowercase().bytes().map(shifted).collect()
    })
}

fn distinct(_: &mut Random) -> Step<Words> {
    let told = "Of equal words keep only the first.";
    plain(told, "a = list(dict.fromkeys(a))", |a| {
        let mut kept = Words::new();
        for word in a {
            if !kept.contains(&word) {
                kept.push(word);
            }
        }
        kept
    })
}

fn cut(random: &mut Random) -> Step<Words> {
    let most = 2 + random.below(3);
    let told = format!("Cut each word after its first {most} letters.");
    each(&told, &format!("w[:{most}]"), move |word| word.chars().take(most).collect())
}

fn join_pairs(_: &mut Random) -> Step<Words> {
    let told = "Join the first word with the second one, the third with the fourth and so on; a \
                last word without a partner stays.";
    let python = "a = [\"\".join(a[i : i + 2]) for i in range(0, len(a), 2)]";
    plain(told, python, |a| a.chunks(2).map(<[String]>::concat).collect())
}

fn all() -> Last<Words> {
    let told = "Print the words in one line with `-` between them, or `none` if there is none.";
    last(told, "\"-\".join(a) or \"none\"", |a: Words| {
        if a.is_empty() { "none".to_owned() } else { a.join("-") }
    })
}

fn letters() -> Last<Words> {
    let told = "Print how many words there are, and how many letters they have together, in one \
                line.";
    last(told, "len(a), sum(len(w) for w in a)", |a: Words| {
        format!("{} {}", a.len(), a.iter().map(String::len).sum::<usize>())
    })
}

fn longest() -> Last<Words> {
    let told = "Print the longest word, of several the first, or `none` if there is none.";
    last(told, "max(a, key=len) if a else \"none\"", |a: Words| {
        let most = a.iter().map(String::len).max();
        let first = a.iter().find(|word| Some(word.len()) == most);
        first.map_or("none".to_owned(), String::clone)
    })
}

fn initials() -> Last<Words> {
    let told = "Print the first letters of all words as one word, or `none` if there is no word.";
    last(told, "\"\".join(w[0] for w in a) or \"none\"", |a: Words| {
        let initials: String = a.iter().filter_map(|word| word.chars().next()).collect();
        if initials.is_empty() { "none".to_owned() } else { initials }
    })
}

fn lengths() -> Last<Words> {
    let told = "Print the lengths of the words in one line, or `none` if there is no word.";
    last(told, "*([len(w) for w in a] or [\"none\"])", |a: Words| {
        let lengths: Words = a.iter().map(|word| word.len().to_string()).collect();
        if lengths.is_empty() { "none".to_owned() } else { lengths.join(" ") }
    })
}
