//! Every text that an automaton lets through is one that is allowed, and every allowed text goes
//! through, whatever the tokenizer.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::prompt::tokenizer::Tokenizer;
use troupe_core::seed::Seed;

/// Pieces of a byte-level vocabulary beside the single bytes.
const PIECES: [&str; 8] = ["up", "\u{120}up", "do", "wn", "own", "\u{120}d", "\": ", "{\""];

fn texts(texts: &[&str]) -> Arc<[String]> {
    texts.iter().map(ToString::to_string).collect()
}

fn words_codec() -> TokenCodec {
    let tokenizer = Tokenizer::from_words(&texts(&["up", "down", "left", "go"])).unwrap();
    TokenCodec { tokenizer: Arc::new(tokenizer), ends: [2].into(), thoughts: None }
}

/// A tokenizer that cuts texts by merging pieces, of a vocabulary, its decoder and what stands
/// before that.
fn merging(
    vocabulary: &[String],
    merges: &[[&str; 2]],
    decoder: Value,
    before: Value,
) -> TokenCodec {
    let specials = ["<eos>", "<stop>", "<think>", "</think>"];
    let all = specials.iter().map(ToString::to_string).chain(vocabulary.iter().cloned());
    let ids: serde_json::Map<String, Value> =
        all.enumerate().map(|(id, token)| (token, id.into())).collect();
    let added = specials.iter().enumerate().map(|(id, token)| {
        json!({
            "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": id < 2,
        })
    });
    let file = json!({
        "version": "1.0", "added_tokens": added.collect::<Vec<_>>(), "normalizer": null,
        "truncation": null, "padding": null, "post_processor": null,
        "pre_tokenizer": before, "decoder": decoder,
        "model": { "type": "BPE", "vocab": ids, "merges": merges },
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), file.to_string()).unwrap();
    let tokenizer = Arc::new(Tokenizer::load(folder.path()).unwrap());
    TokenCodec { tokenizer, ends: [0, 1].into(), thoughts: None }
}

/// Byte-level, as GPT-2, Qwen and Llama 3 have it.
fn bytes_codec() -> TokenCodec {
    let letters = (33_u8..=126).map(|byte| char::from(byte).to_string());
    let rest = ["\u{120}", "\u{10a}"].into_iter().chain(PIECES).map(str::to_owned);
    let level = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true,
    });
    let merges = [["u", "p"], ["\u{120}", "up"], ["d", "o"], ["w", "n"]];
    merging(&letters.chain(rest).collect::<Vec<_>>(), &merges, level.clone(), level)
}

/// As SentencePiece has it: a space before every text, which decoding takes away.
fn pieces_codec() -> TokenCodec {
    let letters = (33_u8..=126).map(|byte| char::from(byte).to_string());
    let rest = ["\u{2581}", "up", "\u{2581}up"].map(str::to_owned);
    let space = json!({
        "type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true,
    });
    let merges = [["u", "p"], ["\u{2581}", "up"]];
    merging(&letters.chain(rest).collect::<Vec<_>>(), &merges, space.clone(), space)
}

fn begin(constraint: &Constraint, codec: &TokenCodec) -> Walk {
    let vocabulary = codec.tokenizer.vocabulary_size() + 3;
    codec.automaton(constraint, vocabulary).unwrap().begin(&[])
}

fn is_allowed(walk: &mut Walk, token: u32) -> bool {
    walk.allowed().unwrap()[token as usize / 32] >> (token % 32) & 1 == 1
}

fn tokens(walk: &mut Walk) -> Vec<u32> {
    let allowed = walk.allowed().unwrap();
    let has = |token: &u32| allowed[*token as usize / 32] >> (token % 32) & 1 == 1;
    (0..32 * allowed.len() as u32).filter(has).collect()
}

/// Whether these tokens and then an end may be said.
fn says(constraint: &Constraint, codec: &TokenCodec, said: &[u32]) -> bool {
    let mut walk = begin(constraint, codec);
    for &token in said {
        if !is_allowed(&mut walk, token) {
            return false;
        }
        walk.push(token).unwrap();
    }
    codec.ends.iter().all(|&end| is_allowed(&mut walk, end))
}

/// An answer of tokens that are drawn evenly of those that may come; none if it gets too long.
fn drawn(constraint: &Constraint, codec: &TokenCodec, seed: Seed) -> Option<String> {
    let (mut walk, mut said) = (begin(constraint, codec), Vec::new());
    for place in 0..60 {
        let next = tokens(&mut walk);
        let next = next[seed.at(place).index(next.len())];
        if codec.ends.contains(&next) {
            return Some(codec.tokenizer.decode(&said).unwrap());
        }
        said.push(next);
        walk.push(next).unwrap();
    }
    None
}

fn answers(constraint: &Constraint, codec: &TokenCodec) -> BTreeSet<String> {
    (0..200).filter_map(|seed| drawn(constraint, codec, Seed::new(seed))).collect()
}

#[test]
fn a_choice_is_said_in_any_tokens_that_spell_it_and_nothing_else_is() {
    let choices = ["up", "down", "up up"];
    let constraint = Constraint::Choices(texts(&choices));
    for codec in [words_codec(), bytes_codec(), pieces_codec()] {
        let expected: BTreeSet<String> = choices.map(str::to_owned).into();
        assert_eq!(answers(&constraint, &codec), expected);
        for choice in choices {
            let said = codec.tokenizer.encode(choice).unwrap();
            assert!(says(&constraint, &codec, &said), "{choice}: {said:?}");
        }
        assert!(!says(&constraint, &codec, &codec.tokenizer.encode("up down").unwrap()));
    }
    let letters = bytes_codec().tokenizer.encode("u").unwrap();
    assert!(!says(&constraint, &bytes_codec(), &letters), "an answer that is only begun");
}

#[test]
fn where_nothing_more_can_be_said_the_answer_ends() {
    let constraint = Constraint::Choices(texts(&["down"]));
    for codec in [words_codec(), bytes_codec()] {
        let mut walk = begin(&constraint, &codec);
        codec.tokenizer.encode("down").unwrap().into_iter().for_each(|t| walk.push(t).unwrap());
        assert_eq!(tokens(&mut walk), codec.ends.to_vec());
    }
}

#[test]
fn words_have_a_space_between_them_and_there_is_one_at_least() {
    let known = ["up", "down", "go"];
    let constraint = Constraint::Words(texts(&known));
    for codec in [words_codec(), bytes_codec(), pieces_codec()] {
        let answers = answers(&constraint, &codec);
        assert!(answers.iter().any(|answer| answer.contains(' ')), "{answers:?}");
        for answer in &answers {
            assert!(answer.split(' ').all(|word| known.contains(&word)), "{answer:?}");
        }
        assert!(!says(&constraint, &codec, &[]));
        let said = codec.tokenizer.encode("go up down down").unwrap();
        assert!(says(&constraint, &codec, &said), "{said:?}");
    }
}

#[test]
fn a_word_that_begins_another_is_not_taken_for_it() {
    let tokenizer = Tokenizer::from_words(&texts(&["w1", "w11", "w"])).unwrap();
    let codec = TokenCodec { tokenizer: Arc::new(tokenizer), ends: [2].into(), thoughts: None };
    for constraint in [Constraint::Words(texts(&["w11"])), Constraint::Choices(texts(&["w11"]))] {
        assert_eq!(tokens(&mut begin(&constraint, &codec)), codec.tokenizer.encode("w11").unwrap());
    }
}

#[test]
fn json_of_words_is_said_in_words() {
    let tokenizer = Tokenizer::from_words(&texts(&["{\"a\":", "1}", "2}", "up"])).unwrap();
    let codec = TokenCodec { tokenizer: Arc::new(tokenizer), ends: [2].into(), thoughts: None };
    let schema = json!({
        "type": "object", "properties": { "a": { "enum": [1, 2] } }, "required": ["a"],
        "additionalProperties": false,
    });
    let expected = ["{\"a\": 1}", "{\"a\": 2}"].map(str::to_owned);
    assert_eq!(answers(&Constraint::Schema(Arc::new(schema)), &codec), expected.into());
}

#[test]
fn json_fits_its_schema_and_stands_on_one_line() {
    let schema = json!({
        "$defs": { "way": { "enum": ["up", "down"] } },
        "type": "object",
        "properties": { "why": { "type": "string", "maxLength": 3 }, "way": { "$ref": "#/$defs/way" } },
        "required": ["why", "way"], "additionalProperties": false,
    });
    let constraint = Constraint::Schema(Arc::new(schema));
    for codec in [bytes_codec(), pieces_codec()] {
        let answers = answers(&constraint, &codec);
        assert!(answers.len() > 20, "{answers:?}");
        for answer in answers {
            let said: Value = serde_json::from_str(&answer).unwrap();
            assert!(["up", "down"].contains(&said["way"].as_str().unwrap()), "{answer}");
            assert!(said["why"].as_str().unwrap().chars().count() <= 3, "{answer}");
            assert!(answer.starts_with("{\"why\": ") && !answer.contains('\n'), "{answer}");
        }
    }
}

#[test]
fn any_sign_may_stand_in_a_choice() {
    let odd = r#"a/b\c.+*?()|[]{}^$#&-~<>="':;,!@%`_"#;
    let constraint = Constraint::Choices(texts(&[odd, "x\ny"]));
    let codec = bytes_codec();
    assert_eq!(answers(&constraint, &codec), BTreeSet::from([odd.to_owned(), "x\ny".to_owned()]));
}

#[test]
fn a_thought_may_come_first_and_what_follows_it_is_the_answer() {
    let constraint = Constraint::Choices(texts(&["up"]));
    let plain = bytes_codec();
    let codec = TokenCodec { thoughts: plain.tokenizer.thought_marks(), ..plain };
    let automaton = codec.automaton(&constraint, 120).unwrap();
    let (begin, end) = (2, 3);
    let say = |walk: &mut Walk, text: &str| {
        for token in codec.tokenizer.encode(text).unwrap() {
            assert!(is_allowed(walk, token), "{text}");
            walk.push(token).unwrap();
        }
    };
    // The policy begins to think, or its prompt has done so, or has thought for it.
    let (mut own, mut begun, mut over) =
        (automaton.begin(&[9]), automaton.begin(&[9, begin]), automaton.begin(&[begin, end]));
    assert!(is_allowed(&mut own, begin) && !is_allowed(&mut over, begin));
    own.push(begin).unwrap();
    for mut walk in [own, std::mem::replace(&mut begun, automaton.begin(&[9]))] {
        say(&mut walk, "down or left");
        assert!(!is_allowed(&mut walk, 0), "a thought is no answer");
        assert!(is_allowed(&mut walk, end));
        walk.push(end).unwrap();
        say(&mut walk, "\n\nup");
        assert_eq!(tokens(&mut walk), [0, 1]);
    }
    say(&mut over, "up");
    assert!(!is_allowed(&mut over, begin) && is_allowed(&mut over, 1));
    say(&mut begun, "up");
    assert!(!is_allowed(&mut begun, begin), "it has begun to answer");
}

#[test]
fn what_a_policy_cannot_say_or_nobody_is_refused_by_name() {
    let refusal = |constraint: Constraint, codec: &TokenCodec| {
        codec.automaton(&constraint, 120).unwrap_err().to_string()
    };
    let unknown = refusal(Constraint::Choices(texts(&["up", "right"])), &words_codec());
    assert!(unknown.contains("`right`") && unknown.contains("`allowed`"), "{unknown}");
    let foreign = refusal(Constraint::Words(texts(&["\u{e9}t\u{e9}"])), &bytes_codec());
    assert!(foreign.contains("\u{e9}t\u{e9}"), "{foreign}");
    let none = refusal(Constraint::Words(texts(&[])), &words_codec());
    assert!(none.contains("`choices`"), "{none}");
    let odd = refusal(Constraint::Schema(Arc::new(json!({ "uniqueItems": true }))), &bytes_codec());
    assert!(odd.contains("uniqueItems"), "{odd}");
    let wordy = refusal(Constraint::Schema(Arc::new(json!({ "type": "object" }))), &words_codec());
    assert!(wordy.contains("`allowed`"), "{wordy}");
}

#[test]
fn a_rule_is_made_once_for_a_tokenizer() {
    let (codec, constraint) = (words_codec(), Constraint::Words(texts(&["up"])));
    let first = codec.automaton(&constraint, 8).unwrap();
    assert!(Arc::ptr_eq(&first, &codec.automaton(&constraint, 8).unwrap()));
    let other = codec.automaton(&Constraint::Choices(texts(&["up"])), 8).unwrap();
    assert!(!Arc::ptr_eq(&first, &other));
}
