//! A server that behaves as vLLM 0.32 does, as far as adapters and answers go, and that can be
//! told to go wrong as it goes wrong. `host serve --policy` answers underneath.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::support::client::Server;
use crate::support::http::listen;
use crate::support::run;

/// The base, as it is called here.
const BASE: &str = "some/base";

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trap {
    None,
    /// Adapters are not taken while it runs.
    NoRuntimeLoading,
    /// It tells its settings, and has fewer slots than are needed.
    FewSlotsTold,
    /// Adapters of a smaller rank only.
    SmallRank,
    /// After so many answers the base answers in place of every adapter.
    ForgetsAfter(usize),
    /// After so many answers it knows no adapters.
    LosesAfter(usize),
    /// From this version of a policy on, keys and values are those of this version.
    KeepsOldKeys(usize),
    /// Log-probabilities before temperature and cut-offs.
    Raw,
    /// Cuts off all but two tokens, as its `generation_config.json` says, whatever it is told.
    FillsIn,
    /// NaN.
    Diverges,
    NoIds,
    MissingLogprob,
    NullLogprob,
    ForeignToken,
    TwoChoices,
    Aborts,
    OtherPrompt,
    /// Fails once, with 503, at this answer.
    BusyOnceAt(usize),
    /// Ends at this answer.
    DiesAt(usize),
    /// Ends when it is to load this version of a policy.
    DiesOfVersion(usize),
    /// At this answer somebody removes the folders of adapters.
    FolderGoesAt(usize),
}

/// An adapter that was loaded.
struct Loaded {
    name: String,
    path: String,
}

#[derive(Default)]
struct State {
    /// The least recently used first.
    adapters: VecDeque<Loaded>,
    /// What the server underneath calls what answers to a name: keys and values are kept by name.
    cached: BTreeMap<String, String>,
    /// Every adapter that was ever loaded, by name.
    names: Vec<String>,
    most_loaded: usize,
    seeds: Vec<u64>,
    routes: BTreeSet<String>,
    answers: usize,
    is_dead: bool,
    evictions: usize,
}

pub struct Fake {
    pub url: String,
    trap: Trap,
    slots: usize,
    base: String,
    state: Arc<Mutex<State>>,
    under: Arc<Server>,
}

impl Fake {
    /// A server of the checkpoint in `base`, for adapters within `folder`; so many adapters have a
    /// slot.
    pub fn start(folder: &Path, base: &Path, slots: usize, trap: Trap) -> Fake {
        let (folder, base) = (folder.display().to_string(), base.display().to_string());
        let under = Server::of(&["--policy", &base, "--adapters-within", &folder]);
        let state = Arc::new(Mutex::new(State::default()));
        let mut fake =
            Fake { url: String::new(), trap, slots, base, state, under: Arc::new(under) };
        let there = fake.clone();
        let address = listen(Arc::new(move |path: &str, body: &Value| there.answer(path, body)));
        fake.url = format!("http://{address}/v1");
        fake
    }

    fn clone(&self) -> Fake {
        let Fake { url, trap, slots, base, state, under } = self;
        let (url, base, state, under) = (url.clone(), base.clone(), state.clone(), under.clone());
        Fake { url, trap: *trap, slots: *slots, base, state, under }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The names of all adapters so far.
    pub fn names(&self) -> Vec<String> {
        self.state().names.clone()
    }

    /// The most adapters that were loaded at a time, and those that are now.
    pub fn loaded(&self) -> (usize, usize) {
        let state = self.state();
        (state.most_loaded, state.adapters.len())
    }

    /// The seeds of all answers so far.
    pub fn seeds(&self) -> Vec<u64> {
        self.state().seeds.clone()
    }

    /// Adapters whose slots others have taken.
    pub fn evictions(&self) -> usize {
        self.state().evictions
    }

    /// The routes that were asked for.
    pub fn routes(&self) -> BTreeSet<String> {
        self.state().routes.clone()
    }

    pub(super) fn has_trap(&self, trap: Trap) -> bool {
        self.trap == trap
    }

    fn answer(&self, path: &str, body: &Value) -> Option<(u16, Value)> {
        if self.state().is_dead {
            return None;
        }
        self.state().routes.insert(path.to_owned());
        match path {
            "/v1/models" => Some((200, self.models())),
            "/server_info?config_format=json" if self.trap == Trap::FewSlotsTold => {
                let settings = json!({"max_loras": 1, "max_lora_rank": 16});
                Some((200, json!({"vllm_config": {"lora_config": settings}})))
            }
            "/v1/load_lora_adapter" if self.dies_of(body) => {
                self.state().is_dead = true;
                None
            }
            "/v1/load_lora_adapter" if self.trap != Trap::NoRuntimeLoading => Some(self.load(body)),
            "/v1/unload_lora_adapter" => Some(self.unload(body)),
            "/v1/completions" => self.complete(body),
            path if path.starts_with("/v1/") => Some((404, json!({"detail": "Not Found"}))),
            path => self.answer_as_sglang(path, body),
        }
    }

    fn models(&self) -> Value {
        let base = json!({"id": BASE, "root": BASE, "parent": null, "max_model_len": 4096});
        let mut all = vec![base];
        all.extend(self.state().adapters.iter().map(|Loaded { name, path }| {
            json!({"id": name, "root": path, "parent": BASE, "max_model_len": null})
        }));
        json!({ "object": "list", "data": all })
    }

    fn dies_of(&self, body: &Value) -> bool {
        let Trap::DiesOfVersion(version) = self.trap else { return false };
        body["lora_name"].as_str().unwrap().ends_with(&format!("-v{version}"))
    }

    /// The files are only looked at; they are read when the adapter is asked.
    pub(super) fn load(&self, body: &Value) -> (u16, Value) {
        let (name, path) = (&body["lora_name"], &body["lora_path"]);
        let (name, path) = (name.as_str().unwrap().to_owned(), path.as_str().unwrap().to_owned());
        let mut state = self.state();
        assert!(body.get("load_inplace").is_none(), "it would stick");
        if state.adapters.iter().any(|known| known.name == name) {
            return (400, error(&format!("The lora adapter '{name}' has already been loaded.")));
        }
        let Ok(config) = fs::read_to_string(Path::new(&path).join("adapter_config.json")) else {
            return (404, error(&format!("No adapter found for {path} ({name})")));
        };
        let config: Value = serde_json::from_str(&config).unwrap();
        let most = if self.trap == Trap::SmallRank { 2 } else { 16 };
        if config["r"].as_i64().unwrap() > most {
            let rank = &config["r"];
            let message = format!(
                "Call to add_lora method failed: Worker failed with error 'LoRA rank {rank} is \
                 greater than max_lora_rank {most}.'"
            );
            return (500, error(&message));
        }
        state.names.push(name.clone());
        state.adapters.push_back(Loaded { name, path });
        state.most_loaded = state.most_loaded.max(state.adapters.len());
        (200, json!("Success: LoRA adapter added successfully."))
    }

    pub(super) fn unload(&self, body: &Value) -> (u16, Value) {
        let mut state = self.state();
        let before = state.adapters.len();
        state.adapters.retain(|known| Some(known.name.as_str()) != body["lora_name"].as_str());
        match state.adapters.len() < before {
            true => (200, json!("Success: LoRA adapter removed successfully.")),
            false => (404, error("The lora adapter cannot be found.")),
        }
    }

    pub(super) fn complete(&self, body: &Value) -> Option<(u16, Value)> {
        let name = body["model"].as_str().unwrap();
        let number = {
            let mut state = self.state();
            state.answers += 1;
            state.seeds.push(body["seed"].as_u64().unwrap());
            state.answers
        };
        match self.trap {
            Trap::BusyOnceAt(at) if at == number => return Some((503, error("busy"))),
            Trap::DiesAt(at) if at <= number => {
                self.state().is_dead = true;
                return None;
            }
            Trap::FolderGoesAt(at) if at == number => {
                self.state().adapters.iter().for_each(|it| fs::remove_dir_all(&it.path).unwrap());
            }
            Trap::LosesAfter(count) if number > count => self.state().adapters.clear(),
            Trap::Diverges => {
                let message = "Out of range float values are not JSON compliant: nan";
                return Some((400, error(message)));
            }
            _ => {}
        }
        let under = match self.trap {
            Trap::ForgetsAfter(count) if number > count => self.base_under(),
            _ => match self.place(name)? {
                Ok(under) => under,
                Err(answer) => return Some(answer),
            },
        };
        let mut asked = body.clone();
        asked["model"] = json!(under);
        self.fill_in(&mut asked);
        let answer = self.under.post("/v1/completions", &asked.to_string());
        let mut said = answer.json();
        if answer.status == 200 {
            self.spoil(&mut said, body);
        }
        Some((answer.status, said))
    }

    /// What a server without `--generation-config vllm` makes of what it is not told.
    fn fill_in(&self, asked: &mut Value) {
        for (key, value) in [
            ("temperature", json!(0.6)),
            ("top_k", json!(3)),
            ("top_p", json!(0.5)),
            ("min_p", json!(0.2)),
            ("repetition_penalty", json!(1.5)),
        ] {
            if asked.get(key).is_none() {
                asked[key] = value;
            }
        }
        if self.trap == Trap::FillsIn {
            asked["top_k"] = json!(2);
        }
    }

    /// What the server underneath calls what answers to a name. Nothing if the server has died of
    /// it.
    fn place(&self, name: &str) -> Option<Result<String, (u16, Value)>> {
        let mut state = self.state();
        let Some(at) = state.adapters.iter().position(|known| known.name == name) else {
            let message = format!("The model `{name}` does not exist.");
            return Some(Err((404, error(&message))));
        };
        let used = state.adapters.remove(at).unwrap();
        let (path, key) = (used.path.clone(), self.key(name));
        state.adapters.push_back(used);
        // Read when it is asked, and again after others have taken its slot.
        let slot = state.adapters.len().saturating_sub(self.slots);
        state.evictions += usize::from(slot > 0);
        let is_read = state.cached.contains_key(&key);
        if (slot > 0 || !is_read) && !Path::new(&path).join("adapter_config.json").exists() {
            state.is_dead = true;
            return None;
        }
        if !is_read {
            let under = format!("under-{}", state.cached.len());
            let load = json!({"lora_name": under, "lora_path": path}).to_string();
            let answer = self.under.post("/v1/load_lora_adapter", &load);
            assert_eq!(answer.status, 200, "{}", answer.body);
            state.cached.insert(key.clone(), under);
        }
        Some(Ok(state.cached[&key].clone()))
    }

    /// What keys and values are kept by: the name.
    fn key(&self, name: &str) -> String {
        match self.trap {
            Trap::KeepsOldKeys(first) => {
                let (policy, version) = name.rsplit_once("-v").unwrap();
                format!("{policy}-v{}", first.min(version.parse().unwrap()))
            }
            _ => name.to_owned(),
        }
    }

    fn base_under(&self) -> String {
        Path::new(&self.base).file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// Make an answer what it must not be.
    fn spoil(&self, said: &mut Value, asked: &Value) {
        let choice = &mut said["choices"][0];
        let scores = "/logprobs/token_logprobs";
        match self.trap {
            Trap::NoIds => drop(choice.as_object_mut().unwrap().remove("token_ids")),
            Trap::ForeignToken => choice["token_ids"][0] = json!(1_000_000),
            Trap::Aborts => {
                choice["finish_reason"] = json!("abort");
                let ids = choice["token_ids"].as_array_mut().unwrap();
                *ids.last_mut().unwrap() = json!(5);
            }
            Trap::OtherPrompt => choice["prompt_token_ids"] = json!([1, 2]),
            Trap::MissingLogprob => {
                drop(choice.pointer_mut(scores).unwrap().as_array_mut().unwrap().pop());
            }
            Trap::NullLogprob => choice.pointer_mut(scores).unwrap()[0] = Value::Null,
            Trap::Raw => {
                let raw = self.raw(asked, &choice["token_ids"]);
                *choice.pointer_mut(scores).unwrap() = json!(raw);
            }
            Trap::TwoChoices => {
                let twice = choice.clone();
                said["choices"].as_array_mut().unwrap().push(twice);
            }
            _ => {}
        }
    }

    /// The log-probabilities of an answer before temperature and cut-offs.
    pub(super) fn raw(&self, asked: &Value, answer: &Value) -> Vec<f64> {
        let ids = |list: &Value| -> Vec<String> {
            list.as_array().unwrap().iter().map(Value::to_string).collect()
        };
        let (prompt, answer) = (ids(&asked["prompt"]), ids(answer));
        let path = {
            let state = self.state();
            let known = state.adapters.iter().find(|known| asked["model"] == known.name.as_str());
            known.unwrap().path.clone()
        };
        let tokens = [&prompt[..], &answer].concat().join(",");
        let score = ["policy", "score", &self.base, "--adapter", &path, "--tokens", &tokens];
        let (code, stdout, stderr) = run(&score);
        assert_eq!(code, 0, "{stderr}");
        let found: Value = serde_json::from_str(&stdout).unwrap();
        let all = found["logprobs"].as_array().unwrap();
        all[all.len() - answer.len()..].iter().map(|one| one.as_f64().unwrap()).collect()
    }
}

impl Drop for Fake {
    /// The thread that listens lives as long as the tests do, and keeps a handle on the server.
    fn drop(&mut self) {
        self.under.terminate();
    }
}

fn error(message: &str) -> Value {
    json!({"error": {"message": message, "type": "BadRequestError", "code": 400}})
}
