//! A session on a server: the models made in it, and the heartbeat that keeps them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, Repeat, SDK, cut};
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::promise::Promise;

/// How often a session says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// A session. Dropped, it ends its heartbeat and unloads what was made in it, as far as it can.
#[derive(Debug)]
pub(crate) struct Session {
    client: Arc<Client>,
    id: String,
    /// What the server said to whoever opened it.
    said: Vec<String>,
    /// What is loaded, by its name there.
    loaded: Mutex<BTreeSet<String>>,
    made: AtomicU64,
    /// Dropped, it ends the heartbeat.
    _heart: Sender<()>,
}

impl Session {
    pub(crate) fn open(client: Arc<Client>) -> Result<Session, TinkerFailure> {
        let body = json!({
            "tags": ["troupe"], "user_metadata": {}, "sdk_version": SDK, "type": "create_session",
        });
        let said = client.post("create_session", &body, Repeat::Freely)?;
        if let Some(error) = said["error_message"].as_str() {
            return Err(Kind::Refused.because(format!("it opens no session: {error}")));
        }
        let id = said["session_id"].as_str().map(str::to_owned).ok_or_else(|| {
            Kind::Malformed.because("its answer to `create_session` has no `session_id`")
        })?;
        let texts = ["warning_message", "info_message"].map(|key| said[key].as_str());
        let texts = texts.into_iter().flatten().filter(|text| !text.trim().is_empty());
        let said = texts.map(cut).collect();
        let (heart, stopped) = channel();
        let (beats, beating) = (client.clone(), id.clone());
        thread::spawn(move || beat(&beats, &beating, &stopped));
        let (loaded, made) = (Mutex::default(), AtomicU64::new(0));
        Ok(Session { client, id, said, loaded, made, _heart: heart })
    }

    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// What the server said as it was opened: warnings, and what else there is to know.
    pub(crate) fn said(&self) -> &[String] {
        &self.said
    }

    /// Make a model: a fresh LoRA over the base. Gives its name there.
    pub(crate) fn make(&self, base: &str, rank: i64, seed: u32) -> Result<String, TinkerFailure> {
        let number = 1 + self.made.fetch_add(1, Ordering::Relaxed);
        let body = json!({
            "session_id": self.id, "model_seq_id": number, "base_model": base,
            "lora_config": {
                "rank": rank, "seed": seed,
                "train_unembed": false, "train_mlp": true, "train_attn": true,
            },
            "type": "create_model",
        });
        // A lost answer may stand for a model that nobody can name: it goes with the session.
        let said = self.client.post("create_model", &body, Repeat::Never)?;
        // Some name it at once: it may be there however the promise ends.
        let named = said["model_id"].as_str().map(str::to_owned);
        self.loaded().extend(named.clone());
        let made = Promise::read(&said).and_then(|promise| self.client.value(&promise));
        let made = made.inspect_err(|failure| {
            // A server that refuses has made none.
            named.iter().filter(|_| failure.kind == Kind::Refused).for_each(|id| self.forget(id));
        })?;
        let id = made["model_id"].as_str().map(str::to_owned).ok_or_else(|| {
            Kind::Malformed.because("its answer to `create_model` has no `model_id`")
        })?;
        self.loaded().insert(id.clone());
        Ok(id)
    }

    /// Have the server forget a model.
    pub(crate) fn unload(&self, id: &str) -> Result<(), TinkerFailure> {
        let body = json!({ "model_id": id, "type": "unload_model" });
        let unloaded = self
            .client
            .promise("unload_model", &body, Repeat::Freely)
            .and_then(|promise| self.client.value(&promise));
        match unloaded {
            Ok(_) => {}
            // What it does not know it has forgotten.
            Err(failure) if matches!(failure.kind, Kind::Unknown | Kind::NotLoaded) => {}
            Err(failure) => return Err(failure),
        }
        self.loaded().remove(id);
        Ok(())
    }

    /// Take note that the server has lost a model by itself.
    pub(crate) fn forget(&self, id: &str) {
        self.loaded().remove(id);
    }

    /// Unload everything that was made.
    ///
    /// # Errors
    /// Names what is still loaded.
    pub(crate) fn close(&self) -> Result<(), TinkerFailure> {
        let left: Vec<String> = self.loaded().iter().cloned().collect();
        if left.is_empty() {
            return Ok(());
        }
        self.client.hurry(true);
        let failed: Vec<(String, TinkerFailure)> = left
            .into_iter()
            .filter_map(|id| self.unload(&id).err().map(|failure| (id, failure)))
            .collect();
        self.client.hurry(false);
        let Some((_, first)) = failed.first() else { return Ok(()) };
        let names: Vec<String> = failed.iter().map(|(id, _)| format!("`{id}`")).collect();
        let message = format!(
            "{} could not be unloaded from {} ({}); the server drops them when no heartbeat has \
             come for some minutes, or when it is started anew",
            names.join(", "),
            self.client.url(),
            first.message
        );
        Err(first.kind.because(message))
    }

    fn loaded(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // A set of names is whole at any moment.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Said by whoever closes it; here there is nobody to tell.
        let _ = self.close();
    }
}

fn beat(client: &Client, session: &str, stopped: &Receiver<()>) {
    let body: Value = json!({ "session_id": session, "type": "session_heartbeat" });
    while stopped.recv_timeout(HEARTBEAT) == Err(RecvTimeoutError::Timeout) {
        // One that is missed is followed by another; a session that is gone shows in its requests.
        let _ = client.post_once("session_heartbeat", &body);
    }
}
