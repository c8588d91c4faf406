//! What clients hear of a team that says what a test has it say.

use std::thread;

use super::*;

fn models() -> Vec<TeamModel> {
    ["sums", "sums/words"].map(|name| TeamModel { name: name.to_owned(), temperature: 0.8 }).into()
}

/// A team that answers with what it was asked.
fn parrots() -> TeamApi {
    let (api, asked) = TeamApi::new(models());
    thread::spawn(move || asked.into_iter().for_each(answer));
    api
}

fn answer(question: TeamQuestion) {
    let TeamQuestion { model, text, samples, seed, draws, told, .. } = &question;
    if text == "nonsense" {
        return told.send(Told::Refused("this is no question".to_owned())).unwrap();
    }
    for sample in (0..*samples).rev() {
        let say = |seat: &str, text: &str| {
            let (seat, text) = (seat.to_owned(), text.to_owned());
            told.send(Told::Said { sample, seat, text }).unwrap();
        };
        say("solver", text);
        say("verifier", &format!("{model} {seed} {draws}"));
        let answer = (text != "too long").then(|| format!("{text} {sample}"));
        let was_cut = answer.is_none();
        let spent = Totals { prompt_tokens: 5, completion_tokens: 2, ..Totals::default() };
        told.send(Told::Answered { sample, answer, was_cut, spent }).unwrap();
    }
}

fn request(more: &Value) -> Value {
    let mut request = json!({ "messages": [{ "role": "user", "content": "1 + 1" }] });
    let more = more.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(more);
    request
}

fn ask(more: &Value) -> Result<Value, (u16, Value)> {
    let body = request(more).to_string().into_bytes();
    match parrots().answer(&ApiRequest::new("/v1/chat/completions", Some(body))) {
        ApiResponse::Json(200, text) => Ok(serde_json::from_str(&text).unwrap()),
        ApiResponse::Json(status, text) => Err((status, serde_json::from_str(&text).unwrap())),
        ApiResponse::Events(events) => {
            Ok(events.filter(|event| event != "[DONE]").collect::<Vec<_>>().join("\n").into())
        }
    }
}

#[test]
fn every_episode_is_a_choice_with_its_conversation_and_its_answer() {
    let heard =
        ask(&json!({ "n": 2, "seed": 7, "temperature": 0.8, "model": "sums/words" })).unwrap();
    for index in 0..2 {
        let choice = &heard["choices"][index];
        assert_eq!(choice["index"], index);
        assert_eq!(choice["message"]["content"], format!("1 + 1 {index}"));
        let said = "solver: 1 + 1\n\nverifier: 1 7 true";
        assert_eq!(choice["message"]["reasoning_content"], said);
        assert_eq!(choice["finish_reason"], "stop");
    }
    assert_eq!(
        (&heard["model"], &heard["object"]),
        (&"sums/words".into(), &"chat.completion".into())
    );
    let used = json!({ "prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14 });
    assert_eq!(heard["usage"], used);
    let plain = ask(&json!({})).unwrap();
    assert_eq!(
        plain["choices"][0]["message"]["reasoning_content"],
        "solver: 1 + 1\n\nverifier: 0 0 false"
    );
}

#[test]
fn pieces_put_together_are_the_whole_answer() {
    let more = json!({ "n": 2, "seed": 3 });
    let whole = ask(&more).unwrap();
    let streamed = ask(&json!({
        "n": 2, "seed": 3, "stream": true, "stream_options": { "include_usage": true },
    }));
    let streamed = streamed.unwrap();
    let events: Vec<Value> =
        streamed.as_str().unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(events.last().unwrap()["usage"], whole["usage"]);
    for index in 0..2 {
        let own = events.iter().filter_map(|event| event["choices"].get(0));
        let own: Vec<&Value> = own.filter(|choice| choice["index"] == index).collect();
        for part in ["content", "reasoning_content"] {
            let joined: String = own.iter().filter_map(|one| one["delta"][part].as_str()).collect();
            assert_eq!(joined, whole["choices"][index]["message"][part], "{part}");
        }
        assert_eq!(own.last().unwrap()["finish_reason"], whole["choices"][index]["finish_reason"]);
        assert_eq!(own[0]["delta"]["role"], "assistant");
    }
}

#[test]
fn what_a_team_cannot_do_is_refused_by_name() {
    let user = |content: &str| json!({ "role": "user", "content": content });
    let system = json!({ "role": "system", "content": "Be brief." });
    for (more, field, said) in [
        (json!({ "temperature": 0.5 }), "temperature", "at 0, or draws as its run does, at 0.8"),
        (json!({ "n": 65 }), "n", "1 to 64"),
        (json!({ "n": 0 }), "n", "1 to 64"),
        (json!({ "seed": -1 }), "seed", "cannot be read"),
        (json!({ "model": "other" }), "model", "there are `sums`, `sums/words`"),
        (json!({ "messages": [] }), "messages", "says nothing"),
        (json!({ "messages": [user(" ")] }), "messages", "says nothing"),
        (json!({ "messages": [user("1"), user("2")] }), "messages", "has several"),
        (json!({ "messages": [system, user("2")] }), "messages", "has several"),
        (json!({ "messages": [system] }), "messages", "another role"),
        (json!({ "max_tokens": 9 }), "max_tokens", "the run limits what its roles say"),
        (json!({ "top_p": 0.9 }), "top_p", "the run's own is used"),
        (json!({ "logprobs": true }), "logprobs", "not supported"),
        (json!({ "tools": [{ "type": "function" }] }), "tools", "which tools it has"),
        (json!({ "temprature": 0 }), "temprature", "did you mean `temperature`"),
    ] {
        let (status, refused) = ask(&more).unwrap_err();
        assert!(status == 400 || (status == 404 && field == "model"), "{more}: {status}");
        assert_eq!(refused["error"]["param"], field, "{more}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{more}: {message}");
    }
    let fine = json!({
        "max_tokens": null, "top_p": 1, "stop": [], "logprobs": false, "user": "me", "top_k": -1,
        "temperature": 0, "stream": false, "metadata": { "a": "b" },
    });
    ask(&fine).unwrap();
    for stream in [false, true] {
        let asked = json!({ "messages": [user("nonsense")], "stream": stream });
        let (status, refused) = ask(&asked).unwrap_err();
        assert_eq!((status, &refused["error"]["message"]), (400, &"this is no question".into()));
    }
}

#[test]
fn an_episode_that_a_limit_ends_says_so_and_has_no_answer() {
    let heard = ask(&json!({ "messages": [{ "role": "user", "content": "too long" }] })).unwrap();
    let choice = &heard["choices"][0];
    assert_eq!(
        (&choice["message"]["content"], &choice["finish_reason"]),
        (&"".into(), &"length".into())
    );
}

#[test]
fn open_questions_are_counted_and_who_leaves_is_known() {
    let (api, asked) = TeamApi::new(models());
    let health = || match api.answer(&ApiRequest::new("/health", None)) {
        ApiResponse::Json(200, text) => {
            serde_json::from_str::<Value>(&text).unwrap()["answering"].clone()
        }
        _ => panic!("no health"),
    };
    let body = request(&json!({ "stream": true })).to_string().into_bytes();
    let request = ApiRequest::new("/v1/chat/completions", Some(body));
    let events = thread::scope(|scope| {
        let events = scope.spawn(|| api.answer(&request));
        let question = asked.recv().unwrap();
        let (seat, text) = ("solver".to_owned(), "hm".to_owned());
        question.told.send(Told::Said { sample: 0, seat, text }).unwrap();
        assert_eq!(health(), 1);
        let events = events.join().unwrap();
        assert!(!question.is_unwanted());
        drop(events);
        assert!(question.is_unwanted());
        question
    });
    drop(events);
    assert_eq!(health(), 0);
}

#[test]
fn every_field_that_a_policy_heeds_means_something_to_a_team_too() {
    use crate::fields::{Does, REQUEST, TEAM};
    let of_chats = REQUEST.iter().filter(|field| field.of != ["completion"]);
    for field in of_chats.filter(|field| matches!(field.does, Does::Heeded | Does::If(_))) {
        assert!(TEAM.iter().any(|own| own.name == field.name), "{}", field.name);
    }
}
