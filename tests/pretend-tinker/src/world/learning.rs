//! Gradients and steps.

use serde_json::{Value, json};

use super::{PROTOBUF, Work, World, refuse};
use crate::bigram::{Adam, Pending};
use crate::http::{Request, Response};
use crate::protobuf::{Datum, Gradient, Scores, read_gradient, write_scored};

impl World {
    /// A numbered request of a model that was there before has its promise already.
    fn known(&mut self, id: &str, number: i64, body: &[u8]) -> Option<Response> {
        let (known, promise) = self.models.get(id)?.numbered.get(&number)?;
        Some(match known == body {
            // One that expired is worked on again.
            true if self.promises.contains_key(promise) => {
                Response::json(200, &json!({ "request_id": promise }))
            }
            true => return None,
            false => refuse(409, "the number was used for another request"),
        })
    }

    fn remember(&mut self, id: &str, number: i64, body: &[u8], response: &Response) {
        let said: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
        let promise = said["request_id"].as_str().unwrap_or_default().to_owned();
        if let Some(model) = self.models.get_mut(id) {
            model.numbered.insert(number, (body.to_vec(), promise));
        }
    }

    pub(super) fn gradient(&mut self, request: &Request, route: &str) -> Response {
        let is_protobuf = request.headers.get("content-type").is_some_and(|it| it == PROTOBUF);
        if is_protobuf == self.traps.json {
            return refuse(415, "another encoding is wanted");
        }
        let gradient = match is_protobuf {
            true => read_gradient(&request.body),
            false => gradient_in_json(&request.body, route == "forward"),
        };
        let (id, number) = (gradient.model.clone(), gradient.number);
        if let Some(known) = self.known(&id, number, &request.body) {
            return known;
        }
        // An expired one was counted before: its answer alone is made again.
        let was_counted = self.models.get(&id).is_some_and(|it| it.numbered.contains_key(&number));
        let work = self.add(&gradient, is_protobuf, was_counted);
        let response = self.promise(route, work, Some(&id));
        self.remember(&id, number, &request.body, &response);
        response
    }

    fn add(&mut self, gradient: &Gradient, as_protobuf: bool, was_counted: bool) -> Work {
        let vocabulary = self.base.len();
        let is_forward = gradient.forward_only || was_counted;
        self.note_harm(gradient);
        let (base, sums) = (self.base.clone(), self.traps.sums);
        let model = self.model(&gradient.model)?;
        model.is_new = false;
        let (place, weights) = (model.place, model.weights.clone());
        if gradient.data.iter().any(|datum| datum.harm(vocabulary).is_some()) {
            self.models.values_mut().for_each(|model| model.weights.ruin());
            return Err(refuse(500, "NaN"));
        }
        let none = || Pending::none(vocabulary);
        let mut aside = none();
        let pending = match is_forward {
            true => &mut aside,
            false => self.pending.entry(place).or_insert_with(none),
        };
        let mut scored = weights.add(&base, gradient, sums, pending);
        if !was_counted {
            self.gradients.push(gradient.clone());
        }
        if let Some(lie) = self.traps.lies.iter().position(|it| *it == "forward_backward") {
            self.traps.lies.remove(lie);
            scored.push(scored[0].clone());
        }
        Ok(match as_protobuf {
            true => {
                let body = write_scored(&scored);
                Response { status: 200, kind: PROTOBUF, location: None, body }
            }
            false => {
                let tensor = |data: &[f64]| json!({ "data": data, "dtype": "float32" });
                let output = |(logprobs, losses): &Scores| json!({ "logprobs": tensor(logprobs), "elementwise_loss": tensor(losses) });
                let outputs: Vec<Value> = scored.iter().map(output).collect();
                Response::json(200, &json!({ "loss_fn_outputs": outputs, "metrics": {} }))
            }
        })
    }

    fn note_harm(&mut self, gradient: &Gradient) {
        let vocabulary = self.base.len();
        if gradient.data.is_empty() {
            self.harms.push("a call without data".to_owned());
        }
        let harms = gradient.data.iter().filter_map(|datum| datum.harm(vocabulary));
        self.harms.extend(harms);
    }

    pub(super) fn optim_step(&mut self, request: &Request, body: &Value) -> Response {
        let id = body["model_id"].as_str().unwrap_or_default().to_owned();
        let number = body["seq_id"].as_i64().unwrap_or_default();
        if let Some(known) = self.known(&id, number, &request.body) {
            return known;
        }
        let was_made = self.models.get(&id).is_some_and(|it| it.numbered.contains_key(&number));
        let work = self.step(&id, &body["adam_params"], was_made);
        let response = self.promise("optim_step", work, None);
        self.remember(&id, number, &request.body, &response);
        response
    }

    fn step(&mut self, id: &str, settings: &Value, was_made: bool) -> Work {
        let number = |name: &str| settings[name].as_f64().expect("all six settings are sent");
        let adam = Adam {
            rate: number("learning_rate"),
            beta1: number("beta1"),
            beta2: number("beta2"),
            epsilon: number("eps"),
            decay: number("weight_decay"),
            norm: number("grad_clip_norm"),
        };
        let (sums, clips, vocabulary) = (self.traps.sums, self.traps.clips, self.base.len());
        let place = self.model(id)?.place;
        let none = || Pending::none(vocabulary);
        let pending = self.pending.remove(&place).unwrap_or_else(none).gradient(sums);
        let model = self.model(id)?;
        model.is_new = false;
        let norm = match was_made {
            true => 0.0,
            false => model.weights.step(&pending, adam, clips),
        };
        if adam.rate > 0.0 && !was_made {
            self.steps.push(pending);
            self.settings.push(settings.clone());
        }
        let (decays, moves) = (self.traps.decay_spreads, self.traps.steps_spread);
        for (_, other) in self.models.iter_mut().filter(|(name, _)| *name != id) {
            if decays {
                other.weights.decay(adam.rate * adam.decay);
            }
            if moves {
                other.weights.decay(0.1 * adam.rate);
            }
        }
        let norm = if norm.is_finite() { json!(norm) } else { Value::Null };
        let metrics = match self.traps.shows_norm {
            true => json!({ "skyrl.ai/grad_norm": norm }),
            false => Value::Null,
        };
        Ok(Response::json(200, &json!({ "metrics": metrics })))
    }
}

impl Datum {
    /// What of it would ruin a server.
    fn harm(&self, vocabulary: usize) -> Option<String> {
        let known = |token: &i64| (0..vocabulary as i64).contains(token);
        if !self.tokens.iter().chain(&self.targets).all(known) {
            return Some("a token beyond the vocabulary".to_owned());
        }
        let length = self.tokens.len();
        if self.targets.len() != length || self.numbers.values().any(|it| it.len() != length) {
            return Some("lengths that do not agree".to_owned());
        }
        if self.numbers.values().flatten().any(|number| !number.is_finite()) {
            return Some("a number that is none".to_owned());
        }
        let negative = self.numbers.get("weights").is_some_and(|it| it.iter().any(|w| *w < 0.0));
        negative.then(|| "a weight below 0".to_owned())
    }
}

fn gradient_in_json(body: &[u8], forward_only: bool) -> Gradient {
    let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let key = if forward_only { "forward_input" } else { "forward_backward_input" };
    let input = &body[key];
    let datum = |datum: &Value| {
        let tokens = datum["model_input"]["chunks"][0]["tokens"].as_array().cloned();
        let tokens = tokens.unwrap_or_default().iter().filter_map(Value::as_i64).collect();
        let inputs = datum["loss_fn_inputs"].as_object().cloned().unwrap_or_default();
        let targets = numbers(&inputs["target_tokens"]).iter().map(|it| *it as i64).collect();
        let own = inputs.iter().filter(|(name, _)| *name != "target_tokens");
        let numbers = own.map(|(name, it)| (name.clone(), numbers(it))).collect();
        Datum { tokens, targets, numbers }
    };
    let settings = input["loss_fn_config"].as_object().cloned().unwrap_or_default();
    let settings = settings.into_iter().filter_map(|(name, it)| Some((name, it.as_f64()?)));
    Gradient {
        model: body["model_id"].as_str().unwrap_or_default().to_owned(),
        number: body["seq_id"].as_i64().unwrap_or_default(),
        data: input["data"].as_array().cloned().unwrap_or_default().iter().map(datum).collect(),
        loss: input["loss_fn"].as_str().unwrap_or_default().to_owned(),
        settings: settings.collect(),
        forward_only,
    }
}

fn numbers(tensor: &Value) -> Vec<f64> {
    let data = tensor["data"].as_array().cloned().unwrap_or_default();
    data.iter().map(|number| number.as_f64().unwrap_or(f64::NAN)).collect()
}
