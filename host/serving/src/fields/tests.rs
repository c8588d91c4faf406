//! Every field of a request, in a row: values that are fine, and one that is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::question::Question;
use crate::tests::api;
use crate::{Model, PolicyApi};

const TOOL: &str = r#"{"type":"function","function":{"name":"look","parameters":{}}}"#;

/// Name, values that are fine beside `null`, and values that are refused, as JSON.
type Row = (&'static str, &'static [&'static str], &'static [&'static str]);

const ROWS: &[Row] = &[
    ("add_generation_prompt", &["true", "false"], &["\"yes\""]),
    ("add_special_tokens", &["true", "false"], &["1"]),
    ("allowed_token_ids", &[], &["[4]"]),
    ("audio", &[], &[r#"{"voice":"alloy","format":"wav"}"#]),
    ("bad_words", &["[]"], &["[\"the\"]"]),
    ("best_of", &["1"], &["2", "0"]),
    ("cache_salt", &["\"x\""], &[]),
    ("chat_template", &[], &["\"{{ messages }}\""]),
    (
        "chat_template_kwargs",
        &["{}", r#"{"effort":"low"}"#, r#"{"enable_thinking":false}"#],
        &["1", r#"{"unread":1}"#, r#"{"enable_thinking":true}"#, r#"{"messages":[]}"#],
    ),
    ("continue_final_message", &["false"], &["true"]),
    ("custom_logit_processor", &[], &["\"x\""]),
    ("custom_params", &["{}"], &[r#"{"a":1}"#]),
    ("documents", &["[]", r#"[{"text":"the"}]"#], &["\"x\""]),
    ("early_stopping", &["false"], &["true"]),
    ("ebnf", &[], &["\"x\""]),
    ("echo", &["false"], &["true"]),
    ("frequency_penalty", &["0", "0.0"], &["0.5", "\"x\""]),
    ("function_call", &["\"none\"", "\"auto\""], &[r#"{"name":"look"}"#]),
    ("functions", &["[]"], &[r#"[{"name":"look"}]"#]),
    ("guided_choice", &[], &["[\"a\"]"]),
    ("guided_decoding_backend", &[], &["\"x\""]),
    ("guided_grammar", &[], &["\"x\""]),
    ("guided_json", &[], &["{}"]),
    ("guided_regex", &[], &["\"x\""]),
    ("guided_whitespace_pattern", &[], &["\"x\""]),
    ("ignore_eos", &["false"], &["true"]),
    ("include_reasoning", &["true"], &["false"]),
    ("include_stop_str_in_output", &["false"], &["true"]),
    ("json_schema", &[], &["\"{}\""]),
    ("kv_transfer_params", &["{}"], &[r#"{"a":1}"#]),
    ("length_penalty", &["1", "1.0"], &["2"]),
    ("logit_bias", &["{}"], &[r#"{"4":9}"#, "\"x\""]),
    ("logits_processors", &["[]"], &["[\"x\"]"]),
    ("lora_path", &[], &["\"x\""]),
    ("max_completion_tokens", &["3"], &["\"3\"", "-1"]),
    ("max_tokens", &["3"], &["\"3\"", "-1", "2.5"]),
    ("metadata", &["{}", r#"{"a":"b"}"#], &[]),
    ("min_p", &["0", "0.1"], &["\"x\""]),
    ("min_tokens", &["0"], &["3"]),
    ("mm_processor_kwargs", &["{}"], &[r#"{"a":1}"#]),
    ("modalities", &["[\"text\"]"], &["[\"text\",\"audio\"]"]),
    ("model", &["\"tiny\""], &["3"]),
    ("moderation", &[], &[r#"{"model":"x"}"#]),
    ("n", &["1"], &["0", "257", "-1", "\"x\""]),
    ("no_stop_trim", &["false"], &["true"]),
    ("parallel_tool_calls", &["true", "false"], &["1"]),
    ("prediction", &[r#"{"type":"content","content":"x"}"#], &[]),
    ("presence_penalty", &["0"], &["1"]),
    ("priority", &["3"], &[]),
    ("prompt_cache_key", &["\"x\""], &[]),
    ("prompt_cache_options", &["{}"], &[]),
    ("prompt_cache_retention", &["\"24h\""], &[]),
    ("prompt_logprobs", &[], &["0", "1"]),
    ("reasoning_effort", &[], &["\"low\"", "\"medium\""]),
    ("regex", &[], &["\"x\""]),
    ("repetition_penalty", &["1", "1.2"], &["\"x\""]),
    ("request_id", &["\"x\""], &[]),
    ("response_format", &[r#"{"type":"text"}"#], &[r#"{"type":"json_object"}"#, "\"text\""]),
    ("return_hidden_states", &["false"], &["true"]),
    ("return_token_ids", &["true", "false"], &["\"x\""]),
    ("return_tokens_as_token_ids", &["true", "false"], &["\"x\""]),
    ("rid", &["\"x\""], &[]),
    ("safety_identifier", &["\"x\""], &[]),
    ("seed", &["1", "-7"], &["\"x\"", "1.5"]),
    ("separate_reasoning", &["false"], &["true"]),
    ("service_tier", &["\"auto\"", "\"flex\""], &[]),
    ("session_params", &["{}"], &[r#"{"id":1}"#]),
    ("skip_special_tokens", &["true"], &["false"]),
    ("spaces_between_special_tokens", &["true", "false"], &[]),
    ("stop", &["\"the\"", "[\"a\",\"the\"]", "[]"], &["\"\"", "[\"a\",\"\"]", "3"]),
    ("stop_regex", &["[]"], &["\"x\""]),
    ("stop_token_ids", &["[]", "[2]"], &["[4]", "[2,4]", "3"]),
    ("store", &["true", "false"], &[]),
    ("stream", &["true", "false"], &["\"x\""]),
    (
        "stream_options",
        &[
            "{}",
            r#"{"include_usage":true}"#,
            r#"{"include_usage":null,"include_obfuscation":false,"continuous_usage_stats":false}"#,
        ],
        &[
            "true",
            r#"{"include_usage":1}"#,
            r#"{"continuous_usage_stats":true}"#,
            r#"{"made_up":1}"#,
        ],
    ),
    ("stream_reasoning", &["true", "false"], &[]),
    ("structural_tag", &[], &["{}"]),
    ("structured_outputs", &[], &["{}"]),
    ("suffix", &["\"\""], &["\"x\""]),
    ("temperature", &["0", "0.7"], &["\"x\""]),
    ("thinking_token_budget", &[], &["5"]),
    (
        "tool_choice",
        &["\"auto\"", "\"none\""],
        &["\"required\"", r#"{"type":"function","function":{"name":"look"}}"#],
    ),
    (
        "tools",
        &["[]", r#"[{"type":"function","function":{"name":"look","parameters":{}}}]"#],
        &[
            "\"x\"",
            "[3]",
            r#"[{"type":"custom","custom":{"name":"x"}}]"#,
            r#"[{"type":"function","function":{"name":"look","strict":true}}]"#,
        ],
    ),
    ("top_k", &["-1", "0", "5"], &["-2", "\"x\"", "1.5"]),
    ("top_logprobs", &["0"], &["1"]),
    ("top_p", &["1", "0.9"], &["\"x\""]),
    ("truncate_prompt_tokens", &["-1"], &["5"]),
    ("use_beam_search", &["false"], &["true"]),
    ("user", &["\"x\""], &[]),
    ("verbosity", &["\"medium\""], &["\"low\""]),
    ("vllm_xargs", &["{}"], &[r#"{"a":1}"#]),
    ("web_search_options", &[], &["{}"]),
];

/// Fields whose values depend on the kind of request.
const BY_FORM: &[(Form, &str, &[&str], &[&str])] = &[
    (Form::Chat, "logprobs", &["true", "false"], &["0", "2"]),
    (Form::Text, "logprobs", &["0"], &["1", "5", "true"]),
    (Form::Chat, "messages", &[r#"[{"role":"user","content":"the"}]"#], &["1", "[]", "[1]"]),
    (
        Form::Text,
        "prompt",
        &["\"the\"", "[4,5]", "[\"the\",\"an\"]", "[[4,5],[6]]"],
        &["1", "[\"the\",4]", "{}"],
    ),
];

fn base(form: Form) -> Map<String, Value> {
    let asked = match form {
        Form::Chat => json!({ "messages": [{ "role": "user", "content": "the" }], "seed": 3 }),
        Form::Text => json!({ "prompt": "the", "seed": 3 }),
    };
    asked.as_object().unwrap().clone()
}

fn read(
    form: Form,
    asked: &Map<String, Value>,
    models: &[Arc<Model>],
) -> Result<Question, Refused> {
    Question::read(form, serde_json::to_string(asked).unwrap().as_bytes(), models)
}

/// What the engine is asked, in words.
fn said(question: &Question) -> String {
    let Question {
        prompts,
        sampling,
        seeds,
        streams,
        tells_usage,
        wants_logprobs,
        wants_ids,
        names_ids,
        ..
    } = question;
    format!(
        "{prompts:?} {sampling:?} {seeds:?} {streams} {tells_usage} {wants_logprobs} {wants_ids} {names_ids}"
    )
}

fn try_field(api: &PolicyApi, form: Form, (name, fine, refused): Row) {
    let models = api.models();
    let with = |text: &str| {
        let mut asked = base(form);
        asked.insert(name.to_owned(), serde_json::from_str(text).unwrap());
        asked
    };
    for text in fine {
        let error = read(form, &with(text), &models).err();
        assert_eq!(error, None, "{form:?} {name} {text}");
    }
    for text in refused {
        let Err(error) = read(form, &with(text), &models) else {
            panic!("{form:?} {name} {text} is not refused");
        };
        let error = error.to_json();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(name), "{form:?} {name} {text}: {message}");
    }
    if !["messages", "prompt", "seed"].contains(&name) {
        let plain = read(form, &base(form), &models).map(|question| said(&question));
        let none = read(form, &with("null"), &models).map(|question| said(&question));
        assert_eq!(none, plain, "{form:?} {name}: null is as good as nothing");
    }
}

#[test]
fn every_field_is_heeded_or_without_effect_or_refused_and_null_is_none() {
    let api = api();
    let mut tried: BTreeSet<(&str, &str)> = BTreeSet::new();
    let by_form =
        BY_FORM.iter().map(|(form, name, fine, refused)| (*form, (*name, *fine, *refused)));
    let all = [Form::Chat, Form::Text].into_iter();
    let rows = all.flat_map(|form| ROWS.iter().map(move |row| (form, *row))).chain(by_form);
    for (form, row) in rows {
        let known = REQUEST.iter().find(|field| field.name == row.0).unwrap();
        if known.is_of(form.word()) {
            try_field(&api, form, row);
            tried.insert((form.word(), known.name));
        }
    }
    for field in REQUEST {
        for form in ["chat", "completion"].into_iter().filter(|form| field.is_of(form)) {
            assert!(tried.contains(&(form, field.name)), "`{}` of a {form} has no row", field.name);
        }
    }
}

#[test]
fn a_field_that_is_none_is_refused_by_its_name() {
    let api = api();
    let models = api.models();
    for (form, name, expected) in [
        (
            Form::Chat,
            "made_up",
            "there is no field `made_up` in a request for a chat; leave it out",
        ),
        (
            Form::Text,
            "made_up",
            "there is no field `made_up` in a request for a completion; leave it out",
        ),
        (Form::Chat, "temprature", "did you mean `temperature`?"),
        (Form::Chat, "prompt", "no field `prompt` in a request for a chat"),
        (Form::Text, "messages", "no field `messages` in a request for a completion"),
        (Form::Chat, "suffix", "no field `suffix` in a request for a chat"),
    ] {
        let mut asked = base(form);
        asked.insert(name.to_owned(), json!([1]));
        let error = read(form, &asked, &models).err().unwrap().to_json();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
        assert_eq!(error["error"]["param"], name);
        asked.insert(name.to_owned(), Value::Null);
        assert_eq!(read(form, &asked, &models).err(), None, "{name}: null is as good as nothing");
    }
}

#[test]
fn fields_that_depend_on_each_other_are_looked_at_together() {
    let api = api();
    let models = api.models();
    for (form, asked, expected) in [
        (
            Form::Chat,
            json!({ "tools": [serde_json::from_str::<Value>(TOOL).unwrap()], "parallel_tool_calls": false }),
            "parallel_tool_calls",
        ),
        (Form::Chat, json!({ "max_tokens": 3, "max_completion_tokens": 4 }), "max_tokens"),
        (Form::Text, json!({ "n": 2, "best_of": 3 }), "best_of"),
    ] {
        let mut all = base(form);
        all.extend(asked.as_object().unwrap().clone());
        let error = read(form, &all, &models).err().unwrap().to_json();
        assert_eq!(error["error"]["param"], expected);
    }
    let mut same = base(Form::Text);
    same.extend(
        json!({ "n": 2, "best_of": 2, "max_tokens": 3, "max_completion_tokens": null })
            .as_object()
            .unwrap()
            .clone(),
    );
    assert_eq!(read(Form::Text, &same, &models).err(), None);
}

#[test]
fn a_prompt_that_takes_all_there_is_leaves_no_room_also_where_no_length_is_said() {
    let api = api();
    let models = api.models();
    let full = json!({ "prompt": vec![4; models[0].positions] });
    let error = read(Form::Text, full.as_object().unwrap(), &models).err().unwrap().to_json();
    assert!(error["error"]["message"].as_str().unwrap().contains("leaves no room"), "{error}");
}

/// Each with the message's other fields as they should be.
#[test]
fn every_field_of_a_message_is_heeded_or_refused() {
    let api = api();
    let models = api.models();
    let call =
        r#"{"id":"c","type":"function","function":{"name":"look","arguments":"{\"at\":\"it\"}"}}"#;
    let calls = |change: &str, to: &str| format!("[{}]", call.replacen(change, to, 1));
    for (role, name, fine, refused) in [
        ("system", "content", vec!["\"the\"".to_owned()], vec!["null".to_owned(), "3".to_owned()]),
        ("developer", "content", vec!["\"the\"".to_owned()], vec![]),
        (
            "user",
            "content",
            vec![
                r#"[{"type":"text","text":"a"},{"type":"text","text":"n"}]"#.to_owned(),
                r#"[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]"#.to_owned(),
            ],
            vec![
                r#"[{"type":"image_url","image_url":{"url":"x"}}]"#.to_owned(),
                r#"[{"type":"input_audio","input_audio":{}}]"#.to_owned(),
                r#"[{"type":"refusal","refusal":"no"}]"#.to_owned(),
                r#"[{"type":"text"}]"#.to_owned(),
                r#"[{"type":"text","text":"a","made_up":1}]"#.to_owned(),
                "[3]".to_owned(),
            ],
        ),
        ("user", "name", vec!["\"ann\"".to_owned(), "null".to_owned()], vec!["3".to_owned()]),
        ("user", "tool_calls", vec!["null".to_owned()], vec![calls("", "")]),
        ("user", "made_up", vec!["null".to_owned()], vec!["1".to_owned()]),
        (
            "user",
            "role",
            vec![],
            vec!["\"function\"".to_owned(), "3".to_owned(), "null".to_owned()],
        ),
        ("assistant", "content", vec!["null".to_owned(), "\"\"".to_owned()], vec!["3".to_owned()]),
        (
            "assistant",
            "tool_calls",
            vec![
                calls("", ""),
                "[]".to_owned(),
                "null".to_owned(),
                calls(r#""{\"at\":\"it\"}""#, r#"{"at":"it"}"#),
                calls(r#""{\"at\":\"it\"}""#, "null"),
                calls(r#""id""#, r#""index":0,"id""#),
            ],
            vec![
                "3".to_owned(),
                "[3]".to_owned(),
                calls(r#"{\"at\""#, r#"{at\""#),
                calls(r#""{\"at\":\"it\"}""#, "\"[1]\""),
                calls("function", "custom"),
                calls(r#""name":"look","#, ""),
                calls(r#""id""#, r#""made_up":1,"id""#),
                calls(r#""name""#, r#""strict":true,"name""#),
            ],
        ),
        ("assistant", "reasoning_content", vec!["\"so\"".to_owned()], vec!["3".to_owned()]),
        ("assistant", "reasoning", vec!["\"so\"".to_owned()], vec!["3".to_owned()]),
        (
            "assistant",
            "refusal",
            vec!["null".to_owned(), "\"\"".to_owned()],
            vec!["\"no\"".to_owned()],
        ),
        ("assistant", "audio", vec!["null".to_owned()], vec![r#"{"id":"x"}"#.to_owned()]),
        (
            "assistant",
            "function_call",
            vec!["null".to_owned()],
            vec![r#"{"name":"look","arguments":""}"#.to_owned()],
        ),
        (
            "assistant",
            "annotations",
            vec!["[]".to_owned()],
            vec![r#"[{"type":"url_citation"}]"#.to_owned()],
        ),
        ("tool", "tool_call_id", vec!["\"c\"".to_owned()], vec!["3".to_owned()]),
        ("tool", "name", vec!["\"look\"".to_owned()], vec!["3".to_owned()]),
        ("user", "tool_call_id", vec!["null".to_owned()], vec!["\"c\"".to_owned()]),
    ] {
        let ask = |value: &str| {
            let mut message = json!({ "role": role, "content": "the" });
            message[name] = serde_json::from_str(value).unwrap();
            let mut asked = base(Form::Chat);
            asked.insert("messages".to_owned(), json!([message]));
            read(Form::Chat, &asked, &models)
        };
        for value in fine {
            assert_eq!(ask(&value).err(), None, "{role} {name} {value}");
        }
        for value in refused {
            let Err(error) = ask(&value) else { panic!("{role} {name} {value} is not refused") };
            let error = error.to_json().to_string();
            assert!(error.contains(name), "{role} {name} {value}: {error}");
        }
    }
}
