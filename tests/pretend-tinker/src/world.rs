//! What a server knows, and what it does with requests.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::bigram::{Adam, Pending, Table, Weights, base, log_softmax};
use crate::http::{Request, Response};
use crate::protobuf::{Datum, Gradient, read_gradient, write_samples, write_scored};
use crate::traps::{Older, Traps};

const PROTOBUF: &str = "application/x-protobuf";

/// A model in its place.
#[derive(Debug)]
struct Model {
    place: usize,
    weights: Weights,
    /// Whether nothing was asked of it yet.
    is_new: bool,
    /// Requests by number: their bodies and their promises.
    numbered: BTreeMap<i64, (Vec<u8>, String)>,
}

/// What was kept.
#[derive(Clone, Debug)]
struct Checkpoint {
    model: String,
    weights: Weights,
}

/// What is asked after.
#[derive(Clone, Debug)]
enum Promise {
    /// It is kept after so many polls.
    Kept(usize, Response),
    Never,
    Expired,
}

pub(crate) struct World {
    address: String,
    bases: Vec<String>,
    base: Table,
    pub(crate) traps: Traps,
    models: BTreeMap<String, Model>,
    /// What was added in each place since its last step.
    pending: BTreeMap<usize, Pending>,
    checkpoints: BTreeMap<String, Checkpoint>,
    promises: BTreeMap<String, Promise>,
    made: usize,
    pub(crate) gradients: Vec<Gradient>,
    pub(crate) steps: Vec<Table>,
    pub(crate) settings: Vec<Value>,
    pub(crate) heartbeats: usize,
    pub(crate) routes: Vec<String>,
    pub(crate) harms: Vec<String>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("models", &self.models.keys()).finish_non_exhaustive()
    }
}

/// What a route's work comes to: an answer at once, or what a promise is of.
type Work = Result<Response, Response>;

fn refuse(status: u16, detail: &str) -> Response {
    Response::json(status, &json!({ "detail": detail }))
}

impl World {
    pub(crate) fn new(
        address: String,
        bases: Vec<String>,
        vocabulary: usize,
        traps: Traps,
    ) -> World {
        World {
            address,
            bases,
            base: base(vocabulary),
            traps,
            models: BTreeMap::new(),
            pending: BTreeMap::new(),
            checkpoints: BTreeMap::new(),
            promises: BTreeMap::new(),
            made: 0,
            gradients: Vec::new(),
            steps: Vec::new(),
            settings: Vec::new(),
            heartbeats: 0,
            routes: Vec::new(),
            harms: Vec::new(),
        }
    }

    pub(crate) fn restart(&mut self) {
        self.models.clear();
        self.pending.clear();
        let lost = refuse(400, "Model not loaded");
        self.promises.values_mut().for_each(|it| {
            if !matches!(it, Promise::Kept(..)) {
                *it = Promise::Kept(0, lost.clone());
            }
        });
    }

    pub(crate) fn lose_checkpoints(&mut self) {
        self.checkpoints.clear();
    }

    pub(crate) fn loaded(&self) -> usize {
        self.models.len()
    }

    pub(crate) fn checkpoints(&self) -> Vec<String> {
        self.checkpoints.keys().cloned().collect()
    }

    /// The answer; nothing if it is lost on the way.
    pub(crate) fn answer(&mut self, request: &Request) -> Option<Response> {
        let route = request.path.trim_start_matches("/api/v1/").to_owned();
        if request.headers.get("x-api-key").map(String::as_str) != self.traps.key {
            return Some(refuse(401, "no key, or a wrong one"));
        }
        self.routes.push(route.clone());
        if self.traps.busy > 0 && route != "retrieve_future" {
            self.traps.busy -= 1;
            return Some(refuse(503, "try again"));
        }
        let answered = self.route(request, &route);
        match self.traps.lost.iter().position(|lost| *lost == route) {
            Some(place) => {
                self.traps.lost.remove(place);
                None
            }
            None => Some(answered),
        }
    }

    fn route(&mut self, request: &Request, route: &str) -> Response {
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap_or(Value::Null);
        match (request.method.as_str(), route) {
            ("GET", "get_server_capabilities") => {
                let model = |name: &String| json!({ "model_name": name });
                let models: Vec<Value> = self.bases.iter().map(model).collect();
                Response::json(200, &json!({ "supported_models": models }))
            }
            ("POST", "create_session") => {
                self.made += 1;
                Response::json(200, &json!({ "session_id": format!("session-{}", self.made) }))
            }
            ("POST", "session_heartbeat") => {
                self.heartbeats += 1;
                Response::json(200, &json!({ "type": "session_heartbeat" }))
            }
            ("POST", "retrieve_future") => self.retrieve(&body()),
            ("POST", "create_model") => {
                let made = self.create(&body());
                self.promise(route, made, None)
            }
            ("POST", "unload_model") => {
                let id = body()["model_id"].as_str().unwrap_or_default().to_owned();
                self.models.remove(&id);
                let done = Response::json(200, &json!({ "type": "unload_model" }));
                self.promise(route, Ok(done), None)
            }
            ("POST", "asample") => {
                let drawn = self.sample(&body());
                self.promise(route, drawn, None)
            }
            ("POST", "forward_backward" | "forward") => self.gradient(request, route),
            ("POST", "optim_step") => self.optim_step(request, &body()),
            ("POST", "save_weights" | "save_weights_for_sampler") => self.save(route, &body()),
            ("POST", "load_weights") => {
                let loaded = self.load(&body());
                self.promise(route, loaded, None)
            }
            ("GET", path) if path.ends_with("/archive") => {
                let place = match self.traps.sends_away {
                    true => "http://127.0.0.1:1/elsewhere".to_owned(),
                    false => format!("{}/api/v1/{path}/download", self.address),
                };
                Response { location: Some(place), ..Response::json(302, &Value::Null) }
            }
            ("GET", path) if path.ends_with("/checkpoints") => self.list(path),
            ("DELETE", path) => self.delete(path),
            _ => refuse(404, "no such route"),
        }
    }

    fn retrieve(&mut self, body: &Value) -> Response {
        let id = body["request_id"].as_str().unwrap_or_default();
        match self.promises.get_mut(id) {
            None => refuse(404, "no such promise"),
            Some(Promise::Expired) => {
                self.promises.remove(id);
                refuse(410, "the promise has expired")
            }
            Some(Promise::Never) => refuse(408, "not yet"),
            Some(Promise::Kept(0, response)) => response.clone(),
            Some(Promise::Kept(polls, _)) => {
                *polls -= 1;
                match *polls % 2 {
                    0 => refuse(408, "not yet"),
                    _ => Response::json(
                        200,
                        &json!({ "type": "try_again", "request_id": id, "queue_state": "active" }),
                    ),
                }
            }
        }
    }

    /// A promise of what came of a request.
    fn promise(&mut self, route: &str, work: Work, model: Option<&str>) -> Response {
        self.made += 1;
        let id = self.made.to_string();
        let mut taken = |list: fn(&mut Traps) -> &mut Vec<&'static str>| {
            let list = list(&mut self.traps);
            let place = list.iter().position(|it| *it == route);
            place.map(|place| list.remove(place)).is_some()
        };
        let (never, expired) = (taken(|it| &mut it.never), taken(|it| &mut it.expired));
        let response = work.unwrap_or_else(|refused| refused);
        let promise = match (never, expired) {
            (true, _) => Promise::Never,
            (_, true) => Promise::Expired,
            _ => Promise::Kept(self.traps.polls, response),
        };
        self.promises.insert(id.clone(), promise);
        Response::json(200, &json!({ "request_id": id, "model_id": model }))
    }

    fn create(&mut self, body: &Value) -> Work {
        // Another base than the server's is accepted and ignored.
        let used: Vec<usize> = self.models.values().map(|model| model.place).collect();
        let free = (0..self.traps.places).find(|place| !used.contains(place));
        let place = free.ok_or_else(|| refuse(400, "maximum of models reached"))?;
        self.made += 1;
        let id = format!("model_{}", self.made);
        let weights = Weights::fresh(self.base.len());
        let numbered = BTreeMap::new();
        self.models.insert(id.clone(), Model { place, weights, is_new: true, numbered });
        let _ = body;
        Ok(Response::json(200, &json!({ "model_id": id, "type": "create_model" })))
    }

    fn model(&mut self, id: &str) -> Result<&mut Model, Response> {
        self.models.get_mut(id).ok_or_else(|| refuse(400, &format!("Model {id} not loaded")))
    }

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

    fn gradient(&mut self, request: &Request, route: &str) -> Response {
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
                let output = |(logprobs, losses): &(Vec<f64>, Vec<f64>)| {
                    json!({ "logprobs": tensor(logprobs), "elementwise_loss": tensor(losses) })
                };
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

    fn optim_step(&mut self, request: &Request, body: &Value) -> Response {
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

    fn save(&mut self, route: &str, body: &Value) -> Response {
        let id = body["model_id"].as_str().unwrap_or_default().to_owned();
        let name = body["path"].as_str().unwrap_or_default();
        let kind = if route == "save_weights" { "weights" } else { "sampler_weights" };
        let path = format!("tinker://{id}/{kind}/{name}");
        if self.checkpoints.contains_key(&path) {
            return refuse(409, "a checkpoint of that name exists");
        }
        let saved = self.model(&id).map(|model| model.weights.clone());
        let work = saved.map(|weights| {
            self.checkpoints.insert(path.clone(), Checkpoint { model: id, weights });
            Response::json(200, &json!({ "path": path, "type": route }))
        });
        self.promise(route, work, None)
    }

    fn load(&mut self, body: &Value) -> Work {
        let id = body["model_id"].as_str().unwrap_or_default().to_owned();
        let path = body["path"].as_str().unwrap_or_default();
        let kept = self.checkpoints.get(path).cloned();
        let model = self.model(&id)?;
        if !std::mem::take(&mut model.is_new) {
            return Err(refuse(400, "load_weights must be a model's first request"));
        }
        model.weights = kept.ok_or_else(|| refuse(404, "no such checkpoint"))?.weights;
        Ok(Response::json(200, &json!({ "type": "load_weights" })))
    }

    fn list(&self, path: &str) -> Response {
        let model = path.split('/').nth(1).unwrap_or_default();
        let own = self.checkpoints.iter().filter(|(_, kept)| kept.model == model);
        let own: Vec<Value> = own.map(|(path, _)| json!({ "tinker_path": path })).collect();
        Response::json(200, &json!({ "checkpoints": own }))
    }

    fn delete(&mut self, path: &str) -> Response {
        let mut parts = path.splitn(4, '/').skip(1);
        let (model, name) = (parts.next(), parts.nth(1));
        let path = model.zip(name).map(|(model, name)| format!("tinker://{model}/{name}"));
        match path.and_then(|path| self.checkpoints.remove(&path)) {
            Some(_) => Response { body: Vec::new(), ..Response::json(204, &Value::Null) },
            None => refuse(404, "no such checkpoint"),
        }
    }

    /// The weights that draw.
    fn drawing(&mut self, body: &Value) -> Result<Weights, Response> {
        let fresh = Weights::fresh(self.base.len());
        let Some(path) = body["model_path"].as_str() else {
            let name = body["base_model"].as_str().unwrap_or_default();
            let known = self.bases.iter().any(|base| base == name);
            return if known { Ok(fresh) } else { Err(refuse(404, "no such base")) };
        };
        let kept = self.checkpoints.get(path).cloned();
        let kept = kept.ok_or_else(|| refuse(404, "no such checkpoint"))?;
        let older = self.traps.older;
        let stale = self.traps.stale;
        // A model that is gone takes what draws with it.
        let model = self.model(&kept.model)?;
        match older {
            Older::Stay => {}
            Older::Follow if stale => {}
            Older::Follow => return Ok(model.weights.clone()),
            Older::SetBack => model.weights = kept.weights.clone(),
        }
        Ok(if stale { fresh } else { kept.weights })
    }

    fn sample(&mut self, body: &Value) -> Work {
        let weights = self.drawing(body)?;
        let prompt: Vec<i64> = body["prompt"]["chunks"][0]["tokens"]
            .as_array()
            .map(|tokens| tokens.iter().filter_map(Value::as_i64).collect())
            .unwrap_or_default();
        let known = |token: &i64| (0..self.base.len() as i64).contains(token);
        if prompt.is_empty() || !prompt.iter().all(known) {
            self.harms.push("a prompt that is empty or beyond the vocabulary".to_owned());
            return Err(refuse(500, "index out of range"));
        }
        let count = body["num_samples"].as_u64().unwrap_or(0);
        if count == 0 {
            self.harms.push("a call for no samples".to_owned());
        }
        let params = &body["sampling_params"];
        let seed = params["seed"].as_u64().unwrap_or(0);
        let draw = |branch: u64| {
            self.draw(&weights, prompt[prompt.len() - 1] as usize, params, seed + branch)
        };
        let mut drawn: Vec<_> = (0..count).map(draw).collect();
        if self.traps.lies.first() == Some(&"asample") {
            self.traps.lies.remove(0);
            drawn.extend(drawn.first().cloned());
        }
        let scored = body["prompt_logprobs"].as_bool() == Some(true);
        let scores = scored.then(|| {
            let pairs = prompt.windows(2);
            let of = |pair: &[i64]| weights.after(&self.base, pair[0] as usize)[pair[1] as usize];
            let scores: Vec<f64> = pairs.map(of).collect();
            if self.traps.short_prompts { scores } else { [vec![f64::NAN], scores].concat() }
        });
        let body = write_samples(&drawn, scores.as_deref());
        Ok(Response { status: 200, kind: PROTOBUF, location: None, body })
    }

    fn draw(
        &self,
        weights: &Weights,
        mut last: usize,
        params: &Value,
        seed: u64,
    ) -> (bool, Vec<i64>, Vec<f64>) {
        let most = params["max_tokens"].as_u64().unwrap_or(1);
        let temperature = params["temperature"].as_f64().unwrap_or(1.0);
        let stops: Vec<u64> = params["stop"]
            .as_array()
            .map(|stops| stops.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default();
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
        let (mut tokens, mut logprobs) = (Vec::new(), Vec::new());
        for _ in 0..most {
            // A fixed generator (SplitMix64), so that an equal seed draws the same.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = state;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let unit = ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
            let plain = weights.after(&self.base, last);
            let token = pick(&plain, temperature, unit);
            if stops.contains(&(token as u64)) {
                if !self.traps.strips_ends {
                    tokens.push(token as i64);
                    logprobs.push(plain[token]);
                }
                return (true, tokens, logprobs);
            }
            tokens.push(token as i64);
            logprobs.push(plain[token]);
            last = token;
        }
        (false, tokens, logprobs)
    }
}

fn pick(plain: &[f64], temperature: f64, unit: f64) -> usize {
    if temperature == 0.0 {
        let best = (0..plain.len()).max_by(|one, other| plain[*one].total_cmp(&plain[*other]));
        return best.unwrap_or(0);
    }
    let scaled: Vec<f64> = plain.iter().map(|logprob| logprob / temperature).collect();
    let mut left = unit;
    for (token, logprob) in log_softmax(&scaled).iter().enumerate() {
        left -= logprob.exp();
        if left < 0.0 {
            return token;
        }
    }
    plain.len() - 1
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
