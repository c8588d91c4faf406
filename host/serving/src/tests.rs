//! A tiny policy whose tokens are parts of letters, and what is made of its answers.

use std::collections::BTreeMap;
use std::iter;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use serde_json::{Map, json};

use super::desk::Ticket;
use super::*;
use troupe_core::config::{LoraConfig, PolicyConfig};
use troupe_core::seed::Seed;
use troupe_core::trajectory::StopReason;
use troupe_model::Device;

/// Tokens beside the special ones: letters, parts of letters, and words.
const PIECES: [&[u8]; 40] = [
    b"e",
    b"t",
    b"h",
    b"a",
    b"n",
    b"i",
    b"r",
    b" ",
    b"\n",
    b"0",
    b"x",
    b"y",
    b"\xc3",
    b"\xa9",
    b"\xe2",
    b"\x82",
    b"\xac",
    b"\xf0",
    b"\x9f",
    b"\x98",
    b"\x80",
    b"\xef",
    b"\xbf",
    b"\xbd",
    b"th",
    b"the",
    b" a",
    b" the",
    b"in",
    b"er",
    b"ene",
    b"an",
    b"\xc3\xa9",
    b"\xe2\x82",
    b"\xe2\x82\xac",
    b"\xf0\x9f",
    b"\x98\x80",
    b"n e",
    b"ent",
    b"re",
];
/// The template: it shows all that a message may have.
const TEMPLATE: &str = "{% if tools %}{{ tools | length }}{% endif %}{{ documents }}{{ effort }}{% for m in messages %}{{ m.role }} {{ m.name }} {{ m.content }} {{ m.reasoning_content }}{{ m.reasoning }}{% for c in m.tool_calls or [] %}{{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

/// The letter that stands for a byte.
fn letter(byte: u8) -> char {
    let stands_for_itself = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    match stands_for_itself(byte) {
        true => char::from(byte),
        false => {
            let before = (0..byte).filter(|byte| !stands_for_itself(*byte)).count();
            char::from_u32(256 + before as u32).unwrap()
        }
    }
}

fn letters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| letter(*byte)).collect()
}

fn write_tokenizer(folder: &Path) {
    let specials = ["<pad>", "<unk>", "<eos>", "<|assistant|>"];
    let words = PIECES.iter().map(|piece| letters(piece));
    let all = specials.iter().map(|text| (*text).to_owned()).chain(words);
    let vocabulary: Map<String, Value> =
        all.enumerate().map(|(id, token)| (token, json!(id))).collect();
    let special = |(id, text): (usize, &&str)| {
        json!({
            "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        })
    };
    let added: Vec<Value> = specials.iter().enumerate().map(special).collect();
    let begun = json!([
        { "SpecialToken": { "id": "<pad>", "type_id": 0 } },
        { "Sequence": { "id": "A", "type_id": 0 } },
    ]);
    let file = json!({
        "version": "1.0", "added_tokens": added, "normalizer": null,
        "truncation": { "direction": "Right", "max_length": 3, "strategy": "LongestFirst",
            "stride": 0 },
        "padding": null,
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
            "use_regex": false },
        "post_processor": { "type": "TemplateProcessing", "single": begun, "pair": begun,
            "special_tokens": { "<pad>": { "id": "<pad>", "ids": [0], "tokens": ["<pad>"] } } },
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
            "use_regex": true },
        "model": { "type": "BPE", "vocab": vocabulary, "merges": [] },
    });
    let settings = json!({
        "pad_token": "<pad>", "eos_token": "<eos>", "chat_template": TEMPLATE,
        "clean_up_tokenization_spaces": true,
    });
    std::fs::write(folder.join("tokenizer.json"), file.to_string()).unwrap();
    std::fs::write(folder.join("tokenizer_config.json"), settings.to_string()).unwrap();
    std::fs::remove_file(folder.join("chat_template.jinja")).unwrap();
}

/// A policy that says anything, with a context of 4096 tokens.
pub(super) fn policy() -> Policy {
    let shape = PolicyConfig {
        hidden_size: 16,
        layers: 1,
        heads: 2,
        key_value_heads: 1,
        head_size: 8,
        intermediate_size: 16,
        ..PolicyConfig::default()
    };
    let words: Vec<String> = (0..PIECES.len()).map(|word| format!("w{word}")).collect();
    let folder = tempfile::tempdir().unwrap();
    let random = Policy::random(&shape, &words, Seed::new(11), Device::cpu()).unwrap();
    random.save(folder.path()).unwrap();
    write_tokenizer(folder.path());
    Policy::load(folder.path(), Device::cpu()).unwrap()
}

pub(super) fn api() -> PolicyApi {
    PolicyApi::new(vec![("tiny".to_owned(), policy())], None)
}

/// What an answer has when it was heard to its end, whoever is slower.
fn record(api: &PolicyApi, question: &Question) -> (Vec<News>, Ticket) {
    let (news, heard) = line(usize::MAX);
    let ticket = api.desk.ask(Job {
        model: question.model,
        prompts: question.prompts.clone(),
        seeds: question.seeds.clone(),
        sampling: question.sampling.clone(),
        streams: true,
        news,
    });
    (iter::from_fn(|| heard.hear()).collect(), ticket.unwrap())
}

/// The events of a stream to which this is told, but for the last.
fn events_of(
    question: Question,
    wording: &Wording,
    about: (String, u64),
    told: Vec<News>,
) -> Vec<Value> {
    let (news, heard) = line(usize::MAX);
    told.into_iter().for_each(|one| news.tell(one));
    let events = Events::new((question, "tiny".to_owned(), about), wording.clone(), heard, None);
    let events: Vec<String> = events.collect();
    let (last, events) = events.split_last().unwrap();
    assert_eq!(last, "[DONE]");
    events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// Pieces put together as a client does it: texts and lists are joined, and of everything else
/// the last counts.
fn put_together(events: &[Value]) -> Value {
    let mut whole = json!({});
    let mut choices: BTreeMap<u64, Value> = BTreeMap::new();
    for event in events {
        for (key, value) in event.as_object().unwrap() {
            match key.as_str() {
                "object" => whole[key] = json!(value.as_str().unwrap().replace(".chunk", "")),
                "choices" => value.as_array().unwrap().iter().for_each(|piece| {
                    let index = piece["index"].as_u64().unwrap();
                    let choice = choices.entry(index).or_insert(json!({}));
                    join(choice, piece);
                }),
                _ if !value.is_null() => whole[key] = value.clone(),
                _ => {}
            }
        }
    }
    whole["choices"] = choices.into_values().collect();
    whole
}

fn join(whole: &mut Value, piece: &Value) {
    for (key, value) in piece.as_object().unwrap() {
        let key = if key == "delta" { "message" } else { key.as_str() };
        let before = whole.get(key).filter(|before| !before.is_null()).cloned();
        whole[key] = match (before, value) {
            (None, value) => value.clone(),
            (Some(Value::String(before)), Value::String(more)) if key != "role" => {
                json!(before + more)
            }
            (Some(Value::Array(mut before)), Value::Array(more)) => {
                before.extend(more.clone());
                before.into()
            }
            (Some(mut before @ Value::Object(_)), Value::Object(_)) => {
                join(&mut before, value);
                before
            }
            (Some(before), Value::Null) => before,
            (Some(_), value) => value.clone(),
        };
    }
}

fn pick<T: Clone>(seed: Seed, of: &[T]) -> T {
    of[(seed.unit() * of.len() as f64) as usize].clone()
}

/// A request that nobody has thought of.
fn drawn(seed: Seed, form: Form) -> Value {
    let stops = [
        "e",
        "th",
        "the",
        "é",
        " a",
        "ne",
        "€",
        "er",
        "\u{fffd}",
        "ene",
        "e\n",
        "the é",
        "n en",
        "😀",
        "x\u{fffd}",
        "never said",
    ];
    let is_so = |what: &str| seed.named(what).unit() < 0.5;
    let stop: Vec<&str> = (0..pick(seed.named("stops"), &[0, 1, 1, 2, 4]))
        .map(|number| pick(seed.named("stop").at(number), &stops))
        .collect();
    let mut asked = json!({
        "max_tokens": pick(seed.named("tokens"), &[1, 2, 5, 9, 17, 30]),
        "n": pick(seed.named("n"), &[1, 1, 2, 3]),
        "temperature": pick(seed.named("temperature"), &[0.0, 0.7, 1.0, 1.5]),
        "seed": (seed.named("seed").unit() * 1e6) as i64,
        "stop": stop, "stream": true, "return_token_ids": is_so("ids"),
        "return_tokens_as_token_ids": is_so("names") && is_so("names of tokens"),
        "stream_options": { "include_usage": is_so("usage") },
    });
    let said = pick(seed.named("said"), &["the", "an é", "€ there", "", "in\nthe"]);
    match form {
        Form::Chat => {
            asked["messages"] = json!([{ "role": "user", "content": said }]);
            asked["logprobs"] = is_so("logprobs").into();
        }
        Form::Text => {
            asked["prompt"] = json!([said, "the"]);
            asked["logprobs"] = if is_so("logprobs") { json!(0) } else { Value::Null };
        }
    }
    asked
}

#[test]
fn a_thousand_streams_add_up_to_the_answers_in_one_piece() {
    let api = api();
    let models = api.models();
    let wording = models[0].wording.clone();
    let (mut pieces, mut stopped, mut parted) = (0, 0, 0);
    for number in 0..1200 {
        let form = if number < 1000 { Form::Chat } else { Form::Text };
        let asked = drawn(Seed::new(5).at(number), form);
        let read = || Question::read(form, asked.to_string().as_bytes(), &models).unwrap();
        let (recorded, _ticket) = record(&api, &read());
        let Some(News::Done(completions)) = recorded.last() else { panic!("{asked}") };
        let about = ("answer".to_owned(), 7);
        let mut whole = whole(&read(), "tiny", &about, &wording, completions);
        stopped += completions.iter().filter(|one| one.stop == StopReason::Sequence).count();
        parted += completions.iter().filter(|one| one.text.contains('\u{fffd}')).count();
        // A client that reads slowly is not told all of it on the way.
        let seed = Seed::new(6).at(number);
        let is_told = |(at, one): &(usize, &News)| {
            !matches!(one, News::Grown(_)) || seed.at(*at as u64).unit() < 0.3
        };
        let told = recorded.iter().enumerate().filter(is_told).map(|(_, one)| one.clone());
        let seldom = events_of(read(), &wording, about.clone(), told.collect());
        let events = events_of(read(), &wording, about, recorded);
        pieces += events.len();
        let together = put_together(&events);
        if together.get("usage").is_none() {
            whole.as_object_mut().unwrap().remove("usage");
        }
        assert_eq!(together, whole, "{asked}");
        assert_eq!(put_together(&seldom), whole, "{asked}");
    }
    assert!(pieces > 6000 && stopped > 500 && parted > 300, "{pieces} {stopped} {parted}");
}

#[test]
fn bytes_of_tokens_add_up_to_the_text_also_where_they_are_no_characters() {
    let api = api();
    let models = api.models();
    let wording = &models[0].wording;
    for number in 0..50 {
        let asked = json!({
            "messages": [{ "role": "user", "content": "the" }], "max_tokens": 20, "seed": number,
            "logprobs": true,
        });
        let question = Question::read(Form::Chat, asked.to_string().as_bytes(), &models).unwrap();
        let (recorded, _ticket) = record(&api, &question);
        let Some(News::Done(completions)) = recorded.last() else { panic!("{asked}") };
        let about = ("answer".to_owned(), 7);
        let whole = whole(&question, "tiny", &about, wording, completions);
        let content = &whole["choices"][0]["logprobs"]["content"];
        let bytes: Vec<u8> = (content.as_array().unwrap().iter())
            .flat_map(|token| token["bytes"].as_array().unwrap())
            .map(|byte| byte.as_u64().unwrap() as u8)
            .collect();
        assert_eq!(String::from_utf8_lossy(&bytes), completions[0].text);
    }
}

fn answer(api: &PolicyApi, path: &str, body: Option<Value>) -> (u16, Value) {
    let body = body.map(|body| body.to_string().into_bytes());
    match api.answer(&ApiRequest::new(path, body)) {
        ApiResponse::Json(status, text) => (status, serde_json::from_str(&text).unwrap()),
        ApiResponse::Events(_) => panic!("a stream"),
    }
}

#[test]
fn a_model_can_be_looked_at_by_its_name() {
    let api = PolicyApi::new(vec![("a/b c".to_owned(), policy())], None);
    let (_, all) = answer(&api, "/v1/models", None);
    for path in ["/v1/models/a/b c", "/v1/models/a%2Fb%20c"] {
        assert_eq!(answer(&api, path, None), (200, all["data"][0].clone()), "{path}");
    }
    let (status, said) = answer(&api, "/v1/models/other", None);
    let error = &said["error"];
    assert_eq!(
        (status, &error["code"], &error["param"]),
        (404, &json!("model_not_found"), &json!("model"))
    );
    assert!(error["message"].as_str().unwrap().contains("`a/b c`"), "{error}");
}

#[test]
fn of_two_clients_who_load_one_name_at_once_only_one_succeeds() {
    let (base, within) = (policy(), tempfile::tempdir().unwrap());
    let adapter = within.path().join("adapter");
    let lora = LoraConfig { rank: 2, ..LoraConfig::default() };
    base.adapt(&lora, Seed::new(1)).unwrap().save(&adapter).unwrap();
    let api = PolicyApi::new(vec![("tiny".to_owned(), base)], Some(within.path().to_owned()));
    // As vLLM's own clients say it.
    let load = json!({
        "lora_name": "mine", "lora_path": adapter, "load_inplace": false,
        "is_3d_lora_weight": false,
    });
    let stacked = json!({ "lora_name": "x", "lora_path": adapter, "is_3d_lora_weight": true });
    assert_eq!(answer(&api, "/v1/load_lora_adapter", Some(stacked)).0, 400);
    for _ in 0..8 {
        let together = Barrier::new(2);
        let ask = || {
            together.wait();
            answer(&api, "/v1/load_lora_adapter", Some(load.clone()))
        };
        let mut said = thread::scope(|scope| {
            [scope.spawn(ask), scope.spawn(ask)].map(|client| client.join().unwrap())
        });
        said.sort_by_key(|(status, _)| *status);
        let [(done, _), (refused, reason)] = said;
        assert_eq!((done, refused), (200, 400), "{reason}");
        assert!(reason.to_string().contains("has already been loaded"), "{reason}");
        assert_eq!(api.models().iter().filter(|model| model.name == "mine").count(), 1);
        let unload = || {
            let name = json!({ "lora_name": "mine" });
            answer(&api, "/v1/unload_lora_adapter", Some(name)).0
        };
        assert_eq!((unload(), unload()), (200, 404));
    }
}

#[test]
fn a_completion_begins_as_the_tokenizer_says_and_a_chat_as_its_template_says() {
    let api = api();
    let begins = |path: &str, asked: Value| {
        let mut all = json!({ "max_tokens": 1, "return_token_ids": true });
        all.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let (status, said) = answer(&api, path, Some(all));
        assert_eq!(status, 200, "{said}");
        let ids = said.get("prompt_token_ids").unwrap_or(&said["choices"][0]["prompt_token_ids"]);
        ids.as_array().unwrap().first() == Some(&json!(0))
    };
    let chat = json!([{ "role": "user", "content": "the" }]);
    for (path, key, said, begun) in [
        ("/v1/completions", "prompt", json!("the"), true),
        ("/v1/chat/completions", "messages", chat, false),
    ] {
        assert_eq!(begins(path, json!({ key: said })), begun);
        for wanted in [false, true] {
            assert_eq!(begins(path, json!({ key: said, "add_special_tokens": wanted })), wanted);
        }
    }
}

#[test]
fn a_stream_of_which_nothing_more_is_told_ends_with_an_error() {
    let api = api();
    let models = api.models();
    let asked = json!({ "prompt": "the", "max_tokens": 3, "stream": true }).to_string();
    let question = Question::read(Form::Text, asked.as_bytes(), &models).unwrap();
    let (news, heard) = line(MOST_UNHEARD);
    drop(news);
    let about = (question, "tiny".to_owned(), ("answer".to_owned(), 7));
    let events: Vec<String> = Events::new(about, models[0].wording.clone(), heard, None).collect();
    let [error, last] = &events[..] else { panic!("{events:?}") };
    assert!(error.contains(ENDED) && last == "[DONE]", "{events:?}");
}

#[test]
fn who_can_answer_nobody_any_more_says_so_of_its_health() {
    assert_eq!(answer(&api(), "/health", None).0, 200);
    let api = PolicyApi::new(Vec::new(), None);
    // An adapter over nothing is nothing that the thread is prepared for.
    assert!(api.desk.add(1, PathBuf::new()).is_err());
    while !api.desk.has_ended() {
        thread::yield_now();
    }
    let (status, said) = answer(&api, "/health", None);
    assert_eq!((status, &said["status"]), (503, &json!("failed")));
}
