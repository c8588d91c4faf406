//! What a server shows: the frames of its protocol, read with suspicion.

use serde_json::{Map, Value};

use super::trouble::{Trouble, short};
use crate::plugin::{Award, Effect, Outcome, Recipient, Seat, Status};
use troupe_core::seed::Seed;

/// Awards of seats that one answer may have.
const SEATS: usize = 32;

/// The answer to a reset or a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observation {
    /// The text for all seats, or for the seat that acted.
    text: String,
    /// The texts by seat, where they differ.
    text_of: Map<String, Value>,
    /// The rules, if a reset gives them.
    rules: Option<String>,
    rules_of: Map<String, Value>,
    feedback: String,
    accepted: bool,
    awards: Vec<Award>,
    done: bool,
    /// Whether the server says that a limit ended it.
    truncated: bool,
    /// The server's name for the state, if it gives one.
    status: Option<String>,
}

impl Observation {
    /// Reads the frame that answers a reset or a step. `most` are the bytes of a text.
    pub(super) fn read(frame: &str, most: usize) -> Result<Self, Trouble> {
        // What is nested deeper than 128 levels is refused by the parser.
        let frame: Value = serde_json::from_str(frame)
            .map_err(|error| Trouble::Invalid(format!("a frame is not JSON: {error}")))?;
        let data = frame.get("data").unwrap_or(&Value::Null);
        match frame.get("type").and_then(Value::as_str) {
            Some("observation") => Observation::of(data, most),
            Some("error") => Err(Trouble::from_frame(data)),
            Some(other) => {
                let other = short(other);
                Err(Trouble::Invalid(format!("a frame of type `{other}` answers no action")))
            }
            None => Err(Trouble::Invalid("a frame has no `type`".to_owned())),
        }
    }

    fn of(data: &Value, most: usize) -> Result<Self, Trouble> {
        let seen = data.get("observation").unwrap_or(&Value::Null);
        let done = match data.get("done") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(done)) => *done,
            Some(_) => return Err(Trouble::Invalid("`done` is not true or false".to_owned())),
        };
        let beside = data.get("metadata").filter(|metadata| metadata.is_object());
        let metadata = beside.or(seen.get("metadata")).unwrap_or(&Value::Null);
        let object = |name: &str| match seen.get(name) {
            Some(Value::Object(fields)) => fields.clone(),
            _ => Map::new(),
        };
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let observation = Observation {
            text: text_of(seen),
            text_of: object("text_of"),
            rules: text(seen, "rules"),
            rules_of: object("rules_of"),
            feedback: text(seen, "feedback").or(text(metadata, "feedback")).unwrap_or_default(),
            accepted: metadata.get("accepted").and_then(Value::as_bool).unwrap_or(true),
            awards: awards(data.get("reward"), metadata)?,
            done,
            truncated: [data, metadata, seen, &metadata["info"], &data["info"]]
                .iter()
                .any(|of| says_truncated(of)),
            status: text(metadata, "status"),
        };
        observation.check(most)?;
        Ok(observation)
    }

    fn check(&self, most: usize) -> Result<(), Trouble> {
        let seat_lengths = self.text_of.values().chain(self.rules_of.values());
        let seat_lengths = seat_lengths.map(|text| text.as_str().map_or(0, str::len));
        let lengths =
            [self.text.len(), self.feedback.len(), self.rules.as_ref().map_or(0, String::len)];
        match lengths.into_iter().chain(seat_lengths).max().filter(|longest| *longest > most) {
            None => Ok(()),
            Some(longest) => Err(Trouble::Invalid(format!(
                "a text has {longest} bytes, more than {most} (plugins.limits.text_kib)"
            ))),
        }
    }

    /// Whether seats see different things.
    pub(super) fn is_private(&self) -> bool {
        !self.text_of.is_empty()
    }

    /// The text for a seat.
    pub(super) fn seen_by(&self, seat: &Seat) -> String {
        text_for(&self.text_of, seat).unwrap_or_else(|| self.text.clone())
    }

    /// The rules for a seat, if the server gives any.
    pub(super) fn rules_for(&self, seat: &Seat) -> Option<String> {
        text_for(&self.rules_of, seat).or_else(|| self.rules.clone())
    }

    /// Whether the episode is over.
    pub(super) fn is_last(&self) -> bool {
        self.done
    }

    /// The sum of all awards.
    pub(super) fn earned(&self) -> f64 {
        self.awards.iter().fold(0.0, |sum, award| sum + award.value)
    }

    /// Turns the awards to this seat into awards to the seat that moves.
    pub(super) fn pay_to_mover(&mut self, seat: &str) {
        let seat = Recipient::Seat(seat_named(seat));
        let paid = self.awards.iter_mut().filter(|award| award.to == seat);
        paid.for_each(|award| award.to = Recipient::Mover(0));
    }

    /// The outcome of the move, after which the episode has earned `earned` in all.
    pub(super) fn outcome(&self, earned: f64, solved_from: f64) -> Outcome {
        let effect = Effect { accepted: self.accepted, feedback: self.feedback.clone() };
        let status = match (self.done, self.status.as_deref()) {
            (false, _) => Status::Ongoing,
            (true, Some("solved")) => Status::Solved,
            (true, Some("failed" | "truncated")) => Status::Failed,
            (true, _) if earned >= solved_from => Status::Solved,
            (true, _) => Status::Failed,
        };
        Outcome { effects: vec![effect], awards: self.awards.clone(), status }
    }

    /// Whether a limit ended the episode, which is not solved and might have been.
    pub(super) fn is_cut_off(&self, earned: f64, solved_from: f64) -> bool {
        let is_said = match self.status.as_deref() {
            None => self.truncated,
            Some(status) => status == "truncated" || (self.truncated && status != "failed"),
        };
        is_said && self.outcome(earned, solved_from).status == Status::Failed
    }

    /// What tells this from another one: all that players are told and paid.
    pub(super) fn digest(&self) -> u64 {
        let mix = |seed: Seed, text: &str| seed.at(text.len() as u64).named(text);
        let mut seed = mix(mix(Seed::new(u64::from(self.done)), &self.text), &self.feedback);
        for text in self.text_of.values().filter_map(Value::as_str) {
            seed = mix(seed, text);
        }
        for award in &self.awards {
            seed = seed.at(award.value.to_bits());
        }
        seed.value()
    }

    /// A few words of it, for people.
    pub(super) fn shown(&self) -> String {
        let text: String = self.text.chars().take(80).collect();
        format!("{text:?}, reward {}, done {}", self.earned(), self.done)
    }
}

/// As Gymnasium calls it, and as its wrapper for time limits did before.
fn says_truncated(of: &Value) -> bool {
    let names = ["truncated", "TimeLimit.truncated"];
    names.iter().any(|name| of.get(name).and_then(Value::as_bool) == Some(true))
}

fn text_for(texts: &Map<String, Value>, seat: &Seat) -> Option<String> {
    texts.get(&seat.to_string()).and_then(Value::as_str).map(str::to_owned)
}

/// The observation as text.
fn text_of(seen: &Value) -> String {
    for name in ["text", "prompt"] {
        if let Some(text) = seen.get(name).and_then(Value::as_str) {
            return text.to_owned();
        }
    }
    if let Some(Value::Array(messages)) = seen.get("messages") {
        let texts = messages.iter().filter_map(|message| message.get("content")?.as_str());
        return texts.collect::<Vec<_>>().join("\n\n");
    }
    match seen {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            // What lies beside the observation, or names this session alone.
            let apart = ["metadata", "reward", "done", "episode_id"];
            let mut fields = fields.clone();
            fields.retain(|name, _| !apart.contains(&name.as_str()));
            Value::Object(fields).to_string()
        }
        other => other.to_string(),
    }
}

/// What everybody earns and what seats alone: as our own servers say it, or rewards
/// by seat, or the one reward of the team.
fn awards(reward: Option<&Value>, metadata: &Value) -> Result<Vec<Award>, Trouble> {
    let by_seat = |name: &str| metadata.get(name).and_then(Value::as_object);
    let mut awards = Vec::new();
    let mut add = |to: Recipient, value: f64| {
        if value != 0.0 {
            awards.push(Award { to, name: "reward".to_owned(), value });
        }
    };
    let total = number("reward", reward)?;
    let (team, seats) = match (metadata.get("team"), by_seat("local"), by_seat("rewards")) {
        (Some(team @ Value::Number(_)), Some(local), _) => {
            (number("team", Some(team))?, Some(local))
        }
        (_, _, Some(rewards)) => (0.0, Some(rewards)),
        _ => (total, None),
    };
    add(Recipient::Team, team);
    let seats = seats.into_iter().flatten();
    if seats.clone().count() > SEATS {
        return Err(Trouble::Invalid(format!("rewards are of more than {SEATS} seats")));
    }
    for (name, value) in seats {
        add(Recipient::Seat(seat_named(name)), number("rewards", Some(value))?);
    }
    Ok(awards)
}

/// A finite number; nothing in its place is none earned.
fn number(name: &str, value: Option<&Value>) -> Result<f64, Trouble> {
    match value {
        None | Some(Value::Null) => Ok(0.0),
        Some(value) => value
            .as_f64()
            .filter(|number| number.is_finite())
            .ok_or_else(|| Trouble::Invalid(format!("`{name}` is not a finite number"))),
    }
}

/// The seat that is shown as this name: of several with one role, the second is
/// `role 2`.
fn seat_named(name: &str) -> Seat {
    let numbered = name.rsplit_once(' ').and_then(|(role, n)| Some((role, n.parse::<u32>().ok()?)));
    match numbered {
        Some((role, n)) if n > 1 => Seat::numbered(role, n - 1),
        _ => Seat::new(name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(data: Value) -> Result<Observation, Trouble> {
        Observation::read(&json!({"type": "observation", "data": data}).to_string(), 1000)
    }

    fn text(observation: Value) -> String {
        read(json!({ "observation": observation })).unwrap().seen_by(&Seat::new("player"))
    }

    #[test]
    fn what_is_seen_is_the_text_the_prompt_the_messages_or_all_of_it() {
        assert_eq!(text(json!({"text": "a", "prompt": "b"})), "a");
        assert_eq!(text(json!({"prompt": "b"})), "b");
        let messages = json!({"messages": [{"content": "c"}, {"content": "d"}, 3]});
        assert_eq!(text(messages), "c\n\nd");
        assert_eq!(
            text(json!({"board": [1, 2], "done": false, "metadata": {}})),
            "{\"board\":[1,2]}"
        );
        assert_eq!(text(json!(null)), "null");
    }

    #[test]
    fn the_reward_is_the_teams_unless_seats_have_their_own() {
        let awards = |data: Value| read(data).unwrap().outcome(0.0, 1.0).awards;
        let [planner, player] = ["planner", "player"].map(Seat::new);
        let team = awards(json!({"reward": 0.5}));
        assert_eq!((team.len(), team[0].to.clone()), (1, Recipient::Team));
        let rewards =
            json!({"reward": 9.0, "metadata": {"rewards": {"planner": 1.0, "player": -1}}});
        let outcome = read(rewards).unwrap().outcome(0.0, 1.0);
        assert_eq!((outcome.for_team(), outcome.for_seat(&planner)), (0.0, 1.0));
        assert_eq!(outcome.for_seat(&player), -1.0);
        let ours = json!({"team": 2.0, "local": {"player": 0.25}, "rewards": {"player": 2.25}});
        let outcome = read(json!({"reward": 2.25, "metadata": ours})).unwrap().outcome(0.0, 1.0);
        assert_eq!((outcome.for_team(), outcome.for_seat(&player)), (2.0, 0.25));
        assert!(awards(json!({"reward": null})).is_empty());
    }

    #[test]
    fn the_end_is_as_the_server_calls_it_or_as_what_was_earned() {
        let status = |data: Value, earned: f64| read(data).unwrap().outcome(earned, 1.0).status;
        assert_eq!(status(json!({"done": false}), 5.0), Status::Ongoing);
        assert_eq!(status(json!({"done": true}), 1.0), Status::Solved);
        assert_eq!(status(json!({"done": true}), 0.9), Status::Failed);
        let ending = |word: &str| json!({"done": true, "metadata": {"status": word}});
        assert_eq!(status(ending("solved"), 0.0), Status::Solved);
        assert_eq!(status(ending("truncated"), 5.0), Status::Failed);
    }

    #[test]
    fn an_end_by_a_limit_is_told_from_a_failure_unless_enough_was_earned() {
        let is_cut_off = |data: Value, earned: f64| read(data).unwrap().is_cut_off(earned, 1.0);
        let beside = |metadata: Value| json!({"done": true, "metadata": metadata});
        let within = |metadata: Value| json!({"done": true, "observation": {"metadata": metadata}});
        for data in [
            beside(json!({"status": "truncated"})),
            beside(json!({"truncated": true})),
            beside(json!({"info": {"TimeLimit.truncated": true}})),
            within(json!({"truncated": true})),
            json!({"done": true, "truncated": true}),
            json!({"done": true, "info": {"truncated": true}}),
            json!({"done": true, "observation": {"truncated": true}}),
        ] {
            assert!(is_cut_off(data.clone(), 0.5), "{data}");
        }
        for data in [
            beside(json!({"truncated": false})),
            beside(json!({"truncated": "true"})),
            beside(json!({"status": "failed", "truncated": true})),
            beside(json!({"status": "solved", "truncated": true})),
            json!({"done": false, "metadata": {"truncated": true}}),
            json!({"done": true}),
        ] {
            assert!(!is_cut_off(data.clone(), 0.5), "{data}");
        }
        assert!(!is_cut_off(beside(json!({"truncated": true})), 1.0));
    }

    #[test]
    fn what_is_not_of_the_protocol_is_never_a_reward() {
        let word = |frame: &str| Observation::read(frame, 1000).unwrap_err().word();
        for frame in [
            "",
            "{",
            "[]",
            "{\"type\":\"observation\",\"data\":{\"reward\":NaN}}",
            "{\"type\":\"observation\",\"data\":{\"reward\":1e999}}",
            "{\"type\":\"observation\",\"data\":{\"reward\":\"1\"}}",
            "{\"type\":\"observation\",\"data\":{\"done\":1}}",
            "{\"type\":\"observation\",\"data\":{\"metadata\":{\"rewards\":{\"a\":\"b\"}}}}",
            "{\"type\":\"state\",\"data\":{}}",
        ] {
            assert_eq!(word(frame), "invalid_answer", "{frame}");
        }
        assert_eq!(word(&format!("{{\"type\":{}", "[".repeat(10_000))), "invalid_answer");
        assert_eq!(
            read(json!({"observation": "x".repeat(1001)})).unwrap_err().word(),
            "invalid_answer"
        );
        assert_eq!(
            word("{\"type\":\"error\",\"data\":{\"code\":\"EXECUTION_ERROR\"}}"),
            "server_failed"
        );
    }

    #[test]
    fn observations_differ_by_what_players_see_and_get() {
        let digest = |data: Value| read(data).unwrap().digest();
        let base = json!({"observation": {"text": "a"}, "reward": 1.0});
        let same = json!({"observation": {"text": "a"}, "reward": 1.0, "metadata": {"time": 3}});
        assert_eq!(digest(base.clone()), digest(same));
        for other in [
            json!({"observation": {"text": "b"}, "reward": 1.0}),
            json!({"observation": {"text": "a"}, "reward": 2.0}),
            json!({"observation": {"text": "a"}, "reward": 1.0, "done": true}),
        ] {
            assert_ne!(digest(base.clone()), digest(other));
        }
    }
}
