//! Tokenizers of words, and what their files may say.

use super::*;

fn tokenizer() -> Tokenizer {
    let words: Vec<String> = ["up", "down", "W(1,2)"].map(str::to_owned).to_vec();
    Tokenizer::from_words(&words).unwrap()
}

#[test]
fn words_become_tokens_and_specials_are_left_out_of_text() {
    let tokenizer = tokenizer();
    let tokens = tokenizer.encode("W(1,2)  up\nnowhere <|assistant|>").unwrap();
    assert_eq!(tokens, [6, 4, 1, 3]);
    assert_eq!(tokenizer.decode(&[6, 4, 2, 0]).unwrap(), "W(1,2) up");
    assert_eq!(tokenizer.vocabulary_size(), 7);
}

#[test]
fn unknown_words_are_named_once() {
    assert_eq!(tokenizer().unknown_words("left up right left"), ["left", "right"]);
}

#[test]
fn saved_and_loaded_it_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    tokenizer().save(folder.path()).unwrap();
    let loaded = Tokenizer::load(folder.path()).unwrap();
    assert_eq!(loaded.encode("down <eos>").unwrap(), tokenizer().encode("down <eos>").unwrap());
    assert_eq!(loaded.unknown_words("left"), ["left"]);
}

#[test]
fn every_file_that_came_with_it_is_kept_byte_by_byte() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tokenizer().save(from.path()).unwrap();
    std::fs::write(from.path().join("merges.txt"), "#version: 0.2\n").unwrap();
    std::fs::write(from.path().join("special_tokens_map.json"), " {} ").unwrap();
    Tokenizer::load(from.path()).unwrap().save(to.path()).unwrap();
    let names = troupe_core::storage::list_folder(from.path()).unwrap();
    assert_eq!(names, troupe_core::storage::list_folder(to.path()).unwrap());
    assert_eq!(names.len(), 4);
    for name in names {
        let read = |folder: &Path| std::fs::read(folder.join(&name)).unwrap();
        assert_eq!(read(from.path()), read(to.path()), "{name}");
    }
}

#[test]
fn files_that_are_missing_or_damaged_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let load = || Tokenizer::load(folder.path()).unwrap_err().to_string();
    assert!(load().contains("tokenizer.json"), "{}", load());
    std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    assert!(load().contains("`tokenizer.json` cannot be understood"), "{}", load());
    tokenizer().save(folder.path()).unwrap();
    std::fs::write(folder.path().join("tokenizer_config.json"), "{").unwrap();
    assert!(load().contains("`tokenizer_config.json` is not JSON"), "{}", load());
}

/// A folder with a tokenizer of words whose files were changed.
fn changed(change: impl FnOnce(&mut Value, &mut Value)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    tokenizer().save(folder.path()).unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut file: Value = troupe_core::storage::read_json(&path(FILES[0])).unwrap();
    let mut settings: Value = troupe_core::storage::read_json(&path(FILES[1])).unwrap();
    change(&mut file, &mut settings);
    std::fs::write(path(FILES[0]), file.to_string()).unwrap();
    std::fs::write(path(FILES[1]), settings.to_string()).unwrap();
    folder
}

fn refusal(change: impl FnOnce(&mut Value, &mut Value)) -> Option<String> {
    Tokenizer::load(changed(change).path()).err().map(|error| error.to_string())
}

#[test]
fn nothing_is_cut_off_or_filled_up() {
    let folder = changed(|file, _| {
        file["truncation"] = json!({
            "direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0,
        });
        file["padding"] = json!({
            "strategy": { "Fixed": 9 }, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": PAD,
        });
    });
    let loaded = Tokenizer::load(folder.path()).unwrap();
    for text in ["up", "up down up down up"] {
        assert_eq!(loaded.encode(text).unwrap(), tokenizer().encode(text).unwrap());
        assert_eq!(loaded.encode_begun(text).unwrap(), tokenizer().encode(text).unwrap());
    }
}

#[test]
fn a_text_begins_as_the_post_processor_says_whatever_the_settings_say() {
    let begun = json!([
        { "SpecialToken": { "id": PAD, "type_id": 0 } },
        { "Sequence": { "id": "A", "type_id": 0 } },
    ]);
    let begins = json!({
        "type": "TemplateProcessing", "single": begun, "pair": begun,
        "special_tokens": { PAD: { "id": PAD, "ids": [0], "tokens": [PAD] } },
    });
    for (processor, expected) in [(begins, &[0, 4][..]), (Value::Null, &[4])] {
        for adds in [Value::Null, json!(true), json!(false)] {
            let folder = changed(|file, settings| {
                file["post_processor"] = processor.clone();
                settings["add_bos_token"] = adds;
            });
            let loaded = Tokenizer::load(folder.path()).unwrap();
            assert_eq!(loaded.encode_begun("up").unwrap(), expected);
            assert_eq!(loaded.encode("up").unwrap(), [4], "a chat template says it itself");
        }
    }
}

#[test]
fn tokens_that_are_only_listed_by_their_ids_are_there() {
    let listed = |special: bool| json!({ "content": "<new>", "special": special });
    for (special, text) in [(false, "up <new>"), (true, "up")] {
        let folder = changed(|_, settings| {
            settings["added_tokens_decoder"] = json!({ "7": listed(special) });
        });
        let loaded = Tokenizer::load(folder.path()).unwrap();
        assert_eq!(loaded.encode("up<new>").unwrap(), [4, 7]);
        assert_eq!(loaded.decode(&[4, 7]).unwrap(), text);
        assert_eq!(loaded.vocabulary_size(), 8);
    }
    let older = changed(|_, _| ());
    std::fs::write(older.path().join(FILES[3]), r#"{"<new>": 7}"#).unwrap();
    assert_eq!(Tokenizer::load(older.path()).unwrap().encode("up<new>").unwrap(), [4, 7]);
    let both = changed(|_, settings| {
        settings["added_tokens_decoder"] = json!({ "7": listed(true) });
    });
    std::fs::write(both.path().join(FILES[3]), r#"{"<other>": 7}"#).unwrap();
    assert_eq!(Tokenizer::load(both.path()).unwrap().encode("up<new>").unwrap(), [4, 7]);
}

#[test]
fn a_special_token_of_the_vocabulary_is_one_by_its_name() {
    let special = |settings: Value| {
        let folder = changed(|_, own| {
            own.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        });
        Tokenizer::load(folder.path()).unwrap().decode(&[5, 4]).unwrap()
    };
    assert_eq!(special(json!({})), "down up");
    for settings in [
        json!({ "mask_token": "up" }),
        json!({ "extra_special_tokens": ["up"] }),
        json!({ "extra_special_tokens": { "image_token": "up" } }),
        json!({ "additional_special_tokens": [{ "content": "up" }] }),
    ] {
        assert_eq!(special(settings.clone()), "down", "{settings}");
    }
    let both = json!({ "extra_special_tokens": ["up"], "additional_special_tokens": ["down"] });
    assert_eq!(special(both), "down", "the newer name counts");
    let named = changed(|_, _| ());
    std::fs::write(named.path().join(FILES[2]), r#"{"mask_token": "up"}"#).unwrap();
    assert_eq!(Tokenizer::load(named.path()).unwrap().decode(&[5, 4]).unwrap(), "down");
}

/// One row a key: where it stands, values that change nothing, and one that is refused.
#[test]
fn what_would_change_tokens_and_is_not_done_is_refused_by_name() {
    for (key, neutral, setting) in [
        ("auto_map", json!({}), json!({ "AutoTokenizer": ["x", null] })),
        ("clean_up_tokenization_spaces", json!(false), json!(true)),
        (
            "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
            json!(false),
            json!(true),
        ),
        ("do_lower_case", json!(false), json!(true)),
        ("fix_mistral_regex", json!(false), json!(true)),
        ("split_special_tokens", json!(false), json!(true)),
        ("added_tokens_decoder", json!({}), json!({ "x": { "content": "<new>" } })),
        ("added_tokens_decoder", json!({}), json!({ "9": { "content": "<new>" } })),
        ("added_tokens_decoder", json!({}), json!({ "7": { "content": "<new>", "odd": 1 } })),
        ("added_tokens_decoder", json!({}), json!({ "5": { "content": "up" } })),
        ("made_up", json!(null), json!(1)),
    ] {
        for neutral in [neutral, Value::Null] {
            let error = refusal(|_, settings| settings[key] = neutral.clone());
            assert_eq!(error, None, "{key} {neutral}");
        }
        let error = refusal(|_, settings| settings[key] = setting.clone()).unwrap();
        let part = key.trim_end_matches("_decoder");
        let is_named = error.contains(part) || error.contains("`tokenizer_config.json` says");
        assert!(is_named, "{key} {setting}: {error}");
    }
    let dropout = |value: Value| refusal(|file, _| file["model"]["dropout"] = value);
    assert_eq!((dropout(Value::Null), dropout(json!(0.0))), (None, None));
    assert!(dropout(json!(0.1)).unwrap().contains("`dropout` is `0.1`"));
    let model = refusal(|file, _| file["model"]["made_up"] = json!(1)).unwrap();
    assert!(model.contains("in `model`, `made_up` is `1`"), "{model}");
    let file = refusal(|file, _| file["made_up"] = json!(1)).unwrap();
    assert!(file.contains("`tokenizer.json`: `made_up` is `1`"), "{file}");
    let gap = refusal(|file, _| {
        let more = special(9, "<new>");
        file["added_tokens"].as_array_mut().unwrap().push(more);
    });
    assert!(gap.unwrap().contains("is token 9, but it comes to be token 7"));
}

#[test]
fn a_word_with_white_space_is_refused() {
    let error = Tokenizer::from_words(&["a b".to_owned()]).unwrap_err().to_string();
    assert!(error.contains("`a b`"), "{error}");
}

#[test]
fn bytes_of_tokens_are_those_that_they_add_to_the_text() {
    let folder = changed(|file, _| {
        file["model"]["vocab"]["\u{2581}up"] = json!(7);
        file["decoder"] = json!({ "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "String": "\u{2581}" }, "content": " " },
            { "type": "ByteFallback" }, { "type": "Fuse" },
            { "type": "Strip", "content": " ", "start": 1, "stop": 0 },
        ] });
    });
    let pieces = Tokenizer::load(folder.path()).unwrap();
    for (tokenizer, tokens, text) in
        [(tokenizer(), [2, 4, 6, 3, 5], "up W(1,2) down"), (pieces, [2, 7, 4, 3, 7], "upup up")]
    {
        assert_eq!(tokenizer.decode(&tokens).unwrap(), text);
        assert_eq!(tokenizer.bytes_in_text(&tokens).concat(), text.as_bytes());
    }
}
